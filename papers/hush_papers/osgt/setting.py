"""The settings of the OSGT paper and slides, and OSGT noise that meets a budget."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from hush import OSGT, Discrete, Gaussian, Law, Sensitivity, delta
from hush_papers.crossing import crossing

__all__ = ["BOX", "EDGE", "EIGHT", "FIRST", "SECOND", "calibrated", "delta_ratio", "in_box", "named", "twin"]

Array = NDArray[np.float64]

#: (m, sigma^2) of Fig. 3, 4a and 5; of Fig. 4b; of Fig. 6 (eight coordinates)
FIRST, SECOND, EIGHT = OSGT(3.0, math.sqrt(40.0)), OSGT(2.0, math.sqrt(20.0)), OSGT(15.0, math.sqrt(630.0))
#: the move of Fig. 6: eight coordinates, each by at most 1
BOX = Sensitivity(linf=1.0, l0=8)
#: the largest m/sigma that Proposition 2 allows, 0.6745
EDGE = float(Gaussian(1.0).isf(0.25))


def named(noise: OSGT) -> str:
    """(m, sigma^2), as the paper writes it."""
    return f"({noise.m:g}, {noise.sigma**2:.6g})"


def twin(noise: Law) -> Gaussian:
    """The Gaussian of the same variance."""
    return Gaussian(math.sqrt(noise.variance))


def delta_ratio(noise: OSGT, epsilon: float, moved: Sensitivity) -> float:
    """Exact delta of OSGT over that of the Gaussian of the same variance."""
    return float(delta(noise, epsilon, moved)) / float(delta(twin(noise), epsilon, moved))


def calibrated(ratio: float, epsilon: float, share: float, *, k: int = 1, step: float | None = None) -> Law:
    """The least OSGT noise with m/sigma = ratio that is (epsilon, share)-private when k coordinates move by 1 each.

    Ratio 0 is the Gaussian. With a `step` the noise is the discrete one on the lattice of that step.
    """
    unit, moved = OSGT(ratio, 1.0).plain(), Sensitivity(linf=1.0, l0=k)

    def noise_at(scale: float) -> Law:
        return unit.scaled(scale) if step is None else Discrete(unit.scaled(scale), step)

    @cache
    def excess(log_scale: float) -> float:
        return math.log(max(float(delta(noise_at(math.exp(log_scale)), epsilon, moved)), 1e-300) / share)

    nearness = 1e-13 if k == 1 else 2e-8  # of log scale; the delta of several coordinates is known less closely
    low = high = math.log(5.0 * math.sqrt(k) / epsilon / float(unit.isf(0.15)))
    while excess(low) <= 0.0:
        low -= 0.5
    while excess(high) > 0.0:
        high += 0.5
    root = float(brentq(excess, low, high, xtol=nearness, rtol=nearness))
    while excess(root) > 0.0:  # the least noise must be private, so end on that side of the root
        root += nearness
    return noise_at(math.exp(root))


def in_box(epsilon: float, share: float) -> OSGT:
    """The best OSGT in the flipped Huber paper's search box [0.02, 150] x [0.02, 50].

    At equal privacy the variance falls as m grows, so m = 150; sigma is a root.
    """

    def above(sigmas: Array) -> list[float]:
        return [math.log(float(delta(OSGT(150.0, s), epsilon)) / share) for s in sigmas]

    return OSGT(150.0, crossing(above, 1.0, 50.0))
