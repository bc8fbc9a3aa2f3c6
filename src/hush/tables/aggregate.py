"""The aggregates a query can ask for: count, count_units, sum_, mean, variance, histogram, quantile.

`low` and `high` are declared, never taken from the data (or both "private": found with part of the budget,
`hush.tables.private_bounds`). `rows_per_unit` is how many rows of one unit count in one group (1 unless said; the
rows are chosen evenly by a keyed hash); a sum without it bounds the unit's whole total in the group instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hush.errors import InvalidParameter, called_like, whole, within
from hush.tables.bins import category_index, checked_categories, checked_edges, edge_index
from hush.tables.estimate import BinCounts, MeanOf, Scaled
from hush.tables.expression import bind, ibis
from hush.tables.measure import (
    Limit,
    Measure,
    PerRow,
    Prepared,
    Total,
    per_row,
    range_of,
    resolved,
    row_limit,
    told,
    value_kind,
)
from hush.tables.quantiles import Quantiles
from hush.tables.quantise import FURTHEST_ROW, Grid, Limits, outside, quantised, wide_sum
from hush.tables.spread import VarianceOf

__all__ = ["count", "count_units", "histogram", "mean", "quantile", "sum_", "variance"]

#: Each bin is a column: beyond this the table is wider than it is useful.
MOST_BINS = 1000


@dataclass(frozen=True)
class Count(Measure):
    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        rows = row_limit(name, self.rows_per_unit, limits)
        total = Total(name, 0, rows, lambda pair, value: pair.count())
        limit = Limit(ibis().literal(True))
        return Prepared(
            name, "count", Scaled(name), rows=rows, totals=(total,), bounds_text=told(name, rows), limit=limit
        )


@dataclass(frozen=True)
class CountUnits(Measure):
    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        total = Total(name, 0, 1, lambda pair, value: pair.count())
        return Prepared(name, "count_units", Scaled(name), totals=(total,), bounds_text=f"{name}: a unit once")


@dataclass(frozen=True)
class Bounded(Measure):
    """An aggregate of a column with `low` and `high`, declared or both "private"."""

    column: Any
    low: Any
    high: Any
    rows_per_unit: int | None

    @property
    def wants_bounds(self) -> bool:
        private = [isinstance(bound, str) and bound == "private" for bound in (self.low, self.high)]
        if any(private) and not all(private):
            raise InvalidParameter(
                'low and high are found together: write low="private", high="private", or declare both.'
            )
        if all(private) and self.rows_per_unit is None:
            raise InvalidParameter(
                'bounds found privately are bounds of a row: a sum with low="private" needs rows_per_unit.'
            )
        return all(private)

    def with_bounds(self, low: Any, high: Any) -> Measure:
        return replace(self, low=low, high=high)

    def limit(self, column: Any, first: float, last: float) -> Limit:
        """Which rows have a value, and which have one that is clipped."""
        return Limit(*outside(column, first, last), bounds=f"[{self.low}, {self.high}]")


@dataclass(frozen=True)
class Sum(Bounded):
    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column = bind(relation, self.column, f"the column of {name!r}")
        first, last = range_of(name, self.low, self.high, value_kind(name, column, dates=False))
        grid = Grid.over(max(abs(first), abs(last)), limits.steps - 1, fine=limits.fine)
        low, high = resolved(name, grid, first, last)
        rows = self.rows_per_unit
        if (
            rows is None
        ):  # the total is bounded, so a row may be far larger than it, and of either sign: rows are added up in 128 bits
            value = quantised(column, grid, -FURTHEST_ROW, FURTHEST_ROW)
            total = Total(name, low, high, lambda pair, v: wide_sum(v), grid.fine)
            limit = replace(self.limit(column, first, last), outside=None)
        else:
            rows = row_limit(name, rows, limits)
            value = quantised(column, grid, low, high)
            total = Total(name, min(0, rows * low), max(0, rows * high), lambda pair, v: v.sum(), grid.fine)
            limit = self.limit(column, first, last)
        text = told(name, rows, self.low, self.high)
        return Prepared(name, "sum", Scaled(name, grid), value, rows, (total,), bounds_text=text, limit=limit)


def sum_and_count(name: str, row: PerRow, rows: int) -> tuple[Total, Total]:
    """What a mean and a variance have in common, and share where they are of the same rows: distances from the
    middle, and rows.
    """
    distance = Total(f"{name}.sum", -rows * row.reach, rows * row.reach, lambda pair, v: v.sum(), row.grid.fine)
    return distance, Total(f"{name}.count", 0, rows, lambda pair, v: v.count())


def mean_of(name: str, row: PerRow) -> MeanOf:
    """The mean from those two. Nothing of the table is in it: executors are sent it."""
    return MeanOf(f"{name}.sum", f"{name}.count", row.grid, row.origin, row.furthest, row.bounds)


@dataclass(frozen=True)
class Mean(Bounded):
    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column = bind(relation, self.column, f"the column of {name!r}")
        row, rows = (
            per_row(name, column, self.low, self.high, limits, dates=True),
            row_limit(name, self.rows_per_unit, limits),
        )
        text = told(name, rows, self.low, self.high)
        limit = self.limit(column, *row.bounds)
        totals = sum_and_count(name, row, rows)
        return Prepared(name, "mean", mean_of(name, row), row.column, rows, totals, bounds_text=text, limit=limit)


@dataclass(frozen=True)
class Variance(Bounded):
    """From sums of c, of c^2 and a count, c the distance from the middle.

    c^2 is rounded to about as many steps as c has: to units of 2^shift squared steps, and 2^fine parts of one. It is
    summed from its own middle.
    """

    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column = bind(relation, self.column, f"the column of {name!r}")
        row, rows = (
            per_row(name, column, self.low, self.high, limits, dates=False),
            row_limit(name, self.rows_per_unit, limits),
        )
        if not 1e-140 < row.bounds[1] - row.bounds[0] < 1e140:
            raise InvalidParameter(
                f"low and high of {name!r} are too far apart or too close for their square; divide the column by a constant."
            )
        fine = row.grid.fine
        reach = -(-row.reach >> fine)
        shift = max(0, 2 * reach.bit_length() - limits.steps.bit_length())
        shift += (shift + fine) % 2  # half of shift + fine is a whole number of bits
        largest = _squared(row.reach, shift + fine)
        middle = largest // 2 >> fine << fine
        furthest = rows * max(middle, largest - middle)
        squares = Total(
            f"{name}.square",
            -furthest,
            furthest,
            lambda pair, v: (_squared(v.abs(), shift + fine) - middle).sum(),
            fine,
        )
        distance, number_of = sum_and_count(name, row, rows)
        answer = VarianceOf(mean_of(name, row), squares.name, float(1 << shift), float(middle >> fine))
        text = told(name, rows, self.low, self.high)
        limit = self.limit(column, *row.bounds)
        return Prepared(
            name, "variance", answer, row.column, rows, (distance, squares, number_of), bounds_text=text, limit=limit
        )


def _squared(size: Any, bits: int) -> Any:
    """size^2/2^bits, rounded, for whole numbers below 2^40 that are not negative; bits is even, at most 40. Of
    integers or of a column.

    With size = a 2^j + b, j = bits/2, it is a^2 + (a b 2^(j+1) + b^2)/2^bits: each product stays below 2^62. Only
    shifts of numbers that are not negative are used, which are the same on every engine, where `//` goes through
    floats.
    """
    j = bits // 2
    a, b = size >> j, size & ((1 << j) - 1)
    return a * a + ((a * b * (1 << j + 1) + b * b + (1 << bits >> 1)) >> bits)


@dataclass(frozen=True)
class Histogram(Measure):
    column: Any
    edges: tuple[Any, ...] | None
    categories: tuple[Any, ...] | None
    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column, rows = (
            bind(relation, self.column, f"the column of {name!r}"),
            row_limit(name, self.rows_per_unit, limits),
        )
        labels: tuple[Any, ...]
        if self.edges is not None:
            edges = checked_edges(name, self.edges, value_kind(name, column, dates=True), MOST_BINS)
            value, labels = edge_index(column, edges), tuple(zip(self.edges[:-1], self.edges[1:], strict=True))
            dropped = f"values outside [{self.edges[0]}, {self.edges[-1]}] are dropped"
            limit = Limit(*outside(column, edges[0], edges[-1]), "dropped", f"[{self.edges[0]}, {self.edges[-1]}]")
        else:
            labels = checked_categories(name, self.categories or (), column.type(), MOST_BINS)
            value, dropped = category_index(column, labels), "values in no category are dropped"
            limit = Limit(column.notnull(), column.notnull() & value.isnull(), "dropped", "the listed categories")
        names = [f"{name}.{i}" for i in range(len(labels))]
        return Prepared(
            name,
            "histogram",
            BinCounts(tuple(names)),
            value,
            rows,
            bins=len(labels),
            labels=labels,
            bounds_text=f"{told(name, rows)}, {dropped}",
            limit=limit,
        )


@dataclass(frozen=True)
class Quantile(Bounded):
    """From counts on a grid of at most `bins` values between low and high; values beyond them count at the ends."""

    rows_per_unit: int
    q: float
    bins: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column, rows = (
            bind(relation, self.column, f"the column of {name!r}"),
            row_limit(name, self.rows_per_unit, limits),
        )
        kind = value_kind(name, column, dates=True)
        first, last = range_of(name, self.low, self.high, kind)
        grid = Grid.over(
            last - first, self.bins - 2, largest=max(abs(first), abs(last))
        )  # - 2: both ends may be rounded outwards
        low, high = resolved(name, grid, first, last)
        exact = not grid.coarse and (
            kind.is_integer() or kind.is_boolean() or kind.is_date()
        )  # such values are on the grid
        half = 0.0 if exact else grid.step / 2.0

        def inside(value: float) -> float:
            return min(max(value, first), last)

        values = [grid.value(i) for i in range(low, high + 1)]
        labels, ends = tuple(inside(v) for v in values), tuple((inside(v - half), inside(v + half)) for v in values)
        answer = Quantiles(tuple(f"{name}.{i}" for i in range(len(labels))), self.q, labels, ends)
        value = quantised(column, grid, low, high) - low
        text = told(name, rows, self.low, self.high)
        limit = self.limit(column, first, last)
        return Prepared(
            name, "quantile", answer, value, rows, bins=len(labels), labels=labels, bounds_text=text, limit=limit
        )


@called_like("count(rows_per_unit=3)")
def count(*, rows_per_unit: int = 1) -> Measure:
    """The number of rows, at most `rows_per_unit` of a unit in a group."""
    return Count(
        whole("rows_per_unit", rows_per_unit, 1, "write count(rows_per_unit=3), or count_units() to count units")
    )


@called_like("count_units()")
def count_units() -> Measure:
    """The number of units with a row in the group."""
    return CountUnits()


@called_like("sum_('cost', low=0, high=20000)")
def sum_(column: Any, *, low: Any, high: Any, rows_per_unit: int | None = None) -> Measure:
    """The sum of a column: a unit's total in a group is clipped to [low, high]. With rows_per_unit, at most so many
    rows are used and each is clipped instead. A total may have rows of either sign; a single row counts up to four
    million times the larger bound.
    """
    rows = (
        None
        if rows_per_unit is None
        else whole("rows_per_unit", rows_per_unit, 1, "leave it out to bound a unit's total")
    )
    return Sum(column, low, high, rows)


@called_like("mean('stay_days', low=0, high=30)")
def mean(column: Any, *, low: Any, high: Any, rows_per_unit: int = 1) -> Measure:
    """The mean over rows, each clipped to [low, high], at most `rows_per_unit` of a unit in a group. Of a column of
    dates it is a day number (days since 1970-01-01).
    """
    return Mean(column, low, high, whole("rows_per_unit", rows_per_unit))


@called_like("variance('stay_days', low=0, high=30)")
def variance(column: Any, *, low: Any, high: Any, rows_per_unit: int = 1) -> Measure:
    """The variance over rows (divided by their number), each clipped to [low, high], at most `rows_per_unit` of a
    unit in a group.
    """
    return Variance(column, low, high, whole("rows_per_unit", rows_per_unit))


@called_like("histogram('age', edges=[0, 18, 65, 120])")
def histogram(
    column: Any, *, edges: Iterable[Any] | None = None, categories: Iterable[Any] | None = None, rows_per_unit: int = 1
) -> Measure:
    """Rows by bin: [edges[i], edges[i+1]), the last one closed, or one bin per category. Rows in no bin are left
    out.
    """
    if (edges is None) == (categories is None):
        raise InvalidParameter(
            "histogram needs either edges= or categories=; write histogram('age', edges=[0, 18, 65, 120])."
        )
    rows = whole("rows_per_unit", rows_per_unit)
    return Histogram(
        column, None if edges is None else tuple(edges), None if categories is None else tuple(categories), rows
    )


@called_like("quantile('cost', 0.5, low=0, high=20000)")
def quantile(column: Any, q: float, *, low: Any, high: Any, bins: int = 128, rows_per_unit: int = 1) -> Measure:
    """The smallest value on a grid of at most `bins` values with a share of at least q of the rows at or below it;
    q=0 is the smallest value that clearly has rows, q=1 the largest. Of a column of dates it is a day number (days
    since 1970-01-01).
    """
    level = within("q", q, 0.0, 1.0, "write q=0.5 for the median")
    bins = whole("bins", bins, 4)
    if bins > MOST_BINS:
        raise InvalidParameter(f"bins must be at most {MOST_BINS}, got {bins}.")
    return Quantile(column, low, high, whole("rows_per_unit", rows_per_unit), level, bins)
