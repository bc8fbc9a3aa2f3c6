"""The row "other": the number of people who are in at least one group that is not shown.

For a fixed set of shown groups, one person more or less moves this number by at most 1: only the rows of that person
decide whether the person has a hidden group. This holds for every set, also where the person's own groups are new. So
it is a second release after the first one, with a sensitivity of 1, and its charge is composed with that of the groups
for every number of new groups (docs/maths/keys.md). The limit on groups has no effect on it.

Adding up the hidden noisy numbers instead would not be private at this price: a new group would move the sum by its
noise too, and a person can be in several groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, shown
from hush.ledger.payment import Payment
from hush.tables.arrow import plain_numbers
from hush.tables.column_draws import noisy_columns
from hush.tables.column_noise import Spending
from hush.tables.counts import CountUnits
from hush.tables.description import QueryDescription
from hush.tables.group import ungrouped
from hush.tables.output import whole_numbers

__all__ = ["SHARE", "hidden_people", "measured", "must_have_hidden_groups"]

#: The part of the budget that counts the people with a hidden group.
SHARE = 0.1
_OTHER = "other"


def must_have_hidden_groups(query: QueryDescription, other: Any) -> bool:
    """Is the row asked for? It needs keys that are found privately."""
    if not isinstance(other, bool):
        raise InvalidParameter(f"other must be True or False, got {shown(other)}; write other=True.")
    if other and query.grouping.keys is not None:
        raise InvalidParameter(
            "other=True counts people with a group that is not shown, but listed groups are all shown; leave it out, "
            "or write keys='private'."
        )
    return other


def hidden_people(query: QueryDescription, shown: Any = None) -> QueryDescription:
    """The query for the number of people with a row in another group than those of `shown`, a table of keys. Without
    it, the number of all people: it has the same sensitivity.
    """
    table = query.table
    if shown is not None and shown.num_rows:
        keys = tuple(zip(*(shown.column(name).to_pylist() for name in query.grouping.names), strict=True))
        table = replace(table, relation=replace(query.grouping, keys=keys).others(table.relation))
    number = CountUnits().prepare(_OTHER, table.relation, table.limits)
    return QueryDescription(table, ungrouped(), (number,), threshold=None)


def measured(query: QueryDescription, shown: Any, spent: Spending, payment: Payment, level: float) -> dict[str, Any]:
    """The noisy number with its interval, for the receipt."""
    asked = hidden_people(query, shown)
    exact = {_OTHER: plain_numbers(asked.aggregates().to_arrow().column(_OTHER))}
    released = noisy_columns(exact, spent, spent.open(payment, _OTHER))
    low, high = asked.measures[0].interval(released, spent.mechanisms, level)
    value = np.asarray(asked.measures[0].answer(released))
    return {"people": [int(np.ravel(end)[0]) for end in whole_numbers(value, low, high)], "level": level}
