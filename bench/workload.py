"""Contingency tables of the Adult data over many releases: errors, coverage and agreement of the tables.

Beside them stands noise on each table alone, in the same run; and the time to plan all tables of three of 100
attributes.

    HUSH_DATA=... .venv/bin/python bench/workload.py [releases]

One and two attributes have all releases. Three attributes have 20.9 million cells, so one release in 200 is enough.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from adult import DOMAIN, records

import hush
from hush.workload import Marginals

SIGMA = 4.224678889326838  # Gaussian noise for a move of length 1 at (1, 1e-6)


def alone(tables: int, cells: int, runs: int) -> float:
    """The root mean squared error of noise on each table alone, measured."""
    facts = hush.Sensitivity(l2=math.sqrt(tables), dimension=cells)
    noise = hush.calibrate(1.0, 1e-6, facts, family="gaussian").noise
    return math.sqrt(np.mean([np.mean(hush.draw(noise, cells, 1.0).astype(np.float64) ** 2) for _ in range(runs)]))


def adult(runs: int, order: int) -> None:
    """Print the root mean squared error of a cell, the coverage of intervals, and how many tables disagree."""
    work, begun = Marginals(DOMAIN, order=order), time.process_time()
    plan = work.plan(1.0, 1e-6)
    counts = work.counted(records()).prepared(work.asked)
    exact = {table: counts.table(table) for table in work.asked}
    squares = cells = inside = apart = 0.0
    for _ in range(runs):
        answer = plan.answer(counts, ledger=None)
        for table, true in exact.items():
            names = [work.names[i] for i in table]
            found, (low, high) = answer.table(*names), answer.interval(*names)
            squares += float(((found - true) ** 2).sum())
            inside += float(((low <= true) & (true <= high)).sum())
            cells += true.size
            apart += any(
                not np.array_equal(found.sum(axis=axis), answer.table(*(n for n in names if n != name)))
                for axis, name in enumerate(names)
            )
    measured, took = math.sqrt(squares / cells), time.process_time() - begun
    separate = alone(len(work.asked), work.questions, max(1, runs // 100))
    print(f"order {order}, {runs} releases, {took:.0f} s: root mean squared error {measured:.3f}", flush=True)
    print(f"  in units of one number: {measured / SIGMA:.4f}, planned {plan.rmse / SIGMA:.4f} ({plan.rmse:.3f})")
    print(f"  noise on each table alone, measured: {separate:.3f}")
    print(f"  intervals that contain the count: {100.0 * inside / cells:.3f} %; tables that disagree: {apart:.0f}")


def hundred() -> None:
    """Print the processor time that a plan takes for 161,700 tables of 1,000 cells."""
    start = time.process_time()
    plan = Marginals({f"a{i}": 10 for i in range(100)}, order=3).plan(1.0, 1e-6)
    took = time.process_time() - start
    print(f"100 attributes of 10 values, order 3: root mean squared error {plan.rmse:.2f}, planned in {took:.1f} s")


if __name__ == "__main__":
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    hundred()
    adult(releases, 1)
    adult(releases, 2)
    adult(max(1, releases // 200), 3)
