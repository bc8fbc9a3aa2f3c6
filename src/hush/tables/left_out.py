"""The effect of the limits, measured privately.

Intervals cover the noise only. They do not include people in too many groups, unused rows and clipped values. A small
part of the budget (`SHARE`) therefore measures these shares, each with an interval. Each is an average over people of a
number between 0 and 1 that is made from one person's rows, so one person moves each sum by at most 1:

    groups     1 if the person is in more groups than the limit, else 0
    rows       the share of the person's rows (with a value) that is not used
    values     the share of the person's values that is clipped or dropped; of totals, the share that is clipped

The engine groups rows by person once more for this. The proof of the bound is that of any other answer
(`hush.tables.bound`): the table of shares has one row for each person, made from the rows of that person.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush.tables.aggregation import whole_rows
from hush.tables.bounded_value import per_row
from hush.tables.counts import CountUnits
from hush.tables.description import QueryDescription, TableDescription
from hush.tables.expression import ibis
from hush.tables.group import ungrouped
from hush.tables.means import mean_of
from hush.tables.measure import Prepared, Total, sum_of_values
from hush.tables.quantise import wide_sum
from hush.tables.unit import one_row

__all__ = ["SHARE", "LeftOut", "left_out", "left_out_lines", "limits_in_words"]

#: The default part of the budget that measures the effect of the limits.
SHARE = 0.03
PEOPLE = "people"


@dataclass(frozen=True)
class _Share:
    """One share: its internal name, its description, and how it is computed for a (person, group) and for a person."""

    name: str
    words: str
    of_pair: Mapping[str, Any]  # columns of the grouping by (person, group)
    of_person: Callable[[Any], Any]  # from the table of people to a column in [0, 1]


@dataclass(frozen=True)
class LeftOut:
    """The query that measures the shares, and the description of each share."""

    query: QueryDescription
    words: Mapping[str, str]

    def measured(self, released: Mapping[str, Any], mechanisms: Any, level: float) -> dict[str, Any]:
        """Each share with its interval, from released numbers."""
        found = []
        for measure in self.query.measures:
            low, high = measure.interval(released, mechanisms, level)
            value = [float(np.ravel(x)[0]) for x in (measure.answer(released), low, high)]
            if measure.name == PEOPLE:
                people = value
            else:
                found.append({"what": self.words[measure.name], "share": value[0], "low": value[1], "high": value[2]})
        return {"people": people, "shares": found}


def left_out(query: QueryDescription) -> LeftOut | None:
    """The query that measures what the limits of another query leave out; None if no limit can leave anything out."""
    rows = whole_rows(query.table.relation, query.table.person, query.grouping, _columns(query))
    keys = [name for name in rows.columns if name.startswith("g")]
    shares = list(_shares(query, rows))
    if not shares:
        return None
    wanted = {name: column for share in shares for name, column in share.of_pair.items()}
    person = ["u"] * (query.table.person is not None)
    if person:
        pairs = rows.group_by("u", *keys).aggregate(n=rows.count(), **wanted)
        people = pairs.group_by("u").aggregate(groups=pairs.count(), **{name: _added(pairs[name]) for name in wanted})
    else:  # each row is a person
        people = rows.select(**{name: one_row(column) for name, column in wanted.items()})
    relation = people.select(*person, **{share.name: share.of_person(people) for share in shares})
    table = replace(query.table, relation=relation, unit="u", rule=None)
    number = CountUnits().prepare(PEOPLE, relation, table.limits)
    measures = (number, *(_average(share.name, relation, table) for share in shares))
    return LeftOut(
        QueryDescription(table, ungrouped(), measures, threshold=None), {share.name: share.words for share in shares}
    )


def left_out_lines(receipt: Mapping[str, Any]) -> list[str]:
    """The measured shares of a receipt, one sentence each."""
    found = receipt.get("left_out")
    if found is None:
        return []
    return [
        f"{_percent(share['share'], round)} % [{_percent(share['low'], math.floor)}, "
        f"{_percent(share['high'], math.ceil)}] {share['what']}"
        for share in found["shares"]
    ]


def _percent(share: float, rounding: Callable[[float], int]) -> str:
    """A share in per cent, to a tenth. The ends of intervals are rounded outwards."""
    return f"{rounding(1000.0 * share) / 10.0:g}"


def limits_in_words(query: QueryDescription) -> list[str]:
    """The effect of a query's limits on the rows, one phrase each; public."""
    words, groups = [], query.grouping.groups
    if query.grouping.must_rank:
        words.append(f"people in more than {groups} group{'s' * (groups > 1)} count in {groups} of them")
    for _, measure in _limited(query):
        limit, most = measure.limit, measure.rows
        assert limit is not None
        if most is not None and query.table.person is not None:
            words.append(f"{measure.name} uses at most {most} row{'s' * (most > 1)} of a person in a group")
        if limit.bounds:
            what = "values" if most is not None else "a person's totals"
            bounds = "the range to be found" if measure.name in query.open_bounds else limit.bounds
            words.append(f"{what} of {measure.name} outside {bounds} are {limit.fate}")
    return words


def _average(name: str, relation: Any, table: TableDescription) -> Prepared:
    """The average of a column in [0, 1] over people: a sum of distances from the middle, divided by the number of
    people. All shares use the same number of people.
    """
    row = per_row(name, relation[name], 0, 1, table.limits, dates=False)
    total = Total(f"{name}.sum", -row.reach, row.reach, sum_of_values, row.grid.fine)
    return Prepared(name, "share", replace(mean_of(name, row), count=PEOPLE), row.column, None, (total,))


def _limited(query: QueryDescription) -> Iterator[tuple[int, Prepared]]:
    """The aggregates with limits, and their places. Of several aggregates with the same limit only the first is
    given.
    """
    seen: list[Prepared] = []
    for i, measure in enumerate(query.measures):
        if measure.limit is None or not measure.shown:
            continue
        if measure.name in query.open_bounds:  # never merged: its bounds are unknown and may differ from all others
            yield i, measure
        elif not any(_same(measure, other) for other in seen):
            seen.append(measure)
            yield i, measure


def _same(one: Prepared, other: Prepared) -> bool:
    """Do two aggregates have the same limit?"""
    a, b = one.limit, other.limit
    assert a is not None and b is not None
    alike = (
        one.rows == other.rows
        and a.bounds == b.bounds
        and a.fate == b.fate
        and (a.outside is None) == (b.outside is None)
    )
    return alike and a.valued.equals(b.valued) and (a.outside is None or bool(a.outside.equals(b.outside)))


def _columns(query: QueryDescription) -> dict[str, Any]:
    """Columns that state whether a row has a value and whether the value lies outside; for totals, the value itself."""
    columns = {}
    for i, measure in _limited(query):
        assert measure.limit is not None
        columns[f"v{i}"] = _number(measure.limit.valued)
        if measure.limit.outside is not None:
            columns[f"o{i}"] = _number(measure.limit.outside)
        elif measure.rows is None:
            columns[f"t{i}"] = measure.value
    return columns


def _number(condition: Any) -> Any:
    return ibis().ifelse(condition, 1, 0).cast("int64")


def _added(column: Any) -> Any:
    return ibis().coalesce(column.sum(), 0)


def _shares(query: QueryDescription, rows: Any) -> Iterator[_Share]:
    """The shares that the limits of this query can make positive."""
    groups = query.grouping.groups
    if query.grouping.must_rank:
        words = f"of people are in more than {groups} group{'s' * (groups > 1)}, and count in {groups} of them"
        yield _Share("groups", words, {}, lambda people: ibis().ifelse(people["groups"] > groups, 1.0, 0.0))
    for i, measure in _limited(query):
        if measure.rows is not None and query.table.person is not None:
            yield _unused_rows(i, measure.name, measure.rows, rows)
        assert measure.limit is not None
        if measure.limit.outside is not None:
            yield _values_outside(i, measure, rows)
        elif measure.rows is None and measure.totals:
            yield _clipped_totals(i, measure, rows)


def _unused_rows(i: int, name: str, most: int, rows: Any) -> _Share:
    """The share of a person's rows that exceeds the row limit."""
    valued = _added(rows[f"v{i}"])
    used = f"only {most} row{'s' * (most > 1)} of a person count{'s' * (most == 1)} in a group"
    words = f"of a person's rows, on average, are not used for {name}: {used}"
    over = ibis().greatest(valued - most, 0)
    return _Share(f"rows{i}", words, {f"n{i}": valued, f"d{i}": over}, _ratio(f"d{i}", f"n{i}"))


def _values_outside(i: int, measure: Prepared, rows: Any) -> _Share:
    """The share of a person's values that is clipped or dropped."""
    limit = measure.limit
    assert limit is not None
    words = f"of a person's values for {measure.name}, on average, lie outside {limit.bounds} and are {limit.fate}"
    columns = {f"n{i}": _added(rows[f"v{i}"]), f"x{i}": _added(rows[f"o{i}"])}
    return _Share(f"values{i}", words, columns, _ratio(f"x{i}", f"n{i}"))


def _clipped_totals(i: int, measure: Prepared, rows: Any) -> _Share:
    """The share of a person's totals that is clipped."""
    assert measure.limit is not None
    total, (bounds,) = wide_sum(rows[f"t{i}"]), measure.totals
    beyond = ibis().ifelse((total < bounds.low) | (total > bounds.high), 1, 0)
    outside = f"lie outside {measure.limit.bounds} and are clipped"
    words = f"of a person's totals for {measure.name}, on average, {outside}"
    has_total = ibis().ifelse(_added(rows[f"v{i}"]) > 0, 1, 0)
    columns = {f"m{i}": has_total, f"x{i}": ibis().coalesce(beyond, 0)}
    return _Share(f"values{i}", words, columns, _ratio(f"x{i}", f"m{i}"))


def _ratio(part: str, whole: str) -> Callable[[Any], Any]:
    """A share of one person's rows, 0 if there are none: one division of two whole numbers, which is the same on
    every engine.
    """
    return lambda people: people[part].cast("float64") / ibis().greatest(people[whole], 1).cast("float64")
