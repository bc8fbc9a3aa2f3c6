"""The accounting of the flipped Huber paper (Section VI): (xi, eta)-zCDP added over steps, then Bun and Steinke's
Lemma 3.5.

Kept beside the exact accounting to show what it costs, and to redo the paper's Table III as it was made. All amounts
are for one number of sensitivity 1 released `times` times.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.errors import Unsupported, budgets, deltas, whole
from hush.noise.contract import Law
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.rounding import CLOSED_FORM, down, up

__all__ = ["ROUTES", "eta_left", "flipped_huber", "gaussian"]


def eta_left(epsilon: float, delta: float, xi: float = 0.0) -> float:
    """The eta with xi + eta + 2 sqrt(eta log(1/delta)) = epsilon: (sqrt(log(1/delta) + epsilon - xi) -
    sqrt(log(1/delta)))^2.
    """
    tail = -math.log(delta)
    rest = max(epsilon - xi, 0.0)
    return (rest / (math.sqrt(tail + rest) + math.sqrt(tail))) ** 2  # the difference of roots without cancellation


def gaussian(epsilon: float, delta: float, times: int, *, kept: float = 0.0) -> Gaussian:
    """sigma = sqrt(times / (2 (eta - kept))); `kept` is the part of eta that other releases take.

    >>> round(gaussian(1.0, 1e-6, 10).sigma ** 2, 2)
    286.22
    """
    left = eta_left(*_budget(epsilon, delta)) - kept
    return Gaussian(up(math.sqrt(whole("times", times) / (2.0 * left)), CLOSED_FORM))


def flipped_huber(epsilon: float, delta: float, times: int, *, kept: float = 0.0) -> Law:
    """The least-variance flipped Huber noise by Theorem 9: alpha = R^-1(xi/eta), gamma = sqrt(times/(2 eta)), best
    over xi.

    R(a) = a^2 up to 1 and 2a - 1 beyond. The best xi is always an end: xi = 0 is the Gaussian; xi = epsilon is not
    attained and means Laplace noise with epsilon/times a step, which is returned as what it is.

    >>> type(flipped_huber(1.0, 1e-6, 14)).__name__, type(flipped_huber(1.0, 1e-6, 15)).__name__
    ('Laplace', 'Gaussian')
    """
    budget, share = _budget(epsilon, delta)
    count = whole("times", times)
    most = _largest_xi(budget, share, kept)
    found: list[Law] = [gaussian(budget, share, count, kept=kept), Laplace(up(count / most, CLOSED_FORM))]
    for xi in most * (1.0 - np.geomspace(1e-9, 1.0, 60)[:-1]):  # inner points, in case an end is not the best after all
        eta = eta_left(budget, share, float(xi)) - kept
        if eta <= 0.0:
            continue
        ratio = float(xi) / eta
        alpha = math.sqrt(ratio) if ratio <= 1.0 else 0.5 * (ratio + 1.0)
        if alpha < 1e6:  # further out it is Laplace noise to all digits
            found.append(FlippedHuber(down(alpha, CLOSED_FORM), up(math.sqrt(count / (2.0 * eta)), CLOSED_FORM)))
    return min(found, key=lambda noise: noise.variance)


#: The families that have a route, by name.
ROUTES: dict[str, Callable[..., Law]] = {"gaussian": gaussian, "flipped_huber": flipped_huber}


def _largest_xi(epsilon: float, delta: float, kept: float) -> float:
    """What is left for xi when only the other releases' eta is spent."""
    return epsilon - kept - 2.0 * math.sqrt(-kept * math.log(delta))


def _budget(epsilon: float, delta: float) -> tuple[float, float]:
    share = float(deltas("delta", delta, zero=True))
    if share == 0.0:
        raise Unsupported("zCDP says nothing for delta = 0; write accounting='exact', or give a delta such as 1e-6.")
    return float(budgets("epsilon", epsilon)), share
