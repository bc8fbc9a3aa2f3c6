"""A quick estimate of the delta of bump noise in several groups. It guides searches and proves nothing."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hush.noise.bump import Bump
from hush.numerics import special

__all__ = ["rough_delta"]

_LOSS = 2e-3  # the width of a cell of the loss
_MOST = 1 << 15  # cells


@lru_cache(maxsize=4096)
def rough_delta(noise: Bump, move: int, groups: int, epsilon: float) -> float:
    """About the delta at epsilon if that many groups move by so many steps: losses in cells, composed by a tilted
    Fourier transform.
    """
    loss, mass, lost = _losses(noise, move)
    if not loss.size:  # the moved noise reaches no point of the other
        return 1.0
    tilt = _tilt(noise, move, groups, epsilon)
    cell = max(_LOSS, 2.0 * float(np.abs(loss).max()) / (_MOST // 4))
    place = np.round(loss / cell).astype(np.int64)
    low = int(place.min())
    weights = mass * np.exp(tilt * loss)
    total = float(weights.sum())
    size = 1 << math.ceil(math.log2((int(place.max()) - low) * min(groups, 64) + 2))
    size = min(max(size, 1024), _MOST)
    table = np.bincount((place - low) % size, weights / total, size)
    law = special.irfft(special.rfft(table) ** groups, size)
    # the cells stand for losses modulo the size: those nearest to the mean of the tilted law
    mean = groups * float((weights * loss).sum()) / total / cell
    index = np.arange(size)
    sums = index.astype(np.float64) + groups * low
    sums = sums + size * np.round((mean - sums) / size)
    over = sums * cell - epsilon
    with np.errstate(over="ignore", under="ignore"):
        share = -np.expm1(-np.maximum(over, 0.0)) * np.exp(-tilt * np.maximum(sums * cell, epsilon))
    scale = groups * math.log(total)
    found = float((np.maximum(law, 0.0) * share).sum()) * math.exp(min(scale, 600.0))
    return min(found + groups * lost, 1.0)


@lru_cache(maxsize=64)
def _losses(noise: Bump, move: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The losses and probabilities where both laws have points, and the probability of the other points."""
    k = np.arange(1 - noise.points, noise.points, dtype=np.float64)
    here, there = noise.log_mass(np.abs(k)), noise.log_mass(np.abs(k - move))
    both = there > -np.inf
    mass = np.exp(here)
    return (here - there)[both], mass[both], float(mass[~both].sum())


def _tilt(noise: Bump, move: int, groups: int, epsilon: float) -> float:
    """The exponent at which the mean of the composed loss is about epsilon."""
    loss, mass, _ = _losses(noise, move)
    low, high = 0.0, 4096.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        with np.errstate(under="ignore"):
            weights = mass * np.exp(middle * loss - middle * float(loss.max()))
        if groups * float((weights * loss).sum()) / float(weights.sum()) < epsilon:
            low = middle
        else:
            high = middle
    return min(low, 500.0 / max(float(loss.max()), 1e-9))
