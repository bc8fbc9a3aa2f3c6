"""Whitened gradients for three or more classes: one noisy matrix of products, then noisy gradients of all classes.

A row adds the matrix R (M V)' to a gradient, where R are the integer slopes of all C classes and M V is the row in
whitened coordinates. Its Frobenius length is |R| |M V|, and R is shortened as one vector until this is at most
C 2^(a+b+c). So a row counts once, however many classes there are (docs/maths/whitened.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part
from hush.learn.class_level import ClassLevel
from hush.learn.defaults import Setting
from hush.learn.descent import LARGEST, Noise, Trace
from hush.learn.hidden_columns import visible
from hush.learn.moment_solver import Products, quadratic_minimum
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.softmax import Softmax
from hush.learn.whitened import Geometry, geometry, response, shifted, unit_bits
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import SLOPE_BITS, ExactSum, Integers, margin_bits

__all__ = ["class_descent", "class_sums", "class_variances", "shrunk_classes"]

Array = NDArray[np.float64]

#: The largest sum over classes of the variances of their margins, for each class but one.
_LARGEST_SIGNAL = 2.0
#: As in `hush.learn.shrinkage`: the noise is used as 1.5 times its computed variance.
_DOUBT = 1.5
#: The typical length of the slopes of all classes.
_TYPICAL = 0.6
#: Standard deviations above the mean that noise alone is expected to reach.
_DEVIATIONS = 2.0
#: The intercepts keep at least this part of their size, so that the most frequent class stays the most likely one.
_LEAST_INTERCEPT = 0.1


def class_sums(rows: WholeRows, objective: Softmax, weights: Array) -> Integers:
    """S = sum over rows of R V' for weights (C, K). R holds the integer slopes of the classes, and |R| |M V| <= limit.

    |R|^2 is a sum of integers and exact. R is multiplied by at most limit/(|R| |M V|) and rounded towards zero.
    """
    bits = margin_bits(rows.width, weights)
    rounded = np.rint(np.ldexp(weights, bits))
    total = ExactSum(weights.shape)
    for whole, target, shares, most in rows.limited_parts():
        slope = np.ldexp(rounded @ whole.T, -bits - rows.bits)
        slope = np.ldexp(objective.slope(slope, target, slope), SLOPE_BITS)
        np.rint(slope, out=slope)
        square = np.maximum((slope * slope).sum(axis=0), 1.0)
        slope *= np.minimum(most.astype(np.float64) / np.sqrt(square), 1.0)
        if shares is not None:
            slope *= shares
        np.trunc(slope, out=slope)
        total.add(slope @ whole)
    return total.integers


def class_descent(
    rows: WholeRows,
    objective: Softmax,
    found: Products,
    penalty: Penalty,
    setting: Setting,
    part: Part,
    start: Array,
    paid: Paid,
    *,
    after_pass: Callable[[int, Trace], None] | None = None,
) -> tuple[Trace, Geometry]:
    """Gradient steps for weights (C, K), from the minimum of the expanded loss, or from `start` if it is not 0."""
    reach, count = setting.clips[0], rows.source.n_rows
    shape, noise = geometry(found, rows.width, setting.rho * math.sqrt(rows.width)), Noise(part, paid)
    rows.measure(shape.matrix.astype(np.float64), math.ldexp(reach, rows.bits + SLOPE_BITS + shape.bits))
    unit = unit_bits(count, reach)
    shift = rows.bits + SLOPE_BITS + shape.bits - unit
    hessian = shape.hessian * (objective.curvature / setting.step)
    weights = start.copy() if start.any() else _quadratic_start(found, shape, rows, penalty)
    trace, previous = Trace(start.copy()), weights
    for index in range(setting.passes):
        total = class_sums(rows, objective, weights) @ shape.matrix.T
        released = noise.on(np.array([shifted(int(value), shift) for value in total.ravel()], dtype=np.int64))
        gradient = _centred(np.ldexp(released, -unit).reshape(weights.shape) / count) @ shape.back.T
        point = weights + setting.momentum * (weights - previous)
        previous = weights
        weights = np.clip(_minimum(hessian, point @ hessian - gradient, penalty), -LARGEST, LARGEST)
        trace.weights.append(weights.copy())
        trace.gradients.append(gradient)
        if after_pass is not None:
            after_pass(index + 1, trace)
    return trace, shape


def class_variances(error: float, setting: Setting, objective: Softmax, columns: int) -> tuple[float, float]:
    """The variances of the noise of a weight in whitened coordinates, if a gradient has noise of deviation `error`.

    The first one has half of the curvature that the steps assume, in their linear recursion. Gradients that are clipped
    far below their typical length hold the weights less. The second one is for a direction without curvature.
    """
    held = 0.5 * min(1.0, setting.clips[0] / (_TYPICAL * math.sqrt(columns)))
    variance, free = (response(setting, objective, held=curvature) * error**2 for curvature in (held, 0.0))
    return variance, free


def shrunk_classes(
    weights: Array, hessian: Array, variance: float, level: ClassLevel | None, *, constant: bool
) -> Array:
    """The weights (C, K), shrunk by the known size of their noise as in `hush.learn.shrinkage`, the intercepts last.

    If the noise dominates, only the intercepts are left, or those of `level`. Their order is kept: the model predicts
    the class that seems most frequent.
    """
    classes, features = weights.shape[0], weights.shape[1] - constant
    noise = _DOUBT * variance * (classes - 1)
    own, made = weights[:, :features], weights.copy()
    signal = float(np.einsum("ck,kl,cl->", own, hessian[:features, :features], own)) - features * noise
    signal = min(max(signal, 0.0), _LARGEST_SIGNAL * (classes - 1))
    kept = signal / (signal + features * noise) if noise > 0.0 else 1.0
    made[:, :features] *= kept
    if constant and level is not None:
        made[:, -1] = level.joined(weights[:, -1], _DOUBT * variance, kept)
    elif constant and noise > 0.0:
        seen = float(weights[:, -1] @ weights[:, -1])
        made[:, -1] *= max(_LEAST_INTERCEPT, 1.0 - noise / seen) if seen > 0.0 else 0.0
    return made


def _centred(gradient: Array) -> Array:
    """Without the mean over the classes, which is 0 in every gradient, so that only noise is removed."""
    return np.asarray(gradient - gradient.mean(axis=0))


def _minimum(hessian: Array, pull: Array, penalty: Penalty) -> Array:
    """For each class the minimum of w'Hw/2 - pull.w + penalty."""
    if penalty.l1.any():
        return np.array([quadratic_minimum(hessian, own, penalty, 0.0) for own in pull])
    return quadratic_minimum(hessian, pull.T, penalty, 0.0).T


def _quadratic_start(found: Products, shape: Geometry, rows: WholeRows, penalty: Penalty) -> Array:
    """The minimum of the loss expanded at 0, log C - (e_y - 1/C).m + |m - mean m|^2/(2 C), with limited margins.

    Weights of hidden columns start at 0. All features start at 0 if their products with the classes are not longer than
    noise alone explains, by two standard deviations; and so do the intercepts.
    """
    classes, width = rows.objective.outputs, len(shape.hessian)
    signs = _centred(found.matrix[width:, :width])
    for own in np.split(signs, [rows.source.n_features], axis=1):  # features, and the constant if there is one
        free = (classes - 1) * own.shape[1]
        if float((own * own).sum()) <= (free + _DEVIATIONS * math.sqrt(2.0 * free)) * found.error**2:
            own[:] = 0.0
    # the products hold sqrt(C/(C-1)) (e_y - 1/C); the expanded loss is multiplied by C
    pull = signs * math.sqrt(classes * (classes - 1.0))
    weights = _minimum(shape.hessian, pull, penalty.times(classes))
    weights[:, : rows.source.n_features] *= visible(found, rows.source.n_features)
    length, most = float(np.einsum("ck,kl,cl->", weights, shape.hessian, weights)), _LARGEST_SIGNAL * (classes - 1)
    return weights * math.sqrt(most / length) if length > most else weights
