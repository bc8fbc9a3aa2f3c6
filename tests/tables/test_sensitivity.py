"""The sensitivity is real: whole units are added and removed, and the integers move by no more than declared, in
every norm.

Random tables, every kind of query, the same salt on both sides; the engine's integers are also compared with the
reference in plain Python. The bound is not vacuous: it is reached by some table for every aggregate, and a plan with
any step left out is caught.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import ibis
import pytest
from effort import examples
from grid_quantile import grid_quantile
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import reference

import hush.tables
from hush.tables import aggregation, bound, count, count_units, histogram, mean, variance
from hush.tables.engines.contract import memory_tables
from hush.tables.engines.duckdb import sql_of
from hush.tables.expression import as_int64

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

SALTS = [bytes([number]) * 32 for number in (1, 2)]
TYPES = {"u": "BIGINT", "name": "VARCHAR", "g": "VARCHAR", "k": "INTEGER", "d": "DATE", "x": "DOUBLE"}
KINDS = {"u": "whole", "name": "text", "g": "text", "k": "whole", "d": "whole"}
DAYS = [None, datetime.date(1969, 12, 31), datetime.date(2000, 2, 29), datetime.date(2024, 1, 1)]

TOTALS = {
    "n": count(rows_per_unit=2),
    "units": count_units(),
    "total": hush.tables.sum("x", low=-3, high=5),
    "above": hush.tables.sum("x", low=1, high=4),
    "below": hush.tables.sum("x", low=-4, high=-1.5, rows_per_unit=2),
}
ROWS = {
    "m": mean("x", low=-1, high=4, rows_per_unit=2),
    "v": variance("x", low=0, high=3, rows_per_unit=3),
    "one": histogram("x", edges=[-math.inf, 0, 1, 2, math.inf]),
    "two": histogram("x", edges=[-1, 0, 1, 2, 5], rows_per_unit=2),
    "days": histogram("d", categories=[datetime.date(2000, 2, 29), datetime.date(2024, 1, 1)], rows_per_unit=2),
    "q": grid_quantile("x", 0.5, low=0, high=4, bins=8),
}


@dataclass(frozen=True)
class Shape:
    """A kind of query: which unit, groups and aggregates, and how it is run."""

    by: tuple[str, ...]
    keys: Any
    groups: int
    measures: tuple[str, ...]
    unit: str = "u"
    options: tuple[tuple[str, str], ...] = ()

    @property
    def asked(self) -> dict[str, Any]:
        return {name: {**TOTALS, **ROWS}[name] for name in self.measures}


SHAPES = {
    "public totals": Shape(("g",), ("a", "é", None, "z"), 2, tuple(TOTALS)),
    "public rows": Shape(("g", "k"), (("a", 1), ("a", None), ("b", 1), (None, -1)), 2, tuple(ROWS)),
    "private totals": Shape(("g", "k"), "private", 2, tuple(TOTALS)),
    "private rows": Shape(("d",), "private", 1, tuple(ROWS)),
    "one group": Shape((), None, 1, (*TOTALS, *ROWS)),
    "text units": Shape(("g",), "private", 1, (*TOTALS, "m", "two"), unit="name"),
    "aggregate first": Shape(("k",), "private", 2, tuple(TOTALS), options=(("first", "aggregate"),)),
    "native hash": Shape(("g",), "private", 2, (*TOTALS, "m", "one", "two"), options=(("hash", "native"),)),
    "native hash of text": Shape(("g",), "private", 1, (*TOTALS, *ROWS), unit="name", options=(("hash", "native"),)),
}

values = st.one_of(
    st.sampled_from([None, float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, 2.0, 5.0, 1e300]),
    st.floats(-8, 8),
)
rows_of = st.lists(
    st.fixed_dictionaries(
        {
            "u": st.sampled_from([None, 0, 1, 2, -1, -(2**63), 2**40]),
            "g": st.sampled_from([None, "a", "b", "é", "z", ""]),
            "k": st.sampled_from([None, 1, -1, 2**31 - 1]),
            "d": st.sampled_from(DAYS),
            "x": values,
        }
    ).map(lambda row: {**row, "name": None if row["u"] is None else f"p{row['u']}"}),
    min_size=1,
    max_size=30,
)
Integers = dict[tuple[Any, ...], dict[str, int]]


class Bench:
    """A DuckDB table that is filled again and again, and each query compiled once."""

    def __init__(self) -> None:
        self.backend = ibis.duckdb.connect(threads=1)
        self.backend.con.execute(f"CREATE TABLE rows ({', '.join(f'{name} {kind}' for name, kind in TYPES.items())})")
        # a prepared plan must not rest on the statistics of rows that are gone (DuckDB 1.5 then returns nonsense)
        self.backend.con.execute("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'")
        self.compiled: dict[Any, str] = {}

    def query(self, shape: Shape) -> hush.tables.Query:
        table = hush.tables.table(self.backend.table("rows"), unit=shape.unit)
        if not shape.by:
            return table.aggregate(**shape.asked)
        keys = shape.keys if isinstance(shape.keys, str) else list(shape.keys)
        return table.group_by(*shape.by, keys=keys, groups_per_unit=shape.groups).aggregate(**shape.asked)

    def run(self, shape: Shape, salt: bytes, rows: list[dict[str, Any]]) -> Integers:
        """The integers of these rows: group key -> columns. Groups without rows are left out."""
        connection, query = self.backend.con, self.query_of(shape)
        if (shape, salt) not in self.compiled:
            built = query.aggregates(salt=salt, **{"hash": "portable", **dict(shape.options)}).plan
            for name, table in memory_tables(built).items():
                connection.register(name, table)
            self.compiled[shape, salt] = name = f"q{len(self.compiled)}"
            connection.execute(f"PREPARE {name} AS {sql_of(self.backend, built)}")
        connection.execute("DELETE FROM rows")
        fill = f"INSERT INTO rows SELECT {', '.join(f'unnest(?::{kind}[])' for kind in TYPES.values())}"
        connection.execute(
            fill, [[row[name] for row in rows] for name in TYPES]
        )  # a registered frame would undo the preparation
        names = query.sensitivity.columns
        found = connection.execute(f"EXECUTE {self.compiled[shape, salt]}").fetchall()
        result = {}
        for row in found:
            key = tuple(row[: len(row) - len(names)])
            if query.grouping.keys is not None and shape.by:
                key = query.grouping.keys[key[0]]
            result[key] = dict(zip(names, row[len(row) - len(names) :], strict=True))
        return result

    @cache  # noqa: B019
    def query_of(self, shape: Shape) -> hush.tables.Query:
        return self.query(shape)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def excess(before: Integers, after: Integers, reach: hush.tables.Reach) -> list[str]:
    """Every way in which two tables of integers differ by more than one unit may make them."""
    found, total, moved, length, square = [], 0, 0, 0, 0
    for key in before.keys() | after.keys():
        a, b = before.get(key, {}), after.get(key, {})
        gaps = {name: abs(a.get(name, 0) - b.get(name, 0)) for name in reach.columns}
        total += any(gaps.values())
        moved += sum(gap > 0 for gap in gaps.values())
        length += sum(gaps.values())
        square += sum(gap * gap for gap in gaps.values())
        for part in reach.parts:
            own = [gaps[name] for name in part.columns]
            found += [f"{key} {part.columns}: a column by {max(own)} > {part.linf}"] * (max(own) > part.linf)
            found += [f"{key} {part.columns}: {sum(g > 0 for g in own)} columns > {part.coordinates}"] * (
                sum(g > 0 for g in own) > part.coordinates
            )
            found += [f"{key} {part.columns}: {sum(own)} in all > {part.l1}"] * (sum(own) > part.l1)
    found += [f"{total} groups > {reach.groups}"] * (total > reach.groups)
    found += [f"{moved} cells > {reach.l0}"] * (moved > reach.l0)
    found += [f"l1 {length} > {reach.l1}"] * (length > reach.l1)
    found += [f"l2 {math.sqrt(square)} > {reach.l2}"] * (square > reach.l2**2 * (1 + 1e-12))
    return found


def expected(shape: Shape, salt: bytes, rows: list[dict[str, Any]]) -> Integers:
    """The reference's integers, but for the column of units that private keys add."""
    return reference.aggregates(
        rows,
        unit=(shape.unit, KINDS[shape.unit]),
        names=[(name, KINDS[name]) for name in shape.by],
        keys=None if shape.keys == "private" else (list(shape.keys) if shape.by else [()]),
        groups=shape.groups,
        measures=shape.asked,
        salt=salt,
    )


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=examples(14, 40))
@given(rows=rows_of, salt=st.sampled_from(SALTS), who=st.integers(0, 10))
def test_one_unit_moves_no_more_than_declared(bench, name, rows, salt, who):
    """f(D) against f(D without one unit): groups, cells, each column, each aggregate, l1 and l2; both equal to the
    reference.
    """
    shape = SHAPES[name]
    units = sorted({row["u"] for row in rows if row["u"] is not None}) or [0]
    gone = units[who % len(units)]
    fewer = [row for row in rows if row["u"] != gone]
    before, after = bench.run(shape, salt, rows), bench.run(shape, salt, fewer)
    assert excess(before, after, bench.query_of(shape).sensitivity) == []
    if dict(shape.options).get("hash") != "native":
        for got, from_rows in ((before, rows), (after, fewer)):
            wanted = {
                key: columns
                for key, columns in expected(shape, salt, from_rows).items()
                if key in got or any(columns.values())
            }
            assert {
                key: {name: columns[name] for name in wanted.get(key, columns)} for key, columns in got.items()
            } == wanted


def test_null_units_change_nothing(bench):
    """Rows without a unit belong to nobody: with or without them the integers are the same."""
    rows = [
        {"u": u, "name": None if u is None else str(u), "g": "a", "k": 1, "d": DAYS[2], "x": 1.0}
        for u in (None, 1, None, 2)
    ]
    for shape in SHAPES.values():
        assert bench.run(shape, SALTS[0], rows) == bench.run(
            shape, SALTS[0], [row for row in rows if row["u"] is not None]
        )


# -- the bound is reached, and the check can fail ------------------------------------------------------------


def heavy(xs: list[float], groups: list[str | None], unit: int = 1) -> list[dict[str, Any]]:
    """One unit with every value in every group, all on one day."""
    return [{"u": unit, "name": f"p{unit}", "g": g, "k": 1, "d": DAYS[2], "x": x} for g in groups for x in xs]


@pytest.mark.parametrize(
    ("name", "xs"),
    [
        ("n", [0.0, 0.0]),
        ("units", [0.0]),
        ("total", [9.0]),
        ("above", [9.0]),
        ("below", [-9.0, -9.0]),
        ("m", [9.0, 9.0]),
        ("v", [9.0, 9.0, 9.0]),
        ("one", [0.5]),
        ("two", [0.5, 0.5]),
        ("days", [0.0, 0.0]),
        ("q", [1.0]),
    ],
)
def test_the_bound_is_reached(bench, name, xs):
    """Some table moves every part of every aggregate by its bound, in as many groups: no smaller sensitivity would be
    true.

    A sum of squares is bounded by a number that is no whole number of steps: alone in its group it is rounded to the
    nearest one.
    """
    rounding = 1 if name == "v" else 0
    shape = Shape(("g",), "private", 2, (name,))
    reach = bench.query_of(shape).sensitivity
    after = bench.run(shape, SALTS[0], heavy(xs, ["a", "b", "é"]))
    assert len(after) == reach.groups == 2
    for part in reach.parts:
        for columns in after.values():
            reached = max(abs(columns[column]) for column in part.columns)
            assert part.linf - rounding <= reached <= part.linf


def no_clamp(total: Any, low: int, high: int) -> Any:
    return as_int64(ibis.coalesce(total, 0))


def all_groups(rows: Any, keys: list[str], groups: int, keyed: Any, *, public: bool, **_: Any) -> Any:
    return rows


def all_rows(rows: Any, keys: list[str], column: str, most: int, keyed: Any, kept: str) -> Any:
    return rows.mutate(**{kept: rows[column]})


def rank_without_unit(rows: Any, keys: list[str], groups: int, keyed: Any, *, public: bool, **_: Any) -> Any:
    ranked = rows.mutate(rank=ibis.dense_rank().over(order_by=keys))
    return ranked.filter(ranked["rank"] < groups).drop("rank")


BROKEN: dict[str, tuple[str, Callable[..., Any], Shape]] = {
    "no clamp": ("clamped", no_clamp, SHAPES["private totals"]),
    "all groups": ("keep_groups", all_groups, SHAPES["private totals"]),
    "all rows": ("keep_rows", all_rows, Shape(("g",), "private", 9, ("two",))),
    "groups ranked across units": ("keep_groups", rank_without_unit, SHAPES["private totals"]),
}


@pytest.mark.parametrize("step", BROKEN)
def test_a_missing_step_is_caught(monkeypatch, step):
    """Each step of the plan is needed: without it some table moves further than declared, and the check above says
    so.
    """
    name, broken, shape = BROKEN[step]
    monkeypatch.setattr(aggregation, name, broken)
    assert getattr(bound, name) is not broken
    fresh = Bench()
    others = [row for unit in (2, 3) for row in heavy([1.0, 2.0], ["a", "b", "é"], unit)]
    rows = [*others, *heavy([0.5] * 4 + [9.0] * 2, ["", "a", "b", "é"])]
    moved = excess(
        fresh.run(shape, SALTS[0], rows), fresh.run(shape, SALTS[0], others), fresh.query_of(shape).sensitivity
    )
    assert moved, f"without {step} nothing was noticed"
