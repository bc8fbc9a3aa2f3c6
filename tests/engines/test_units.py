"""Units: text as well as numbers, and nobody's rows dropped."""

from __future__ import annotations

from tables.compare import assert_exact

from hush import tables
from hush.tables import count, count_units, mean

MEASURES = {
    "n": count(rows_per_unit=2),
    "units": count_units(),
    "s": tables.sum("cost", low=-9, high=9),
    "m": mean("stay", low=0, high=30),
}


def test_units_of_text(engine, named_visits, rows):
    assert_exact(named_visits, rows, ["ward"], "private", 2, MEASURES)
    assert_exact(named_visits, rows, ["ward"], ["A", "é", "日本", None, "B"], 2, MEASURES)


def test_filters_and_computed_columns(engine, visits, rows):
    """Filters and computed columns come before everything else, and see one row at a time."""
    kept = visits.filter(visits["stay"] >= 1, lambda t: t.ward.notnull()).mutate(
        twice=lambda t: t.cost * 2, ward=lambda t: t.ward.upper()
    )
    expected = [
        {**row, "twice": None if row["cost"] is None else row["cost"] * 2, "ward": row["ward"].upper()}
        for row in rows
        if row["stay"] is not None and row["stay"] >= 1 and row["ward"] is not None
    ]
    assert_exact(
        kept, expected, ["ward"], ["A", "É", "E\u0301", "a"], 2, {**MEASURES, "t": tables.sum("twice", low=0, high=700)}
    )
