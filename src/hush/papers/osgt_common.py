"""What the parts of the OSGT report share: the paper's three settings, claims in words, and where two curves cross."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.demand import Demand
from hush.calibration.scale import at_scale, typical
from hush.noise.contract import Noise
from hush.noise.gaussian import Gaussian
from hush.noise.osgt import OSGT
from hush.numerics.root import safe_root
from hush.papers.item import CONFIRMED, CORRECTED, Comparison, Series, compare
from hush.sensitivity import Sensitivity

__all__ = ["EIGHT", "FIRST", "SECOND", "calibrated", "claim", "crossing", "line", "named", "twin"]

Array = NDArray[np.float64]

#: (m, sigma^2) of Fig. 3, 4a and 5; of Fig. 4b; of Fig. 6 (eight coordinates)
FIRST, SECOND, EIGHT = OSGT(3.0, math.sqrt(40.0)), OSGT(2.0, math.sqrt(20.0)), OSGT(15.0, math.sqrt(630.0))


def named(noise: OSGT) -> str:
    """(m, sigma^2) as the paper writes it."""
    return f"({noise.m:g}, {noise.sigma**2:.6g})"


def twin(noise: Noise) -> Gaussian:
    """The Gaussian of the same variance."""
    return Gaussian(math.sqrt(noise.variance))


def claim(what: str, said: str, ours: float, *, holds: bool, function: str, why: str = "") -> Comparison:
    """A statement in words, or a formula, beside the number that decides it."""
    return compare(what, said, ours, function=function, why=why, verdict=CONFIRMED if holds else CORRECTED)


def crossing(difference: Callable[[Array], Any], positive: float, negative: float) -> float:
    """Where a difference of two curves, a function of arrays, changes its sign: it is positive at one end and not at the other."""

    def each(points: Array) -> Array:
        return np.asarray(difference(points.ravel()), dtype=np.float64).reshape(points.shape)

    return float(safe_root(each, positive, negative, relative=1e-10)[1])


def calibrated(ratio: float, epsilon: float, delta: float, *, k: int = 1, step: float | None = None) -> Noise:
    """The least OSGT noise with m/sigma = ratio that gives (epsilon, delta) when k coordinates move by 1 each; ratio 0 is the Gaussian."""
    demand = Demand(epsilon, delta, Sensitivity(linf=1.0, l0=k), 1, "variance", step)
    unit = OSGT(ratio, 1.0).plain()
    return at_scale(demand, unit, 5.0 * math.sqrt(k) / epsilon / typical(unit), fine=True)


def line(label: str, x: Any, y: Any, *, points: bool = False, dashed: bool = False) -> Series:
    """A series from anything that is a list of numbers."""
    return Series(label, [float(v) for v in x], [float(v) for v in y], points=points, dashed=dashed)
