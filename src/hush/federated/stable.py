"""Calibration of stable noise: the least mean absolute error for a pure epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hush.errors import NotCertified, Unsupported, as_float, budgets, deltas, positive, warn_if_weak, within
from hush.noise.stable import Stable
from hush.numerics.rounding import ELEMENTARY, FEW_ROUNDINGS, up
from hush.numerics.search import golden_minimum, nudged, safe_secant

__all__ = ["StablePlan", "calibrate_stable", "one_budget", "one_delta"]


def one_budget(epsilon: Any) -> float:
    """A single valid epsilon; arrays, None and texts are rejected."""
    budget = float(budgets("epsilon", as_float("epsilon", epsilon, "one number greater than 0", "write epsilon=1.0")))
    warn_if_weak(budget)
    return budget


def one_delta(delta: Any) -> float:
    """A single valid delta in [0, 1)."""
    share = float(deltas("delta", as_float("delta", delta, "one number in [0, 1)", "write delta=1e-6"), zero=True))
    warn_if_weak(0.0, share)
    return share


@dataclass(frozen=True)
class StablePlan:
    """Stable noise with a pure epsilon, and its error compared with Laplace noise."""

    noise: Stable
    epsilon: float
    sensitivity: float

    @property
    def alpha(self) -> float:
        """The parameter alpha of the noise."""
        return self.noise.alpha

    @property
    def gamma(self) -> float:
        """The parameter gamma of the noise."""
        return self.noise.gamma

    @property
    def mean_abs(self) -> float:
        """The mean absolute error; it is infinite if alpha = 1."""
        return self.noise.mean_abs

    @property
    def laplace_ratio(self) -> float:
        """The mean absolute error divided by that of Laplace noise with the same epsilon, sensitivity/epsilon."""
        return self.mean_abs * self.epsilon / self.sensitivity

    def __str__(self) -> str:
        return (
            f"Stable(alpha={self.alpha:.6g}, gamma={self.gamma:.6g}): "
            f"pure epsilon {self.epsilon:g} for sensitivity {self.sensitivity:g}, "
            f"mean absolute error {self.mean_abs:.6g}, {self.laplace_ratio:.2f} times that of Laplace noise; "
            "its variance is infinite. It is intended for shares: their sum is stable noise with a pure epsilon."
            + ("" if self.laplace_ratio < 1.0 else " If one trusted party adds the noise, use Laplace noise.")
        )


def _reach(alpha: float, epsilon: float, accuracy: float = 1e-14) -> float:
    """The largest shift, in units of gamma, with max_loss at most epsilon; rounded down."""
    unit = Stable(alpha, 1.0)

    def excess(shift: float) -> float:
        return (unit.max_loss(shift) if shift > 0.0 else 0.0) - epsilon

    low, high = 0.0, 1.0
    while excess(high) <= 0.0:
        low, high = high, 2.0 * high
        if high > 1e12:
            return low
    return safe_secant(excess, high, low, relative=accuracy)


def _error(alpha: float, epsilon: float) -> float:
    """The mean absolute error for sensitivity 1."""
    return Stable(alpha, 1.0 / _reach(alpha, epsilon, 1e-9)).mean_abs


@lru_cache(maxsize=256)
def _best_alpha(epsilon: float) -> float:
    """The alpha of least mean absolute error.

    The error first decreases and then increases with alpha. Near the minimum it is flat: an error of 1e-3 in alpha
    changes it by 1e-6.
    """
    return golden_minimum(lambda alpha: _error(alpha, epsilon), 1.05, 1.98, width=1e-3)


def calibrate_stable(epsilon: float, sensitivity: float = 1.0, *, alpha: float | None = None) -> StablePlan:
    """The stable noise with this pure epsilon.

    alpha=None chooses the alpha of least mean absolute error (near 1.70 for epsilon up to 1).

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
        raise Unsupported(
            "alpha = 2 is Gaussian noise, which has no pure epsilon; write alpha=1.7, or hush.calibrate(1.0, 1e-6)."
        )
    start = up(moved / _reach(alpha, target), FEW_ROUNDINGS)
    scale = nudged(
        lambda gamma: Stable(alpha, gamma).max_loss(moved) <= target,
        start,
        first=ELEMENTARY.share,
        growth=2.0,
        turns=40,
    )
    if scale is None:
        raise NotCertified(f"no certified scale was found for epsilon = {target:g}; please report epsilon and alpha.")
    return StablePlan(Stable(alpha, scale), target, moved)
