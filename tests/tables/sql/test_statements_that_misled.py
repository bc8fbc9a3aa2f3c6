"""Statements that were once answered wrongly, failed after the charge, or failed because of a row."""

from __future__ import annotations

import pyarrow as pa
import pytest

import hush
from hush import Ledger
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import Refused, statement

QUICK = {"family": "gaussian", "limits_share": 0.0}
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def ask(text, policy, epsilon=50.0, **given):
    """An answer with hardly any noise."""
    return hush.sql(text, policy, epsilon=epsilon, delta=1e-6, **QUICK, **given)


@pytest.mark.parametrize(("low", "high"), [(4 * 10**18, 4 * 10**18 + 1), (-(4 * 10**18), -(3 * 10**18))])
def test_a_clamped_number_never_overflows(low, high):
    """The result of CLAMP may be larger than every value of the column: an overflow would show, without a charge, that
    there is such a row.
    """
    rows = pa.table({"u": [1, 2], "small": pa.array([3, None], pa.int16())})
    own = Policy({"t": TableRule(rows, unit="u", rows_per_unit=1, columns={"small": ColumnRule(0, 10)})})
    clamped = f"CLAMP(small, {low}, {high})"
    for condition in (f"{clamped} * {clamped} > 3", f"{clamped} + {clamped} + {clamped} > 3"):
        query = statement(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", own).query
        assert query.aggregates(salt=b"0" * 16).to_arrow().column("n").to_pylist() in ([0], [1])


@pytest.mark.parametrize("column", ["d", "ts"])
def test_functions_of_dates_never_fail(tmp_path, column):
    """DuckDB fails on the week and the month of the first date of its calendar."""
    import duckdb

    file = tmp_path / "dates.duckdb"
    with duckdb.connect(file) as made:
        made.execute("CREATE TABLE t (u INTEGER, d DATE, ts TIMESTAMP)")
        made.execute("INSERT INTO t VALUES (1, '5877642-06-25 (BC)', '290309-12-22 (BC) 00:00:00')")
        made.execute("INSERT INTO t VALUES (2, '5881580-07-10', '294247-01-10 04:00:54.775806')")
        made.execute("INSERT INTO t VALUES (3, 'infinity', '-infinity'), (4, '2024-01-05', '2024-01-05 10:00:00')")
    own = Policy({"t": TableRule(str(file), name="t", unit="u", rows_per_unit=1)})
    parts = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
    made = [f"DATE_TRUNC('{part}', {column})" for part in parts] + [f"EXTRACT({part} FROM {column})" for part in parts]
    for text in [*made, f"strftime({column}, '%Y-%j')", f"{column} + INTERVAL 900 YEAR"]:
        query = statement(f"SELECT COUNT({text}) AS n FROM t", own).query
        (number,) = query.aggregates(salt=b"0" * 16).to_arrow().to_pylist()[0].values()
        assert number == 1, text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(DISTINCT answer) AS n FROM survey",
        "SELECT COUNT(DISTINCT ward) AS n FROM (SELECT ward FROM visits) AS v",
        "SELECT COUNT(DISTINCT patient_id, ward) AS n FROM visits",
        "SELECT COUNT(DISTINCT (patient_id, ward)) AS n FROM visits",
    ],
)
def test_values_are_not_counted_as_people(policy, text):
    with pytest.raises(Refused) as refused:
        statement(text, policy)
    assert refused.value.instead == ""


def test_a_join_takes_the_column_that_a_subquery_computed_under_an_old_name(policy):
    """The name stands for another column there: the mean of stay_days was once answered as that of age."""
    plain = "SELECT AVG(stay_days) AS m FROM visits JOIN wards USING (ward)"
    renamed = "SELECT AVG(age) AS m FROM (SELECT stay_days AS age, ward FROM visits) AS v JOIN wards USING (ward)"
    first, second = (statement(text, policy).query for text in (plain, renamed))
    assert first.sensitivity == second.sensitivity
    assert first.aggregates(salt=b"0" * 16).to_arrow().equals(second.aggregates(salt=b"0" * 16).to_arrow())


def test_a_join_keeps_what_is_known_of_a_person(policy):
    """SUM(stay_days) AS stay_days is a total: the bounds of a row do not hold for it."""
    inner = "(SELECT patient_id, SUM(stay_days) AS stay_days, COUNT(*) AS age FROM visits GROUP BY patient_id) AS v"
    with pytest.raises(Refused, match="has no bounds"):
        statement(f"SELECT AVG(stay_days) AS m FROM {inner} JOIN wards ON v.age = wards.floor", policy)


def test_the_table_before_a_column_is_not_ignored():
    """After a join a column of the other table was once answered by the column of the same name of the first."""
    rows = pa.table({"u": [1, 2, 3], "k": [1, 2, 9], "age": [5, 5, 5]})
    names = {"k": ColumnRule(0, 9), "age": ColumnRule(0, 9)}
    own = Policy(
        {
            "t": TableRule(rows, unit="u", rows_per_unit=1, columns=names),
            "side": TableRule(pa.table({"k": [1, 2], "age": [7, 7], "floor": [3, 4]}), public=True),
        }
    )
    for text, joined in [
        ("COUNT(s.k)", "LEFT JOIN side AS s USING (k)"),
        ("COUNT(s.k)", "LEFT JOIN side AS s ON s.k = t.k"),
        ("COUNT(t.floor)", "JOIN side AS s USING (k)"),
    ]:
        with pytest.raises(Refused, match="is not a column of"):
            statement(f"SELECT {text} AS n FROM t {joined}", own)
    sevens = "COUNT(*) FILTER (WHERE s.age = 7)"
    for text, how, number in [
        ("COUNT(s.k)", "", 2),
        ("COUNT(t.k)", "LEFT", 3),
        ("COUNT(s.floor)", "LEFT", 2),
        (sevens, "", 2),
        (sevens.replace("s.age", "t.age"), "", 0),
    ]:
        query = statement(f"SELECT {text} AS n FROM t {how} JOIN side AS s USING (k)", own).query
        assert list(query.aggregates(salt=b"0" * 16).to_arrow().to_pylist()[0].values()) == [number], text


@pytest.mark.parametrize(
    "condition",
    [
        "ORDER BY -ward",
        "ORDER BY ward + 1",
        "HAVING ABS(ward) > 1",
        "HAVING ROUND(ward) > 1",
        "HAVING ROUND(COUNT(*), 'a') > 1",
        "HAVING ROUND(COUNT(*), ward) > 1",
        "HAVING ROUND(COUNT(*), 1e999) > 1",
        "HAVING COUNT(*) BETWEEN SYMMETRIC 9 AND 3",
    ],
)
def test_what_cannot_be_computed_is_refused_before_the_charge(policy, condition):
    ledger = Ledger(None, epsilon=100.0, delta=1e-5)
    with pytest.raises(Refused):
        ask(f"{BY_WARD} {condition}", policy, ledger=ledger)
    assert not ledger.entries


@pytest.mark.parametrize(
    "column",
    [
        "CASE WHEN COUNT(*) > 190 THEN 'big' ELSE 3 END",
        "IF(COUNT(*) > 190, 1, 'x')",
        "COALESCE(CASE WHEN COUNT(*) > 190 THEN ward END, 3) = 'x' OR -ward > 3",
        "ROUND(COUNT(*) / 3.0, 400)",
        "NULLIF(COUNT(*), COUNT(DISTINCT patient_id))",
        "NULLIF(COUNT(*), 7)",
    ],
)
def test_columns_of_the_answer_that_have_no_meaning_are_refused(policy, column):
    with pytest.raises(Refused):
        statement(f"SELECT ward, {column} AS x FROM visits GROUP BY ward", policy)


@pytest.mark.parametrize(
    ("dialect", "condition", "wards"),
    [
        ("duckdb", "ward NOT LIKE 'b%'", {"surgery", "maternity"}),
        ("postgres", "ward NOT LIKE 'b%'", {"surgery", "maternity"}),
        ("postgres", "ward IS NOT NULL", {"surgery", "burns", "maternity"}),
        ("postgres", "ward IS NULL", set()),
        ("duckdb", "ward NOT IN ('burns')", {"surgery", "maternity"}),
        ("duckdb", "CASE ward WHEN 'burns' THEN TRUE ELSE FALSE END", {"burns"}),
    ],
)
def test_not_in_having_means_not(policy, dialect, condition, wards):
    made = ask(f"{BY_WARD} HAVING {condition}", policy, dialect=dialect).to_arrow()
    assert set(made.column("ward").to_pylist()) == wards


def test_a_large_key_beside_a_fraction():
    """Arrow refuses a whole number beyond 2^53 in a column of floats."""
    own = Policy({"t": TableRule(pa.table({"u": [1], "k": [2**60 + 1]}), unit="u", groups_per_unit=1, rows_per_unit=1)})
    text = f"SELECT k, CASE WHEN COUNT(*) > 0.5 THEN k ELSE 0.5 END AS x FROM t WHERE k IN ({2**60 + 1}, 5) GROUP BY k"
    assert ask(text, own).to_arrow().column("x").to_pylist() == [2.0**60, 0.5]


def test_columns_of_an_interval_have_their_names(policy):
    with pytest.raises(Refused, match="two columns of the answer are called n_low"):
        statement("SELECT ward, COUNT(*) AS n, AVG(age) AS n_low FROM visits GROUP BY ward", policy)


def test_a_constant_date_outside_the_calendar_is_refused(policy):
    with pytest.raises(Refused, match="not a date between the years"):
        statement("SELECT COUNT(*) AS n FROM visits WHERE day < DATE '9999-12-31' + INTERVAL 5 DAY", policy)


def test_a_number_is_true_unless_it_is_zero():
    """Not every engine casts numbers to truth values, so the cast is written as a comparison."""
    rows = pa.table({"u": range(4), "x": [0.0, 2.5, None, -1.0], "k": pa.array([0, 7, None, -(2**63)], pa.int64())})
    own = Policy({"t": TableRule(rows, unit="u", rows_per_unit=1, columns={"x": ColumnRule(), "k": ColumnRule()})})
    for column in ("x", "k"):
        query = statement(f"SELECT COUNT(*) AS n FROM t WHERE CAST({column} AS BOOLEAN)", own).query
        assert query.aggregates(salt=b"0" * 16).to_arrow().column("n").to_pylist() == [2]
        assert "CAST" not in str(query.table.relation.compile()).upper().replace("CAST(0 AS", "")


@pytest.mark.parametrize(
    "condition",
    [
        "v.ward = w.ward AND v.ward = w.other",  # the second condition once replaced the first
        "v.ward = 'ward'",  # a text is not the column of that name
        "'ward' = w.ward",
        "v.ward = v.ward",
        "x.ward = w.ward",
        "w.ward = w.ward",
    ],
)
def test_every_condition_of_a_join_counts(condition):
    rows = pa.table({"u": [1, 2], "ward": ["a", "b"]})
    wards = pa.table({"ward": ["a", "b"], "other": ["b", "b"]})
    rule = TableRule(rows, unit="u", rows_per_unit=1, columns={"ward": ColumnRule()})
    own = Policy({"visits": rule, "wards": TableRule(wards, public=True)})
    with pytest.raises(Refused, match=r"JOIN|not the table of this FROM"):
        statement(f"SELECT COUNT(*) AS n FROM visits AS v JOIN wards AS w ON {condition}", own)
    for right in ("w.ward = v.ward", "v.ward = w.ward", "w.other = v.ward", "v.WARD = W.other"):
        assert statement(f"SELECT COUNT(*) AS n FROM visits AS v JOIN wards AS w ON {right}", own).query
