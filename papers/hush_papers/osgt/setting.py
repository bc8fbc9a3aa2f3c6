"""The settings of the OSGT paper and slides, and OSGT noise that meets a budget."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush.calibration.request import CalibrationRequest
from hush.calibration.scale import at_scale, typical
from hush.noise.contract import Law
from hush.noise.gaussian import Gaussian
from hush.noise.osgt import OSGT
from hush.privacy.compose import delta
from hush.privacy.sensitivity import Sensitivity
from hush_papers.crossing import crossing

__all__ = ["EIGHT", "FIRST", "SECOND", "calibrated", "in_box", "named", "twin"]

Array = NDArray[np.float64]

#: (m, sigma^2) of Fig. 3, 4a and 5; of Fig. 4b; of Fig. 6 (eight coordinates)
FIRST, SECOND, EIGHT = OSGT(3.0, math.sqrt(40.0)), OSGT(2.0, math.sqrt(20.0)), OSGT(15.0, math.sqrt(630.0))


def named(noise: OSGT) -> str:
    """(m, sigma^2) as the paper writes it."""
    return f"({noise.m:g}, {noise.sigma**2:.6g})"


def twin(noise: Law) -> Gaussian:
    """The Gaussian of the same variance."""
    return Gaussian(math.sqrt(noise.variance))


def calibrated(ratio: float, epsilon: float, share: float, *, k: int = 1, step: float | None = None) -> Law:
    """The least OSGT noise with m/sigma = ratio that gives (epsilon, share) when k coordinates move by 1 each; ratio
    0 is the Gaussian.
    """
    demand = CalibrationRequest(epsilon, share, Sensitivity(linf=1.0, l0=k), 1, "variance", step)
    unit = OSGT(ratio, 1.0).plain()
    return at_scale(demand, unit, 5.0 * math.sqrt(k) / epsilon / typical(unit), fine=True)


def in_box(epsilon: float, share: float) -> OSGT:
    """The best OSGT in the flipped Huber paper's search box: variance falls as m grows at equal privacy, so m = 150;
    sigma is a root.
    """

    def above(sigmas: Array) -> list[float]:
        return [math.log(float(delta(OSGT(150.0, s), epsilon)) / share) for s in sigmas]

    return OSGT(150.0, crossing(above, 1.0, 50.0))
