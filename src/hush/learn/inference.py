"""Estimates of coefficients without the biases of the fit, and their standard errors, from released sums alone.

Let A be a mean of products of N rows and G its noise, so that A + G is released. Squared loss: b + g is released too,
and (A + G)^-1 (b + g) differs from the true coefficients v by exactly (A + G)^-1 (g - G v + s). Here s is the sampling
error, with a covariance of at most variance A / N. Logistic loss: one Newton step from released weights w differs from
the true ones by (A + G)^-1 (G (w - v) - g - s - r), where A holds the second derivatives, g is the noise of the
gradient and r is the remainder of the expansion. The matrix (A + G)^-1 is known, and so are the laws of g and G.
Nothing is inverted that is not released, so the standard errors stay right where the noise is almost as large as A. See
docs/maths/coefficient_interval.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.learn.coefficient_interval import CoefficientIntervals
from hush.learn.descent import LARGEST
from hush.learn.inference_plan import FIRST, LAST, Inference
from hush.learn.inference_sums import Score, Whitening, score, weighted_products, whitening
from hush.learn.moment_solver import Products
from hush.learn.objective import LOGISTIC
from hush.learn.paid import Paid
from hush.learn.scaling import Scaling, Span
from hush.learn.solving import Problem
from hush.learn.whole_rows import WholeRows

__all__ = ["coefficient_intervals", "product_variance"]

Array = NDArray[np.float64]

_FURTHEST = 32.0  # spreads: the limit of a feature; a row that far away has a very small weight
_DIAGONAL = 1.96  # the variance of the noise of a diagonal entry, over that of another entry: (7/5)^2
_DOUBT = 0.25  # standard errors grow by up to this share where the noise hides the smallest eigenvalue
#: Where the noise almost hides the matrix, the length of what is multiplied by it is estimated badly. This length is
#: used beside the estimate, for whitened columns: a regression explains at most its target, and margins are rarely
#: larger.
_LARGEST = {"squared": 1.5, "logistic": 11.0}
_LARGEST_VARIANCE = 3.0  # of the residuals of a target whose released spread is 1
_REMAINDER = 0.1  # half the largest third derivative of log-loss, 0.048, times the root of E x^4 = 3, rounded up
_LONGEST_STEP = 2.0  # of the first step, in whitened coordinates
_STEPS_WITHOUT_NOISE = 25


def coefficient_intervals(
    problem: Problem, weights: Array, second_moments: Array | None, paid: Paid
) -> CoefficientIntervals | None:
    """Estimates and standard errors of all coefficients in the user's units; None if they have no share.

    `weights` are those of the fit, in scaled units; `second_moments` are released second moments of the scaled rows.
    """
    made = problem.plan.inference
    if made is None:
        return None
    request = problem.plan.request
    own = _wide(problem.own, request.span, _FURTHEST)
    of_target = problem.of_target
    if request.target_span is not None:
        of_target = _wide(of_target, request.target_span, made.height)
    rows = WholeRows(problem.source, own, of_target, constant=True, objective=request.objective, keep=False)
    shape = whitening(second_moments, rows.width, standard=request.scaling != "public")
    centre, height = (float(of_target.centre[0]), float(of_target.spread[0])) if of_target.spread.size else (0.0, 1.0)
    towards = _towards(own, shape, height, problem.width)
    sums = _Sums(problem, made, rows, shape, paid)
    known = _logistic(sums, towards, weights) if request.objective is LOGISTIC else _squared(sums, towards)
    part = problem.plan.part(LAST)
    return known.intervals(
        centre if request.fit_intercept else 0.0, own.spread.size, None if part is None else part.mechanism.noise
    )


def _wide(scaling: Scaling, span: Span, reach: float) -> Scaling:
    """The scaling with limits at the bounds, or `reach` spreads from the centre."""
    return Scaling(scaling.centre, scaling.spread, span.low, span.high).limited(reach)


def _towards(own: Scaling, shape: Whitening, height: float, width: int) -> Array:
    """The linear map from weights of whitened columns to coefficients, and to the intercept (last) if there is one."""
    back = shape.numbers[:width, :width].T  # the margin is v.z = (W'v).u
    features = own.spread.size
    made = back * height
    made[:features] /= own.spread[:, None]
    if width > features:
        made[-1] -= own.centre @ made[:features]
    return made


@dataclass(frozen=True)
class _Known:
    """Coefficients (the intercept last, without the target's centre) and the variances of their errors."""

    values: Array
    variances: Array
    #: whether the least eigenvalue of the released matrix is above the norm of its noise
    known: bool

    def intervals(self, centre: float, features: int, noise: object) -> CoefficientIntervals:
        errors = np.sqrt(self.variances) if self.known else np.full(self.variances.size, math.inf)
        constant = self.values.size > features
        return CoefficientIntervals(
            self.values[:features],
            errors[:features],
            float(self.values[-1]) + centre if constant else 0.0,
            float(errors[-1]) if constant else 0.0,
            noise,  # type: ignore[arg-type]
        )


def product_variance(left: Array, right: Array) -> Array:
    """The variance of x'Gy for each row x of `left`, if G is symmetric noise of variance 1 off its diagonal.

    x'Gy is the sum over i of x_i y_i G_ii plus that over i < j of (x_i y_j + x_j y_i) G_ij.

    >>> product_variance(np.array([[1.0, 0.0]]), np.array([0.0, 2.0])).tolist()
    [4.0]
    """
    square = (left**2) @ (right**2)
    return np.asarray((left**2).sum(axis=1) * (right @ right) + (left @ right) ** 2 + (_DIAGONAL - 2.0) * square)


def _inverse(matrix: Array) -> tuple[Array, Array]:
    """The inverse of a symmetric matrix, without overflow where it is singular, and its eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    least = 1e-12 * max(float(np.abs(values).max()), 1e-300)
    safe = np.where(np.abs(values) < least, least, values)
    return (vectors / safe) @ vectors.T, values


def _hidden(values: Array, error: float) -> tuple[float, float]:
    """The norm of the noise of a matrix (with a probability of about 0.999), and how far it hides the eigenvalues.

    The second number is the norm divided by the least released eigenvalue, at most 1.
    """
    norm = error * (2.0 * math.sqrt(values.size) + 1.5)
    return norm, 1.0 if values[0] <= 0.0 else min(norm / float(values[0]), 1.0)


def _sampling(matrix: Array, values: Array, norm: float, directions: Array) -> Array:
    """The variance of a sampling error with the covariance of a matrix that is larger than the one without noise."""
    above = matrix + (max(0.0, -float(values[0])) + norm) * np.eye(len(matrix))
    return np.asarray(np.einsum("ij,jk,ik->i", directions, above, directions))


@dataclass(frozen=True)
class _Sums:
    """Where the released sums of one fit come from."""

    problem: Problem
    made: Inference
    rows: WholeRows
    shape: Whitening
    paid: Paid

    def products(self) -> Products:
        plan = self.problem.plan
        return weighted_products(self.rows, self.shape, self.made, plan.rows, plan.part(LAST), self.paid)

    def score(self, weights: Array, name: str) -> Score:
        plan = self.problem.plan
        return score(self.rows, self.shape, self.made, weights, plan.rows, plan.part(name), self.paid)


def _squared(sums: _Sums, towards: Array) -> _Known:
    plan, width, made, found = sums.problem.plan, sums.problem.width, sums.made, sums.products()
    matrix, error = found.matrix, found.error
    inner = matrix[:width, :width]
    inverse, values = _inverse(inner)
    solution = inverse @ matrix[:width, -1]
    ahead = np.append(solution, -1.0)  # the residual, as a combination of the columns and the target
    directions = towards @ inverse
    norm, hidden = _hidden(values, error)
    noise = error**2 * product_variance(np.pad(directions, ((0, 0), (0, 1))), ahead)
    noise += (error * made.factor * _LARGEST["squared"]) ** 2 * hidden**6 * (directions**2).sum(axis=1)
    spread = _residual_variance(made, sums.shape, matrix, ahead, error) * plan.request.relation.rows / plan.rows
    sampling = spread * _sampling(inner, values, norm, directions)
    factor = (1.0 + _DOUBT * hidden) / made.factor
    return _Known(towards @ solution / made.factor, (noise + sampling) * factor**2, hidden < 1.0)


def _residual_variance(made: Inference, shape: Whitening, matrix: Array, ahead: Array, error: float) -> float:
    """An estimate of the variance of the residuals, one deviation of its noise too large, in units of the sums.

    The mean of weight times squared residual is divided by the mean weight, which is that of the constant's square.
    """
    width = len(ahead) - 1
    places = [*range(width), len(matrix) - 1]
    inner = matrix[np.ix_(places, places)]
    squares = float(ahead @ inner @ ahead) + error * float(np.sqrt(product_variance(ahead[None, :], ahead)[0]))
    total = float(matrix[-1, -1]) + error * np.sqrt(_DIAGONAL)
    constant = np.linalg.inv(shape.numbers)[-1]  # the constant column is this combination of the whitened ones
    mean = float(constant @ matrix[:-1, :-1] @ constant)
    mean -= error * float(np.sqrt(product_variance(constant[None, :], constant)[0]))
    least = max(min(squares, total), 0.0)
    return min(least / max(mean, 1e-3), _LARGEST_VARIANCE * made.factor**2)


def _logistic(sums: _Sums, towards: Array, weights: Array) -> _Known:
    plan, width = sums.problem.plan, sums.problem.width
    back = sums.shape.numbers[:width, :width].T
    private = plan.part(LAST) is not None
    point = weights.copy()
    for _ in range(1 if private else _STEPS_WITHOUT_NOISE):
        first = sums.score(point, FIRST)
        moved = back @ _tame_step(first)
        point = np.clip(point - moved, -LARGEST, LARGEST)
        if not private and float(np.abs(moved).max()) < 1e-10:
            break
    found = sums.score(point, LAST)
    inverse, values = _inverse(found.information)
    step = inverse @ found.gradient
    directions = towards @ inverse
    error = found.information_error
    norm, hidden = _hidden(values, error)
    far = (error * _LARGEST["logistic"]) ** 2 * hidden**6 + (_REMAINDER * (step @ step)) ** 2
    noise = error**2 * product_variance(directions, step)
    noise += (found.gradient_error**2 + far) * (directions**2).sum(axis=1)
    sampling = _sampling(found.information, values, norm, directions) * plan.request.relation.rows / plan.rows
    start = np.linalg.solve(back, point)
    factor = 1.0 + _DOUBT * hidden
    return _Known(towards @ (start - step), (noise + sampling) * factor**2, hidden < 1.0)


def _tame_step(found: Score) -> Array:
    """A Newton step with the eigenvalues of the second derivatives raised above their noise, of limited length."""
    values, vectors = np.linalg.eigh(found.information)
    norm = found.information_error * (2.0 * np.sqrt(values.size) + 1.5)
    safe = np.maximum(values, max(norm, 1e-12))
    step = vectors @ ((vectors.T @ found.gradient) / safe)
    length = float(np.linalg.norm(step))
    return np.asarray(step * min(1.0, _LONGEST_STEP / max(length, 1e-300)))
