"""The aggregate `mean`: a sum of distances from the middle of [low, high], and a count.

The interval. At the true mean m (as a distance from the middle), total - m count is noise X - m Y alone, whose law is
known. The interval is the set of m with |total - m count| <= w(m), where P(|X - m Y| <= w(m)) = level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import called_like, shown
from hush.tables.bounded_value import Bounded, PerRow, per_row
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import CELLS, ROUNDED, Array, Ends, Released, between, in_blocks, last_accepted, numbers
from hush.tables.expression import bind
from hush.tables.measure import (
    Measure,
    Prepared,
    Total,
    bounds_in_words,
    number_of_rows,
    number_of_values,
    optional_rows,
    row_limit,
    sum_of_values,
)
from hush.tables.noise_sum import Term, half_widths
from hush.tables.quantise import Grid, Limits

__all__ = ["Mean", "MeanOf", "mean", "mean_of", "sum_and_count"]


@dataclass(frozen=True)
class MeanOf:
    """The mean from a sum of distances from the middle, in steps, and a count. `origin` is the middle and `furthest`
    the longest distance, in steps.
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

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """All means that the test does not rule out."""
        return _MeanEnds(self, self.widths(mechanisms, level))

    def planning_point(self, rows: int) -> dict[str, float]:
        """A mean in the middle of [low, high]."""
        return {self.total: 0.0, self.count: float(rows)}

    def widths(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Array:
        """w(m) for m = 0, furthest/64, ..., furthest."""
        made = mechanisms[self.total]
        means = np.linspace(0.0, self.furthest, CELLS + 1)
        terms = [[Term.of(made, 1.0), Term.of(mechanisms[self.count], float(m))] for m in means]
        return np.maximum.accumulate(half_widths(terms, level)) + ROUNDED

    def distances(self, released: Released, widths: Array) -> tuple[Array, Array]:
        """The least and the largest mean, as distances from the middle, that the test does not rule out.

        Each row lies within `furthest` of the middle, and no count is negative. Total and count are first moved into
        that range: the test then rules out less, never more.
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


def sum_and_count(name: str, row: PerRow, rows: int) -> tuple[Total, Total]:
    """The two totals of a mean: distances from the middle, and rows. Aggregates of the same rows share them.

    Where every row has a value, the number of values is the number of rows, at most `rows` of a person: the column of
    a count.
    """
    reach = rows * row.reach
    distance = Total(f"{name}.sum", -reach, reach, sum_of_values, row.grid.fine, shareable=True)
    counted = number_of_rows if row.complete else number_of_values
    return distance, Total(f"{name}.count", 0, rows, counted, shareable=True)


def mean_of(name: str, row: PerRow) -> MeanOf:
    """The estimate from those two totals."""
    return MeanOf(f"{name}.sum", f"{name}.count", row.grid, row.origin, row.furthest, row.bounds)


@dataclass(frozen=True)
class Mean(Bounded):
    """The mean of a column over rows."""

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """Two totals: distances from the middle, and rows."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        row = per_row(name, column, self.low, self.high, limits, dates=True)
        rows = row_limit(name, self.rows_per_unit, limits)
        text = bounds_in_words(name, rows, self.low, self.high)
        limit = self.limit(column, *row.bounds)
        totals = sum_and_count(name, row, rows)
        return Prepared(name, "mean", mean_of(name, row), row.column, rows, totals, bounds_text=text, limit=limit)


@called_like("mean('stay_days', low=0, high=30)")
def mean(column: Any, *, low: Any = None, high: Any = None, rows_per_unit: int | str | None = None) -> Measure:
    """The mean over rows, each clipped to [low, high], at most `rows_per_unit` (1) of a person in a group. The mean of
    a column of dates is a day number (days since 1970-01-01). Under a policy low, high and rows_per_unit may be left
    out.
    """
    return Mean(column, low, high, optional_rows(rows_per_unit))
