"""The effect of the limits, measured privately.

Intervals cover the noise only. They do not include people in too many groups, unused rows and clipped values. A small
part of the budget (`SHARE`) therefore measures these shares, each with an interval. Each is an average over people of a
number between 0 and 1 that is made from one person's rows, so one person moves each sum by at most 1:

    groups     1 if the person is in more groups than the limit, else 0
    rows       the share of the person's rows (with a value) that is not used
    values     the share of the person's values that is clipped or dropped; of totals, the share that is clipped

Shares of rows and values are those of the groups that count: they describe what the limits did to the rows behind the
answer. They are computed from the same (person, group) pairs as the answer (`hush.tables.people_piece`), so the engine
reads the rows once. The proof of the bound is that of any other answer (`hush.tables.bound`): the table of shares has
one row for each person, made from the rows of that person and the salt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hush.tables.bounded_value import per_row
from hush.tables.counts import CountUnits
from hush.tables.description import QueryDescription
from hush.tables.expression import ibis, operations
from hush.tables.group import ungrouped
from hush.tables.means import mean_of
from hush.tables.measure import Limit, Prepared, Total, sum_of_values
from hush.tables.people_piece import Beside
from hush.tables.quantise import Limits

__all__ = ["SHARE", "LeftOut", "left_out", "left_out_lines", "limits_in_words"]

#: The default part of the budget that measures the effect of the limits.
SHARE = 0.03
PEOPLE = "people"
#: The share of people who are in more groups than the limit.
GROUPS = "groups"


#: The average over people is not the share of all rows: people with many rows lose more of them, and have more. In one
#: group d/n does not decrease with n, where d of a person's n rows are not used, so the mean of d/n is at most the sum
#: of d divided by the sum of n (Chebyshev's inequality on sums).
_ALL = "of all rows it is usually more, because people with many rows lose more"
#: From the rows and the value columns of the aggregates to columns of the grouping by (person, group).
_OfPair = Callable[[Any, Sequence[str | None]], dict[str, Any]]


@dataclass(frozen=True)
class _Share:
    """One share: its internal name, its description, and how it is computed for a (person, group) and for a person."""

    name: str
    words: str
    of_pair: _OfPair
    of_person: Callable[[Any], Any]  # from the table of people to a column in [0, 1]


@dataclass(frozen=True)
class LeftOut:
    """The numbers that measure the shares, and the description of each share. `query` has the aggregates of these
    numbers and their sensitivity; they are computed with the query that they are about, from `beside`.
    """

    query: QueryDescription
    words: Mapping[str, str]
    beside: Beside

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
        return {"people": people, "shares": found} | self._beyond(released, mechanisms, level)

    def _beyond(self, released: Mapping[str, Any], mechanisms: Any, level: float) -> dict[str, Any]:
        """An upper bound on the number of people in more groups than the limit. A group lacks at most these people.

        The bound is the product of two upper ends: of the number of people, and of the share of them. Each has a third
        of the probability of a miss, so that the interval of a count may use the last third.
        """
        by_name = {measure.name: measure for measure in self.query.measures}
        if GROUPS not in by_name:
            return {}
        each = 1.0 - (1.0 - level) / 3.0
        most, share = (
            float(np.ravel(by_name[name].interval(released, mechanisms, each)[1])[0]) for name in (PEOPLE, GROUPS)
        )
        return {"beyond": {"people": math.ceil(max(most, 0.0) * min(max(share, 0.0), 1.0)), "level": each}}


def left_out(query: QueryDescription) -> LeftOut | None:
    """What measures how much the limits of a query leave out; None if no limit can leave anything out."""
    shares = list(_shares(query))
    if not shares:
        return None
    limits = query.table.limits

    def measures(people: Any) -> tuple[Prepared, ...]:
        number = CountUnits().prepare(PEOPLE, people, limits)
        return (number, *(_average(share.name, people, limits) for share in shares))

    # the aggregates depend on the names and types of the columns only, so the plan needs no rows
    people = ibis().table({share.name: "float64" for share in shares}, name="people")
    table = replace(query.table, relation=people, unit=PEOPLE, rule=None)
    asked = QueryDescription(table, ungrouped(), measures(people), threshold=None)
    beside = Beside(
        rows=_columns(query),
        pairs=lambda rows, kept: {name: c for share in shares for name, c in share.of_pair(rows, kept).items()},
        people=lambda people: {share.name: share.of_person(people) for share in shares},
        measures=measures,
        names=asked.sensitivity.columns,
    )
    return LeftOut(asked, {share.name: share.words for share in shares}, beside)


def left_out_lines(receipt: Mapping[str, Any]) -> list[str]:
    """The measured shares of a receipt, one sentence each."""
    found = receipt.get("left_out")
    if found is None:
        return [f"not measured: {words}" for words in receipt.get("unmeasured", [])]
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
        if most is not None and not query.table.one_row:
            words.append(f"{measure.name} uses at most {most} row{'s' * (most > 1)} of a person in a group")
        if limit.bounds:
            what = "values" if most is not None else "a person's totals"
            bounds = "the range to be found" if measure.name in query.open_bounds else limit.bounds
            words.append(f"{what} of {measure.name} outside {bounds} are {limit.fate}")
    return words


def _average(name: str, relation: Any, limits: Limits) -> Prepared:
    """The average of a column in [0, 1] over people: a sum of distances from the middle, divided by the number of
    people. All shares use the same number of people.
    """
    row = per_row(name, relation[name], 0, 1, limits, dates=False)
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
    """For each limit on values, a column that is null where a row has no value, 1 where the value lies outside the
    bounds, and 0 elsewhere. Limits on the number of all rows and on totals need none.
    """
    limits = {i: measure.limit for i, measure in _limited(query) if not _every_row(measure) and not _of_totals(measure)}
    return {f"e{i}": _flag(limit) for i, limit in limits.items() if limit is not None}


def _flag(limit: Limit) -> Any:
    outside = ibis().literal(0) if limit.outside is None else ibis().ifelse(limit.outside, 1, 0)
    return ibis().ifelse(limit.valued, outside, ibis().null("int64")).cast("int8")


def _every_row(measure: Prepared) -> bool:
    """Does every row have a value?"""
    limit = measure.limit
    return limit is not None and limit.outside is None and isinstance(limit.valued.op(), operations().Literal)


def _of_totals(measure: Prepared) -> bool:
    """Do the bounds apply to a person's total?"""
    return measure.limit is not None and measure.limit.outside is None and measure.rows is None


def _added(column: Any) -> Any:
    return ibis().coalesce(column.sum(), 0)


def _shares(query: QueryDescription) -> Iterator[_Share]:
    """The shares that the limits of this query can make positive."""
    groups, ranked = query.grouping.groups, query.grouping.must_rank
    where = " in the groups that count" if ranked else ""
    if ranked:
        words = f"of people are in more than {groups} group{'s' * (groups > 1)}, and count in {groups} of them"
        over = lambda people: ibis().ifelse(people["groups"] > groups, 1.0, 0.0)  # noqa: E731
        yield _Share(GROUPS, words, lambda rows, kept: {}, over)
    for i, measure in _limited(query):
        assert measure.limit is not None
        if measure.rows is not None and not query.table.one_row:
            yield _unused_rows(i, measure, measure.rows, where)
        if measure.limit.outside is not None:
            yield _values_outside(i, measure, where)
        elif _of_totals(measure) and measure.totals:
            yield _clipped_totals(i, measure, where)


def _values(i: int, measure: Prepared, rows: Any) -> Any:
    """The number of a person's values in a group."""
    return rows.count() if _every_row(measure) else rows[f"e{i}"].count()


def _unused_rows(i: int, measure: Prepared, most: int, where: str) -> _Share:
    """The share of a person's rows that exceeds the row limit."""
    used = f"only {most} row{'s' * (most > 1)} of a person count{'s' * (most == 1)} in a group"
    words = f"of a person's rows{where}, on average over people, are not used for {measure.name} ({_ALL}): {used}"

    def of_pair(rows: Any, kept: Sequence[str | None]) -> dict[str, Any]:
        number = _values(i, measure, rows)
        return {f"n{i}": number, f"d{i}": ibis().greatest(number - most, 0)}

    return _Share(f"rows{i}", words, of_pair, _ratio(f"d{i}", f"n{i}"))


def _values_outside(i: int, measure: Prepared, where: str) -> _Share:
    """The share of a person's values that is clipped or dropped."""
    limit = measure.limit
    assert limit is not None
    values = f"of a person's values for {measure.name}{where}, on average,"
    words = f"{values} lie outside {limit.bounds} and are {limit.fate}"

    def of_pair(rows: Any, kept: Sequence[str | None]) -> dict[str, Any]:
        return {f"n{i}": _values(i, measure, rows), f"x{i}": _added(rows[f"e{i}"])}

    return _Share(f"values{i}", words, of_pair, _ratio(f"x{i}", f"n{i}"))


def _clipped_totals(i: int, measure: Prepared, where: str) -> _Share:
    """The share of a person's totals that is clipped. A person without a value in a group has no total there."""
    assert measure.limit is not None
    (bounds,) = measure.totals
    outside = f"lie outside {measure.limit.bounds} and are clipped"
    words = f"of a person's totals for {measure.name}{where}, on average, {outside}"

    def of_pair(rows: Any, kept: Sequence[str | None]) -> dict[str, Any]:
        total = bounds.sum_over(rows, rows[kept[i]])
        beyond = ibis().ifelse((total < bounds.low) | (total > bounds.high), 1, 0)
        return {f"m{i}": ibis().ifelse(total.notnull(), 1, 0), f"x{i}": ibis().coalesce(beyond, 0)}

    return _Share(f"values{i}", words, of_pair, _ratio(f"x{i}", f"m{i}"))


def _ratio(part: str, whole: str) -> Callable[[Any], Any]:
    """A share of one person's rows, 0 if there are none: one division of two whole numbers, which is the same on
    every engine.
    """
    return lambda people: people[part].cast("float64") / ibis().greatest(people[whole], 1).cast("float64")
