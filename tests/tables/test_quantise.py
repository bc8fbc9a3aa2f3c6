"""The grid: public, fine enough, exact for whole numbers and short decimals, and never out of bounds."""

from __future__ import annotations

import datetime
import decimal
import math

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hush.errors import InvalidParameter
from hush.tables.quantise import Grid, Limits, quantised

BACKEND = ibis.duckdb.connect()
sizes = st.floats(1e-250, 1e250, allow_nan=False)


@given(size=sizes, steps=st.integers(1, 2**30))
def test_the_finest_step_that_fits(size, steps):
    """At most `steps` steps, and the next finer grid (at most 2.5 times finer) would have more."""
    grid = Grid.over(size, steps)
    count = size / grid.step
    assert count <= steps * (1 + 1e-12)
    assert count * 2.5 > steps * (1 - 1e-12)


@pytest.mark.parametrize("high", [1, 7, 30, 120, 500, 1000, 65_535, 1_000_000])
def test_whole_numbers_are_exact(high):
    """Up to a million, a whole number is a whole number of steps."""
    grid = Grid.over(high, 2**20 - 1)
    for x in range(0, high + 1, max(1, high // 500)):
        assert grid.value(grid.index(x)) == x


@pytest.mark.parametrize(("high", "digits"), [(1, 5), (50, 4), (500, 3), (10_000, 2)])
def test_short_decimals_are_exact(high, digits):
    """Prices in cents and the like: reading a step back gives the same float."""
    grid = Grid.over(high, 2**20 - 1)
    for i in range(0, high * 10**digits, max(1, high * 10**digits // 2000)):
        x = i / 10**digits
        assert grid.value(grid.index(x)) == pytest.approx(x, abs=1e-12)


def test_sums_fit_64_bits():
    """Totals in steps, the rest in fine steps, one unit's rows in fine steps, a row's place: all below 2^63, for
    every public limit.
    """
    for rows in (1, 1000, 10**6, 2**31, 2**40, 2**40 + 1, 2**50 - 1, 2**50):
        limits = Limits(rows)
        assert limits.rows * limits.steps <= 2**60
        assert (limits.rows << limits.fine) + (1 << limits.fine) < 2**63
        assert (
            limits.rows_per_unit * (limits.steps << limits.fine) <= 2**62
            and limits.rows_per_unit * limits.rows <= 2**62
        )
        assert limits.steps >= 1000 and limits.rows_per_unit >= 1000
    for rows in (0, -1, 2**50 + 1, 1.5, "many"):
        with pytest.raises(InvalidParameter):
            Limits(rows)  # type: ignore[arg-type]


def in_engine(values: pa.Array, grid: Grid, low: int, high: int) -> list[int | None]:
    """The column quantised by DuckDB."""
    table = ibis.memtable(pa.table({"x": values}))
    return BACKEND.to_pyarrow(table.select(q=quantised(table.x, grid, low, high)))["q"].to_pylist()


@given(
    xs=st.lists(st.floats(allow_nan=False), min_size=1, max_size=50),
    size=st.floats(1e-9, 1e9),
    low=st.integers(-(2**22), 2**22 - 1),
    width=st.integers(1, 2**20),
)
def test_never_out_of_bounds(xs, size, low, width):
    """Any float, of any size: the engine's integer is the reference's, and inside the bounds."""
    grid = Grid.over(size, 2**20)
    for x, q in zip(xs, in_engine(pa.array(xs, pa.float64()), grid, low, low + width), strict=True):
        y = min(max(grid.scaled(x), low), low + width)
        assert q == math.floor(y + 0.5)
        assert low <= q <= low + width


def test_no_value_and_infinities():
    grid = Grid.over(10.0, 100)
    assert grid.step == 0.1
    xs = [None, math.nan, math.inf, -math.inf, 1e308, -1e308, 0.05, 0.04999, -0.05, -0.0, 9.96]
    assert in_engine(pa.array(xs, pa.float64()), grid, -30, 100) == [None, None, 100, -30, 100, -30, 1, 0, 0, 0, 100]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([None, 1, -(2**63), 2**63 - 1], pa.int64()), [None, 10, -1000, 1000]),
        (pa.array([None, 5, 255], pa.uint8()), [None, 50, 1000]),
        (pa.array([None, True, False]), [None, 10, 0]),
        (
            pa.array([None, decimal.Decimal("1.25"), decimal.Decimal("-9999.99")], pa.decimal128(6, 2)),
            [None, 13, -1000],
        ),
        (pa.array(np.array([1.5, np.nan, np.inf], np.float32)), [15, None, 1000]),
        (
            pa.array([None, datetime.date(1970, 1, 3), datetime.date(1969, 12, 30), datetime.date(1500, 1, 1)]),
            [None, 20, -20, -1000],
        ),
    ],
    ids=["int64", "uint8", "bool", "decimal", "float32", "date"],
)
def test_kinds_of_columns(column, expected):
    """Whole numbers, truth values, decimals, narrow floats and dates all become steps."""
    assert in_engine(column, Grid.over(100.0, 1000), -1000, 1000) == expected
