"""All tables of two attributes of the Adult domain, over many releases: errors, coverage and agreement of the tables;
and the time to plan all tables of three of 100 attributes.

    .venv/bin/python bench/workload.py [runs]

The records are made up: errors of the noise do not depend on them.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from hush.workload import Marginals

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)  # of the benchmark of ResidualPlanner


def adult(runs: int, order: int) -> None:
    """Print the root mean squared error of a cell, the coverage of intervals, and how many tables disagree."""
    work = Marginals({f"a{i}": size for i, size in enumerate(SIZES)}, order=order)
    plan = work.plan(1.0, 1e-6)
    records = np.random.default_rng(1).integers(0, SIZES, (48_842, len(SIZES)))
    counts = work.counted(records).prepared(work.asked)
    squares = cells = inside = apart = 0.0
    for _ in range(runs):
        answer = plan.answer(counts, ledger=None)
        for table in work.asked:
            names = [work.names[i] for i in table]
            exact, found = counts.table(table), answer.table(*names)
            low, high = answer.interval(*names)
            squares += float(((found - exact) ** 2).sum())
            inside += float(((low <= exact) & (exact <= high)).sum())
            cells += exact.size
            apart += any(
                not np.array_equal(found.sum(axis=axis), answer.table(*(n for n in names if n != name)))
                for axis, name in enumerate(names)
            )
    alone = np.sqrt(len(work.asked)) * 4.224678889
    print(f"order {order}, {runs} releases: root mean squared error {np.sqrt(squares / cells):.3f}")
    print(f"  planned {plan.rmse:.3f}, noise on each table alone {alone:.3f}")
    print(f"  intervals that contain the count: {100.0 * inside / cells:.2f} %; tables that disagree: {apart:.0f}")


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
