"""One statement means the same on every engine: the same integers before noise, and the same values of expressions.

An expression that an engine cannot compute for every row is refused before the query.
"""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

import datetime
import math
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from tables.messy import arrow_of, messy
from tables.sql.test_row_expressions import COLUMNS, EXTREMES, SCHEMA, TOTAL

from hush.errors import HushError, Unsupported
from hush.tables.engines import engine_of
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import statement
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.from_clause import scope_of

SALT = b"0123456789abcdef"
WARDS = ("A", "B", "a", "é", "O'Hara")
DAY = datetime.date

# -- statements ----------------------------------------------------------------------------------------------

STATEMENTS = (
    "SELECT ward, COUNT(*) AS n, COUNT(cost) AS c, COUNTIF(stay > 3) AS k, COUNT(DISTINCT who) AS people, COUNT(*) FILTER (WHERE urgent) AS u, SUM(cost) AS s, AVG(stay) AS m, VAR_POP(cost) AS v, STDDEV(stay) AS d FROM visits GROUP BY ward",
    "SELECT MEDIAN(cost) AS m, QUANTILE_CONT(stay, [0.25, 0.9]) AS q, MIN(stay) AS a, MAX(cost) AS z, AVG(CLAMP(fee, -10, 100)) AS f FROM visits WHERE urgent OR ward LIKE '%a%' OR code IN (0, 5)",
    "SELECT DATE_TRUNC('year', day) AS y, COUNT(*) AS n FROM visits WHERE day >= DATE '1969-01-01' GROUP BY y",
    "SELECT CASE WHEN UPPER(ward) = 'A' THEN 'a' WHEN LENGTH(ward) > 2 THEN 'long' ELSE 'other' END AS k, SUM(CLAMP(code % 7, 0, 6)) AS s FROM visits GROUP BY k",
    "SELECT floor, COUNT(DISTINCT who) AS people FROM visits GROUP BY floor",
    "SELECT AVG(CLAMP(n, 0, 20)) AS n, AVG(total) AS t FROM (SELECT who, COUNT(*) AS n, MAX(stay) AS total FROM visits WHERE cost > 0 GROUP BY who) AS p",
    "SELECT ward, SUM(CLAMP(so_far, -50, 500)) AS s, COUNT(*) AS n FROM (SELECT ward, SUM(cost) OVER (PARTITION BY who ORDER BY day) AS so_far, RANK() OVER (PARTITION BY who ORDER BY stay DESC, day) AS r FROM visits) AS x WHERE r <= 9 GROUP BY ward",
    "SELECT l.ward, COUNT(*) AS n, AVG(v.cost) AS c FROM visits AS v JOIN others AS l ON v.who = l.who AND v.day = l.day WHERE v.stay <> l.stay GROUP BY 1",
    "SELECT w.wing, COUNT(*) AS n FROM visits AS v LEFT JOIN wings AS w ON v.ward = w.ward WHERE w.wing IS NOT NULL GROUP BY 1",
)  # fmt: skip


def policy_on(engine: Any) -> Policy:
    """The same tables on an engine."""
    columns = {
        "ward": ColumnRule(values=WARDS),
        "floor": ColumnRule(),
        "code": ColumnRule(),
        "day": ColumnRule(DAY(1968, 1, 1), DAY(1971, 12, 31)),
        "urgent": ColumnRule(),
        "cost": ColumnRule(-50, 500),
        "stay": ColumnRule(0, 30),
        "fee": ColumnRule(),
    }
    rows, wings = arrow_of(messy()), pa.table({"ward": list(WARDS), "wing": [1, 2, 1, 2, 3]})
    limits = {"unit": "who", "groups_per_unit": 3, "rows_per_unit": 4, "columns": columns}
    return Policy(
        {
            "visits": TableRule(**engine.source(rows), **limits),
            "others": TableRule(**engine.source(rows.slice(50, 150)), **limits),
            "wings": TableRule(
                wings, public=True, columns={"ward": ColumnRule(), "wing": ColumnRule(values=(1, 2, 3))}
            ),
        }
    )


def integers(policy: Policy) -> list[dict[str, list[Any]]]:
    found = []
    for text in STATEMENTS:
        query = statement(text, policy).query
        table = query.aggregates(salt=SALT, hash="portable").to_arrow()
        rows = sorted(table.to_pylist(), key=lambda row: str([row[name] for name in query.grouping.names]))
        found.append({name: [row[name] for row in rows] for name in table.column_names})
    return found


class OnDuckDB:
    def source(self, rows: pa.Table) -> dict[str, Any]:
        return {"source": rows}


@cache
def integers_on_duckdb() -> list[dict[str, list[Any]]]:
    return integers(policy_on(OnDuckDB()))


def test_one_statement_gives_the_same_integers(engine):
    expected = integers_on_duckdb()
    for text, made in zip(STATEMENTS, expected, strict=True):
        assert any(value for values in made.values() for value in values if isinstance(value, int)), text
    if engine.name != "duckdb":
        for text, mine, theirs in zip(STATEMENTS, integers(policy_on(engine)), expected, strict=True):
            assert mine == theirs, text


# -- expressions ---------------------------------------------------------------------------------------------

DATES = [
    DAY(1600, 1, 1),
    DAY(2199, 12, 31),
    DAY(2024, 2, 29),
    DAY(1899, 12, 31),
    DAY(2025, 6, 30),
    None,
    DAY(1970, 1, 1),
]
TIMES = [
    (1600, 1, 1, 5),
    (2199, 12, 31, 23, 59, 59),
    (2024, 2, 29, 12, 30, 15, 250000),
    None,
    (1969, 12, 31, 23),
    (2025, 3, 30, 2, 30),
]
NEAR = [2.5, -0.5, 3.5, -1.5, 1e18, None, 2.0**63]
TEXTS = [
    *("12", "x", "3.5", "", " 7 ", "1d", "1e5", "2025-01-31", "2025-02-30", "true", "F", "1e400", "2025", "12\n"),
    *("-9223372036854775808", "+5", "0x10", "2025-01-31 10:20:30", "1e-310", "nan", "0" * 50 + "1"),
]
#: What PostgreSQL cannot compute for every row.
FAILS_ON_POSTGRES = {
    *(f"{a} % {b}" for a in "ixj" for b in ("i", "j", "y", "-1", "0")),
    *("x % 3", "round(x, 3)", "TRY_CAST(s AS TIMESTAMP)", "ts + INTERVAL 5 HOUR", "ts - INTERVAL 10 YEAR"),
    *(f"{call}({name})" for call in ("sqrt", "ln", "exp") for name in "xiy"),
    *("strftime(d, '%Y-%m')", "strftime(ts, '%Y-%m-%d %H')"),
}
#: Engines compute these with different last bits.
ROUNDED = {f"{call}({name})" for call in ("ln", "exp") for name in "xiy"}


def extreme_rows() -> pa.Table:
    """Extreme values. NaN is left out: Spark's client reads it as null."""
    rows = []
    for row in EXTREMES:
        u = row["u"]
        near = u % 2 == 1 or row["x"] is None or math.isnan(row["x"])
        time = TIMES[u % 6]
        rows.append(
            {
                **row,
                "x": NEAR[u % 7] if near else row["x"],
                "y": None if row["y"] is not None and math.isnan(row["y"]) else row["y"],
                "s": TEXTS[u % len(TEXTS)] if u % 2 else row["s"],
                "d": DATES[u % 7],
                "ts": None if time is None else datetime.datetime(*time),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def expressions(engine: Any) -> tuple[dict[str, list[Any]], set[str]]:
    """The values of every expression, and the expressions that are refused before the query."""
    rule = TableRule(**engine.source(extreme_rows()), unit="u", columns={name: ColumnRule() for name in COLUMNS})
    scope = scope_of(sqlglot.parse_one("SELECT 1 FROM t"), Catalogue(Policy({"t": rule})), "duckdb")
    made, refused = {}, set()
    for text in TOTAL:
        try:
            made[text] = scope.rows.of(sqlglot.parse_one(text, read="duckdb")).column
            scope.table.mutate(made=made[text])
        except Unsupported:
            made.pop(text, None)
            refused.add(text)
    names = {text: f"e{i}" for i, text in enumerate(made)}
    table = scope.table.mutate(**{names[text]: column for text, column in made.items()})
    relation = table.relation.select(*names.values(), u=table.relation[table.unit])
    batches = list(engine_of(table.source.backend).batches(table.source, relation, 1000))
    found = pa.Table.from_batches(batches).sort_by("u")
    return {text: [plain(value) for value in found.column(name).to_pylist()] for text, name in names.items()}, refused


def plain(value: Any) -> Any:
    """A value without what engines and clients write differently: NaN, -0.0, and dates as times."""
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return datetime.datetime(value.year, value.month, value.day) if isinstance(value, datetime.date) else value


@cache
def expressions_on_duckdb() -> tuple[dict[str, list[Any]], set[str]]:
    return expressions(OnDuckDB())


def test_expressions_have_the_same_values(engine):
    """No expression fails in the query: each has a value on every row, or is refused before."""
    expected, none = expressions_on_duckdb()
    assert none == set() and len(expected) == len(set(TOTAL))
    found, refused = (expected, none) if engine.name == "duckdb" else expressions(engine)
    assert refused == (FAILS_ON_POSTGRES if engine.name == "postgres" else set())
    for text, values in found.items():
        if text in ROUNDED:
            pairs = zip(values, expected[text], strict=True)
            assert all(a == b or math.isclose(a, b, rel_tol=1e-14) for a, b in pairs), text
        else:
            assert values == expected[text], text


def test_a_refusal_says_why(engine):
    if engine.name != "postgres":
        pytest.skip("only PostgreSQL refuses expressions")
    with pytest.raises(HushError, match="cannot compute on PostgreSQL for every possible row"):
        statement("SELECT COUNT(*) AS n FROM visits WHERE SQRT(cost) > 3", policy_on(engine))
