"""No row makes a user's expression fail on DuckDB: every operation is run on extreme values, and what cannot be computed
is null.
"""

# ruff: noqa: E501  (expressions are kept on one line)
from __future__ import annotations

import datetime
import decimal
import math
from contextlib import suppress
from itertools import product
from typing import Any

import ibis
import pyarrow as pa
import pytest

import hush.tables
from hush.errors import Unsupported
from hush.tables import total
from hush.tables.engines.duckdb import sql_of
from hush.tables.expression import bind

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

WHOLES = [0, 1, -1, 2, -7, 2**31, 3037000500, 2**62, 2**63 - 1, -(2**63), None]
FLOATS = [0.0, 1.5, -1.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 2.0**63, None]
DAYS = ["2000-02-29", "0001-01-01", "5881580-07-10", "infinity", "-infinity", "5877642-06-25 (BC)", None]
TEXTS = ["", "abc", "2000-01-01", "(", "\\", "é" * 20, None]


@pytest.fixture(scope="module")
def extremes() -> hush.tables.Table:
    backend = ibis.duckdb.connect(threads=1)
    backend.con.execute(
        "CREATE TABLE t (i BIGINT, a BIGINT, b BIGINT, k INTEGER, s SMALLINT, u UTINYINT, big UBIGINT, x DOUBLE, y DOUBLE, "
        "f FLOAT, e DECIMAL(18, 4), d DATE, h TIMESTAMP, w VARCHAR, p BOOLEAN)"
    )
    rows = []
    for i, ((a, b), (x, y)) in enumerate(zip(product(WHOLES, WHOLES), product(FLOATS, FLOATS), strict=True)):
        day, text = DAYS[i % len(DAYS)], TEXTS[i % len(TEXTS)]
        short = [-(2**31), 2**31 - 1, 0][i % 3], [-(2**15), 2**15 - 1, 7][i % 3], [0, 255, 9][i % 3]
        time = "294247-01-10 04:00:54" if day is not None and day.startswith("58") else day
        decimal = ["99999999999999.9999", "-99999999999999.9999", "0.5"][i % 3]
        rows.append(
            [i, a, b, *short, [0, 2**64 - 1][i % 2], x, y, [3e38, 0.5][i % 2], decimal, day, time, text, i % 2 == 0]
        )
    backend.con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 15)})", rows)
    return hush.tables.table(backend.table("t"), unit="i")


#: operations of two numbers, of one, of text, of dates
TWO: dict[str, Any] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "//": lambda x, y: x // y, "%": lambda x, y: x % y, "**": lambda x, y: x**y,
    "log": lambda x, y: x.log(y), "atan2": lambda x, y: x.atan2(y),
}  # fmt: skip
ONE: dict[str, Any] = {
    **{name: lambda x, name=name: getattr(x, name)() for name in ("negate", "abs", "ceil", "floor", "round", "sqrt", "ln", "log2", "log10", "exp", "sin", "cos", "tan", "cot", "acos", "asin", "atan", "sign", "degrees", "radians")},
    "round 2": lambda x: x.round(2), "round -5": lambda x: x.round(-5),
    **{f"cast {kind}": lambda x, kind=kind: x.cast(kind) for kind in ("int8", "int16", "int32", "int64", "uint8", "uint64", "float32", "float64", "decimal(5, 2)", "boolean", "string")},
    "clip": lambda x: x.clip(0, 9),
}  # fmt: skip
OTHERS: dict[str, Any] = {
    "shift left": lambda t: t.a << t.b, "shift right": lambda t: t.a >> t.b, "and": lambda t: (t.a & t.b) | ~t.a,
    "decimal": lambda t: t.e * t.e * t.e * t.e, "chain": lambda t: (t.a * t.b + t.k) * t.s - t.u,
    "fill": lambda t: (t.a * t.b).fill_null(0), "case": lambda t: ibis.cases((t.a > 0, t.a * t.b), else_=t.a - t.b),
    "substr": lambda t: t.w.substr(t.a, t.b), "left": lambda t: t.w.left(t.a), "right": lambda t: t.w.right(t.a),
    "find": lambda t: t.w.find("b") + t.a, "index": lambda t: t.w[1:3], "ascii": lambda t: t.w.ascii_str(),
    "pattern": lambda t: t.w.re_search(t.w), "extract": lambda t: t.w.re_extract("b", 9), "like": lambda t: t.w.like(t.w),
    "split": lambda t: t.w.split("b")[t.a], "replace": lambda t: t.w.replace("a", "b"),
    "levenshtein": lambda t: t.w.levenshtein("abc"), "repeat": lambda t: t.w.repeat(3), "pad": lambda t: t.w.lpad(9, "x"),
    "to date": lambda t: t.w.as_date("%Y-%m-%d"), "to time": lambda t: t.w.as_timestamp("%Y-%m-%d"),
    "try": lambda t: t.w.try_cast("int64"), "try date": lambda t: t.w.try_cast("date"),
    "+ day": lambda t: t.d + ibis.interval(days=1), "- years": lambda t: t.d - ibis.interval(years=300_000),
    "+ days": lambda t: t.d + t.a.as_interval("D"), "+ years": lambda t: t.h + t.k.as_interval("Y"),
    "trunc": lambda t: t.d.truncate("M"), "trunc week": lambda t: t.d.truncate("W"), "hours": lambda t: t.h.truncate("h"),
    "days": lambda t: t.d.delta(datetime.date(2000, 1, 1), unit="day"), "minus": lambda t: t.h - datetime.datetime(2000, 1, 1),
    "year": lambda t: t.d.year() * t.b, "week": lambda t: t.d.week_of_year(), "iso year": lambda t: t.d.iso_year(), "epoch": lambda t: t.h.epoch_seconds(),
    "name": lambda t: t.d.day_of_week.full_name(), "strftime": lambda t: t.d.strftime("%Y"), "as time": lambda t: t.d.cast("timestamp"),
    "as date": lambda t: t.h.date(), "clock": lambda t: t.h.time(), "from unix": lambda t: t.a.as_timestamp("s"),
    "made": lambda t: ibis.date(t.a, t.k, t.s), "of truth": lambda t: t.p.cast("int8") - 2, "greatest": lambda t: ibis.greatest(t.a, t.b) + 1,
}  # fmt: skip


def values(table: hush.tables.Table, **columns: Any) -> dict[str, list[Any]]:
    """The columns, as text where Python cannot hold them."""
    relation = table.mutate(**columns).relation
    kept = {n: relation[n] if relation[n].type().is_integer() else relation[n].cast("string") for n in columns}
    found = table.source.backend.con.execute(sql_of(table.source.backend, relation.select(**kept)))
    return dict(zip(columns, map(list, zip(*found.fetchall(), strict=True)), strict=True))


def test_no_operation_on_numbers_fails(extremes):
    """Every operation of one number and of two, in all combinations of types that Ibis and DuckDB accept."""
    names = ["a", "b", "k", "s", "u", "big", "x", "y", "f", "e"]
    wanted = {f"{way} {name}": (apply, name) for way, apply in ONE.items() for name in names}
    wanted |= {f"{x} {way} {y}": (apply, x, y) for (way, apply), x, y in product(TWO.items(), names, names)}
    columns = {}
    for text, (apply, *parts) in wanted.items():
        with suppress(ZeroDivisionError, ValueError):  # Ibis has no type for a few of them
            columns[text] = apply(*(extremes[name] for name in parts))
    assert len(columns) > 0.95 * len(wanted)
    whole = list(columns.items())
    for start in range(0, len(whole), 200):
        values(extremes, **dict(whole[start : start + 200]))


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_operation_fails(extremes, name):
    column = OTHERS[name](extremes.relation)
    values(extremes, z=column)
    extremes.filter(column.notnull()).aggregate(n=hush.tables.count()).aggregates(salt=bytes(32)).to_arrow()


def in_range(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None


def test_whole_numbers_are_exact_or_null(extremes):
    t = extremes.relation
    found = values(extremes, p=t.a * t.b, s=t.a + t.b, d=t.a - t.b, n=-t.a, z=t.a.abs(), f=(t.a * t.b).fill_null(0))
    for (a, b), p, s, d, n, z, f in zip(product(WHOLES, WHOLES), *found.values(), strict=True):
        if a is None:
            assert [p, s, d, n, z, f] == [None] * 5 + [0]
            continue
        assert (n, z) == (in_range(-a), in_range(abs(a)))
        assert (p, s, d) == (None,) * 3 if b is None else (in_range(a * b), in_range(a + b), in_range(a - b))
        assert f == (p or 0)
    short = values(extremes, kk=t.k * t.k, ss=t.s * t.s, uu=t.u + t.u, minus=-t.u)  # computed with 64 bits
    assert max(short["kk"]) == 2**62 and max(short["ss"]) == 2**30 and max(short["uu"]) == 510
    assert min(short["minus"]) == -255


def test_every_way_into_a_query_is_total(extremes):
    """Filters, columns, windows, rows of a person, aggregated columns and sources: the same total expression."""
    t = extremes
    huge = t["a"] * t["b"] + 1
    ways = [
        t.filter(huge > 5).aggregate(n=hush.tables.count()),
        t.mutate(z=huge).aggregate(s=hush.tables.sum("z", low=0, high=9)),
        t.aggregate(s=hush.tables.sum(huge, low=0, high=9)),
        t.aggregate(h=hush.tables.histogram(huge, edges=[0, 5, 9])),
        t.mutate(z=lambda r: (r.a * r.b).sum().over(group_by="i") - 2**62 - r.a).aggregate(
            s=hush.tables.sum("z", low=0, high=9)
        ),
        t.per_unit(z=lambda r: (r.a * r.b).max() * 4).aggregate(s=hush.tables.sum("z", low=0, high=9)),
        hush.tables.table(t.source.relation.mutate(z=huge.cast("int32")).filter(huge > 5), unit="i").aggregate(
            n=hush.tables.count()
        ),
        hush.tables.table(ibis.memtable(pa.table({"i": [1], "a": [2**62]})).mutate(z=ibis._.a * 4), unit="i").aggregate(
            n=hush.tables.sum("z", low=0, high=9)
        ),
    ]
    for query in ways:
        assert query.aggregates(salt=bytes(32)).to_arrow().num_rows == 1


def test_the_check_can_fail(extremes, monkeypatch):
    """Without the total form, the same query fails."""
    monkeypatch.setattr(total, "_total", lambda node, spans, engines: node)
    query = extremes.filter(extremes["a"] * extremes["b"] > 5).aggregate(n=hush.tables.count())
    with pytest.raises(hush.HushError, match="the engine's message is hidden"):
        query.aggregates(salt=bytes(32)).to_arrow()


def test_a_length_from_the_data_is_refused(extremes):
    for column in (extremes["w"].repeat(extremes["a"]), extremes["w"].lpad(10**9, "x")):
        with pytest.raises(
            Unsupported,
            match=r"^an expression uses (Repeat|LPad) for a text or a list that may have more than 10000 characters",
        ):
            extremes.mutate(z=column)
    extremes.mutate(z=extremes["w"].repeat(3))


def test_names_and_plans_stay_as_they_were(extremes):
    """A plan shows the condition that was written, in words, and not the total form in which it is computed."""
    plan = (
        extremes.filter(extremes["a"] * extremes["b"] > 5)
        .aggregate(n=hush.tables.count())
        .plan(1.0, 0.0, family="laplace")
    )
    assert "Tried" not in str(plan) and "only where a times b is above 5" in str(plan)


def test_an_operation_is_marked_once(extremes):
    """Also if an expression is used again in another one."""
    column = bind(extremes.relation, extremes["a"] * extremes["b"], "it")
    assert bind(extremes.relation, column, "it").op() == column.op()
    assert type(column.op()).__name__ == "Tried" and type(column.op().arg).__name__ == "Multiply"


# -- whether a query answers never depends on one row ------------------------------------------------------------------


def ada(diagnosis: str) -> hush.tables.Table:
    """Two hundred people. The first one is Ada, with or without the diagnosis that an attacker asks for."""
    n = 200
    columns = {
        "p": range(n), "name": ["ada"] + ["bob"] * (n - 1), "diagnosis": [diagnosis] + ["flu"] * (n - 1), "s": ["abc"] * n,
        "l": [[1, 2]] * n, "d": [datetime.date(2025, 1, 1)] * n, "h": [datetime.datetime(2025, 1, 1)] * n, "k": [2] * n,
        "m": pa.array([decimal.Decimal("1.5")] * n, pa.decimal128(38, 10)),
        "e": pa.array([decimal.Decimal(5)] * n, pa.decimal128(38, 0)), "v": pa.array([datetime.timedelta(1)] * n),
    }  # fmt: skip
    return hush.tables.table(pa.table(columns), unit="p")


def hit(t: Any) -> Any:
    return (t["name"] == "ada") & (t["diagnosis"] == "hiv")


def far(t: Any) -> Any:
    """A date that no time can be, in one row."""
    return ibis.date(ibis.ifelse(hit(t), 300_000, 2000), 1, 1)


def grown(x: Any, step: Any, times: int) -> Any:
    for _ in range(times):
        x = step(x)
    return x


#: expressions that failed if and only if one chosen row was there
ORACLES: dict[str, Any] = {
    "replace": lambda t: grown(ibis.ifelse(hit(t), "xx", ""), lambda x: x.replace("x", "x" * 90), 5).length() >= 0,
    "replace a column": lambda t: grown(t["s"], lambda x: x.replace("a", t["s"]), 3).length() >= 0,
    "replace nothing": lambda t: grown(t["s"], lambda x: x.re_replace("", "12345678"), 8).length() >= 0,
    "concat": lambda t: grown(ibis.ifelse(hit(t), "x" * 1000, ""), lambda x: x + x + x + x, 10).length() >= 0,
    "lists": lambda t: grown(ibis.ifelse(hit(t), t["l"], ibis.literal([], type="array<int64>")), lambda x: x.concat(x, x, x), 12).length() >= 0,
    "repeat": lambda t: grown(ibis.ifelse(hit(t), "xx", ""), lambda x: x.repeat(1000), 4).length() >= 0,
    "join": lambda t: grown(ibis.ifelse(hit(t), "xx", ""), lambda x: x.split("").join("0123456789"), 9).length() >= 0,
    "numbers": lambda t: ibis.range(0, ibis.ifelse(hit(t), 2**40, 1)).length() >= 0,
    "numbers from": lambda t: ibis.range(ibis.ifelse(hit(t), -(2**40), 1), 5).length() >= 0,
    "numbers to": lambda t: ibis.range(0, 2**40).length() >= ibis.ifelse(hit(t), 1, 0),
    "find": lambda t: t["s"].find("c", ibis.ifelse(hit(t), 2**31 - 1, 0).cast("int32")) >= -1,
    "find far": lambda t: t["s"].find("c", ibis.ifelse(hit(t), 2**63 - 1, 0)) >= -1,
    "date < time": lambda t: (far(t) < t["h"]) | (far(t) >= t["h"]),
    "date == constant": lambda t: (far(t) == datetime.datetime(2025, 1, 1)) | ibis.literal(True),
    "coalesce": lambda t: ibis.coalesce(far(t), t["h"]).notnull(),
    "greatest": lambda t: ibis.greatest(far(t), t["h"]).notnull(),
    "if": lambda t: ibis.ifelse(t["k"] > 1, far(t), t["h"]).notnull(),
    "fill null": lambda t: ibis.cases((t["k"] > 1, far(t)), else_=t["h"]).fill_null(t["h"]).notnull(),
    "identical": lambda t: far(t).identical_to(t["h"]) | True,
    "decimals": lambda t: ibis.greatest(ibis.ifelse(hit(t), ibis.literal(decimal.Decimal("9" * 38), "decimal(38, 0)"), t["e"]), t["m"]).notnull(),
    "interval": lambda t: (t["v"] * ibis.ifelse(hit(t), 2**60, 1)).notnull(),
    "constant cast": lambda t: ibis.ifelse(hit(t), ibis.literal("x").cast("int64"), 0) >= 0,
    "constant date": lambda t: ibis.ifelse(hit(t), ibis.literal("x").cast("date"), t["d"]).notnull(),
    "constant moved": lambda t: ibis.ifelse(hit(t), ibis.timestamp("2020-01-01 00:00:00") + ibis.interval(years=400_000), t["h"]).notnull(),
}  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
def test_no_expression_is_an_oracle(name):
    """The outcome is the same with and without the row: an answer, or the same refusal before anything is read."""
    outcomes = []
    for diagnosis in ("hiv", "flu"):
        try:
            query = ada(diagnosis).filter(ORACLES[name]).aggregate(n=hush.tables.count())
            found = query.aggregates(salt=bytes(32)).to_arrow().num_rows
        except Unsupported as refusal:
            found = str(refusal)
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]


def doubled(t: Any, times: int) -> Any:
    return grown(t["a"], lambda x: x + x, times) > 0


def test_an_expression_has_a_size(extremes):
    """Operations count each time that they are used, also through columns of earlier steps, before anything is planned."""
    extremes.filter(lambda t: doubled(t, 10))
    table = extremes
    with pytest.raises(Unsupported, match=r"^an expression has more than 10000 operations"):
        extremes.filter(lambda t: doubled(t, 40))
    for _ in range(6):
        table = table.mutate(a=lambda t: t["a"] + t["a"])
    with pytest.raises(Unsupported, match=r"^an expression has more than 10000 operations"):
        grown(table, lambda table: table.mutate(a=lambda t: t["a"] + t["a"]), 20)
    with pytest.raises(Unsupported, match=r"^an expression nests more than 90 operations"):
        extremes.filter(grown(extremes["a"], lambda x: x + 1, 3000) > 0)
    wide = ibis.or_(*(extremes["a"] == i for i in range(200)))
    extremes.filter(wide).aggregate(n=hush.tables.count()).aggregates(salt=bytes(32)).to_arrow()
