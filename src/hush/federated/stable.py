"""Stable noise of least mean absolute error for a pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hush.errors import Unsupported, as_float, budgets, deltas, positive, within
from hush.noise.stable import Stable
from hush.numerics.rounding import ELEMENTARY, FEW_ROUNDINGS, up

__all__ = ["StablePlan", "calibrate_stable", "one_budget", "one_delta"]


def one_budget(epsilon: Any) -> float:
    """One epsilon to calibrate for; arrays, None and words are refused."""
    return float(budgets("epsilon", as_float("epsilon", epsilon, "one number greater than 0", "write epsilon=1.0")))


def one_delta(delta: Any) -> float:
    """One delta in [0, 1)."""
    return float(deltas("delta", as_float("delta", delta, "one number in [0, 1)", "write delta=1e-6"), zero=True))


@dataclass(frozen=True)
class StablePlan:
    """Stable noise with a pure epsilon, and what it costs beside Laplace noise."""

    noise: Stable
    epsilon: float
    sensitivity: float

    @property
    def alpha(self) -> float:
        """The noise's alpha."""
        return self.noise.alpha

    @property
    def gamma(self) -> float:
        """The noise's gamma."""
        return self.noise.gamma

    @property
    def mean_abs(self) -> float:
        """The mean absolute error of the sum, infinite at alpha = 1."""
        return self.noise.mean_abs

    @property
    def laplace_ratio(self) -> float:
        """Its mean absolute error over that of Laplace noise with the same epsilon, sensitivity/epsilon."""
        return self.mean_abs * self.epsilon / self.sensitivity

    def __str__(self) -> str:
        return (
            f"Stable(alpha={self.alpha:.6g}, gamma={self.gamma:.6g}): pure epsilon {self.epsilon:g} for sensitivity {self.sensitivity:g}, "
            f"mean absolute error {self.mean_abs:.6g}, {self.laplace_ratio:.2f} times that of Laplace noise; its variance is infinite. "
            "It is for sums of shares, which stay in the family with a pure epsilon"
            + ("." if self.laplace_ratio < 1.0 else ": where one trusted party adds the noise, use Laplace.")
        )


def _reach(alpha: float, epsilon: float, accuracy: float = 1e-14) -> float:
    """The largest shift in units of gamma with max_loss at most epsilon, from below."""
    unit = Stable(alpha, 1.0)
    low, high = 0.0, 1.0
    while unit.max_loss(high) <= epsilon:
        low, high = high, 2.0 * high
        if high > 1e12:
            return low
    for turn in range(200):
        if high - low <= accuracy * high:
            break
        at_low, at_high = unit.max_loss(low) if low > 0.0 else 0.0, unit.max_loss(high)
        middle = low + (high - low) * (epsilon - at_low) / (at_high - at_low) if turn % 3 < 2 else 0.5 * (low + high)
        middle = min(max(middle, low + 0.3 * accuracy * high), high - 0.3 * accuracy * high)
        low, high = (middle, high) if unit.max_loss(middle) <= epsilon else (low, middle)
    return low


def _error(alpha: float, epsilon: float) -> float:
    """Mean absolute error at unit sensitivity."""
    return Stable(alpha, 1.0 / _reach(alpha, epsilon, 1e-9)).mean_abs


@lru_cache(maxsize=256)
def _best_alpha(epsilon: float) -> float:
    """The alpha of least mean absolute error, by golden section: it falls, then rises."""
    low, high = 1.05, 1.98
    golden = 0.5 * (5.0**0.5 - 1.0)
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = _error(a, epsilon), _error(b, epsilon)
    while high - low > 1e-3:  # the error is flat: 1e-3 of alpha is 1e-6 of it
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = _error(a, epsilon)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = _error(b, epsilon)
    return 0.5 * (low + high)


def calibrate_stable(epsilon: float, sensitivity: float = 1.0, *, alpha: float | None = None) -> StablePlan:
    """The stable noise with this pure epsilon; alpha None picks the one of least mean absolute error (near 1.70 for epsilon up to 1).

    >>> plan = calibrate_stable(1.0)
    >>> round(plan.alpha, 1), round(plan.laplace_ratio, 2)
    (1.7, 1.55)
    """
    target = one_budget(epsilon)
    moved = positive("sensitivity", sensitivity)
    if alpha is None:
        alpha = _best_alpha(target)
    alpha = within("alpha", alpha, 1.0, 2.0, "write alpha=1.7")
    if alpha == 2.0:
        raise Unsupported("alpha = 2 is Gaussian noise, which has no pure epsilon; write alpha=1.7, or calibrate(epsilon, delta).")
    noise = Stable(alpha, up(moved / _reach(alpha, target), FEW_ROUNDINGS))
    while noise.max_loss(moved) > target:
        noise = noise.scaled(ELEMENTARY.above)
    return StablePlan(noise, target, moved)
