"""What the limits left out, measured privately.

Intervals speak of noise. They cannot know how many people are in more groups than count, how many rows are not used,
how many values are clipped. So a small share of the budget (`SHARE`) buys these shares as noisy numbers of their own,
with intervals. Each is an average over people of a number between 0 and 1 made of one person's rows, so one person
more or less moves each sum by at most 1:

    groups     1 if the person is in more groups than count, else 0
    rows       the share of the person's rows (with a value) that is not used
    values     the share of the person's values that is clipped or dropped; of totals, the share that is clipped

The engine groups rows by person once more for this. The proof of the bound is that of any other answer
(`hush.tables.bound`): the table asked is made unit by unit, with one row for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.tables.aggregate import CountUnits, mean_of
from hush.tables.aggregation import whole_rows
from hush.tables.expression import ibis
from hush.tables.group import ungrouped
from hush.tables.measure import Prepared, Total, per_row
from hush.tables.quantise import wide_sum

if TYPE_CHECKING:
    from hush.tables.query import Query

__all__ = ["SHARE", "LeftOut", "left_out", "limits_in_words"]

#: The part of the budget that measuring takes, unless another is asked for.
SHARE = 0.03
PEOPLE = "people"


@dataclass(frozen=True)
class _Question:
    """One share: its inner name, what it is in words, and how it is made from the (unit, group) and unit levels."""

    name: str
    words: str
    of_pair: Mapping[str, Any]  # columns of the grouping by (unit, group)
    of_unit: Any  # a function of the table of units, a column in [0, 1]


@dataclass(frozen=True)
class LeftOut:
    """The query that measures, and what each of its columns says."""

    query: Query
    words: Mapping[str, str]

    def told(self, released: Mapping[str, Any], mechanisms: Any, level: float) -> dict[str, Any]:
        """Each share with its interval, from released numbers."""
        found = []
        for measure in self.query.measures:
            low, high = measure.answer.ends(mechanisms, level)(released)
            value = [float(np.ravel(x)[0]) for x in (measure.answer(released), low, high)]
            if measure.name == PEOPLE:
                people = value
            else:
                found.append({"what": self.words[measure.name], "share": value[0], "low": value[1], "high": value[2]})
        return {"people": people, "shares": found}


def left_out(query: Query) -> LeftOut | None:
    """The query that measures what the limits of another one leave out; None where it has no limit that could."""
    rows = whole_rows(query.table.relation, query.table.unit, query.grouping, _columns(query))
    keys = [name for name in rows.columns if name.startswith("g")]
    questions = list(_questions(query, rows))
    if not questions:
        return None
    wanted = {name: column for question in questions for name, column in question.of_pair.items()}
    pairs = rows.group_by("u", *keys).aggregate(n=rows.count(), **wanted)
    units = pairs.group_by("u").aggregate(groups=pairs.count(), **{name: _added(pairs[name]) for name in wanted})
    relation = units.select("u", **{question.name: question.of_unit(units) for question in questions})
    table = replace(query.table, relation=relation, unit="u")
    measures = [
        CountUnits().prepare(PEOPLE, relation, table.limits),
        *(_share(q.name, relation, table) for q in questions),
    ]
    return LeftOut(
        replace(
            query, table=table, grouping=ungrouped(), measures=tuple(measures), threshold=None, search=None, declared=()
        ),
        {question.name: question.words for question in questions},
    )


def limits_in_words(query: Query) -> list[str]:
    """What the limits of a query do to the rows, one phrase each; public."""
    words, groups = [], query.grouping.groups
    if query.grouping.must_rank:
        words.append(f"people in more than {groups} group{'s' * (groups > 1)} count in {groups} of them")
    for _, measure in _limited(query):
        limit, most = measure.limit, measure.rows
        assert limit is not None
        if most is not None:
            words.append(f"{measure.name} uses at most {most} row{'s' * (most > 1)} of a person in a group")
        if limit.bounds:
            what = "values" if most is not None else "a person's totals"
            bounds = "the range to be found" if measure.name in _open(query) else limit.bounds
            words.append(f"{what} of {measure.name} outside {bounds} are {limit.fate}")
    return words


def _share(name: str, relation: Any, table: Any) -> Prepared:
    """The average of a column in [0, 1] over people: a sum of distances from the middle, and the number of people,
    which all shares have in common.
    """
    row = per_row(name, relation[name], 0, 1, table.limits, dates=False)
    total = Total(f"{name}.sum", -row.reach, row.reach, lambda pair, v: v.sum(), row.grid.fine)
    return Prepared(name, "share", replace(mean_of(name, row), count=PEOPLE), row.column, None, (total,))


def _limited(query: Query) -> Iterator[tuple[int, Prepared]]:
    """The aggregates with limits of their own, by place; of several with the same limit the first, but bounds that
    are not found yet may differ.
    """
    seen: list[Prepared] = []
    open_bounds = _open(query)
    for i, measure in enumerate(query.measures):
        if measure.limit is None or measure.name.startswith("."):
            continue
        if measure.name in open_bounds:  # never merged: once its bounds are found it may be like another one, or not
            yield i, measure
        elif not any(_same(measure, other) for other in seen):
            seen.append(measure)
            yield i, measure


def _open(query: Query) -> set[str]:
    """The aggregates whose bounds are still to be found."""
    return {name for name, measure in query.declared if measure.wants_bounds}


def _same(one: Prepared, other: Prepared) -> bool:
    a, b = one.limit, other.limit
    assert a is not None and b is not None
    alike = (
        one.rows == other.rows
        and a.bounds == b.bounds
        and a.fate == b.fate
        and (a.outside is None) == (b.outside is None)
    )
    return alike and a.valued.equals(b.valued) and (a.outside is None or bool(a.outside.equals(b.outside)))


def _columns(query: Query) -> dict[str, Any]:
    """What is needed of each row: has it a value, does it lie outside, and for totals the value itself."""
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


def _questions(query: Query, rows: Any) -> Iterator[_Question]:
    """The shares worth asking for."""
    groups = query.grouping.groups
    if query.grouping.must_rank:
        words = f"of people are in more than {groups} group{'s' * (groups > 1)}, and count in {groups} of them"
        yield _Question("groups", words, {}, lambda units: ibis().ifelse(units["groups"] > groups, 1.0, 0.0))
    for i, measure in _limited(query):
        limit, name = measure.limit, measure.name
        assert limit is not None
        valued = _added(rows[f"v{i}"])
        if measure.rows is not None:
            most = measure.rows
            used = f"only {most} row{'s' * (most > 1)} of a person count{'s' * (most == 1)} in a group"
            words = f"of a person's rows, on average, are not used for {name}: {used}"
            over = ibis().greatest(valued - most, 0)
            yield _Question(f"rows{i}", words, {f"n{i}": valued, f"d{i}": over}, _ratio(f"d{i}", f"n{i}"))
        if limit.outside is not None:
            words = f"of a person's values for {name}, on average, lie outside {limit.bounds} and are {limit.fate}"
            yield _Question(
                f"values{i}", words, {f"n{i}": valued, f"x{i}": _added(rows[f"o{i}"])}, _ratio(f"x{i}", f"n{i}")
            )
        elif measure.rows is None and measure.totals:
            total, (bounds,) = wide_sum(rows[f"t{i}"]), measure.totals
            beyond = ibis().ifelse((total < bounds.low) | (total > bounds.high), 1, 0)
            words = f"of a person's totals for {name}, on average, lie outside {limit.bounds} and are clipped"
            has = ibis().ifelse(valued > 0, 1, 0)
            yield _Question(
                f"values{i}", words, {f"m{i}": has, f"x{i}": ibis().coalesce(beyond, 0)}, _ratio(f"x{i}", f"m{i}")
            )


def _ratio(part: str, whole: str) -> Any:
    """A share of one unit's rows, 0 where there are none: one division of two whole numbers, the same on every
    engine.
    """
    return lambda units: units[part].cast("float64") / ibis().greatest(units[whole], 1).cast("float64")
