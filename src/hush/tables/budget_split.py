"""How the budget of a query is divided among the answers and the questions beside them."""

from __future__ import annotations

from hush.numerics.rounding import SPARE, down
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription
from hush.tables.noise_choice import quick_spending

__all__ = ["beside", "rest"]


def beside(query: QueryDescription, share: float, total: tuple[float, float], times: int) -> Spending:
    """The noise of a query that is asked beside the answers, for a share of the budget."""
    return quick_spending(query.sensitivity, share * total[0], share * total[1], shared=query.shared, times=times)


def rest(total: tuple[float, float], *others: Spending | None) -> tuple[float, float]:
    """The part of a budget that the others leave, less a billionth: then all parts add up to no more than the budget,
    however their curves are rounded.
    """
    spent = [other for other in others if other]
    if not spent:
        return total
    epsilon, delta = total[0] - sum(other.epsilon for other in spent), total[1] - sum(other.delta for other in spent)
    return down(epsilon, SPARE), down(delta, SPARE)
