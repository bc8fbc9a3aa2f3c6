"""GROUP BY ROLLUP, CUBE and GROUPING SETS: the tables, their agreement, the charge, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tables.sql.conftest import visits

import hush
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import Refused, statement

WARDS, REGIONS = ["surgery", "burns", "maternity"], ["north", "south", "east"]


@pytest.fixture(scope="module")
def listed():
    columns = {"ward": ColumnRule(values=tuple(WARDS)), "region": ColumnRule(values=tuple(REGIONS))}
    columns |= {"note": ColumnRule(), "cost": ColumnRule(0, 2000), "age": ColumnRule(0, 120)}
    rule = TableRule(visits(), unit="patient_id", rows_per_unit=2, groups_per_unit=2, columns=columns)
    return Policy({"visits": rule})


def sets(text, policy):
    return statement(text, policy).question.sets


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("ROLLUP (ward, region)", (("ward", "region"), ("ward",), ())),
        ("CUBE (ward, region)", (("ward", "region"), ("ward",), ("region",), ())),
        ("GROUPING SETS ((ward, region), (ward), region, ())", (("ward", "region"), ("ward",), ("region",), ())),
        ("ward, ROLLUP (region)", (("ward", "region"), ("ward",))),
        ("ward, region WITH ROLLUP", (("ward", "region"), ("ward",), ())),
        ("GROUPING SETS ((ward), (ward))", (("ward",),)),
    ],
)
def test_the_tables_that_are_asked_for(listed, clause, expected):
    assert sets(f"SELECT ward, COUNT(*) AS n FROM visits GROUP BY {clause}", listed) == expected


def test_an_answer_adds_up_and_is_charged_once(listed):
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    text = "SELECT ward, region, COUNT(*) AS n FROM visits WHERE age < 200 GROUP BY CUBE (ward, region)"
    answer = hush.sql(text, listed, 1.0, 1e-6, ledger=ledger)
    assert answer.table.column_names == ["ward", "region", "n", "n_low", "n_high"]
    rows = answer.table.to_pylist()
    assert len(rows) == 9 + 3 + 3 + 1
    total = next(row["n"] for row in rows if row["ward"] is None and row["region"] is None)
    wards = {row["ward"]: row["n"] for row in rows if row["region"] is None and row["ward"] is not None}
    for ward in WARDS:
        assert wards[ward] == sum(row["n"] for row in rows if row["ward"] == ward and row["region"] is not None)
    assert sum(wards.values()) == total
    assert all(row["n_low"] < row["n"] < row["n_high"] for row in rows)
    assert answer.receipt["statement"] == text and answer.receipt.ledger["label"] == text
    assert "patient_id" in repr(answer) and "16" in str(answer.receipt["groups"])
    with pytest.raises(hush.BudgetExceeded):
        hush.sql(text, listed, 1.0, 1e-6, ledger=ledger)


def test_a_plan_spends_nothing(listed):
    plan = hush.sql("EXPLAIN SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", listed, 1.0, 1e-6)
    assert "nothing was spent" in repr(plan) and plan.plan.rmse > 0.0


def test_it_counts_what_python_counts(listed):
    """The exact counts of a statement with enough rows are those of the rows with listed values."""
    made = statement("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward, region)", listed).question.query
    rows = visits().to_pylist()
    kept = {}
    for row in rows:
        if row["ward"] in WARDS and row["region"] in REGIONS:
            kept[row["patient_id"]] = min(4, kept.get(row["patient_id"], 0) + 1)
    assert made.rows_per_unit == 4  # 2 rows in each of 2 groups, as in GROUP BY
    assert int(made.exact().table(()).sum()) == sum(kept.values())


def test_what_the_limit_leaves_out_is_said(listed):
    """An answer without 29 % of the rows had no such line, while every other answer has one."""
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
    answer = hush.sql(text, listed, 1.0, 1e-6, ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6))
    assert (
        answer.receipt["unmeasured"] and "left out:" in repr(answer) and "beyond 4 in the whole table" in repr(answer)
    )


@pytest.mark.parametrize("name", ["rows_per_unit", "groups_per_unit"])
def test_limits_that_are_to_be_found_are_refused(listed, name):
    rule = replace(listed.tables["visits"], **{name: "private"})
    with pytest.raises(Refused, match=f"number for {name}"):
        statement("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", Policy({"visits": rule}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT ward, SUM(cost) FROM visits GROUP BY ROLLUP (ward)", r"COUNT\(\*\)"),
        ("SELECT ward FROM visits GROUP BY ROLLUP (ward)", "no aggregate"),
        ("SELECT note, COUNT(*) FROM visits GROUP BY ROLLUP (note)", "public list"),
        ("SELECT patient_id, COUNT(*) FROM visits GROUP BY ROLLUP (patient_id)", "cannot be private"),
        ("SELECT ward, COUNT(*) AS ward FROM visits GROUP BY ROLLUP (ward)", "same name"),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward) HAVING n > 3", "HAVING"),
    ],
)
def test_what_is_refused(listed, text, words):
    with pytest.raises(Refused, match=words):
        statement(text, listed)


def test_intervals_hold_for_each_count(listed):
    plan = statement("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", listed).plan(1.0, 1e-6)
    with pytest.raises(Refused, match="together"):
        plan.answer(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6), together=True)
