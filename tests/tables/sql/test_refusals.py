"""Hostile statements are refused with a typed error, nothing is spent, and suggestions are answered."""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import datetime
import re

import pyarrow as pa
import pytest
from tables.sql.conftest import labs, visits
from tables.sql.hostile import HOSTILE

import hush
from hush import Ledger
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import Refused, statement


def test_there_are_two_hundred_hostile_statements():
    assert len(HOSTILE) >= 200
    assert len(set(HOSTILE)) == len(HOSTILE)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_statement_is_refused(policy, text):
    """A typed error in one sentence, before a plan is made, so that nothing can be spent. What it suggests can be
    asked.
    """
    with pytest.raises(hush.HushError) as failure:
        statement(text, policy).plan(1.0, 1e-6, family="gaussian")
    message = str(failure.value)
    assert message and "\n" not in message and "Traceback" not in message
    if getattr(failure.value, "instead", ""):
        assert statement(failure.value.instead, policy).query is not None


@pytest.mark.parametrize("text", [*HOSTILE[:6], *HOSTILE[60:66], *HOSTILE[-6:]])
def test_nothing_is_spent(policy, tmp_path, text):
    with Ledger(tmp_path / "budget.ledger", epsilon=5.0, delta=1e-3) as ledger:
        with pytest.raises(hush.HushError):
            hush.sql(text, policy, epsilon=1.0, delta=1e-6, ledger=ledger)
        assert len(ledger.entries) == 0


#: A refused statement, words of the reason, and the statement that means the same; empty where there is none.
INSTEAD = [
    ("SELECT COUNT(DISTINCT CASE WHEN age > 3 THEN patient_id ELSE 3 END) AS n FROM visits", "counts values", ""),
    ("SELECT COUNT(DISTINCT patient_id) AS n FROM visits WHERE patient_id IN (SELECT patient_id FROM labs WHERE kind = 'blood') AND age > 3", "join it", "SELECT COUNT(DISTINCT patient_id) AS n FROM visits JOIN (SELECT patient_id AS matched_id, COUNT(*) AS matched_rows FROM labs WHERE kind = 'blood' GROUP BY patient_id) AS matched ON visits.patient_id = matched.matched_id WHERE age > 3"),
    ("SELECT COUNT(*) AS n FROM visits AS v WHERE EXISTS (SELECT 1 FROM labs AS l WHERE l.patient_id = v.patient_id AND l.kind = 'blood')", "join it", "SELECT COUNT(*) AS n FROM visits AS v JOIN (SELECT l.patient_id AS matched_id, COUNT(*) AS matched_rows FROM labs AS l WHERE l.kind = 'blood' GROUP BY l.patient_id) AS matched ON v.patient_id = matched.matched_id"),
    ("SELECT COUNT(*) AS n FROM visits AS v WHERE EXISTS (SELECT 1 FROM labs AS l WHERE l.patient_id = v.patient_id)", "join it", "SELECT COUNT(*) AS n FROM visits AS v JOIN (SELECT l.patient_id AS matched_id, COUNT(*) AS matched_rows FROM labs AS l GROUP BY l.patient_id) AS matched ON v.patient_id = matched.matched_id"),
    ("SELECT COUNT(*) AS n FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM labs)", "rows of another table", ""),
    ("SELECT COUNT(*) AS n FROM visits AS v WHERE EXISTS (SELECT 1 FROM labs AS l WHERE l.day = v.day)", "join it", ""),
    ("SELECT COUNT(*) AS people FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 4) AS t", "WHERE outside", "SELECT COUNT(*) AS people FROM (SELECT patient_id, COUNT(*) AS having_1 FROM visits GROUP BY patient_id) AS t WHERE having_1 > 4"),
    ("SELECT COUNT(*) AS people FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id HAVING COUNT(*) > 2 OR MAX(age) > 90) AS t WHERE n < 6", "WHERE outside", "SELECT COUNT(*) AS people FROM (SELECT patient_id, COUNT(*) AS n, MAX(age) AS having_2 FROM visits GROUP BY patient_id) AS t WHERE n < 6 AND (n > 2 OR having_2 > 90)"),
    ("SELECT COUNT(*) AS n FROM visits GROUP BY patient_id HAVING COUNT(*) > 20", "cannot be private", ""),
    ("SELECT COUNT(*) AS n FROM visits AS v, labs AS l WHERE v.patient_id = l.patient_id AND v.age > 3", "not with a comma", "SELECT COUNT(*) AS n FROM visits AS v JOIN labs AS l ON v.patient_id = l.patient_id WHERE v.age > 3"),
    ("SELECT TOP 3 ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC", "TOP 3 is written with LIMIT", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 3"),
    ("SELECT TOP (5) ward, COUNT(*) AS n FROM visits GROUP BY ward", "TOP 5 is written with LIMIT", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward LIMIT 5"),
    ("SELECT DISTINCT ward, COUNT(*) AS n FROM visits GROUP BY ward", "DISTINCT is not needed", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    ("SELECT DISTINCT ward, COUNT(*) AS n FROM visits", "DISTINCT is not needed", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    ("SELECT DISTINCT ward FROM visits", "lists the values", "SELECT ward, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY ward"),
    ("SELECT ward, AVG(age) AS a FROM visits", "group by it", "SELECT ward, AVG(age) AS a FROM visits GROUP BY ward"),
    ("SELECT COUNT(*) AS n FROM visist", "did you mean 'visits'", "SELECT COUNT(*) AS n FROM visits"),
    ("SELECT COUNT(*) AS n FROM visits WHERE agee > 3", "did you mean 'age'", "SELECT COUNT(*) AS n FROM visits WHERE age > 3"),
    ("SELEC COUNT(*) FROM visits", "SELEC is not answered", ""),
    ("SELECT * FROM visits WHERE age > 3", "name an aggregate", ""),
    ("SELECT ward, urgent FROM visits", "group by it", ""),
    ("SELECT COUNT(DISTINCT note) AS n FROM visits", "counts values", ""),
    ("SELECT AVG(DISTINCT age) AS a FROM visits", "DISTINCT", ""),
    ("SELECT COUNT(*) FROM visits WHERE random() < 0.5 AND age > 3", "changes between runs", ""),
    ("SELECT AVG(LENGTH(note)) AS a FROM visits", "has no bounds", ""),
    ("SELECT MAX(w.floor) AS a FROM visits AS v JOIN wards AS w USING (ward)", "has no bounds", ""),
    ("SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM orders", "UNION", ""),
    ("SELECT COUNT(*) FROM people", "no table 'people'", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "instead"), INSTEAD)
def test_a_suggestion_means_the_same_or_there_is_none(policy, text, words, instead):
    with pytest.raises(Refused, match=words) as failure:
        statement(text, policy)
    assert failure.value.instead == instead
    assert ("Write instead" in str(failure.value)) == bool(instead)
    if instead:
        assert statement(instead, policy).query is not None


def test_a_suggestion_gives_the_numbers_of_the_statement_that_it_replaces():
    """Both run on the rows, in DuckDB: each column of the first is in the second, row by row."""
    import duckdb

    database, compared = duckdb.connect(), 0
    for name, rows in (("visits", visits()), ("labs", labs())):
        database.register(name, rows)
    for text, _, instead in INSTEAD:
        if (
            not instead
            or "TOP" in text
            or "agee" in text
            or "visist" in text
            or ("GROUP BY" not in text and ", " in text[:25])
        ):
            continue  # the first is not SQL of DuckDB
        asked, found = (database.sql(sql).df() for sql in (text, instead))
        ordered = [frame.sort_values(list(asked.columns)).reset_index(drop=True) for frame in (asked, found)]
        assert ordered[0].equals(ordered[1][list(asked.columns)]), text
        compared += 1
    assert compared >= 8


@pytest.mark.parametrize("case", ["CASE WHEN age > 60 THEN patient_id END", "IF(age > 60, patient_id, NULL)"])
def test_people_with_a_property_are_counted(policy, case):
    import duckdb

    rows = duckdb.connect().register("visits", visits())
    text = f"SELECT COUNT(DISTINCT {case}) - COUNT(DISTINCT patient_id) AS x, COUNT(DISTINCT {case}) AS n FROM visits"
    (number,) = (n for _, n in rows.sql(text).fetchall())
    found = hush.sql(text, policy, epsilon=1000.0, delta=1e-6, family="gaussian").to_arrow().to_pylist()[0]
    assert found["n_low"] <= number <= found["n_high"] <= number + 5


@pytest.mark.parametrize(
    ("quotient", "mean"),
    [
        ("100.0 * COUNT(CASE WHEN stay_days IS NULL THEN 1 END) / COUNT(*)", "100.0 * AVG(CASE WHEN stay_days IS NULL THEN 1 ELSE 0 END)"),
        ("COUNT(stay_days) / COUNT(*)", "AVG(CASE WHEN NOT stay_days IS NULL THEN 1 ELSE 0 END)"),
        ("COUNT(*) FILTER (WHERE age > 40) / NULLIF(COUNT(*), 0)", "AVG(CASE WHEN age > 40 THEN 1 ELSE 0 END)"),
        ("COUNT_IF(age > 40) / COUNT(*)", "AVG(CASE WHEN age > 40 THEN 1 ELSE 0 END)"),
    ],
)  # fmt: skip
def test_a_share_of_the_rows_is_the_mean_of_one_column(policy, quotient, mean):
    """Two counts lose different shares of the rows of people with many, so their quotient was 42 % too large."""
    import duckdb

    query = statement(f"SELECT {quotient} AS x FROM visits", policy).query
    assert [type(measure).__name__ for _, measure in query.declared] == ["Mean"]
    rows = duckdb.connect().register("visits", visits())
    asked, found = (rows.sql(f"SELECT {text} AS x FROM visits").fetchall()[0][0] for text in (quotient, mean))
    assert asked == pytest.approx(found) and asked > 0.0


def test_rows_need_a_limit_in_the_policy(policy):
    """COUNT(*) without rows_per_unit would quietly count people."""
    from dataclasses import replace

    from hush.tables.policy import Policy

    silent = Policy({"visits": replace(policy.tables["visits"], rows_per_unit=None)})
    with pytest.raises(Refused, match="rows_per_unit of visits") as failure:
        statement("SELECT COUNT(*) FROM visits", silent)
    assert failure.value.instead == ""


def test_bad_arguments(policy):
    for text, given, words in (
        ("SELECT COUNT(*) FROM visits", {"dialect": "klingon"}, "dialect"),
        (7, {}, "must be text"),
        ("  ", {}, "must be text"),
        ("SELECT COUNT(*) FROM visits", {"epsilon": None}, "missing epsilon"),
        ("SELECT " + "(" * 500 + "1" + ")" * 500 + " FROM visits", {}, "nests"),
        ("SELECT COUNT(*) FROM visits WHERE " + "age > 1 AND " * 20_000 + "age > 1", {}, "characters"),
    ):
        with pytest.raises(hush.HushError, match=words):
            hush.sql(text, policy, **{"epsilon": 1.0, "delta": 1e-6, **given})
    with pytest.raises(hush.HushError, match="policy must be"):
        hush.sql("SELECT COUNT(*) FROM visits", "hush.toml", 1.0, 1e-6)


def nested(step: str, column: str, times: int, where: str) -> str:
    """A statement whose column is computed from itself, again and again, in subqueries."""
    inner = f"SELECT patient_id, {column} AS t FROM visits"
    for i in range(times):
        inner = f"SELECT patient_id, {step} AS t FROM ({inner}) AS q{i}"
    return f"EXPLAIN SELECT COUNT(*) FROM ({inner}) AS z WHERE {where}"


@pytest.mark.parametrize(
    ("step", "column", "where"),
    [
        ("t + t", "age", "t >= 0"),
        ("t * t - t", "cost", "t >= 0"),
        ("CAST(t / 2 AS BIGINT)", "cost", "t >= 0"),
        ("CASE WHEN t > 5 THEN t + 1 ELSE t END", "age", "t >= 0"),
        ("t || t", "ward", "LENGTH(t) >= 0"),
        ("REPLACE(t, 'e', 'eeeeeeee')", "ward", "LENGTH(t) >= 0"),
    ],
)
def test_a_statement_has_a_size(policy, step, column, where):
    """Six hundred characters may stand for millions of operations, or for a text of gigabytes in one row."""
    with pytest.raises(Refused, match=r"^an expression (has more than 10000 operations|uses String\w+ for a text)"):
        statement(nested(step, column, 16, where), policy)


def test_times_of_day_are_no_timestamps():
    """Both were called a time, and their comparison ended in an error of another library."""
    rows = pa.table(
        {"p": [1], "d": [datetime.datetime(2025, 1, 1)], "tm": pa.array([datetime.time(3)], pa.time64("us"))}
    )
    policy = Policy({"v": TableRule(rows, unit="p", rows_per_unit=1, columns={"d": ColumnRule(), "tm": ColumnRule()})})
    for condition in (
        "d = tm",
        "tm < d",
        "COALESCE(d, tm) IS NULL",
        "tm IN (DATE '2025-01-01')",
        "NULLIF(tm, d) IS NULL",
    ):
        with pytest.raises(Refused, match="mixes"):
            statement(f"SELECT COUNT(*) FROM v WHERE {condition}", policy)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT MIN(m) FROM (SELECT patient_id, SUM(seen_at) AS m FROM visits GROUP BY patient_id)", "EXTRACT(YEAR FROM"),
        ("SELECT AVG(seen_at) AS m FROM visits", "DATE_DIFF('day', DATE '2025-01-01', seen_at)"),
        ("SELECT AVG(note) AS m FROM visits", "TRY_CAST(note AS DOUBLE) if it holds numbers, or CASE WHEN note = 'a'"),
        ("SELECT COUNT(EPOCH(seen_at)) AS m FROM visits", "the function EPOCH is not on the list"),
    ],
)  # fmt: skip
def test_the_advice_fits_the_type_and_names_what_was_typed(policy, text, words):
    """A time is no double, and TIMETOUNIX is not what the analyst wrote."""
    with pytest.raises(Refused, match=re.escape(words)):
        statement(text, policy)
