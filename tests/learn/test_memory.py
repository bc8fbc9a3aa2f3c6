"""The memory of a fit beside its data: blocks, a few numbers for each row, and the integers that are kept.

tracemalloc counts the arrays of numpy and of Python exactly, so these limits are not random. It does not count the
memory of DuckDB, which `bench/learn_table.py` measures.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from hush import tables
from hush.learn import LogisticRegression, Ridge, whole_rows

WIDTH = 20
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "family": "gaussian"}
#: bytes for each row: the target as it is given, as floats, and while labels are compared; the largest slope
OF_A_ROW = 40
#: bytes: parts of 2^17 numbers, some of them at the same time
OF_PARTS = 6 * 8 * (1 << 17)
SIZES = (20_000, 60_000)


def peak(fit) -> int:
    """The largest memory in bytes while it fits. The first fit fills the caches of plans."""
    fit()
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def data(count: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(1).uniform(-1.0, 1.0, (count, WIDTH))
    return X, X[:, 0]


def of_arrays(logistic: bool, kind: type = np.float64, **changed) -> list[int]:
    """The largest memory for each of the sizes."""
    made = []
    for count in SIZES:
        X, y = data(count)
        X, labels = X.astype(kind), (y > 0.0).astype(int)
        public = BUDGET | {"bounds": (-1, 1)} | changed
        model = LogisticRegression(**public) if logistic else Ridge(**public, target_bounds=(-1, 1))
        made.append(peak(lambda model=model, X=X, y=labels if logistic else y: model.fit(X, y)))
    return made


def growth(peaks: list[int]) -> float:
    """Bytes for each further row."""
    return (peaks[1] - peaks[0]) / (SIZES[1] - SIZES[0])


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("logistic", [False, True])
def test_an_array_of_floats_is_not_copied(logistic, kept, monkeypatch):
    """Beside a few numbers for each row there are parts and, below the limit, the integers of 16 bits. A copy of the
    array would need 160 bytes for each row.
    """
    monkeypatch.setattr(whole_rows, "_KEPT", 1 << 28 if kept else 0)
    found = of_arrays(logistic, solver="whitened")
    integers = 2 * (WIDTH + 1) + 4 if kept else 0
    assert growth(found) < OF_A_ROW + integers < 8 * WIDTH
    assert found[1] < OF_PARTS + SIZES[1] * (OF_A_ROW + integers)


@pytest.mark.filterwarnings("ignore:the declared bounds of")  # most of the integers are 0
@pytest.mark.parametrize("changed", [{"kind": np.float32}, {"kind": np.int64}, {"solver": "cd"}, {"solver": "gd"}])
def test_what_is_copied_once(changed):
    """Arrays of other types become an array of floats, and descents hold the scaled columns and seven numbers a row."""
    found = of_arrays(False, **{"solver": "statistics", "passes": 1 if "solver" in changed else None} | changed)
    assert 8 * WIDTH <= growth(found) < 8 * (WIDTH + 8)


@pytest.mark.parametrize("logistic", [False, True])
def test_a_table_needs_blocks_only(logistic, monkeypatch):
    """Beyond the limit the integers are in a file, so that more rows need no more memory."""
    monkeypatch.setattr(whole_rows, "_KEPT", 1 << 18)
    names, made = [f"x{place}" for place in range(4)], []
    for count in (100_000, 160_000):
        frame = pd.DataFrame(np.random.default_rng(1).uniform(-1.0, 1.0, (count, 4)), columns=names)
        frame["y"] = (frame.x0 > 0.0).astype(int) if logistic else frame.x0
        table, public = tables.table(frame, unit=tables.each_row), BUDGET | {"bounds": dict.fromkeys(names, (-1, 1))}
        model = LogisticRegression(**public) if logistic else Ridge(**public, target_bounds=(-1, 1))
        made.append(peak(lambda model=model, table=table: model.fit(table, "y")))
    assert made[1] - made[0] < 6 * 60_000  # the largest slopes, of 4 bytes, may be kept in memory
    assert made[1] < 4 * 8 * 5 * (1 << 16) + OF_PARTS
