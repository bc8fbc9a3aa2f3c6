"""The minimum without noise (epsilon = inf): Newton steps with a line search, over blocks of rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.learn.descent import Trace
from hush.learn.moment_solver import quadratic_minimum
from hush.learn.objective import LOGISTIC, Objective
from hush.learn.penalty import Penalty
from hush.learn.softmax import Softmax, expanded, mean_loss

__all__ = ["newton"]

Array = NDArray[np.float64]
Part = tuple[Array, Array | None]

_STILL = 1e-11  # stop when no weight moves by more than this, relative to the largest weight
_SHORTEST = 2.0**-20  # the shortest step of a line search


def newton(
    parts: Callable[[], Iterator[Part]],
    count: int,
    objective: Objective,
    penalty: Penalty,
    start: Array,
    passes: int,
    after_pass: Callable[[int, Trace], None] | None,
) -> Trace:
    """Minimise the mean loss and the penalty; `parts` gives rows (scaled, the constant, the target) and weights."""
    weights, trace = start.copy(), Trace(start.copy())
    expand: Any
    loss: Any
    expand, loss = (expanded, mean_loss) if isinstance(objective, Softmax) else (_expanded, _loss)
    for index in range(passes):
        value, gradient, hessian = expand(parts, count, objective, weights)
        aim = quadratic_minimum(hessian, hessian @ weights - gradient, penalty, 0.0)
        before, length = weights, 1.0
        goal = value + _cost(penalty, before)
        while length > _SHORTEST:
            weights = before + length * (aim - before)
            if loss(parts, count, objective, weights) + _cost(penalty, weights) <= goal:
                break
            length *= 0.5
        trace.weights.append(weights.copy())
        trace.gradients.append(gradient)
        if after_pass is not None:
            after_pass(index + 1, trace)
        if np.abs(weights - before).max() <= _STILL * max(1.0, float(np.abs(weights).max())):
            return trace
    warnings.warn(
        f"the fit without noise did not converge in {passes} steps; increase passes.", RuntimeWarning, stacklevel=2
    )
    return trace


def _cost(penalty: Penalty, weights: Array) -> float:
    return float(penalty.l1 @ np.abs(weights) + 0.5 * penalty.l2 @ weights**2)


def _expanded(
    parts: Callable[[], Iterator[Part]], count: int, objective: Objective, weights: Array
) -> tuple[float, Array, Array]:
    """The mean loss, its gradient and its second derivatives at these weights."""
    size = weights.size
    value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
    for block, shares in parts():
        rows, target, each = block[:, :-1], block[:, -1], 1.0 if shares is None else shares
        margin = rows @ weights
        state = objective.start(target) + margin
        slope = objective.slope(state, target, np.empty_like(state))
        value += _losses(objective, margin, target, shares)
        gradient += (slope * each) @ rows
        if objective is LOGISTIC:
            second = np.exp(-np.logaddexp(0.0, margin) - np.logaddexp(0.0, -margin))
            hessian += (rows * (second * each)[:, None]).T @ rows
        else:
            hessian += (rows if shares is None else rows * shares[:, None]).T @ rows
    return value / count, gradient / count, hessian / count


def _loss(parts: Callable[[], Iterator[Part]], count: int, objective: Objective, weights: Array) -> float:
    losses = (_losses(objective, block[:, :-1] @ weights, block[:, -1], each) for block, each in parts())
    return math.fsum(losses) / count


def _losses(objective: Objective, margin: Array, target: Array, weights: Array | None) -> float:
    """The sum of the losses of some rows."""
    each = np.logaddexp(0.0, margin) - target * margin if objective is LOGISTIC else 0.5 * (margin - target) ** 2
    return float(each.sum() if weights is None else weights @ each)
