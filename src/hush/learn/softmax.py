"""The loss of a classifier with three or more classes, and its expansion at any weights.

A row has one margin for each class, m_c = w_c . x + b_c. Its loss is log(sum of e^m_c) - m_y for the label y. The slope
is the residual p - e_y, where p are the probabilities e^m_c / (sum of e^m_j). It has the length sqrt((1 - p_y)^2 + sum
over the other classes of p_c^2) <= sqrt(2) (1 - p_y) <= sqrt(2). Its entries add up to 0, so all gradients lie in the
space of vectors that add up to 0 over the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Softmax", "expanded", "log_chances", "mean_loss"]

Array = NDArray[np.float64]
#: rows (scaled, the constant, the place of the label among the classes) and their weights
Part = tuple[Array, Array | None]


@dataclass(frozen=True)
class Softmax:
    """The loss for `outputs` classes. Margins and slopes have the shape (classes, rows), targets are places of classes.

    The second derivatives are at most (I - 11'/C)/2 times x x' (Bohning 1992).

    >>> Softmax(3).slope(np.zeros((3, 1)), np.array([2.0]), np.empty((3, 1))).ravel().round(3).tolist()
    [0.333, 0.333, -0.667]
    """

    outputs: int
    name = "softmax"

    @property
    def curvature(self) -> float:
        """The curvature that steps assume: twice that of C equally likely classes.

        A step of length 1 is stable up to twice this curvature, and no curvature is above 1/2.
        """
        return max(2.0 / self.outputs, 0.3) if self.outputs > 4 else 0.5

    def start(self, target: Array) -> Array:
        return np.zeros((self.outputs, len(target)))

    def slope(self, state: Array, target: Array, out: Array) -> Array:
        """p - e_y for each row. Only the margins of the row itself are used, in a fixed order."""
        np.subtract(state, state.max(axis=0), out=out)
        np.exp(out, out=out)
        total = out[0].copy()
        for chance in out[1:]:
            total += chance
        out /= total
        for place, chance in enumerate(out):
            chance -= target == place
        return out

    def slope_at(self, margin: Array, target: Array) -> None:
        self.slope(margin, target, margin)

    def signs(self, target: Array) -> Array:
        """sqrt(C/(C-1)) (e_y - 1/C) for each row: a vector of length 1."""
        made = np.full((len(target), self.outputs), -1.0 / self.outputs)
        for place in range(self.outputs):
            made[:, place] += target == place
        return made * math.sqrt(self.outputs / (self.outputs - 1.0))


def log_chances(margins: Array) -> Array:
    """The logarithm of the probability of each class, for margins of the shape (rows, classes)."""
    centred = margins - margins.max(axis=1, keepdims=True)
    return np.asarray(centred - np.log(np.exp(centred).sum(axis=1, keepdims=True)))


def expanded(
    parts: Callable[[], Iterator[Part]], count: int, objective: Softmax, weights: Array
) -> tuple[float, Array, Array]:
    """The mean loss, its gradient and its second derivatives at weights of the shape (C K,), without noise."""
    by_class = weights.reshape(objective.outputs, -1)
    width = by_class.shape[1]
    gradient, hessian = np.zeros_like(by_class), np.zeros((weights.size, weights.size))
    for block, shares in parts():
        rows, place = block[:, :-1], block[:, -1]
        each = np.ones(len(rows)) if shares is None else shares
        slope = objective.slope(by_class @ rows.T, place, np.empty((len(by_class), len(rows))))
        gradient += (slope * each) @ rows
        for c in range(objective.outputs):
            chance = slope[c] + (place == c)
            for d in range(c + 1):
                second = chance * ((c == d) - (slope[d] + (place == d))) * each
                found = (rows * second[:, None]).T @ rows
                hessian[c * width : (c + 1) * width, d * width : (d + 1) * width] += found
                if d < c:
                    hessian[d * width : (d + 1) * width, c * width : (c + 1) * width] += found.T
    return mean_loss(parts, count, objective, weights), gradient.ravel() / count, hessian / count


def mean_loss(parts: Callable[[], Iterator[Part]], count: int, objective: Softmax, weights: Array) -> float:
    """The sum of the losses of all rows, divided by `count`."""
    by_class, found = weights.reshape(objective.outputs, -1), []
    for block, shares in parts():
        chances = log_chances(block[:, :-1] @ by_class.T)
        lost = -chances[np.arange(len(block)), block[:, -1].astype(np.int64)]
        found.append(float(lost.sum() if shares is None else shares @ lost))
    return math.fsum(found) / count
