"""The accounting of the flipped Huber paper (Section VI): (xi, eta)-zCDP summed over steps, then Bun and Steinke's
Lemma 3.5.

It is kept to show what it costs compared with exact accounting, and to reproduce the paper's Table III. All amounts
are for one number of sensitivity 1 that is released `times` times.
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
    """The eta with xi + eta + 2 sqrt(eta log(1/delta)) = epsilon.

    It is (sqrt(log(1/delta) + epsilon - xi) - sqrt(log(1/delta)))^2.
    """
    tail = -math.log(delta)
    rest = max(epsilon - xi, 0.0)
    return (rest / (math.sqrt(tail + rest) + math.sqrt(tail))) ** 2  # this form has no cancellation


def gaussian(epsilon: float, delta: float, times: int, *, kept: float = 0.0) -> Gaussian:
    """Gaussian noise with sigma = sqrt(times / (2 (eta - kept))); `kept` is the part of eta that other releases use.

    >>> round(gaussian(1.0, 1e-6, 10).sigma ** 2, 2)
    286.22
    """
    left = eta_left(*_budget(epsilon, delta)) - kept
    return Gaussian(up(math.sqrt(whole("times", times) / (2.0 * left)), CLOSED_FORM))


def flipped_huber(epsilon: float, delta: float, times: int, *, kept: float = 0.0) -> Law:
    """The flipped Huber noise of least variance by Theorem 9: alpha = R^-1(xi/eta), gamma = sqrt(times/(2 eta)).

    R(a) = a^2 up to 1 and 2a - 1 beyond. The best xi is always an end of its range. xi = 0 is Gaussian noise. xi =
    epsilon is a limit: Laplace noise with epsilon/times per step. In both cases the function returns that law.

    >>> type(flipped_huber(1.0, 1e-6, 14)).__name__, type(flipped_huber(1.0, 1e-6, 15)).__name__
    ('Laplace', 'Gaussian')
    """
    budget, share = _budget(epsilon, delta)
    count = whole("times", times)
    most = _largest_xi(budget, share, kept)
    found: list[Law] = [gaussian(budget, share, count, kept=kept), Laplace(up(count / most, CLOSED_FORM))]
    for xi in most * (1.0 - np.geomspace(1e-9, 1.0, 60)[:-1]):  # inner points too, in case no end is best
        eta = eta_left(budget, share, float(xi)) - kept
        if eta <= 0.0:
            continue
        ratio = float(xi) / eta
        alpha = math.sqrt(ratio) if ratio <= 1.0 else 0.5 * (ratio + 1.0)
        if alpha < 1e6:  # larger alpha is Laplace noise to all digits
            found.append(FlippedHuber(down(alpha, CLOSED_FORM), up(math.sqrt(count / (2.0 * eta)), CLOSED_FORM)))
    return min(found, key=lambda noise: noise.variance)


#: The families with a theorem for this accounting, by name.
ROUTES: dict[str, Callable[..., Law]] = {"gaussian": gaussian, "flipped_huber": flipped_huber}


def _largest_xi(epsilon: float, delta: float, kept: float) -> float:
    """The largest xi that remains after the other releases have used their part of eta."""
    return epsilon - kept - 2.0 * math.sqrt(-kept * math.log(delta))


def _budget(epsilon: float, delta: float) -> tuple[float, float]:
    share = float(deltas("delta", delta, zero=True))
    if share == 0.0:
        raise Unsupported(
            "zCDP accounting needs a delta greater than 0, got delta = 0; "
            "write accounting='exact', or a delta such as 1e-6."
        )
    return float(budgets("epsilon", epsilon)), share
