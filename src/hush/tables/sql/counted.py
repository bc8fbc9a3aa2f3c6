"""The aggregate behind COUNT(x), COUNTIF and COUNT(*) FILTER: the number of rows that have a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hush.errors import shown
from hush.tables.bounded_value import per_row
from hush.tables.estimate import Scaled
from hush.tables.expression import bind, ibis
from hush.tables.means import sum_and_count
from hush.tables.measure import Limit, Measure, Prepared, Total, bounds_in_words, number_of_values, row_limit
from hush.tables.quantise import Limits

__all__ = ["CountValues"]


@dataclass(frozen=True)
class CountValues(Measure):
    """The number of rows in which the column has a value, at most `rows_per_unit` of a person in a group.

    With the bounds of a mean of the same column it is the mean's own count, which is then measured once.
    """

    column: Any
    rows_per_unit: int
    low: Any = None
    high: Any = None

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One total: the person's number of values, clamped to [0, rows_per_unit]."""
        column = bind(relation, self.column, f"the column of {shown(name)}")
        rows = row_limit(name, self.rows_per_unit, limits)
        if self.low is None:
            value = ibis().cases((column.notnull(), ibis().literal(1, type="int64")), else_=ibis().null("int64"))
            total = Total(name, 0, rows, number_of_values, shareable=True)
        else:
            row = per_row(name, column, self.low, self.high, limits, dates=True)
            value, total = row.column, sum_and_count(name, row, rows)[1]
        return Prepared(
            name,
            "count",
            Scaled(total.name),
            value=value,
            rows=rows,
            totals=(total,),
            bounds_text=bounds_in_words(name, rows),
            limit=Limit(column.notnull()),
            counts_rows=True,
        )
