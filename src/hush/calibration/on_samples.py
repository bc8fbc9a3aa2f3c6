"""The least noise for releases on Poisson samples of the people.

The scale is the least for which the releases together are proved to meet the budget. The shape of each family is that
of its best noise for one release on all people, with an epsilon and a delta at which Gaussian noise has the same scale.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hush.calibration.plan import RankedNoise
from hush.calibration.request import CalibrationRequest
from hush.calibration.scale import least, typical
from hush.calibration.training import noise_multiplier
from hush.errors import HushError, InvalidParameter, Unsupported, one_of
from hush.noise.catalogue import ranked
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.noise.gaussian import FAMILY, Gaussian
from hush.numerics.rounding import ELEMENTARY
from hush.numerics.search import nudged
from hush.privacy.compose import epsilon as epsilon_of
from hush.privacy.subsampling import sampling_rate

__all__ = ["choices_on_samples", "must_fit_samples"]

_PRECISION = 1e-6  # of the scale, relative
_MOST_DELTA = 0.05  # of one release on all people, whose best shape is used

#: The best noise of a family for a request without sampling.
Rule = Callable[[CalibrationRequest, Family], Law]


def must_fit_samples(rate: Any, notion: str, weights: Any, other: tuple[Any, ...]) -> float:
    """The rate, checked; raises if it is given with an argument that has no meaning for samples."""
    if notion != "dp" or weights is not None or any(each is not None for each in other):
        raise InvalidParameter("rate= needs a budget in epsilon and delta; leave notion, weights, rho and mu out.")
    return sampling_rate(rate)


def choices_on_samples(demand: CalibrationRequest, family: str | None, rule: Rule) -> list[RankedNoise]:
    """The least noise of every family of independent noise, or the reason why a family has none."""
    rows = ranked(lattice=demand.step is not None)
    if family not in (None, "independent"):
        one_of("family", family, (*(row.name for row in rows), "independent"))
        rows = tuple(row for row in rows if row.name == family)
    try:
        single = _for_sum_model(demand)
    except HushError as failure:
        return [RankedNoise(row.name, reason=str(failure).rstrip(".")) for row in rows]
    return [_choice(demand, single, row, rule) for row in rows]


def _choice(demand: CalibrationRequest, single: CalibrationRequest, row: Family, rule: Rule) -> RankedNoise:
    try:
        noise = _least(demand, single, row, rule)
        value = demand.value(noise)
    except HushError as failure:
        return RankedNoise(row.name, reason=str(failure).rstrip("."))
    if not math.isfinite(value):
        return RankedNoise(row.name, reason=f"its {demand.loss} is infinite")
    return RankedNoise(row.name, noise=noise, loss=value)


@lru_cache(maxsize=16)  # the scale of Gaussian noise, and the start of all other searches
def _sigma(demand: CalibrationRequest) -> float:
    assert demand.rate is not None
    return noise_multiplier(demand.epsilon, demand.delta, demand.rate, demand.times) * demand.bound.l2_bound


def _for_sum_model(demand: CalibrationRequest) -> CalibrationRequest:
    """One release on all people: of the same pure epsilon, or for which Gaussian noise has the same scale."""
    assert demand.rate is not None
    if demand.delta == 0.0:
        each = math.log1p(math.expm1(demand.epsilon / demand.times) / demand.rate)
        return dataclasses.replace(demand, epsilon=each, times=1, rate=None)
    share = min(demand.delta / (demand.rate * demand.times), _MOST_DELTA)
    alike = float(epsilon_of(Gaussian(_sigma(demand)), share, demand.bound.l2_bound))
    return dataclasses.replace(demand, epsilon=max(alike, demand.epsilon), delta=share, times=1, rate=None)


def _least(demand: CalibrationRequest, single: CalibrationRequest, row: Family, rule: Rule) -> Law:
    """The noise of the family with the least scale that meets the request."""
    exact = row.name == FAMILY.name and demand.delta > 0.0
    unit = Gaussian(_sigma(demand)) if exact else rule(single, row)
    if unit.discrete and unit.continuous is unit:
        raise Unsupported("the least scale on samples is searched for noise that can be scaled continuously")
    base = unit.continuous

    def noise_at(log_scale: float) -> Law:
        return demand.on_lattice(base.scaled(math.exp(log_scale)))

    if exact or demand.delta == 0.0:  # the scale is known but for rounding
        found = nudged(lambda k: demand.meets(noise_at(math.log(k))), 1.0, first=ELEMENTARY.share, growth=10.0, turns=9)
        if found is None:
            raise Unsupported("no noise was found for this budget")
        return noise_at(math.log(found))
    guess = math.log(_matched(single, base))
    return least(demand, noise_at, guess, relative=0.0, tolerance=_PRECISION)


def _matched(single: CalibrationRequest, base: Law) -> float:
    """The factor at which the noise is about as wide as Gaussian noise, if it is much narrower; else 1."""
    wide = typical(Gaussian(single.gaussian_sigma()))
    return max(0.5 * wide / typical(base), 1.0)
