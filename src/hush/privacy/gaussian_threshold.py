"""The threshold y of each method to choose a Gaussian amount.

With d = sensitivity/sigma, y = eps/d - d/2 is the standardised threshold of the privacy loss (y = a sqrt 2 in Zhao's
paper), and then sigma = sensitivity/d with d = sqrt(y^2 + 2 eps) - y. Each method of the paper is a choice of y; the
optimal ones solve

    DP:    delta = Q(y) - e^eps Q(y + d)              (Zhao, eq. 5)
    pDP:   delta = Q(y) + Q(y + d)                    (Zhao, eq. 13)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.numerics import special
from hush.numerics.mills import drop, mills
from hush.numerics.root import narrowed_maximum, newton_roots

__all__ = ["Y", "log_dp", "log_pdp", "step"]

Array = NDArray[np.float64]

_SQRT_2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)


def step(y: Array, epsilon: Array) -> Array:
    """d = sqrt(y^2 + 2 eps) - y, without cancellation."""
    root = np.hypot(y, np.sqrt(2.0 * epsilon))
    return np.where(y > 0.0, 2.0 * epsilon / (np.maximum(y, 0.0) + root), root - np.minimum(y, 0.0))


def log_dp(y: Array, epsilon: Array) -> Array:
    """log of Q(y) - e^eps Q(y + d)."""
    d = step(y, epsilon)
    result = np.empty(y.shape)
    far = y >= 0.0
    with np.errstate(divide="ignore"):  # of an epsilon so small that the difference is 0 in floats
        result[far] = -0.5 * y[far] ** 2 - math.log(_SQRT_2PI) + np.log(drop(y[far], d[far]))
    if not far.all():
        z = -y[~far]
        zero, density = np.zeros_like(z), np.exp(-0.5 * z * z) / _SQRT_2PI
        result[~far] = np.log(
            -np.expm1(-0.5 * z * z) + density * (drop(zero, z) + drop(zero, np.maximum(d[~far] - z, 0.0)))
        )
    return result


def log_pdp(y: Array, epsilon: Array) -> Array:
    """log of Q(y) + Q(y + d)."""
    return np.logaddexp(special.log_ndtr(-y), special.log_ndtr(-y - step(y, epsilon)))


def _slope_dp(y: Array, epsilon: Array, log_delta: Array) -> Array:
    """-d log delta/dy = phi(y) d/(sqrt(y^2 + 2 eps) delta)."""
    root = np.hypot(y, np.sqrt(2.0 * epsilon))
    return np.exp(-0.5 * y * y - log_delta) / _SQRT_2PI * step(y, epsilon) / root


def _slope_pdp(y: Array, epsilon: Array, log_delta: Array) -> Array:
    root = np.hypot(y, np.sqrt(2.0 * epsilon))
    far = y + step(y, epsilon)
    return (np.exp(-0.5 * y * y - log_delta) + np.exp(-0.5 * far * far - log_delta) * y / root) / _SQRT_2PI


def _solve(log_value: Any, slope: Any, epsilon: Array, log_target: Array, low: Array, high: Array) -> Array:
    """Zhao's Algorithm 1, with Newton steps inside the bracket, and bisection where a step would leave it.

    log delta is concave in y, so Newton steps from the upper end descend to the root; five or six are enough.
    """
    shape = high.shape
    epsilon, log_target, low, high = (np.asarray(v, dtype=np.float64).ravel() for v in (epsilon, log_target, low, high))

    def probe(y: Array, at: NDArray[np.int64]) -> tuple[Array, Array]:
        value = log_value(y, epsilon[at])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            return value - log_target[at], slope(y, epsilon[at], value)

    return newton_roots(probe, low, high, lambda y, at: np.hypot(y, np.sqrt(2.0 * epsilon[at]))).reshape(shape)


# -- one y for each method -----------------------------------------------------------------------------------


def _y_optimal(epsilon: Array, delta: Array) -> Array:
    """Theorem 2, solved by Algorithm 1 inside the brackets of Lemma 14."""
    # (90c): a > -inverfc((2 - 2 delta)/(e^eps + 1)), that is y > ndtri((1 - delta)/(e^eps + 1))
    low = special.ndtri_exp(np.log1p(-delta) - np.logaddexp(epsilon, 0.0))
    high = np.where(delta < 0.5, -special.ndtri(np.minimum(delta, 0.5)), 0.0)  # Lemma 10 (31b): a < inverfc(2 delta)
    # aim below delta by slightly more than the error bound of the certified curve, so that one check is enough
    return _solve(log_dp, _slope_dp, epsilon, np.log(delta) - 6e-14, low, np.maximum(high, low))


def _y_pdp_optimal(epsilon: Array, delta: Array) -> Array:
    """Theorem 6, between the ends of Lemma 5: inverfc(2 delta) < d < inverfc(delta)."""
    low, high = -special.ndtri(delta), -special.ndtri(0.5 * delta)
    return _solve(log_pdp, _slope_pdp, epsilon, np.log(delta), low, high)


def _y_mechanism1(epsilon: Array, delta: Array) -> Array:
    """Theorem 4, eq. (7a): u from Q(u) = delta + e^eps Q(sqrt(2 eps)), then Q(y) = delta Q(u)/(Q(u) - e^eps Q(u +
    d(u))).
    """
    root = np.sqrt(2.0 * epsilon)
    # 1/2 - Q(u) = (1 - erfcx(sqrt eps))/2 - delta, the first difference without cancellation
    middle = 0.5 * drop(np.zeros_like(root), root) / mills(0.0) - delta
    defined = middle > -0.5
    u = _SQRT_2 * special.erfinv(np.where(defined, 2.0 * middle, 0.0))
    log_tail = np.log(delta) + special.log_ndtr(-u) - log_dp(u, epsilon)
    return np.where(defined, -special.ndtri_exp(np.minimum(log_tail, -1e-300)), 0.0)


def _y_mechanism2(epsilon: Array, delta: Array) -> Array:
    """Theorem 5, eq. (9): c^2 = ln(2/(sqrt(16 delta + 1) - 1)), rationalised so that small delta keeps its digits."""
    if (delta >= 0.5).any():
        raise InvalidParameter("method='mechanism2' needs delta below 0.5; use method='mechanism1' or 'optimal'.")
    return np.sqrt(2.0 * (np.log((np.sqrt(16.0 * delta + 1.0) + 1.0) / 8.0) - np.log(delta)))


def _y_mechanism3(epsilon: Array, delta: Array) -> Array:
    """Theorem 8, eq. (14a): f = inverfc(delta)."""
    return -special.ndtri(0.5 * delta) + 0.0 * epsilon


def _y_mechanism4(epsilon: Array, delta: Array) -> Array:
    """Theorem 9, eq. (15a): g^2 = ln(2/(sqrt(8 delta + 1) - 1)), rationalised."""
    return np.sqrt(2.0 * (np.log((np.sqrt(8.0 * delta + 1.0) + 1.0) / 4.0) - np.log(delta))) + 0.0 * epsilon


def _y_zcdp(epsilon: Array, delta: Array) -> Array:
    """Section VII: rho = Delta^2/(2 sigma^2) and eps = rho + 2 sqrt(rho ln(1/delta)) give y = sqrt(2 ln(1/delta)).

    Mironov's conversion minimised over the order gives the same amount, so "rdp" shares it.
    """
    return np.sqrt(-2.0 * np.log(delta)) + 0.0 * epsilon


def _y_mcdp(epsilon: Array, delta: Array) -> Array:
    """Lemma 7 solved: exp(-y^2/2) + exp(-y^2/2 - eps) = delta (not the pDP optimum, erratum A.2.4)."""
    return np.sqrt(2.0 * (np.log1p(np.exp(-epsilon)) - np.log(delta)))


def _y_cks(epsilon: Array, delta: Array) -> Array:
    """eq. (20) of the OSGT paper at the best order a: d^2 = max over a of 2 (eps - c(a))/a, c(a) = log(1 - 1/a) -
    log(delta a)/(a - 1).
    """

    def square(log_excess: Array) -> Array:
        a = 1.0 + np.exp(log_excess)
        return np.asarray(2.0 * (epsilon - np.log1p(-1.0 / a) + (np.log(delta) + np.log(a)) / (a - 1.0)) / a)

    # each order gives a valid bound: the search only tightens it
    best = narrowed_maximum(square, np.full(epsilon.shape, -14.0), np.full(epsilon.shape, 30.0))
    d = np.sqrt(np.maximum(best, 0.0))
    return epsilon / d - 0.5 * d


Y: dict[str, Callable[[Array, Array], Array]] = {
    "optimal": _y_optimal,
    "mechanism1": _y_mechanism1,
    "mechanism2": _y_mechanism2,
    "pdp_optimal": _y_pdp_optimal,
    "mechanism3": _y_mechanism3,
    "mechanism4": _y_mechanism4,
    "zcdp": _y_zcdp,
    "rdp": _y_zcdp,
    "mcdp": _y_mcdp,
    "cks": _y_cks,
}
