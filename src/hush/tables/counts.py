"""The aggregates `count` and `count_units`: rows, and people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hush.errors import called_like
from hush.tables.estimate import Scaled
from hush.tables.expression import ibis
from hush.tables.measure import (
    Limit,
    Measure,
    Prepared,
    Total,
    bounds_in_words,
    number_of_rows,
    optional_rows,
    row_limit,
)
from hush.tables.quantise import Limits

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts

__all__ = ["Count", "CountUnits", "count", "count_units"]


@dataclass(frozen=True)
class Count(Measure):
    """The number of rows, at most `rows_per_unit` of a person in a group."""

    rows_per_unit: int | None

    def declared(self, name: str, facts: Facts) -> Measure:
        """Rows from the policy, where they were left out."""
        return Count(facts.rows(name, self.rows_per_unit))

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One total: the person's number of rows, clamped to [0, rows_per_unit]."""
        rows = row_limit(name, self.rows_per_unit, limits)
        return Prepared(
            name,
            "count",
            Scaled(name),
            rows=rows,
            totals=(Total(name, 0, rows, number_of_rows, shareable=True),),
            bounds_text=bounds_in_words(name, rows),
            limit=Limit(ibis().literal(True)),
            counts_rows=True,
            counts_people=rows == 1,
        )


@dataclass(frozen=True)
class CountUnits(Measure):
    """The number of people with a row in the group."""

    #: False: the column serves the threshold of private keys only
    shown: bool = True

    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """One total: 1 for each person with a row in the group."""
        return Prepared(
            name,
            "count_units",
            Scaled(name),
            totals=(Total(name, 0, 1, number_of_rows, shareable=True),),
            bounds_text=f"{name}: each person once",
            counts_people=True,
            shown=self.shown,
        )


@called_like("count(rows_per_unit=3)")
def count(*, rows_per_unit: int | str | None = None) -> Measure:
    """The number of rows, at most `rows_per_unit` of a person in a group: 1, or what a policy declares, if left out."""
    return Count(optional_rows(rows_per_unit, "write count(rows_per_unit=3), or count_units() to count people"))


@called_like("count_units()")
def count_units() -> Measure:
    """The number of people with a row in the group."""
    return CountUnits()
