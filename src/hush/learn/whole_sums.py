"""Sums over rows as exact integers, through fast matrix products.

A float holds every integer up to 2^53. If all products of a sum are integers, and their absolute values add up to less
than 2^53, then every partial sum is exact in any order, with or without fused operations. So a matrix product of the
BLAS library gives the exact sum, and replacing one row changes it by the contributions of two rows and by nothing
else. The bounds are:

- an entry of a scaled row is an integer of at most 2^15 - 1 (`ENTRY`),
- the slope of a row is an integer of at most 2^21 (`SLOPE`),
- at most 2^12 rows (`MOST_ROWS`) are added in one matrix product: 2^15 2^21 2^12 = 2^48,
- the sums of these parts are added as integers of unlimited size (`ExactSum`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hush.learn.row_source import Block, RowSource, blocks_of

__all__ = [
    "ENTRY",
    "EXACT",
    "FURTHEST",
    "MOST_ROWS",
    "SLOPE",
    "SLOPE_BITS",
    "ExactSum",
    "Integers",
    "chunks",
    "integer_matrix",
    "margin_bits",
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
FURTHEST = 1 << 60  # a sum beyond is moved to this end, which never increases the distance of two sums
_CACHED = 1 << 17  # numbers of one part: they stay in the cache of the processor


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
        return self.shifted(0)

    def shifted(self, bits: int) -> NDArray[np.int64]:
        """The total times 2^bits, at most 2^60 in size."""
        return np.asarray(np.clip(self.integers * (1 << bits), -FURTHEST, FURTHEST), dtype=np.int64)


def matrix_limit(columns: int) -> float:
    """The largest entry of an integer matrix whose products with a scaled row are exact."""
    return 2.0 ** min(math.floor(math.log2(EXACT / (2.0 * ENTRY * columns))), 26)


def integer_matrix(matrix: Array) -> tuple[Integers, int]:
    """The integers round(2^bits matrix) and the largest such bits for which products with scaled rows are exact."""
    bits = math.floor(math.log2(matrix_limit(matrix.shape[1]) / float(np.abs(matrix).max())))
    return np.array([[round(math.ldexp(x, bits)) for x in row] for row in matrix.tolist()], dtype=object), bits


def margin_bits(width: int, weights: Array) -> int:
    """The largest b for which the products of round(2^b weights) with scaled rows of `width` entries are exact."""
    return math.floor(math.log2(EXACT / (2.0 * ENTRY * width * max(1.0, float(np.abs(weights).max())))))
