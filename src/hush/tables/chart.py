"""Tables and bars in plain text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEGEND", "bars", "fact_lines", "text_table", "wrapped"]

LEGEND = "# up to the published value, [ ] its noise interval"

_WIDTH = 32


def bars(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> list[str]:
    """A bar for each value, # up to it, with [ ] at the ends of its interval."""
    finite = high[np.isfinite(high)]
    most = max(float(finite.max(initial=0.0)), 1e-300)
    lines = []
    for value, a, b in zip(values, low, high, strict=True):
        line = ["#" if i < value / most * _WIDTH else " " for i in range(_WIDTH + 1)]
        for mark, at in (("[", a), ("]", b)) if np.isfinite(value) else ():
            line[int(np.clip(at / most * _WIDTH, 0, _WIDTH))] = mark
        lines.append("".join(line).rstrip())
    return lines


def text_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], chart: Sequence[str], *, heading: str = ""
) -> list[str]:
    """Left-aligned columns, and the bars to their right under a heading."""
    cells = [list(heads), *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    if chart:
        across = sum(widths) + 2 * (len(widths) - 1)
        lines = [f"{line.ljust(across)}  {bar}".rstrip() for line, bar in zip(lines, [heading, *chart], strict=True)]
    return lines


def wrapped(text: str, *, hang: int = 0) -> list[str]:
    """A long line as several, as wide as the terminal, 100 columns where there is none; later ones begin `hang`
    columns in.
    """
    wide = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    return textwrap.wrap(
        text, max(wide, hang + 30), subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )


def fact_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """A receipt's facts, each under its name."""
    return [line for name, text in facts for line in wrapped(f"{name + ':':11}{text}", hang=11)]
