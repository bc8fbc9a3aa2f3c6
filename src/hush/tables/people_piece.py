"""Numbers about people that come from the same scan as the aggregates of groups.

`hush.tables.left_out` asks for averages over people: how much of a person's rows do the limits leave out? Each is made
from the (person, group) pairs of the query, so the rows are read, ranked and grouped once for both.

One row of the result is about people, all others are about groups. The column `p` tells them apart: 1 and 0. The row
about people has null keys and zeros in the columns of groups. The other rows have zeros in the columns about people.
Without keys there is one group, and its row holds both.

There are two forms, with equal results:
- an engine that computes a shared table once (`Engine.reuses`) groups the pairs by person beside the answer;
- another engine would read the rows twice for this. There a window over the pairs of each person computes the sums, and
  one pair of each person is then given a second copy, which carries the person's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hush.tables.expression import as_int64, compared, ibis
from hush.tables.measure import Prepared

__all__ = ["PEOPLE", "Beside", "about", "copied", "keys_of_people", "people_of", "single"]

#: The column that is 1 in the row about people.
PEOPLE = "p"


@dataclass(frozen=True)
class Beside:
    """What is computed about people: row columns, their sums in a pair, and the numbers of a person made from these.

    The names in `rows` and `pairs` must not begin like a column of the plan (b, c, f, g, k, p, r, u, v or w).
    """

    #: columns of the table that rows carry to the pairs
    rows: Mapping[str, Any]
    #: from the rows and the value columns of the aggregates to columns of the grouping by (person, group)
    pairs: Callable[[Any, Sequence[str | None]], dict[str, Any]]
    #: from the table of people (sums of those columns, and `groups`) to the numbers of a person
    people: Callable[[Any], dict[str, Any]]
    #: the aggregates of these numbers
    measures: Callable[[Any], tuple[Prepared, ...]]
    #: the names of the exact columns
    names: tuple[str, ...]


def about(number: int) -> Any:
    """The value of the column p: 1 in the row about people, 0 in the others. It is int64 in every engine, which is read
    without pandas.
    """
    return as_int64(ibis().literal(number))


def single(unit: str | None, keys: Sequence[str], one_row: bool) -> bool:
    """Is a person in one pair at most?"""
    return unit is None or not keys or one_row


def people_of(pairs: Any, names: Sequence[str], groups: int, *, alone: bool, reuses: bool, kept: Sequence[str]) -> Any:
    """The table of people: the sums of the columns `names` over the pairs that count, and the number of groups, up to
    one more than the limit.

    A person is one row: of a grouping by person (`reuses`), or of the pairs themselves where a person has only one
    (`alone`). Otherwise every pair has the numbers of its person, and the column `once` marks one pair of each. `kept`
    are the columns of pairs to keep in that form.
    """
    if alone:
        columns = {name: pairs[name] for name in names}
        return pairs.select(*kept, groups=ibis().literal(1), once=ibis().literal(True), **columns)
    ranked = "rank" in pairs.columns
    columns = {name: ibis().ifelse(pairs["rank"] < groups, pairs[name], 0) if ranked else pairs[name] for name in names}
    number = pairs["rank"].max() + 1 if ranked else pairs.count()
    sums = {name: ibis().coalesce(column.sum(), 0) for name, column in columns.items()}
    if reuses:
        return pairs.group_by("u").aggregate(groups=number, **sums)
    keys = [pairs[name] for name in pairs.columns if name.startswith("g")]
    first = pairs["rank"] if ranked else ibis().row_number().over(group_by="u", order_by=keys)
    over = {name: column.over(group_by="u") for name, column in {"groups": number, **sums}.items()}
    return pairs.select(*kept, once=first == 0, **over)


def copied(table: Any, keys: Sequence[str], groups: int, ours: Sequence[str], theirs: Sequence[str]) -> Any:
    """Every pair that counts, as p = 0, and a copy of one pair of each person, as p = 1. The columns `ours` of groups
    are zero in the copy, and the columns `theirs` about people are zero in the pair.
    """
    both, one = ibis().array([about(0), about(1)]), ibis().array([about(0)])
    copies = ibis().ifelse(table["once"], both, one)
    table = table.mutate(**{PEOPLE: copies.unnest()})
    people = table[PEOPLE] == 1
    if "rank" in table.columns:
        table = table.filter(people | (table["rank"] < groups))
        people = table[PEOPLE] == 1
    columns = {name: ibis().ifelse(people, nothing(table, name), table[name]) for name in ours}
    columns |= {name: ibis().ifelse(people, table[name], 0) for name in theirs}
    named = {name: compared(ibis().ifelse(people, ibis().null(table[name].type()), table[name])) for name in keys}
    return table.select(PEOPLE, **named, **columns)


def nothing(table: Any, name: str) -> Any:
    """What a column of groups holds in a row about people: no bin, or a total of 0."""
    return ibis().null(table[name].type()) if name.startswith("b") else ibis().literal(0, type="int64")


def keys_of_people(pairs: Any, keys: Sequence[str]) -> dict[str, Any]:
    """The keys of the row about people: nulls of the types of the groups' keys."""
    return {name: compared(ibis().null(pairs[name].type())) for name in keys}
