"""The noises that are compared for a query whose keys are found privately.

All of them depend on the budget, the columns and the most groups of a person alone, never on the data.

    plateau   pure joint noise for the columns of a group, with several widths: for few groups
    rule      the noise of the best rule for one group a person: the number of people alone, in few groups
    bump      light-tailed noise on the number of people: for many groups
    lifted    bump noise on the number of people, and Gaussian noise on the other columns less half the number of people
    others    the families of `hush.calibrate`, for all cells
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from hush.calibration.kept import kept_noise
from hush.calibration.plan import Plan, RankedNoise
from hush.errors import InvalidParameter, Unsupported
from hush.noise import bump, lifted, optimal_rule, plateau
from hush.noise.contract import Law, Noise
from hush.noise.level_calibration import least_scale
from hush.noise.optimal_rule import OptimalRule
from hush.noise.plateau import Plateau, least_plateau
from hush.numerics.rounding import FEW_ROUNDINGS, SPARE, down
from hush.privacy.sensitivity import Sensitivity
from hush.tables.contribution import Reach
from hush.tables.group_noise import lattice_step, move_by_one
from hush.tables.key_shapes import BumpShape, LiftedShape, least

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
_SEARCH = 2  # the version of the search: another one finds other noises


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

    shapes = [BumpShape(exponent, reach.groups) for exponent in _EXPONENTS]

    @cache
    def value(place: int) -> tuple[float, float]:
        return estimate(shapes[place].rough(epsilon, delta), delta / reach.groups, goal)

    def search() -> Noise:
        return least(shapes[climbed(value, len(shapes))], epsilon, delta)

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

    shapes = [LiftedShape(exponent, reach.groups, people, others) for exponent in exponents]

    @cache
    def value(place: int) -> tuple[float, float]:
        noise = shapes[place].rough(epsilon, delta)
        first, second = estimate(noise.noise, delta / reach.groups, goal)
        return (float(np.sum(noise.variance)), first) if goal == "variance" else (first, second)

    with suppress(Unsupported):
        question = _question(LIFTED, epsilon, delta, reach.groups, goal) | {"people": people, "others": others}
        noise = kept_noise(question, lambda: least(shapes[climbed(value, len(shapes))], epsilon, delta))
        fits = noise.dimension == len(parts) and getattr(noise, "place", None) == people
        if type(noise) is lifted.FAMILY.type and fits:
            yield plan_of(LIFTED, noise, bound, epsilon, delta)


def _question(family: str, epsilon: float, delta: float, groups: int, goal: str) -> dict[str, Any]:
    """What a search is about, for the folder of calibrations."""
    known = {"family": family, "search": _SEARCH, "groups": groups, "goal": goal}
    return known | {"epsilon": epsilon.hex(), "delta": delta.hex()}


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
