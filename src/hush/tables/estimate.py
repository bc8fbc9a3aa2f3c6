"""Answers and intervals of sums, counts, histograms and means, from released columns (variances:
`hush.tables.spread`).

Every class here says how released numbers become an answer (`__call__`) and what the interval of that answer is
(`ends`). `ends` is given the mechanisms and a level, both public, and returns a function of one group's released
numbers. It draws nothing, and the numbers of one group decide its interval alone: which other groups are answered
with it, and in what order, cannot show.

A count or a sum has the interval of its own noise. For means a test is inverted: the interval holds
every value that the test does not rule out, so it holds the truth at least as often as its level says, however large
the noise is.

- A mean m of rows that count from the middle of their range: total - m count is noise X - m Y alone, whose law is
  known. The interval is the set of m with |total - m count| <= w(m), where P(|X - m Y| <= w(m)) = level.

Only +, -, *, / and comparisons are used on released numbers: they give the same bits for a group wherever it stands
in an array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.releasing.error_bars import ErrorBars
from hush.sampling.mechanism import Mechanism
from hush.tables.noise_sum import Term, half_widths
from hush.tables.quantise import Grid

__all__ = ["BinCounts", "Ends", "Estimate", "MeanOf", "Scaled", "between", "in_blocks", "last_accepted", "numbers"]

Array = NDArray[np.float64]
Released = Mapping[str, Any]
#: Released columns of groups in, lower and upper ends out.
Ends = Callable[[Released], tuple[Array, Array]]

CELLS = 64  # of |mean| (or of a variance) between which half widths are interpolated
_BLOCK = 8192  # groups at a time; a bound on memory that does not show in any number
ROUNDED = 0.5  # a group's total is rounded to whole steps


class Estimate(Protocol):
    """An answer made of released columns, and its interval."""

    def __call__(self, released: Released) -> Array: ...

    def ends(self, mechanisms: Mapping[str, Mechanism], level: float) -> Ends:
        """The interval at this level, as a function of released columns."""


def numbers(column: Any) -> Array:
    """Released numbers as float64."""
    return np.asarray(column, np.float64)


def half_width(made: Mechanism, level: float) -> float:
    """The w with P(|noise| <= w) >= level, in steps of the grid."""
    return ErrorBars(made.noise.marginal, made.step, rounded=False).half_width(level)


# -- one column ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaled:
    """One column: a count (no grid), or a sum in steps of a grid. Ends are never cut at 0: a noisy -3 would lie
    outside its own [0, 0].
    """

    name: str
    grid: Grid | None = None

    def __call__(self, released: Released) -> Array:
        return self._value(numbers(released[self.name]))

    def _value(self, column: Array) -> Array:
        return column if self.grid is None else np.asarray(self.grid.value(column))

    def ends(self, mechanisms: Mapping[str, Mechanism], level: float) -> Ends:
        width = half_width(mechanisms[self.name], level) + (0.0 if self.grid is None else ROUNDED)
        return _Around(self, width)


@dataclass(frozen=True)
class BinCounts:
    """The bins of a histogram, along the last axis."""

    names: tuple[str, ...]

    def __call__(self, released: Released) -> Array:
        return np.stack([numbers(released[name]) for name in self.names], axis=-1)

    def ends(self, mechanisms: Mapping[str, Mechanism], level: float) -> Ends:
        return _Around(self, half_width(mechanisms[self.names[0]], level))  # the bins of a histogram have one law


@dataclass(frozen=True)
class _Around:
    """The answer, less and plus a width in steps."""

    estimate: Scaled | BinCounts
    width: float

    def __call__(self, released: Released) -> tuple[Array, Array]:
        def moved(by: float) -> Array:
            return self.estimate({name: numbers(column) + by for name, column in released.items()})

        return moved(-self.width), moved(self.width)


# -- means ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeanOf:
    """From a sum of distances from the middle, in steps, and a count. `origin` is the middle and `furthest` the
    longest distance, in steps.
    """

    total: str
    count: str
    grid: Grid
    origin: float
    furthest: float
    bounds: tuple[float, float]

    def __call__(self, released: Released) -> Array:
        return self.value(numbers(released[self.total]) / np.maximum(numbers(released[self.count]), 1.0))

    def value(self, distance: Array) -> Array:
        """A distance from the middle as a value inside the declared bounds."""
        return np.clip(self.grid.value(self.origin + distance), *self.bounds)

    def ends(self, mechanisms: Mapping[str, Mechanism], level: float) -> Ends:
        return _MeanEnds(self, self.widths(mechanisms, level))

    def widths(self, mechanisms: Mapping[str, Mechanism], level: float) -> Array:
        """w(m) for m = 0, furthest/64, ..., furthest."""
        made = mechanisms[self.total]
        means = np.linspace(0.0, self.furthest, CELLS + 1)
        terms = [[Term.of(made, 1.0), Term.of(mechanisms[self.count], float(m))] for m in means]
        return np.maximum.accumulate(half_widths(terms, level)) + ROUNDED

    def distances(self, released: Released, widths: Array) -> tuple[Array, Array]:
        """The least and the largest mean, as distances from the middle, that the test does not rule out.

        Rows lie within `furthest` of the middle and cannot be fewer than none, so total and count are first moved to
        where that is true: the test then rules out less, never more.
        """
        count = np.maximum(numbers(released[self.count]), 0.0)
        total = np.clip(numbers(released[self.total]), -self.furthest * count, self.furthest * count)
        return -self._largest(-total, count, widths), self._largest(total, count, widths)

    def _largest(self, total: Array, count: Array, widths: Array) -> Array:
        means = np.linspace(-self.furthest, self.furthest, 2 * CELLS + 1)
        around = np.concatenate([widths[:0:-1], widths])
        start = np.clip(total / np.where(count > 0.0, count, 1.0), -self.furthest, self.furthest)
        gaps = means * count[:, None] - total[:, None] - around
        return last_accepted(start, -between(start, means, around), means, gaps)


@dataclass(frozen=True)
class _MeanEnds:
    mean: MeanOf
    widths: Array

    def __call__(self, released: Released) -> tuple[Array, Array]:
        def block(part: Released) -> tuple[Array, Array]:
            value, (low, high) = self.mean(part), self.mean.distances(part, self.widths)
            return np.minimum(self.mean.value(low), value), np.maximum(self.mean.value(high), value)

        return in_blocks(block, {name: released[name] for name in (self.mean.total, self.mean.count)})


def between(x: Array, nodes: Array, values: Array) -> Array:
    """Values at x, linear between equally spaced nodes; one row of values for all x, or one for each."""
    cell = nodes[1] - nodes[0]
    place = np.clip(((x - nodes[0]) / cell).astype(np.int64), 0, nodes.size - 2)
    table, rows = (values, np.arange(x.size)) if values.ndim == 2 else (values[None, :], np.zeros(x.size, np.int64))
    left = table[rows, place]
    return left + (x - nodes[place]) / cell * (table[rows, place + 1] - left)


def last_accepted(start: Array, start_gap: Array, nodes: Array, gaps: Array) -> Array:
    """The largest x at which a gap, linear between nodes (and from `start` to the next), is at most 0. At `start` it
    is.
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
    """A function of each group's own numbers, a block of groups at a time."""
    size = next(iter(released.values())).shape[0]
    parts = [work({n: numbers(v)[i : i + _BLOCK] for n, v in released.items()}) for i in range(0, max(size, 1), _BLOCK)]
    return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])
