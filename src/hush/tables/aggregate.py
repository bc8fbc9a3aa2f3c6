"""The aggregates a query can ask for: count, count_units, sum_, mean, variance, histogram, quantile.

`low` and `high` are declared, never taken from the data (or both "private": found with part of the budget, `hush.tables.magnitude`).
`rows_per_unit` is how many rows of one unit count in one group (1 unless said; the rows are chosen evenly by a keyed hash); a sum without
it bounds the unit's whole total in the group instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, called_like, whole, within
from hush.tables.bins import category_index, checked_categories, checked_edges, edge_index
from hush.tables.expression import bind
from hush.tables.measure import Array, Measure, PerRow, Prepared, Released, Total, per_row, range_of, resolved, row_limit, told, value_kind
from hush.tables.quantise import Grid, Limits, quantised

__all__ = ["count", "count_units", "histogram", "mean", "quantile", "sum_", "variance"]

#: Each bin is a column: beyond this the table is wider than it is useful.
MOST_BINS = 1000


@dataclass(frozen=True)
class Count(Measure):
    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        rows = row_limit(name, self.rows_per_unit, limits)
        total = Total(name, 0, rows, lambda pair, value: pair.count())
        return Prepared(name, "count", lambda released: numbers(released[name]), totals=(total,), bounds_text=told(name, rows))


@dataclass(frozen=True)
class CountUnits(Measure):
    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        total = Total(name, 0, 1, lambda pair, value: pair.count())
        return Prepared(name, "count_units", lambda released: numbers(released[name]), totals=(total,), bounds_text=f"{name}: a unit once")


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
            raise InvalidParameter('low and high are found together: write low="private", high="private", or declare both.')
        if all(private) and self.rows_per_unit is None:
            raise InvalidParameter('bounds found privately are bounds of a row: a sum with low="private" needs rows_per_unit.')
        return all(private)

    def with_bounds(self, low: float, high: float) -> Measure:
        return replace(self, low=low, high=high)


@dataclass(frozen=True)
class Sum(Bounded):
    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column = bind(relation, self.column, f"the column of {name!r}")
        first, last = range_of(name, self.low, self.high, value_kind(name, column, dates=False))
        grid = Grid.over(max(abs(first), abs(last)), limits.steps - 1)
        low, high = resolved(name, grid, first, last)
        rows = self.rows_per_unit
        if rows is None:  # the total is bounded, so a row may be larger than it; `guard` keeps the sum of all rows in int64
            value, least, most = quantised(column, grid, -limits.guard, limits.guard), low, high
        else:
            rows = row_limit(name, rows, limits)
            value, least, most = quantised(column, grid, low, high), min(0, rows * low), max(0, rows * high)
        total = Total(name, least, most, lambda pair, v: v.sum())
        text = told(name, rows, self.low, self.high)
        return Prepared(name, "sum", lambda released: numbers(grid.value(numbers(released[name]))), value, rows, (total,), bounds_text=text)


def sum_and_count(name: str, row: PerRow, rows: int) -> tuple[Total, Total]:
    """What a mean and a variance have in common, and share where they are of the same rows: distances from the middle, and rows."""
    distance = Total(f"{name}.sum", -rows * row.reach, rows * row.reach, lambda pair, v: v.sum())
    return distance, Total(f"{name}.count", 0, rows, lambda pair, v: v.count())


@dataclass(frozen=True)
class Mean(Bounded):
    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column = bind(relation, self.column, f"the column of {name!r}")
        row, rows = per_row(name, column, self.low, self.high, limits, dates=True), row_limit(name, self.rows_per_unit, limits)
        totals = sum_and_count(name, row, rows)
        text = told(name, rows, self.low, self.high)
        back, names = replace(row, column=None).back, [total.name for total in totals]  # nothing of the table: executors are sent it
        return Prepared(
            name, "mean", lambda released: back(*(released[column] for column in names)), row.column, rows, totals, bounds_text=text
        )


@dataclass(frozen=True)
class Variance(Bounded):
    """From sums of c, of c^2 and a count, c the distance from the middle in steps.

    c^2 is itself rounded, to about as many steps, and summed from its own middle.
    """

    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column = bind(relation, self.column, f"the column of {name!r}")
        row, rows = per_row(name, column, self.low, self.high, limits, dates=False), row_limit(name, self.rows_per_unit, limits)
        shift = max(0, 2 * row.reach.bit_length() - limits.steps.bit_length())
        half = (1 << shift) >> 1
        largest = (row.reach**2 + half) >> shift
        middle = largest // 2
        distance, number_of = sum_and_count(name, row, rows)
        totals = (
            distance,
            # an integer shift of a number that is not negative: the same on every engine, where `//` goes through floats
            Total(
                f"{name}.square",
                -rows * (largest - middle),
                rows * (largest - middle),
                lambda pair, v: (((v * v + half) >> shift) - middle).sum(),
            ),
            number_of,
        )

        names, step, widest = [total.name for total in totals], row.grid.step, ((row.bounds[1] - row.bounds[0]) / 2) ** 2

        def answer(released: Released) -> Array:
            total, squares, number = (numbers(released[column]) for column in names)
            number = np.maximum(number, 1.0)
            spread = (middle + squares / number) * float(1 << shift) - (total / number) ** 2
            return np.clip(spread * step * step, 0.0, widest)

        return Prepared(name, "variance", answer, row.column, rows, totals, bounds_text=told(name, rows, self.low, self.high))


@dataclass(frozen=True)
class Histogram(Measure):
    column: Any
    edges: tuple[Any, ...] | None
    categories: tuple[Any, ...] | None
    rows_per_unit: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column, rows = bind(relation, self.column, f"the column of {name!r}"), row_limit(name, self.rows_per_unit, limits)
        labels: tuple[Any, ...]
        if self.edges is not None:
            edges = checked_edges(name, self.edges, value_kind(name, column, dates=True), MOST_BINS)
            value, labels = edge_index(column, edges), tuple(zip(self.edges[:-1], self.edges[1:], strict=True))
            dropped = f"values outside [{self.edges[0]}, {self.edges[-1]}] are dropped"
        else:
            labels = checked_categories(name, self.categories or (), column.type(), MOST_BINS)
            value, dropped = category_index(column, labels), "values in no category are dropped"
        names = [f"{name}.{i}" for i in range(len(labels))]
        return Prepared(
            name,
            "histogram",
            lambda released: np.stack([numbers(released[bin_name]) for bin_name in names], axis=-1),
            value,
            rows,
            bins=len(labels),
            labels=labels,
            bounds_text=f"{told(name, rows)}, {dropped}",
        )


@dataclass(frozen=True)
class Quantiles:
    """From noisy counts on a grid to the place of a quantile. Counts are never clipped one by one: that would turn the noise of empty bins
    into rows. Nothing of the table is held: executors are sent it.
    """

    names: tuple[str, ...]
    q: float
    labels: tuple[float, ...]
    #: the least and the largest value that is rounded to each label
    ends: tuple[tuple[float, float], ...]

    def __call__(self, released: Released) -> Array:
        return np.asarray(self.labels)[self.place(self.counts(released))]

    def counts(self, released: Released) -> Array:
        """Bins along the last axis."""
        return np.stack([numbers(released[name]) for name in self.names], axis=-1)

    def place(self, counts: Array) -> Any:
        """The bin of the quantile. With F the running sum of the noisy counts and N their total, it is the first bin where the isotonic
        regression of F reaches q N; by the switch relation, the first k at which the sum of F(j) - q N over j < k is least."""
        if self.q == 0.0:
            return _first_occupied(counts)
        if self.q == 1.0:
            return counts.shape[-1] - 1 - _first_occupied(counts[..., ::-1])
        running = np.cumsum(counts, axis=-1)
        total = np.maximum(running[..., -1:], 0.0)
        below = np.cumsum(running - (self.q - 1e-9) * total, axis=-1)[..., :-1]  # 1e-9: a share of exactly q is reached, rounded or not
        return np.argmin(np.concatenate([np.zeros_like(total), below], axis=-1), axis=-1)

    def excess(self, counts: Array) -> Array:
        """F(k) - q N in each bin k: linear in the counts, so its noise is known; negative below the quantile only, but for noise."""
        running = np.cumsum(counts, axis=-1)
        return np.asarray(running - self.q * running[..., -1:])

    def ends_where(self, counts: Array, reach: Array) -> tuple[Array, Array]:
        """The least and the largest value not ruled out, `reach` being how far noise may move each bin's excess to one side.

        A bin k is the quantile's if its excess is at least 0 and that of k - 1 is not. It is ruled out if the noise would have had to move
        one of the two further than its reach. Only the two tests at the true bin count, so searching all bins makes no more errors.
        """
        excess, place = self.excess(counts), self.place(counts)
        # counts are whole: where q is 0 (or 1) a bin at (or above) the end holds at least one row
        reached, before = excess >= float(self.q == 0.0) - reach, excess[..., :-1] <= reach[:-1] - float(self.q == 1.0)
        likely = reached & np.concatenate([np.ones_like(reached[..., :1]), before], axis=-1)
        likely |= ~reached.any(axis=-1, keepdims=True)  # fewer rows than none: nothing is known
        likely |= np.arange(likely.shape[-1]) == np.asarray(place)[..., None]
        last = likely.shape[-1] - 1 - np.argmax(likely[..., ::-1], axis=-1)
        low, high = np.asarray(self.ends).T
        return low[np.argmax(likely, axis=-1)], high[last]


def _first_occupied(counts: Array) -> Any:
    """The first bin at which the rows so far are clearly more than noise. How large the noise is shows in the counts below 0: an exact
    count is never there. Of exact counts, the first that is not 0."""
    under = np.minimum(counts, 0.0)
    noise = np.sqrt((under**2).sum(axis=-1, keepdims=True) / np.maximum((under < 0.0).sum(axis=-1, keepdims=True), 1))
    clear = np.maximum(3.0 * noise * np.sqrt(np.arange(1, counts.shape[-1] + 1)), 0.5)  # rows are whole
    return np.argmax(np.cumsum(counts, axis=-1) > clear, axis=-1)


@dataclass(frozen=True)
class Quantile(Bounded):
    """From counts on a grid of at most `bins` values between low and high; values beyond them count at the ends."""

    rows_per_unit: int
    q: float
    bins: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        column, rows = bind(relation, self.column, f"the column of {name!r}"), row_limit(name, self.rows_per_unit, limits)
        kind = value_kind(name, column, dates=True)
        first, last = range_of(name, self.low, self.high, kind)
        grid = Grid.over(last - first, self.bins - 2, largest=max(abs(first), abs(last)))  # - 2: both ends may be rounded outwards
        low, high = resolved(name, grid, first, last)
        exact = not grid.coarse and (kind.is_integer() or kind.is_boolean() or kind.is_date())  # such values are on the grid
        half = 0.0 if exact else grid.step / 2.0

        def inside(value: float) -> float:
            return float(np.clip(value, first, last))

        values = [grid.value(i) for i in range(low, high + 1)]
        labels, ends = tuple(inside(v) for v in values), tuple((inside(v - half), inside(v + half)) for v in values)
        answer = Quantiles(tuple(f"{name}.{i}" for i in range(len(labels))), self.q, labels, ends)
        value = quantised(column, grid, low, high) - low
        text = told(name, rows, self.low, self.high)
        return Prepared(name, "quantile", answer, value, rows, bins=len(labels), labels=labels, bounds_text=text)


def numbers(column: Any) -> Array:
    """Released numbers as float64."""
    return np.asarray(column, np.float64)


@called_like("count(rows_per_unit=3)")
def count(*, rows_per_unit: int = 1) -> Measure:
    """The number of rows, at most `rows_per_unit` of a unit in a group."""
    return Count(whole("rows_per_unit", rows_per_unit, 1, "write count(rows_per_unit=3), or count_units() to count units"))


@called_like("count_units()")
def count_units() -> Measure:
    """The number of units with a row in the group."""
    return CountUnits()


@called_like("sum_('cost', low=0, high=20000)")
def sum_(column: Any, *, low: Any, high: Any, rows_per_unit: int | None = None) -> Measure:
    """The sum of a column: a unit's total in a group is clipped to [low, high], or with rows_per_unit each of at most that many rows is."""
    rows = None if rows_per_unit is None else whole("rows_per_unit", rows_per_unit, 1, "leave it out to bound a unit's total")
    return Sum(column, low, high, rows)


@called_like("mean('stay_days', low=0, high=30)")
def mean(column: Any, *, low: Any, high: Any, rows_per_unit: int = 1) -> Measure:
    """The mean over rows, each clipped to [low, high], at most `rows_per_unit` of a unit in a group. Of a column of dates it is a day
    number (days since 1970-01-01)."""
    return Mean(column, low, high, whole("rows_per_unit", rows_per_unit))


@called_like("variance('stay_days', low=0, high=30)")
def variance(column: Any, *, low: Any, high: Any, rows_per_unit: int = 1) -> Measure:
    """The variance over rows (divided by their number), each clipped to [low, high], at most `rows_per_unit` of a unit in a group."""
    return Variance(column, low, high, whole("rows_per_unit", rows_per_unit))


@called_like("histogram('age', edges=[0, 18, 65, 120])")
def histogram(
    column: Any, *, edges: Iterable[Any] | None = None, categories: Iterable[Any] | None = None, rows_per_unit: int = 1
) -> Measure:
    """Rows by bin: [edges[i], edges[i+1]), the last one closed, or one bin per category. Rows in no bin are left out."""
    if (edges is None) == (categories is None):
        raise InvalidParameter("histogram needs either edges= or categories=; write histogram('age', edges=[0, 18, 65, 120]).")
    rows = whole("rows_per_unit", rows_per_unit)
    return Histogram(column, None if edges is None else tuple(edges), None if categories is None else tuple(categories), rows)


@called_like("quantile('cost', 0.5, low=0, high=20000)")
def quantile(column: Any, q: float, *, low: Any, high: Any, bins: int = 128, rows_per_unit: int = 1) -> Measure:
    """The smallest value on a grid of at most `bins` values with a share of at least q of the rows at or below it; q=0 is the smallest
    value that clearly has rows, q=1 the largest. Of a column of dates it is a day number (days since 1970-01-01)."""
    level = within("q", q, 0.0, 1.0, "write q=0.5 for the median")
    bins = whole("bins", bins, 4)
    if bins > MOST_BINS:
        raise InvalidParameter(f"bins must be at most {MOST_BINS}, got {bins}.")
    return Quantile(column, low, high, whole("rows_per_unit", rows_per_unit), level, bins)
