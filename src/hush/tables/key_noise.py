"""The noises that are compared for a query whose keys are found privately.

All of them depend on the budget, the columns and the most groups of a person alone, never on the data.

    plateau   pure joint noise for the columns of a group, with several widths: for few groups
    rule      the noise of the best rule for one group a person: the number of people alone, in few groups
    bump      light-tailed noise on the number of people: for many groups
    lifted    bump noise on the number of people, and Gaussian noise on the other columns less half the number of people
    others    the families of `hush.calibrate`, for all cells
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

import numpy as np

from hush.calibration.kept import kept_noise
from hush.calibration.plan import Plan, RankedNoise
from hush.errors import InvalidParameter, Unsupported
from hush.noise import bump, lifted, optimal_rule, plateau
from hush.noise.bump import Bump
from hush.noise.contract import Law, Noise
from hush.noise.level_calibration import least_scale
from hush.noise.lifted import Lifted
from hush.noise.optimal_rule import OptimalRule
from hush.noise.plateau import Plateau, least_plateau
from hush.numerics.rounding import COARSE_SEARCH, FEW_ROUNDINGS, SPARE, down
from hush.numerics.search import nudged, safe_secant
from hush.privacy import gaussian
from hush.privacy.by_keys import quick_delta
from hush.privacy.charge import Charge
from hush.privacy.compose import compose
from hush.privacy.sensitivity import Sensitivity
from hush.tables.contribution import Reach
from hush.tables.group_noise import lattice_step, move_by_one

__all__ = [
    "BUMP",
    "LIFTED",
    "OBJECTIVES",
    "PLATEAU",
    "RULE",
    "bump_plans",
    "lifted_plans",
    "plateau_plans",
    "rule_plans",
]

#: What noise and threshold are chosen for: the least group that is shown with probability 0.9, the least variance, or
#: the least threshold.
OBJECTIVES = ("shown", "variance", "threshold")
BUMP, LIFTED, PLATEAU = bump.FAMILY.name, lifted.FAMILY.name, plateau.FAMILY.name
RULE = optimal_rule.FAMILY.name
_WIDER = (1.0, 1.5, 2.0, 3.0)  # multiples of the offsets of least variance: wider plateaus have lower thresholds
_EXPONENTS = (4.0, 6.0, 8.0, 12.0, 16.0, 24.0)
_FEW_GROUPS = 4  # with so few groups the tails of bump noise do not help
_FINE = 16.0  # steps in the deviation of Gaussian noise: its rounding adds about 0.03 % of variance
_SEARCH = 1  # the version of the search: another one finds other noises
_TURNS, _GROWTH = 12, 1.15  # of a search for the least size
_NEAR = 2e-2  # the relative error of delta at which the search ends


def plateau_plans(reach: Reach, epsilon: float, weights: Mapping[str, float]) -> Iterator[Plan]:
    """Pure joint noise for the columns of each group, with several offsets."""
    parts = reach.parts
    if any(len(part.columns) > 1 or part.coordinates > 1 for part in parts):
        return
    people = next(place for place, part in enumerate(parts) if part.people)
    one_sided = tuple(part.one_sided for part in parts)
    bound = Sensitivity(columns=(1.0,) * len(parts), l0=reach.groups, one_sided=one_sided, people=people)
    kinds = tuple(
        "people" if place == people else "one_sided" if part.one_sided else "two_sided"
        for place, part in enumerate(parts)
    )
    scale = least_scale(reach.groups, epsilon)
    step = 1.0 if move_by_one(parts) else lattice_step(reach, scale)
    squares = [weights[part.columns[0]] ** 2 for part in parts]
    with suppress(Unsupported):  # a scale that the lattice cannot represent
        least = least_plateau(kinds, scale, step, squares) if len(kinds) > 1 else Plateau(kinds, scale, (), step)
        made = {tuple(round(c * wider / step) * step for c in least.offsets) for wider in _WIDER}
        for offsets in sorted(made):
            yield plan_of(PLATEAU, Plateau(kinds, scale, offsets, step), bound, epsilon, 0.0)


def rule_plans(reach: Reach, epsilon: float, delta: float) -> Iterator[Plan]:
    """The noise of the best rule, with an equal part of epsilon and delta for each group."""
    if reach.groups > _FEW_GROUPS or len(reach.parts) > 1 or not move_by_one(reach.parts) or not reach.parts[0].people:
        return
    bound = Sensitivity(columns=(1.0,), l0=reach.groups, one_sided=True, people=0)
    each = down(epsilon / reach.groups, FEW_ROUNDINGS) if reach.groups > 1 else epsilon
    with suppress(Unsupported, InvalidParameter):  # a budget for which the noise is not made
        noise = OptimalRule(each, down(delta / reach.groups, SPARE))
        yield plan_of(RULE, noise, bound, epsilon, delta)


def bump_plans(reach: Reach, epsilon: float, delta: float, goal: str) -> Iterator[Plan]:
    """Bump noise for the number of people by itself: of the exponents near the best one for the goal."""
    if reach.groups <= _FEW_GROUPS or len(reach.parts) > 1 or not move_by_one(reach.parts) or goal == "variance":
        return
    bound = Sensitivity(linf=1.0, l0=reach.groups)

    @cache
    def value(place: int) -> tuple[float, float]:
        return estimate(least_bump(_EXPONENTS[place], epsilon, delta, reach.groups), delta / reach.groups, goal)

    def search() -> Noise:
        return least_bump(_EXPONENTS[climbed(value, len(_EXPONENTS))], epsilon, delta, reach.groups)

    with suppress(Unsupported):
        noise = kept_noise(_question(BUMP, epsilon, delta, reach.groups, goal), search)
        if type(noise) is bump.FAMILY.type:  # a noise that is too small gets no threshold
            yield plan_of(BUMP, noise, bound, epsilon, delta)


def lifted_plans(reach: Reach, epsilon: float, delta: float, weights: Mapping[str, float], goal: str) -> Iterator[Plan]:
    """Bump noise on the number of people and Gaussian noise on the other columns, near the best exponent."""
    parts = reach.parts
    if reach.groups <= _FEW_GROUPS or len(parts) < 2 or any(len(p.columns) > 1 or p.coordinates > 1 for p in parts):
        return
    people = next(place for place, part in enumerate(parts) if part.people)
    others = tuple(
        (part.one_sided, weights[part.columns[0]] / weights[parts[people].columns[0]])
        for place, part in enumerate(parts)
        if place != people
    )
    one_sided = tuple(part.one_sided for part in parts)
    bound = Sensitivity(columns=(1.0,) * len(parts), l0=reach.groups, one_sided=one_sided, people=people)
    exponents = (*_EXPONENTS, 64.0) if goal == "variance" else _EXPONENTS

    def made(place: int) -> Lifted:
        return least_lifted(exponents[place], epsilon, delta, reach.groups, people, others)

    @cache
    def value(place: int) -> tuple[float, float]:
        first, second = estimate(made(place).noise, delta / reach.groups, goal)
        return (float(np.sum(made(place).variance)), first) if goal == "variance" else (first, second)

    with suppress(Unsupported):
        question = _question(LIFTED, epsilon, delta, reach.groups, goal) | {"people": people, "others": others}
        noise = kept_noise(question, lambda: made(climbed(value, len(exponents))))
        fits = noise.dimension == len(parts) and getattr(noise, "place", None) == people
        if type(noise) is lifted.FAMILY.type and fits:
            yield plan_of(LIFTED, noise, bound, epsilon, delta)


def _question(family: str, epsilon: float, delta: float, groups: int, goal: str) -> dict[str, Any]:
    """What a search is about, for the folder of calibrations."""
    known = {"family": family, "search": _SEARCH, "groups": groups, "goal": goal}
    return known | {"epsilon": epsilon.hex(), "delta": delta.hex()}


@lru_cache(maxsize=256)
def least_lifted(
    exponent: float, epsilon: float, delta: float, groups: int, people: int, others: tuple[tuple[bool, float], ...]
) -> Lifted:
    """The lifted noise of least edge that meets the budget, certified. `others` has for each other column whether it is
    one-sided, and its weight. For Gaussian noise on all columns the least sum of weighted variances has variances in
    these proportions (docs/maths/lifted.md).
    """
    root = math.sqrt(1.0 + sum(w * w / 4.0 for one_sided, w in others if one_sided))
    sizes = [math.sqrt(root / (2.0 * w) if one_sided else root / w) for one_sided, w in others]
    shares = tuple(0.5 if one_sided else 0.0 for one_sided, _ in others)
    one_sided = [flag for flag, _ in others]
    one_sided.insert(people, True)
    columns = (1.0,) * len(one_sided)
    bound = Sensitivity(columns=columns, l0=groups, one_sided=tuple(one_sided), people=people)

    def noise(edge: float) -> Lifted:
        law = Bump(exponent, edge)
        sigma = math.sqrt(law.variance)
        step = 2.0 ** -max(1, math.ceil(math.log2(_FINE / (sigma * min(sizes)))))
        return Lifted(law, tuple(sigma * size for size in sizes), shares, people, step)

    def excess(edge: float) -> float:
        return math.log(quick_delta(Charge(noise(edge), bound), epsilon) / delta)

    def meets(edge: float) -> bool:
        return certified_delta(Charge(noise(edge), bound), epsilon) <= delta

    moves = groups * (
        1.0 + sum((0.25 if flag else 1.0) / size**2 for (flag, _), size in zip(others, sizes, strict=True))
    )
    sigma = float(np.asarray(gaussian.sigma(epsilon, delta, math.sqrt(moves))))
    return noise(certified(excess, meets, sigma * math.pi * math.sqrt(exponent) / 2.0))


def estimate(people: Law, chance: float, goal: str) -> tuple[float, float]:
    """About the size that is shown, or the threshold, of a noise on the number of people; then its variance."""
    threshold = float(np.asarray(people.isf(chance))) + 2.0
    return threshold + (float(np.asarray(people.ppf(0.9))) if goal == "shown" else 0.0), people.variance


def climbed(value: Callable[[int], tuple[float, float]], count: int) -> int:
    """The place of the least value, of a function that falls and then rises, from the middle on."""
    place = count // 2
    for step in (-1, 1):
        while 0 <= place + step < count and value(place + step) < value(place):
            place += step
    return place


def plan_of(family: str, noise: Noise, bound: Sensitivity, epsilon: float, delta: float) -> Plan:
    """A plan without a ranking."""
    row = RankedNoise(family, noise=noise, loss=float(np.mean(noise.variance)))
    return Plan(noise, family, epsilon, delta, bound, 1, "variance", "dp", None, (row,))


@lru_cache(maxsize=256)
def least_bump(exponent: float, epsilon: float, delta: float, groups: int) -> Bump:
    """The bump of least edge that meets the budget in that many groups, certified."""
    bound = Sensitivity(linf=1.0, l0=groups)
    sigma = float(np.asarray(gaussian.sigma(epsilon, delta, math.sqrt(groups))))
    first = sigma * math.pi * math.sqrt(exponent) / 2.0  # near 0 the law is Gaussian, of this sigma

    def excess(edge: float) -> float:
        return math.log(quick_delta(Charge(Bump(exponent, edge), bound), epsilon) / delta)

    def meets(edge: float) -> bool:
        return certified_delta(Charge(Bump(exponent, edge), bound), epsilon) <= delta

    return Bump(exponent, certified(excess, meets, first))


def certified_delta(charge: Charge, epsilon: float) -> float:
    """The delta of a charge at epsilon: the less of two proved bounds."""
    return min(quick_delta(charge, epsilon), float(np.asarray(compose([charge]).delta(epsilon))))


def certified(excess: Callable[[float], float], meets: Callable[[float], bool], first: float) -> float:
    """The least size near `first` that meets a budget, to about a thousandth: `excess` guides the search, `meets`
    decides.
    """
    low = high = first
    for _ in range(_TURNS):
        if excess(high) <= 0.0:
            break
        low, high = high, _GROWTH * high
    for _ in range(_TURNS):
        if low < high or excess(low / _GROWTH) > 0.0:
            break
        low = high = low / _GROWTH
    low = low if low < high else low / _GROWTH
    near = safe_secant(lambda x: excess(math.exp(x)), math.log(low), math.log(high), relative=1e-5, near=_NEAR)
    found = nudged(meets, math.exp(near), first=COARSE_SEARCH.share, growth=4.0, turns=8)
    if found is None:
        raise Unsupported("no noise of this shape could be certified for the budget")
    return found
