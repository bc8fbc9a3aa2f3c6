"""Gaussian noise for (epsilon, delta)-privacy by every method in Zhao's paper, and where the classical amounts fail.

Each method is a choice of a threshold (gaussian_threshold.py). This module turns thresholds into certified amounts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, budgets, called_like, deltas, one_of, positives
from hush.noise.gaussian import Gaussian
from hush.numerics import special
from hush.numerics.bracket import Bracket, unwrap
from hush.numerics.mills import drop, mills
from hush.numerics.root import raised_until, safe_root
from hush.numerics.rounding import (
    ELEMENTARY,
    GAUSSIAN_AMOUNT,
    NEAR_ENOUGH,
    down,
    next_down,
    next_up,
    rounded_up,
    up,
)
from hush.numerics.twofold import Twofold
from hush.privacy.curve import OneNumber
from hush.privacy.gaussian_threshold import Y, log_dp, log_pdp, step
from hush.privacy.probabilistic import dp_from_pdp, pdp_delta, pdp_from_dp, single

__all__ = [
    "Check",
    "check",
    "compose_sigma",
    "dp_from_pdp",
    "epsilon_free_sigma",
    "fails_beyond",
    "methods",
    "pdp_delta",
    "pdp_from_dp",
    "sigma",
    "sigma_bounds",
]

Array = NDArray[np.float64]

_SQRT_2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)
_CLASSICAL = {"dwork2006": 2.0, "dwork2014": 1.25}  # sigma = sqrt(2 ln(c/delta)) Delta/eps


def methods() -> tuple[str, ...]:
    """The names that `sigma` accepts as method=."""
    return ("optimal", "dwork2006", "dwork2014", *[name for name in Y if name != "optimal"])


# -- the amounts ---------------------------------------------------------------------------------------------


@called_like("sigma(epsilon=1.0, delta=1e-5)")
def sigma(
    epsilon: Any,
    delta: Any,
    sensitivity: Any = 1.0,
    *,
    method: str = "optimal",
    capped: bool = False,
    allow_invalid: bool = False,
) -> Any:
    """The standard deviation of Gaussian noise for (epsilon, delta) by a named method; numbers or arrays.

    sensitivity is the l2 sensitivity. method="optimal" also accepts epsilon = 0. capped=True takes the smaller of the
    method's amount and the epsilon-free bound of Zhao, Theorem 3 (Mechanisms 1 and 2 exceed that bound as epsilon goes
    to 0, erratum A.2.3).

    Guarantees: Gaussian(sigma) is (epsilon, delta)-private: `hush.delta(Gaussian(sigma), epsilon, sensitivity) <=
    delta` (pdp_optimal, mechanism3, mechanism4 and mcdp: also probabilistically private). dwork2006 and dwork2014 have
    no proof beyond epsilon = 1: there they raise `Unsupported` with the delta that they really give, unless
    allow_invalid=True.

    >>> round(sigma(1.0, 1e-5), 10)
    3.7306316348
    """
    one_of("method", method, methods())
    epsilon = budgets("epsilon", epsilon, zero=method == "optimal")
    delta = deltas("delta", delta, zero=False)
    reach = positives("sensitivity", sensitivity)
    epsilon, delta, reach = np.broadcast_arrays(epsilon, delta, reach)
    if method in _CLASSICAL:
        amount = _classical(method, epsilon, delta)
        if not allow_invalid:
            _refuse_unproved(method, epsilon, delta, amount)
    else:
        amount = _amount(method, epsilon, delta)
        if capped:
            amount = np.minimum(amount, _epsilon_free(delta))
    return unwrap(_scaled(amount, reach))


def _scaled(amount: Array, reach: Array) -> Array:
    """The amount for sensitivity 1 times the sensitivity, rounded up."""
    with np.errstate(over="ignore"):
        found = next_up(amount * reach)
    if np.isinf(found).any():
        raise Unsupported(
            "the standard deviation would be beyond the largest float; take a larger delta or a smaller sensitivity."
        )
    return found


def _amount(method: str, epsilon: Array, delta: Array) -> Array:
    zero = epsilon == 0.0
    safe_epsilon = np.where(zero, 1.0, epsilon)
    amount = up(1.0, GAUSSIAN_AMOUNT) / step(Y[method](safe_epsilon, delta), safe_epsilon)
    if zero.any():
        amount = np.where(zero, _epsilon_free(delta), amount)
    return _certify(amount, epsilon, delta) if method == "optimal" else amount


def _certify(amount: Array, epsilon: Array, delta: Array) -> Array:
    """Raise each amount until its certified delta is at most the target, by as little as possible."""
    amount, epsilon, delta = np.broadcast_arrays(amount, epsilon, delta)
    epsilon, delta = epsilon.ravel(), delta.ravel()
    return raised_until(lambda x, late: dp_delta_upper(x, epsilon[late]) > delta[late], amount, first=1e-14, growth=3.0)


def dp_delta_upper(amount: Array, epsilon: Array) -> Array:
    """Certified delta of Gaussian noise for sensitivity 1, elementwise in (sigma, epsilon).

    The curve of a unit Gaussian with shift 1/sigma; the shift is rounded up, so the bound also covers the rounding of
    the division.
    """
    unit = Gaussian(1.0)
    shift = next_up(1.0 / amount)
    d = Twofold(shift)
    y = epsilon / d - d.halved()
    value = unit.surplus_at(y, d)
    return np.maximum(value * (1.0 + unit.relative_error), 5e-324)


def _classical(method: str, epsilon: Array, delta: Array) -> Array:
    return up(np.sqrt(2.0 * (math.log(_CLASSICAL[method]) - np.log(delta))) / epsilon, GAUSSIAN_AMOUNT)


def _refuse_unproved(method: str, epsilon: Array, delta: Array, amount: Array) -> None:
    true = dp_delta_upper(amount.ravel(), epsilon.ravel()).reshape(amount.shape)
    bad = (epsilon > 1.0) | (true > delta)
    if not bad.any():
        return
    first = np.unravel_index(int(np.argmax(bad)), bad.shape)
    verdict = "more than requested" if true[first] > delta[first] else "within the request, but without a proof"
    raise Unsupported(
        f"{method} is proved for epsilon <= 1 only; at epsilon = {float(epsilon[first]):g} and "
        f"delta = {float(delta[first]):g} it would really give delta = {float(true[first]):.6g}, {verdict}; use "
        "method='optimal', or allow_invalid=True to get the number without a proof."
    )


def _epsilon_free(delta: Array) -> Array:
    return up(1.0 / (2.0 * _SQRT_2 * special.erfinv(delta)), GAUSSIAN_AMOUNT)


def epsilon_free_sigma(delta: Any, sensitivity: Any = 1.0) -> Any:
    """Delta/(2 sqrt 2 inverf(delta)): enough for any epsilon, and exactly the amount for (0, delta)-DP (Zhao, Theorem
    3, result 1).

    >>> round(epsilon_free_sigma(0.5), 12)
    0.741301109253
    """
    delta = deltas("delta", delta, zero=False)
    return unwrap(_scaled(_epsilon_free(delta), positives("sensitivity", sensitivity)))


def sigma_bounds(epsilon: Any, delta: Any, sensitivity: Any = 1.0) -> Bracket:
    """Closed-form bounds on the optimal amount: Zhao, Lemma 10 with Theorem 2 (ii) and (iii).

    Upper: the smaller of the epsilon-free bound (31a) and (31b); lower: (32a), (32b) or (33a), (33b), whichever
    applies.
    """
    epsilon, delta = budgets("epsilon", epsilon), deltas("delta", delta, zero=False)
    reach = positives("sensitivity", sensitivity)
    epsilon, delta, reach = np.broadcast_arrays(epsilon, delta, reach)
    above = 1.0 / step(-special.ndtri(delta), epsilon)  # (31b)
    upper = up(np.minimum(_epsilon_free(delta), above), GAUSSIAN_AMOUNT)
    lower = 1.0 / step(special.ndtri_exp(np.log1p(-delta) - np.logaddexp(epsilon, 0.0)), epsilon)  # (32a), (33a)
    at_zero = 0.5 * drop(np.zeros_like(epsilon), np.sqrt(2.0 * epsilon)) / mills(0.0)  # delta at y = 0
    lower = np.maximum(lower, np.where(at_zero > delta, 1.0 / np.sqrt(2.0 * epsilon), 0.0))  # (32b), Theorem 2 (ii)
    deep = (delta >= 0.5) & (special.erfcx(np.sqrt(epsilon)) < 1.0 - delta)
    lower = np.where(deep, np.maximum(lower, 1.0 / step(-_SQRT_2 * special.erfinv(delta), epsilon)), lower)  # (33b)
    return Bracket(down(lower, GAUSSIAN_AMOUNT) * reach, upper * reach)


# -- where the classical amounts fail ------------------------------------------------------------------------


def fails_beyond(delta: Any, method: str, *, notion: str = "dp") -> Any:
    """The epsilon beyond which a classical amount is not private: Zhao, Theorem 1 and Figures 1 and 3.

    method: "dwork2006" or "dwork2014"; notion: "dp" or "pdp". Rounded down: every smaller epsilon is private.

    >>> round(fails_beyond(1e-5, "dwork2014"), 4)
    8.4198
    """
    one_of("method", method, _CLASSICAL)
    one_of("notion", notion, ("dp", "pdp"))
    delta = deltas("delta", delta, zero=False)
    log_value = log_dp if notion == "dp" else log_pdp
    factor = np.sqrt(2.0 * (math.log(_CLASSICAL[method]) - np.log(delta)))

    def short(log_epsilon: Array) -> Array:
        epsilon = np.exp(log_epsilon) + 0.0 * factor
        value = log_value(factor - epsilon / (2.0 * factor), epsilon) - np.log(delta)
        return np.where(value > 0.0, value, np.minimum(value, -1e-300))

    # beyond the threshold `short` is positive, so from there downwards the private end is reached last
    _, low = safe_root(short, np.full_like(delta, math.log(1e5)), np.full_like(delta, math.log(1e-5)))
    return unwrap(down(np.exp(low), ELEMENTARY))


@dataclass(frozen=True)
class Check:
    """The privacy that a published Gaussian setting really gives."""

    epsilon: float
    delta: float
    sigma: float
    sensitivity: float
    private: bool
    true_delta: float
    true_pdp_delta: float
    sigma_needed: float
    verdict: str

    def __str__(self) -> str:
        return self.verdict


def check(epsilon: float, delta: float, sigma: float, sensitivity: float = 1.0) -> Check:
    """Check a published setting: is it private, and which delta does it really give? For example the settings of Zhao's
    Table I, some of which are not private.

    Guarantees: `private` is true only if the certified delta is at most the claimed one.

    >>> print(check(10.0, 0.01, 0.3108).verdict)
    NOT private: sigma = 0.3108 gives delta = 0.0405125 at epsilon = 10, not 0.01; sigma = 0.350097 is needed.
    """
    budget, target = (
        single(budgets("epsilon", epsilon, zero=True), "epsilon"),
        single(deltas("delta", delta, zero=False), "delta"),
    )
    amount, reach = (
        single(positives("sigma", sigma), "sigma"),
        single(positives("sensitivity", sensitivity), "sensitivity"),
    )
    true = float(OneNumber(Gaussian(amount), reach).delta(budget))
    needed = float(_needed(budget, target, reach))
    private = true <= target
    given = f"sigma = {amount:g} gives delta = {rounded_up(true)} at epsilon = {budget:g}"
    if private:
        verdict = f"private: {given}, at most {target:g} as claimed"
        verdict += f"; sigma = {rounded_up(needed)} would do." if amount > up(needed, NEAR_ENOUGH) else "."
    else:
        verdict = f"NOT private: {given}, not {target:g}; sigma = {rounded_up(needed)} is needed."
    tail = float(pdp_delta(budget, amount, reach)) if budget > 0.0 else 1.0
    return Check(budget, target, amount, reach, private, true, tail, needed, verdict)


def _needed(epsilon: float, delta: float, sensitivity: float) -> float:
    return float(np.asarray(sigma(epsilon, delta, sensitivity)))


# -- composition ---------------------------------------------------------------------------------------------


def compose_sigma(sigmas: Any, sensitivities: Any = 1.0) -> float:
    """The single Gaussian amount, for sensitivity 1, that is equivalent to several Gaussian releases:
    (sum Delta_i^2/sigma_i^2)^(-1/2) (Zhao, Lemma 15).

    Exact if one neighbouring pair attains every Delta_i at once; otherwise an upper bound on the loss. Rounded down,
    the safe side.

    >>> round(compose_sigma([3, 5, 2], [1, 2, 0.5]), 12)
    1.731329570474
    """
    ratios = np.atleast_1d(positives("sensitivities", sensitivities) / positives("sigmas", sigmas))
    if ratios.size == 0:
        raise InvalidParameter("sigmas must contain at least one amount; write compose_sigma([3.0, 5.0]).")
    return next_down(1.0 / up(math.hypot(*ratios), GAUSSIAN_AMOUNT))
