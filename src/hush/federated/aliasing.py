"""The distance between a sum of rounded shares and the rounded sum with uniform noise.

Each party rounds its own share z_i to the lattice of step h, and a sum of rounded numbers is not the rounded sum. But
the law of sum round(z_i) equals the law of round(T + U_1 + ... + U_(m-1)), with T = sum z_i and U_i uniform on (-h/2,
h/2), except for aliasing. Both have a periodic characteristic function, the first (sum_j a_j)^m and the second sum_j
a_j^m, where a_j = phi((t + 2 pi j)/h) sinc(t/2 + pi j) (Poisson summation). They differ by products that contain a
factor a_j with j != 0. With b = sum over j != 0 of |a_j| <= 2 (phi(pi/h) + phi(3 pi/h) + ...) the difference is at
most m b (1 + b)^(m-1) + b at any t, hence at any point of the law. Without aliasing the sum is post-processing of T,
so T's curve applies for any sensitivity.
"""

from __future__ import annotations

import math

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.numerics.rounding import SPECIAL_FUNCTION, down

__all__ = ["log_aliasing", "rounding_variation"]

_BITS = 61  # bits: a share beyond 2^61 steps can overflow the 64-bit word of a sum


def log_aliasing(share_noise: Law, parties: int, step: float) -> float:
    """The logarithm of m b (1 + b)^(m-1) + b."""
    if share_noise.stability is None:
        raise Unsupported(
            f"there is no theorem here about sums of rounded {type(share_noise).__name__} shares; "
            "use Stable or Gaussian noise."
        )
    alpha, scale = share_noise.stability
    ratio = scale * math.pi / step
    first = -(ratio**alpha)
    # phi((2j-1) r) <= phi(r)^(2j-1), so a geometric series bounds the sum
    b = math.log(2.0) + first - math.log1p(-math.exp(first))
    return b + math.log(parties + 1.0) + (parties - 1) * math.log1p(math.exp(b))


def rounding_variation(share_noise: Law, parties: int, step: float, coordinates: int) -> float:
    """A bound on the total variation that aliasing and overflow of 64-bit words add, over all coordinates."""
    leaves = 2.0 * parties * float(np.asarray(share_noise.sf(down(math.ldexp(step, _BITS), SPECIAL_FUNCTION))))
    aliased = math.exp(min(log_aliasing(share_noise, parties, step) + 64.0 * math.log(2.0), 0.0))
    return coordinates * (leaves + aliased)
