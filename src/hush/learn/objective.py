"""The losses of generalised linear models: the slope for each row, and the largest curvature.

A loss of one row is l(margin, y) with margin = w . x + b. The gradient for coordinate i is x_i times the slope
l'(margin, y). Every function here works row by row, so the contribution of one row depends only on that row and on
released weights.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOGISTIC", "SQUARED", "Objective"]

Array = NDArray[np.float64]


class Objective(Protocol):
    """The interface of a loss for coordinate descent."""

    name: str

    @property
    def curvature(self) -> float:
        """The largest second derivative in the margin: the smoothness constant M of a column whose squares average
        1.
        """

    @property
    def outputs(self) -> int:
        """The number of margins of a row: 1, or the number of classes if there are three or more."""

    def start(self, target: Array) -> Array:
        """The initial state of every row. When w_i changes, the state grows by x_i times the change."""

    def slope(self, state: Array, target: Array, out: Array) -> Array:
        """l'(margin, y) of every row, in `out` or in the state itself."""

    def signs(self, target: Array) -> Array:
        """The target as numbers of mean size 1 for sums of products, in as many columns as there are outputs."""

    def slope_at(self, margin: Array, target: Array) -> None:
        """Replace the margin of every row by l'(margin, y)."""


class _Squared:
    """l = (margin - y)^2 / 2; the state is the residual margin - y."""

    name, curvature, outputs = "squared", 1.0, 1

    def start(self, target: Array) -> Array:
        return -target

    def slope(self, state: Array, target: Array, out: Array) -> Array:
        return state

    def signs(self, target: Array) -> Array:
        return target[:, None]

    def slope_at(self, margin: Array, target: Array) -> None:
        margin -= target


class _Logistic:
    """l = log(1 + e^margin) - y margin for y in {0, 1}; the state is the margin."""

    name, curvature, outputs = "logistic", 0.25, 1

    def start(self, target: Array) -> Array:
        return np.zeros_like(target)

    def slope(self, state: Array, target: Array, out: Array) -> Array:
        np.copyto(out, state)
        self.slope_at(out, target)
        return out

    def signs(self, target: Array) -> Array:
        return 2.0 * target[:, None] - 1.0

    def slope_at(self, margin: Array, target: Array) -> None:
        np.negative(margin, out=margin)
        np.minimum(margin, 700.0, out=margin)  # e^700 is finite, and 1 / (1 + e^700) is below 1e-304
        np.exp(margin, out=margin)
        margin += 1.0
        np.reciprocal(margin, out=margin)
        margin -= target


SQUARED: Objective = _Squared()
LOGISTIC: Objective = _Logistic()
