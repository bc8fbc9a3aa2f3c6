"""Public keys come back as listed, private ones sorted; null is a key like any other."""

from __future__ import annotations

import datetime

from tables.compare import SALT, assert_exact, found

from hush import tables
from hush.tables import count, count_units

MEASURES = {"n": count(rows_per_unit=2), "units": count_units(), "s": tables.sum("cost", low=0, high=100)}


def test_private_text_and_numbers(engine, visits, rows):
    """Two columns, unicode and nulls in both; text that looks alike stays apart."""
    got = assert_exact(visits, rows, ["ward", "floor"], "private", 50, MEASURES)
    assert {"é", "e\u0301", "A", "a", " A", "", None} <= {ward for ward, _ in got}


def test_private_dates(engine, visits, rows):
    assert_exact(visits, rows, ["day", "urgent"], "private", 2, MEASURES)


def test_public_combinations(engine, visits, rows):
    """All combinations of two columns, in the order listed; most have no rows."""
    days = [datetime.date(1968, 2, 29), None, datetime.date(2030, 1, 1)]
    keys = [(ward, day) for ward in ("😀", None, "B") for day in days]
    got = assert_exact(visits, rows, ["ward", "day"], keys, 2, MEASURES)
    assert list(got) == keys
    mapped = visits.group_by("ward", "day", keys={"day": days, "ward": ["😀", None, "B"]}, groups_per_unit=2)
    assert list(mapped.grouping.keys) == keys


def test_every_listed_group_may_count(engine, visits, rows):
    """With as many groups per unit as keys nothing is dropped, and nothing is ranked."""
    assert_exact(visits, rows, ["code"], [0, -1, 5, 2**40], 4, MEASURES)


def test_order_of_work_does_not_matter(engine, visits):
    """Ranking rows and ranking pairs keep the same groups."""
    query = visits.group_by("ward", keys="private", groups_per_unit=2).aggregate(**MEASURES)
    assert found(query, first="aggregate") == found(query)


def test_native_hash_keeps_the_bound(engine, visits, rows):
    """Another choice of groups, but as many: with one row per (unit, group), counts are of pairs."""
    query = visits.group_by("ward", keys="private", groups_per_unit=2).aggregate(units=count_units())
    pairs = {
        row["who"]: len({r["ward"] for r in rows if r["who"] == row["who"]}) for row in rows if row["who"] is not None
    }
    kept = sum(min(2, number) for number in pairs.values())
    assert sum(columns["units"] for columns in found(query, SALT, hash="native").values()) == kept
