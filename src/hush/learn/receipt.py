"""What a fit promises, and on what conditions, in words and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hush.learn.budget import saved_over_zcdp
from hush.learn.objective import LOGISTIC
from hush.learn.training import Fit, Plan
from hush.ledger.entry import Entry
from hush.noise.catalogue import plain_values
from hush.version import __version__

__all__ = ["NEIGHBOURS", "Guarantee", "guarantee", "receipt"]


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-privacy for neighbouring data sets, or the reason why there is none (`holds` is False)."""

    epsilon: float
    delta: float
    neighbours: str
    holds: bool
    reason: str = ""

    def __str__(self) -> str:
        if not self.holds:
            return f"no privacy guarantee: {self.reason}"
        return f"(epsilon = {self.epsilon:g}, delta = {self.delta:g})-differential privacy; neighbours: {self.neighbours}"


NEIGHBOURS = "one row exchanged for any other; the number of rows is public"


def guarantee(plan: Plan) -> Guarantee:
    """What the plan gives."""
    request = plan.request
    if not request.private:
        return Guarantee(math.inf, 1.0, NEIGHBOURS, False, "epsilon = inf asks for no noise")
    if request.scaling == "paper":
        reason = (
            "scaling='paper' takes means, spreads and smoothness from the data itself, as the flipped Huber paper does, "
            "and adds no noise to them"
        )
        return Guarantee(math.inf, 1.0, NEIGHBOURS, False, reason)
    return Guarantee(request.epsilon, request.delta, NEIGHBOURS, True)


def receipt(fit: Fit, model: str, entry: Entry | None) -> dict[str, Any]:
    """Everything public about a fit, ready for JSON."""
    plan, promise = fit.plan, guarantee(fit.plan)
    request, setting = plan.request, plan.setting
    return {
        "kind": "private fit",
        "model": model,
        "guarantee": str(promise),
        "epsilon": promise.epsilon if promise.holds else None,
        "delta": promise.delta if promise.holds else None,
        "neighbours": promise.neighbours,
        "leaks": [promise.reason] if not promise.holds else [],
        "public": _public(plan),
        "rows": plan.rows,
        "features": int(request.span.low.size),
        "solver": setting.solver,
        "passes": len(fit.trace.weights),
        "step": setting.step if setting.solver != "statistics" else None,
        "clip": list(setting.clips) if setting.solver != "statistics" and math.isfinite(setting.clips[0]) else None,
        "accounting": request.accounting,
        "saved_over_zcdp": saved_over_zcdp(plan.parts) if plan.parts and request.accounting == "exact" else None,
        "scaling": request.scaling,
        "parts": [_part(part) for part in plan.parts],
        "labels": _labels(plan),
        "ledger": None if entry is None else {"number": entry.number, "time": entry.time},
        "version": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _public(plan: Plan) -> list[str]:
    known = ["the number of rows and of features", "the ranges in bounds"]
    if plan.request.target_span is not None:
        known.append("the range in target_bounds")
    if plan.request.objective is LOGISTIC and plan.labels is None:
        known.append("the two classes")
    return [*known, "all settings, which follow from these and from the budget"]


def _labels(plan: Plan) -> dict[str, Any] | None:
    made = plan.labels
    return None if made is None else {"noise": plain_values(made.mechanism.noise), "threshold": made.threshold, "delta": made.delta}


def _part(part: Any) -> dict[str, Any]:
    noise, bound, times = part.charge
    return {
        "name": part.wish.name,
        "share": part.wish.share,
        "noise": plain_values(noise),
        "numbers": part.wish.numbers,
        "times": times,
        "sensitivity": {key: getattr(bound, key) for key in ("linf", "l0", "l1", "l2") if getattr(bound, key) is not None},
        "step": part.mechanism.step,
    }
