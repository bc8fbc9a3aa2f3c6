"""The guarantee and the receipt of a fit."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hush.errors import HushError
from hush.learn.budget import Part, saved_over_zcdp
from hush.learn.choices import Choice
from hush.learn.coefficient_interval import in_receipt
from hush.learn.objective import SQUARED
from hush.learn.row_count import RowCount
from hush.learn.rows import grain
from hush.learn.scaling import UNKNOWN
from hush.learn.training import Fit, Plan
from hush.learn.whitened import gradient_grain
from hush.ledger.entry import Entry
from hush.noise.catalogue import plain_values
from hush.numerics.rounding import CLOSED_FORM, down, round_up
from hush.privacy.charge import Charge, Guarantee
from hush.privacy.compose import compose
from hush.releasing.receipt import Receipt

__all__ = [
    "Receipt",
    "charged",
    "convergence",
    "guarantee",
    "of_chain",
    "part_words",
    "receipt",
    "row_count",
    "started_words",
]
_NOT_ITERATIVE = ("statistics", "mean")


def guarantee(plan: Plan) -> Guarantee:
    """The guarantee of one fit with this plan."""
    request = plan.request
    if not request.private:
        return request.relation.guarantee(math.inf, 1.0, "epsilon = inf means that no noise is added")
    if request.scaling == "paper":
        reason = (
            "scaling='paper' computes the means and spreads of all columns from the data, as the flipped Huber paper "
            "does, and adds no noise to them"
        )
        return request.relation.guarantee(math.inf, 1.0, reason)
    return request.relation.guarantee(request.epsilon, request.delta)


def of_chain(
    last: Guarantee, entries: Sequence[Entry], *, nonadaptive: bool, earlier: str = "the fits it started from"
) -> Guarantee:
    """The joint guarantee of a fit and of all fits that it started from, by their ledger entries, this fit's last.

    delta is the sum of their deltas. If all releases were fixed in advance (`nonadaptive`), epsilon is that of their
    exact composition. It is never larger than the sum of their epsilons, which holds in every case.
    """
    if len(entries) < 2 or not last.holds:
        return last
    epsilon, delta = _total(entry.epsilon for entry in entries), _total(entry.delta for entry in entries)
    if nonadaptive:
        with contextlib.suppress(HushError):  # if the composition fails, keep the sum
            epsilon = min(epsilon, _composed(entries, delta))
    before = ", ".join(str(entry.number) for entry in entries[:-1])
    one_or_more = "entry" if len(entries) == 2 else "entries"
    covers = f"this fit and {earlier} (ledger {one_or_more} {before}) together"
    return replace(last, epsilon=epsilon, delta=delta, covers=covers)


def started_words(entries: int, *, counted: bool) -> str:
    """What the earlier ledger entries of a fit are for; `counted` says that its number of rows was released."""
    if not counted:
        return "the fits it started from"
    return "the number of rows that it uses" if entries == 1 else "the fits it started from and their numbers of rows"


def _composed(entries: Sequence[Entry], delta: float) -> float:
    """The epsilon of all parts together, at the total delta minus the failure probabilities of the entries."""
    made = compose([charge for entry in entries for charge in entry.charges])
    if delta == 0.0:
        return float(made.pure_epsilon)
    return float(np.asarray(made.epsilon(down(delta - _total(entry.extra_delta for entry in entries), CLOSED_FORM))))


def _total(values: Iterable[float | None]) -> float:
    """The sum, rounded up."""
    return round_up(sum((Fraction(value) for value in values if value is not None), Fraction(0)))


def charged(entry: Entry | None) -> dict[str, Any] | None:
    """The ledger entry of a fit in the form that receipts use."""
    return None if entry is None else {"number": entry.number, "time": entry.time}


def receipt(fit: Fit, model: str, entry: Entry | None, promise: Guarantee, started_from: Sequence[int]) -> Receipt:
    """Everything public about a fit, ready for JSON.

    `promise` is the joint guarantee of this fit and of the fits with the ledger entries `started_from`.
    """
    plan, own = fit.plan, guarantee(fit.plan)
    request, setting = plan.request, plan.setting
    iterative = setting.solver not in _NOT_ITERATIVE
    about = {
        "model": model,
        "started_from": list(started_from),
        "this_fit": {"epsilon": own.epsilon, "delta": own.delta} if own.holds else None,
        "leaks": [promise.reason] if not promise.holds else [],
        "public": _public(plan),
        "rows": plan.rows,
        "features": int(request.span.low.size),
        "solver": setting.solver,
        "passes": len(fit.trace.weights),
        "step": setting.step if iterative else None,
        "clip": list(setting.clips) if iterative and math.isfinite(setting.clips[0]) else None,
        "grain": _grain(plan) if plan.parts else None,
        "accounting": request.accounting,
        "saved_over_zcdp": saved_over_zcdp(plan.parts) if plan.parts and request.accounting == "exact" else None,
        "scaling": request.scaling,
        "parts": [part_words(part) for part in plan.parts],
        "choices": [_choice(choice) for choice in plan.first.choices if request.private],
        "bounds": _bounds(plan),
        "kept": None if fit.kept is None else fit.kept.tolist(),
        "labels": _labels(plan),
        "rows_per_unit": request.relation.rows,
        "row_count": row_count(plan.counted),
        "max_weight": request.max_weight,
        "intervals": in_receipt(fit.intervals, request.interval_share),
    }
    whole = promise.holds and not started_from  # otherwise the guarantee covers more than these charges
    charges = [*plan.paid, *([] if plan.counted is None else [plan.counted.mechanism.charge])]
    extra = plan.extra_delta if whole else 0.0
    return Receipt.of(
        "private fit", promise, charges if whole else [], extra_delta=extra, ledger=charged(entry), about=about
    )


def _grain(plan: Plan) -> float | None:
    """The integer that stands for a gradient of the size of the clipping bound."""
    solver = plan.setting.solver
    if solver == "whitened":
        return gradient_grain(plan.rows, plan.setting.clips[0])
    return None if solver in _NOT_ITERATIVE else grain(plan.rows)


def _public(plan: Plan) -> list[str]:
    known = ["the number of features" if plan.counted is not None else "the number of rows and the number of features"]
    if plan.request.span.half[0] < UNKNOWN:
        known.append("the ranges in bounds")
    if plan.request.target_span is not None and plan.request.target_span.half[0] < UNKNOWN:
        known.append("the range in target_bounds")
    if plan.request.objective is not SQUARED and plan.labels is None:
        classes = max(plan.request.objective.outputs, 2)
        known.append("the two classes" if classes == 2 else f"the {classes} classes")
    return [*known, "all settings, which are computed from these facts and from the budget"]


def row_count(made: RowCount | None) -> dict[str, Any] | None:
    """The release of the number of rows in the form that receipts use."""
    return None if made is None else {"noise": plain_values(made.mechanism.noise), "epsilon": made.epsilon}


def _labels(plan: Plan) -> dict[str, Any] | None:
    made = plan.labels
    return (
        None
        if made is None
        else {"noise": plain_values(made.mechanism.noise), "threshold": made.threshold, "delta": made.delta}
    )


def _bounds(plan: Plan) -> str:
    """Which bounds were found privately."""
    made = plan.first.windows
    if made is None:
        sought = plan.setting.solver == "mean" and plan.request.find_bounds[0]
        return "not found: only the mean of the target was released" if sought else "declared"
    found = [name for name, sought in (("features", made.features), ("target", made.target)) if sought]
    return f"found privately: {' and '.join(found)}"


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "noise": plain_values(choice.noise),
        "times": choice.times,
        "sensitivity": {"linf": float(choice.move)},
    }


def part_words(part: Part) -> dict[str, Any]:
    """A part of a fit for its receipt."""
    charge: Charge = part.charge
    bound = charge.sensitivity
    return {
        "name": part.wish.name,
        # a part with a pure epsilon of its own has no share of what the others divide
        **({"share": part.wish.share} if part.own_epsilon is None else {"epsilon": part.own_epsilon}),
        "noise": plain_values(part.mechanism.noise),
        "numbers": part.wish.numbers,
        "times": charge.times,
        "sensitivity": {
            key: getattr(bound, key) for key in ("linf", "l0", "l1", "l2") if getattr(bound, key) is not None
        },
        "lattice_step": part.mechanism.step,
    }


def convergence(fit: Fit) -> dict[str, Any]:
    """Data for a convergence plot, all released: weights, noisy gradient's length and move of every pass."""
    return {
        "pass": list(range(1, len(fit.trace.weights) + 1)),
        "weights": np.array(fit.trace.weights),
        "noisy_gradient": np.array([float(np.linalg.norm(g)) for g in fit.trace.gradients]),
        "move": fit.trace.changes,
    }
