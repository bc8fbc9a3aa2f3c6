"""Counts by cell from passes over a table: equal to counting all rows, on every engine, and no finer than needed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

import hush  # noqa: E402
from hush.errors import HushError  # noqa: E402
from hush.tables import each_row, table  # noqa: E402
from hush.tables.expression import ibis  # noqa: E402
from hush.tables.selection.field import Counts, Field  # noqa: E402
from hush.tables.selection.grid import ValueGrid  # noqa: E402
from hush.tables.selection.law import Shape, Stretch, runs_of  # noqa: E402
from hush.tables.selection.passes import counts_by_group  # noqa: E402

SHAPE = Shape(0.5)


def near(q: Fraction, size: int) -> Any:
    reach = SHAPE.reach(q, size)
    return lambda total: [(float(q * total) - reach, float(q * total) + reach)]


def counted(cells: list[np.ndarray], size: int, q: Fraction) -> list[Counts]:
    """The counts of groups of cells, by passes of DuckDB."""
    columns = {"g": np.repeat(np.arange(len(cells)), [c.size for c in cells]), "w": np.concatenate(cells)}
    rows = table(pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()}), unit=each_row)
    relation = rows.relation.select("g", "w")
    return counts_by_group(rows.source, relation, len(cells), size, near(q, size))


@pytest.mark.parametrize("size", [128, 2**31, 4 * 10**18])
@pytest.mark.parametrize("n", [0, 1, 30, 5000])
@pytest.mark.parametrize("q", [Fraction(1, 100), Fraction(1, 2), Fraction(9, 10)])
def test_runs_near_a_quantile_are_those_of_all_rows(size: int, n: int, q: Fraction) -> None:
    """Two groups, one of them of other values; cells outside of the window have a depth below -W + 1."""
    random = np.random.default_rng(n)
    smooth = (random.beta(2.0, 50.0, n) * (size - 1)).astype(np.int64)
    tied = np.minimum(random.integers(0, 5, n) * (size // 5), size - 1)
    for counts, cells in zip(counted([smooth, tied], size, q), (smooth, tied), strict=True):
        whole, reach = Counts.of_cells(size, cells), SHAPE.reach(q, size)
        assert counts.total == n
        stretch = Stretch(0, size - 1)
        found = runs_of(Field(counts), q * n, reach, stretch)
        exact = runs_of(Field(whole), q * n, math.inf, stretch)
        known = dict(zip(exact.firsts, zip(exact.widths, exact.scores, strict=True), strict=True))
        listed = dict(zip(found.firsts, zip(found.widths, found.scores, strict=True), strict=True))
        floor = -(reach - 1.0) * (q * n).denominator
        missing = [first for first, (_, score) in known.items() if score >= floor and listed.get(first) != known[first]]
        assert missing == []
        assert sum(found.widths) + sum(width for _, (_, width, _, _) in found.rest) == size
        ranks = {first: score for first, (_, score) in known.items()}
        for bound, (first, width, _, _) in found.rest:  # what is not listed is not deeper than its bound
            assert all(score <= bound for cell, score in ranks.items() if first <= cell < first + width)


def test_more_runs_are_those_of_all_rows() -> None:
    """Where the uniform number may fall into the rest, all cells are counted; the first runs keep their places."""
    cells = np.sort((np.random.default_rng(1).beta(2.0, 5.0, 3000) * 2**40).astype(np.int64))
    (counts,) = counted([cells], 2**40, Fraction(1, 2))
    listed = runs_of(Field(counts), Fraction(1500), 20.0, Stretch(0, 2**40 - 1))
    first = listed.runs()
    assert first.rest and first.more is not None
    more = first.more()
    assert not more.rest and list(more.scores[: len(first.scores)]) == list(first.scores)
    exact = runs_of(Field(Counts.of_cells(2**40, cells)), Fraction(1500), math.inf, Stretch(0, 2**40 - 1))
    cells_by_score = [Counter(), Counter()]  # a gap may be listed in two pieces
    for counter, found in zip(cells_by_score, (listed, exact), strict=True):
        for width, score in zip(found.widths, found.scores, strict=True):
            counter[score] += width
    assert cells_by_score[0] == cells_by_score[1]


def test_a_table_that_changes_between_passes_is_noticed() -> None:
    counts = Counts(2**20, np.array([0, 2**19]), np.array([2**19, 2**19]), np.array([5, 7]))
    with pytest.raises(HushError, match="the table changed"):
        counts.refined(np.array([3]), np.array([1]), np.array([4]), 0, 2**19 - 1)


# -- the grid ------------------------------------------------------------------------------------------------


def cells_of(values: Any, low: float, high: float, step: float | None = None) -> tuple[ValueGrid, list[int | None]]:
    rows = table(pa.table({"x": values}), unit=each_row)
    grid = ValueGrid.of("x", rows.relation["x"].type(), low, high, step)
    found = rows.relation.select(w=grid.cell(rows.relation["x"])).to_pyarrow()
    return grid, found.column("w").to_pylist()


def test_whole_numbers_and_dates_have_a_cell_each() -> None:
    grid, cells = cells_of(pa.array([None, -5, 0, 7, 120, 999], pa.int64()), 0, 120)
    assert (grid.size, cells) == (121, [None, 0, 0, 7, 120, 120])
    assert [grid.value(cell) for cell in (-1, 0, 7, 120, 121)] == [0.0, 0.0, 7.0, 120.0, 120.0] and grid.end(7) == 7.0
    days = np.array(["1969-12-30", "1970-01-02", "NaT"], dtype="datetime64[D]")
    grid, cells = cells_of(pa.array(days), -1.0, 10.0)
    assert (grid.size, cells) == (12, [0, 2, None])
    huge = pa.array([0, 2**63, 2**64 - 1], pa.uint64())
    assert cells_of(huge, 0, 100)[1] == [0, 100, 100]
    assert cells_of(pa.array([True, False, None]), 0, 1)[1] == [1, 0, None]


def test_floats_are_rounded_down_to_a_power_of_two() -> None:
    """Every value is in the cell that holds it, also where floor((x - low)/step) would be wrong."""
    values = np.concatenate([np.random.default_rng(3).normal(0.1, 3.0, 2000), [np.nan, np.inf, -np.inf, -0.0, 0.1]])
    grid, cells = cells_of(pa.array(values), 0.1, 7.3)
    assert math.log2(grid.step) == round(math.log2(grid.step)) and (7.3 - 0.1) / 2**30 / 2 < grid.step <= 7.2 / 2**30
    for value, cell in zip(values, cells, strict=True):
        if math.isnan(value):
            assert cell is None
            continue
        inside = min(max(value, 0.1), 7.3)
        exact = (cell + grid.first) * Fraction(grid.step)
        assert exact <= Fraction(inside) < exact + Fraction(grid.step)
        assert grid.value(cell) <= inside <= grid.end(cell)


@pytest.mark.parametrize(("low", "high"), [(0.1, 7.3), (-1e9, 1e9), (1e18, 1e18 + 1e5)])
def test_the_numbers_around_cells_hold_all_of_their_values(low: float, high: float) -> None:
    values = np.random.default_rng(4).uniform(low, high, 500)
    grid, cells = cells_of(pa.array(values), low, high)
    for value, cell in zip(values, cells, strict=True):
        for width in (0, 5):
            first, last = grid.around(cell, cell + width)
            assert first <= value <= last
            first, last = grid.around(cell - width, cell)
            assert first <= value <= last
    assert grid.around(0, grid.size - 1) == (-math.inf, math.inf)


def test_decimals_have_their_last_decimal() -> None:
    import decimal

    values = [decimal.Decimal(text) for text in ("0.00", "0.07", "1.10", "19.99", "99.99")] + [None]
    grid, cells = cells_of(pa.array(values, pa.decimal128(9, 2)), 0, 20)
    assert (grid.size, cells) == (2001, [0, 7, 110, 1999, 2000, None])
    assert [grid.value(cell) for cell in (7, 110, 1999)] == [0.07, 1.1, 19.990000000000002] or grid.exact
    assert cells_of(pa.array([0.0, 999.0, 1000.0, 2500.5]), 0.0, 10_000.0, step=1000.0)[1] == [0, 0, 1, 2]


def test_grids_that_are_refused() -> None:
    kind = ibis().dtype("int64")
    for low, high, message in ((0.2, 0.8, "no whole number"), (-(2.0**62), 2.0**62, "at most 2\\*\\*62 fit")):
        with pytest.raises(hush.InvalidParameter, match=message):
            ValueGrid.of("x", kind, low, high, None)
    with pytest.raises(hush.InvalidParameter, match="step"):
        ValueGrid.of("x", ibis().dtype("float64"), 0.0, 1.0, 1e-30)
