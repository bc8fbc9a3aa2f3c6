"""Each row of a derived table belongs to one person: without this person, the rows of all others stay as they are.

Random trees of the operations that are allowed are run on random databases with and without one person. Trees that
break the rule are refused; forced past the check, they are caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import ibis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _
from tables.people import DAYS, People, databases, order_of, without
from tables.test_sensitivity import excess

import hush.tables
from hush.errors import HushError, Unsupported
from hush.tables import count, count_units, histogram, joining, linking, mean, query
from hush.tables.ownership import Owner, must_be_owned

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

Table = hush.tables.Table


@pytest.fixture(scope="module")
def people() -> People:
    return People()


# -- random trees --------------------------------------------------------------------------------------------

REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda t: t.count(),
    "sum": lambda t: t.x.sum(),
    "whole sum": lambda t: t.k.sum(),
    "mean": lambda t: t.x.mean(),
    "min": lambda t: t.g.min(),
    "max": lambda t: t.x.max(),
    "first day": lambda t: t.d.min(),
    "any": lambda t: (t.k > 0).any(),
    "where": lambda t: t.count(where=t.x > 0),
    "spread": lambda t: t.x.max() - t.x.min() + t.count(),
}
RANKS: dict[str, Callable[[Any], Any]] = {
    "rank": lambda t: ibis.rank(),
    "dense rank": lambda t: ibis.dense_rank(),
}
FILTERS: dict[str, Callable[[Any], Any]] = {
    "positive": lambda t: t.x > 0,
    "known": lambda t: t.k.notnull(),
    "ward": lambda t: t.g.isin(["a", "b"]),
    "unit": lambda t: t.u > 1,
}


def windowed(table: Table, function: str, parts: list[str], order: str | None) -> Table:
    """One more column: a function over a person's rows (of one ward, up to a day)."""
    name = f"c{len(table.columns)}"
    if function in RANKS:
        return table.mutate(**{name: lambda t: RANKS[function](t).over(group_by=parts, order_by=order or "d")})
    if function == "spread":
        return table.mutate(
            **{name: lambda t: t.x.max().over(group_by=parts) - t.x.min().over(group_by=parts) + t.k.fill_null(0)}
        )
    if order is None:
        return table.mutate(**{name: lambda t: REDUCTIONS[function](t).over(group_by=parts)})
    frame = ibis.range_window(preceding=None, following=0, group_by=parts, order_by=order)
    return table.mutate(**{name: lambda t: REDUCTIONS[function](t).over(frame)})


def condensed(table: Table, function: str) -> Table:
    """One row per person, with the columns that the other steps use."""
    return table.per_unit(
        g=_.g.max(), k=_.k.min(), d=_.d.max(), x=_.x.mean(), order_id=_.order_id.min(), value=REDUCTIONS[function]
    )


@st.composite
def trees(draw: Any) -> Callable[[People], Table]:
    """A sequence of steps, applied to the visits."""
    steps: list[Callable[[People, Table], Table]] = []
    joins = 0
    for _step in range(draw(st.integers(1, 5))):
        kinds = ["window", "filter", "row", "per_unit"] + ["public", "private", "condensed", "linked", "twice"] * (
            joins < 2
        )
        kind = draw(st.sampled_from(kinds))
        how = draw(st.sampled_from(["inner", "left"]))
        suffix = f"_{len(steps)}"
        if kind == "window":
            function = draw(st.sampled_from([*REDUCTIONS, *RANKS]))
            parts = draw(st.sampled_from([["u"], ["u", "g"], ["k", "u"]]))
            order = draw(st.sampled_from([None, "d", "x", "g"]))
            steps.append(lambda p, t, f=function, b=parts, o=order: windowed(t, f, b, o))
        elif kind == "filter":
            chosen = FILTERS[draw(st.sampled_from(list(FILTERS)))]
            steps.append(lambda p, t, f=chosen: t.filter(f))
        elif kind == "row":
            steps.append(lambda p, t: t.mutate(**{f"c{len(t.columns)}": _.k.fill_null(0) % 7 + _.u % 3}))
        elif kind == "per_unit":
            function = draw(st.sampled_from(list(REDUCTIONS)))
            steps.append(lambda p, t, f=function: condensed(t, f))
        else:
            joins += 1
            other: dict[str, Callable[[People, Table], Table]] = {
                "public": lambda p, t, h=how, s=suffix: t.join(p.wards, on="g", how=h, suffix=s),
                "private": lambda p, t, h=how, s=suffix: t.join(p.facts, on="u", how=h, suffix=s),
                "condensed": lambda p, t, h=how, s=suffix: t.join(condensed(t, "sum"), on="u", how=h, suffix=s),
                "linked": lambda p, t, h=how, s=suffix: t.join(p.lines, on="order_id", how=h, suffix=s),
                "twice": lambda p, t, h=how, s=suffix: t.join(
                    p.lines.join(p.parts, on="line_id", how=h), on="order_id", how=h, suffix=s
                ),
            }
            steps.append(other[kind])

    def grown(people: People) -> Table:
        table = people.visits
        for step in steps:
            table = step(people, table)
        return table

    return grown


@settings(max_examples=60)
@given(tree=trees(), data=databases, who=st.integers(0, 5))
def test_the_rows_of_others_stay_as_they_are(people, tree, data, who):
    """Delete one person: this person's rows are gone, and all other rows are the same, as multisets. Where a table is
    said to have one row per person, it has.
    """
    table = tree(people)
    units = sorted({row["u"] for row in data["visits"] if row["u"] is not None}) or [1]
    gone = units[who % len(units)]
    before, after = people.rows(table, data), people.rows(table, without(data, gone))
    assert gone not in after
    before.pop(gone, None)
    assert after == before
    if table.one_row:
        assert all(sum(rows.values()) == 1 for rows in before.values())


@settings(max_examples=15)
@given(tree=trees(), data=databases, seed=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(people, tree, data, seed):
    """The derived rows are a function of the rows as a multiset: not of their order in the table."""
    table, mixed = tree(people), {name: list(rows) for name, rows in data.items()}
    for rows in mixed.values():
        seed.shuffle(rows)
    assert people.rows(table, data) == people.rows(table, mixed)


# -- the integers move by no more than declared --------------------------------------------------------------

DERIVED: dict[str, Callable[[People], Table]] = {
    "window": lambda p: p.visits.mutate(
        n=_.count().over(group_by="u"), r=lambda t: ibis.rank().over(group_by=["u", "g"], order_by="d")
    ).mutate(x=_.x.sum().over(group_by=["u", "g"]) + _.n + _.r),
    "per unit": lambda p: p.visits.per_unit(g=_.g.max(), x=_.x.sum(), k=_.k.min()),
    "public": lambda p: p.visits.join(p.wards, on="g", how="left").mutate(x=_.x + _.floor),
    "private": lambda p: p.visits.join(p.facts, on="u").mutate(x=_.y),
    "linked": lambda p: p.visits.join(p.lines, on="order_id", how="left").mutate(x=_.price),
    "linked alone": lambda p: p.lines.mutate(x=_.price, g=_.order_id.try_cast("string")),
    "linked twice": lambda p: p.parts.join(p.lines, on="line_id").mutate(x=_.weight, g=_.order_id.try_cast("string")),
    "person of facts": lambda p: p.facts.join(p.visits.per_unit(g=_.g.min(), x=_.x.mean()), on="u", how="left"),
}


@cache
def question_of(people: People, name: str) -> hush.tables.Query:
    return asked(DERIVED[name](people))


def asked(table: Table) -> hush.tables.Query:
    return table.group_by("g", keys="private", groups_per_unit=2).aggregate(
        n=count(rows_per_unit=2),
        people=count_units(),
        total=hush.tables.sum("x", low=-3, high=5),
        m=mean("x", low=-1, high=4, rows_per_unit=2),
        h=histogram("x", edges=[-8, 0, 1, 8], rows_per_unit=2),
    )


@pytest.mark.parametrize("name", DERIVED)
@settings(max_examples=12)
@given(data=databases, who=st.integers(0, 5))
def test_one_person_moves_no_more_than_declared(people, name, data, who):
    question = question_of(people, name)
    units = sorted({row["u"] for row in data["visits"] if row["u"] is not None}) or [1]
    fewer = without(data, units[who % len(units)])
    assert excess(people.integers(question, data), people.integers(question, fewer), question.sensitivity) == []


SHARED = {
    "visits": [],
    "facts": [],
    "lines": [{"order_id": 3, "line_id": 1, "price": 1.0}, {"order_id": 11, "line_id": 2, "price": 2.0}],
    "parts": [{"line_id": 1, "weight": 1.0}, {"line_id": 2, "weight": 1.0}],
}


def test_a_key_that_two_people_share(people):
    """A line belongs to the only person of its order. Where there are two, or a visit of nobody, it is nobody's."""
    mine, ours = {**visit(1, "a"), "order_id": 11}, [{**visit(unit, "a"), "order_id": 3} for unit in (1, 2)]
    nobody = {**visit(1, "a"), "u": None, "order_id": 11}

    def owners(table: Table, *visits: dict[str, Any]) -> dict[Any, int]:
        found = people.rows(table, {**SHARED, "visits": list(visits)})
        return {unit: sum(rows.values()) for unit, rows in found.items()}

    for table in (people.lines, people.parts):
        assert owners(table, mine, *ours) == {1: 1}
        assert owners(table, mine, ours[0]) == {1: 2}
        assert owners(table, mine, nobody, ours[1]) == {2: 1}
        assert owners(table) == {}
    both = people.visits.join(people.lines, on="order_id", how="left")
    assert owners(both, mine, *ours) == {1: 2, 2: 1}  # of the shared order only the visits remain
    assert owners(people.lines.join(people.visits, on="order_id"), mine, mine, *ours) == {1: 2}


def trusting(rows: Any, owners: Any, unit: str, pairs: Any, key: str) -> Any:
    """A link that is believed: a line of two people goes to the first."""
    ((column, name),) = pairs
    first = owners.group_by(name).aggregate(first=owners[unit].min())
    return rows.left_join(first, [(column, name)]).select(*rows.columns, **{key: _.first})


def test_a_link_that_is_believed_is_caught(monkeypatch):
    """Without the check of the keys, a person who leaves with a shared line changes the rows of the other."""
    data = {**SHARED, "visits": [{**visit(unit, "a"), "order_id": 3} for unit in (1, 2, 3)]}
    honest = People()
    assert honest.rows(honest.lines, data) == honest.rows(honest.lines, without(data, 3)) == {}
    monkeypatch.setattr(linking, "_with_person", trusting)
    broken = People()
    before, after = (broken.rows(broken.lines, rows) for rows in (data, without(data, 3)))
    assert before.keys() == {1} and after == {}
    question = broken.lines.aggregate(n=count(rows_per_unit=1), s=hush.tables.sum("price", low=0, high=5))
    many = {
        **data,
        "lines": [{"order_id": i, "line_id": i, "price": 5.0} for i in (3, 4, 5)],
        "visits": [{**visit(unit, "a"), "order_id": i} for i, unit in ((3, 1), (4, 2), (3, 3), (4, 3))],
    }
    moved = excess(broken.integers(question, many), broken.integers(question, without(many, 3)), question.sensitivity)
    assert moved


# -- broken on purpose ---------------------------------------------------------------------------------------


def headed(people: People) -> Table:
    """The unit is lost in a join: a row is given to the head of its ward."""
    table = people.visits.join(people.wards, on="g")
    owner = query.must_be_owned(table.relation, table.roots, "head", "join")
    return replace(table, unit="head", one_row=owner.one_row)


BROKEN: dict[str, Callable[[People], Table]] = {
    "a window of several people": lambda p: p.visits.mutate(x=_.count().over(group_by="g").cast("float64")),
    "a window of parts of the unit": lambda p: p.visits.mutate(x=_.count().over(group_by=_.u % 2).cast("float64")),
    "the unit lost in a join": headed,
    "two people joined": lambda p: p.visits.join(p.facts, on="k").mutate(x=_.y),
    "rows of others in the window of a join": lambda p: p.visits.join(p.facts, on="k").mutate(
        x=_.count().over(group_by="u_right").cast("float64")
    ),
}
REFUSAL = {
    "a window of several people": r"^mutate uses CountStar over rows of several people.*group_by='u'\)",
    "a window of parts of the unit": r"^mutate uses CountStar over rows of several people",
    "the unit lost in a join": r"^join loses the unit column 'head'",
    "two people joined": r"^join joins rows of different people.*'u' and 'u'\.$",
    "rows of others in the window of a join": r"^join joins rows of different people",
}


def visit(unit: int, ward: str, place: int = 0, x: float = 0.0) -> dict[str, Any]:
    return {"u": unit, "g": ward, "k": 1, "d": DAYS[1], "x": x, "order_id": order_of(unit, place)}


#: person 3 has rows in two wards and a fact; persons 1 and 2 have rows and facts beside them
CROWD = {
    "visits": [visit(unit, ward) for unit in (1, 2) for ward in ("a", "b")]
    + [visit(3, ward, place) for ward in ("a", "b") for place in (0, 1, 2)],
    "facts": [{"u": unit, "k": 1, "y": 9.0} for unit in (1, 2, 3)],
    "lines": [{"order_id": order_of(1, 0), "line_id": 1, "price": 9.0}],
    "parts": [],
}


def unchecked(relation: Any, roots: Any, unit: str, role: str) -> Owner:
    return Owner(frozenset({unit}))


@pytest.mark.parametrize("name", BROKEN)
def test_broken_trees_are_refused(people, name):
    with pytest.raises(Unsupported, match=REFUSAL[name]):
        BROKEN[name](people)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_trees_are_caught(monkeypatch, people, name):
    """Without the check, the rows of other people change, and the integers move by more than declared."""
    monkeypatch.setattr(query, "must_be_owned", unchecked)
    monkeypatch.setattr(joining, "must_be_owned", unchecked)
    table, fewer = BROKEN[name](people), without(CROWD, 3)
    before, after = people.rows(table, CROWD), people.rows(table, fewer)
    before.pop(3, None)
    assert before != after
    question = table.aggregate(
        n=count(rows_per_unit=9), people=count_units(), h=histogram("x", edges=[-1, 2.5, 100], rows_per_unit=1)
    )
    moved = []
    for data in (CROWD, {**CROWD, "visits": [row for row in CROWD["visits"] if row["u"] == 3]}):
        gone = without(data, 3)
        moved += excess(people.integers(question, data), people.integers(question, gone), question.sensitivity)
    assert moved


@pytest.mark.parametrize("name", DERIVED)
def test_the_checker_needs_every_source(people, name):
    """A tree with a source that is not declared is refused, whatever its form is."""
    table = DERIVED[name](people)
    assert must_be_owned(table.relation, table.roots, table.unit, "join").columns >= {table.unit}
    for i in range(len(table.roots)):
        with pytest.raises(HushError, match="cannot prove that each row belongs to one person"):
            must_be_owned(table.relation, table.roots[:i] + table.roots[i + 1 :], table.unit, "join")
