"""From a wished error to a budget, and one budget for several queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hush.errors import BudgetExceeded, HushError, InvalidParameter, Unsupported, positive, shown
from hush.ledger import Cap, Ledger
from hush.ledger.account import Account
from hush.ledger.listed import must_have_no_list
from hush.ledger.store import empty_account
from hush.numerics.rounding import decimal_up
from hush.privacy.budget import Budget

if TYPE_CHECKING:
    from hush.tables.query_plan import QueryPlan

__all__ = ["Planning", "plan_all"]

_TRIES = 12  # halvings of a range, or steps of a search
_LARGEST = 1e3  # the largest epsilon that is tried
_CLOSE = 0.02  # an error this much below the wish ends the search


class Planning:
    """What a query can say about its accuracy before anything is spent."""

    def epsilon_for(self, error: float | Mapping[str, float], delta: float = 1e-6, **options: Any) -> float:
        """The least epsilon with which half the width of each 95 % noise interval is at most `error`, to 2 %.

        `error` is one number for all aggregates, or a mapping from aggregates to numbers. `rows` is the size of the
        group for which errors are computed, 1000 if it is left out. Other options are those of `plan`; the noise is
        Gaussian (Laplace for delta = 0) unless `family` is given.

        >>> import hush, pyarrow
        >>> visits = hush.tables.table(pyarrow.table({"id": [1, 2]}), unit="id")
        >>> round(visits.aggregate(n=hush.tables.count_units()).epsilon_for(error=20), 2)
        0.39
        """
        rows = options.pop("rows", 1000)
        given = {"family": "laplace" if delta == 0.0 else "gaussian", **options}

        def excess(epsilon: float) -> float:
            found = self.planned(epsilon, delta, **given).errors(rows)  # type: ignore[attr-defined]
            wished = _wished(error, found)
            return max(found[name] / wished[name] for name in wished)

        low, high, epsilon = 0.0, math.inf, 1.0
        for _ in range(_TRIES):
            ratio = excess(epsilon)
            low, high = (epsilon, high) if ratio > 1.0 else (low, epsilon)
            if high < math.inf and (1.0 - _CLOSE <= ratio <= 1.0 or high <= low * (1.0 + _CLOSE)):
                break
            aimed = epsilon * max(ratio, 1e-3) * (1.0 + 0.25 * _CLOSE)
            epsilon = aimed if low < aimed < high else math.sqrt(low * high) if low > 0.0 else 0.5 * high
            if epsilon > _LARGEST:
                break
        if high > _LARGEST:
            raise Unsupported(f"no epsilon up to {_LARGEST:g} gives this error; widen it, or narrow the bounds.")
        return float(decimal_up(high, 4))


def _wished(error: float | Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """The wished error of each aggregate."""
    if not isinstance(error, Mapping):
        return dict.fromkeys(found, positive("error", error))
    unknown = sorted(set(error) - set(found))
    if unknown or not error:
        known = ", ".join(sorted(found))
        raise InvalidParameter(
            f"error names {shown(unknown[0] if unknown else 'nothing')}; the aggregates are {known}."
        )
    return {name: positive(f"the error of {shown(name)}", value) for name, value in error.items()}


def plan_all(
    queries: Sequence[Any],
    budget: Budget | Ledger,
    *,
    weights: Sequence[float] | None = None,
    **options: Any,
) -> list[QueryPlan]:
    """Plans of several queries that share one budget, composed exactly; the least noise for which all of them fit.

    `budget` is a `Budget`, or a ledger, of which they use what is left. `weights` are the shares of epsilon, equal if
    they are left out. Other options are those of `query.plan`. The noise is Gaussian (Laplace for delta = 0) unless
    `family` is given. With a `Budget`, the plans fit into a ledger of that budget with mode="nonadaptive", because
    their noise is fixed before the first answer.

    >>> import hush, pyarrow
    >>> visits = hush.tables.table(pyarrow.table({"id": [1, 2], "cost": [3.0, 4.0]}), unit="id")
    >>> people = visits.aggregate(n=hush.tables.count_units())
    >>> cost = visits.aggregate(total=hush.tables.sum("cost", low=0, high=10))
    >>> plans = hush.plan_all([people, cost], hush.Budget(1.0, 1e-6))
    >>> [round(plan.shares.epsilon, 1) for plan in plans]
    [0.7, 0.7]
    """
    rows = list(queries)
    if not rows or not all(callable(getattr(query, "plan", None)) for query in rows):
        raise InvalidParameter("plan_all needs a list of queries; write plan_all([first, second], Budget(1.0, 1e-6)).")
    each = [positive("a weight", weight) for weight in (weights if weights is not None else [1.0] * len(rows))]
    if len(each) != len(rows):
        raise InvalidParameter(f"weights must be {len(rows)} numbers, one for each query, got {len(each)}.")
    account = _account(budget)
    cap, total = account.cap, math.fsum(each)
    given = {"family": "laplace" if cap.delta == 0.0 else "gaussian", **options}

    makers = [getattr(query, "planned", query.plan) for query in rows]  # a policy allows or refuses what is found

    def plans(factor: float) -> list[QueryPlan] | None:
        try:
            made: list[QueryPlan] = [
                planned(factor * cap.epsilon * share / total, cap.delta / len(rows), **given)
                for planned, share in zip(makers, each, strict=True)
            ]
            grown = account.plus([entry for plan in made for entry in plan.entries()])
        except HushError:
            return None
        return made if grown.settled() is not None else None

    return [_allowed(plan) for plan in _largest(plans, cap)]


def _allowed(plan: QueryPlan) -> QueryPlan:
    """The plan, if the policy of its table allows it."""
    plan.query.table.access(None).allow(Budget(plan.shares.epsilon, plan.shares.delta))
    return plan


def _account(budget: Any) -> Account:
    """The account of a ledger, or an empty one for a budget, whose noise is fixed in advance."""
    if isinstance(budget, Ledger):
        account = budget.view().account
        must_have_no_list(account.cap)
        return account
    if not isinstance(budget, Budget):
        raise InvalidParameter(
            f"budget must be a Budget or a Ledger, got {shown(budget)}; write hush.Budget(1.0, 1e-6)."
        )
    if budget.rho is not None or budget.mu is not None:
        return empty_account(Cap(rho=budget.rho, mu=budget.mu, delta=budget.delta))
    return empty_account(Cap(budget.epsilon, budget.delta, "nonadaptive"))


def _largest(plans: Any, cap: Cap) -> list[QueryPlan]:
    """The plans of the largest factor of epsilon that fits. A factor of 1 is basic composition."""
    low, high = (1.0, 2.0) if plans(1.0) is not None else (0.0, 1.0)
    while low >= 1.0 and plans(high) is not None and high < _LARGEST:
        low, high = high, 2.0 * high
    for _ in range(_TRIES):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if plans(middle) is not None else (low, middle)
    found: list[QueryPlan] | None = plans(low) if low > 0.0 else None
    if found is None:
        raise BudgetExceeded(f"what is left of the budget, {cap}, does not cover these queries; nothing was spent.")
    return found
