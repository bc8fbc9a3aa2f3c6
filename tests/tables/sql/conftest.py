"""Tables and a policy for statements: visits of patients, orders of customers, one answer a row, and public wards."""

from __future__ import annotations

import datetime
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from hush.tables.engines.duckdb import relation_of
from hush.tables.policy import ColumnRule, Policy, TableRule

DAYS = datetime.date(2025, 1, 1), datetime.date(2025, 12, 31)


def visits(rows: int = 600) -> pa.Table:
    """Visits of patients, with nulls, texts that are no numbers, and values outside the declared bounds."""
    draw = np.random.default_rng(7)
    day = [DAYS[0] + datetime.timedelta(int(d)) for d in draw.integers(0, 365, rows)]
    notes = np.array(["12", "x", "3.5", "", None], dtype=object)
    return pa.table(
        {
            "patient_id": draw.integers(0, 200, rows),
            "ward": draw.choice(["surgery", "burns", "maternity", "closed"], rows),
            "region": draw.choice(["north", "south", "east"], rows),
            "age": pa.array(draw.integers(0, 105, rows), pa.int32()),
            "stay_days": pa.array(draw.integers(0, 40, rows), mask=draw.random(rows) < 0.1),
            "cost": draw.random(rows) * 2500.0 - 100.0,
            "day": pa.array(day, pa.date32()),
            "seen_at": pa.array(
                [
                    datetime.datetime(d.year, d.month, d.day, int(h))
                    for d, h in zip(day, draw.integers(0, 24, rows), strict=True)
                ]
            ),
            "urgent": draw.random(rows) < 0.3,
            "note": pa.array(draw.choice(notes, rows), pa.string()),
            "secret": draw.integers(0, 9, rows),
        }
    )


def orders(rows: int = 400) -> pa.Table:
    """Orders of customers."""
    draw = np.random.default_rng(11)
    return pa.table(
        {
            "customer": draw.choice([f"c{i}" for i in range(150)], rows),
            "item": draw.choice(["pencil", "pen", "paper", "scissors"], rows),
            "quantity": draw.integers(1, 60, rows),
            "price": draw.random(rows) * 50.0,
        }
    )


def labs(rows: int = 300) -> pa.Table:
    """Laboratory values of the patients, with a column `day` of their own."""
    draw = np.random.default_rng(13)
    return pa.table(
        {
            "patient_id": draw.integers(0, 250, rows),
            "kind": draw.choice(["blood", "urine"], rows),
            "value": draw.random(rows) * 60.0,
            "day": pa.array([DAYS[0] + datetime.timedelta(int(d)) for d in draw.integers(0, 365, rows)], pa.date32()),
        }
    )


@pytest.fixture(scope="session")
def policy() -> Policy:
    """What a curator declares about these tables. They are in one database, which is opened once for all statements."""
    database = ibis.duckdb.connect()

    def kept(name: str, rows: pa.Table) -> Any:
        database.con.register("given", rows)
        database.con.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        return relation_of(database, name)

    columns = {
        "ward": ColumnRule(values=("surgery", "burns", "maternity")),
        "region": ColumnRule(values="private"),
        "age": ColumnRule(0, 120),
        "stay_days": ColumnRule(0, 30),
        "cost": ColumnRule(0, 2000),
        "day": ColumnRule(*DAYS),
        "seen_at": ColumnRule(),
        "urgent": ColumnRule(),
        "note": ColumnRule(),
    }
    bought = {"item": ColumnRule(), "quantity": ColumnRule(0, 100), "price": ColumnRule()}
    measured = {"kind": ColumnRule(values=("blood", "urine")), "value": ColumnRule(0, 50), "day": ColumnRule(*DAYS)}
    survey = pa.table({"answer": pa.array([1, 2, 3, None, 5] * 20), "group": ["a", "b"] * 50})
    wards = pa.table({"ward": ["surgery", "burns", "maternity"], "floor": [1, 2, 2]})
    return Policy(
        {
            "visits": TableRule(
                kept("visits", visits()), unit="patient_id", groups_per_unit=2, rows_per_unit=3, columns=columns
            ),
            "orders": TableRule(
                kept("orders", orders()), unit="customer", groups_per_unit=4, rows_per_unit=5, columns=bought
            ),
            "survey": TableRule(
                kept("survey", survey),
                unit="row",
                columns={"answer": ColumnRule(0, 10), "group": ColumnRule(values=("a", "b"))},
            ),
            "labs": TableRule(
                kept("labs", labs()), unit="patient_id", groups_per_unit=3, rows_per_unit=2, columns=measured
            ),
            "wards": TableRule(kept("wards", wards), public=True),
        }
    )
