"""The aggregate `variance`: sums of squares and of distances from the middle of [low, high], and a count.

The interval. With mean m, squares - 2 m total + (m^2 - v) count is noise alone at the true variance v, and its law is
known. m is unknown, so nine tenths of 1 - level are for this test and one tenth is for an interval of m. A v is kept if
the test does not rule it out at some m of that interval. So the interval contains the truth at least as often as its
level states; where the noise is large it is wider than necessary.

As in `hush.tables.estimate`, nothing is drawn, and only +, -, *, / and comparisons are used on released numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hush.errors import InvalidParameter, called_like, shown
from hush.tables.bounded_value import Bounded, per_row
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import CELLS, ROUNDED, Array, Ends, Released, between, in_blocks, last_accepted, numbers
from hush.tables.expression import bind
from hush.tables.means import MeanOf, mean_of, sum_and_count
from hush.tables.measure import Measure, Prepared, Total, bounds_in_words, optional_rows, row_limit
from hush.tables.noise_sum import Term, half_widths
from hush.tables.quantise import Limits

__all__ = ["Variance", "VarianceOf", "variance"]

_FINE_CELLS = 8  # cells of the table of half widths, per unit of each ratio of factors


@dataclass(frozen=True)
class VarianceOf:
    """The variance from sums of c, of c^2 and a count; c is the distance from the middle in steps. c^2 is measured in
    multiples of `unit` squared steps, and its sum is taken from `middle` of them.
    """

    mean: MeanOf
    square: str
    unit: float
    middle: float

    @property
    def widest(self) -> float:
        """The largest variance of values inside the bounds."""
        low, high = self.mean.bounds
        return ((high - low) / 2) ** 2

    def __call__(self, released: Released) -> Array:
        total, squares, number = (numbers(released[name]) for name in (self.mean.total, self.square, self.mean.count))
        number = np.maximum(number, 1.0)
        spread = (self.middle + squares / number) * self.unit - (total / number) * (total / number)
        return np.clip(spread * self.mean.grid.step * self.mean.grid.step, 0.0, self.widest)

    def planning_point(self, rows: int) -> dict[str, float]:
        """A mean in the middle of [low, high], and a sum of squares in the middle of its range."""
        return {**self.mean.planning_point(rows), self.square: 0.0}

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """All variances that the test does not rule out."""
        missed = 1.0 - level
        means = self.mean.widths(mechanisms, 1.0 - 0.1 * missed)
        return _VarianceEnds(self, means, *self._table(mechanisms, 1.0 - 0.9 * missed))

    def _table(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> tuple[Array, float, float]:
        """Half widths of Z - b X + c Y (noise of squares, total and count) over a grid of b and c, and the cell size
        of each.
        """
        most_b = 2.0 * self.mean.furthest / self.unit
        most_c = self.middle + self.mean.furthest**2 / self.unit
        b = np.linspace(0.0, most_b, 4 * _FINE_CELLS + 1)
        c = np.linspace(0.0, most_c, 3 * _FINE_CELLS + 1)
        made = [mechanisms[name] for name in (self.square, self.mean.total, self.mean.count)]
        terms = [[Term.of(made[0], 1.0), Term.of(made[1], float(i)), Term.of(made[2], float(j))] for i in b for j in c]
        widths = half_widths(terms, level).reshape(b.size, c.size)
        widths = np.maximum.accumulate(np.maximum.accumulate(widths, axis=0), axis=1) + ROUNDED * (1.0 + b[:, None])
        return widths, float(b[1]), float(c[1])


@dataclass(frozen=True)
class _VarianceEnds:
    variance: VarianceOf
    means: Array
    table: Array
    cell_b: float
    cell_c: float

    def __call__(self, released: Released) -> tuple[Array, Array]:
        names = (self.variance.mean.total, self.variance.square, self.variance.mean.count)
        return in_blocks(self._block, {name: released[name] for name in names})

    def _block(self, released: Released) -> tuple[Array, Array]:
        """The tested statistic, divided by the count, is q(m) - v with q(m) = squares/count - 2 m total/count + m^2,
        in squared steps.
        """
        of, mean = self.variance, self.variance.mean
        low, high = mean.distances(released, self.means)
        count = np.maximum(numbers(released[mean.count]), 0.0)
        safe = np.where(count > 0.0, count, 1.0)
        middle = numbers(released[mean.total]) / safe
        seen = (of.middle + numbers(released[of.square]) / safe) * of.unit - middle * middle
        nearest = np.clip(middle, low, high) - middle
        furthest = np.maximum(np.abs(low - middle), np.abs(high - middle))
        most = mean.furthest * mean.furthest
        least_seen = np.clip(seen + nearest * nearest, 0.0, most)
        most_seen = np.clip(seen + furthest * furthest, 0.0, most)
        nodes = np.linspace(0.0, most, CELLS + 1)
        widths = self._widths(low, high, nodes)
        upper = self._end(most_seen, count, nodes, widths)
        lower = most - self._end(most - least_seen, count, nodes, widths[:, ::-1])
        step, value = mean.grid.step, of(released)
        ends = (np.clip(end * step * step, 0.0, of.widest) for end in (lower, upper))
        return np.minimum(next(ends), value), np.maximum(next(ends), value)

    def _end(self, start: Array, count: Array, nodes: Array, widths: Array) -> Array:
        """The largest v with count (v - start) <= width(v)."""
        gaps = count[:, None] * (nodes - start[:, None]) - widths
        return last_accepted(start, -between(start, nodes, widths), nodes, gaps)

    def _widths(self, low: Array, high: Array, nodes: Array) -> Array:
        """Half widths in squared steps at each variance: the largest over the means in [low, high]."""
        of = self.variance
        largest = np.maximum(np.abs(low), np.abs(high))
        squares = largest * largest
        least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(low * low, high * high))
        c = np.maximum(
            np.abs(of.middle + (squares[:, None] - nodes) / of.unit),
            np.abs(of.middle + (least[:, None] - nodes) / of.unit),
        )
        return of.unit * self._interpolated(2.0 * largest / of.unit, c)

    def _interpolated(self, b: Array, c: Array) -> Array:
        """The table, interpolated between its nodes in both directions."""
        at_b, at_c = b[:, None] / self.cell_b, c / self.cell_c
        i = np.minimum(at_b.astype(np.int64), self.table.shape[0] - 2)
        j = np.minimum(at_c.astype(np.int64), self.table.shape[1] - 2)
        along_b, along_c = at_b - i, at_c - j
        lower = self.table[i, j] + along_c * (self.table[i, j + 1] - self.table[i, j])
        upper = self.table[i + 1, j] + along_c * (self.table[i + 1, j + 1] - self.table[i + 1, j])
        return lower + along_b * (upper - lower)


@dataclass(frozen=True)
class SumOfSquares:
    """A person's sum of squared distances in a group, each divided by 2^bits, rounded and less `middle`."""

    bits: int
    middle: int

    def __call__(self, rows: Any, value: Any) -> Any:
        return (_squared(value.abs(), self.bits) - self.middle).sum()


@dataclass(frozen=True)
class Variance(Bounded):
    """The variance of a column over rows, from sums of c, of c^2 and a count; c is the distance from the middle.

    c^2 is rounded to about as many steps as c has: to multiples of 2^shift squared steps, and 2^fine parts of one. It
    is summed from the middle of its range.
    """

    word: ClassVar[str] = "variance"

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """Three totals: distances from the middle, their squares, and rows."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        row = per_row(name, column, self.low, self.high, limits, dates=False)
        rows = row_limit(name, self.rows_per_unit, limits)
        if not 1e-140 < row.bounds[1] - row.bounds[0] < 1e140:
            raise InvalidParameter(
                f"high - low of {shown(name)} must be between 1e-140 and 1e140, so that float64 holds its square; "
                "divide the column by a constant."
            )
        fine = row.grid.fine
        reach = -(-row.reach >> fine)
        shift = max(0, 2 * reach.bit_length() - limits.steps.bit_length())
        shift += (shift + fine) % 2  # half of shift + fine is a whole number of bits
        largest = _squared(row.reach, shift + fine)
        middle = largest // 2 >> fine << fine
        furthest = rows * max(middle, largest - middle)
        add_up = SumOfSquares(shift + fine, middle)
        squares = Total(f"{name}.square", -furthest, furthest, add_up, fine, shareable=True)
        distance, number_of = sum_and_count(name, row, rows)
        answer = VarianceOf(mean_of(name, row), squares.name, float(1 << shift), float(middle >> fine))
        text = bounds_in_words(name, rows, self.low, self.high)
        limit = self.limit(column, *row.bounds)
        totals = (distance, squares, number_of)
        return Prepared(name, "variance", answer, row.column, rows, totals, bounds_text=text, limit=limit)


def _squared(size: Any, bits: int) -> Any:
    """size^2/2^bits, rounded, for whole numbers from 0 to 2^40 (integers or a column); bits is even, at most 40.

    With size = a 2^j + b, j = bits/2, it is a^2 + (a b 2^(j+1) + b^2)/2^bits: each product stays below 2^62. Only
    shifts of numbers that are not negative are used. All engines compute these alike; `//` would be computed in floats.
    """
    j = bits // 2
    a, b = size >> j, size & ((1 << j) - 1)
    return a * a + ((a * b * (1 << j + 1) + b * b + (1 << bits >> 1)) >> bits)


@called_like("variance('stay_days', low=0, high=30)")
def variance(column: Any, *, low: Any = None, high: Any = None, rows_per_unit: int | str | None = None) -> Measure:
    """The variance over rows (divided by their number), each clipped to [low, high], at most `rows_per_unit` (1) of a
    person in a group. Under a policy low, high and rows_per_unit may be left out.
    """
    return Variance(column, low, high, optional_rows(rows_per_unit))
