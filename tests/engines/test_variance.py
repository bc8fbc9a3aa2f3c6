"""Variances: sums, sums of squares and counts, all integers."""

from __future__ import annotations

from tables.compare import assert_exact

from hush.tables import variance


def test_variances(engine, visits, rows):
    measures = {
        "one": variance("cost", low=0, high=500),
        "four": variance("cost", low=-20.5, high=35.25, rows_per_unit=4),
        "whole": variance("stay", low=0, high=30, rows_per_unit=2),
        "small": variance("score", low=-1e-5, high=3e-5, rows_per_unit=2),
    }
    assert_exact(visits, rows, ["urgent"], "private", 1, measures)
