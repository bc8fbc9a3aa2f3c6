"""Spherical noise with a generalised gamma radius: its delta by quadrature.

The noise is R U in R^d: U is uniform on the unit sphere, and the radius R has a density proportional to
r^alpha exp(-(r/s)^p). So the density at x is g(|x|), where log g(r) = (alpha - d + 1) log r - (r/s)^p + a constant. Let
a neighbour move the answer by 1. With r = |x|, and t the angle between x and the move, the distance to the moved centre
is

    rho^2 = r^2 - 2 r cos t + 1,        loss = log g(r) - log g(rho).

If g falls, the loss grows with t, so it exceeds epsilon from one angle t(r) on, and

    delta(epsilon) = E over R of the integral over t from t(r) to pi of (1 - e^(epsilon - loss)) w(t) dt,

where w is proportional to sin^(d-2) t. Gaussian noise has (alpha, p) = (d - 1, 2), ball noise (d - 1, 1).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

__all__ = ["delta", "least_variance"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(160)
_LEFT_OUT = 1e-14  # the probability of radii beyond the quadrature, at either end


def _log_density(r: np.ndarray, d: int, alpha: float, p: float, s: float) -> np.ndarray:
    return (alpha - d + 1.0) * np.log(r) - (r / s) ** p


def _where_it_has_fallen(r: np.ndarray, epsilon: float, d: int, alpha: float, p: float, s: float) -> np.ndarray:
    """The radius beyond r at which log g is epsilon less than at r, by bisection."""
    target = _log_density(r, d, alpha, p, s) - epsilon
    low, high = r.copy(), r + s * (epsilon + 2.0) + 1.0
    while np.any(_log_density(high, d, alpha, p, s) > target):
        high = 2.0 * high
    for _ in range(80):
        middle = 0.5 * (low + high)
        above = _log_density(middle, d, alpha, p, s) > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return high


def delta(epsilon: float, d: int, alpha: float, p: float, s: float) -> float:
    """The delta of a move by 1, for alpha <= d - 1 (then the density falls with the radius)."""
    shape = (alpha + 1.0) / p
    ends = s * special.gammaincinv(shape, np.array([_LEFT_OUT, 1.0 - _LEFT_OUT])) ** (1.0 / p)
    r = 0.5 * (ends[1] - ends[0]) * (_NODES + 1.0) + ends[0]
    log_mass = alpha * np.log(r / s) - (r / s) ** p - special.gammaln(shape) + math.log(p / s)
    far = _where_it_has_fallen(r, epsilon, d, alpha, p, s)
    first = np.arccos(np.clip((r**2 + 1.0 - far**2) / (2.0 * r), -1.0, 1.0))
    width = math.pi - first
    t = first[:, None] + 0.5 * width[:, None] * (_NODES + 1.0)
    rho = np.sqrt(np.maximum(r[:, None] ** 2 - 2.0 * r[:, None] * np.cos(t) + 1.0, 1e-300))
    loss = _log_density(r, d, alpha, p, s)[:, None] - _log_density(rho, d, alpha, p, s)
    gain = np.maximum(-np.expm1(epsilon - loss), 0.0) * np.sin(t) ** (d - 2)
    inner = (gain @ _WEIGHTS) * 0.5 * width / special.beta(0.5, 0.5 * (d - 1))
    return float(np.sum(np.exp(log_mass) * inner * _WEIGHTS) * 0.5 * (ends[1] - ends[0]))


def least_variance(epsilon: float, limit: float, d: int, alpha: float, p: float) -> float:
    """The variance of a coordinate at the least scale s whose delta is at most `limit`."""
    found = optimize.brentq(
        lambda log_s: math.log(max(delta(epsilon, d, alpha, p, math.exp(log_s)), 1e-300) / limit), -6.0, 6.0, xtol=1e-10
    )
    shape = math.exp(special.gammaln((alpha + 3.0) / p) - special.gammaln((alpha + 1.0) / p))
    return math.exp(2.0 * found) * shape / d
