"""Penalties and weights in the units of the user and in those of scaled columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hush.learn.descent import LARGEST
from hush.learn.penalty import Penalty
from hush.learn.scaling import Scaling

if TYPE_CHECKING:
    from hush.learn.training import Request

__all__ = ["original_weights", "scaled_penalty", "scaled_weights"]

Array = NDArray[np.float64]


def scaled_penalty(request: Request, own: Scaling, of_target: Scaling) -> Penalty:
    """The penalty in scaled units: in the user's units w = w_u s_y/s_i, and the loss is s_y^2 times the scaled loss.

    Weights of rows are divided by their public limit, so the penalty is too.
    """
    spread = own.spread if request.penalise == "original" else np.ones_like(own.spread)
    height = float(of_target.spread[0]) if of_target.spread.size and request.penalise == "original" else 1.0
    free = [0.0] * request.fit_intercept
    l1, l2 = request.l1 / request.max_weight, request.l2 / request.max_weight
    return Penalty(np.append(l1 / (spread * height), free), np.append(l2 / spread**2, free))


def scaled_weights(before: tuple[Array, float] | None, own: Scaling, of_target: Scaling, constant: bool) -> Array:
    """The weights of scaled columns that mean the same as coefficients and intercept; zeros without these."""
    if before is None:
        return np.zeros(own.spread.size + constant)
    coefficients, intercept = before
    centre, height = _height(of_target)
    with np.errstate(over="ignore", invalid="ignore"):  # overflows if the ranges changed by a very large factor
        weights = np.append(
            coefficients * own.spread / height, [(intercept + coefficients @ own.centre - centre) / height] * constant
        )
    return np.clip(np.nan_to_num(weights), -LARGEST, LARGEST)


def original_weights(weights: Array, own: Scaling, of_target: Scaling, constant: bool) -> tuple[Array, float]:
    """Coefficients and intercept in the user's units."""
    centre, height = _height(of_target)
    coefficients = weights[: own.spread.size] * height / own.spread
    if not constant:
        return coefficients, 0.0
    return coefficients, float(centre + height * weights[-1] - coefficients @ own.centre)


def _height(of_target: Scaling) -> tuple[float, float]:
    return (float(of_target.centre[0]), float(of_target.spread[0])) if of_target.spread.size else (0.0, 1.0)
