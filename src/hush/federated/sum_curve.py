"""The privacy curve of a sum of rounded shares.

On a fine lattice the curve of the unrounded sum applies by a theorem; on a coarse lattice `RoundedSum` computes it.
Both include the probability that a draw saturates its 64-bit word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.federated.aliasing import log_vector_variation
from hush.federated.divisible import power
from hush.federated.lattice import RoundedSum
from hush.noise.contract import Law, Noise
from hush.noise.normal_mixture import NormalMixture
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import next_up
from hush.privacy.compose import curve
from hush.privacy.curve import Curve

__all__ = ["Near", "rounded_sum_curve", "rounded_vectors_curve", "saturated"]

Array = NDArray[np.float64]
_SMALL = -90.0  # the logarithm of the largest total variation that a fine lattice may have: below 1e-39


@dataclass(frozen=True)
class Near(Curve):
    """The curve of a mechanism within total variation `distance` of one with a known curve.

    delta(epsilon) + (1 + e^epsilon) distance.
    """

    inner: Curve
    distance: float

    def _forward(self, epsilon: Array) -> Bracket:
        found, moved = self.inner.delta_bracket(epsilon), (1.0 + np.exp(np.minimum(epsilon, 700.0))) * self.distance
        upper = np.minimum(next_up(np.asarray(found.upper) + moved), 1.0)
        return Bracket(np.maximum(np.asarray(found.lower) - moved, 0.0), upper)


def saturated(noise: Noise, count: int, step: float) -> float:
    """A bound on the probability that one of `count` draws on the lattice saturates: draws are limited to +-2^62."""
    return 2.0 * count * float(np.asarray(noise.marginal.sf(2.0**61 * step)))


def rounded_sum_curve(noise: Law, count: int, step: float, sensitivity: Any, coordinates: int = 1) -> Curve:
    """The privacy of the sum of `count` rounded shares, saturating draws included.

    On a fine lattice it follows from a theorem, otherwise from the certificate of `RoundedSum`. Theorem: without the
    terms m != 0, phi_r^n is the transform of round(T + U_1 + ... + U_(n-1)), with U_i uniform on a step, which is
    post-processing of T. Those terms change the law by at most A = 3 (n + 1) phi(pi/h) at any point. If phi(pi/h) <=
    e^-400/n^2, the sum over e^200 points and the mass beyond them (at most e^-200 times the scale in steps) are
    together less than 1e-60, and for 10^10 coordinates less than 1e-50.
    """
    law = RoundedSum(noise, count, step, lazy=True)
    total = power(law.noise, Fraction(count), upwards=False)
    lost = coordinates * saturated(law.noise, count, step)
    fine = float(law.decay(np.array(math.pi))) >= 400.0 + 2.0 * math.log(count)
    if fine and count <= 10**9 and float(total.isf(0.25)) < 1e20 * step:
        return Near(curve(total, sensitivity), 1e-50 + lost)
    made = curve(RoundedSum(noise, count, step), sensitivity)
    return Near(made, lost) if lost > 0.0 else made


def rounded_vectors_curve(noise: Noise, count: int, step: float, sensitivity: Any) -> Curve:
    """The privacy of the sum of `count` rounded shares of a correlated Gaussian vector, saturating draws included.

    It is the curve of the unrounded sum with the total variation that `aliasing` proves; the lattice must be fine.
    """
    if not isinstance(noise, NormalMixture) or noise.freedom:
        raise Unsupported(f"nothing is proved about sums of rounded {type(noise).__name__} shares; use Gaussian ones.")
    fine = step
    while log_vector_variation(noise, count, fine) > _SMALL:
        fine *= 0.5
    if fine < step:
        raise Unsupported(f"a step of {step:g} is too coarse for shares of {noise}; use a step of {fine:g} or less.")
    total = power(noise, Fraction(count), upwards=False)
    return Near(curve(total, sensitivity), 1e-38 + noise.dimension * saturated(noise, count, step))
