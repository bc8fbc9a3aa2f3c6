"""Gaussian releases merged into one number, exactly."""

from __future__ import annotations

import math

from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import FEW_ROUNDINGS, up
from hush.privacy.by_box import AtMost
from hush.privacy.by_norm import sigma_of
from hush.privacy.charge import Charge
from hush.privacy.curve import Mirrored, OneNumber

__all__ = ["merged_gaussians"]

#: Standard deviations. From the first on, delta is 1 at every epsilon that a float can hold. Below the second, floats
#: lose digits and a bound is no longer rounded up.
_MOST_SHIFT, _LEAST_SHIFT = 1e290, 1e-300


def merged_gaussians(charges: list[Charge]) -> Mirrored:
    """All Gaussian releases as one number: the ratios of squared sensitivity to variance add up (Zhao et al. 2019,
    Lemma 15).
    """
    rows = [(sigma_of(charge), charge.sensitivity.l2_bound, charge.times) for charge in charges]
    exact = all(charge.sensitivity.reaches_l2_bound for charge in charges)
    if len(rows) == 1 and rows[0][2] == 1 and _LEAST_SHIFT < rows[0][1] / rows[0][0] < _MOST_SHIFT:
        made = OneNumber(Gaussian(rows[0][0]), rows[0][1])
    else:
        ratios = [(min(reach / sigma, _MOST_SHIFT), times) for sigma, reach, times in rows]
        unit = math.frexp(max(ratio for ratio, _ in ratios))[
            1
        ]  # a power of 2 scales without rounding, and brings the squares near 1
        together = math.ldexp(
            math.sqrt(math.fsum(times * math.ldexp(ratio, -unit) ** 2 for ratio, times in ratios)), unit
        )
        made = OneNumber(Gaussian(1.0), max(up(together, FEW_ROUNDINGS), _LEAST_SHIFT))
    return made if exact else AtMost(made)
