"""Half widths for several released numbers: all at once, and a weighted sum of them.

Each function returns the narrowest of several widths. Every one of them is proved: P(error > width) <= probability.

    all numbers     the law of the largest number that a joint noise states; independent numbers, 1 - (1 - t)^n; or each
                    number at probability/n (Bonferroni)
    weighted sum    the law of the sum that a joint noise states; the exact law of a sum of independent numbers, by a
                    Fourier transform; the tail of a subgaussian law; the variance (Chebyshev); or each number at
                    probability/n (Bonferroni)

The draws of a continuous noise are rounded to the lattice, which moves each number by at most half a step more than
the noise itself.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Law, Noise
from hush.noise.level_reach import MOST_WORK, fourier_reach, whole_weights
from hush.numerics.rounding import SPECIAL_FUNCTION, down, round_up, up
from hush.sampling.exact import law_of

__all__ = ["reach_of_all", "reach_of_sum"]

Array = NDArray[np.float64]

_OUTSIDE = 1e-12  # probability that may lie beyond the table of one law, or wrap round
_MOST_STEPS = 1 << 14  # steps in the table of one law
_RARE = 1e-7  # below this probability the error of Fourier transforms counts


def reach_of_all(noise: Noise, step: float, size: int, probability: float) -> float:
    """A w with P(some of the `size` drawn numbers is beyond w) <= probability."""
    joint = noise.dimension is not None
    each = down(probability / size, SPECIAL_FUNCTION)
    if not joint:
        each = max(each, down(-math.expm1(math.log1p(-probability) / size), SPECIAL_FUNCTION))
    found = max(law_of(law, step).steps_beyond(each) for law in set(_laws(noise, size))) * step
    own = noise.reach_of_all(probability) if joint else None
    return found if own is None else min(found, own + _rounded_draw(noise, step))


@lru_cache(maxsize=256)
def reach_of_sum(noise: Noise, step: float, weights: tuple[float, ...], probability: float) -> float:
    """A w with P(|weighted sum of the drawn numbers| > w) <= probability."""
    used = np.array([w for w in weights if w != 0.0])
    if not used.size:
        return 0.0
    exponent = math.frexp(float(np.abs(used).max()))[1]
    if not -500 < exponent < 500:  # squares of the weights would leave the range of floats; powers of two are exact
        near = tuple(math.ldexp(w, -exponent) for w in weights)
        return math.ldexp(reach_of_sum(noise, step, near, probability), min(exponent, 1000))
    law, size = noise.marginal, float(np.abs(used).sum())
    found = [_singly(noise, step, np.array(weights), down(probability / used.size, SPECIAL_FUNCTION))]
    extra = size * _rounded_draw(noise, step)
    deviation = _deviation(noise, np.array(weights))
    if math.isfinite(deviation):
        found.append(up(deviation / math.sqrt(probability), SPECIAL_FUNCTION) + extra)
    if noise.dimension is None:
        found += _independent(law, step, used, probability, extra)
    else:
        own = noise.reach_of_sum(np.array(weights), probability)
        found += [] if own is None else [own + extra]
    return min(found)


def _laws(noise: Noise, size: int) -> tuple[Law, ...]:
    """The law of each of the `size` numbers."""
    return (
        tuple(noise.marginal_of(place) for place in range(size)) if noise.dimension is not None else (noise.marginal,)
    )


def _singly(noise: Noise, step: float, weights: Array, probability: float) -> float:
    """The sum of the reaches of single numbers, each at this probability."""
    laws = _laws(noise, weights.size)
    reach = {law: Fraction(law_of(law, step).steps_beyond(probability)) * Fraction(step) for law in set(laws)}
    each = laws if len(laws) > 1 else laws * weights.size
    parts = (abs(Fraction(w)) * reach[law] for w, law in zip(weights.tolist(), each, strict=True))
    return round_up(sum(parts, Fraction(0)))


def _rounded_draw(noise: Noise, step: float) -> float:
    """How far rounding to the lattice moves a draw."""
    return 0.0 if noise.discrete else 0.5 * step


def _deviation(noise: Noise, weights: Array) -> float:
    """The standard deviation of the weighted sum, infinite where there is none."""
    try:
        if noise.dimension is None:
            return math.sqrt(float(noise.variance) * float((weights**2).sum()))
        return math.sqrt(float(weights @ noise.covariance @ weights))
    except Unsupported:
        return math.inf


def _independent(law: Law, step: float, weights: Array, probability: float, extra: float) -> list[float]:
    """Widths for independent numbers."""
    found, proxy = [], float(law.subgaussian_proxy)
    if math.isfinite(proxy):
        width = math.sqrt(2.0 * proxy * float((weights**2).sum()) * math.log(2.0 / probability))
        found.append(up(width, SPECIAL_FUNCTION) + extra)
    exact = _by_fourier(law, step, weights, probability) if probability >= _RARE else None
    return found if exact is None else [*found, exact]


def _by_fourier(law: Law, step: float, weights: Array, probability: float) -> float | None:
    """The exact law of the sum, for whole multiples of one weight; None where that is too much work."""
    whole, unit, off = whole_weights(weights, 64)
    outside = _OUTSIDE / weights.size
    last = law_of(law, step).steps_beyond(outside)
    furthest = float(np.abs(whole).sum()) * last
    kinds, times = np.unique(np.abs(whole[whole != 0]), return_counts=True)
    points = 1 << math.ceil(math.log2(2.0 * furthest + 4.0)) if last <= _MOST_STEPS else MOST_WORK
    if points * last * kinds.size > 2 * MOST_WORK:
        return None
    tails = law_of(law, step).at(np.arange(last, dtype=np.float64))
    mass = np.append(1.0 - tails[0], np.append(tails[:-1] - tails[1:], tails[-1]))  # of |K| = 0, 1, ..., last

    def transform(k: NDArray[np.int64]) -> Array:
        product = np.ones(k.size)
        for kind, count in zip(kinds.tolist(), times.tolist(), strict=True):
            rest = np.mod(k * kind, points)
            blocks = np.array_split(rest, max(1, k.size * mass.size >> 20))
            waves = [np.cos(2.0 * np.pi / points * (part[:, None] * np.arange(mass.size) % points)) for part in blocks]
            product *= np.concatenate([wave @ mass for wave in waves]) ** count
        return product

    found = fourier_reach(transform, points, probability - _OUTSIDE)
    most = off * last  # all numbers are within `last` but for probability _OUTSIDE, which is counted above
    return None if found is None else up(found * unit + most, SPECIAL_FUNCTION) * step
