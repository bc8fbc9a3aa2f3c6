"""The parts of a report: comparisons of published with recomputed numbers, figures, tables, items and papers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hush import InvalidParameter
from hush.errors import shown

__all__ = [
    "CONFIRMED",
    "CORRECTED",
    "NOT_REPRODUCIBLE",
    "Comparison",
    "Context",
    "Figure",
    "Grid",
    "HeatMap",
    "Item",
    "Paper",
    "Picture",
    "Regions",
    "Series",
    "claim",
    "compare",
    "line",
]

CONFIRMED, CORRECTED, NOT_REPRODUCIBLE = "confirmed", "corrected", "not reproducible as described"
VERDICTS = (CONFIRMED, CORRECTED, NOT_REPRODUCIBLE)


@dataclass(frozen=True)
class Comparison:
    """One published number or statement beside ours. `function` is the dotted name of the function that computes ours.

    `published` is a number as it was printed, a formula or condition, or a quotation of the source in double quotes;
    never our words.
    """

    what: str
    published: str
    ours: float
    verdict: str
    why: str
    function: str

    @property
    def difference(self) -> float:
        """Relative difference of our number from the printed one; NaN if a statement or 0 was printed."""
        printed = self.printed
        if printed is None or printed == 0.0 or not math.isfinite(self.ours):
            return math.nan
        return abs(self.ours - printed) / abs(printed)

    @property
    def printed(self) -> float | None:
        """The printed number; None if a statement was printed."""
        return _value(self.published)


def _value(printed: str) -> float | None:
    try:
        return float(printed)
    except ValueError:
        return None


def _half_unit(printed: str) -> float:
    """Half a unit in the last printed digit: 0.005 for 1.23, 5e-14 for 7.8e-12, 0.5 for 400."""
    found = re.fullmatch(r"[-+]?(\d+)(?:\.(\d*))?(?:[eE]([-+]?\d+))?", printed.strip())
    if found is None:
        raise InvalidParameter(
            f"published must be a number as printed, such as '0.94' or '7.8e-12', got {shown(printed)}."
        )
    return float(0.5 * 10.0 ** (int(found[3] or 0) - len(found[2] or "")))


def compare(
    what: str, published: str, ours: float, *, function: str, why: str = "", verdict: str | None = None
) -> Comparison:
    """A comparison whose verdict follows from the printed digits: confirmed if ours rounds to them, else corrected.

    A verdict other than confirmed needs a reason, `why`.

    >>> compare("epsilon at delta = 1e-10", "0.94", 0.936626, function="hush.epsilon").verdict
    'confirmed'
    """
    if verdict is None:
        half = _half_unit(published)
        verdict = CONFIRMED if abs(ours - float(published)) <= half * (1.0 + 1e-9) else CORRECTED
    if verdict not in VERDICTS:
        raise InvalidParameter(f"verdict must be one of {', '.join(VERDICTS)}, got {shown(verdict)}.")
    if verdict != CONFIRMED and not why:
        raise InvalidParameter(f"{what}: {verdict} ({published} printed, {ours:.8g} ours) needs a sentence `why`.")
    return Comparison(what, published, float(ours), verdict, why, function)


def claim(what: str, published: str, ours: float, *, holds: bool, function: str, why: str = "") -> Comparison:
    """A statement in words, or a formula, beside the number that decides it; `holds` is always computed.

    >>> claim("delta of Laplace noise of scale 1 at epsilon = 1", "0", 0.0, holds=True, function="hush.delta").verdict
    'confirmed'
    """
    return compare(what, published, ours, function=function, why=why, verdict=CONFIRMED if holds else CORRECTED)


@dataclass(frozen=True)
class Series:
    """One line, or points, of a figure."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    points: bool = False
    dashed: bool = False


def line(label: str, x: Any, y: Any, *, points: bool = False, dashed: bool = False) -> Series:
    """A series from any two sequences of numbers."""
    return Series(label, [float(v) for v in x], [float(v) for v in y], points=points, dashed=dashed)


@dataclass(frozen=True)
class Figure:
    """A figure as data. It is drawn, written as CSV, and described in words for readers who cannot see it."""

    key: str
    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    description: str
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class HeatMap:
    """A quantity over a plane: z[row][column] at (x[column], y[row])."""

    key: str
    title: str
    x: str
    y: str
    z: str
    across: Sequence[float]
    up: Sequence[float]
    values: Sequence[Sequence[float]]
    description: str
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Regions:
    """A map of names: names[row][column] at (x[column], y[row]). A name's place in `palette` decides its colour."""

    key: str
    title: str
    x: str
    y: str
    across: Sequence[float]
    up: Sequence[float]
    names: Sequence[Sequence[str]]
    palette: Sequence[str]
    description: str
    log_x: bool = False
    log_y: bool = False


Picture = Figure | HeatMap | Regions


@dataclass(frozen=True)
class Grid:
    """A table without verdicts."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Item:
    """One table, figure or claim of a paper, recomputed."""

    key: str
    place: str
    title: str
    text: str
    comparisons: tuple[Comparison, ...] = ()
    figures: tuple[Picture, ...] = ()
    grids: tuple[Grid, ...] = ()

    @property
    def verdict(self) -> str:
        """The worst verdict among its comparisons; empty if it has none."""
        return max((c.verdict for c in self.comparisons), key=VERDICTS.index, default="")


@dataclass(frozen=True)
class Context:
    """The options of a run: the folder of data sets, if any, and whether to take coarser figures and fewer trials."""

    data: Path | None = None
    quick: bool = False


@dataclass(frozen=True)
class Paper:
    """A paper and the functions that make its items."""

    key: str
    title: str
    citation: str
    items: tuple[Callable[[Context], Item], ...] = field(repr=False)
    #: files that it reads from the folder of data sets, if one is given
    files: tuple[str, ...] = ()
