"""A statement means the same query as the Python interface: the exact integers before noise are the same."""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import datetime

import ibis
import pytest

from hush import tables as t
from hush.tables.sql import statement

SALT = b"0123456789abcdef"
WARDS = ["surgery", "burns", "maternity"]


def wards(table, **aggregates):
    return table.group_by("ward", keys=WARDS, groups_per_unit=2).aggregate(**aggregates)


def month(table):
    months = [datetime.date(2025, m, 1) for m in range(1, 13)]
    made = table.mutate(month=table["day"].truncate("M"))
    return made.group_by("month", keys=months, groups_per_unit=2).aggregate(n=t.count(rows_per_unit=3))


def bands(table):
    band = ibis.cases((table["age"] < 18, "child"), (table["age"] < 65, "adult"), else_="old")
    made = table.mutate(band=band)
    return made.group_by("band", keys=["child", "adult", "old"], groups_per_unit=2).aggregate(people=t.count_units())


SAME = {
    "SELECT COUNT(*) AS n FROM visits": lambda v: v.aggregate(n=t.count(rows_per_unit=3)),
    "SELECT COUNT(DISTINCT patient_id) AS n FROM visits": lambda v: v.aggregate(n=t.count_units()),
    "SELECT ward, COUNT(DISTINCT patient_id) AS people, AVG(stay_days) AS stay FROM visits WHERE age >= 18 GROUP BY ward":
        lambda v: wards(v.filter(v["age"] >= 18), people=t.count_units(), stay=t.mean("stay_days", low=0, high=30, rows_per_unit=3)),
    "SELECT SUM(cost) AS total FROM visits WHERE ward = 'burns' OR NOT urgent":
        lambda v: v.filter((v["ward"] == "burns") | ~v["urgent"]).aggregate(total=t.sum("cost", low=0, high=2000, rows_per_unit=3)),
    "SELECT VAR_POP(stay_days) AS v FROM visits": lambda v: v.aggregate(v=t.variance("stay_days", low=0, high=30, rows_per_unit=3)),
    "SELECT MEDIAN(cost) AS m FROM visits": lambda v: v.aggregate(m=t.quantile("cost", 0.5, low=0, high=2000, rows_per_unit=3)),
    "SELECT MIN(age) AS a FROM visits": lambda v: v.aggregate(a=t.quantile("age", 0.0, low=0, high=120, rows_per_unit=3)),
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS p FROM visits":
        lambda v: v.aggregate(p=t.quantile("cost", 0.9, low=0, high=2000, rows_per_unit=3)),
    "SELECT QUANTILE_CONT(cost, [0.25, 0.75]) AS q FROM visits":
        lambda v: v.aggregate(q=t.quantile("cost", [0.25, 0.75], low=0, high=2000, rows_per_unit=3)),
    "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n FROM visits GROUP BY month": month,
    "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band, "
    "COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY 1": bands,
    "SELECT region, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY region":
        lambda v: v.group_by("region", keys="private", groups_per_unit=2).aggregate(people=t.count_units()),
    "WITH adults AS (SELECT *, cost / 10 AS tens FROM visits WHERE age >= 18) SELECT AVG(tens) AS x FROM adults WHERE urgent":
        lambda v: v.filter(v["age"] >= 18, v["urgent"]).aggregate(x=t.mean(v["cost"] / 10, low=0, high=200, rows_per_unit=3)),
    "SELECT AVG(k.c) AS x FROM (SELECT ward, CLAMP(cost, 0, 500) AS c FROM visits) AS k":
        lambda v: v.aggregate(x=t.mean("cost", low=0, high=500, rows_per_unit=3)),
    "SELECT SUM(stay_days * 2 + 1) AS x FROM visits":
        lambda v: v.aggregate(x=t.sum(v["stay_days"] * 2 + 1, low=1, high=61, rows_per_unit=3)),
    "SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2025-02-01' AND '2025-03-31' AND ward IN ('burns', 'surgery')":
        lambda v: v.filter(v["day"].between(datetime.date(2025, 2, 1), datetime.date(2025, 3, 31)), v["ward"].isin(["burns", "surgery"]))
        .aggregate(n=t.count(rows_per_unit=3)),
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_the_same_integers_as_the_python_interface(policy, text):
    """Equal columns of exact aggregates, for one salt."""
    asked, by_hand = statement(text, policy).query, SAME[text](policy.open("visits"))
    assert asked.sensitivity == by_hand.sensitivity
    mine, theirs = (query.aggregates(salt=SALT).to_arrow() for query in (asked, by_hand))
    assert mine.column_names == theirs.column_names
    order = [(name, "ascending") for name in mine.column_names[: len(by_hand.grouping.names)]]
    assert (mine.sort_by(order) if order else mine).equals(theirs.sort_by(order) if order else theirs)


COUNTS = {
    "COUNT(stay_days)": lambda v: v["stay_days"].notnull(),
    "COUNT(note)": lambda v: v["note"].notnull(),
    "COUNT(*) FILTER (WHERE urgent)": lambda v: v["urgent"],
    "COUNTIF(age > 60)": lambda v: v["age"] > 60,
    "COUNT(CASE WHEN ward = 'burns' THEN 1 END)": lambda v: v["ward"] == "burns",
}


@pytest.mark.parametrize("text", COUNTS)
def test_counts_of_values(policy, text):
    """COUNT(x), COUNTIF and FILTER count the rows of a filter: at most three of a person."""
    query = statement(f"SELECT {text} AS n FROM visits", policy).query
    visits = policy.open("visits")
    by_hand = visits.filter(COUNTS[text](visits)).aggregate(n=t.count(rows_per_unit=3))
    mine, theirs = (q.aggregates(salt=SALT).to_arrow() for q in (query, by_hand))
    assert [column.to_pylist() for column in mine.columns] == [column.to_pylist() for column in theirs.columns]
    assert query.sensitivity.linf[query.sensitivity.columns[0]] == 3


def test_people_of_a_filter_count_once(policy):
    query = statement("SELECT COUNT(DISTINCT patient_id) FILTER (WHERE urgent) AS n FROM visits", policy).query
    visits = policy.open("visits")
    by_hand = visits.filter(visits["urgent"]).aggregate(n=t.count_units())
    assert query.aggregates(salt=SALT).to_arrow().equals(by_hand.aggregates(salt=SALT).to_arrow())
    assert list(query.sensitivity.linf.values()) == [1]


def test_what_is_the_same_is_measured_once(policy):
    """AVG, SUM and COUNT of one column, and quantiles of one column, share their noisy columns."""
    query = statement(
        "SELECT AVG(stay_days), SUM(stay_days), COUNT(stay_days), VARIANCE(stay_days) FROM visits", policy
    ).query
    assert len(query.sensitivity.columns) - len(query.shared) == 3  # distances, rows, squares
    quantiles = statement("SELECT MEDIAN(cost), MAX(cost), QUANTILE_CONT(cost, 0.9) FROM visits", policy).query
    assert len(quantiles.shared) == 2 * len(quantiles.measures[0].bin_columns)


def test_keys_of_a_condition_are_public(policy):
    """`item IN (...)` lists the groups, and a list of the policy is only narrowed."""
    found = statement("SELECT item, COUNT(*) AS n FROM orders WHERE item IN ('pen', 'ink') GROUP BY item", policy).query
    assert found.grouping.keys == (("pen",), ("ink",))
    found = statement(
        "SELECT ward, COUNT(*) AS n FROM visits WHERE ward IN ('burns', 'closed') GROUP BY ward", policy
    ).query
    assert found.grouping.keys == (("burns",),)
    found = statement(
        "SELECT region, COUNT(*) AS n FROM visits WHERE region IN ('north') GROUP BY region", policy
    ).query
    assert found.grouping.keys is None  # by the policy, its groups are found privately


def test_keys_of_dates_follow_from_the_bounds(policy):
    for text, number in {
        "EXTRACT(QUARTER FROM day)": 4,
        "EXTRACT(YEAR FROM day)": 1,
        "strftime(day, '%Y-%m')": 12,
        "EXTRACT(HOUR FROM seen_at)": 24,
        "age >= 65": 2,
        "age % 10": 10,
    }.items():
        query = statement(f"SELECT {text} AS k, COUNT(*) AS n FROM visits GROUP BY k", policy).query
        assert query.grouping.keys is not None and len(query.grouping.keys) == number, text


def test_each_row_a_person(policy):
    query = statement('SELECT "group", COUNT(*) AS n, AVG(answer) AS a FROM survey GROUP BY 1', policy).query
    assert query.grouping.groups == 1
    assert query.aggregates(salt=SALT).to_arrow().column("n").to_pylist() == [50, 50]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT COUNTIF(age > 60) AS n FROM visits", "bigquery"),
        ("SELECT DATE_TRUNC(day, MONTH) AS m, COUNT(*) AS n FROM visits GROUP BY m", "bigquery"),
        ("SELECT date_trunc('month', day) AS m, count(*) AS n FROM visits GROUP BY m", "postgres"),
        ("SELECT date_trunc('MONTH', day) AS m, count(1) AS n FROM visits GROUP BY m", "spark"),
        ("SELECT DATE_TRUNC('month', day) AS m, COUNT_IF(urgent) AS n FROM visits GROUP BY m", "snowflake"),
        ('SELECT AVG("age") AS a FROM "visits" WHERE "ward" <> \'burns\'', "postgres"),
        ("SELECT AVG(`age`) AS a FROM `visits`", "bigquery"),
    ],
)
def test_dialects(policy, text, dialect):
    assert statement(text, policy, dialect).query.aggregates(salt=SALT).to_arrow().num_rows >= 1


def test_division_of_whole_numbers_follows_the_dialect(policy):
    """In PostgreSQL 7 / 2 is 3, in DuckDB 3.5."""
    text = "SELECT age / 10 AS k, COUNT(*) AS n FROM visits WHERE age / 10 = 3 GROUP BY k"
    assert statement(text, policy, "postgres").query.grouping.types == ("int64",)
    with pytest.raises(ValueError, match="whole numbers"):
        statement("SELECT age / 10 AS k, COUNT(*) AS n FROM visits GROUP BY k", policy)
