"""Joins, windows and tables of one row per person: every engine gives the integers of plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _
from tables.compare import assert_exact
from tables.messy import COLUMNS, arrow_of, as_read, messy

from hush import tables
from hush.tables import count, count_units, mean

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

MEASURES = {"n": count(rows_per_unit=2), "units": count_units(), "s": tables.sum("cost", low=-9, high=9)}
FURTHEST = 2**62
Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Fewer rows than elsewhere: in a join they multiply."""
    return as_read(messy()[:240])


@pytest.fixture(scope="module")
def visits(engine: Any) -> tables.Table:
    return engine.table(arrow_of(messy()[:240]), unit="who")


@pytest.fixture(scope="module")
def named_visits(engine: Any) -> tables.Table:
    return engine.table(arrow_of(messy()[:240]), unit="name")


def side(engine: Any, make: Callable[..., Any], rows: pa.Table) -> Any:
    """A table without a unit on the connection of an engine."""
    if engine.name == "postgres":
        return engine.side(make, rows)
    return make(rows, engine=engine.session) if engine.name == "pyspark" else make(rows)


# -- a person's columns, in plain Python ---------------------------------------------------------------------


def known(x: float | None) -> float | None:
    return None if x is None or math.isnan(x) else x + 0.0


def millionths(x: float) -> int:
    """A float as whole millionths, within the limits of a row."""
    return math.floor(min(max(x * 1e6, float(-FURTHEST)), float(FURTHEST)) + 0.5)


def exact_sum(values: list[Any]) -> Any:
    """The sum of a person's values: whole numbers as they are, floats as millionths."""
    seen = [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]
    if not seen:
        return None
    if all(isinstance(value, int) for value in seen):
        return min(max(sum(seen), -FURTHEST), FURTHEST)
    return min(max(sum(map(millionths, seen)), -FURTHEST), FURTHEST) / 1e6


def exact_mean(values: list[Any]) -> float | None:
    seen = [value for value in values if value is not None and not (isinstance(value, float) and math.isnan(value))]
    return float(exact_sum(seen)) / len(seen) if seen else None


def least(values: list[Any]) -> Any:
    seen = [known(v) if isinstance(v, float) else v for v in values]
    seen = [v for v in seen if v is not None]
    return min(seen, key=lambda v: v.encode() if isinstance(v, str) else v, default=None)


def of_person(rows: list[Row], *names: str) -> dict[Any, list[Row]]:
    """The rows by person (and other columns)."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def last(day: Any) -> tuple[bool, Any]:
    """An order with nulls last."""
    return day is None, day or 0


# -- windows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["who", "name"])
def test_windows(engine, visits, named_visits, rows, unit):
    table = visits if unit == "who" else named_visits
    made = table.mutate(
        n_visits=_.count().over(group_by=unit),
        total=_.cost.sum().over(group_by=[unit, "ward"]),
        fees=_.fee.sum().over(group_by=unit),
        long=_.stay.mean().over(group_by=unit),
        cheap=_.cost.min().over(group_by=unit),
        place=ibis.rank().over(group_by=unit, order_by="day"),
        so_far=_.stay.sum().over(ibis.range_window(preceding=None, following=0, group_by=unit, order_by="day")),
        urgent_ever=_.urgent.any().over(group_by=unit),
        ward=_.ward.min().over(group_by=unit),
    )
    made = made.mutate(urgent_ever=_.urgent_ever.cast("int64"))
    people, pairs = of_person(rows, unit), of_person(rows, unit, "ward")
    expected = []
    for row in rows:
        mine = people[row[unit],]
        days = [other for other in mine if last(other["day"]) <= last(row["day"])]
        flags = [other["urgent"] for other in mine if other["urgent"] is not None]
        expected.append(
            {
                **row,
                "n_visits": len(mine),
                "total": exact_sum([other["cost"] for other in pairs[row[unit], row["ward"]]]),
                "fees": exact_sum([None if other["fee"] is None else float(other["fee"]) for other in mine]),
                "long": exact_mean([other["stay"] for other in mine]),
                "cheap": least([other["cost"] for other in mine]),
                "place": sum(last(other["day"]) < last(row["day"]) for other in mine),
                "so_far": exact_sum([other["stay"] for other in days]),
                "urgent_ever": int(any(flags)) if flags else None,
                "ward": least([other["ward"] for other in mine]),
            }
        )
    measures = {
        "visits": tables.sum("n_visits", low=0, high=99),
        "total": tables.sum("total", low=-500, high=5000),
        "fees": tables.sum("fees", low=-500, high=5000, rows_per_unit=3),
        "long": mean("long", low=0, high=30, rows_per_unit=2),
        "cheap": tables.sum("cheap", low=-5, high=5),
        "place": mean("place", low=0, high=30, rows_per_unit=9),
        "so_far": tables.sum("so_far", low=0, high=900, rows_per_unit=2),
        "urgent_ever": tables.sum("urgent_ever", low=0, high=1),
    }
    found = assert_exact(made, expected, ["ward"], "private", 2, measures)
    assert sum(columns["total"] != 0 for columns in found.values()) > 1


# -- one row per person --------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["who", "name"])
def test_one_row_per_person(engine, visits, named_visits, rows, unit):
    table = visits if unit == "who" else named_visits
    made = table.per_unit(
        visits=_.count(),
        wards=_.ward.nunique(),
        costs=_.cost.nunique(),
        ward=_.ward.max(),
        total=_.cost.sum(),
        share=lambda t: t.stay.sum() / t.count(),
        dear=lambda t: t.count(where=t.cost > 20),
        day=_.day.min(),
    ).filter(_.visits >= 3)
    assert made.one_row
    expected = []
    for (who,), mine in of_person(rows, unit).items():
        if len(mine) < 3:
            continue
        wards = {row["ward"] for row in mine if row["ward"] is not None}
        stay = exact_sum([row["stay"] for row in mine])
        expected.append(
            {
                unit: who,
                "visits": len(mine),
                "wards": len(wards),
                "costs": len({known(row["cost"]) for row in mine} - {None}),
                "ward": max(wards, key=str.encode, default=None),
                "total": exact_sum([row["cost"] for row in mine]),
                "share": None if stay is None else stay / len(mine),
                "dear": sum(known(row["cost"]) is not None and row["cost"] > 20 for row in mine),
                "day": least([row["day"] for row in mine]),
            }
        )
    measures = {
        "n": count(rows_per_unit=5),
        "people": count_units(),
        "wards": tables.sum("wards", low=0, high=9),
        "costs": tables.sum("costs", low=0, high=99),
        "total": tables.sum("total", low=-500, high=5000),
        "share": mean("share", low=0, high=30, rows_per_unit=4),
    }
    assert_exact(made, expected, ["ward"], "private", 3, measures)
    assert_exact(made, expected, ["day"], "private", 1, measures)


def test_nan_is_more_than_no_number(engine, visits, rows):
    """A comparison in `where` is the engine's: NaN counts as larger than a number, or not at all."""
    found = visits.per_unit(n=lambda t: t.count(where=t.cost.isnan())).aggregate(n=tables.sum("n", low=0, high=99))
    expected = sum(row["cost"] is not None and math.isnan(row["cost"]) for row in rows if row["who"] is not None)
    assert found.aggregates().to_arrow()["n"].to_pylist()[0] / found.sensitivity.linf["n"] * 99 == expected


# -- joins ---------------------------------------------------------------------------------------------------

WARDS = pa.table(
    {
        "ward": pa.array(["A", "a", "é", "e\u0301", "é", None, "nobody", "😀", "back\\slash", ""]),
        "level": pa.array([1.5, 2.5, 3.5, None, 5.5, 6.5, 7.5, math.nan, -0.0, 9.5]),
        "code": pa.array([1, 2, 3, 4, 5, 6, 7, 8, 9, None], pa.int64()),
    }
)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("where", ["engine", "memory"])
def test_public_tables(engine, visits, rows, how, where):
    """On the engine's own connection, and from another one; several public rows may match."""
    if where == "engine":
        other = side(engine, tables.public, WARDS)
    else:
        connection = ibis.duckdb.connect()
        connection.con.execute("CREATE TABLE wards (ward VARCHAR, level DOUBLE, code BIGINT)")
        connection.con.executemany(
            "INSERT INTO wards VALUES (?, ?, ?)", [list(row.values()) for row in WARDS.to_pylist()]
        )
        other = tables.public(connection.table("wards"))
    made = visits.join(other, on="ward", how=how, suffix="_of_ward")
    assert made.columns[-2:] == ("level", "code_of_ward")
    expected = []
    for row in rows:
        match = [w for w in WARDS.to_pylist() if w["ward"] is not None and w["ward"] == row["ward"]]
        for ward in match or [{"level": None, "code": None}] * (how == "left"):
            expected.append({**row, "level": ward["level"], "code_of_ward": ward["code"]})
    measures = {**MEASURES, "level": tables.sum("level", low=-9, high=9, rows_per_unit=3)}
    assert_exact(made, expected, ["ward"], "private", 2, measures)
    if how == "left":
        assert_exact(made, expected, ["ward"], ["A", "é", None], 3, measures)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("unit", ["who", "name"])
def test_tables_of_the_same_people(engine, visits, named_visits, rows, how, unit):
    """On the unit, under two names; then on the unit and another column."""
    table = visits if unit == "who" else named_visits
    few = [{"person": row[unit], "ward": row["ward"], "stay": row["stay"]} for i, row in enumerate(rows) if i % 5 == 0]
    kind = COLUMNS[unit][0]
    frame = pa.table(
        {
            "person": pa.array([row["person"] for row in few], kind),
            "ward": pa.array([row["ward"] for row in few], pa.string()),
            "stay": pa.array([row["stay"] for row in few], pa.int64()),
        }
    )
    other = engine.table(frame, unit="person")
    for keys in ({unit: "person"}, {unit: "person", "ward": "ward"}):
        made = table.join(other, on=keys, how=how)
        expected = []
        for row in rows:
            match = [f for f in few if all(row[a] is not None and row[a] == f[b] for a, b in keys.items())]
            for found in match or [{"stay": None}] * (how == "left"):
                expected.append({**row, "stay_right": found["stay"]})
        measures = {**MEASURES, "stay": tables.sum("stay_right", low=0, high=30, rows_per_unit=2)}
        assert_exact(made, expected, ["ward"], "private", 2, measures)


def test_along_a_key(engine):
    """Lines belong to the person of their order, and are added up for each person."""
    orders = [
        {**row, "code": i, "order_id": i // 2 if i % 2 and row["who"] == messy()[i - 1]["who"] else i}
        for i, row in enumerate(messy()[:60])
    ]
    lines = [{"order_id": i % 70, "price": 0.1 * (i % 9) - 0.2} for i in range(200)]
    frame = arrow_of(messy()[:60]).append_column("order_id", pa.array([row["order_id"] for row in orders], pa.int64()))
    table = engine.table(frame, unit="who")
    linked = side(engine, partial(tables.linked, to=table, on="order_id"), pa.Table.from_pylist(lines))
    made = table.join(linked, on="order_id").per_unit(spent=_.price.sum(), lines=_.count(), ward=_.ward.min())
    people = defaultdict(set)
    for order in orders:
        people[order["order_id"]].add(order["who"])
    sums: dict[Any, list[Row]] = defaultdict(list)
    for order in (order for order in orders if len(people[order["order_id"]]) == 1):
        sums[order["who"]] += [{**order, **line} for line in lines if line["order_id"] == order["order_id"]]
    expected = [
        {
            "who": who,
            "spent": exact_sum([row["price"] for row in mine]),
            "lines": len(mine),
            "ward": least([row["ward"] for row in mine]),
        }
        for who, mine in sums.items()
        if mine
    ]
    measures = {
        "people": count_units(),
        "spent": tables.sum("spent", low=-9, high=9),
        "lines": mean("lines", low=0, high=30),
    }
    assert_exact(made, expected, ["ward"], "private", 1, measures)
