"""The distance between a sum of rounded shares and the rounded sum with uniform noise.

Each party rounds its own share z_i to the lattice of step h, and a sum of rounded numbers is not the rounded sum. But
the law of sum round(z_i) equals the law of round(T + U_1 + ... + U_(m-1)), with T = sum z_i and U_i uniform on (-h/2,
h/2), except for aliasing. Both have a periodic characteristic function, the first (sum_j a_j)^m and the second sum_j
a_j^m, where a_j = phi((t + 2 pi j)/h) sinc(t/2 + pi j) (Poisson summation). They differ by products that contain a
factor a_j with j != 0. With b = sum over j != 0 of |a_j| <= 2 (phi(pi/h) + phi(3 pi/h) + ...) the difference is at
most m b (1 + b)^(m-1) + b at any t, hence at any point of the law. Without aliasing the sum is post-processing of T,
so T's curve applies for any sensitivity.

**Vectors.** The shares of a correlated Gaussian vector of d numbers are rounded number by number. The sum over j is
then over vectors of d whole numbers, and phi(t) <= exp(-v |t|^2/2), v the least eigenvalue of the covariance matrix of
a share: a product of d factors. Let b be the sum over j != 0 of one factor, b <= 2 (f + f^9 + f^25 + ...) for
f = exp(-v pi^2/(2 h^2)). All terms with some j != 0 are together at most a = (1 + b)^d - 1. The two characteristic
functions are at most 1 and differ by at most (m + 1) a, hence the laws differ by at most that much at any point. Both
sums stay within n = 40 sd root(m)/h + m/2 + 1 steps, but for a probability of d e^-790, because m rounding errors (or
uniform numbers) are at most m/2 steps. So the total variation is at most (2 n + 1)^d (m + 1) a + d e^-790.
"""

from __future__ import annotations

import math

import numpy as np

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.normal_mixture import NormalMixture
from hush.numerics.rounding import FEW_ROUNDINGS, SPECIAL_FUNCTION, down

__all__ = ["log_aliasing", "log_vector_variation", "rounding_variation"]

_WIDE = 40.0  # standard deviations; a normal number is beyond them with a probability below e^-790
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


def log_vector_variation(share_noise: NormalMixture, parties: int, step: float) -> float:
    """The logarithm of (2 n + 1)^d (m + 1) a for a correlated Gaussian share; infinite on a coarse lattice."""
    d, steps = share_noise.dimension, math.sqrt(share_noise.variance) / step
    least = down(steps * steps * (1.0 - share_noise.correlation), FEW_ROUNDINGS)  # the least eigenvalue, in steps
    exponent = 0.5 * math.pi**2 * least
    if exponent < 1.0:
        return math.inf
    log_b = math.log(2.0) - exponent - math.log1p(-math.exp(-8.0 * exponent))
    log_a = math.log(d) + log_b + (d - 1) * math.log1p(math.exp(log_b))  # (1 + b)^d - 1 <= d b (1 + b)^(d - 1)
    points = 2.0 * (_WIDE * steps * math.sqrt(parties) + 0.5 * parties + 1.0) + 1.0
    return d * math.log(points) + math.log(parties + 1.0) + log_a
