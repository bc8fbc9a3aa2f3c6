"""Synthetic rows of the Adult data at epsilon 1 and delta 1e-9, beside the released tables that they are made from.

    HUSH_DATA=... .venv/bin/python bench/synthetic.py [rows.npy ...]
    HUSH_DATA=... .venv/bin/python bench/synthetic.py --health        another table, on which nothing was tuned

The error of a table is the sum over its cells of |count/rows - true count/true rows|; printed is the mean over all
tables of up to 100,000 cells, for one, two and three attributes. Each file has rows of another program, made from the
same records, to be measured in the same way: an array of whole numbers with the columns of `adult.NAMES`.
"""

from __future__ import annotations

import math
import sys
import time
from itertools import combinations

import adult
import health
import numpy as np

from hush.workload import Marginals

MOST_CELLS = 100_000
FILES = [name for name in sys.argv[1:] if name != "--health"]
SOURCE = health if "--health" in sys.argv else adult
DOMAIN = SOURCE.DOMAIN
SIZES = tuple(DOMAIN.values())


def shares(rows, table):
    """The share of the rows in each cell."""
    code = np.zeros(len(rows), dtype=np.int64)
    for i in table:
        code = code * SIZES[i] + rows[:, i]
    return np.bincount(code, minlength=math.prod(SIZES[i] for i in table)) / max(len(rows), 1)


def tables(order):
    """The tables of so many attributes that are not too large."""
    each = combinations(range(len(SIZES)), order)
    return [table for table in each if math.prod(SIZES[i] for i in table) <= MOST_CELLS]


def of_rows(name, rows, truth):
    """Print the errors of rows."""
    found = [np.mean([np.abs(shares(rows, t) - shares(truth, t)).sum() for t in tables(k)]) for k in (1, 2, 3)]
    print(f"{name:46} " + "  ".join(f"{k}-way {error:.4f}" for k, error in zip((1, 2, 3), found, strict=True)))


def of_release(orders, weights, truth):
    """Release tables, print their errors, synthesise rows, and print the errors of the rows."""
    work, begun = Marginals(DOMAIN, order=orders, weights=weights), time.process_time()
    answer = work.plan(1.0, 1e-9).answer(truth, ledger=None)
    released = time.process_time() - begun
    words = []
    for k in sorted(set(orders)):
        errors = []
        for t in tables(k):
            names, exact = [work.names[i] for i in t], shares(truth, t)
            raw = answer.estimate(*names).ravel() / len(truth)
            fitted = answer.table(*names, non_negative=True).ravel() / len(truth)
            errors.append([np.abs(raw - exact).sum(), np.abs(fitted - exact).sum()])
        raw, fitted = np.mean(errors, axis=0)
        words.append(f"{k}-way {raw:.4f} ({fitted:.4f} without negative counts)")
    print(f"released tables {orders}, weights {weights}, {released:.1f} s: {'; '.join(words)}")
    begun = time.process_time()
    rows = answer.synthesise(len(truth)).rows
    of_rows(f"  rows of it, {time.process_time() - begun:.1f} s", rows, truth)


if __name__ == "__main__":
    people = SOURCE.records()
    for asked in ((1, 2), (1, 2, 3)):
        for kind in ("cells", "tables"):
            of_release(asked, kind, people)
    for path in FILES:
        of_rows(path, np.load(path), people)
