"""The arguments of `calibrate`, checked, as a request."""

from __future__ import annotations

from typing import Any

from hush.calibration.request import LOSSES, CalibrationRequest
from hush.calibration.units import checked_weights
from hush.errors import IncompleteCall, InvalidParameter, budgets, deltas, one_of, positive, whole
from hush.noise.catalogue import ranked, ranked_joint
from hush.privacy.budget import Budget, one_budget
from hush.privacy.sensitivity import Sensitivity

__all__ = ["demand_of", "family_names", "must_have_pair", "no_effect", "other_budget"]


def demand_of(
    epsilon: Any,
    delta: Any,
    sensitivity: Any,
    loss: str,
    times: int,
    notion: str,
    step: float | None,
    weights: Any,
    rate: float | None = None,
) -> CalibrationRequest:
    """The request that the arguments state."""
    budget, share = budgets("epsilon", epsilon), deltas("delta", delta, zero=True)
    if budget.ndim or share.ndim:
        raise InvalidParameter("calibrate takes one epsilon and one delta; call it once for each pair.")
    one_of("loss", loss, LOSSES)
    one_of("notion", notion, ("dp", "pdp"))
    lattice = None if step is None else positive("step", step)
    bound = Sensitivity.of(sensitivity)
    each = checked_weights(weights, bound)
    count = whole("times", times)
    return CalibrationRequest(float(budget), float(share), bound, count, loss, lattice, notion, each, rate)


def must_have_pair(epsilon: Any, delta: Any) -> None:
    """Reject a call without epsilon or without delta."""
    for name, value, example in (("epsilon", epsilon, "epsilon=1.0"), ("delta", delta, "delta=1e-6")):
        if value is None:
            raise IncompleteCall(
                f"calibrate is missing {name} (None); write for example {example}, or write "
                "calibrate(epsilon=1.0, delta=1e-6)."
            )


def other_budget(epsilon: Any, delta: Any, rho: Any, mu: Any) -> Budget:
    """A budget in rho or mu; its delta is the one at which epsilon is stated."""
    one_budget(epsilon, delta, rho, mu, "calibrate(rho=0.1)")
    return Budget(rho=rho, mu=mu) if delta is None else Budget(rho=rho, mu=mu, delta=delta)


def no_effect(demand: CalibrationRequest) -> str:
    """Why values="integer" changes nothing for this request; empty if it may."""
    if demand.step is not None:
        return "values='integer' had no effect beside step="
    if (demand.bound.linf is None and demand.bound.columns is None) or demand.bound.box is None:
        return "values='integer' had no effect, because the sensitivity is not given by linf"
    if not all(float(shift).is_integer() for shift, _ in demand.bound.shifts):
        return "values='integer' had no effect, because the sensitivity is not a whole number"
    return ""


def family_names(*, lattice: bool = False) -> tuple[str, ...]:
    """The names that `family` takes, with noise on a lattice or without."""
    return (*(row.name for row in (*ranked(lattice=lattice), *ranked_joint())), "optimal", "independent")
