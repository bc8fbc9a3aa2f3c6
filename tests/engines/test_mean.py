"""Means: sums from the middle of the range, and counts."""

from __future__ import annotations

import datetime

from tables.compare import assert_exact

from hush.tables import mean


def test_means(engine, visits, rows):
    """Rows without a value count neither in the sum nor in the count; one sample serves both."""
    measures = {
        "one": mean("cost", low=0, high=500),
        "four": mean("cost", low=-20.5, high=35.25, rows_per_unit=4),
        "far": mean("cost", low=1e9, high=1e9 + 3),
        "coarse": mean("stay", low=-(2**60), high=2**60, rows_per_unit=2),
        "day": mean("day", low=datetime.date(1960, 1, 1), high=datetime.date(1970, 1, 1)),
        "share": mean("urgent", low=0, high=1, rows_per_unit=3),
    }
    assert_exact(visits, rows, ["floor"], [0, -3, 2**31 - 1, None], 2, measures)
