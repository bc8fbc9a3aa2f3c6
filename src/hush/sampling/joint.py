"""Exact draws of joint noises that are uniform given a random level: a level from its thresholds, then whole numbers.

The level is drawn as every magnitude is: a position among thresholds, decided by floats where their error bound leaves
no doubt and by ball arithmetic elsewhere. The rest is in whole numbers: uniform ones below n come from 32-bit words by
multiplication (Lemire 2019, Algorithm 5), and words that would favour some number are drawn again. A choice by whole
weights compares a uniform V with the exact fractions sum/total; the first 64 bits of V decide almost always.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.level_noise import LevelNoise
from hush.numerics.arrays import distinct
from hush.numerics.root import first_whole
from hush.sampling.entropy import Bits
from hush.sampling.lookup import Guide
from hush.sampling.threshold import MARGIN, Tails, fill_all

__all__ = ["Numbers", "level_draws", "levels", "uniform_below", "uniform_rows"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_BLOCK = 1 << 14  # draws at a time: their arrays stay in the processor's cache
_MOST = 1 << 31  # the widest interval that 32-bit words serve
_SCALE = np.uint64(1 << 32)
_LOW = np.uint64((1 << 32) - 1)


class Levels(Tails):
    """The thresholds P(level > k) of a joint noise."""

    def __init__(self, noise: LevelNoise, margin: float = MARGIN) -> None:
        self.joint, self.step, self.margin = noise, 1.0, margin
        self.slack = self._validated_slack()

    def at(self, k: Array) -> Array:
        with np.errstate(under="ignore"):
            return np.exp(self.joint.log_level_tail(np.asarray(k, dtype=np.float64)))

    def spread(self, k: Array, threshold: Array) -> Array:
        return threshold

    def guess(self, v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64)
        return first_whole(lambda k: self.at(k) <= v, v.shape)

    def _points_to_check(self) -> Array:
        centre = self.guess(np.array([0.999999, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9, 2.0**-40]))
        far = np.geomspace(1.0, centre[-1] + 1.0, 8)
        return distinct(np.maximum(np.floor(np.concatenate([[0.0, 1.0], centre, centre - 1.0, far])), 0.0))

    def ball(self, k: int) -> Any:
        return self.joint.level_tail_ball(k)


@lru_cache(maxsize=64)
def levels(noise: LevelNoise, margin: float = MARGIN) -> Guide:
    """The sampler of the level, its table built and validated."""
    return Guide(Levels(noise, margin))


def level_draws(bits: Bits, noise: LevelNoise, count: int, margin: float = MARGIN) -> Whole:
    """`count` draws of the noise in whole steps, an array of shape (count, dimension)."""
    guide = levels(noise, margin)
    level = np.empty(count, dtype=np.int64)
    fill_all(level, guide, bits)
    level = np.abs(level)  # the sign that a guide draws is not used
    if count and int(level.max()) >= _MOST // 4:
        raise Unsupported(f"a level of {noise} passes 2^29 steps; use a larger step.")
    return noise.points(level, Numbers(bits, count))


def uniform_below(bits: Bits, most: NDArray[Any]) -> Whole:
    """Whole numbers uniform on {0, ..., n - 1}, for each n of `most` (at most 2^31), exactly."""
    most = most.astype(np.uint64)
    product = bits.words(most.size, np.uint32)[0].astype(np.uint64) * most
    low = product & np.uint64(0xFFFFFFFF)
    again = np.flatnonzero(low < most)  # only these can be biased: the exact bound is below n
    again = again[low[again] < (_SCALE - most[again]) % most[again]]
    while again.size:
        fresh = bits.words(again.size, np.uint32)[0].astype(np.uint64) * most[again]
        product[again] = fresh
        again = again[(fresh & np.uint64(0xFFFFFFFF)) < (_SCALE - most[again]) % most[again]]
    return (product >> np.uint64(32)).astype(np.int64)


def uniform_rows(bits: Bits, most: NDArray[Any], draws: Whole, lane: int) -> Whole:
    """The same for a table of bounds, with one row for each of the numbered draws; its columns use the lanes from
    `lane` on.
    """
    most = most.astype(np.uint64)
    flat, bounds = (bits.lanes(draws, lane, most.shape[1]) * most).ravel(), most.ravel()
    again = np.flatnonzero((flat & _LOW) < bounds)  # only these can be biased
    again, turn = again[(flat[again] & _LOW) < (_SCALE - bounds[again]) % bounds[again]], 0
    while again.size:
        row, column = np.divmod(again, most.shape[1])
        for place in distinct(column):
            chosen = again[column == place]
            word = bits.more(draws[row[column == place]], _turn(lane + int(place), turn))[:, 0] & _LOW
            flat[chosen] = word * bounds[chosen]
        again, turn = again[(flat[again] & _LOW) < (_SCALE - bounds[again]) % bounds[again]], turn + 1
    return (flat >> np.uint64(32)).astype(np.int64).reshape(most.shape)


def _turn(lane: int, turn: int) -> int:
    """The round of `Bits.more` for a lane; draws of levels use the rounds below 2^32."""
    return (1 << 32) + (lane << 8) + turn


class Numbers:
    """Exact random whole numbers from the bits of one draw call: the `UniformNumbers` of joint noises."""

    def __init__(self, bits: Bits, draws: int = 0) -> None:
        self._bits, self._draws, self._lane = bits, np.arange(draws), 0

    def rows(self, most: NDArray[Any]) -> Whole:
        """Uniform whole numbers on {0, ..., n - 1}, for each n of `most`, which has one row for each draw.

        A number depends on its draw and on its place only, so that an engine can repeat the draw.
        """
        out, first = np.empty(most.shape, dtype=np.int64), self._lane
        rows = max(1, _BLOCK // max(most.shape[1], 1))
        for start in range(0, len(out), rows):
            part = slice(start, start + rows)
            out[part] = uniform_rows(self._bits, most[part], self._draws[part], first)
        self._lane += most.shape[1]
        return out

    def below(self, most: NDArray[Any]) -> Whole:
        """Uniform whole numbers on {0, ..., n - 1}, for each n of `most`, which are at most 2^31."""
        return uniform_below(self._bits, most)

    def choose(self, weights: Sequence[int], count: int) -> Whole:
        """`count` indices of the list, drawn independently; each has the probability weight/total, exactly."""
        sums = list(accumulate(weights))
        total = sums[-1]
        ends = [end for end in sums if end < total]  # an index is the number of ends with end/total <= V
        floors = np.array([(end << 64) // total for end in ends], dtype=np.uint64)
        words = self._bits.words(count, np.uint64)[0]
        index = np.searchsorted(floors, words, side="left")
        unclear = np.flatnonzero(index != np.searchsorted(floors, words, side="right"))
        for place in unclear.tolist():
            index[place] = self._refined(ends, total, int(words[place]))
        return index.astype(np.int64)

    def _refined(self, ends: list[int], total: int, known: int) -> int:
        """The number of ends with end/total <= V, where V starts with the 64 bits `known`; more bits follow."""
        bits = 64
        while True:
            least = sum(end << bits <= known * total for end in ends)
            most = sum(end << bits < (known + 1) * total for end in ends)
            if least == most:
                return least
            known, bits = (known << 64) | int(self._bits.words(1, np.uint64)[0][0]), bits + 64
