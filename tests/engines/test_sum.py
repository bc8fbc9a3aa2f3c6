"""Sums: a unit's clipped total, and clipped rows."""

from __future__ import annotations

from tables.compare import assert_exact

from hush.tables import sum_


def test_totals_of_units(engine, visits, rows):
    """The total of a unit in a group is clipped as an integer; NaN and null rows add nothing, infinities clip."""
    measures = {
        "wide": sum_("cost", low=-500, high=500),
        "above": sum_("cost", low=5, high=30.5),
        "below": sum_("cost", low=-40, high=-0.25),
        "fees": sum_("fee", low=0, high=20),
        "days": sum_("stay", low=0, high=10**9),
    }
    got = assert_exact(visits, rows, ["ward"], ["A", "é", "nowhere", None, "😀", "O'Hara"], 2, measures)
    assert got[("nowhere",)] == dict.fromkeys(measures, 0)
    assert len({tuple(columns.values()) for columns in got.values()}) > 3


def test_clipped_rows(engine, visits, rows):
    """With rows_per_unit each row is clipped, and an even sample of them kept."""
    measures = {f"s{r}": sum_("cost", low=-2.5, high=100, rows_per_unit=r) for r in (1, 2, 5)}
    assert_exact(visits, rows, ["ward"], "private", 3, measures)


def test_extreme_bounds(engine, visits, rows):
    measures = {f"s{i}": sum_("cost", low=-scale, high=3 * scale) for i, scale in enumerate((1e-200, 1e-7, 1e7, 1e200))}
    assert_exact(visits, rows, [], None, 1, measures)
