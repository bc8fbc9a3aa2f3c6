"""Lower bounds for a vector at delta = 0: by the volume of the moves, and by a vector field.

**Volume** (Hardt and Talwar 2010). If a point y away can be reached by n(y) allowed moves, the density p satisfies
p(x + y) >= e^(-eps n(y)) p(x). The integral over y gives p <= 1/W with W the integral of e^(-eps n(y)). Of all
densities of height at most 1/W, the one that is constant on a ball around 0 of volume W has the least E |X|^2, and the
one that is constant on an l1 ball the least E |X|_1.

**Vector field.** The proof is in docs/maths/limit.md. It bounds the variance of every density whose logarithm changes
by at most eps times the length of a move. The density of a private noise is within a factor e^eps of such a function,
so the bound holds for every noise after division by e^eps.
"""

from __future__ import annotations

import math

import numpy as np

from hush.calibration.projection_bound import reach
from hush.numerics.logspace import logsumexp
from hush.numerics.rounding import CLOSED_FORM, down
from hush.privacy.sensitivity import Sensitivity

__all__ = ["by_pure_privacy"]

_MOST_TERMS = 20_000
#: Above this number of numbers the volume of one-sided moves, a sum over how many are positive, is not computed.
_MOST_SIDES = 1000


def by_pure_privacy(epsilon: float, bound: Sensitivity, loss: str) -> float:
    """A lower bound on the average loss of one number, for every additive noise with delta = 0 on the real numbers."""
    count, move = bound.moving or 1, reach(bound, bound.moving or 1)
    power = 2 if loss == "variance" else 1
    if isinstance(bound.linf, tuple) and bound.is_box and count == len(bound.linf):
        volume_move = math.exp(math.fsum(math.log(c) for c in bound.linf) / count)  # the box of the same volume
    else:
        volume_move = move
    if bound.one_sided and count > 1:
        found = [_cap(count, _log_one_sided(count, epsilon), loss) * volume_move**power]
    else:
        box = _log_growth(count, epsilon) + count * math.log(2.0)
        found = [_cap(count, box, loss) * volume_move**power]
        if loss == "variance":
            found.append(math.exp(-epsilon) * _field_of_box(count) * (move / epsilon) ** 2)
    if bound.l2 is not None and bound.linf is None and bound.l1 is None and bound.moving == bound.dimension:
        found += _by_ball(count, epsilon, bound.l2, loss)
    return down(max(found), CLOSED_FORM)


def _by_ball(count: int, epsilon: float, radius: float, loss: str) -> list[float]:
    """The bounds for all moves of a Euclidean length up to `radius`."""
    volume = _cap(count, _log_growth(count, epsilon) + _log_ball(count), loss)
    if loss == "mae":
        return [volume * radius]
    return [volume * radius**2, math.exp(-epsilon) * (count + 1.0) * (radius / epsilon) ** 2]


def _cap(count: int, log_volume: float, loss: str) -> float:
    """The least average loss of a density in `count` dimensions that is at most 1/W, from log W."""
    if loss == "variance":
        return math.exp(2.0 * (log_volume - _log_ball(count)) / count) / (count + 2.0)
    return 0.5 * math.exp((log_volume + math.lgamma(count + 1.0)) / count) / (count + 1.0)


def _log_ball(count: int) -> float:
    """log of the volume of the Euclidean unit ball."""
    return 0.5 * count * math.log(math.pi) - math.lgamma(0.5 * count + 1.0)


def _log_growth(power: int, epsilon: float) -> float:
    """log of a lower bound on the integral of e^(-eps ceil(r)) over d(r^power), r > 0; 0 for power 0.

    It is the sum over n >= 1 of q^n (n^power - (n - 1)^power), q = e^-eps: (1 - q) times the sum of q^n n^power.
    All terms are positive, so a part of the sum is a lower bound. Where there are too many terms, ceil(r) <= r + 1.
    """
    if power == 0:
        return 0.0
    simple = math.lgamma(power + 1.0) - power * math.log(epsilon) - epsilon
    last = math.ceil((power + 12.0 * math.sqrt(power) + 60.0) / epsilon)
    if last > _MOST_TERMS:
        return simple
    n = np.arange(1.0, last + 1.0)
    return max(simple, math.log(-math.expm1(-epsilon)) + float(logsumexp(power * np.log(n) - epsilon * n)))


def _log_one_sided(count: int, epsilon: float) -> float:
    """log W for moves of one sign: y is reached by ceil(max y+) moves up and ceil(max y-) moves down, and k of its
    numbers are positive.
    """
    if count > _MOST_SIDES:
        return -math.inf
    growth = [_log_growth(k, epsilon) for k in range(count + 1)]
    choose = [math.lgamma(count + 1.0) - math.lgamma(k + 1.0) - math.lgamma(count - k + 1.0) for k in range(count + 1)]
    return float(logsumexp([choose[k] + growth[k] + growth[count - k] for k in range(count + 1)]))


def _field_of_box(count: int) -> float:
    """(d + 1)(d + (d - 1) mu)/d, with mu the least value of 1/y - 1 + y + (d/3 - 1) y^2 for 0 < y <= 1.

    The function is convex, so the tangent at any point of (0, 1] is below it, and a point near the minimum gives nearly
    the minimum.
    """
    curvature = count / 3.0 - 1.0
    y = 1.0
    for _ in range(60 if curvature > 0.0 else 0):  # Newton's method for 2 c y^3 + y^2 = 1
        y -= (2.0 * curvature * y**3 + y * y - 1.0) / (6.0 * curvature * y * y + 2.0 * y)
    slope = 1.0 - 1.0 / (y * y) + 2.0 * curvature * y
    least = 1.0 / y - 1.0 + y + curvature * y * y
    mu = least - (abs(slope) if curvature > 0.0 else 0.0)
    return (count + 1.0) * (count + (count - 1.0) * mu) / count
