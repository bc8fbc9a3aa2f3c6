"""The aggregate `sum`: of a person's total in a group, or of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hush.errors import called_like, whole
from hush.tables.bounded_value import Bounded, in_fine_steps, range_of, value_kind
from hush.tables.estimate import Scaled
from hush.tables.expression import bind
from hush.tables.measure import Measure, Prepared, Total, bounds_in_words, row_limit, sum_of_values
from hush.tables.quantise import FURTHEST_ROW, Grid, Limits, quantised, wide_sum

__all__ = ["Sum", "sum"]


@dataclass(frozen=True)
class Sum(Bounded):
    """The sum of a column. Without `rows_per_unit`, [low, high] bounds a person's total in a group; with it, each
    row.
    """

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One total, in steps of a grid over the larger bound."""
        column = bind(relation, self.column, f"the column of {name!r}")
        first, last = range_of(name, self.low, self.high, value_kind(name, column, dates=False))
        grid = Grid.over(max(abs(first), abs(last)), limits.steps - 1, fine=limits.fine)
        low, high = in_fine_steps(name, grid, first, last)
        limit = self.limit(column, first, last)
        rows = self.rows_per_unit
        if rows is None:
            # [low, high] bounds the total, so a row may be far larger and of either sign: rows are summed in 128 bits
            value = quantised(column, grid, -FURTHEST_ROW, FURTHEST_ROW)
            total = Total(name, low, high, sum_in_128_bits, grid.fine)
            limit = replace(limit, outside=None)
        else:
            rows = row_limit(name, rows, limits)
            value = quantised(column, grid, low, high)
            total = Total(name, min(0, rows * low), max(0, rows * high), sum_of_values, grid.fine)
        text = bounds_in_words(name, rows, self.low, self.high)
        return Prepared(name, "sum", Scaled(name, grid), value, rows, (total,), bounds_text=text, limit=limit)


def sum_in_128_bits(rows: Any, value: Any) -> Any:
    """A person's sum of values in a group, which no number of large rows overflows."""
    return wide_sum(value)


@called_like("sum('cost', low=0, high=20000)")
def sum(column: Any, *, low: Any, high: Any, rows_per_unit: int | None = None) -> Measure:
    """The sum of a column. Each person's total in a group is clipped to [low, high].

    With rows_per_unit, at most that many rows of a person are used, and each row is clipped instead. Without it, rows
    may have either sign, and a single row counts up to four million times the larger bound.
    """
    rows = (
        None
        if rows_per_unit is None
        else whole("rows_per_unit", rows_per_unit, 1, "leave it out to bound a person's total")
    )
    return Sum(column, low, high, rows)
