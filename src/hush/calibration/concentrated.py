"""The least noise for a budget in rho (zCDP) or mu (Gaussian differential privacy)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

from hush.calibration.plan import Plan, RankedNoise
from hush.calibration.request import CalibrationRequest
from hush.errors import HushError, Unsupported
from hush.noise.contract import Noise
from hush.noise.gaussian import FAMILY as GAUSSIAN
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import FAMILY as LAPLACE
from hush.noise.laplace import Laplace
from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, down, up
from hush.privacy.budget import Budget
from hush.privacy.charge import Charge
from hush.privacy.concentrated import epsilon_with_mu, epsilon_with_rho, mu_squared, rho

__all__ = ["for_sum_model", "plan_for"]

_TRIES = 60  # halvings of the range of a scale: to the last bit of a float
_INDEPENDENT = "independent"


def for_sum_model(budget: Budget, times: int) -> float:
    """The pure epsilon of a release of which `times` together keep the budget."""
    if budget.rho is not None:
        return epsilon_with_rho(down(budget.rho / times, FEW_ROUNDINGS))
    return epsilon_with_mu(down((budget.mu or 0.0) / math.sqrt(times), FEW_ROUNDINGS))


def plan_for(budget: Budget, demand: CalibrationRequest, family: str | None, pure: Callable[[], Plan]) -> Plan:
    """The least noise for a budget in rho or mu: of the noises with a pure epsilon, which `pure` ranks, and of Laplace
    and Gaussian noise by their own rho and mu.
    """
    reasons, rows = "", []
    try:
        rows = list(pure().ranking)
    except HushError as failure:
        reasons = str(failure)
    if demand.step is None:
        rows = [*rows, *_closed(budget, demand, family)]
    best: dict[str, RankedNoise] = {}
    for row in rows:
        if row.noise is not None and row.loss < best.get(row.family, RankedNoise(row.family)).loss:
            best[row.family] = row
    ranking = sorted(best.values(), key=lambda row: row.loss)
    if not ranking or ranking[0].noise is None:
        raise Unsupported(f"no noise has a proved {budget.kind} here; {reasons}")
    first, remark = ranking[0], f"the budget is {budget.kind} = {budget.rho or budget.mu:g}"
    assert first.noise is not None
    rest = (demand.bound, demand.times, demand.loss, demand.notion, demand.step, tuple(ranking))
    made = Plan(first.noise, first.family, budget.epsilon, budget.delta, *rest, remark=remark)
    return dataclasses.replace(made, weights=demand.weights)


def _closed(budget: Budget, demand: CalibrationRequest, family: str | None) -> list[RankedNoise]:
    """Gaussian and Laplace noise of the least scale."""
    found = []
    for name, make in ((GAUSSIAN.name, Gaussian), (LAPLACE.name, Laplace)):
        if family in (None, _INDEPENDENT, name):
            try:
                noise = _least(budget, demand, make)
            except HushError:
                continue
            found.append(RankedNoise(name, noise=noise, loss=demand.value(noise)))
    return found


def _least(budget: Budget, demand: CalibrationRequest, make: Callable[[float], Noise]) -> Noise:
    """The noise of the least scale whose releases together keep the budget."""
    amount = Fraction(budget.rho) if budget.rho is not None else Fraction(budget.mu or 0.0) ** 2

    def kept(scale: float) -> bool:
        charge = Charge(make(scale), demand.bound)
        return (rho(charge) if budget.rho is not None else mu_squared(charge)) * demand.times <= amount

    high = up(demand.bound.l2_bound, CLOSED_FORM)
    while not kept(high):
        high *= 2.0
    low = 0.5 * high
    while kept(low):
        low, high = 0.5 * low, low
    for _ in range(_TRIES):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (low, middle) if kept(middle) else (middle, high)
    return make(high)
