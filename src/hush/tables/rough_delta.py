"""A quick estimate of delta for searches: no bound, and nothing is decided by it.

The privacy loss of bump noise for one person is put on a grid, each loss shared between its two neighbours. The sum
over all groups, with the Gaussian loss of further columns, follows by a Fourier transform in floats. A noise that is
found this way is certified afterwards (key_shapes.py).
"""

from __future__ import annotations

import math

import numpy as np

from hush.noise.bump import Bump

__all__ = ["LEAST", "rough_delta"]

#: The least delta for which the estimate is good enough: the transform has errors of about 1e-15.
LEAST = 1e-11
_POINTS = 1 << 13
_REACH = 12.0  # deviations of the sum of losses on each side
_TINY = 1e-300


def rough_delta(law: Bump, groups: int, squares: float, epsilon: float) -> float:
    """About delta at epsilon, if one person moves `groups` numbers by one step, and Gaussian numbers by sqrt(squares)
    deviations in all.
    """
    k = np.arange(1 - law.points, law.points)
    log_mass = np.asarray(law.log_mass(np.abs(k).astype(np.float64)))
    mass, loss = np.exp(log_mass[1:]), log_mass[1:] - log_mass[:-1]
    alone = math.exp(float(log_mass[0]))  # the point that the moved noise cannot reach
    spread = math.sqrt(groups * float(np.sum(mass * loss**2)) + squares)
    reach = epsilon + _REACH * spread
    step = 2.0 * reach / _POINTS
    inside = loss < reach
    never = alone + float(mass[~inside].sum())
    if never >= 1.0:
        return 1.0
    place = np.maximum(loss[inside], -reach) / step
    low = np.floor(place)
    share = place - low
    grid = np.zeros(_POINTS)
    np.add.at(grid, low.astype(np.int64) % _POINTS, mass[inside] * (1.0 - share))
    np.add.at(grid, (low.astype(np.int64) + 1) % _POINTS, mass[inside] * share)
    angle = 2.0 * math.pi * np.fft.rfftfreq(_POINTS, step)
    normal = np.exp(-1j * angle * squares / 2.0 - angle**2 * squares / 2.0)
    total = np.fft.irfft(np.fft.rfft(grid) ** groups * normal, _POINTS)
    sums = np.arange(_POINTS) * step
    positive = (sums > epsilon) & (sums < reach)
    found = float(np.sum(total[positive] * -np.expm1(epsilon - sums[positive])))
    return max(found - math.expm1(groups * math.log1p(-never)), _TINY)
