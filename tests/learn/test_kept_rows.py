"""Rows that are kept between passes: in memory, in an encrypted file, or not at all, always with the same sums."""

from __future__ import annotations

import gc
import math
import tempfile

import numpy as np
import pytest

from hush.learn import whole_rows
from hush.learn.block_rows import MemoryRows
from hush.learn.kept_rows import KeptBlocks
from hush.learn.objective import LOGISTIC
from hush.learn.scaling import Scaling, Span
from hush.learn.whole_rows import WholeRows

NUMBERS = np.random.default_rng(8)
X, Y = NUMBERS.normal(size=(9000, 3)), NUMBERS.integers(0, 2, 9000).astype(float)
WEIGHTS = NUMBERS.uniform(size=9000)
MATRIX = np.rint(1000.0 * NUMBERS.normal(size=(4, 4)))
NONE = Scaling.public(Span(np.zeros(0), np.ones(0)))


class Shuffled(MemoryRows):
    """Another order of the rows in each pass, as an engine may give them."""

    ordered = False

    def weighted_blocks(self):
        order = NUMBERS.permutation(self.n_rows)
        weights = None if self.weights is None else self.weights[order]
        yield from MemoryRows(self.X[order], self.y[order], weights, self.size).weighted_blocks()


def gradients(source) -> list:
    """Three gradients, from rows that are read once and kept, or read again."""
    rows = WholeRows(source, Scaling.public(Span(np.full(3, -3.0), np.full(3, 3.0))), NONE, True, LOGISTIC)
    for _ in rows.parts():
        pass
    rows.measure(MATRIX, math.ldexp(1.0, 40))
    found = [rows.gradient(np.array([0.3, -1.0, 0.0, scale])).tolist() for scale in (0.1, 0.2, 0.1)]
    assert found[0] == found[2] != found[1]
    found.append(None if rows._kept is None else rows._kept.on_disk)
    rows.close()
    return found


def no_room(**options):
    raise OSError("no space left on device")


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_sums_are_the_same_wherever_rows_are_kept(weights, monkeypatch):
    *expected, on_disk = gradients(MemoryRows(X, Y, weights))
    assert on_disk is False
    assert gradients(Shuffled(X, Y, weights, 700)) == [*expected, False]
    for size in (0, 50_000):  # bytes: all blocks in a file, or all but some of them
        monkeypatch.setattr(whole_rows, "_KEPT", size)
        monkeypatch.setattr(whole_rows, "_KEPT_LIMITS", size)
        assert gradients(MemoryRows(X, Y, weights, 1000)) == [*expected, None]
        assert gradients(Shuffled(X, Y, weights, 1000)) == [*expected, True]
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    assert gradients(Shuffled(X, Y, weights, 1000)) == [*expected, None]


def test_the_file_holds_no_row_in_the_clear_and_has_no_name():
    kept, block = KeptBlocks(in_memory=0), np.arange(1, 4000, dtype=np.int16)
    for _ in range(3):
        kept.append(block)
    assert kept.on_disk and all((found == block).all() for (found,) in kept) and len(list(kept)) == 3
    kept.append(block[:5])  # after reading
    assert [len(found) for (found,) in kept] == [3999, 3999, 3999, 5]
    kept._file.seek(0)
    raw = kept._file.read()
    assert block.tobytes()[:16] not in raw and len({raw[i : i + 16] for i in range(0, len(raw), 16)}) == len(raw) // 16
    assert not isinstance(kept._file.name, str)
    kept.close()
    assert not list(kept)


def test_a_full_disk_is_noticed_and_nothing_is_kept(monkeypatch):
    kept = KeptBlocks(in_memory=100)
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    for _ in range(3):
        kept.append(np.zeros(10))
    assert kept.lost and not list(kept)


def test_a_fit_that_ends_leaves_no_open_file():
    """The suite turns a warning about an open file into an error."""
    kept = KeptBlocks(in_memory=0)
    kept.append(np.arange(4000))
    file = kept._file
    assert file is not None and not file.closed
    del kept
    gc.collect()
    assert file.closed
