"""How the budget of a query is divided among the answers and the questions beside them."""

from __future__ import annotations

from typing import Any

from hush.numerics.rounding import SPARE, down
from hush.tables.column_noise import Shares, Spending
from hush.tables.contribution import Reach
from hush.tables.description import QueryDescription
from hush.tables.left_out import left_out
from hush.tables.many_releases import fitted
from hush.tables.noise_choice import quick_spending, spending
from hush.tables.other_row import SHARE as OTHER_SHARE
from hush.tables.other_row import hidden_people, must_have_hidden_groups
from hush.tables.private_bounds import SHARE
from hush.tables.selection.spending import ChoiceSpending, choices_for

__all__ = ["divided"]


def divided(
    query: QueryDescription, total: tuple[float, float], limits_share: float, times: int, **options: Any
) -> tuple[Spending, Shares]:
    """The noise of the answers, and the parts of the budget for bounds, limits, the row "other" and choices. `options`
    are those of `spending`, and `other`.

    One release has the part of epsilon that the others leave. Several releases are composed exactly with them. Private
    bounds are found once, with the first release.
    """
    measured = left_out(query) if limits_share > 0.0 else None
    for_limits = _beside(measured.query, limits_share, total, times) if measured else None
    for_bounds = _beside(query.search, SHARE, total, 1) if query.search else None
    wanted = must_have_hidden_groups(query, options.pop("other", False))
    for_other = _beside(hidden_people(query), OTHER_SHARE, total, times) if wanted else None
    shared, family = query.shared, options.pop("family")
    options["units"] = None if query.threshold is None else shared.get(query.threshold, query.threshold)

    def calibrated(reach: Reach, epsilon: float, delta: float, name: str | None) -> Spending:
        return spending(reach, epsilon, delta, family=name, shared=shared, times=times, **options)

    left = _rest(total, for_limits, for_bounds, for_other)
    choices = choices_for(query, left, times, options.get("weights"))
    rest = _rest(total, for_limits, for_bounds, for_other, choices)
    if query.only_chosen:
        family = family or "laplace"  # the one number with noise is not shown
    spent = calibrated(query.sensitivity, *rest, family)
    if times > 1:
        beside = ((for_limits, times), (for_other, times), (for_bounds, 1), (choices, times))
        others = [part.charge.repeated(part.charge.times * each) for part, each in beside if part]
        reach = spent.reach
        spent = fitted(lambda epsilon, name: calibrated(reach, epsilon, total[1], name), spent, total, others)
    return spent, Shares(*total, family, for_bounds, for_limits, other=for_other, choices=choices)


def _beside(query: QueryDescription, share: float, total: tuple[float, float], times: int) -> Spending:
    """The noise of a query that is asked beside the answers, for a share of the budget."""
    return quick_spending(query.sensitivity, share * total[0], share * total[1], shared=query.shared, times=times)


def _rest(total: tuple[float, float], *others: Spending | ChoiceSpending | None) -> tuple[float, float]:
    """The part of a budget that the others leave, less a billionth: then all parts add up to no more than the budget,
    however their curves are rounded.
    """
    spent = [other for other in others if other]
    if not spent:
        return total
    epsilon, delta = total[0] - sum(other.epsilon for other in spent), total[1] - sum(other.delta for other in spent)
    return down(epsilon, SPARE), down(delta, SPARE)
