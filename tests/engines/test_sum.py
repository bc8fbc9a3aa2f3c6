"""Sums: a unit's clipped total, and clipped rows."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tables.compare import assert_exact

from hush import tables


def test_totals_of_units(engine, visits, rows):
    """The total of a unit in a group is clipped as an integer; NaN and null rows add nothing, infinities clip."""
    measures = {
        "wide": tables.sum("cost", low=-500, high=500),
        "above": tables.sum("cost", low=5, high=30.5),
        "below": tables.sum("cost", low=-40, high=-0.25),
        "fees": tables.sum("fee", low=0, high=20),
        "days": tables.sum("stay", low=0, high=10**9),
    }
    got = assert_exact(visits, rows, ["ward"], ["A", "é", "nowhere", None, "😀", "O'Hara"], 2, measures)
    assert got[("nowhere",)] == dict.fromkeys(measures, 0)
    assert len({tuple(columns.values()) for columns in got.values()}) > 3


def test_clipped_rows(engine, visits, rows):
    """With rows_per_unit each row is clipped, and an even sample of them kept."""
    measures = {f"s{r}": tables.sum("cost", low=-2.5, high=100, rows_per_unit=r) for r in (1, 2, 5)}
    assert_exact(visits, rows, ["ward"], "private", 3, measures)


def test_extreme_bounds(engine, visits, rows):
    measures = {
        f"s{i}": tables.sum("cost", low=-scale, high=3 * scale) for i, scale in enumerate((1e-200, 1e-7, 1e7, 1e200))
    }
    assert_exact(visits, rows, [], None, 1, measures)


def test_rows_of_both_signs_far_beyond_the_bound(engine):
    """Deposits and withdrawals up to four million times the bound: only the person's total is clipped."""
    people = 50
    rows = {"u": [], "x": []}
    for u in range(people):
        for x in (1e6 + u, -1e6, 3e7, -3e7, 0.25):
            rows["u"].append(u)
            rows["x"].append(x)
    table = engine.table(pa.table(rows), unit="u")
    wide, narrow = sum(u + 0.25 for u in range(people)), sum(min(u + 0.25, 10.0) for u in range(people))
    for bounds, expected in (((-100, 100), wide), ((0, 10), narrow)):
        query = table.aggregate(s=tables.sum("x", low=bounds[0], high=bounds[1]))
        exact = query.aggregates().to_arrow().column("s").to_numpy()
        assert query.measures[0].answer({"s": exact})[0] == pytest.approx(expected, abs=1e-3)
    huge = engine.table(pa.table({"u": [1, 1, 2, 2], "x": [1e300, -1e300, 1e300, 1e300]}), unit="u")
    query = huge.aggregate(s=tables.sum("x", low=-7, high=7))
    assert query.measures[0].answer({"s": query.aggregates().to_arrow().column("s").to_numpy()})[0] == 7.0
