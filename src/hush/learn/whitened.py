"""Whitened gradients: one noisy matrix of products, then noisy gradients of rows that are clipped in its geometry.

Let H be the noisy mean of u u' with its eigenvalues raised above the noise, and z = H^(-1/2) u. In the coordinates of z
a step of length 1 reaches the minimum of a quadratic loss, however strongly the columns are correlated. For logistic
loss the second derivatives are at most H/4 (Bohning and Lindsay 1988), so a step of length 1 never overshoots. The
gradient of a row is clipped at the length C in these coordinates, and the noise has the same size in all of them.

Everything that is released is an integer vector (docs/maths/whitened.md): M is H^(-1/2) in integers, S the exact sum of
R V over the rows (`whole_rows`), and floor(M S / 2^s) is released. One replaced row moves M S by at most 2 C 2^(a+b+c)
in l2, because every row has |R| |M V| <= C 2^(a+b+c). Rounding down adds at most 1 to each coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part, Wish
from hush.learn.defaults import NOISY, Setting
from hush.learn.descent import LARGEST, Noise, Trace
from hush.learn.hidden_columns import visible
from hush.learn.moment_solver import Products, quadratic_minimum
from hush.learn.objective import LOGISTIC, SQUARED, Objective
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.shrinkage import limited
from hush.learn.step_rule import StepRule
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import SLOPE_BITS, Integers, integer_matrix
from hush.numerics.rounding import FEW_ROUNDINGS, up

__all__ = [
    "Descended",
    "Geometry",
    "geometry",
    "gradient_grain",
    "gradients_wish",
    "response",
    "shifted",
    "unit_bits",
    "whitened_descent",
]

Array = NDArray[np.float64]

_UNIT_BITS = 30  # a whitened gradient of length 1 is at most the integer 2^30


def unit_bits(rows: int, reach: float) -> int:
    """A gradient of length 1 is the integer 2^bits; all sums stay below 2^60."""
    return min(_UNIT_BITS, math.floor(60.0 - math.log2(rows * max(reach, 1.0))))


def gradient_grain(rows: int, reach: float) -> float:
    """The integer that stands for a gradient of length C."""
    return math.ldexp(reach, unit_bits(rows, reach))


def gradients_wish(rows: int, numbers: int, setting: Setting, share: float, relation: Relation = REPLACED_ROW) -> Wish:
    """All gradients: `passes` vectors of n numbers that move by at most 2 C 2^bits + sqrt(n) in l2.

    A single row adds at most C 2^bits + sqrt(n). n is K, or K times the number of classes if there are three or more.
    """
    one, root = gradient_grain(rows, setting.clips[0]), math.sqrt(numbers)
    l2, own_l2 = up(2.0 * one + root, FEW_ROUNDINGS), up(one + root, FEW_ROUNDINGS)
    l1, own_l1 = up(root * l2, FEW_ROUNDINGS), up(root * own_l2, FEW_ROUNDINGS)
    return Wish(
        "gradients",
        share,
        relation.bound(replaced={"l2": l2}, alone={"l2": own_l2}, dimension=numbers),
        relation.bound(replaced={"l1": l1, "l2": l2}, alone={"l1": own_l1, "l2": own_l2}, dimension=numbers),
        numbers,
        setting.passes,
    )


@dataclass(frozen=True)
class Geometry:
    """H and integers M = round(2^bits H^(-1/2)), both computed from released numbers."""

    hessian: Array
    matrix: Integers
    bits: int
    #: it maps a gradient in the coordinates of M, in units of 2^bits, to the coordinates of the rows
    back: Array


class Descended(NamedTuple):
    """The steps, their geometry, and two variances of the noise of a whitened weight.

    `variance` follows the curvature that is expected, and `free` is for a direction without any.
    """

    trace: Trace
    shape: Geometry
    variance: float
    free: float


def geometry(found: Products, columns: int, relative: float) -> Geometry:
    """H from noisy products. `relative` is the noise of a gradient, rho sqrt(K).

    The spectral norm of the noise is about 2 e sqrt(K). Eigenvalues are raised to it, but not above 1 (the mean of all
    eigenvalues) unless the gradients are noisy as well: a larger floor makes smaller steps. Above that floor the noise
    is subtracted, so that a direction that only looks long is not slowed down.
    """
    noise = 2.0 * found.error * math.sqrt(columns)
    floor = min(noise, max(1.0, 4.0 * relative))
    values, vectors = np.linalg.eigh(found.matrix[:columns, :columns])
    values = np.maximum(values - (noise - floor), max(floor, 1e-12 * float(np.abs(values).max()), 1e-30))
    roots = np.sqrt(values)
    return Geometry((vectors * values) @ vectors.T, *integer_matrix((vectors / roots).T), vectors * roots)


def whitened_descent(
    rows: WholeRows,
    found: Products,
    penalty: Penalty,
    setting: Setting,
    part: Part,
    start: Array,
    paid: Paid,
    *,
    after_pass: Callable[[int, Trace], None] | None = None,
) -> Descended:
    """Gradient steps from the minimum of the released quadratic loss, or from `start` if it is not 0."""
    columns, reach, count = rows.width, setting.clips[0], rows.source.n_rows
    relative = setting.rho * math.sqrt(columns)
    shape = geometry(found, columns, relative)
    rows.measure(shape.matrix.astype(np.float64), math.ldexp(reach, rows.bits + SLOPE_BITS + shape.bits))
    weights = start.copy() if start.any() else _quadratic_start(found, shape, rows, penalty, relative)
    error = (part.deviation / (math.ldexp(1.0, unit_bits(count, reach)) * count)) ** 2
    followed = rows.objective is SQUARED and setting.step == 1.0 and setting.averaged == 1 and relative < NOISY
    rule = StepRule.at(weights, found, shape.hessian, error, reach / math.sqrt(columns)) if followed else None
    trace, previous, noise = Trace(start.copy()), weights, Noise(part, paid)
    for index in range(setting.passes):
        halvings, length, held = rule.next(weights) if rule else (0, _step_length(setting, rows.objective, index), 1.0)
        gradient = _noisy_gradient(rows, shape, weights, reach, halvings, noise)
        hessian = shape.hessian * (rows.objective.curvature / length)
        point = weights + setting.momentum * (weights - previous)
        previous = weights
        weights = quadratic_minimum(hessian, hessian @ point - gradient, penalty.times(held), 0.0)
        weights = np.clip(weights, -LARGEST, LARGEST)
        if rule is not None:
            rule.moved(weights - previous)
        trace.weights.append(weights.copy())
        trace.gradients.append(gradient)
        if after_pass is not None:
            after_pass(index + 1, trace)
    if setting.averaged > 1:
        trace.weights[-1] = np.mean(trace.weights[-setting.averaged :], axis=0)
    if rule is not None:
        return Descended(trace, shape, rule.noise, rule.free)
    return Descended(trace, shape, *(error * one for one in _responses(setting, rows.objective)))


def _responses(setting: Setting, objective: Objective) -> tuple[float, float]:
    """The response for the curvature that is expected, and without curvature."""
    held = 1.0 if objective is SQUARED else 0.5  # of the bound on the curvature
    return response(setting, objective, held=held), response(setting, objective, held=0.0)


def _noisy_gradient(
    rows: WholeRows, shape: Geometry, weights: Array, reach: float, halvings: int, noise: Noise
) -> Array:
    """The mean gradient of rows that are clipped at `reach`/2^halvings, with noise, in the coordinates of the rows."""
    count = rows.source.n_rows
    unit = unit_bits(count, reach) + halvings
    shift = rows.bits + SLOPE_BITS + shape.bits - unit
    total = shape.matrix @ rows.gradient(weights, halvings)
    released = noise.on(np.array([shifted(int(value), shift) for value in total], dtype=np.int64))
    return np.asarray(shape.back @ (np.ldexp(released, -unit) / count))


#: Steps whose weights are averaged are 1, 1/2, 1/3 and then this long for squared loss.
_LEAST_STEP = 0.3


def _step_length(setting: Setting, objective: Objective, index: int) -> float:
    return setting.step * (max(1.0 / (index + 1.0), _LEAST_STEP) if objective is SQUARED else 1.0)


def response(setting: Setting, objective: Objective, *, held: float) -> float:
    """The variance of a weight in whitened coordinates, as a multiple of the variance of one gradient's noise.

    It follows the linear recursion of the steps for a loss whose curvature is the part `held` of its bound.
    """
    moved, velocity, last = np.zeros((3, setting.passes))
    for index in range(setting.passes):
        velocity = setting.momentum * velocity + held * moved
        velocity[index] += 1.0
        moved = moved - _step_length(setting, objective, index) * velocity
        if index >= setting.passes - setting.averaged:
            last = last + moved / setting.averaged
    return float(last @ last) / objective.curvature**2


def shifted(value: int, shift: int) -> int:
    """floor(value / 2^shift), moved to -2^61 or 2^61 if it is beyond; that never increases a distance."""
    made = value >> shift if shift >= 0 else value << -shift
    return min(max(made, -(1 << 61)), 1 << 61)


def _quadratic_start(found: Products, shape: Geometry, rows: WholeRows, penalty: Penalty, relative: float) -> Array:
    """The minimum of the loss expanded at 0, no longer than a model can be. Weights of hidden columns start at 0.

    `relative` is the noise of a gradient, nu. If it is large, gradients are clipped so much that five steps do not
    remove the noise of the start. So the start of a regression is then shrunk by its known noise.
    """
    objective, features = rows.objective, rows.source.n_features
    pull = found.matrix[:-1, -1]
    factor = 1.0 / objective.curvature
    if objective is LOGISTIC:  # the target is the label as -1 or 1: the loss is log 2 - (y - 1/2) m + m^2/8
        pull = 2.0 * pull
    weights = quadratic_minimum(shape.hessian, pull, penalty.times(factor), 0.0)
    if objective is SQUARED and relative >= NOISY:
        inverse = np.linalg.inv(shape.hessian)
        seen, noise = float(pull @ inverse @ pull), found.error**2 * float(np.trace(inverse))
        weights *= max(0.0, 1.0 - noise / seen) if seen > 0.0 else 0.0
    weights[:features] *= visible(found, features)
    return limited(weights, shape.hessian, objective)
