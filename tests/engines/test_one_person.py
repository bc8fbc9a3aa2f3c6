"""On every engine: leaving out one person moves the exact integers by no more than the sensitivity states."""

from __future__ import annotations

import random

import pyarrow as pa
from tables.compare import SALT

from hush import tables
from hush.tables import count, count_units, histogram, mean

PEOPLE = 6


def rows() -> pa.Table:
    """Few people with many rows in many groups, and extreme values."""
    draw = random.Random(4)
    values = [None, float("nan"), float("inf"), -1e300, 0.0, 2.5, 7.0, 9.99, 1e300]
    return pa.table(
        {
            "u": [f"p{draw.randrange(PEOPLE)}" for _ in range(120)],
            "g": pa.array([draw.choice([None, "a", "A", "b", "é", ""]) for _ in range(120)], pa.string()),
            "x": pa.array([draw.choice(values) for _ in range(120)], pa.float64()),
        }
    )


def test_every_person_moves_the_table_within_its_bounds(engine):
    table = engine.table(rows(), unit="u")

    def exact(t):
        query = t.group_by("g", keys="private", groups_per_unit=2).aggregate(
            n=count(rows_per_unit=3),
            people=count_units(),
            s=tables.sum("x", low=-3, high=10),
            m=mean("x", low=0, high=10, rows_per_unit=2),
            h=histogram("x", edges=[0, 3, 8], rows_per_unit=2),
        )
        found = query.aggregates(salt=SALT).to_arrow().to_pylist()
        return query.sensitivity, {row.pop("g"): row for row in found}

    reach, whole = exact(table)
    zero = dict.fromkeys(reach.columns, 0)
    moved_at_all = 0
    for person in range(PEOPLE):
        _, less = exact(table.filter(table["u"] != f"p{person}"))
        moved = {key: row for key, row in whole.items() if row != less.get(key, zero)}
        assert set(less) <= set(whole) and 1 <= len(moved) <= 2, "a person is in at most two groups"
        for key, row in moved.items():
            for part in reach.parts:
                steps = [abs(row[name] - less.get(key, zero)[name]) for name in part.columns]
                assert max(steps) <= part.linf and sum(steps) <= part.l1, (person, key, part)
                moved_at_all += sum(steps) == part.l1
    assert moved_at_all > 0, "some bound is reached, so a smaller one would be found out"
