"""The Renyi divergence of a law from its shifted copy, as an upper bound.

With l(x) = log f(x)/f(x - s) and A = order - 1, the divergence is written so that nothing cancels, also for orders near
1 and tiny shifts:

    D = log(1 + I)/A,   I = E[ e^(A l) - 1 - A l ] + A E[ e^(-l) - 1 + l ]      (A -> 0 gives KL)

because E e^(-l) = 1. Both terms are never negative. For laws that list their losses (steps, lattices) these are sums;
otherwise adaptive quadrature of the positive integrand, with its error bound added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.numerics.arrays import distinct
from hush.numerics.logspace import exp_excess
from hush.numerics.quadrature import integral
from hush.numerics.rounding import ELEMENTARY, FEW_ROUNDINGS, next_up, up
from hush.numerics.search import narrowed_minimum

__all__ = ["gaussian_divergence", "laplace_divergence", "law_divergence", "pure_divergence"]

Array = NDArray[np.float64]
_FALLEN = 60.0  # terms below e^-60 of the largest do not change a sum in floats


def law_divergence(law: Law, order: float, shift: float) -> float:
    """The divergence of one number that moves by at most `shift`: the worst over all smaller moves too."""
    return max(_of_shift(law, order, each) for each in law.worst_shifts(shift))


def _of_shift(law: Law, order: float, shift: float) -> float:
    listed = law.loss_terms(shift, 1.0)
    if listed is None:
        return math.inf if math.isfinite(law.support) else _by_quadrature(law, order, shift)
    reach = 1.0
    while listed is not None:
        log_mass, loss = listed.log_mass, listed.loss
        if np.isposinf(loss[log_mass > -np.inf]).any():
            return math.inf  # the shifted copy has no mass on a part of the law
        terms = _log_terms(log_mass, loss, order - 1.0)
        if listed.complete or max(terms[0], terms[-1]) < terms.max() - _FALLEN:
            return _finish(_log_total(terms), order - 1.0) * (1.0 + listed.relative_error)
        reach *= 2.0
        listed = law.loss_terms(shift, reach)
    raise Unsupported(f"order {order:g} is too large for the tails of {law}; use an order below {order / 2.0:g}.")


def gaussian_divergence(ratio: float, order: float) -> float:
    """The divergence of Gaussian noise moved by `ratio` standard deviations in the Euclidean norm: order ratio^2/2."""
    return up(0.5 * order * ratio * ratio, FEW_ROUNDINGS)


def laplace_divergence(d: float, order: float) -> float:
    """The divergence of Laplace noise moved by d scales (Mironov 2017, Proposition 6, rearranged).

    I = (order E(A d) + A E(-order d))/(2 order - 1) with E(x) = e^x - 1 - x.
    """
    a = order - 1.0
    if a * d > 600.0:  # the other terms are below e^-600 of this one
        return up((a * d + math.log(order / (2.0 * order - 1.0))) / a, ELEMENTARY)
    if a == 0.0:
        return up(float(exp_excess(-d)), ELEMENTARY)
    inner = (order * float(exp_excess(a * d)) + a * float(exp_excess(-order * d))) / (2.0 * order - 1.0)
    return up(math.log1p(inner) / a, ELEMENTARY)


def _finish(log_inner: float, a: float) -> float:
    """D from log I (or from log I/A where A = 0)."""
    if a == 0.0:
        return math.exp(log_inner)
    return float(np.logaddexp(0.0, log_inner)) / a if log_inner > -30.0 else math.exp(log_inner) / a


def _log_terms(log_mass: Array, loss: Array, a: float) -> Array:
    """log of mass (E(A l) + A E(-l)), or of mass E(-l) for A = 0; accurate for losses of any size."""
    forward = _log_excess(a * loss) if a > 0.0 else np.full_like(loss, -np.inf)
    backward = _log_excess(-loss) + (math.log(a) if a > 0.0 else 0.0)
    return log_mass + np.logaddexp(forward, backward)


def _log_excess(x: Array) -> Array:
    """log(e^x - 1 - x)."""
    with np.errstate(divide="ignore"):
        return np.where(x > 40.0, x, np.log(exp_excess(np.minimum(x, 40.0))))


def _log_total(terms: Array) -> float:
    """log of the sum of exponentials, without loss of precision."""
    top = float(terms.max())
    with np.errstate(under="ignore"):
        return top + math.log(math.fsum(np.exp(terms - top))) if math.isfinite(top) else top


def _by_quadrature(noise: Law, order: float, shift: float) -> float:
    a = order - 1.0

    def log_integrand(x: Array) -> Array:
        here, there = noise.log_density(x), noise.log_density(x - shift)
        with np.errstate(invalid="ignore", over="ignore"):
            terms = _log_terms(here, here - there, a)
        return np.where(
            np.isfinite(here) & np.isfinite(there), terms, -np.inf
        )  # not representable as floats, in the far tails

    edges, peak = _layout(noise, log_integrand, shift)
    if not math.isfinite(peak):
        return math.inf
    # exponents of size L have an error of about L units in the last place: a smaller target would never be reached
    exponent = float(np.max(np.abs(noise.log_density(edges)) * (1.0 + 2.0 * a)))
    relative = max(1e-12 if noise.log_concave else 1e-11, 1e-14 * exponent)

    def integrand(x: Array) -> Array:
        with np.errstate(under="ignore"):
            return np.exp(log_integrand(x) - peak)

    total = integral(integrand, edges, relative=relative).upper * (1.0 + noise.relative_error)
    return up(_finish(peak + math.log(total), a), ELEMENTARY)


def _layout(noise: Law, log_integrand: Callable[[Array], Array], shift: float) -> tuple[Array, float]:
    """Panel edges: geometric around both centres and around the peak, split at kinks, and ended where the integrand is
    e^-45 of its peak.
    """
    unit = float(noise.isf(0.25))
    ladder = unit * np.geomspace(1e-6, 1e12, 180)
    offsets = np.concatenate([-ladder[::-1], ladder])
    edges = distinct(np.concatenate([offsets, shift + offsets, noise.cuts(shift), [0.0, 0.5 * shift, shift]]))
    for _ in range(3):
        top = int(np.nanargmax(log_integrand(edges)))
        low, high = edges[max(top - 1, 0)], edges[min(top + 1, edges.size - 1)]
        peak = narrowed_minimum(lambda x: -log_integrand(x), low, high, points=(9,) * 30)[0]
        edges = distinct(np.concatenate([edges, peak + offsets]))
    values = log_integrand(edges)
    if not np.nanmax(values) < 1e12:  # a difference of 45 is below the resolution of floats
        return edges, math.inf
    keep = np.flatnonzero(values > np.nanmax(values) - 45.0)
    return edges[max(keep[0] - 1, 0) : keep[-1] + 2], float(np.nanmax(values))


def pure_divergence(pure: Fraction | None, order: float) -> float:
    """A pure epsilon has a divergence of at most epsilon, and of at most order epsilon^2/2 (Bun and Steinke 2016,
    Proposition 3.3); infinite if there is no pure epsilon.
    """
    if pure is None:
        return math.inf
    epsilon = next_up(float(pure))
    return min(epsilon, up(0.5 * order * epsilon * epsilon, FEW_ROUNDINGS))
