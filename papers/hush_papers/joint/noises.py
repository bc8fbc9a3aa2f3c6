"""Shared by this part of the report: the moves, the least variances, the proved limits, and noises of one variance."""

from __future__ import annotations

import math
from functools import lru_cache

import hush
from hush_papers.flipped_huber.optimum import best

__all__ = [
    "JOINT",
    "any_direction",
    "as_counts",
    "at_variance",
    "factor",
    "independent",
    "joint",
    "limit",
    "moves",
    "refused_epsilon",
]

#: the independent families that are compared, by number of coordinates; a test compares them with all families
_INDEPENDENT = {
    3: ("staircase", "flipped_huber"),
    5: ("staircase", "flipped_huber"),
    8: ("staircase",),
    20: ("staircase", "asinh"),
}
#: joint noises, and whether they use that all numbers move in one direction
JOINT = {"cube": False, "ball": False, "interval": True, "correlated": True}
_NEAR = 1e-3  # how far the limit of the variance may lie above the given variance, relative


def any_direction(k: int) -> hush.Sensitivity:
    """One person moves each of k numbers by at most 1, up or down. This is the setting of both papers."""
    return hush.Sensitivity(linf=1.0, dimension=k)


def as_counts(k: int) -> hush.Sensitivity:
    """One person moves k numbers by at most 1 each, all in one direction, as counts do."""
    return hush.Sensitivity(linf=1.0, dimension=k, one_sided=True)


def moves(family: str, k: int) -> hush.Sensitivity:
    """The moves for which a joint noise is made."""
    return as_counts(k) if JOINT[family] else any_direction(k)


@lru_cache(maxsize=512)
def joint(family: str, epsilon: float, delta: float, k: int) -> float:
    """The least variance of a joint noise for (epsilon, delta)."""
    return hush.calibrate(epsilon, delta, moves(family, k), family=family).variance


def independent(epsilon: float, delta: float, k: int) -> float:
    """The least variance of independent noise for (epsilon, delta)."""
    return min(best(family, epsilon, delta, k).variance for family in _INDEPENDENT[k])


def limit(epsilon: float, delta: float, moved: hush.Sensitivity) -> float:
    """The proved lower bound on the average variance of any noise for (epsilon, delta), delta > 0."""
    return factor(moved) * _one_number(epsilon, delta)


@lru_cache(maxsize=256)
def _one_number(epsilon: float, delta: float) -> float:
    return float(hush.limit(epsilon, delta).lower)


@lru_cache(maxsize=16)
def factor(moved: hush.Sensitivity) -> float:
    """The limit for several numbers over the limit for one number: for delta > 0 it depends on the moves only.

    `hush.limit` for several numbers also calibrates joint noise, for its upper end. So it is called once for each kind
    of moves.
    """
    return float(hush.limit(1.0, 1e-8, moved).lower) / _one_number(1.0, 1e-8)


def at_variance(family: str, variance: float, k: int) -> hush.Noise:
    """The joint noise of the family that has this variance, up to round-off."""
    epsilon = 1.0
    for _ in range(8):  # the variance is nearly proportional to 1/epsilon^2, so each step gains many digits
        plan = hush.calibrate(epsilon, 0.0, moves(family, k), family=family)
        epsilon *= math.sqrt(plan.variance / variance)
    return plan.noise


@lru_cache(maxsize=64)
def refused_epsilon(delta: float, variance: float, moved: hush.Sensitivity) -> float:
    """An epsilon at which no noise of this variance has this delta, by the limit; the largest one, nearly.

    The limit of the variance at this epsilon and delta is above `variance`, by at most 0.1 per cent.
    """
    here, slope, before = math.sqrt(2.0 * factor(moved) / variance), -2.0, None
    for _ in range(20):
        excess = math.log(limit(here, delta, moved) / variance)
        if 0.0 < excess < _NEAR:
            return here
        if before is not None:
            slope = min(max((excess - before[1]) / math.log(here / before[0]), -3.0), -0.3)
        before = (here, excess)
        here *= math.exp((0.5 * _NEAR - excess) / slope)
    raise ArithmeticError(f"no epsilon found for delta = {delta:g} and variance = {variance:g}")
