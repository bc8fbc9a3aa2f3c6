"""Shared by the parts of the flipped Huber report: optimal noises (cached), the least delta at a variance, and the
optimum of Theorem 8.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush import OSGT, Bracket, FlippedHuber, Law, Sensitivity, calibrate, delta, limit
from hush_papers.crossing import crossing
from hush_papers.flipped_huber.printed import theorem8
from hush_papers.osgt.setting import in_box

__all__ = ["at_variance", "best", "box", "by_theorem8", "decibels", "floor", "least_delta", "osgt_in_box", "sufficient"]

Array = NDArray[np.float64]


def box(k: int) -> Sensitivity:
    """k coordinates that move by at most 1 each."""
    return Sensitivity(linf=1.0, l0=k)


@lru_cache(maxsize=4096)
def best(family: str, epsilon: float, share: float, k: int = 1) -> Law:
    """The least-variance noise of the family for (epsilon, share)."""
    return calibrate(epsilon, share, 1.0 if k == 1 else box(k), family=family).law


@lru_cache(maxsize=1024)
def floor(epsilon: float, share: float) -> Bracket:
    """The least variance of any noise for one number, from below and above."""
    return limit(epsilon, share)


def decibels(ratio: float) -> float:
    return 10.0 * math.log10(ratio)


def at_variance(ratio: float, variance: float) -> Law:
    """Flipped Huber noise with alpha/gamma = ratio and this variance; ratio 0 is the Gaussian."""
    unit = FlippedHuber(ratio, 1.0)
    return unit.scaled(math.sqrt(variance / unit.variance)).plain()


@lru_cache(maxsize=256)
def least_delta(variance: float, epsilon: float, k: int, *, width: float = 0.02) -> tuple[float, float]:
    """(delta, ratio): the least delta that flipped Huber noise of this variance can have, and its alpha/gamma.

    The relative error of delta is about width^2.
    """

    def at(ratio: float) -> float:
        return float(delta(at_variance(ratio, variance), epsilon, box(k)))

    points = [0.0, 0.05, 0.2, 0.5, 0.8, 1.2, 2.0, 4.0]
    values = [at(r) for r in points]
    lowest = int(np.argmin(values))
    low, high = points[max(lowest - 1, 0)], points[min(lowest + 1, len(points) - 1)]
    found = {points[lowest]: values[lowest]}
    share = 0.5 * (math.sqrt(5.0) - 1.0)
    while high - low > width:
        left, right = high - share * (high - low), low + share * (high - low)
        for ratio in (left, right):
            found.setdefault(ratio, at(ratio))
        low, high = (low, right) if found[left] < found[right] else (left, high)
    ratio = min(found, key=lambda r: found[r])
    return found[ratio], ratio


#: alpha/gamma from almost Gaussian to almost Laplace
RATIOS = (1e-6, 1e-4, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5, 1e6)


@lru_cache(maxsize=1024)
def by_theorem8(ratio: float, epsilon: float, share: float, k: int) -> FlippedHuber:
    far = (10.0 + ratio) * 10.0 * k / epsilon
    gamma = crossing(lambda g: theorem8(ratio, g, epsilon, k) - share, 1e-3 * math.sqrt(k), far)
    return FlippedHuber(ratio * gamma, gamma)


def sufficient(epsilon: float, share: float, k: int, *, most_alpha: float = math.inf) -> FlippedHuber:
    """The least-variance noise by Theorem 8 on a grid of shapes, each at its least gamma; alpha may be bounded."""
    ratios = RATIOS if math.isinf(most_alpha) else (*RATIOS, *map(float, np.geomspace(3.5, 28.0, 22)))
    found = (by_theorem8(ratio, epsilon, share, k) for ratio in ratios)
    return min((noise for noise in found if noise.alpha <= most_alpha), key=lambda noise: noise.variance)


@lru_cache(maxsize=64)
def osgt_in_box(epsilon: float, share: float) -> OSGT:
    """The best OSGT in the paper's search box."""
    return in_box(epsilon, share)
