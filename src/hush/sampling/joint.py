"""Exact draws of joint noises that are uniform in a random interval: a level from its thresholds, then whole numbers.

The level is drawn as every magnitude is: a position among thresholds, decided by floats where their error bound leaves
no doubt and by ball arithmetic elsewhere. The rest is in whole numbers: uniform ones below n come from 32-bit words by
multiplication (Lemire 2019, Algorithm 5), and words that would favour some number are drawn again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.level_noise import LevelNoise
from hush.numerics.root import first_whole
from hush.sampling.entropy import Bits
from hush.sampling.lookup import Guide
from hush.sampling.threshold import MARGIN, Tails

__all__ = ["level_draws", "levels", "uniform_below"]

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
        return np.unique(np.maximum(np.floor(np.concatenate([[0.0, 1.0], centre, centre - 1.0, far])), 0.0))

    def ball(self, k: int) -> Any:
        return self.joint.level_tail_ball(k)


@lru_cache(maxsize=64)
def levels(noise: LevelNoise, margin: float = MARGIN) -> Guide:
    """The sampler of the level, its table built and validated."""
    return Guide(Levels(noise, margin))


def level_draws(bits: Bits, noise: LevelNoise, count: int, margin: float = MARGIN) -> Whole:
    """`count` draws of the noise in whole steps, an array of shape (count, dimension)."""
    guide = levels(noise, margin)
    level = _levels(guide, bits, count)
    if count and int(level.max()) >= _MOST // 4:
        raise Unsupported(f"a level of {noise} passes 2^29 steps; use a larger step.")
    draws = np.arange(count)
    least, points = noise.intervals(level, lambda most: uniform_below(bits, most[:, None], draws, 0)[:, 0])
    out = np.empty((count, noise.dimension), dtype=np.int64)
    rows = max(1, _BLOCK // noise.dimension)
    for start in range(0, count, rows):
        part = slice(start, start + rows)
        most = np.broadcast_to(points[part], out[part].shape)
        out[part] = uniform_below(bits, most, draws[part], 1) + least[part]
    return out


def _levels(guide: Guide, bits: Bits, count: int) -> Whole:
    """Levels by the guide, block by block; the sign that a guide draws is not used."""
    found, left, words = np.empty(count, dtype=np.int64), [], []
    scratch = np.empty((4, min(_BLOCK, max(count, 1))))
    for start in range(0, count, _BLOCK):
        places, undecided = guide.fill(found[start : start + _BLOCK], bits, scratch)
        left.append(places + start)
        words.append(undecided)
    draws = np.concatenate(left) if left else np.empty(0, dtype=np.int64)
    if draws.size:
        found[draws] = guide.settle(draws, np.concatenate(words), bits)
    return np.abs(found)


def uniform_below(bits: Bits, most: NDArray[Any], draws: Whole, lane: int) -> Whole:
    """Whole numbers uniform on {0, ..., n - 1}, for each n of `most` (at most 2^31), exactly.

    `most` has one row for each of the numbered draws; its columns use the lanes from `lane` on.
    """
    most = most.astype(np.uint64)
    product = bits.lanes(draws, lane, most.shape[1]) * most
    low = product & _LOW
    again = np.flatnonzero((low < most).ravel())  # only these can be biased: the exact bound is below n
    turn, bounds, flat = 0, most.ravel(), product.ravel()
    again = again[(flat[again] & _LOW) < (_SCALE - bounds[again]) % bounds[again]]
    while again.size:
        row, column = np.divmod(again, most.shape[1])
        for place in np.unique(column):
            chosen = again[column == place]
            word = bits.more(draws[row[column == place]], _turn(lane + int(place), turn))[:, 0] & _LOW
            flat[chosen] = word * bounds[chosen]
        again, turn = again[(flat[again] & _LOW) < (_SCALE - bounds[again]) % bounds[again]], turn + 1
    return (flat >> np.uint64(32)).astype(np.int64).reshape(most.shape)


def _turn(lane: int, turn: int) -> int:
    """The round of `Bits.more` for a lane; draws of levels use the rounds below 2^32."""
    return (1 << 32) + (lane << 8) + turn
