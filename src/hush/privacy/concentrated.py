"""rho and mu of a release: zero-concentrated privacy (zCDP) and Gaussian differential privacy (GDP).

rho-zCDP means that the Renyi divergence of every order a > 1 is at most rho a, for both orders of two neighbours (Bun
and Steinke 2016). mu-GDP means that no test tells two neighbours apart better than it tells a normal variable from one
that is moved by mu standard deviations (Dong, Roth and Su 2022). The proofs are in docs/maths/budgets.md.

    noise                             rho                             mu
    Gaussian, correlated Gaussian     mu^2/2, exact                   moves in standard deviations, exact
    Laplace, d = move/scale           d - 1 + e^-d, exact             as any pure epsilon
    any other with a pure epsilon     epsilon tanh(epsilon/2)         -2 Phi^-1(1/(1 + e^epsilon))
    anything else                     none is proved                  none is proved

The numbers of one charge add up: rho over releases, mu^2 over releases. This holds for releases that are chosen after
earlier answers were seen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from hush.errors import Unsupported
from hush.numerics import special
from hush.numerics.rounding import CLOSED_FORM, ELEMENTARY, down, next_up, up
from hush.privacy.by_ball import correlated_mu
from hush.privacy.by_box import is_laplace
from hush.privacy.by_norm import sigma_of
from hush.privacy.charge import Charge
from hush.privacy.theorem import CORRELATED, GAUSSIAN, INDEPENDENT, LAPLACE_L1, pure_epsilon, theorems_for

__all__ = ["epsilon_with_mu", "epsilon_with_rho", "gaussian_mu", "mu_of_pure", "mu_squared", "rho", "rho_of_pure"]

_SMALL = 1.0  # an epsilon up to which the error function is inverted, because 1/2 - p would cancel


def rho_of_pure(epsilon: float) -> float:
    """The rho of a pure epsilon: epsilon tanh(epsilon/2), which randomised response attains.

    >>> round(rho_of_pure(1.0), 6)
    0.462117
    """
    return up(epsilon * math.tanh(0.5 * epsilon), ELEMENTARY)


def mu_of_pure(epsilon: float) -> float:
    """The mu of a pure epsilon: -2 Phi^-1(1/(1 + e^epsilon)), which randomised response attains.

    >>> round(mu_of_pure(1.0), 6)
    1.232035
    """
    if epsilon <= _SMALL:
        return up(2.0 * math.sqrt(2.0) * float(special.erfinv(math.tanh(0.5 * epsilon))), CLOSED_FORM)
    return up(-2.0 * float(special.ndtri(math.exp(-epsilon) / (1.0 + math.exp(-epsilon)))), CLOSED_FORM)


def epsilon_with_mu(mu: float) -> float:
    """The largest pure epsilon whose mu is at most this, rounded down: log Phi(mu/2) - log Phi(-mu/2)."""
    half = 0.5 * mu
    if half < _SMALL:
        found = 2.0 * math.atanh(math.erf(half / math.sqrt(2.0)))
    else:
        found = float(special.log_ndtr(half)) - float(special.log_ndtr(-half))
    return down(found, CLOSED_FORM)


def epsilon_with_rho(rho: float) -> float:
    """The largest pure epsilon whose rho is at most this, rounded down.

    >>> round(rho_of_pure(epsilon_with_rho(0.1)), 9)
    0.1
    """
    low, high = 0.0, rho + math.sqrt(2.0 * rho) + 2.0  # e tanh(e/2) >= e - 1 for every e, and e^2/2 is above it
    for _ in range(200):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if rho_of_pure(middle) <= rho else (low, middle)
    return low


@lru_cache(maxsize=1024)
def rho(charge: Charge) -> Fraction:
    """The rho of one release, as an upper bound; raises `Unsupported` where none is proved."""
    normal, pure, one = gaussian_mu(charge), pure_epsilon(charge), charge.once.by_group
    if normal is not None:
        return normal / 2
    known = [
        Fraction(theorem.renyi(one, 1.0)) * one.times
        for theorem in theorems_for(one)
        if theorem is LAPLACE_L1 or (theorem is INDEPENDENT and is_laplace(one))
    ]
    if pure is None and not known:
        _refused(charge, "rho", "zero-concentrated privacy")
    return min([*known, *([] if pure is None else [Fraction(rho_of_pure(next_up(float(pure))))])])


def gaussian_mu(charge: Charge) -> Fraction | None:
    """mu^2 of one release with Gaussian noise, exactly; None for other noise."""
    one = charge.once.by_group
    if GAUSSIAN.covers(one):
        return (Fraction(one.sensitivity.l2_bound) / Fraction(sigma_of(one))) ** 2 * one.times
    moved = correlated_mu(one) if CORRELATED.covers(one) else None
    return None if moved is None else moved**2 * one.times


@lru_cache(maxsize=1024)
def mu_squared(charge: Charge) -> Fraction:
    """mu^2 of one release, as an upper bound; raises `Unsupported` where none is proved."""
    normal, pure = gaussian_mu(charge), pure_epsilon(charge)
    if normal is not None:
        return normal
    if pure is None:
        _refused(charge, "mu", "Gaussian differential privacy")
    return Fraction(mu_of_pure(next_up(float(pure or 0)))) ** 2


def _refused(charge: Charge, name: str, words: str) -> None:
    raise Unsupported(
        f"no theorem gives {charge.noise} a {name} ({words}) at this sensitivity; use Gaussian noise, noise with a "
        "pure epsilon, or a budget in epsilon and delta."
    )
