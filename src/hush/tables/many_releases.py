"""Several releases that are planned together: the pure epsilon of each, and noise that uses the whole budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hush.ledger.account import keeps
from hush.numerics import special
from hush.privacy.charge import Charge
from hush.tables.column_noise import Spending

__all__ = ["fitted", "pure_epsilons"]

_HALVINGS = 60  # of the range of a pure epsilon
_SMALLER = 0.995  # the next epsilon, if a composition on a grid does not confirm one
_TRIES = 8
_SHARES = (0.98, 0.9, 0.75, 0.5)  # of the epsilon that a sum leaves unused; the first that is confirmed is taken


def pure_epsilons(epsilon: float, delta: float, times: int) -> Iterator[float]:
    """Pure epsilons of one release of which `times` together should keep the budget, the largest first; the last one
    keeps it by the sum of epsilons. The caller proves each of them: this search uses floats.

    The worst releases of pure epsilon e are randomised responses (Kairouz, Oh and Viswanath 2015): the loss of each is
    e with probability 1/(1 + exp(-e)), else -e.
    """
    if delta > 0.0 and times > 1:
        low, high = epsilon / times, epsilon
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if _delta_of_responses(middle, times, epsilon) <= delta else (low, middle)
        for place in range(_TRIES):
            if low * _SMALLER**place > epsilon / times:
                yield low * _SMALLER**place
    yield epsilon / times


def _delta_of_responses(each: float, times: int, epsilon: float) -> float:
    """delta at epsilon of `times` randomised responses of pure epsilon `each`."""
    ups = np.arange(times + 1.0)
    losses = (2.0 * ups - times) * each
    chance = special.gammaln(times + 1.0) - special.gammaln(ups + 1.0) - special.gammaln(times - ups + 1.0)
    chance = chance + ups * each - times * np.log1p(np.exp(each))
    above = losses > epsilon
    return float(np.sum(np.exp(chance[above]) * -np.expm1(epsilon - losses[above])))


def fitted(
    make: Callable[[float, str], Spending], first: Spending, total: tuple[float, float], others: Sequence[Charge]
) -> Spending:
    """The least noise of the answers with which all releases and all `others`, composed exactly, keep the budget.

    `first` is the noise for what the others leave by a sum of epsilons; `make` calibrates the same family for a larger
    epsilon.
    """
    if not others or total[1] == 0.0:
        return first
    for share in _SHARES:
        found = make(first.epsilon + share * (total[0] - first.epsilon), first.plan.family)
        if keeps((found.charge.repeated(first.times), *others), *total):
            return found
    return first
