"""A generator of expressions that try to fail on one row: every operation of `row_rule` with arguments of every type,
and of the results of other operations, over plain rows and over extreme ones.
"""

# ruff: noqa: E501  (the tables of values are kept short)

from __future__ import annotations

import decimal
import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations, islice, product
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops

import hush.tables
from hush.errors import HushError
from hush.tables.engines import engine_of
from hush.tables.row_rule import RULES

#: the columns: their type in DuckDB, a plain value, and extreme ones
COLUMNS: dict[str, tuple[str, str, list[str]]] = {
    "s": ("VARCHAR", "'ab'", ["NULL", "''", "chr(0)", "'('", "'\\'", "'%'", "repeat('x', 20000)", "'9999999999999999999'", "'2025-02-30'", "'nan'", "'😀'", "'{'", "'-'"]),
    "r": ("VARCHAR", "'a'", ["NULL", "''", "'('", "'*'", "'(?<'", "'['", "'\\9'", "'%Q'", "'http://[x'"]),
    "n": ("BIGINT", "3", ["NULL", "9223372036854775807", "-9223372036854775808", "0", "-1", "1000000000000"]),
    "k": ("INTEGER", "2", ["NULL", "2147483647", "-2147483648", "0", "-1", "64", "13", "400"]),
    "i": ("TINYINT", "1", ["NULL", "127", "-128", "0", "-1"]),
    "u": ("UBIGINT", "7", ["18446744073709551615", "0"]),
    "f": ("DOUBLE", "1.5", ["NULL", "'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "-1.0", "0.0", "5e-324", "1e19"]),
    "g": ("FLOAT", "2.5", ["'nan'", "'inf'", "3.4e38", "-1.0", "0.0"]),
    "m": ("DECIMAL(18, 4)", "1.25", ["99999999999999.9999", "-99999999999999.9999", "0", "-1"]),
    "w": ("DECIMAL(38, 0)", "5", ["99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", "0"]),
    "b": ("BOOLEAN", "true", ["NULL", "false"]),
    "d": ("DATE", "'2025-01-02'", ["NULL", "'infinity'", "'-infinity'", "'5881580-07-10'", "'5877642-06-25 (BC)'", "'0001-01-01'", "'9999-12-31'"]),
    "h": ("TIMESTAMP", "'2025-01-02 03:04:05'", ["NULL", "'infinity'", "'-infinity'", "'294247-01-10 04:00:54'", "'290309-12-22 (BC) 00:00:00'"]),
    "z": ("TIMESTAMPTZ", "'2025-01-02 03:04:05+00'", ["'infinity'", "'-infinity'", "'294247-01-10 04:00:54+00'"]),
    "c": ("TIME", "'03:04:05'", ["NULL", "'24:00:00'", "'00:00:00'"]),
    "v": ("INTERVAL", "INTERVAL '1 day'", ["NULL", "INTERVAL '178000000 years'", "INTERVAL '9223372036854775807 microseconds'"]),
    "l": ("BIGINT[]", "[1, 2]", ["NULL", "[]", "[NULL]", "[9223372036854775807, 9223372036854775807]"]),
    "t": ("VARCHAR[]", "['a']", ["NULL", "[]", "[NULL]", "['']"]),
    "j": ("JSON", "'{\"a\": 1}'", ["NULL", "'null'", "'[]'", "'\"x\"'", "'1e999'"]),
    "x": ("BLOB", "'\\x01'::BLOB", ["NULL", "''::BLOB", "'\\xff'::BLOB"]),
    "q": ("UUID", "'11111111-1111-1111-1111-111111111111'", ["NULL"]),
    "o": ("STRUCT(a BIGINT, b VARCHAR)", "{'a': 1, 'b': 'x'}", ["NULL", "{'a': NULL, 'b': NULL}"]),
    "a": ("MAP(VARCHAR, BIGINT)", "MAP {'a': 1}", ["NULL", "MAP {}"]),
    "e": ("ENUM('x', 'y')", "'x'", ["NULL"]),
}  # fmt: skip
#: pairs of columns whose extremes meet in one row
MEETING = ["s", "r", "n", "k", "f", "d", "h", "m", "w", "v"]
#: operations that hush adds, or that work on several rows, or that take a form of their own below
APART = [
    "TextByBytes",
    "Tried",
    "HexNumber",
    "WideSum",
    "Argument",
    "Alias",
    "Field",
    "Literal",
    "SortKey",
    "ArrayMap",
    "ArrayFilter",
    "SearchedCase",
]
OVER_ROWS = next(rule.names for rule in RULES if rule.what == "aggregates of a person's rows")
#: what an operation takes besides columns, by the name of the argument
GIVEN: dict[str, list[Any]] = {
    "to": [dt.dtype(kind) for kind in ("int8", "int32", "int64", "uint64", "float32", "float64", "decimal(9, 2)", "decimal(38, 10)", "boolean", "string", "date", "timestamp", "time", "json", "array<int64>", "interval('D')", "uuid")],
    "unit": ["Y", "M", "W", "D", "h", "m", "s"], "part": ["day", "month", "second"], "how": ["md5", "sha256", "inner"],
    "index": [0, 1, 9], "field": ["a", "b"], "buckets": [(0, 1, 5)], "closed": ["left"], "nulls_first": [False],
    "digits": [None, 0, 2, -5, "k"], "escape": [None, "\\"], "options": [(1, 2), ("a", "b")], "length": [None, 2, 9, "k"],
    "end": [None, 2, "k"], "times": [3], "step": [1], "stop": [9], "start": [None, 0, 3, "k", "n"], "default": [None, 0, "n", "s"],
    "include_under": [True], "include_over": [True], "close_extreme": [True], "offset": [None], "key": ["a", None], "param": [],
    "pattern": ["a", "a%", "(", "(a+)+", "r", "[0-9]+"], "format_str": ["%Y-%m-%d", "%Q"], "interval": ["1D"], "sep": [",", "r"],
    "from_base": [10], "to_base": [2], "replacement": ["", "bb", "\\1", "r"], "nchars": [2, "k"], "substr": ["b", "r"], "delimiter": ["", "b"],
}  # fmt: skip
#: constants that meet columns: extreme numbers, dates of another type
CONSTANTS: list[Any] = [
    ibis.literal(2**63 - 1), ibis.literal(-1), ibis.literal(0), ibis.literal(0.5), ibis.literal(decimal.Decimal("1.5")),
    ibis.literal("x"), ibis.literal(True), ibis.date("2025-01-01"), ibis.timestamp("2025-01-01 00:00:00"), ibis.interval(days=1),
    ibis.interval(years=300_000), ibis.literal([1, 2]), ibis.null(),
]  # fmt: skip


def extremes(backend: Any) -> hush.tables.Table:
    """Plain rows and rows with one or two extreme values, as a table of a DuckDB."""
    for text in statements(COLUMNS):
        backend.con.execute(text)
    return hush.tables.table(backend.table("extremes"), unit="p")


def statements(columns: dict[str, tuple[str, str, list[str]]]) -> Iterator[str]:
    """The SQL that makes the table of extreme rows."""
    rows = [row_of(columns)]
    for name, (_, _, values) in columns.items():
        rows += [row_of(columns, **{name: value}) for value in values]
    for one, other in combinations([name for name in MEETING if name in columns], 2):
        few = columns[one][2][:4], columns[other][2][:4]
        rows += [row_of(columns, **{one: x, other: y}) for x, y in product(*few)]
    types = ", ".join(f"{name} {kind}" for name, (kind, _, _) in columns.items())
    yield f"CREATE TABLE extremes (p BIGINT, {types})"
    for start in range(0, len(rows), 500):
        listed = ", ".join(f"({start + i}, {row})" for i, row in enumerate(rows[start : start + 500]))
        yield f"INSERT INTO extremes VALUES {listed}"


def row_of(columns: dict[str, tuple[str, str, list[str]]], **changed: str) -> str:
    """The plain values of a row, with some changed."""
    return ", ".join(f"CAST({changed.get(name, value)} AS {kind})" for name, (kind, value, _) in columns.items())


def names() -> list[str]:
    """The operations of the list that are made here."""
    return sorted({name for rule in RULES for name in rule.names} - set(APART) - set(OVER_ROWS))


def expressions(relation: Any, chance: random.Random, depth: int) -> Iterator[tuple[str, Any]]:
    """Endless expressions, with the operation on top, nested up to `depth`. Ibis refuses most combinations of types;
    what it takes is given.
    """
    pool: list[list[Any]] = [[relation[name] for name in COLUMNS if name in relation.columns] + CONSTANTS]
    wanted = [*names(), "ArrayMap", "ArrayFilter", "SearchedCase"]
    while True:
        chance.shuffle(wanted)
        level = 1 + chance.randrange(depth)
        for name in wanted:
            parts = [part for found in pool[:level] for part in found] if level < 3 else pool[min(level, len(pool)) - 1]
            for _ in range(60):
                made = _made(name, relation, parts or pool[0], chance)
                if made is None:
                    continue
                while len(pool) <= level:
                    pool.append([])
                pool[level] = [*pool[level][-200:], made]
                yield name, made
                break


def _made(name: str, relation: Any, parts: list[Any], chance: random.Random) -> Any:
    """One operation with arguments by chance; None if Ibis does not take them."""

    def any_of(argument: str) -> Any:
        if argument in GIVEN and chance.random() < 0.8 and GIVEN[argument]:
            value = chance.choice(GIVEN[argument])
            return (
                relation[value]
                if isinstance(value, str) and value in relation.columns and argument != "field"
                else value
            )
        return chance.choice(parts)

    with suppress(Exception):
        if name in ("ArrayMap", "ArrayFilter"):
            lists = [part for part in parts if part.type().is_array()] or [relation["l"]]
            over, other = chance.choice(lists), chance.choice(parts)
            return over.map(lambda x: x + other) if name == "ArrayMap" else over.filter(lambda x: x < other)
        if name == "SearchedCase":
            truths = [part for part in parts if part.type().is_boolean()] or [relation["b"]]
            return ibis.cases((chance.choice(truths), chance.choice(parts)), else_=chance.choice(parts))
        kind = getattr(ops, name)
        several = name in (
            "Coalesce",
            "Greatest",
            "Least",
            "StringConcat",
            "ArrayConcat",
            "Array",
            "StringJoin",
            "ArrayZip",
        )
        given = {}
        for argument in kind.__argnames__:
            wide = (several and argument in ("arg", "exprs")) or argument in ("cases", "results", "values", "names")
            value = tuple(any_of("") for _ in range(2)) if wide else any_of(argument)
            given[argument] = ("a", "b") if argument == "names" else value
        if name == "TimestampBucket":
            given["interval"] = ibis.interval(days=chance.choice([1, 400]))
        if name in ("LPad", "RPad"):
            given["length"] = chance.choice([5, 9])
        made = kind(**{n: v.op() if isinstance(v, ibis.Expr) else _ops(v) for n, v in given.items()}).to_expr()
        made.type(), made.op().shape
        return made
    return None


def _ops(value: Any) -> Any:
    return tuple(v.op() if isinstance(v, ibis.Expr) else v for v in value) if isinstance(value, tuple) else value


def outcome(table: hush.tables.Table, made: Any) -> str:
    """What happens to a column: hush refuses it, or the engine cannot plan it, both before a row is read; or all rows
    are computed. An error of the engine over the rows passes.
    """
    try:
        relation = table.mutate(made=made).relation
    except HushError:
        return "refused"
    engine, backend = engine_of(table.source.backend), table.source.backend
    spark = engine.name == "pyspark"
    try:
        counted = engine.compile(backend, relation.aggregate(n=relation["made"].count()))
        shown = engine.compile(backend, relation.select("made"))
        planned = backend.raw_sql(counted) if spark else backend.con.execute(f"EXPLAIN {counted}").fetchall()
    except Exception:
        return "not planned"
    planned.collect() if spark else backend.con.execute(counted).fetchall()
    if engine.name == "duckdb":
        backend.con.execute(f"CREATE OR REPLACE TEMP TABLE computed AS {shown}")
    return "answered"


def outcomes(table: hush.tables.Table, number: int, seed: int, depth: int = 4) -> dict[str, int]:
    """How many expressions have each outcome. An error of the engine over the rows passes."""
    found: dict[str, int] = {}
    for _, column in islice(expressions(table.relation, random.Random(seed), depth), number):
        end = outcome(table, column)
        found[end] = found.get(end, 0) + 1
    return found
