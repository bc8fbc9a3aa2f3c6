"""Row expressions: the same values as DuckDB gives for the same text, and no error on any value."""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import datetime
import math

import duckdb
import ibis
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.from_clause import scope_of

#: Ibis calls a method of DuckDB that newer versions warn of.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
COLUMNS = ("i", "j", "x", "y", "s", "b", "d", "ts")
SCHEMA = pa.schema(
    [
        ("u", pa.int64()),
        ("i", pa.int64()),
        ("j", pa.int32()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us")),
    ]
)


def translated(text, rows, dialect="duckdb"):
    """The values of an expression as hush translates it."""
    table = pa.Table.from_pylist(rows, SCHEMA)
    policy = Policy({"t": TableRule(table, unit="u", columns={name: ColumnRule() for name in COLUMNS})})
    tree = sqlglot.parse_one(f"SELECT {text} FROM t", read=dialect)
    scope = scope_of(tree, Catalogue(policy), dialect)
    cell = scope.rows.of(tree.expressions[0])
    relation = scope.table.mutate(made=cell.column).relation
    found = relation.select("made", u=scope.table.unit).order_by("u").to_pyarrow()
    return found.column("made").to_pylist()


def by_duckdb(text, rows):
    """The values that DuckDB gives for the text."""
    t = pa.Table.from_pylist(rows, SCHEMA)  # noqa: F841  # DuckDB finds it by its name
    return [row[0] for row in duckdb.sql(f"SELECT {text} FROM t ORDER BY u").fetchall()]


def same(mine, theirs):
    """Equal, where a translated value that is not finite may be null, and numbers may differ in type."""
    if theirs is None or (isinstance(theirs, float) and not math.isfinite(theirs)):
        return mine is None or (isinstance(mine, float) and not math.isfinite(mine)) or mine == theirs
    if (
        isinstance(theirs, datetime.datetime)
        and isinstance(mine, datetime.date)
        and not isinstance(mine, datetime.datetime)
    ):
        return theirs == datetime.datetime.combine(mine, datetime.time())
    if isinstance(theirs, float) or isinstance(mine, float):
        return mine is not None and math.isclose(float(mine), float(theirs), rel_tol=1e-12, abs_tol=1e-12)
    return mine == theirs


numbers = st.sampled_from(["i", "j", "x", "y", "1", "2", "7", "0.5", "-3"])
whole = st.sampled_from(["i", "j", "3", "10"])
texts = st.sampled_from(
    ["s", "'abc'", "upper(s)", "trim(s)", "s || '!'", "left(s, 2)", "substring(s, 2, 2)", "replace(s, 'a', 'bb')"]
)
dates = st.sampled_from(
    ["d", "DATE '2024-02-29'", "d + INTERVAL 3 DAY", "d - INTERVAL 2 MONTH", "CAST(date_trunc('month', d) AS DATE)"]
)
parts = st.sampled_from(["year", "quarter", "month", "day", "week", "dow", "isodow", "doy"])


def arithmetic(inner):
    two = st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    quotient = st.tuples(inner, st.sampled_from(["2", "-4", "0.25"])).map(lambda p: f"({p[0]} / {p[1]})")
    call = st.tuples(st.sampled_from(["abs", "-", "sqrt(abs", "floor", "ceil"]), inner).map(
        lambda p: f"{p[0]}({p[1]})" + (")" if p[0].startswith("sqrt") else "")
    )
    extreme = st.tuples(st.sampled_from(["least", "greatest", "coalesce"]), inner, inner).map(
        lambda p: f"{p[0]}({p[1]}, {p[2]})"
    )
    return two | quotient | call | extreme


value = st.recursive(numbers, arithmetic, max_leaves=5)
sign = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
comparison = (
    st.tuples(st.sampled_from(["i", "x", "(j + i)"]), sign, value).map(lambda p: f"{p[0]} {p[1]} {p[2]}")
    | st.tuples(st.just("s"), sign, texts).map(lambda p: f"{p[0]} {p[1]} {p[2]}")
    | st.tuples(st.just("d"), sign, dates).map(lambda p: f"{p[0]} {p[1]} {p[2]}")
    | st.sampled_from(
        ["s LIKE 'a%'", "s NOT LIKE '_b%'", "i IN (1, 2, 3)", "i NOT IN (1, 2)", "x IS NULL", "y IS NOT NULL"]
    )
    | st.sampled_from(
        ["b", "b IS TRUE", "i BETWEEN 0 AND 9", "x NOT BETWEEN -1 AND 1", "starts_with(s, 'a')", "contains(s, 'b')"]
    )
)
condition = st.recursive(
    comparison,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
        | inner.map("(NOT {})".format)
    ),
    max_leaves=3,
)
expression = (
    value
    | condition
    | texts
    | dates
    | st.tuples(condition, value, value).map(lambda p: f"CASE WHEN {p[0]} THEN {p[1]} ELSE {p[2]} END")
    | st.tuples(condition, texts).map(lambda p: f"CASE WHEN {p[0]} THEN {p[1]} END")
    | parts.map("extract({} FROM d)".format)
    | st.sampled_from(
        [
            "hour(ts)",
            "minute(ts)",
            "strftime(d, '%Y-%m')",
            "datediff('day', d, DATE '2025-01-01')",
            "d - DATE '2020-01-01'",
        ]
    )
    | st.sampled_from(
        [
            "i % 7",
            "i // 3",
            "nullif(i, 1)",
            "TRY_CAST(s AS BIGINT)",
            "TRY_CAST(x AS BIGINT)",
            "length(s)",
            "round(x, 2)",
        ]
    )
)
row = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-1000, 1000),
        "j": st.none() | st.integers(-1000, 1000),
        "x": st.none() | st.floats(-1e6, 1e6),
        "y": st.none() | st.floats(-1e6, 1e6),
        "s": st.none() | st.text("ab1 é", max_size=5),
        "b": st.none() | st.booleans(),
        "d": st.none() | st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
        "ts": st.none() | st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    }
)


@given(text=expression, rows=st.lists(row, min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_the_same_as_duckdb(text, rows):
    """Random expressions on random rows."""
    rows = [{"u": i, **row} for i, row in enumerate(rows)]
    mine, theirs = translated(text, rows), by_duckdb(text, rows)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        assert same(a, b), (text, a, b)


FAR = [-(2**63), 2**63 - 1, -1, 0, 1, None]
EXTREMES = [
    {
        "u": n,
        "i": FAR[n % 6],
        "j": [-(2**31), 2**31 - 1, 0, -1, None][n % 5],
        "x": [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, None][n % 9],
        "y": [0.0, 1e-320, math.inf, -1e300, None, math.nan, 1e19][n % 7],
        "s": ["", "abc", "9" * 400, "infinity", "1e400", "éb", None, "2025-13-45", "-9223372036854775809"][n % 9],
        "b": [True, False, None][n % 3],
    }
    for n in range(90)
]
DATES = ["'infinity'", "'-infinity'", "'290000-01-01'", "'200000-06-25 (BC)'", "'0001-01-01'", "NULL"]
TIMES = ["'infinity'", "'-infinity'", "'294240-01-10 04:00:54'", "'200000-12-22 (BC) 00:00:00'", "NULL"]
TOTAL = [
    *(f"{a} {sign} {b}" for sign in "+-*/%" for a in ("i", "x", "j") for b in ("i", "j", "y", "-1", "3", "0")),
    *("i // j", "i // -1", "i // 0", "abs(i)", "abs(j)", "-i", "-j", "-x", "i * i * i", "j * j", "x * x * y", "pow(i, 4)", "pow(x, 3)"),
    *(f"{call}({name})" for call in ("floor", "ceil", "round", "sqrt", "ln", "exp", "trunc") for name in ("x", "i", "y")),
    *("round(x, 3)", "round(i, 2)", "least(i, j, x)", "greatest(x, y)", "clamp(x, -1, 1)", "clamp(i, 0, 10)", "coalesce(i, x)"),
    *(f"TRY_CAST({name} AS {kind})" for name in ("i", "s", "b") for kind in ("BIGINT", "INT", "DOUBLE", "TEXT", "BOOLEAN")),
    *(f"TRY_CAST({name} AS {kind})" for name in ("s", "d", "ts") for kind in ("TEXT", "DATE", "TIMESTAMP")),
    *("CAST(x AS SMALLINT)", "CAST(x AS DOUBLE)", "CAST(x AS BOOLEAN)", "CAST(y AS BIGINT)"),
    *(f"date_trunc('{unit}', {name})" for unit in ("year", "quarter", "month", "week", "day") for name in ("d", "ts")),
    *(f"extract({part} FROM {name})" for part in ("year", "month", "week", "dow", "doy", "isodow", "quarter", "day") for name in ("d", "ts")),
    *("hour(ts)", "minute(ts)", "date_trunc('hour', ts)", "strftime(d, '%Y-%m')", "strftime(ts, '%Y-%m-%d %H')"),
    *("d + INTERVAL 800 YEAR", "d - INTERVAL 90000 DAY", "d + 3", "ts + INTERVAL 5 HOUR", "ts - INTERVAL 10 YEAR"),
    *("d - DATE '2020-01-01'", "datediff('day', d, ts)", "datediff('day', DATE '2020-01-01', d)", "d = ts", "d < ts", "CAST(ts AS DATE) = d"),
    *("upper(s)", "lower(s)", "trim(s)", "length(s)", "substring(s, 3)", "left(s, 1000000)", "right(s, 2)", "s || s", "concat(s, 'x')"),
    *("replace(s, '9', 'xx')", "starts_with(s, 'é')", "contains(s, '9')", "s LIKE '%9_'", "s ILIKE 'A%'", "s IN ('a', 'b')"),
    *("CASE WHEN x > y THEN i ELSE j END", "CASE i WHEN j THEN 'a' END", "nullif(x, y)", "i IN (1, 2)", "x BETWEEN y AND i", "b AND i > 3"),
    *("b = (i > 0)", "b IS TRUE", "b IS NOT FALSE", "x IS NULL", "i IS DISTINCT FROM j", "NOT b", "i + b", "x + i * j - y"),
]  # fmt: skip


@pytest.fixture(scope="module")
def extremes():
    """The scope of a table of extreme values."""
    connection = ibis.duckdb.connect()
    connection.con.register("rows", pa.Table.from_pylist(EXTREMES, SCHEMA))
    for name, ends, kind in (("dates", DATES, "DATE"), ("times", TIMES, "TIMESTAMP")):
        values = ", ".join(f"({end}::{kind}, {i})" for i, end in enumerate(ends))
        connection.con.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {values}) AS v(value, n)")
    connection.con.execute(
        "CREATE TABLE t AS SELECT rows.* EXCLUDE (d, ts), dates.value AS d, times.value AS ts FROM rows "
        "JOIN dates ON rows.u % 6 = dates.n JOIN times ON rows.u % 5 = times.n"
    )
    policy = Policy({"t": TableRule(connection.table("t"), unit="u", columns={name: ColumnRule() for name in COLUMNS})})
    return scope_of(sqlglot.parse_one("SELECT 1 FROM t"), Catalogue(policy), "duckdb")


@pytest.mark.parametrize("text", TOTAL)
def test_no_value_makes_the_engine_fail(extremes, text):
    """Extreme numbers, infinite dates and odd texts give a value or null: a failure would tell of such a row."""
    cell = extremes.rows.of(sqlglot.parse_one(text, read="duckdb"))
    relation = extremes.table.mutate(made=cell.column).relation
    shown = relation.select(text=relation["made"].cast("string")).to_pyarrow()
    assert shown.num_rows == len(EXTREMES)
    kept = relation.filter(relation["made"].isnull() | relation["made"].notnull())
    assert kept.count().to_pyarrow().as_py() == len(EXTREMES)
