"""Run the solver of a plan on the rows of a source, with the scaling that was released."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hush.learn.class_level import ClassLevel
from hush.learn.classes_solver import class_descent, class_variances, shrunk_classes
from hush.learn.descent import Trace, descend
from hush.learn.hidden_columns import kept_of_hidden, visible
from hush.learn.moment_solver import Products, grain_bits, products, quadratic_minimum, row_products
from hush.learn.noiseless import newton
from hush.learn.objective import LOGISTIC, SQUARED
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.planning import Plan, row_radius
from hush.learn.row_source import RowSource, blocks_of
from hush.learn.rows import Rows
from hush.learn.scaling import Scaling
from hush.learn.shrinkage import shrunk
from hush.learn.softmax import Softmax
from hush.learn.sparse import without_small
from hush.learn.whitened import gradient_grain, whitened_descent
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import weighted_chunks

__all__ = ["Problem", "solve"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """A plan, its rows, the released scaling of features and target, and the penalty in scaled units."""

    plan: Plan
    source: RowSource
    own: Scaling
    of_target: Scaling
    penalty: Penalty
    #: the weights to start from; zeros unless the fit is a warm start
    start: Array
    after_pass: Callable[[int, Trace], None] | None
    #: the intercept of a classifier without features, if it was released
    level: ClassLevel | None = None

    @property
    def width(self) -> int:
        """The number of weights, with the intercept."""
        return self.source.n_features + self.plan.request.fit_intercept

    @property
    def doubt(self) -> Array | None:
        """The expected squared errors of the centres of features and target, in scaled units."""
        if self.own.doubt is None or self.of_target.doubt is None:
            return None
        return np.concatenate([self.own.doubt, self.of_target.doubt])

    def parts(self, *, signs: bool = False) -> Iterator[tuple[Array, Array | None]]:
        """Parts of the rows (u, 1, t) in scaled units, and their weights; the next part overwrites the rows.

        `signs` writes a label as its signs: -1 or 1, or a number for each of three or more classes.
        """
        features, room = self.source.n_features, np.empty((0, 0))
        objective = self.plan.request.objective
        columns = self.width + (objective.outputs if signs else 1)
        for X, y, weights in weighted_chunks(self.source):
            if len(room) < len(y):
                room = np.ones((len(y), columns))
            rows = room[: len(y)]
            rows[:, features : self.width] = 1.0
            self.own.apply_to_rows(X, rows[:, :features])
            if self.of_target.spread.size:
                self.of_target.apply_to_rows(y[:, None], rows[:, -1:])
            else:
                rows[:, self.width :] = objective.signs(y) if signs else y[:, None]
            yield rows, weights


def solve(problem: Problem, paid: Paid) -> Trace:
    """The trace of the plan's solver; its last weights are the model in scaled units."""
    made = problem.plan
    if made.setting.solver == "mean":  # the scaling has released it
        trace = Trace(problem.start, [problem.start.copy()], [np.zeros_like(problem.start)])
        if problem.after_pass is not None:
            problem.after_pass(1, trace)
        return trace
    if made.setting.solver == "statistics":
        return _from_products(problem, paid)
    if made.setting.solver == "whitened":
        return _whitened(problem, paid) if made.parts else _without_noise(problem)
    return _by_descent(problem, paid)


def _without_noise(problem: Problem) -> Trace:
    made, shape, penalty = problem.plan, problem.start.shape, problem.penalty
    classes = problem.start.size // problem.width
    penalty = Penalty(np.tile(penalty.l1, classes), np.tile(penalty.l2, classes))
    trace = newton(
        problem.parts,
        made.rows,
        made.request.objective,
        penalty,
        problem.start.ravel(),
        made.setting.passes,
        problem.after_pass,
    )
    trace.start, trace.weights = trace.start.reshape(shape), [weights.reshape(shape) for weights in trace.weights]
    return trace


def _rows(problem: Problem, *, fine: int | None = None) -> WholeRows:
    request = problem.plan.request
    own, of_target = problem.own, problem.of_target
    return WholeRows(problem.source, own, of_target, request.fit_intercept, request.objective, fine=fine)


def _products(problem: Problem, paid: Paid, rows: WholeRows | None = None) -> Products:
    made = problem.plan
    part, radius = made.part("sums of products"), row_radius(made.setting, problem.width)
    if part is None:
        parts = (_weighted(*block) for block in problem.parts(signs=made.request.objective is not SQUARED))
        return products(parts, made.rows, radius, None, paid)
    # without gradients the rows need not fit into 16 bits
    rows = _rows(problem, fine=grain_bits(made.rows, radius)) if rows is None else rows
    return row_products(rows, made.rows, radius, part, paid)


def _weighted(rows: Array, weights: Array | None) -> Array:
    """Rows whose products have the weight of the row."""
    if weights is not None:
        rows *= np.sqrt(weights)[:, None]
    return rows


def _whitened(problem: Problem, paid: Paid) -> Trace:
    made, part = problem.plan, problem.plan.part("gradients")
    assert part is not None
    request, setting = made.request, made.setting
    with closing(_rows(problem)) as rows:
        found = _products(problem, paid, rows)
        settings = (found, problem.penalty, setting, part, problem.start, paid)
        if isinstance(request.objective, Softmax):
            trace, shape = class_descent(rows, request.objective, *settings, after_pass=problem.after_pass)
        else:
            trace, shape, variance, free = whitened_descent(rows, *settings, after_pass=problem.after_pass)
    origin, constant, features = _origin(problem), request.fit_intercept, problem.source.n_features
    last, seen = trace.weights[-1] - origin, visible(found, features)
    if isinstance(request.objective, Softmax):
        error = part.deviation * setting.clips[0] / (gradient_grain(made.rows, setting.clips[0]) * made.rows)
        variance, free = class_variances(error, setting, request.objective, problem.width)
        kept = kept_of_hidden(last, seen, shape.hessian, free * (request.objective.outputs - 1))
        last = shrunk_classes(last, shape.hessian, variance, problem.level, constant=constant)
    else:
        kept = kept_of_hidden(last, seen, shape.hessian, free)
        doubt = None if problem.start.any() else problem.doubt
        last = shrunk(last, shape.hessian, variance, request.objective, problem.level, constant=constant, doubt=doubt)
    last[..., :features] *= kept
    trace.weights[-1] = without_small(last + origin, variance / np.diag(shape.hessian), problem.penalty)
    trace.second_moments = shape.hessian
    return trace


def _origin(problem: Problem) -> Array:
    """The weights that a noisy model is shrunk towards: the start, which is 0 without a warm start."""
    origin = problem.start.copy()
    if problem.level is not None:  # the intercept is then joined with the released one
        origin[..., -1] = 0.0
    return origin


def _by_descent(problem: Problem, paid: Paid) -> Trace:
    made, width = problem.plan, problem.source.n_features
    # one block for features, constant and target: the only copy of the data, scaled in place
    true_rows = sum(len(y) for _, y, _ in blocks_of(problem.source))
    block, done, weights = np.empty((problem.width + 1, true_rows)), 0, []
    for X, y, some in blocks_of(problem.source):
        part = block[:, done : done + len(y)]
        weights += [] if some is None else [some]
        part[:width], part[width:-1], part[-1] = X.T, 1.0, y
        done += len(y)
    problem.own.apply(block[:width])
    problem.of_target.apply(block[-1:])
    chosen = made.setting
    if not made.parts and chosen.solver == "gd" and made.request.step is None:  # no privacy: use the true eigenvalue
        chosen = replace(chosen, step=0.99 / float(np.linalg.eigvalsh(block[:-1] @ block[:-1].T / block.shape[1])[-1]))
    data = Rows(
        block[:-1],
        block[-1],
        made.request.objective,
        np.array(chosen.clips),
        weights=np.concatenate(weights) if weights else None,
        rows=made.rows,
    )
    data.move_all(problem.start)
    part_ = made.part("updates")
    return descend(data, problem.penalty, chosen, part_, problem.start, paid, after_pass=problem.after_pass)


def _from_products(problem: Problem, paid: Paid) -> Trace:
    made, penalty = problem.plan, problem.penalty
    found = _products(problem, paid)
    hessian, pull = found.matrix[:-1, :-1], found.matrix[:-1, -1]
    noise = 2.0 * found.error * math.sqrt(problem.width)  # about the spectral norm of the symmetric noise matrix
    if made.request.objective is LOGISTIC:  # the expanded loss log 2 - (y - 1/2) m + m^2/8, multiplied by 4
        penalty = penalty.times(4.0)
        pull = 2.0 * pull
    weights = quadratic_minimum(hessian, pull, penalty, noise)
    if penalty.l1.any() and found.error > 0.0:
        size = np.maximum(np.diag(hessian), noise)
        variance = found.error**2 * (1.0 + float(weights @ weights)) / size**2
        weights = without_small(weights, variance, penalty)
    weights[: problem.source.n_features] *= visible(found, problem.source.n_features)
    trace = Trace(problem.start, [weights], [hessian @ weights - pull])
    trace.second_moments = hessian + noise * np.eye(problem.width)
    if problem.after_pass is not None:
        problem.after_pass(1, trace)
    return trace
