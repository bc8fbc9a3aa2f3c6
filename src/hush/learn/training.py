"""A fit from start to end: plan with public facts, pay, then read the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, as_float, budgets, deltas, one_of, within
from hush.learn.budget import ACCOUNTING, Part, Wish, allot, must_be_allowed
from hush.learn.defaults import Setting, fitting_solver, relative_noise, setting
from hush.learn.descent import LARGEST, Trace, descend, updates_wish
from hush.learn.first_steps import NO_STEPS, FirstSteps, first_steps
from hush.learn.label import DELTA_SHARE, EPSILON_SHARE, Labels, labels_plan
from hush.learn.moment_solver import products, products_wish, quadratic_minimum
from hush.learn.objective import LOGISTIC, Objective
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.rows import Rows, grain
from hush.learn.scaling import SCALINGS, Scaling, Span, moments_wish, private_scaling
from hush.ledger.payment import Payment
from hush.ledger.payment import pay as pay_for
from hush.privacy.charge import Budget, Charge
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Fit", "Plan", "Request", "pay", "plan", "train"]

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
    #: whether the bounds of the features, and those of the target, are found privately
    find_bounds: tuple[bool, bool] = (False, False)
    #: the number of columns to keep, "auto" or "all"
    keep: Any = "all"

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
    first: FirstSteps = NO_STEPS

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The cost of everything but the search for labels."""
        return (*self.first.charges, *(part.charge for part in self.parts))

    def part(self, name: str) -> Part | None:
        """The part with this name, if the plan has one."""
        return next((part for part in self.parts if part.wish.name == name), None)


@dataclass(frozen=True)
class Fit:
    """The weights in the user's units, with the scaling, trace and plan that led to them."""

    coefficients: Array
    intercept: float
    scaling: Scaling
    trace: Trace
    plan: Plan
    #: the places of the kept columns; None if all were kept
    kept: NDArray[np.int64] | None = None


def plan(request: Request, rows: int) -> Plan:
    """The settings and all mechanisms of a fit; raises before anything is spent."""
    epsilon, delta = _budget(request)
    share = _scaling_share(request)
    labels = None
    if request.find_labels and request.private:  # by basic composition the rest of the budget remains for learning
        labels = labels_plan(EPSILON_SHARE * epsilon, DELTA_SHARE * delta)
        epsilon, delta = (1.0 - EPSILON_SHARE) * epsilon, (1.0 - DELTA_SHARE) * delta
    first = first_steps(request, rows, epsilon, delta)
    columns = first.width + request.fit_intercept
    rho = relative_noise(epsilon, delta, (1.0 - share) * (1.0 - first.share), rows, columns)
    chosen = setting(
        request.objective,
        rho,
        columns,
        solver=fitting_solver(request.solver, request.objective, request.family, delta, descent=_descent(request)),
        passes=request.passes,
        step=request.step,
        clip=request.clip,
    )
    if not request.private:
        return Plan(request, rows, chosen, first=first)
    scaled = first.width + (request.target_span is not None)
    wishes: list[Wish] = [moments_wish(scaled, share)] if share else []
    if chosen.solver == "statistics":
        wishes.append(products_wish(rows, columns + 1, _radius(chosen, columns), 1.0 - share))
    else:
        wishes.append(updates_wish(grain(rows), columns, chosen, 1.0 - share))
    parts = allot(
        epsilon, delta, tuple(wishes), family=request.family, accounting=request.accounting, others=first.charges
    )
    return Plan(request, rows, chosen, parts, labels, first)


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


def _descent(request: Request) -> bool:
    """Is an option given that only a descent has?"""
    return any(value is not None for value in (request.passes, request.step, request.clip))


def _budget(request: Request) -> tuple[float, float]:
    epsilon = as_float("epsilon", request.epsilon, "a number greater than 0", "write epsilon=1.0")
    delta = float(deltas("delta", as_float("delta", request.delta, "in [0, 1)", "write delta=1e-6"), zero=True))
    return (epsilon if epsilon == math.inf else float(budgets("epsilon", epsilon))), delta


def _radius(chosen: Setting, columns: int) -> float:
    """The length limit of a row; sqrt(K + 1) is the root mean square length of a row with constant and target."""
    return chosen.radius * math.sqrt(columns + 1.0)


def train(
    made: Plan,
    rows: Array,
    target: Array,
    *,
    before: tuple[Array, float] | None = None,
    after_pass: Callable[[int, Trace], None] | None = None,
    payment: Payment | None = None,
    entropy: Entropy | None = None,
) -> Fit:
    """Scale, then learn, with the noise that `pay` has paid for. `before` holds released weights to start from.

    Guarantees: a plan with noise raises `NotPaid` without a payment, or if the payment's noise was already drawn.
    """
    width, paid = rows.shape[1], Paid(payment, entropy)
    # one block for features, constant and target: the only copy of the data, scaled in place
    block = np.empty((width + made.request.fit_intercept + 1, rows.shape[0]))
    block[:width], block[width:-1], block[-1] = rows.T, 1.0, target
    scaled = [*range(width), *([-1] if made.request.target_span is not None else [])]
    scaling = _scaling(made, block, scaled, paid)
    own, of_target = scaling[:width], scaling[width:]
    own.apply(block[:width])
    of_target.apply(block[-1:])
    penalty = _penalty(made.request, own, of_target)
    solve = _from_products if made.setting.solver == "statistics" else _by_descent
    start = _scaled_weights(before, own, of_target, made.request.fit_intercept)
    trace = solve(made, block, penalty, start, after_pass, paid)
    coefficients, intercept = _original_weights(trace.weights[-1], own, of_target, made.request.fit_intercept)
    return Fit(coefficients, intercept, scaling, trace, made)


def pay(made: Plan, ledger: Ledger | None, label: str) -> Payment | None:
    """Build every sampler, then charge the ledger, so that no sampler can fail after the charge.

    Without a ledger the payment is unaccounted. A plan without noise needs no payment.
    """
    for part in made.parts:
        part.mechanism.prepare()
    if ledger is not None and not made.parts:
        raise InvalidParameter("epsilon = inf gives no privacy, which no ledger can pay for; leave ledger= out.")
    if ledger is not None and made.request.scaling == "paper":
        raise Unsupported(
            "scaling='paper' uses means and spreads without noise and has no guarantee to charge; leave ledger= out."
        )
    if not made.parts:
        return None
    charges, extra = list(made.charges), 0.0
    if made.labels is not None:
        made.labels.mechanism.prepare()
        charges, extra = [*charges, made.labels.mechanism.charge], made.labels.delta
    return pay_for(
        ledger, charges, label=label, extra_delta=extra, budget=Budget(made.request.epsilon, made.request.delta)
    )


def _scaling(made: Plan, block: Array, scaled: list[int], paid: Paid) -> Scaling:
    request, part = made.request, made.part("means and spreads")
    span = request.span.joined(request.target_span) if request.target_span is not None else request.span
    if part is not None:
        found = private_scaling([block[index] for index in scaled], span, part, paid)
    elif request.private and request.scaling == "public":
        found = Scaling.public(span)
    else:
        found = Scaling.of_data(block[scaled], span)
    found = found.limited(request.winsorise)
    return found if request.fit_intercept else found.uncentred()


def _penalty(request: Request, own: Scaling, of_target: Scaling) -> Penalty:
    """The penalty in scaled units: in the user's units w = w_u s_y/s_i, and the loss is s_y^2 times the scaled loss."""
    spread = own.spread if request.penalise == "original" else np.ones_like(own.spread)
    height = float(of_target.spread[0]) if of_target.spread.size and request.penalise == "original" else 1.0
    free = [0.0] * request.fit_intercept
    return Penalty(np.append(request.l1 / (spread * height), free), np.append(request.l2 / spread**2, free))


def _scaled_weights(before: tuple[Array, float] | None, own: Scaling, of_target: Scaling, constant: bool) -> Array:
    if before is None:
        return np.zeros(own.spread.size + constant)
    coefficients, intercept = before
    centre, height = _height(of_target)
    with np.errstate(over="ignore", invalid="ignore"):  # overflows if the ranges changed by a very large factor
        weights = np.append(
            coefficients * own.spread / height, [(intercept + coefficients @ own.centre - centre) / height] * constant
        )
    return np.clip(np.nan_to_num(weights), -LARGEST, LARGEST)


def _original_weights(weights: Array, own: Scaling, of_target: Scaling, constant: bool) -> tuple[Array, float]:
    centre, height = _height(of_target)
    coefficients = weights[: own.spread.size] * height / own.spread
    if not constant:
        return coefficients, 0.0
    return coefficients, float(centre + height * weights[-1] - coefficients @ own.centre)


def _height(of_target: Scaling) -> tuple[float, float]:
    return (float(of_target.centre[0]), float(of_target.spread[0])) if of_target.spread.size else (0.0, 1.0)


_Progress = Callable[[int, Trace], None] | None


def _by_descent(made: Plan, block: Array, penalty: Penalty, start: Array, after_pass: _Progress, paid: Paid) -> Trace:
    chosen = made.setting
    if not made.parts and chosen.solver == "gd" and made.request.step is None:  # no privacy: use the true eigenvalue
        chosen = replace(chosen, step=0.99 / float(np.linalg.eigvalsh(block[:-1] @ block[:-1].T / block.shape[1])[-1]))
    data = Rows(block[:-1], block[-1], made.request.objective, np.array(chosen.clips))
    data.move_all(start)
    return descend(data, penalty, chosen, made.part("updates"), start, paid, after_pass=after_pass)


def _from_products(
    made: Plan, block: Array, penalty: Penalty, start: Array, after_pass: _Progress, paid: Paid
) -> Trace:
    logistic, width = made.request.objective is LOGISTIC, len(block) - 1
    if logistic:
        block[-1] = 2.0 * block[-1] - 1.0  # the label as -1 or 1
    found = products(block, _radius(made.setting, width), made.part("sums of products"), paid)
    hessian, pull = found.matrix[:-1, :-1], found.matrix[:-1, -1]
    noise = 2.0 * found.error * math.sqrt(width)  # about the spectral norm of the symmetric noise matrix
    if logistic:  # the expanded loss log 2 - (y - 1/2) m + m^2/8, multiplied by 4
        penalty = Penalty(4.0 * penalty.l1, 4.0 * penalty.l2)
        pull = 2.0 * pull
    weights = quadratic_minimum(hessian, pull, penalty, noise)
    trace = Trace(start, [weights], [hessian @ weights - pull])
    if after_pass is not None:
        after_pass(1, trace)
    return trace
