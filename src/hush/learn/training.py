"""A fit from start to end: plan with public facts, pay, then read the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported
from hush.learn.class_level import CLASSES, ClassLevel, class_counts
from hush.learn.coefficient_interval import CoefficientIntervals
from hush.learn.descent import LARGEST, Trace
from hush.learn.first_steps import take
from hush.learn.inference import coefficient_intervals
from hush.learn.level import LEVEL, NO_KNEE, TAPER_BIAS, level_scaling, noisy_level, stretched
from hush.learn.means_and_spreads import Level, MomentSums, private_scaling
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.planning import Plan, Request, plan
from hush.learn.row_source import RowSource
from hush.learn.scaling import Scaling, Span
from hush.learn.scikit_learn import one_thread
from hush.learn.solving import Problem, solve
from hush.learn.whole_sums import chunks
from hush.ledger.access import Access
from hush.ledger.payment import Payment
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Fit", "Plan", "Request", "must_be_payable", "pay", "plan", "train", "trained"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """The weights in the user's units, with the scaling, trace and plan that led to them.

    With three or more classes the coefficients are a matrix with one row for each class.
    """

    coefficients: Array
    intercept: Array
    scaling: Scaling
    trace: Trace
    plan: Plan
    #: the places of the kept columns; None if all were kept
    kept: NDArray[np.int64] | None = None
    intervals: CoefficientIntervals | None = None


def train(
    made: Plan,
    source: RowSource,
    *,
    before: tuple[Array, Array] | None = None,
    after_pass: Callable[[int, Trace], None] | None = None,
    payment: Payment | None = None,
    entropy: Entropy | None = None,
) -> Fit:
    """Scale, then learn, with the noise that `pay` has paid for. `before` holds released weights to start from.

    Guarantees: a plan with noise raises `NotPaid` without a payment, or if the payment's noise was already drawn.
    """
    paid = Paid(payment, entropy)
    with one_thread():
        return _trained(made, source, before, after_pass, paid)


def _trained(
    made: Plan,
    source: RowSource,
    before: tuple[Array, Array] | None,
    after_pass: Callable[[int, Trace], None] | None,
    paid: Paid,
) -> Fit:
    width, scaling = source.n_features, _scaling(made, source, paid)
    own, of_target = scaling[:width], scaling[width:]
    penalty = _penalty(made.request, own, of_target)
    start = _scaled_weights(before, own, of_target, made.request)
    problem = Problem(made, source, own, of_target, penalty, start, after_pass, _level(made, source, paid))
    trace = solve(problem, paid)
    intervals = coefficient_intervals(problem, trace.weights[-1], trace.second_moments, paid)
    coefficients, intercept = _original_weights(trace.weights[-1], own, of_target, made.request.fit_intercept)
    return Fit(coefficients, intercept, scaling, trace, made, intervals=intervals)


def trained(made: Plan, source: RowSource, paid: Paid, **options: Any) -> Fit:
    """Take the first steps of a plan, then train, with the noise that was paid for; `options` are those of `train`."""
    taken = take(made, source, paid)
    fit = train(taken.plan, taken.source, payment=paid.payment, entropy=paid.entropy, **options)
    return taken.whole(fit, made)


def must_be_payable(request: Request, ledger: Ledger | None) -> None:
    """Reject a fit without a guarantee if there is a ledger."""
    if ledger is None:
        return
    if not request.private:
        raise InvalidParameter("epsilon = inf gives no privacy, which no ledger can pay for; leave ledger= out.")
    if request.scaling == "paper":
        raise Unsupported(
            "scaling='paper' uses means and spreads without noise and has no guarantee to charge; leave ledger= out."
        )


def pay(made: Plan, access: Access, question: str = "", *, about: str = "") -> Payment | None:
    """Build every sampler, then charge the ledger, so that no sampler can fail after the charge.

    Without a ledger the payment is unaccounted. A plan without noise needs no payment. With a `question` a fit that was
    killed is paid for already.
    """
    for part in made.parts:
        part.mechanism.prepare()
    must_be_payable(made.request, access.ledger)
    if not made.parts:
        return None
    if made.labels is not None:
        made.labels.mechanism.prepare()
    paid = {"budget": made.budget, "extra_delta": made.extra_delta, "about": about}
    return access.pay(question, list(made.paid), **paid)  # type: ignore[arg-type]


def _scaling(made: Plan, source: RowSource, paid: Paid) -> Scaling:
    request, part, level = made.request, made.part("means and spreads"), made.part(LEVEL)
    knee = made.setting.knee
    target = request.target_span
    span = request.span if target is None else request.span.joined(target)
    if part is not None:
        known = None
        if level is not None:
            assert target is not None
            noisy, error = noisy_level((y for _, y in chunks(source)), made.rows, target, knee, level, paid)
            known = Level(stretched(noisy, knee), error, 0.0 if knee == NO_KNEE else TAPER_BIAS)
        found = private_scaling(_moments(source, request.span, target), made.rows, span, part, paid, known)
    elif level is not None:
        assert target is not None
        targets = (y for _, y in chunks(source))
        found = level_scaling(targets, made.rows, request.span, target, knee, level, paid)
    elif request.private and request.scaling != "paper":
        found = Scaling.public(span)
    else:
        found = Scaling.of_data(np.vstack([rows.copy() for rows in _columns(source, target)]).T, span)
    found = found.limited(request.winsorise)
    return found if request.fit_intercept else found.uncentred()


def _level(made: Plan, source: RowSource, paid: Paid) -> ClassLevel | None:
    """The intercept of a classifier without features, if the plan releases the class counts."""
    part = made.part(CLASSES)
    if part is None:
        return None
    counts = class_counts((y for _, y in chunks(source)), made.request.objective.outputs)
    return ClassLevel.of(paid.release(part.mechanism, counts, CLASSES), made.rows, part.deviation)


def _moments(source: RowSource, features: Span, target: Span | None) -> NDArray[np.int64]:
    """The sums that give means and spreads: of the features, and of the target of a regression."""
    made = [MomentSums(span) for span in (features, target) if span is not None]
    for X, y in chunks(source):
        for moments, rows in zip(made, (X, y[:, None]), strict=False):
            moments.add(rows)
    return np.concatenate([moments.total for moments in made], axis=1)


def _columns(source: RowSource, target: Span | None) -> Iterator[Array]:
    """Parts of the rows with the columns that are scaled: the features, and the target of a regression."""
    for X, y in chunks(source):
        yield X if target is None else np.column_stack([X, y])


def _penalty(request: Request, own: Scaling, of_target: Scaling) -> Penalty:
    """The penalty in scaled units: in the user's units w = w_u s_y/s_i, and the loss is s_y^2 times the scaled loss."""
    spread = own.spread if request.penalise == "original" else np.ones_like(own.spread)
    height = float(of_target.spread[0]) if of_target.spread.size and request.penalise == "original" else 1.0
    free = [0.0] * request.fit_intercept
    # weights of rows are divided by their public limit, and so is the penalty
    l1, l2 = request.l1 / request.max_weight, request.l2 / request.max_weight
    return Penalty(np.append(l1 / (spread * height), free), np.append(l2 / spread**2, free))


def _scaled_weights(before: tuple[Array, Array] | None, own: Scaling, of_target: Scaling, request: Request) -> Array:
    constant, outputs = request.fit_intercept, request.objective.outputs
    if before is None:
        size = own.spread.size + constant
        return np.zeros(size if outputs == 1 else (outputs, size))
    coefficients, intercept = before
    centre, height = _height(of_target)
    with np.errstate(over="ignore", invalid="ignore"):  # overflows if the ranges changed by a very large factor
        last = (intercept + coefficients @ own.centre - centre) / height
        weights = coefficients * own.spread / height
        weights = np.concatenate([weights, last[..., None]], axis=-1) if constant else weights
    return np.clip(np.nan_to_num(weights), -LARGEST, LARGEST)


def _original_weights(weights: Array, own: Scaling, of_target: Scaling, constant: bool) -> tuple[Array, Array]:
    centre, height = _height(of_target)
    coefficients = weights[..., : own.spread.size] * height / own.spread
    if not constant:
        return coefficients, np.zeros(weights.shape[:-1])
    return coefficients, centre + height * weights[..., -1] - coefficients @ own.centre


def _height(of_target: Scaling) -> tuple[float, float]:
    return (float(of_target.centre[0]), float(of_target.spread[0])) if of_target.spread.size else (0.0, 1.0)
