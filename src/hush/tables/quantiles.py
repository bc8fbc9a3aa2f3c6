"""The aggregate `quantile`: counts of rows on a grid of values, and the value at which they reach a share q.

The interval. A quantile is far from linear in the counts, but a test of one value is linear: is the number of rows up
to the value, less q times all rows, negative? The noise of that difference has a known law. The interval consists of
all values that the test does not rule out at the level. For any rows, it contains the quantile of the clipped rows at
least as often as its level states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, called_like, whole, within
from hush.numerics.rounding import SPECIAL_FUNCTION, up
from hush.tables.bounded_value import Bounded, in_fine_steps, range_of, value_kind
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import Array, Ends, Released, numbers
from hush.tables.expression import bind
from hush.tables.histograms import MOST_BINS
from hush.tables.measure import Measure, Prepared, bounds_in_words, row_limit
from hush.tables.noise_sum import Term, half_widths
from hush.tables.quantise import Grid, Limits, quantised

__all__ = ["Quantile", "QuantileOf", "quantile"]


@dataclass(frozen=True)
class QuantileOf:
    """The place of a quantile from noisy counts on a grid. Counts are never clipped one by one: that would turn the
    noise of empty bins into rows.
    """

    names: tuple[str, ...]
    q: float
    labels: tuple[float, ...]
    #: the least and the largest value that are rounded to each label
    cells: tuple[tuple[float, float], ...]

    def __call__(self, released: Released) -> Array:
        return np.asarray(self.labels)[self.place(self.counts(released))]

    def counts(self, released: Released) -> Array:
        """Bins along the last axis."""
        return np.stack([numbers(released[name]) for name in self.names], axis=-1)

    def place(self, counts: Array) -> Any:
        """The bin of the quantile. With F the running sum of the noisy counts and N their total, it is the first bin
        where the isotonic regression of F reaches q N; by the switch relation, the first k at which the sum of F(j) -
        q N over j < k is least.
        """
        if self.q == 0.0:
            return _first_occupied(counts)
        if self.q == 1.0:
            return counts.shape[-1] - 1 - _first_occupied(counts[..., ::-1])
        running = np.cumsum(counts, axis=-1)
        total = np.maximum(running[..., -1:], 0.0)
        # less 1e-9, so that rounding does not hide a share of exactly q
        below = np.cumsum(running - (self.q - 1e-9) * total, axis=-1)[..., :-1]
        return np.argmin(np.concatenate([np.zeros_like(total), below], axis=-1), axis=-1)

    def planning_point(self, rows: int) -> dict[str, float]:
        """Rows that are spread evenly over the grid."""
        return dict.fromkeys(self.names, rows / len(self.names))

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """All values that a test of each bin does not rule out."""
        return _QuantileEnds(self, self.reach(mechanisms, level))

    def reach(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Array:
        """How far noise moves the excess of each bin, up or down, with this probability: a public constant.

        The excess of bin k is 1 - q times the counts up to k, less q times the counts above it.
        """
        made, bins = mechanisms[self.names[0]], len(self.names)  # the bins of a histogram have one law
        terms = [[Term.of(made, 1.0 - self.q, k + 1), Term.of(made, self.q, bins - k - 1)] for k in range(bins)]
        return up(half_widths(terms, level), SPECIAL_FUNCTION) + SPECIAL_FUNCTION.share

    def excess(self, counts: Array) -> Array:
        """F(k) - q N in each bin k. It is linear in the counts, so its noise is known. Without noise it is negative
        exactly below the quantile.
        """
        running = np.cumsum(counts, axis=-1)
        return np.asarray(running - self.q * running[..., -1:])

    def ends_where(self, counts: Array, reach: Array) -> tuple[Array, Array]:
        """The least and the largest value that are not ruled out. `reach` is how far noise may move the excess of
        each bin to one side.

        The quantile is in bin k if the excess of k is at least 0 and that of k - 1 is not. Bin k is ruled out if the
        noise would have had to move one of the two further than its reach. Only the two tests at the true bin can
        cause a miss, so a search over all bins makes no more errors.
        """
        excess, place = self.excess(counts), self.place(counts)
        # counts are whole: where q is 0 (or 1) a bin at (or above) the end holds at least one row
        reached, before = excess >= float(self.q == 0.0) - reach, excess[..., :-1] <= reach[:-1] - float(self.q == 1.0)
        likely = reached & np.concatenate([np.ones_like(reached[..., :1]), before], axis=-1)
        likely |= ~reached.any(axis=-1, keepdims=True)  # the noisy counts sum to less than 0: return the whole range
        likely |= np.arange(likely.shape[-1]) == np.asarray(place)[..., None]
        last = likely.shape[-1] - 1 - np.argmax(likely[..., ::-1], axis=-1)
        low, high = np.asarray(self.cells).T
        return low[np.argmax(likely, axis=-1)], high[last]


@dataclass(frozen=True)
class _QuantileEnds:
    quantile: QuantileOf
    reach: Array

    def __call__(self, released: Released) -> tuple[Array, Array]:
        return self.quantile.ends_where(self.quantile.counts(released), self.reach)


def _first_occupied(counts: Array) -> Any:
    """The first bin up to which there are clearly more rows than noise. The counts below 0 show how large the noise
    is, because no exact count is negative. For exact counts it is the first bin that is not empty.
    """
    under = np.minimum(counts, 0.0)
    noise = np.sqrt((under**2).sum(axis=-1, keepdims=True) / np.maximum((under < 0.0).sum(axis=-1, keepdims=True), 1))
    clear = np.maximum(3.0 * noise * np.sqrt(np.arange(1, counts.shape[-1] + 1)), 0.5)  # a number of rows is whole
    return np.argmax(np.cumsum(counts, axis=-1) > clear, axis=-1)


@dataclass(frozen=True)
class Quantile(Bounded):
    """A quantile from counts on a grid of at most `bins` values between low and high. Values outside are counted at
    the ends.
    """

    rows_per_unit: int
    q: float
    bins: int

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One count for each value of the grid."""
        column = bind(relation, self.column, f"the column of {name!r}")
        rows = row_limit(name, self.rows_per_unit, limits)
        kind = value_kind(name, column, dates=True)
        first, last = range_of(name, self.low, self.high, kind)
        # - 2, because both ends may be rounded outwards
        grid = Grid.over(last - first, self.bins - 2, largest=max(abs(first), abs(last)))
        low, high = in_fine_steps(name, grid, first, last)
        on_grid = not grid.coarse and (kind.is_integer() or kind.is_boolean() or kind.is_date())
        half = 0.0 if on_grid else grid.step / 2.0

        def inside(value: float) -> float:
            return min(max(value, first), last)

        values = [grid.value(i) for i in range(low, high + 1)]
        labels, ends = tuple(inside(v) for v in values), tuple((inside(v - half), inside(v + half)) for v in values)
        return Prepared(
            name,
            "quantile",
            QuantileOf(tuple(f"{name}.{i}" for i in range(len(labels))), self.q, labels, ends),
            value=quantised(column, grid, low, high) - low,
            rows=rows,
            bins=len(labels),
            labels=labels,
            bounds_text=bounds_in_words(name, rows, self.low, self.high),
            limit=self.limit(column, first, last),
            fixed_bins=False,
        )


@called_like("quantile('cost', 0.5, low=0, high=20000)")
def quantile(column: Any, q: float, *, low: Any, high: Any, bins: int = 128, rows_per_unit: int = 1) -> Measure:
    """The smallest value, on a grid of at most `bins` values, with a share of at least q of the rows at or below it.

    q=0 is the smallest value that clearly has rows, q=1 the largest. The quantile of a column of dates is a day number
    (days since 1970-01-01).
    """
    level = within("q", q, 0.0, 1.0, "write q=0.5 for the median")
    bins = whole("bins", bins, 4)
    if bins > MOST_BINS:
        raise InvalidParameter(f"bins must be at most {MOST_BINS}, got {bins}.")
    return Quantile(column, low, high, whole("rows_per_unit", rows_per_unit), level, bins)
