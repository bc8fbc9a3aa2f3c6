"""The aggregate `sum`: of a person's total in a group, or of rows.

Beside a mean of the same values, a sum of rows is computed from the columns of the mean: the sum of distances from the
middle of [low, high], plus the middle times the count. `hush.tables.sharing` states why that is more accurate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hush.errors import InvalidParameter, called_like, shown
from hush.tables.bounded_value import Bounded, in_fine_steps, per_row, range_of, value_kind
from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import ROUNDED, Array, Ends, Linear, Released, Scaled, numbers
from hush.tables.expression import bind
from hush.tables.means import MeanOf, mean_of, sum_and_count
from hush.tables.measure import Measure, Prepared, Total, bounds_in_words, optional_rows, row_limit, sum_of_values
from hush.tables.noise_sum import Term, half_widths
from hush.tables.policy.rules import is_private
from hush.tables.quantise import FURTHEST_ROW, Grid, Limits, quantised, wide_sum

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts

__all__ = ["Sum", "SumOf", "sum"]


@dataclass(frozen=True)
class SumOf:
    """A sum from the columns of a mean: total + middle * count, in steps. Its noise is X + middle * Y, whose law is
    known.
    """

    mean: MeanOf

    def linear(self) -> tuple[Linear, ...]:
        """The total and the count, times the size of a step."""
        step = float(self.mean.grid.value(1.0))
        factors = ((self.mean.total, step), (self.mean.count, step * self.mean.origin))
        return (Linear(factors, ROUNDED * step, signed=self.mean.bounds[0] < 0.0),)

    def __call__(self, released: Released) -> Array:
        return np.asarray(self.mean.grid.value(self.steps(released)))

    def steps(self, released: Released) -> Array:
        """The sum in steps of the grid."""
        return numbers(released[self.mean.total]) + self.mean.origin * numbers(released[self.mean.count])

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """The answer, less and plus the half width of its noise."""
        terms = [Term.of(mechanisms[self.mean.total], 1.0)]
        if self.mean.origin != 0.0:
            terms.append(Term.of(mechanisms[self.mean.count], abs(self.mean.origin)))
        return _SumEnds(self, float(half_widths([terms], level)[0]) + ROUNDED)

    def planning_point(self, rows: int) -> dict[str, float]:
        """The error does not depend on the sum."""
        return self.mean.planning_point(rows)


@dataclass(frozen=True)
class _SumEnds:
    sum: SumOf
    width: float

    def __call__(self, released: Released) -> tuple[Array, Array]:
        steps, grid = self.sum.steps(released), self.sum.mean.grid
        return np.asarray(grid.value(steps - self.width)), np.asarray(grid.value(steps + self.width))


@dataclass(frozen=True)
class Sum(Bounded):
    """The sum of a column. Without `rows_per_unit`, [low, high] bounds a person's total in a group; with it, each
    row.
    """

    word: ClassVar[str] = "sum"

    def declared(self, name: str, facts: Facts) -> Measure:
        """Bounds of a policy are bounds of a row: a sum that leaves one out is a sum of rows. A total that is bounded
        by hand must lie within what the rows that the policy allows can add up to.
        """
        if self.rows_per_unit is not None or self.low is None or self.high is None:
            return super().declared(name, facts)
        if not is_private(self.low) and not is_private(self.high):  # `wants_bounds` refuses a private total
            facts.totals(name, self.column, self.low, self.high)
        return self

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One total, in steps of a grid over the larger bound."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        first, last = range_of(name, self.low, self.high, value_kind(name, column, dates=False))
        grid = Grid.over(max(abs(first), abs(last)), limits.steps - 1, fine=limits.fine)
        low, high = in_fine_steps(name, grid, first, last)
        limit = self.limit(column, first, last)
        rows = self.rows_per_unit
        if rows is None:
            # [low, high] bounds the total, so a row may be far larger and of either sign: rows are summed in 128 bits
            value = quantised(column, grid, -FURTHEST_ROW, FURTHEST_ROW)
            total = Total(name, low, high, sum_in_128_bits, grid.fine, shareable=True)
            limit = replace(limit, outside=None)
        else:
            rows = row_limit(name, rows, limits)
            value = quantised(column, grid, low, high)
            ends = min(0, rows * low), max(0, rows * high)
            total = Total(name, *ends, sum_of_values, grid.fine, shareable=True)
        text = bounds_in_words(name, rows, self.low, self.high)
        made = Prepared(
            name, "sum", Scaled(name, grid, total.low < 0), value, rows, (total,), bounds_text=text, limit=limit
        )
        return made if rows is None else replace(made, instead=self._beside_a_mean(made, column, rows, limits))

    def _beside_a_mean(self, made: Prepared, column: Any, rows: int, limits: Limits) -> Prepared | None:
        """The same sum from the columns of a mean. None where the bounds are too close for a mean: then no mean of
        these values is in the query.
        """
        try:
            row = per_row(made.name, column, self.low, self.high, limits, dates=False)
        except InvalidParameter:
            return None
        answer, totals = SumOf(mean_of(made.name, row)), sum_and_count(made.name, row, rows)
        return replace(made, answer=answer, value=row.column, totals=totals)


def sum_in_128_bits(rows: Any, value: Any) -> Any:
    """A person's sum of values in a group, which no number of large rows overflows."""
    return wide_sum(value)


@called_like("sum('cost', low=0, high=20000)")
def sum(column: Any, *, low: Any = None, high: Any = None, rows_per_unit: int | str | None = None) -> Measure:
    """The sum of a column. Each person's total in a group is clipped to [low, high].

    With rows_per_unit, at most that many rows of a person are used, and each row is clipped instead. Without it, rows
    may have either sign, and a single row counts up to four million times the larger bound. Under a policy low and high
    may be left out: then each row is clipped to the declared bounds.
    """
    return Sum(column, low, high, optional_rows(rows_per_unit, "leave it out to bound a person's total"))
