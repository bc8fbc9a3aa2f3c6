"""From Renyi divergences and their relatives (zCDP, tCDP, mCDP) to (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import as_float, deltas, non_negative, positive, reject
from hush.numerics.rounding import ROOTS_AND_LOGARITHMS, TWO_ROUNDINGS, up
from hush.numerics.search import narrowed_minimum

__all__ = [
    "best_delta",
    "best_epsilon",
    "check_order",
    "mcdp_to_pdp",
    "rdp_to_delta",
    "rdp_to_epsilon",
    "rdp_to_epsilon_mironov",
    "tcdp_to_epsilon",
    "zcdp_to_epsilon",
]


def check_order(value: Any) -> float:
    """The order of a Renyi divergence, checked."""
    order = as_float("order", value, "a finite number, 1 or greater")
    if not 1.0 <= order < math.inf:
        raise reject(
            "order",
            value,
            "a finite number, 1 or greater",
            "write order=2.0; order=1.0 is the Kullback-Leibler divergence",
        )
    return order


def _one_delta(value: Any) -> float:
    return float(deltas("delta", as_float("delta", value, "in (0, 1)"), zero=False))


def rdp_to_epsilon_mironov(order: float, divergence: float, delta: float) -> float:
    """(order, divergence)-RDP gives epsilon = divergence + log(1/delta)/(order - 1) (Mironov 2017, Proposition 3)."""
    order, delta = check_order(order), _one_delta(delta)
    return (
        math.inf
        if order == 1.0
        else up(non_negative("divergence", divergence) - math.log(delta) / (order - 1.0), ROOTS_AND_LOGARITHMS)
    )


def rdp_to_delta(order: float, divergence: float, epsilon: float) -> float:
    """delta = e^((a-1)(t - eps))/(a - 1) (1 - 1/a)^a (Canonne, Kamath and Steinke 2020; OSGT paper, eq. 20), at most 1.

    >>> round(rdp_to_delta(5.0, 0.3, 1.0), 12)
    0.00498156033
    """
    order, t = check_order(order), non_negative("divergence", divergence)
    epsilon = as_float("epsilon", epsilon, "a finite number")
    if not math.isfinite(epsilon):
        raise reject("epsilon", epsilon, "a finite number")
    if order == 1.0:
        return 1.0
    log_delta = (order - 1.0) * (t - epsilon) - math.log(order - 1.0) + order * math.log1p(-1.0 / order)
    # each term of the exponent has an error of one unit in its last place, so the sizes of the terms decide the error
    sizes = (order - 1.0) * (t + abs(epsilon)) + abs(math.log(order - 1.0)) + 2.0
    return min(math.exp(min(log_delta, 0.0)) * (1.0 + TWO_ROUNDINGS.share * sizes), 1.0)


def rdp_to_epsilon(order: float, divergence: float, delta: float) -> float:
    """eq. (20) of the OSGT paper solved for epsilon: t + log(1 - 1/a) - (log delta + log a)/(a - 1), never below 0."""
    order, t, delta = check_order(order), non_negative("divergence", divergence), _one_delta(delta)
    if order == 1.0:
        return math.inf
    last = (math.log(delta) + math.log(order)) / (order - 1.0)
    slack = 8e-16 * (t + abs(math.log1p(-1.0 / order)) + (abs(math.log(delta)) + math.log(order)) / (order - 1.0))
    return max(t + math.log1p(-1.0 / order) - last + slack, 0.0)


def _least_over_orders(value: Callable[[float], float], most: float) -> float:
    """The least value of a bound over orders in (1, most]. Every order gives a valid bound, so a coarse search is sound
    and a fine one is tight.
    """

    def values(grid: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([value(1.0 + math.exp(t)) for t in grid])

    return narrowed_minimum(values, math.log(1e-4), math.log(most - 1.0), points=(33, *[17] * 6))[1]


def best_delta(divergence: Callable[[float], float], epsilon: float, *, largest_order: float = 1e6) -> float:
    """eq. (20) of the OSGT paper minimised over the order, for a divergence given as a function of the order.

    >>> from hush import OSGT
    >>> from hush.privacy.paper_bounds import osgt_theorem2
    >>> noise = OSGT(15, 630**0.5)
    >>> best_delta(lambda a: osgt_theorem2(noise, a, 8**0.5, k=8), 0.9) < 1.0
    True
    """
    return _least_over_orders(lambda order: rdp_to_delta(order, divergence(order), epsilon), largest_order)


def best_epsilon(divergence: Callable[[float], float], delta: float, *, largest_order: float = 1e6) -> float:
    """The least epsilon over all orders by eq. (20) of the OSGT paper."""
    return _least_over_orders(lambda order: rdp_to_epsilon(order, divergence(order), delta), largest_order)


def zcdp_to_epsilon(rho: float, delta: float, *, xi: float = 0.0) -> float:
    """(xi, rho)-zCDP gives epsilon = xi + rho + 2 sqrt(rho log(1/delta)) (Bun and Steinke 2016, Proposition 1.3 and
    Lemma 3.5).
    """
    rho, xi = non_negative("rho", rho), non_negative("xi", xi)
    return up(xi + rho + 2.0 * math.sqrt(-rho * math.log(_one_delta(delta))), ROOTS_AND_LOGARITHMS)


def tcdp_to_epsilon(rho: float, omega: float, delta: float) -> float:
    """(rho, omega)-tCDP, D_a <= rho a for 1 < a < omega, gives epsilon (Bun, Dwork, Rothblum and Steinke 2018, Lemma
    6).

    rho + 2 sqrt(rho log(1/delta)) while log(1/delta) <= (omega - 1)^2 rho, and rho omega + log(1/delta)/(omega - 1)
    beyond.
    """
    rho, needed = non_negative("rho", rho), -math.log(_one_delta(delta))
    omega = as_float("omega", omega, "greater than 1")
    if omega <= 1.0:
        raise reject("omega", omega, "greater than 1")
    if needed <= (omega - 1.0) ** 2 * rho:
        return up(rho + 2.0 * math.sqrt(rho * needed), ROOTS_AND_LOGARITHMS)
    return up(rho * omega + needed / (omega - 1.0), ROOTS_AND_LOGARITHMS)


def mcdp_to_pdp(mu: float, tau: float, epsilon: float) -> float:
    """(mu, tau)-mCDP is (epsilon, delta)-pDP with delta = exp(-(eps - mu)^2/(2 tau^2)) + exp(-(eps + mu)^2/(2 tau^2))
    (Zhao, Lemma 7).
    """
    mu, tau = non_negative("mu", mu), positive("tau", tau)
    epsilon = positive("epsilon", epsilon)
    if epsilon <= mu:
        raise reject("epsilon", epsilon, f"greater than mu = {mu:g}")
    near, far = (epsilon - mu) / tau, (epsilon + mu) / tau
    slack = 1.0 + TWO_ROUNDINGS.share * (far * far + 4.0)
    return min((math.exp(-0.5 * near * near) + math.exp(-0.5 * far * far)) * slack, 1.0)
