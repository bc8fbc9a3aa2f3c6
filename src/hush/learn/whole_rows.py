"""Scaled rows as integers, and their exact sums: gradients of rows that are limited in length.

A row with a weight v in [0, 1] has the slope trunc(v R) instead of R, so it is never longer than without the weight.

Margins are sums over columns. The released weights are rounded to integers so that these sums stay below 2^53 too. So
a margin depends on one row only, and not on the block in which that row is read.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.learn.affine import Affine
from hush.learn.kept_rows import KeptBlocks
from hush.learn.objective import Objective
from hush.learn.row_source import Block, RowSource
from hush.learn.scaling import Scaling
from hush.learn.whole_sums import ENTRY, SLOPE, SLOPE_BITS, ExactSum, Integers, margin_bits, weighted_chunks
from hush.numerics.rounding import TWO_ROUNDINGS, next_up

__all__ = ["WholeRows"]

Array = NDArray[np.float64]

_ENTRY_BITS = 13  # a value of one spread is at most the integer 2^13
_KEPT = 1 << 28  # bytes: integer rows are kept in memory up to this size
_KEPT_LIMITS = 1 << 26  # bytes: the same for the largest slopes of rows


@dataclass
class WholeRows:
    """The rows of a source as integers V = round(2^a u), where u is the scaled row and the constant 1.

    `bits` is a >= 0. Entries beyond ENTRY are moved to it. If `fine` is given, a is this number, and entries have no
    other limit than their range: such rows have products, but no gradients.

    With `keep` the rows are kept between passes as integers of 16 bits. Small tables are kept in memory. Larger tables
    of a source without order are kept in a temporary file, because reading them again is slow. Larger arrays are scaled
    again in each pass.
    """

    source: RowSource
    own: Scaling
    of_target: Scaling
    constant: bool
    objective: Objective
    keep: bool = True
    fine: int | None = None
    _matrix: Array | None = None
    _limit: float = math.inf
    _kept: KeptBlocks | None = None
    _most: KeptBlocks | None = None

    def __post_init__(self) -> None:
        low, high = ((end - self.own.centre) / self.own.spread for end in (self.own.low, self.own.high))
        reach = float(np.maximum(np.abs(low), np.abs(high)).max())
        # never negative: the constant 2^bits must be an integer too; values beyond ENTRY are limited to it
        self.bits = min(_ENTRY_BITS, math.floor(math.log2(ENTRY / min(max(reach, 1.0), ENTRY))))
        self.bits, entry = (self.bits, ENTRY) if self.fine is None else (self.fine, math.inf)
        ends = (np.clip(np.ldexp(end, self.bits), -entry, entry) for end in (low, high))
        self._scaled = Affine(self.own.centre, np.ldexp(1.0 / self.own.spread, self.bits), *ends)

    @property
    def width(self) -> int:
        """The number of weights: one for each feature, and one for the constant."""
        return self.source.n_features + self.constant

    def parts(self) -> Iterator[Block]:
        """Triples (V, target, weights). V may be overwritten: by the user, and by the next part."""
        if self._kept is None:
            yield from self._read_and_kept() if self._may_be_kept else self._read()
            return
        room = np.empty((0, self.width))
        for small, target, *weights in self._kept:
            if len(room) < len(target):
                room = np.empty((len(target), self.width))
            whole = room[: len(target)]
            np.copyto(whole, small)
            yield whole, target.astype(np.float64), weights[0] if weights else None

    @property
    def _may_be_kept(self) -> bool:
        small = 2 * self.source.n_rows * self.width <= _KEPT
        return self.keep and self.fine is None and (small or not self._ordered)

    @property
    def _ordered(self) -> bool:
        return bool(getattr(self.source, "ordered", True))

    def _read(self) -> Iterator[Block]:
        features, room = self.source.n_features, np.empty((0, 0))
        for X, y, weights in weighted_chunks(self.source):
            if len(room) < len(y):
                room = np.empty((len(y), self.width))
            whole = room[: len(y)]
            whole[:, features:] = 2.0**self.bits
            np.rint(self._scaled.of(X), out=whole[:, :features])
            yield whole, self._target(y), weights

    def _read_and_kept(self) -> Iterator[Block]:
        kept = KeptBlocks(in_memory=_KEPT)
        for whole, target, weights in self._read():
            kept.append(whole.astype(np.int16), target.astype(np.float32), *(() if weights is None else (weights,)))
            yield whole, target, weights
        self._kept = None if kept.lost else kept  # if the disk is full, the table is read again in each pass

    def close(self) -> None:
        """Forget the rows that were kept."""
        for kept in (self._kept, self._most):
            if kept is not None:
                kept.close()
        self._kept = self._most = None

    def _target(self, y: Array) -> Array:
        """The scaled target as a float of 32 bits, in the type of 64 bits."""
        if self.of_target.spread.size:
            y = np.clip(y, self.of_target.low[0], self.of_target.high[0])
            y -= self.of_target.centre[0]
            y /= self.of_target.spread[0]
        return y.astype(np.float32).astype(np.float64)

    def measure(self, matrix: Array, limit: float) -> None:
        """Set the integer matrix M and the limit of |R| |M V|, where R is the integer slope of a row."""
        self._matrix, self._limit, self._most = matrix, limit, None

    def _largest(self, whole: Array) -> NDArray[np.float32]:
        """For every row the largest |R|: the limit over an upper bound of the length of M V, rounded down.

        The entries of M V are exact. The square root of the sum of squares has a relative error below (K + 16) times
        2^-53 and is raised by more than this, and by more than the rounding to 32 bits. The result is an integer of at
        most 2^21, which a float of 32 bits holds.
        """
        assert self._matrix is not None
        image = whole @ self._matrix.T
        spare = 1.0 + TWO_ROUNDINGS.share * (len(self._matrix) + 16)
        length: Any = (np.sqrt(np.einsum("nk,nk->n", image, image)) * spare).astype(np.float32)
        length = np.maximum(next_up(length), 1.0, dtype=np.float64)
        return np.floor(np.minimum(self._limit / length, SLOPE)).astype(np.float32)

    def limited_parts(self) -> Iterator[tuple[Array, Array, Array | None, NDArray[np.float32]]]:
        """The parts with the largest |R| of each row, which is kept if the rows come in the same order again."""
        if self._most is not None:
            for block, (most,) in zip(self.parts(), self._most, strict=True):
                yield *block, most
            return
        same_order = self._ordered or self._kept is not None
        kept = KeptBlocks(in_memory=_KEPT_LIMITS if self._kept is not None else sys.maxsize)
        for block in self.parts():
            most = self._largest(block[0])
            if same_order:
                kept.append(most)
            yield *block, most
        self._most = kept if same_order and not kept.lost else None

    def gradient(self, weights: Array, halvings: int = 0) -> Integers:
        """S = sum over rows of R V, where R is the integer slope of the row and |R| |M V| <= limit/2^halvings."""
        bits = margin_bits(self.width, weights)
        rounded, unit = np.rint(np.ldexp(weights, bits)), 2.0 ** (-bits - self.bits)
        total = ExactSum((self.width,))
        for whole, target, shares, most in self.limited_parts():
            slope = whole @ rounded
            slope *= unit
            self.objective.slope_at(slope, target)
            slope *= 2.0**SLOPE_BITS
            np.rint(slope, out=slope)
            largest = np.floor(np.ldexp(most.astype(np.float64), -halvings))
            np.minimum(slope, largest, out=slope)
            np.maximum(slope, np.negative(largest, out=largest), out=slope)
            if shares is not None:
                slope *= shares
                np.trunc(slope, out=slope)
            total.add(slope @ whole)
        return total.integers
