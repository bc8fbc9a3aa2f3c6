"""The minimum without noise (epsilon = inf): Newton steps with a line search, over blocks of rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hush.learn.descent import Trace
from hush.learn.moment_solver import quadratic_minimum
from hush.learn.objective import LOGISTIC, Objective
from hush.learn.penalty import Penalty

__all__ = ["newton"]

Array = NDArray[np.float64]

_STILL = 1e-11  # stop when no weight moves by more than this, relative to the largest weight
_SHORTEST = 2.0**-20  # the shortest step of a line search


def newton(
    parts: Callable[[], Iterator[Array]],
    count: int,
    objective: Objective,
    penalty: Penalty,
    start: Array,
    passes: int,
    after_pass: Callable[[int, Trace], None] | None,
) -> Trace:
    """Minimise the mean loss and the penalty; `parts` gives scaled rows, the constant and the target in each row."""
    weights, trace = start.copy(), Trace(start.copy())
    for index in range(passes):
        value, gradient, hessian = _expanded(parts, count, objective, weights)
        aim = quadratic_minimum(hessian, hessian @ weights - gradient, penalty, 0.0)
        before, length = weights, 1.0
        goal = value + _cost(penalty, before)
        while length > _SHORTEST:
            weights = before + length * (aim - before)
            if _loss(parts, count, objective, weights) + _cost(penalty, weights) <= goal:
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
    parts: Callable[[], Iterator[Array]], count: int, objective: Objective, weights: Array
) -> tuple[float, Array, Array]:
    """The mean loss, its gradient and its second derivatives at these weights."""
    size = weights.size
    value, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
    for block in parts():
        rows, target = block[:, :-1], block[:, -1]
        margin = rows @ weights
        state = objective.start(target) + margin
        slope = objective.slope(state, target, np.empty_like(state))
        value += _losses(objective, margin, target)
        gradient += slope @ rows
        if objective is LOGISTIC:
            second = np.exp(-np.logaddexp(0.0, margin) - np.logaddexp(0.0, -margin))
            hessian += (rows * second[:, None]).T @ rows
        else:
            hessian += rows.T @ rows
    return value / count, gradient / count, hessian / count


def _loss(parts: Callable[[], Iterator[Array]], count: int, objective: Objective, weights: Array) -> float:
    return math.fsum(_losses(objective, block[:, :-1] @ weights, block[:, -1]) for block in parts()) / count


def _losses(objective: Objective, margin: Array, target: Array) -> float:
    """The sum of the losses of some rows."""
    if objective is LOGISTIC:
        return float((np.logaddexp(0.0, margin) - target * margin).sum())
    return float(0.5 * ((margin - target) ** 2).sum())
