"""Histograms by edges and by categories, and quantiles from fine ones."""

from __future__ import annotations

import datetime
import math

from grid_quantile import grid_quantile
from tables.compare import assert_exact

from hush.tables import histogram, quantile


def test_edges(engine, visits, rows):
    """Half-open bins, the last one closed; rows outside are left out, unless an outer edge is infinite."""
    measures = {
        "stay": histogram("stay", edges=[-5, 0, 1, 14, 30]),
        "many": histogram("cost", edges=[-3.25, 0, 0.1, 19.99, 49.5, 250.125], rows_per_unit=4),
        "open": histogram("cost", edges=[-math.inf, 0.0, math.inf]),
        "one": histogram("score", edges=[0, 1]),
        "day": histogram(
            "day", edges=[datetime.date(1968, 2, 29), datetime.date(1969, 1, 1), datetime.date(1971, 1, 1)]
        ),
    }
    assert_exact(visits, rows, ["ward"], ["A", "é", "nowhere", None], 2, measures)


def test_categories(engine, visits, rows):
    measures = {
        "wards": histogram("ward", categories=["é", "e\u0301", "A", "O'Hara", "😀", "missing"]),
        "codes": histogram("code", categories=[-(2**62), 0, 5]),
        "urgent": histogram("urgent", categories=[True, False], rows_per_unit=2),
        "days": histogram("day", categories=[datetime.date(1968, 2, 29)]),
    }
    assert_exact(visits, rows, [], None, 1, measures)


def test_quantiles(engine, visits, rows):
    """Values beyond the bounds count at the ends; the grid holds whole numbers where it can."""
    measures = {
        "stay": grid_quantile("stay", 0.5, low=0, high=30, bins=64),
        "cost": grid_quantile("cost", 0.9, low=-10.5, high=333, bins=20, rows_per_unit=3),
        "day": grid_quantile("day", 0.1, low=datetime.date(1968, 1, 1), high=datetime.date(1971, 1, 1), bins=16),
        "quartiles": grid_quantile("stay", [0.25, 0.5, 0.75], low=0, high=30, bins=20, rows_per_unit=2),
        "between": quantile("stay", [0.5], edges=[-5, 0, 1, 14, 30]),
    }
    assert_exact(visits, rows, ["urgent"], "private", 2, measures)
