"""Sums over rows as exact integers, through fast matrix products.

A float holds every integer up to 2^53. If all products of a sum are integers, and their absolute values add up to less
than 2^53, then every partial sum is exact in any order, with or without fused operations. So a matrix product of the
BLAS library gives the exact sum, and replacing one row changes it by the contributions of two rows and by nothing
else. The bounds are:

- an entry of a scaled row is an integer of at most 2^15 - 1 (`ENTRY`),
- the slope of a row is an integer of at most 2^21 (`SLOPE`),
- at most 2^12 rows (`MOST_ROWS`) are added in one matrix product: 2^15 2^21 2^12 = 2^48,
- the sums of these parts are added as integers of unlimited size (`ExactSum`).

A row with a weight v in [0, 1] has the slope trunc(v R) instead of R, so it is never longer than without the weight.

Margins are sums over columns. The released weights are rounded to integers so that these sums stay below 2^53 too. So
a margin depends on one row only, and not on the block in which that row is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.learn.objective import Objective
from hush.learn.row_source import Block, RowSource, blocks_of
from hush.learn.scaling import Scaling
from hush.numerics.rounding import TWO_ROUNDINGS, next_up

__all__ = [
    "ENTRY",
    "EXACT",
    "MOST_ROWS",
    "SLOPE",
    "SLOPE_BITS",
    "ExactSum",
    "Integers",
    "WholeRows",
    "chunks",
    "matrix_limit",
    "weighted_chunks",
]

Array = NDArray[np.float64]
#: a vector or matrix of Python integers
Integers = NDArray[np.object_]

EXACT = 2.0**53  # floats hold all integers up to this one
ENTRY = 2.0**15 - 1.0  # the largest entry of a scaled row; it fits into 16 bits
SLOPE = 2.0**21  # the largest slope of a row
SLOPE_BITS = 17  # a slope of 1 is the integer 2^17
MOST_ROWS = 1 << 12  # rows in one matrix product
_ENTRY_BITS = 13  # a value of one spread is at most the integer 2^13
_FURTHEST = 1 << 60
_CACHED = 1 << 16  # numbers of one part: they stay in the processor's cache
_KEPT = 1 << 28  # bytes: integer rows are kept between passes if they need at most this much memory


def weighted_chunks(source: RowSource) -> Iterator[Block]:
    """The rows of a source in parts that are small enough for exact sums and for the processor's cache."""
    size = min(max(_CACHED // (source.n_features + 2), 16), MOST_ROWS)
    for X, y, weights in blocks_of(source):
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            yield X[part], y[part], None if weights is None else weights[part]


def chunks(source: RowSource) -> Iterator[tuple[Array, Array]]:
    """The same parts without the weights."""
    for X, y, _ in weighted_chunks(source):
        yield X, y


class ExactSum:
    """The sum of any number of arrays of integers below 2^53, exact. A total beyond 2^60 is moved to that end: this
    never increases the distance of two totals.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._small, self._count = np.zeros(shape, dtype=np.int64), 0
        self._large: Integers = np.zeros(shape, dtype=object)

    def add(self, part: Array) -> None:
        """Add integers that are held as floats."""
        self._small += part.astype(np.int64)
        self._count += 1
        if self._count == 512:  # 2^9 terms below 2^53 are below 2^62
            self._flush()

    def _flush(self) -> None:
        self._large = self._large + self._small
        self._small[...], self._count = 0, 0

    @property
    def integers(self) -> Integers:
        """The exact total as Python integers."""
        self._flush()
        return self._large

    @property
    def total(self) -> NDArray[np.int64]:
        """The total, at most 2^60 in size."""
        return np.asarray(np.clip(self.integers, -_FURTHEST, _FURTHEST), dtype=np.int64)


def matrix_limit(columns: int) -> float:
    """The largest entry of an integer matrix whose products with a scaled row are exact."""
    return 2.0 ** min(math.floor(math.log2(EXACT / (2.0 * ENTRY * columns))), 26)


@dataclass
class WholeRows:
    """The rows of a source as integers V = round(2^a u), where u is the scaled row and the constant 1.

    `bits` is a >= 0. Entries beyond ENTRY are moved to it. `lengths` belongs to the matrix of `measure`. Small tables
    are kept as integers of 16 bits, a quarter of the data. Larger ones are read and scaled again in every pass. If
    their source may change the order of the rows, the lengths are computed again too.
    """

    source: RowSource
    own: Scaling
    of_target: Scaling
    constant: bool
    objective: Objective
    lengths: list[NDArray[np.float32]] = field(default_factory=list)
    matrix: Array | None = None
    _kept: list[tuple[NDArray[np.int16], Array, Array | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        low, high = ((end - self.own.centre) / self.own.spread for end in (self.own.low, self.own.high))
        reach = float(np.maximum(np.abs(low), np.abs(high)).max())
        # never negative: the constant 2^bits must be an integer too; values beyond ENTRY are limited to it
        self.bits = min(_ENTRY_BITS, math.floor(math.log2(ENTRY / min(max(reach, 1.0), ENTRY))))
        self._low, self._high = (np.clip(np.ldexp(end, self.bits), -ENTRY, ENTRY) for end in (low, high))
        self._factor = np.ldexp(1.0 / self.own.spread, self.bits)

    @property
    def width(self) -> int:
        """The number of weights: one for each feature, and one for the constant."""
        return self.source.n_features + self.constant

    def parts(self) -> Iterator[Block]:
        """Triples (V, target, weights). V is overwritten by the next one."""
        if not self._kept:
            yield from self._read()
            return
        room = np.empty((max(len(target) for _, target, _ in self._kept), self.width))
        for small, target, weights in self._kept:
            whole = room[: len(target)]
            np.copyto(whole, small)
            yield whole, target, weights

    def _read(self) -> Iterator[Block]:
        features, room = self.source.n_features, np.empty((0, 0))
        for X, y, weights in weighted_chunks(self.source):
            if len(room) < len(y):
                room = np.empty((len(y), self.width))
                room[:, features:] = 2.0**self.bits
            whole = room[: len(y)]
            inner = whole[:, :features]
            with np.errstate(over="ignore"):  # infinity is limited in the next step
                np.subtract(X, self.own.centre, out=inner)
                inner *= self._factor
            np.maximum(inner, self._low, out=inner)
            np.minimum(inner, self._high, out=inner)
            np.rint(inner, out=inner)
            yield whole, self._target(y), weights

    def _target(self, y: Array) -> Array:
        if not self.of_target.spread.size:
            return y
        limited = np.clip(y, self.of_target.low[0], self.of_target.high[0])
        limited -= self.of_target.centre[0]
        limited /= self.of_target.spread[0]
        return limited

    def measure(self, matrix: Array) -> None:
        """Set the integer matrix M, compute `lengths`, and keep the rows of a small table."""
        self.matrix, self.lengths, self._kept = matrix, [], []
        small = 2 * self.source.n_rows * self.width <= _KEPT
        if not small and not getattr(self.source, "ordered", True):
            return
        kept, lengths, room = [], [], _KEPT
        for whole, target, weights in self._read():
            room -= 2 * whole.size
            if small and room >= 0:  # the declared number of rows may be wrong
                kept.append((whole.astype(np.int16), np.array(target), None if weights is None else weights.copy()))
            lengths.append(self._lengths(whole))
        whole_table = len(kept) == len(lengths)
        self._kept = kept if whole_table else []
        self.lengths = lengths if whole_table or getattr(self.source, "ordered", True) else []

    def _lengths(self, whole: Array) -> NDArray[np.float32]:
        """For every row an upper bound of the length of M V.

        The entries of M V are exact. The square root of the sum of squares has a relative error below (K + 16) times
        2^-53 and is raised by more than this, and by more than the rounding to 32 bits.
        """
        assert self.matrix is not None
        image = whole @ self.matrix.T
        spare = 1.0 + TWO_ROUNDINGS.share * (len(self.matrix) + 16)
        length: Any = (np.sqrt(np.einsum("nk,nk->n", image, image)) * spare).astype(np.float32)
        return np.asarray(next_up(length), dtype=np.float32)

    def measured(self) -> Iterator[tuple[Array, Array, Array | None, NDArray[np.float32]]]:
        """The parts with the lengths of their rows."""
        kept = iter(self.lengths)
        for whole, target, weights in self.parts():
            yield whole, target, weights, next(kept) if self.lengths else self._lengths(whole)

    def gradient(self, weights: Array, limit: float) -> Integers:
        """S = sum over rows of R V. R is the integer slope of the row at these weights, and |R| |M V| <= limit."""
        bits = math.floor(math.log2(EXACT / (2.0 * ENTRY * self.width * max(1.0, float(np.abs(weights).max())))))
        rounded = np.rint(np.ldexp(weights, bits))
        total = ExactSum((self.width,))
        for whole, target, shares, length in self.measured():
            state = self.objective.start(target)
            state += np.ldexp(whole @ rounded, -bits - self.bits)
            slope = np.ldexp(self.objective.slope(state, target, np.empty_like(state)), SLOPE_BITS)
            np.rint(slope, out=slope)
            most = np.floor(np.minimum(limit / np.maximum(length, 1.0, dtype=np.float64), SLOPE))
            np.clip(slope, -most, most, out=slope)
            if shares is not None:
                slope *= shares
                np.trunc(slope, out=slope)
            total.add(slope @ whole)
        return total.integers
