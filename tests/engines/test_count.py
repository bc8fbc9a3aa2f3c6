"""Counts of rows and of units."""

from __future__ import annotations

from tables.compare import assert_exact

from hush.tables import count, count_units

COUNTS = {"rows": count(), "three": count(rows_per_unit=3), "all": count(rows_per_unit=10_000), "units": count_units()}


def test_one_group(engine, visits, rows):
    """Without groups every row with a unit counts; rows with a null unit belong to nobody."""
    got = assert_exact(visits, rows, [], None, 1, COUNTS)
    owned = [row for row in rows if row["who"] is not None]
    assert len(owned) < len(rows)
    assert got[()]["all"] == len(owned)
    assert got[()]["units"] == got[()]["rows"] == len({row["who"] for row in owned})


def test_a_unit_in_thousands_of_groups(engine, visits, rows):
    """Unit 42 is in 3000 groups and counts in five of them."""
    got = assert_exact(visits, rows, ["code"], "private", 5, COUNTS)
    assert (
        sum(
            columns["units"]
            for key, columns in got.items()
            if key[0] not in {row["code"] for row in rows if row["who"] != 42}
        )
        <= 5
    )


def test_an_empty_table(engine, visits, rows):
    """No rows: no private group, and one row of zeros without groups."""
    nobody = visits.filter(visits["stay"] > 2**61)
    assert assert_exact(nobody, [], ["ward"], "private", 1, COUNTS) == {}
    assert assert_exact(nobody, [], [], None, 1, COUNTS) == {(): dict.fromkeys(COUNTS, 0)}
