"""The rule of `test_neighbouring_outputs` for joined tables, windows and tables of one row per person: whatever is
shown is a function of released numbers and of public facts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from engines.test_neighbouring_outputs import (
    FEW,
    assert_only_released_shows,
    in_memory,
    rows_of,
    still,
    streamed,
)
from ibis import _

from hush import tables

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2
__all__ = ["still"]  # a fixture

NAMES = pa.table({"k": ["flu", "flu", "rare 1", ""], "severity": [1.0, 2.0, 3.0, 4.0]})


def beside(engine: Any, make: Callable[..., Any], rows: pa.Table) -> Any:
    if engine.name == "postgres":
        return engine.side(make, rows)
    return make(rows, engine=engine.session) if engine.name == "pyspark" else make(rows)


def in_place(engine: Any) -> Any:
    """The engine with tables in the place of those of the last data set: their names are public, and the same."""
    if engine.name != "postgres":
        return engine
    again = type(engine)(engine.server)
    again.number = itertools.count(10_000)
    for number in range(10_000, 10_004):
        again.server.owner.execute(f'DROP TABLE IF EXISTS "rows{number}", "side{number}"')
    return again


def of_people(rows: Any) -> pa.Table:
    """A second table of the same people, with one row for each of their rows."""
    return pa.table(
        {"u": pa.array([u for u, _k, _x in rows], pa.int64()), "y": pa.array([1.0 for _ in rows], pa.float64())}
    )


def numbered(rows: Any) -> tuple[pa.Table, pa.Table]:
    """Orders, each with an id of its own, and two lines for each."""
    ids = [abs(u) * 1000 + i if u in (-1, 999) else u for i, (u, _k, _x) in enumerate(rows)]
    orders = rows_of(rows).append_column("order_id", pa.array(ids, pa.int64()))
    return orders, pa.table({"order_id": pa.array(ids * 2, pa.int64()), "price": pa.array([0.5] * (2 * len(ids)))})


def along_a_key(engine: Any, rows: Any) -> Any:
    orders, lines = numbered(rows)
    made = engine.table(orders, unit="u")
    linked = beside(engine, partial(tables.linked, to=made, on="order_id"), lines)
    return made.join(linked, on="order_id").mutate(x=_.price)


DERIVED: dict[str, Callable[[Any, Any], Any]] = {
    "window": lambda engine, rows: engine.table(rows_of(rows), unit="u").mutate(
        x=_.x.sum().over(group_by=["u", "k"]) / _.count().over(group_by="u")
    ),
    "per_unit": lambda engine, rows: engine.table(rows_of(rows), unit="u").per_unit(k=_.k.max(), x=_.x.mean()),
    "public": lambda engine, rows: (
        engine.table(rows_of(rows), unit="u")
        .join(beside(engine, tables.public, NAMES), on="k", how="left")
        .mutate(x=_.x + _.severity.fill_null(0))
    ),
    "private": lambda engine, rows: engine.table(rows_of(rows), unit="u").join(
        engine.table(of_people(rows), unit="u"), on="u"
    ),
    "linked": along_a_key,
}


@pytest.mark.parametrize("name", DERIVED)
def test_only_released_numbers_show(engine, name, tmp_path, caplog, still):
    """Groups found privately, one more person, in memory and written."""
    ways = (in_memory, streamed) if engine.name == "duckdb" else (streamed,)
    assert_only_released_shows(
        lambda rows: DERIVED[name](in_place(engine), rows), "private", "mean", FEW[1:], tmp_path, caplog, ways
    )
