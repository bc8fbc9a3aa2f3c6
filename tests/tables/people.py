"""A small database of people: visits, facts about the people, public wards, the lines of orders, the parts of lines.

An order id may belong to several people, to one or to none. `without` removes a person everywhere: the neighbouring
database.
"""

from __future__ import annotations

import datetime
from collections import Counter
from typing import Any

import ibis
from hypothesis import strategies as st

import hush.tables
from hush.tables.engines.duckdb import sql_of

TYPES = {
    "visits": {"u": "BIGINT", "g": "VARCHAR", "k": "INTEGER", "d": "DATE", "x": "DOUBLE", "order_id": "BIGINT"},
    "facts": {"u": "BIGINT", "k": "INTEGER", "y": "DOUBLE"},
    "wards": {"g": "VARCHAR", "floor": "BIGINT", "head": "BIGINT"},
    "lines": {"order_id": "BIGINT", "line_id": "BIGINT", "price": "DOUBLE"},
    "parts": {"line_id": "BIGINT", "weight": "DOUBLE"},
}
WARDS = [
    {"g": "a", "floor": 1, "head": 1},
    {"g": "b", "floor": 2, "head": 1},
    {"g": "b", "floor": 3, "head": 2},
    {"g": None, "floor": 4, "head": 2},
]
UNITS = [None, 1, 2, 3, -(2**63)]
DAYS = [None, datetime.date(1969, 12, 31), datetime.date(2000, 2, 29), datetime.date(2024, 1, 1)]
Rows = list[dict[str, Any]]
Database = dict[str, Rows]

numbers = st.one_of(
    st.sampled_from([None, float("nan"), float("inf"), -0.0, 0.0, 0.1, 0.2, 0.3, 1e300, -7.0]), st.floats(-8, 8)
)


def order_of(unit: int | None, place: int) -> int:
    """An order id that no two people share, but for the place 3."""
    return 3 if place == 3 else 10 * UNITS.index(unit) + place


visit_rows = st.lists(
    st.fixed_dictionaries(
        {
            "u": st.sampled_from(UNITS),
            "g": st.sampled_from([None, "a", "b", "c"]),
            "k": st.sampled_from([None, 1, -1, 2**31 - 1]),
            "d": st.sampled_from(DAYS),
            "x": numbers,
            "order_id": st.integers(0, 3),
        }
    ).map(lambda row: {**row, "order_id": order_of(row["u"], row["order_id"])}),
    min_size=1,
    max_size=10,
)
fact_rows = st.lists(
    st.fixed_dictionaries({"u": st.sampled_from(UNITS), "k": st.sampled_from([None, 1, 2]), "y": numbers}), max_size=6
)
orders = st.sampled_from([None, 3, *(order_of(unit, place) for unit in UNITS for place in range(2))])
line_rows = st.lists(
    st.fixed_dictionaries({"order_id": orders, "line_id": st.sampled_from([None, 1, 2, 3]), "price": numbers}),
    max_size=10,
)
part_rows = st.lists(
    st.fixed_dictionaries({"line_id": st.sampled_from([None, 1, 2, 3, 4]), "weight": numbers}), max_size=6
)
databases = st.fixed_dictionaries({"visits": visit_rows, "facts": fact_rows, "lines": line_rows, "parts": part_rows})


def without(data: Database, gone: int) -> Database:
    """The database without one person: the visits and facts of this person, the lines of these orders, and the parts of
    these lines.
    """
    orders = {row["order_id"] for row in data["visits"] if row["u"] == gone} - {None}
    lines = {row["line_id"] for row in data["lines"] if row["order_id"] in orders} - {None}
    return {
        "visits": [row for row in data["visits"] if row["u"] != gone],
        "facts": [row for row in data["facts"] if row["u"] != gone],
        "lines": [row for row in data["lines"] if row["order_id"] not in orders],
        "parts": [row for row in data["parts"] if row["line_id"] not in lines],
    }


class People:
    """The database in DuckDB, and its tables as a user of hush opens them."""

    def __init__(self) -> None:
        self.backend = ibis.duckdb.connect(threads=1)
        self.sql: dict[Any, str] = {}
        self.plans: dict[int, Any] = {}
        for name, columns in TYPES.items():
            self.backend.con.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {kind}' for c, kind in columns.items())})")
        self.insert("wards", WARDS)
        self.visits = hush.tables.table(self.backend.table("visits"), unit="u")
        self.facts = hush.tables.table(self.backend.table("facts"), unit="u")
        self.wards = hush.tables.public(self.backend.table("wards"))
        self.lines = hush.tables.linked(self.backend.table("lines"), to=self.visits, on="order_id")
        self.parts = hush.tables.linked(self.backend.table("parts"), to=self.lines, on="line_id")

    def insert(self, name: str, rows: Rows) -> None:
        kinds = TYPES[name]
        fill = f"INSERT INTO {name} SELECT {', '.join(f'unnest(?::{kind}[])' for kind in kinds.values())}"
        self.backend.con.execute(fill, [[row[column] for row in rows] for column in kinds])

    def fill(self, data: Database) -> None:
        for name, rows in data.items():
            self.backend.con.execute(f"DELETE FROM {name}")
            self.insert(name, rows)

    def compiled(self, relation: Any) -> str:
        """The SQL of a relation, compiled once."""
        node = relation.op()
        if node not in self.sql:
            self.sql[node] = sql_of(self.backend, relation)
        return self.sql[node]

    def rows(self, table: hush.tables.Table, data: Database) -> dict[Any, Counter[str]]:
        """The rows of a derived table, as a multiset for each person."""
        self.fill(data)
        names = tuple(table.relation.columns)  # with the key of a unit that is hidden
        found: dict[Any, Counter[str]] = {}
        for row in self.backend.con.execute(self.compiled(table.relation)).fetchall():
            unit = row[names.index(table.unit)]
            found.setdefault(unit, Counter())[repr(row)] += 1
        found.pop(None, None)
        return found

    def integers(self, query: hush.tables.Query, data: Database) -> dict[tuple[Any, ...], dict[str, int]]:
        """The integer aggregates of a query without listed keys: group key -> columns."""
        self.fill(data)
        if id(query) not in self.plans:
            self.plans[id(query)] = query, query.aggregates(salt=bytes(32))
        result = self.plans[id(query)][1]
        keys = len(result.keys)
        rows = self.backend.con.execute(self.compiled(result.plan)).fetchall()
        return {row[:keys]: dict(zip(result.columns, row[keys:], strict=True)) for row in rows}
