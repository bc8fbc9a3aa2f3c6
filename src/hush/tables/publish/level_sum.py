"""How far a weighted sum of numbers reaches, if the numbers come from one draw or from several draws of a level noise.

Given its level, such a noise is x_j = m_j s + u_j in steps (`LevelNoise.half_widths_given`): s and u_1, u_2, ... are
independent and uniform on lattice intervals around 0. So the characteristic function of a sum with whole weights w is
the mean over the levels of a product of ratios sin(n t/2)/(n sin(t/2)), one for each uniform variable. For several
independent draws it is the product of such means. A Fourier transform gives the law of the sum.

Where the lattice is fine or the levels are many, the lattice is made coarser. First each uniform variable becomes
continuous, which moves it by at most half a step. Then levels are rounded up to a few nodes, and intervals to an odd
number of coarse steps. Wider intervals make |sum| larger in distribution, because given the levels all variables are
independent, symmetric and unimodal (Birnbaum 1948). At last a continuous variable on an odd number of coarse steps is a
lattice variable plus at most half a coarse step. So (1 + factor)/2 steps are added for each unit of weight.

Levels beyond the table, and sums that wrap round, count as outside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.noise.level_noise import LevelNoise
from hush.noise.level_reach import fourier_reach, whole_weights
from hush.numerics.arrays import distinct
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, up
from hush.sampling.exact import law_of

__all__ = ["Draw", "is_quick", "reach_of_draws"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
#: The weights of the numbers of one draw, and how many independent draws have these weights.
Draw = tuple[tuple[float, ...], int]

_WORK = 1 << 21  # values of a characteristic function at one level that are computed at most, for each kind of weight
_NODES = 96  # levels, if they are rounded up
_COARSE = (1, 2, 4, 8, 16, 32, 64, 128)
_UNITS = (200, 64, 16)  # in the largest weight, at most
_MOST_LEVELS = 2048  # levels, if they are not rounded up
_BLOCK = 1 << 20
_AWAY = 1e-5  # share of the probability: of levels beyond the table, and of sums that wrap round; counted as outside
_OFF = 0.01  # share of the probability: of numbers so large that rounded weights matter


@dataclass(frozen=True)
class _Levels:
    """The levels of a noise on a lattice of `factor` steps: their probabilities, and the points of each variable."""

    chance: Array
    own: Array
    middle: Array
    factor: int
    exact: bool

    def variance(self, whole: Whole, through_middle: int) -> float:
        """The variance of a sum at the last level."""
        squares = np.maximum(self.own[-1] ** 2 - 1.0, 0.0) @ whole.astype(np.float64) ** 2
        return float(squares + through_middle**2 * max(self.middle[-1] ** 2 - 1.0, 0.0)) / 12.0


def reach_of_draws(noise: LevelNoise, draws: Sequence[Draw], probability: float) -> float | None:
    """A w with P(|weighted sum| > w) <= probability, in steps; None if that takes too much work."""
    every = np.array([w for weights, _ in draws for w in weights])
    if not every.any():
        return 0.0
    times = np.array([count for _, count in draws])
    away = _AWAY * probability
    last = _last_level(noise, away / float(times.sum()))
    found = []
    for units in _UNITS if times.sum() == 1 else _UNITS[1:2]:  # several draws take more work
        rounded = _Rounded.of(every.reshape(len(draws), -1), times, units)
        reach = _rounded_reach(noise, rounded, times, last, probability)
        found += [] if reach is None else [reach]
        if rounded.off == 0.0:
            break  # other units give the same weights
    return min(found, default=None)


def is_quick(noise: LevelNoise, weights: Sequence[float]) -> bool:
    """Is the law of this sum found exactly with little work?"""
    return noise.level_masses[0].size <= _MOST_LEVELS and whole_weights(np.array(weights), _UNITS[-1])[2] == 0.0


def _rounded_reach(noise: LevelNoise, rounded: _Rounded, times: Whole, last: int, probability: float) -> float | None:
    """The reach with whole weights, on the finest lattice that is little work, and what their rounding adds."""
    away, off = _AWAY * probability, rounded.off
    allowed = probability - 3.0 * away - (_OFF * probability if off else 0.0)
    for factor, nodes in ((1, None), *((factor, _NODES) for factor in _COARSE)):
        if nodes is None and last > _MOST_LEVELS:
            continue
        levels = _levels(noise, last, factor, nodes)
        found = _reach(noise, levels, rounded.whole, times, allowed, away)
        if found is not None and levels.exact and not off:
            return found * rounded.unit
        if found is not None:
            numbers = float(times.sum()) * rounded.whole.shape[1]
            far = off * _furthest(noise, _OFF * probability / numbers) if off else 0.0
            return up(found * rounded.unit + far, CLOSED_FORM)
    return None


@dataclass(frozen=True)
class _Rounded:
    """Weights as whole numbers of a unit. `off` is the sum of all absolute differences, over all draws."""

    whole: Whole
    unit: float
    off: float

    @classmethod
    def of(cls, weights: Array, times: Whole, units: int) -> _Rounded:
        found, unit, rest = whole_weights(weights.ravel(), units)
        whole = found.reshape(weights.shape)
        if rest == 0.0:
            return cls(whole, unit, 0.0)
        off = float(np.abs(weights - whole * unit).sum(axis=1) @ times)
        return cls(
            whole, unit, up(off, SPECIAL_FUNCTION) + CLOSED_FORM.share * float(np.abs(weights).max()) * weights.size
        )


def _last_level(noise: LevelNoise, outside: float) -> int:
    """A level that is exceeded with at most this probability."""
    level, _ = noise.level_masses
    beyond = np.exp(noise.log_level_tail(level))
    rare = np.flatnonzero(beyond <= outside)
    return int(rare[0]) if rare.size else int(level[-1])


def _furthest(noise: LevelNoise, outside: float) -> float:
    """A distance in steps that each number exceeds with at most this probability."""
    laws = (noise.marginal_of(column) for column in range(noise.dimension))
    return max(law_of(law, noise.step).steps_beyond(outside) for law in set(laws))


def _levels(noise: LevelNoise, last: int, factor: int, nodes: int | None) -> _Levels:
    level = np.arange(last + 1, dtype=np.float64)
    exact = nodes is None or (factor == 1 and level.size <= nodes)
    kept = level if nodes is None or exact else distinct(np.ceil(np.linspace(0.0, float(last), nodes)))
    beyond = np.exp(noise.log_level_tail(kept))
    chance = np.concatenate([[1.0 - beyond[0]], beyond[:-1] - beyond[1:]])
    around, middle = noise.half_widths_given(kept)
    own, shared = 2.0 * around, 2.0 * middle
    if not exact:
        own, shared = (
            np.where(part > 0.0, 2.0 * np.ceil(0.5 * (np.ceil(part / factor) - 1.0)) + 1.0, 0.0)
            for part in (own, shared)
        )
    return _Levels(np.maximum(chance, 0.0), own, shared, factor, exact)


def _reach(noise: LevelNoise, levels: _Levels, whole: Whole, times: Whole, allowed: float, away: float) -> float | None:
    """The reach in units of the weights; None if the transform would be too long."""
    through = (whole @ noise.middle_factors).astype(np.int64)
    variance = sum(n * levels.variance(row, int(m)) for row, m, n in zip(whole, through, times, strict=True))
    furthest = math.sqrt(2.0 * variance * math.log(2.0 / away))
    points = 1 << math.ceil(math.log2(2.0 * furthest + 4.0))
    kinds = max(len(_kinds(levels, row)) for row in whole) + 1
    if points * levels.chance.size * kinds > 8 * _WORK:
        return None
    sines = np.sin(np.pi / points * np.arange(2 * points))

    def transform(k: Whole) -> Array:
        product = np.ones(k.size)
        for row, middle, count in zip(whole, through, times, strict=True):
            product *= _mean_over_levels(levels, row, int(middle), k, sines) ** int(count)
        return product

    found = fourier_reach(transform, points, allowed)
    if found is None or levels.exact:
        return found
    size = float((np.abs(whole) @ (levels.own[-1] > 0.0) + np.abs(through)) @ times)
    return found * levels.factor + 0.5 * (1 + levels.factor) * size


def _kinds(levels: _Levels, row: Whole) -> Counter[tuple[int, bytes]]:
    """The distinct pairs of a weight and an interval, and how many numbers have each."""
    used = [j for j in range(row.size) if row[j] and levels.own[-1, j] > 0.0]
    return Counter((abs(int(row[j])), levels.own[:, j].tobytes()) for j in used)


def _mean_over_levels(levels: _Levels, row: Whole, middle: int, k: Whole, sines: Array) -> Array:
    """E cos(2 pi k S/points) of one draw."""
    rows = max(1, _BLOCK // levels.chance.size)
    parts = []
    for start in range(0, k.size, rows):
        part = k[start : start + rows]
        product = np.ones((part.size, levels.chance.size))
        if middle:
            product *= _ratio(part * abs(middle), np.maximum(levels.middle, 1.0), sines)
        for (weight, points), count in _kinds(levels, row).items():
            product *= _ratio(part * weight, np.frombuffer(points), sines) ** count
        parts.append(product @ levels.chance)
    return np.concatenate(parts)


def _ratio(place: Whole, count: Array, sines: Array) -> Array:
    """sin(n h)/(n sin h) at h = pi place/points, for each place (rows) and each n of `count` (columns).

    `sines` lists sin(pi j/points) for j below 2 points, so multiples of pi are removed in whole numbers. Where sin h is
    0 the ratio is (-1)^(turns (n - 1)).
    """
    points = sines.size // 2
    n = count.astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = sines[(place[:, None] * n) & (2 * points - 1)]
        value = above / (count * sines[place & (2 * points - 1)][:, None])
    flat = np.flatnonzero(place % points == 0)
    odd = (place[flat, None] // points) * (n - 1) % 2
    value[flat] = 1.0 - 2.0 * odd
    return np.asarray(value)
