"""How released columns become an answer with an interval: the contract, and what several estimates use.

An `Estimate` makes an answer from released numbers (`__call__`) and its interval (`ends`). `ends` takes the mechanisms
and a level, both public, and returns a function of released columns. That function draws nothing. The interval of a
group depends on the numbers of that group only, so it cannot reveal which other groups are answered, nor their order.

A count or a sum has the interval of its noise. Other estimates invert a test: the interval holds every value that the
test does not rule out. So it contains the truth at least as often as its level states, however large the noise is.

Only +, -, *, /, square roots and comparisons are used on released numbers: IEEE rounds each of them correctly, so a
group gets the same bits at every place of an array and on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.releasing.error_bars import ErrorBars
from hush.tables.column_law import ColumnLaw
from hush.tables.quantise import Grid

__all__ = [
    "CELLS",
    "ROUNDED",
    "Around",
    "Array",
    "Ends",
    "Estimate",
    "Linear",
    "Released",
    "Scaled",
    "between",
    "half_width",
    "in_blocks",
    "last_accepted",
    "linear_forms",
    "numbers",
]

Array = NDArray[np.float64]
#: Released columns by name, each with one number per group.
Released = Mapping[str, Any]
#: A function from released columns to the lower and upper ends of each group.
Ends = Callable[[Released], tuple[Array, Array]]

CELLS = 64  # cells of |mean| (or of a variance); half widths are interpolated between their ends
_BLOCK = 8192  # groups at a time: a limit on memory, which no number depends on
ROUNDED = 0.5  # steps: a group's total is rounded to whole steps


class Estimate(Protocol):
    """An answer made from released columns, and its interval. It is sent to executors, so it holds no part of the
    table.
    """

    def __call__(self, released: Released) -> Array:
        """The answer of each group; with several answer columns, these are along the last axis."""

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """The interval at this level, as a function of released columns."""

    def planning_point(self, rows: int) -> dict[str, float]:
        """The columns of a typical group in which `rows` rows count: a plan states the error there."""


@dataclass(frozen=True)
class Linear:
    """An answer that is a weighted sum of released columns: what totals, shares and differences are made from.

    `factors` has the weight of each column. The exact answer is within `rounded` of that sum of exact columns. `whole`
    answers are counts. An answer that is not `signed` cannot be negative without noise.
    """

    factors: tuple[tuple[str, float], ...]
    rounded: float = 0.0
    whole: bool = False
    signed: bool = True


def linear_forms(estimate: Estimate) -> tuple[Linear, ...] | None:
    """The linear form of each answer column, from the method `linear` that such an estimate has; None for others."""
    found = getattr(estimate, "linear", None)
    return None if found is None else tuple(found())


def numbers(column: Any) -> Array:
    """Released numbers as float64."""
    return np.asarray(column, np.float64)


def half_width(made: ColumnLaw, level: float) -> float:
    """The w with P(|noise| <= w) >= level, in steps of the grid."""
    return ErrorBars(made.noise, made.step, rounded=made.rounds).half_width(level)


@dataclass(frozen=True)
class Scaled:
    """One column: a count (no grid), or a sum in steps of a grid. Ends are not cut at 0: a noisy -3 would lie outside
    its interval [0, 0].
    """

    name: str
    grid: Grid | None = None
    #: True: the exact answer may be negative
    signed: bool = False

    def linear(self) -> tuple[Linear, ...]:
        """The column times the size of a step."""
        step = 1.0 if self.grid is None else float(self.grid.value(1.0))
        rounded = 0.0 if self.grid is None else ROUNDED * step
        return (Linear(((self.name, step),), rounded, self.grid is None, self.signed),)

    def __call__(self, released: Released) -> Array:
        column = numbers(released[self.name])
        return column if self.grid is None else np.asarray(self.grid.value(column))

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """The answer, less and plus the half width of its noise."""
        width = half_width(mechanisms[self.name], level) + (0.0 if self.grid is None else ROUNDED)
        return Around(self, width)

    def planning_point(self, rows: int) -> dict[str, float]:
        """The error does not depend on the count or the sum."""
        return {self.name: 0.0}


@dataclass(frozen=True)
class Around:
    """The ends of an estimate that is linear in its columns: each column less and plus a width in steps."""

    estimate: Callable[[Released], Array]
    width: float

    def __call__(self, released: Released) -> tuple[Array, Array]:
        def moved(by: float) -> Array:
            return self.estimate({name: numbers(column) + by for name, column in released.items()})

        return moved(-self.width), moved(self.width)


# -- inverting a test ----------------------------------------------------------------------------------------


def between(x: Array, nodes: Array, values: Array) -> Array:
    """Values at x, linear between equally spaced nodes. `values` is one row for all x, or one row for each."""
    cell = nodes[1] - nodes[0]
    place = np.clip(((x - nodes[0]) / cell).astype(np.int64), 0, nodes.size - 2)
    table, rows = (values, np.arange(x.size)) if values.ndim == 2 else (values[None, :], np.zeros(x.size, np.int64))
    left = table[rows, place]
    return left + (x - nodes[place]) / cell * (table[rows, place + 1] - left)


def last_accepted(start: Array, start_gap: Array, nodes: Array, gaps: Array) -> Array:
    """The largest x at which a gap is at most 0. The gap is linear between nodes, and from `start` to the next node;
    at `start` it is at most 0.
    """
    rows = np.arange(start.size)
    accepted = (gaps <= 0.0) & (nodes >= start[:, None])
    last = nodes.size - 1 - np.argmax(accepted[:, ::-1], axis=1)
    any_node = accepted.any(axis=1)
    left = np.where(any_node, nodes[last], start)
    left_gap = np.where(any_node, gaps[rows, last], start_gap)
    after = np.where(any_node, last + 1, np.searchsorted(nodes, start, side="right"))
    right = np.minimum(after, nodes.size - 1)
    rise = gaps[rows, right] - left_gap
    crossing = left + (nodes[right] - left) * np.clip(-left_gap / np.where(rise > 0.0, rise, 1.0), 0.0, 1.0)
    return np.where(after >= nodes.size, nodes[-1], crossing)


def in_blocks(work: Ends, released: Released) -> tuple[Array, Array]:
    """Apply a function of each group's numbers to one block of groups at a time."""
    size = next(iter(released.values())).shape[0]
    parts = [work({n: numbers(v)[i : i + _BLOCK] for n, v in released.items()}) for i in range(0, max(size, 1), _BLOCK)]
    return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])
