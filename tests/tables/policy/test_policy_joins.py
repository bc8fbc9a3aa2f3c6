"""Joins and columns of one person under a policy: the hidden key of the unit still says whose row is whose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from hush.errors import InvalidParameter
from hush.tables import ColumnRule, Policy, TableRule, count, count_units, each_row, mean, public, table

VISITS = pa.table(
    {"who": [1, 1, 2, 3], "month": ["a", "a", "a", "b"], "ward": ["x", "y", "x", "z"], "stay": [1.0, 2.0, 3.0, 4.0]}
)
PEOPLE = pa.table({"who": [1, 2, 3], "age": [30, 40, 50], "secret": [7, 8, 9]})
WARDS = pa.table({"ward": ["x", "y"], "floor": [1, 2], "note": ["n", "m"]})


def policy_of(**changes: Any) -> Policy:
    columns = {"ward": ColumnRule(values=("x", "y", "z")), "stay": ColumnRule(0, 5)}
    visits = TableRule(VISITS, None, "who", 2, 2, columns, max_epsilon=1.0)
    people = TableRule(PEOPLE, None, "who", 1, 1, {"age": ColumnRule(0, 100)}, max_epsilon=0.5)
    wards = TableRule(WARDS, public=True, columns={"ward": ColumnRule(), "floor": ColumnRule()})
    return Policy({"visits": replace(visits, **changes), "people": people, "wards": wards})


def exact(query: Any) -> list[dict[str, Any]]:
    return list(query.aggregates().to_arrow().to_pylist())


def test_a_public_table_of_the_policy_is_joined() -> None:
    policy = policy_of()
    made = policy.open("visits").join(policy.lookup("wards"), on="ward")
    assert made.columns == ("ward", "stay", "floor")
    assert exact(made.group_by("floor", keys=[1, 2]).aggregate(n=count())) == [
        {"floor": 1, "n": 2},
        {"floor": 2, "n": 1},
    ]
    used = dict(made.aggregate(m=mean("stay")).declared)["m"]  # the column of the policy, also behind a join
    assert (used.low, used.high, used.rows_per_unit) == (0, 5, 2)
    with pytest.raises(InvalidParameter):
        made.aggregate(m=mean("stay", low=0, high=6))


def test_two_tables_of_the_policy_are_joined_on_their_unit() -> None:
    policy = policy_of()
    visits, people = policy.open("visits"), policy.open("people")
    made = visits.join(people, on=visits.unit)
    assert made.columns == ("ward", "stay", "age") and not {"who", "secret"} & set(made.relation.columns)
    assert exact(made.filter(made["age"] >= 40).aggregate(n=count_units())) == [{"n": 2}]
    with pytest.raises(InvalidParameter, match=r"at most 0\.5 for one question"):  # the smaller limit of both
        made.aggregate(n=count()).plan(1.0, 1e-6)
    for on in ({visits.unit: "age"}, {"ward": people.unit}):
        with pytest.raises(InvalidParameter):
            visits.join(people, on=on)
    with pytest.raises(InvalidParameter):
        visits.join(public(PEOPLE), on={visits.unit: "who"})


def test_what_is_declared_holds_for_the_columns_of_both_tables() -> None:
    """Bounds and keys by hand may only tighten the policy, also those of the table that was joined."""
    visits, people = (policy_of().open(name) for name in ("visits", "people"))
    for made in (visits.join(people, on=visits.unit), people.join(visits, on=people.unit)):
        used = dict(made.aggregate(a=mean("age"), s=mean("stay")).declared)
        assert [(one.low, one.high) for one in used.values()] == [(0, 100), (0, 5)]
        for column, high in (("age", 101), ("stay", 6)):
            with pytest.raises(InvalidParameter, match="may only be narrower"):
                made.aggregate(m=mean(column, low=0, high=high))
        assert made.group_by("ward").grouping.keys == (("x",), ("y",), ("z",))
        with pytest.raises(InvalidParameter, match="does not list"):
            made.group_by("ward", keys=["x", "w"])


def test_ledgers_of_two_tables(tmp_path: Any) -> None:
    policy = policy_of(ledger=str(tmp_path / "a.ledger"))
    visits, people = policy.open("visits"), policy.open("people")
    assert people.join(visits, on=people.unit).rule.ledger == visits.rule.ledger
    other = replace(people, rule=replace(people.rule, ledger=str(tmp_path / "b.ledger")))
    with pytest.raises(InvalidParameter, match="a join is charged to one ledger"):
        visits.join(other, on=visits.unit)


@pytest.mark.parametrize("unit", ["who", ("who", "month")], ids=["hidden", "two columns"])
def test_columns_of_one_person(unit: Any) -> None:
    """Windows may be grouped by the hidden key, and `per_unit` groups by it; nothing else may use it."""
    visits = policy_of(unit=unit).open("visits")
    key = visits.unit
    counted = visits.mutate(visits=lambda t: t.count().over(group_by=key))
    assert exact(counted.filter(counted["visits"] == 2).aggregate(n=count_units())) == [{"n": 1}]
    one = visits.per_unit(n=lambda t: t.count())
    assert one.columns == ("n",) and one.one_row
    assert exact(one.group_by("n", keys=[1, 2]).aggregate(people=count_units())) == [
        {"n": 1, "people": 2},
        {"n": 2, "people": 1},
    ]
    for attempt in (
        lambda: visits.mutate(top=lambda t: t[key].max().over(group_by=key)),
        lambda: visits.per_unit(top=lambda t: t[key].max()),
        lambda: visits.per_unit(top=lambda t: t[key].notnull().any()),
    ):
        with pytest.raises(InvalidParameter, match="the key of the unit"):
            attempt()


def test_where_each_row_is_a_person_nothing_is_joined() -> None:
    """One row could meet several rows of the other table: then one person would have several rows."""
    rows, people = table(VISITS, unit=each_row), table(PEOPLE, unit="who")
    for attempt in (
        lambda: rows.join(public(WARDS), on="ward"),
        lambda: people.join(rows, on="who"),
        lambda: rows.per_unit(n=lambda t: t.count()),
    ):
        with pytest.raises(InvalidParameter, match="unit of columns"):
            attempt()
