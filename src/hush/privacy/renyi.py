"""Renyi divergences of every family, the papers' named bounds, and the conversions to (epsilon, delta).

With l(x) = log f(x)/f(x - s) and A = order - 1, the divergence is written so that nothing cancels, for orders near 1 and tiny shifts too:

    D = log(1 + I)/A,   I = E[ e^(A l) - 1 - A l ] + A E[ e^(-l) - 1 + l ]        (both terms never negative; A -> 0 gives KL)

because E e^(-l) = 1. Gaussian and Laplace are closed forms; step and lattice noises are sums; the rest is adaptive quadrature of the
positive integrand, returned with its error bound added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from hush.errors import Unsupported, as_float, deltas, non_negative, positive, reject, whole
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.lattice import Lattice
from hush.noise.osgt import OSGT
from hush.noise.steps import Steps
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.numerics.logspace import exp_excess
from hush.numerics.quadrature import integral
from hush.sensitivity import Sensitivity

__all__ = [
    "best_delta",
    "best_epsilon",
    "flipped_huber_theorem9",
    "mcdp_to_pdp",
    "osgt_appendix_e",
    "osgt_theorem2",
    "rdp_to_delta",
    "rdp_to_epsilon",
    "rdp_to_epsilon_mironov",
    "renyi",
    "tcdp_to_epsilon",
    "zcdp_to_epsilon",
]

Array = NDArray[np.float64]
_UP = 1.0 + 2e-15  # a few roundings of a sum of positive terms


def _order(value: Any) -> float:
    order = as_float("order", value, "a finite number, 1 or greater")
    if not 1.0 <= order < math.inf:
        raise reject("order", value, "a finite number, 1 or greater", "the order 1 is the Kullback-Leibler divergence")
    return order


def renyi(noise: Law, order: float, sensitivity: Any = 1.0) -> float:
    """The Renyi divergence of a noise from its shifted copy, as an upper bound; order 1 is the Kullback-Leibler divergence.

    Guarantees: an upper bound on D_order(M(D) || M(D')) for one number that moves by at most the sensitivity; for Gaussian noise also for
    l2 sensitivities. Infinite where the supports differ.

    >>> from hush import Gaussian
    >>> round(renyi(Gaussian(2.0), 3.0), 12)
    0.375
    """
    if not isinstance(noise, Law):
        raise reject("noise", noise, "a noise family", "write for example Gaussian(1.0)")
    order, bound, noise = _order(order), Sensitivity.of(sensitivity), noise.plain()
    if isinstance(noise, Gaussian):
        return _gaussian(noise, order, bound.l2_bound)
    if not bound.is_box:
        raise Unsupported(f"{type(noise).__name__} needs sensitivity=<number>; for OSGT under an l2 bound see osgt_theorem2.")
    # For a symmetric unimodal noise the worst case is l0 coordinates, each at its full shift, and divergences of products add.
    return math.fsum(count * _worst(noise, order, shift) for shift, count in bound.shifts) * (1.0 + 1e-15)


def _worst(noise: Law, order: float, shift: float) -> float:
    return max(_one_dimension(noise, order, s) for s in noise.worst_shifts(shift))


def _one_dimension(noise: Law, order: float, shift: float) -> float:
    if isinstance(noise, TruncatedLaplace):
        return math.inf  # the copy leaves an edge uncovered
    if isinstance(noise, Laplace):
        return _laplace(noise, order, shift)
    if isinstance(noise, Steps):
        pieces = noise.pieces(shift)
        held = pieces.mass > 0.0
        if np.isinf(pieces.loss[held]).any():
            return math.inf
        return _from_terms(pieces.mass[held], pieces.loss[held], order)
    if isinstance(noise, Discrete):
        return _discrete(noise, order, shift)
    if isinstance(noise, Lattice):
        return _lattice(noise, order, shift)
    return _by_quadrature(noise, order, shift)


def _gaussian(noise: Gaussian, order: float, shift: float) -> float:
    ratio = shift / noise.sigma
    return 0.5 * order * ratio * ratio * (1.0 + 1e-15)


def _laplace(noise: Laplace, order: float, shift: float) -> float:
    """I = (order E(A d) + A E(-order d))/(2 order - 1) with E(x) = e^x - 1 - x; Mironov 2017, Proposition 6, rearranged."""
    d, a = shift / noise.scale, order - 1.0
    if a * d > 600.0:  # the other terms are below e^-600 of this one
        return (a * d + math.log(order / (2.0 * order - 1.0))) / a * (1.0 + 1e-14)
    if a == 0.0:
        return float(exp_excess(-d)) * (1.0 + 1e-14)
    inner = (order * float(exp_excess(a * d)) + a * float(exp_excess(-order * d))) / (2.0 * order - 1.0)
    return math.log1p(inner) / a * (1.0 + 1e-14)


def _finish(log_inner: float, a: float) -> float:
    """D from log I (or from log I/A where A = 0)."""
    if a == 0.0:
        return math.exp(log_inner)
    return float(np.logaddexp(0.0, log_inner)) / a if log_inner > -30.0 else math.exp(log_inner) / a


def _log_terms(log_mass: Array, loss: Array, a: float) -> Array:
    """log of mass (E(A l) + A E(-l)), or of mass E(-l) for A = 0; safe for losses of any size."""
    forward = _log_excess(a * loss) if a > 0.0 else np.full_like(loss, -np.inf)
    backward = _log_excess(-loss) + (math.log(a) if a > 0.0 else 0.0)
    return log_mass + np.logaddexp(forward, backward)


def _log_excess(x: Array) -> Array:
    """log(e^x - 1 - x)."""
    with np.errstate(divide="ignore"):
        return np.where(x > 40.0, x, np.log(exp_excess(np.minimum(x, 40.0))))


def _from_terms(mass: Array, loss: Array, order: float) -> float:
    a = order - 1.0
    with np.errstate(divide="ignore"):
        terms = _log_terms(np.log(mass), loss, a)
    return _finish(_log_total(terms), a) * (1.0 + 1e-13)


def _log_total(terms: Array) -> float:
    """log of the sum of exponentials, every one kept to full precision."""
    top = float(terms.max())
    with np.errstate(under="ignore"):
        return top + math.log(math.fsum(np.exp(terms - top))) if math.isfinite(top) else top


def _discrete(noise: Discrete, order: float, shift: float) -> float:
    """The sum over all lattice points that matter: outwards until the terms have fallen by e^-60 on both sides."""
    n, a = noise.steps_in(shift), order - 1.0
    if math.isfinite(noise.support):
        return math.inf
    reach = float(noise.points)
    while True:
        k = np.arange(-reach, reach + n + 1.0)
        here, there = noise.log_weights(np.abs(k)), noise.log_weights(np.abs(k - n))
        terms = _log_terms(here.value() - math.log(noise.total_weight), (here - there).value(), a)
        if max(terms[0], terms[-1]) < terms.max() - 60.0:
            return _finish(_log_total(terms), a) * (1.0 + 1e-13)
        reach *= 2.0
        if reach > 2e7:
            raise Unsupported(f"order {order:g} reaches too far into the tails of {noise}; use an order below {order / 2.0:g}.")


def _lattice(noise: Lattice, order: float, shift: float) -> float:
    """The sum over the table's points; refused if the terms have not fallen by e^-60 at its ends."""
    n, a = noise.steps_in(shift), order - 1.0
    k = np.arange(1.0 - noise.points, noise.points + n)
    here, there = noise.log_mass(np.abs(k)), noise.log_mass(np.abs(k - n))
    terms = _log_terms(here, here - there, a)
    if max(terms[0], terms[-1]) > terms.max() - 60.0:
        raise Unsupported(f"order {order:g} reaches too far into the tails of {noise}; use an order below {order / 2.0:g}.")
    return _finish(_log_total(terms), a) * (1.0 + 1e-11)


# -- quadrature of the positive integrand --------------------------------------------------------------------------------------


def _by_quadrature(noise: Law, order: float, shift: float) -> float:
    a = order - 1.0

    def log_integrand(x: Array) -> Array:
        here, there = noise.log_density(x), noise.log_density(x - shift)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = _log_terms(here, here - there, a)
        return np.where(np.isfinite(here) & np.isfinite(there), terms, -np.inf)  # beyond floats, in the far tails

    edges, peak = _layout(noise, log_integrand, shift)
    if not math.isfinite(peak):
        return math.inf
    # exponents of size L are known to about L units in the last place: asking for less error than that would never end
    exponent = float(np.max(np.abs(noise.log_density(edges)) * (1.0 + 2.0 * a)))
    relative = max(1e-12 if noise.log_concave else 1e-11, 1e-14 * exponent)

    def integrand(x: Array) -> Array:
        with np.errstate(under="ignore"):
            return np.exp(log_integrand(x) - peak)

    total = integral(integrand, edges, relative=relative).upper * (1.0 + noise.relative_error)
    return _finish(peak + math.log(total), a) * (1.0 + 4e-15)


def _layout(noise: Law, log_integrand: Callable[[Array], Array], shift: float) -> tuple[Array, float]:
    """Panel edges: geometric around both centres and around the peak, cut at kinks, ended where the integrand is e^-45 of its peak."""
    unit = float(noise.isf(0.25))
    ladder = unit * np.geomspace(1e-6, 1e12, 180)
    offsets = np.concatenate([-ladder[::-1], ladder])
    edges = np.unique(np.concatenate([offsets, shift + offsets, noise.cuts(shift), [0.0, 0.5 * shift, shift]]))
    for _ in range(3):
        top = int(np.nanargmax(log_integrand(edges)))
        edges = np.unique(
            np.concatenate([edges, _peak(log_integrand, edges[max(top - 1, 0)], edges[min(top + 1, edges.size - 1)]) + offsets])
        )
    values = log_integrand(edges)
    if not np.nanmax(values) < 1e12:  # where 45 more or less can no longer be told
        return edges, math.inf
    keep = np.flatnonzero(values > np.nanmax(values) - 45.0)
    return edges[max(keep[0] - 1, 0) : keep[-1] + 2], float(np.nanmax(values))


def _peak(function: Callable[[Array], Array], low: float, high: float) -> float:
    """Where a function is largest between two points, by ever closer fans."""
    for _ in range(30):
        fan = np.linspace(low, high, 9)
        top = int(np.nanargmax(function(fan)))
        low, high = fan[max(top - 1, 0)], fan[min(top + 1, 8)]
    return float(0.5 * (low + high))


# -- the papers' own bounds ------------------------------------------------------------------------------------------------------


def _expect(noise: object, family: type) -> None:
    if not isinstance(noise, family):
        raise reject("noise", noise, f"{family.__name__} noise", "this theorem is about no other")


def osgt_appendix_e(noise: OSGT, order: float, sensitivity: float = 1.0) -> float:
    """The closed form of OSGT paper, Appendix E: three normal integrals, in log space. `renyi` is the same number, safe near order 1."""
    _expect(noise, OSGT)
    order, shift = _order(order), positive("sensitivity", sensitivity)
    if order == 1.0:
        raise reject("order", order, "greater than 1 in Appendix E", "use renyi(noise, 1.0)")
    m, s = noise.m, noise.sigma
    b3 = order * shift - m * (1.0 - 2.0 * order)
    grown = order * (order - 1.0) * (4.0 * m * shift + 4.0 * m * m) / (2.0 * s * s)
    low, high = float(log_ndtr(-(b3 - shift) / s)), float(log_ndtr(-b3 / s))
    middle = grown + low + math.log(-math.expm1(high - low))
    parts = [float(log_ndtr((-m + (order - 1.0) * shift) / s)), float(log_ndtr((-m - order * shift) / s)), middle]
    total = float(np.logaddexp.reduce(parts)) - math.log(2.0) - float(log_ndtr(-m / s))
    return order * shift * shift / (2.0 * s * s) + total / (order - 1.0)


def osgt_theorem2(noise: OSGT, order: float, l2: float = 1.0, *, k: int = 1) -> float:
    """The k-dimensional bound D <= zeta + order rho of OSGT paper, Theorem 2, for any direction of a shift of l2 norm at most `l2`.

    rho = l2^2/(2 sigma^2), zeta = k log((1 - Q)/Q)/(order - 1), Q = Q(m/sigma). zeta depends on the order, so this is a Renyi bound and
    not a (zeta, rho)-zCDP statement (erratum B.2.2).
    """
    _expect(noise, OSGT)
    order, l2, k = _order(order), positive("l2", l2), whole("k", k)
    if order == 1.0:
        return math.inf
    r = noise.m / noise.sigma
    zeta = k / (order - 1.0) * (float(log_ndtr(r)) - float(log_ndtr(-r)))
    return (zeta + order * l2 * l2 / (2.0 * noise.sigma**2)) * (1.0 + 1e-14)


def flipped_huber_theorem9(noise: FlippedHuber, order: float, sensitivity: float = 1.0) -> float:
    """The bound xi + order eta of FH paper, Theorem 9.

    xi = R/(2 gamma^2), eta = Delta^2/(2 gamma^2), R = alpha^2 - max(alpha - Delta, 0)^2. Both are constants: it is (xi, eta)-zCDP.
    """
    _expect(noise, FlippedHuber)
    order, shift = _order(order), positive("sensitivity", sensitivity)
    short = max(noise.alpha - shift, 0.0)
    spread = (noise.alpha - short) * (noise.alpha + short)
    return (spread + order * shift * shift) / (2.0 * noise.gamma**2) * (1.0 + 1e-15)


# -- conversions -----------------------------------------------------------------------------------------------------------------


def _one_delta(value: Any) -> float:
    return float(deltas("delta", as_float("delta", value, "in (0, 1)"), zero=False))


def rdp_to_epsilon_mironov(order: float, divergence: float, delta: float) -> float:
    """(order, divergence)-RDP gives epsilon = divergence + log(1/delta)/(order - 1) (Mironov 2017, Proposition 3)."""
    order, delta = _order(order), _one_delta(delta)
    return math.inf if order == 1.0 else (non_negative("divergence", divergence) - math.log(delta) / (order - 1.0)) * _UP


def rdp_to_delta(order: float, divergence: float, epsilon: float) -> float:
    """delta = e^((a-1)(t - eps))/(a - 1) (1 - 1/a)^a (Canonne, Kamath and Steinke 2020; OSGT paper, eq. 20), at most 1.

    >>> round(rdp_to_delta(5.0, 0.3, 1.0), 12)
    0.00498156033
    """
    order, t = _order(order), non_negative("divergence", divergence)
    epsilon = as_float("epsilon", epsilon, "a finite number")
    if not math.isfinite(epsilon):
        raise reject("epsilon", epsilon, "a finite number")
    if order == 1.0:
        return 1.0
    log_delta = (order - 1.0) * (t - epsilon) - math.log(order - 1.0) + order * math.log1p(-1.0 / order)
    # the exponent's terms are known to a unit in the last place each: their sizes, not that of their sum, decide the error
    sizes = (order - 1.0) * (t + abs(epsilon)) + abs(math.log(order - 1.0)) + 2.0
    return min(math.exp(min(log_delta, 0.0)) * (1.0 + 4e-16 * sizes), 1.0)


def rdp_to_epsilon(order: float, divergence: float, delta: float) -> float:
    """eq. (20) of the OSGT paper solved for epsilon: t + log(1 - 1/a) - (log delta + log a)/(a - 1), never below 0."""
    order, t, delta = _order(order), non_negative("divergence", divergence), _one_delta(delta)
    if order == 1.0:
        return math.inf
    last = (math.log(delta) + math.log(order)) / (order - 1.0)
    slack = 8e-16 * (t + abs(math.log1p(-1.0 / order)) + (abs(math.log(delta)) + math.log(order)) / (order - 1.0))
    return max(t + math.log1p(-1.0 / order) - last + slack, 0.0)


def _least_over_orders(value: Callable[[float], float], most: float) -> float:
    """The least of a bound over orders in (1, most]; every order is a valid bound, so a coarse search is safe, a fine one tight."""
    low, high = math.log(1e-4), math.log(most - 1.0)
    best = math.inf
    for points in (33, 17, 17, 17, 17, 17, 17):
        grid = np.linspace(low, high, points)
        values = [value(1.0 + math.exp(t)) for t in grid]
        at = int(np.nanargmin(values))
        best = min(best, values[at])
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, points - 1)]
    return best


def best_delta(divergence: Callable[[float], float], epsilon: float, *, largest_order: float = 1e6) -> float:
    """eq. (20) of the OSGT paper minimised over the order, for a divergence given as a function of the order.

    >>> from hush import OSGT
    >>> noise = OSGT(15, 630**0.5)
    >>> best_delta(lambda a: osgt_theorem2(noise, a, 8**0.5, k=8), 0.9) < 1.0
    True
    """
    return _least_over_orders(lambda order: rdp_to_delta(order, divergence(order), epsilon), largest_order)


def best_epsilon(divergence: Callable[[float], float], delta: float, *, largest_order: float = 1e6) -> float:
    """The least epsilon over all orders by eq. (20) of the OSGT paper."""
    return _least_over_orders(lambda order: rdp_to_epsilon(order, divergence(order), delta), largest_order)


def zcdp_to_epsilon(rho: float, delta: float, *, xi: float = 0.0) -> float:
    """(xi, rho)-zCDP gives epsilon = xi + rho + 2 sqrt(rho log(1/delta)) (Bun and Steinke 2016, Proposition 1.3 and Lemma 3.5)."""
    rho, xi = non_negative("rho", rho), non_negative("xi", xi)
    return (xi + rho + 2.0 * math.sqrt(-rho * math.log(_one_delta(delta)))) * _UP


def tcdp_to_epsilon(rho: float, omega: float, delta: float) -> float:
    """(rho, omega)-tCDP, D_a <= rho a for 1 < a < omega, gives epsilon (Bun, Dwork, Rothblum and Steinke 2018, Lemma 6).

    rho + 2 sqrt(rho log(1/delta)) while log(1/delta) <= (omega - 1)^2 rho, and rho omega + log(1/delta)/(omega - 1) beyond.
    """
    rho, needed = non_negative("rho", rho), -math.log(_one_delta(delta))
    omega = as_float("omega", omega, "greater than 1")
    if omega <= 1.0:
        raise reject("omega", omega, "greater than 1")
    if needed <= (omega - 1.0) ** 2 * rho:
        return (rho + 2.0 * math.sqrt(rho * needed)) * _UP
    return (rho * omega + needed / (omega - 1.0)) * _UP


def mcdp_to_pdp(mu: float, tau: float, epsilon: float) -> float:
    """(mu, tau)-mCDP is (epsilon, delta)-pDP with delta = exp(-(eps - mu)^2/(2 tau^2)) + exp(-(eps + mu)^2/(2 tau^2)) (Zhao, Lemma 7)."""
    mu, tau = non_negative("mu", mu), positive("tau", tau)
    epsilon = positive("epsilon", epsilon)
    if epsilon <= mu:
        raise reject("epsilon", epsilon, f"greater than mu = {mu:g}")
    near, far = (epsilon - mu) / tau, (epsilon + mu) / tau
    slack = 1.0 + 4e-16 * (far * far + 4.0)
    return min((math.exp(-0.5 * near * near) + math.exp(-0.5 * far * far)) * slack, 1.0)
