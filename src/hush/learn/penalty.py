"""Separable penalties: l1 |w| + l2 w^2 / 2, with one pair (l1, l2) per weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Penalty"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Penalty:
    """sum over i of l1_i |w_i| + l2_i w_i^2 / 2; a weight with l1_i = l2_i = 0 (the intercept) is not penalised."""

    l1: Array
    l2: Array

    def times(self, factor: float) -> Penalty:
        """The penalty times a number."""
        return Penalty(factor * self.l1, factor * self.l2)

    def nearest(self, point: Any, step: Any, index: Any = slice(None)) -> Any:
        """The proximal operator: argmin of (w - point)^2 / (2 step) + penalty(w), for one weight or for all.

        sign(v) max(|v| - step l1, 0) / (1 + step l2): a soft threshold, then shrinkage (flipped Huber paper, Appendix
        D).

        >>> import numpy as np
        >>> float(Penalty(np.array([1.0]), np.array([2.0])).nearest(3.0, 0.5, 0))
        1.25
        """
        pulled = np.maximum(np.abs(point) - step * self.l1[index], 0.0)
        return np.sign(point) * pulled / (1.0 + step * self.l2[index])

    def violation(self, weights: Array, gradient: Array) -> float:
        """The distance of (weights, gradient of the smooth part) from the optimality conditions; 0 at an optimum.

        At w_i = 0 the gradient must lie in [-l1_i, l1_i]; elsewhere gradient + l2_i w_i + l1_i sign(w_i) must vanish.
        """
        pull = gradient + self.l2 * weights
        at_zero = np.maximum(np.abs(pull) - self.l1, 0.0)
        away = np.abs(pull + self.l1 * np.sign(weights))
        return float(np.max(np.where(weights == 0.0, at_zero, away), initial=0.0))
