"""Units of several columns and of each row give the same integers on every engine."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import hush.tables
from hush.tables import count, each_row, histogram, mean, variance
from hush.tables import sum as total

SALT = bytes(range(32))
ROWS = pa.table(
    {
        "who": ["a", "a", "a", "a:", None, "é", "é", "b"] * 3,
        "day": [datetime.date(2024, 1, 1 + i % 3) if i % 7 else None for i in range(24)],
        "g": [["x", "y", "z"][i % 3] for i in range(24)],
        "v": [None if i % 5 == 0 else float(i) for i in range(24)],
    }
)
MEASURES = {
    "n": count(),
    "s": total("v", low=-3, high=5),
    "m": mean("v", low=0, high=20),
    "v2": variance("v", low=0, high=20),
    "h": histogram("v", edges=[0, 5, 30]),
}


@pytest.mark.parametrize("unit", [("who", "day"), each_row], ids=["two columns", "each row"])
def test_the_same_integers_on_every_engine(engine: Any, unit: Any) -> None:
    found = []
    for opened in (engine.table(ROWS, unit=unit), hush.tables.table(ROWS, unit=unit)):
        query = opened.group_by("g", keys=["x", "y"], groups_per_unit=1).aggregate(**MEASURES)
        found.append(query.aggregates(salt=SALT, hash="portable").to_arrow().to_pylist())
    assert found[0] == found[1] and sum(row["n"] for row in found[0]) > 0
