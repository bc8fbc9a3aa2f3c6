"""Quantiles by exact selection: rank errors over draws, and the time of the passes beside the engine's own quantile.

    .venv/bin/python bench/quantiles.py [rows]

Rank errors are means over 2,000 draws of the law that a plan charges, on 20,000 incomes between 0 and 1,000,000. Times
are of one process: the counts that choices need, divided by the time of `quantile_disc` of the same column in DuckDB.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from hush import tables
from hush.privacy.by_selection import least_selection
from hush.sampling.choice import chosen
from hush.sampling.entropy import SecureEntropy
from hush.tables.expression import ibis
from hush.tables.selection.field import Counts
from hush.tables.selection.grid import ValueGrid
from hush.tables.selection.law import Shape, levels_of, quantile_cells
from hush.tables.selection.passes import counts_by_group

DRAWS, ROWS = 2_000, 10_000_000


def errors(counts: Counts, levels: list[Fraction], choices: int, epsilon: float, delta: float, draws: int) -> float:
    """The mean rank error of some levels, if so many choices share the budget."""
    bits, shape = SecureEntropy().begin(), Shape(1.0 / least_selection(choices, epsilon, delta, one_sided=False).scale)
    ranks, total = np.concatenate([[0], counts.ends]), 0.0
    for _ in range(draws):
        cells = quantile_cells(counts, levels, shape, lambda r, m: chosen(r, Fraction(shape.rate) / m, bits), bits)
        for q, cell in zip(levels, cells, strict=True):
            below, upto = (int(ranks[np.searchsorted(counts.firsts, cell, side=side)]) for side in ("left", "right"))
            total += max(0.0, -min(float(q * counts.total - below), float(upto - q * counts.total)))
    return total / draws / len(levels)


def rank_errors() -> None:
    """Medians with and without an interval, and several levels."""
    income = np.minimum(np.exp(np.random.default_rng(5).normal(10.0, 0.8, 20_000)), 1e6).astype(np.int64)
    half, nine = [Fraction(1, 2)], [Fraction(i, 10) for i in range(1, 10)]
    print("| question | grid | epsilon | delta | mean rank error |\n|---|---|---|---|---|")
    for high in (10**6, 10**18):
        counts = Counts.of_cells(high + 1, income)
        for epsilon in (1.0, 0.1):
            print(f"| median | {high:.0e} | {epsilon:g} | 0 | {errors(counts, half, 1, epsilon, 0.0, DRAWS):.3g} |")
        print(f"| median with its interval | {high:.0e} | 1 | 0 | {errors(counts, half, 3, 1.0, 0.0, DRAWS):.3g} |")
    counts = Counts.of_cells(10**6 + 1, np.arange(1, 20_001) ** 2 // 400)
    for delta in (0.0, 1e-6):
        found = errors(counts, nine, levels_of(9), 1.0, delta, DRAWS // 20)
        print(f"| nine deciles of quad | 1e+06 | 1 | {delta:g} | {found:.3g} |")


def seconds(run: Any) -> float:
    """The least of three runs."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def passes(rows: int) -> None:
    """The time of the passes for a median of a column of floats."""
    values = pa.table({"x": np.minimum(np.exp(np.random.default_rng(5).normal(10.0, 0.8, rows)), 1e6)})
    connection = duckdb.connect()
    connection.register("given", values)
    connection.execute("CREATE TABLE x AS SELECT * FROM given")
    backend = ibis().duckdb.from_connection(connection)
    people = tables.table(backend.table("x"), unit=tables.each_row)
    grid, q = ValueGrid.of("x", people.relation["x"].type(), 0.0, 1e6, None), Fraction(1, 2)
    x = people.relation["x"]
    cells = people.relation.select(g=ibis().literal(0, type="int64"), w=grid.cell(x), x=x)
    cells = cells.filter(cells["w"].notnull())
    plain = seconds(lambda: connection.execute("SELECT quantile_disc(x, 0.5) FROM x").fetchall())
    print("\n| rows | cells | epsilon | seconds / quantile_disc |\n|---|---|---|---|")
    for epsilon in (1.0, 0.1):
        reach = Shape(epsilon / 2.0).reach(q, grid.size)

        def near(total: int, reach: float = reach) -> list[tuple[float, float]]:
            return [(float(q * total) - reach, float(q * total) + reach)]

        own = seconds(lambda near=near: counts_by_group(people.source, cells, 1, grid.size, near, grid.around))  # type: ignore[misc]
        print(f"| {rows:,} | {grid.size:.2g} | {epsilon:g} | {own / plain:.2f} |")


if __name__ == "__main__":
    rank_errors()
    passes(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
