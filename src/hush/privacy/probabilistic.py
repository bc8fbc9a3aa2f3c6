"""Probabilistic differential privacy (pDP) of Gaussian noise, and its relation to DP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import budgets, deltas, positives, reject
from hush.numerics import special
from hush.numerics.bracket import unwrap
from hush.numerics.mills import mills
from hush.numerics.rounding import GAUSSIAN_AMOUNT, NORMAL_TAILS, up
from hush.numerics.twofold import Twofold

__all__ = ["dp_from_pdp", "pdp_delta", "pdp_from_dp", "single"]

Array = NDArray[np.float64]

_SQRT_2PI = math.sqrt(2.0 * math.pi)


def single(value: Array, name: str) -> float:
    """A single number; an array raises."""
    if value.ndim:
        raise reject(name, value, "a single number", "make one call for each value")
    return float(value)


def pdp_delta(epsilon: Any, sigma: Any, sensitivity: Any = 1.0) -> Any:
    """P(|loss| > epsilon), the delta of probabilistic DP: Q(y) + Q(y + d) (Zhao, Theorem 6), rounded up.

    >>> round(pdp_delta(1.0, 1.0), 12)
    0.375344739995
    """
    epsilon = budgets("epsilon", epsilon)
    d = Twofold(positives("sensitivity", sensitivity)) / positives("sigma", sigma)
    y = epsilon / d - d.halved()
    return unwrap(np.minimum(np.maximum(up(_tail(y) + _tail(y + d), NORMAL_TAILS), 5e-324), 1.0))


def _tail(y: Twofold) -> Array:
    """Q(y), with its exponent in twofold precision."""
    out = y.where(y.hi > 0.0, 0.0)
    with np.errstate(under="ignore"):
        far = (-(out * out).halved()).exp() * mills(out.hi) / _SQRT_2PI
    return np.where(y.hi > 0.0, far, special.ndtr(-y.hi))


def dp_from_pdp(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta)-pDP implies (epsilon, delta)-DP (Zhao, Lemma 3): the numbers do not change.

    >>> dp_from_pdp(1.0, 1e-5)
    (1.0, 1e-05)
    """
    return single(budgets("epsilon", epsilon), "epsilon"), single(deltas("delta", delta, zero=True), "delta")


def pdp_from_dp(epsilon: float, delta: float, larger: float) -> tuple[float, float]:
    """(epsilon, delta)-DP implies (larger, delta (1 + e^-larger)/(1 - e^(epsilon - larger)))-pDP for larger > epsilon
    (Zhao, Lemma 4).

    >>> pdp_from_dp(1.0, 1e-5, 2.0)
    (2.0, 1.7960739725672...e-05)
    """
    epsilon, delta = dp_from_pdp(epsilon, delta)
    larger = single(budgets("larger", larger), "larger")
    if larger <= epsilon:
        raise reject("larger", larger, f"greater than epsilon = {epsilon:g}")
    return larger, min(up(delta * (1.0 + math.exp(-larger)) / -math.expm1(epsilon - larger), GAUSSIAN_AMOUNT), 1.0)
