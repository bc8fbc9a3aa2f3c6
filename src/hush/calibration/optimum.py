"""The optimum over all noises, where a linear programme can find it, as a choice of a ranking."""

from __future__ import annotations

from hush.calibration.plan import RankedNoise
from hush.calibration.request import CalibrationRequest
from hush.errors import HushError, Unsupported
from hush.noise.contract import Law

__all__ = ["optimal_choice", "optimal_if_better"]


def _optimal(demand: CalibrationRequest) -> Law:
    from hush.calibration.one_number import optimal

    if not demand.plain or demand.count != 1 or demand.loss not in ("variance", "mae") or demand.step is not None:
        raise Unsupported("the optimal noise is computed only for one number, and for loss='variance' or 'mae'")
    return optimal(demand.epsilon, demand.delta, demand.shift, loss=demand.loss)


def optimal_choice(demand: CalibrationRequest) -> RankedNoise:
    """The optimum over all noises, for one number; raises where it is not computed."""
    noise = _optimal(demand)
    return RankedNoise("optimal", noise=noise, loss=demand.value(noise))


def optimal_if_better(demand: CalibrationRequest, choices: list[RankedNoise]) -> list[RankedNoise]:
    """The optimum over all noises, if it is better than every family by more than 1 %."""
    try:
        best = optimal_choice(demand)
    except HushError:
        return []
    return [best] if best.loss < 0.99 * min(c.loss for c in choices) else []
