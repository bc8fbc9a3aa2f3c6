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
from hush.learn.descent import Trace, descend, updates_wish
from hush.learn.label import DELTA_SHARE, EPSILON_SHARE, Labels, labels_plan
from hush.learn.moment_solver import Products, products, products_wish, quadratic_minimum
from hush.learn.objective import LOGISTIC, Objective
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.row_count import RowCount
from hush.learn.rows import Rows, grain
from hush.learn.scaling import SCALINGS, Scaling, Span, moments_wish, private_scaling
from hush.learn.units import original_weights, scaled_penalty, scaled_weights
from hush.ledger.payment import Payment
from hush.ledger.payment import pay as pay_for
from hush.privacy.charge import Budget
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["BLOCK", "Fit", "Plan", "Progress", "Request", "pay", "plan", "radius_of", "solved", "train"]

#: The most rows of one block of a source.
BLOCK = 1 << 15

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
    #: the public upper limit of a row's weight
    max_weight: float = 1.0

    @property
    def private(self) -> bool:
        """Whether noise is added: epsilon = inf gives the same model without noise."""
        return not math.isinf(self.epsilon)

    @property
    def whole_span(self) -> Span:
        """The ranges of the columns that are scaled: the features, and the target of a regression."""
        return self.span if self.target_span is None else self.span.joined(self.target_span)

    def finished(self, scaling: Scaling) -> Scaling:
        """A scaling with the limits against outliers, and with centre 0 for a model without an intercept."""
        limited = scaling.limited(self.winsorise)
        return limited if self.fit_intercept else limited.uncentred()


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

    @property
    def budget(self) -> Budget:
        """The budget of the fit, without that of the number of rows."""
        request = self.request
        return Budget(request.epsilon if self.counted is None else self.counted.left, request.delta)

    @property
    def room(self) -> int:
        """The number of rows that sums of integers leave room for."""
        return room(self.request, self.rows)

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


def room(request: Request, rows: int) -> int:
    """The number of rows that sums of integers leave room for: a noisy number of rows may be less than one block."""
    return rows if request.relation == REPLACED_ROW else max(rows, BLOCK)


def plan(request: Request, rows: int, counted: RowCount | None = None) -> Plan:
    """The settings and all mechanisms of a fit; raises before anything is spent.

    If the number of rows was released with noise, `counted` is its plan, and the rest of epsilon remains for the fit.
    """
    epsilon, delta = _budget(request)
    epsilon = epsilon if counted is None else counted.left
    share = _scaling_share(request)
    columns = request.span.low.size + request.fit_intercept
    relation = request.relation
    # one person of `relation.rows` rows among N has the effect of one row among N / relation.rows
    rho = relative_noise(epsilon, delta, 1.0 - share, rows / relation.moves, columns)
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
        return Plan(request, rows, chosen, counted=counted)
    labels = None
    if request.find_labels:  # by basic composition the rest of epsilon and delta remains for learning
        labels = labels_plan(EPSILON_SHARE * epsilon, DELTA_SHARE * delta)
        epsilon, delta = (1.0 - EPSILON_SHARE) * epsilon, (1.0 - DELTA_SHARE) * delta
    wishes: list[Wish] = [moments_wish(request.whole_span.low.size, share, relation)] if share else []
    most = room(request, rows)
    if chosen.solver == "statistics":
        wishes.append(products_wish(most, columns + 1, radius_of(chosen, columns), 1.0 - share, relation))
    else:
        wishes.append(updates_wish(grain(most), columns, chosen, 1.0 - share, relation))
    parts = allot(epsilon, delta, tuple(wishes), family=request.family, accounting=request.accounting)
    return Plan(request, rows, chosen, parts, labels, counted)


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


def radius_of(chosen: Setting, columns: int) -> float:
    """The length limit of a row; sqrt(K + 1) is the root mean square length of a row with constant and target."""
    return chosen.radius * math.sqrt(columns + 1.0)


def train(
    made: Plan,
    rows: Array,
    target: Array,
    *,
    weights: Array | None = None,
    before: tuple[Array, float] | None = None,
    after_pass: Callable[[int, Trace], None] | None = None,
    payment: Payment | None = None,
    entropy: Entropy | None = None,
) -> Fit:
    """Scale, then learn, with the noise that `pay` has paid for. `before` holds released weights to start from.

    `weights` are the weights of rows, numbers in [0, 1]. The scaling does not use them.

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
    penalty = scaled_penalty(made.request, own, of_target)
    solve = _from_products if made.setting.solver == "statistics" else _by_descent
    start = scaled_weights(before, own, of_target, made.request.fit_intercept)
    trace = solve(made, block, weights, penalty, start, after_pass, paid)
    coefficients, intercept = original_weights(trace.weights[-1], own, of_target, made.request.fit_intercept)
    return Fit(coefficients, intercept, scaling, trace, made)


def pay(made: Plan, ledger: Ledger | None, label: str, **where: str) -> Payment | None:
    """Build every sampler, then charge the ledger, so that no sampler can fail after the charge.

    Without a ledger the payment is unaccounted. A plan without noise needs no payment. `where` names the source and the
    block of a table, for the ledger.
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
    charges, extra = [part.charge for part in made.parts], 0.0
    if made.labels is not None:
        made.labels.mechanism.prepare()
        charges, extra = [*charges, made.labels.mechanism.charge], made.labels.delta
    return pay_for(ledger, charges, label=label, extra_delta=extra, budget=made.budget, **where)  # type: ignore[arg-type]


def _scaling(made: Plan, block: Array, scaled: list[int], paid: Paid) -> Scaling:
    request, part, span = made.request, made.part("means and spreads"), made.request.whole_span
    if part is not None:
        return request.finished(private_scaling([block[index] for index in scaled], span, part, paid))
    if request.private and request.scaling == "public":
        return request.finished(Scaling.public(span))
    return request.finished(Scaling.of_data(block[scaled], span))


Progress = Callable[[int, Trace], None] | None


def _by_descent(
    made: Plan, block: Array, rows: Array | None, penalty: Penalty, start: Array, after_pass: Progress, paid: Paid
) -> Trace:
    chosen = made.setting
    if not made.parts and chosen.solver == "gd" and made.request.step is None:  # no privacy: use the true eigenvalue
        chosen = replace(chosen, step=0.99 / float(np.linalg.eigvalsh(block[:-1] @ block[:-1].T / block.shape[1])[-1]))
    data = Rows(block[:-1], block[-1], made.request.objective, np.array(chosen.clips), weights=rows)
    data.move_all(start)
    return descend(data, penalty, chosen, made.part("updates"), start, paid, after_pass=after_pass)


def _from_products(
    made: Plan, block: Array, rows: Array | None, penalty: Penalty, start: Array, after_pass: Progress, paid: Paid
) -> Trace:
    if made.request.objective is LOGISTIC:
        block[-1] = 2.0 * block[-1] - 1.0  # the label as -1 or 1
    if rows is not None:
        block *= np.sqrt(rows)  # products of two entries then have the weight of their row
    found = products(block, radius_of(made.setting, len(block) - 1), made.part("sums of products"), paid)
    return solved(made, found, penalty, start, after_pass)


def solved(made: Plan, found: Products, penalty: Penalty, start: Array, after_pass: Progress) -> Trace:
    """The weights from noisy products of features, constant and target."""
    hessian, pull = found.matrix[:-1, :-1], found.matrix[:-1, -1]
    noise = 2.0 * found.error * math.sqrt(len(hessian))  # about the spectral norm of the symmetric noise matrix
    if made.request.objective is LOGISTIC:  # the expanded loss log 2 - (y - 1/2) m + m^2/8, multiplied by 4
        penalty = Penalty(4.0 * penalty.l1, 4.0 * penalty.l2)
        pull = 2.0 * pull
    weights = quadratic_minimum(hessian, pull, penalty, noise)
    trace = Trace(start, [weights], [hessian @ weights - pull])
    if after_pass is not None:
        after_pass(1, trace)
    return trace
