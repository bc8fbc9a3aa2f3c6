"""Plan a fit from public facts: the settings, and the noise of every part."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import as_float, budgets, deltas, one_of, warn_if_weak, within
from hush.learn.budget import ACCOUNTING, Part, Wish, allot, must_be_allowed
from hush.learn.defaults import Setting, fitting_solver, relative_noise, setting
from hush.learn.descent import updates_wish
from hush.learn.first_steps import NO_STEPS, FirstSteps, first_steps
from hush.learn.inference_plan import Inference, beside_inference, inference_plan, must_be_possible, must_have_share
from hush.learn.label_search import DELTA_SHARE, EPSILON_SHARE, Labels, labels_plan
from hush.learn.level import level_knee, level_wish
from hush.learn.means_and_spreads import moments_wish
from hush.learn.moment_solver import products_wish
from hush.learn.most_numbers import must_be_few
from hush.learn.objective import Objective
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.row_count import RowCount
from hush.learn.rows import grain
from hush.learn.scaling import SCALINGS, Span
from hush.learn.single_numbers import beside, for_mean, only_mean
from hush.learn.whitened import gradients_wish
from hush.privacy.charge import Budget, Charge

__all__ = ["Plan", "Request", "checked_budget", "plan", "row_radius"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """The user's settings; none of them depends on the data."""

    objective: Objective
    epsilon: float
    delta: float
    span: Span
    target_span: Span | None
    l1: float
    l2: float
    penalise: str
    fit_intercept: bool
    solver: str
    family: str | None
    accounting: str
    scaling: str
    scaling_share: float
    winsorise: float | None
    passes: int | None
    step: float | None
    clip: Any
    #: whether the labels of a classifier are found privately
    find_labels: bool = False
    #: which data sets are neighbours
    relation: Relation = REPLACED_ROW
    #: the public upper limit of a row's weight, and whether rows have weights
    max_weight: float = 1.0
    weighted: bool = False
    #: whether the bounds of the features, and those of the target, are found privately
    find_bounds: tuple[bool, bool] = (False, False)
    #: the number of columns to keep, "auto" or "all"
    keep: Any = "all"
    #: the share of the budget for intervals of the coefficients
    interval_share: float = 0.0
    #: whether a search chose the family of the noise
    searched: bool = False

    @property
    def private(self) -> bool:
        """Whether noise is added: epsilon = inf gives the same model without noise."""
        return not math.isinf(self.epsilon)


@dataclass(frozen=True)
class Plan:
    """The noise and the settings of a fit, computed from public facts."""

    request: Request
    rows: int
    setting: Setting
    parts: tuple[Part, ...] = ()
    labels: Labels | None = None
    #: the noisy number of rows, if it was released
    counted: RowCount | None = None
    #: the private choices before the fit
    first: FirstSteps = NO_STEPS
    #: the limits of rows in the sums for intervals of the coefficients
    inference: Inference | None = None

    @property
    def budget(self) -> Budget:
        """The budget of the fit, without that of the number of rows."""
        request = self.request
        return Budget(request.epsilon if self.counted is None else self.counted.left, request.delta)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The cost of everything but the search for labels and the number of rows."""
        return (*self.first.charges, *(part.charge for part in self.parts))

    @property
    def paid(self) -> tuple[Charge, ...]:
        """The charges of the fit's own ledger entry: everything but the number of rows."""
        return self.charges if self.labels is None else (*self.charges, self.labels.mechanism.charge)

    @property
    def extra_delta(self) -> float:
        """The probability that the search for labels fails, which no charge includes."""
        return 0.0 if self.labels is None else self.labels.delta

    def with_vectors(self, epsilon: float, delta: float, wishes: tuple[Wish, ...]) -> Plan:
        """The plan with the noise of these parts, beside that of the parts and choices that it has."""
        family, accounting = self.request.family, self.request.accounting
        parts = allot(
            epsilon,
            delta,
            wishes,
            family=family,
            accounting=accounting,
            others=self.charges,
            choices=bool(self.first.charges),
        )
        return replace(self, parts=(*self.parts, *parts))

    def part(self, name: str) -> Part | None:
        """The part with this name, if the plan has one."""
        return next((part for part in self.parts if part.wish.name == name), None)


def plan(request: Request, rows: int, counted: RowCount | None = None) -> Plan:
    """The settings and all mechanisms of a fit; raises before anything is spent.

    If the number of rows was released with noise, `counted` is its plan, and the rest of epsilon remains for the fit.
    """
    epsilon, delta = checked_budget(request)
    epsilon = epsilon if counted is None else counted.left
    relation = request.relation
    share = _scaling_share(request)
    labels = None
    if request.find_labels and request.private:  # by basic composition the rest of the budget remains for learning
        labels = labels_plan(EPSILON_SHARE * epsilon, DELTA_SHARE * delta, relation)
        epsilon, delta = (1.0 - EPSILON_SHARE) * epsilon, (1.0 - DELTA_SHARE) * delta
    first = first_steps(request, rows, epsilon, delta)
    inference = _inference(request, rows, first, (epsilon, delta), public=counted is None)
    columns, left = first.width + request.fit_intercept, (1.0 - share) * (1.0 - first.share)
    left *= 1.0 - request.interval_share
    solver = fitting_solver(request.solver, request.objective, request.family, delta, descent=_descent(request))
    # a neighbour with the effect of k replaced rows among N has that of one row among N / k
    among, vectors = rows / relation.moves, solver in ("auto", "whitened")
    rho = relative_noise(epsilon, delta, left, among, columns, vectors=vectors)
    chosen = _setting(request, rho, columns, solver, (epsilon, delta), among)
    if chosen.solver == "mean":
        first = first_steps(for_mean(request), rows, epsilon, delta)
    chosen, own = beside(request, chosen, columns, epsilon, among)
    made = Plan(request, rows, chosen, own, labels, counted, first, inference)
    if not request.private:
        return made
    wishes = _wishes(request, rows, first.width, chosen, share)
    wishes = beside_inference(inference, wishes, request.objective, rows, relation)
    must_be_few(wishes, first.width, _fewer(request))
    return made.with_vectors(epsilon, delta, tuple(wishes))


def _wishes(request: Request, rows: int, width: int, chosen: Setting, share: float) -> list[Wish]:
    """The parts of a fit with `width` features; `share` of the budget is for the scaling."""
    columns, left, relation = width + request.fit_intercept, 1.0 - share, request.relation
    if chosen.solver == "mean":
        return [level_wish(chosen.knee, relation)]
    scaled = width + (request.target_span is not None)
    wishes = [moments_wish(scaled, share, relation)] if share else []
    if chosen.solver == "statistics":
        wishes.append(products_wish(rows, columns + 1, row_radius(chosen, columns), left, relation))
    elif chosen.solver == "whitened":
        wishes += _whitened_wishes(request, rows, columns, chosen, left)
    else:
        wishes.append(updates_wish(grain(rows), columns, chosen, left, relation))
    return wishes


def _whitened_wishes(request: Request, rows: int, columns: int, chosen: Setting, share: float) -> list[Wish]:
    """The matrix of products and the gradients, of all classes at once if there are three or more."""
    outputs, matrix, relation = request.objective.outputs, chosen.matrix_share * share, request.relation
    return [
        products_wish(rows, columns + outputs, row_radius(chosen, columns), matrix, relation),
        gradients_wish(rows, columns * outputs, chosen, share - matrix, relation),
    ]


def _fewer(request: Request) -> str:
    """What to write if a fit has too many columns."""
    if request.objective.outputs > 1 or request.weighted:  # these have no choice of columns
        return "give fewer columns"
    return "write n_features_to_keep=30, or give fewer columns"


def _scaling_share(request: Request) -> float:
    """The share of the budget for the private scaling, after all named options were checked."""
    must_be_allowed(request.family)
    one_of("accounting", request.accounting, ACCOUNTING)
    one_of("scaling", request.scaling, SCALINGS)
    one_of("penalise", request.penalise, ("original", "scaled"))
    if request.winsorise is not None:
        within("winsorise", request.winsorise, 0.5, 1e6, "write winsorise=3.0")
    if request.scaling != "private":
        return 0.0
    return within("scaling_share", request.scaling_share, 0.01, 0.99, "write scaling_share=0.25")


def _setting(
    request: Request, rho: float, columns: int, solver: str, budget: tuple[float, float], among: float
) -> Setting:
    """The settings of the solver; `among` is the number of rows in units of the effect of a neighbour."""
    epsilon, pure = budget[0], budget[1] == 0.0
    if solver == "auto" and only_mean(request, rho, columns, epsilon, among, pure=pure):
        return Setting("mean", 1, 1.0, (math.inf,), math.inf, rho, knee=level_knee(epsilon, among))
    given = {"passes": request.passes, "step": request.step, "clip": request.clip}
    return setting(request.objective, rho, columns, solver=solver, pure=pure, **given)


def _inference(
    request: Request, rows: int, first: FirstSteps, budget: tuple[float, float], *, public: bool
) -> Inference | None:
    """The limits for intervals, after the request for them was checked."""
    made = inference_plan(
        request.objective,
        must_have_share(request.interval_share),
        first.width,
        rows,
        constant=request.fit_intercept,
        standard=request.scaling != "public",
        public=public,
        budget=budget,
        relation=request.relation,
    )
    must_be_possible(made, chosen=first.screen is not None, outputs=request.objective.outputs)
    return made


def _descent(request: Request) -> bool:
    """Is an option given that only a descent has?"""
    return any(value is not None for value in (request.passes, request.step, request.clip))


def checked_budget(request: Any) -> tuple[float, float]:
    """epsilon and delta of a request or of a model, checked; epsilon may be infinite."""
    epsilon = as_float("epsilon", request.epsilon, "a number greater than 0", "write epsilon=1.0")
    delta = float(deltas("delta", as_float("delta", request.delta, "in [0, 1)", "write delta=1e-6"), zero=True))
    warn_if_weak(epsilon, delta)
    return (epsilon if epsilon == math.inf else float(budgets("epsilon", epsilon))), delta


def row_radius(chosen: Setting, columns: int) -> float:
    """The length limit of a row; sqrt(K + 1) is the root mean square length of a row with constant and target."""
    return chosen.radius * math.sqrt(columns + 1.0)
