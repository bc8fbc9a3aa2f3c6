"""The choice of a query's noise: the least noise of all families, or noise and threshold together for private keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hush.calibration.plan import Plan, RankedNoise
from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, Unsupported, budgets, deltas, one_of, positive, shown
from hush.ledger.account import keeps
from hush.noise import gaussian as normal
from hush.noise import laplace
from hush.noise.for_keys import ForKeys
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.rounding import CLOSED_FORM, SPARE, down, up
from hush.privacy import gaussian
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity
from hush.tables.column_noise import Spending, box, column_weights, distinct
from hush.tables.contribution import Reach
from hush.tables.group_noise import JOINT, clearly_better, joint_loss, joint_plan
from hush.tables.key_noise import (
    BUMP,
    LIFTED,
    OBJECTIVES,
    PLATEAU,
    RULE,
    bump_plans,
    lifted_plans,
    plateau_plans,
    rule_plans,
)
from hush.tables.key_rule import key_rule, shown_by_chance
from hush.tables.many_releases import pure_epsilons

__all__ = ["quick_spending", "spending"]

#: The share of delta that pays for the private keys of several releases that are planned together.
_OF_MANY = 0.1
_TIE = 0.002  # values this much above the least one, relative to it, are equal, and a second value decides
_PRICE = 0.04  # the same for group sizes where the variance of further columns decides
_GOALS = {
    "shown": "the least group that is shown",
    "threshold": "the least threshold",
    "variance": "the least variance",
}


@lru_cache(maxsize=256)
def _least_noise(
    epsilon: float, delta: float, bound: Sensitivity, family: str | None, whole_steps: bool, times: int
) -> Plan:
    """The calibration for the box: one law for all columns, whose noise is then scaled by bounds and weights. Columns
    that all move by 1 may have noise on the whole numbers.
    """
    values = "integer" if whole_steps else "real"
    return calibrate(epsilon, delta, bound, family=family or "independent", values=values, times=times)


def spending(
    reach: Reach,
    epsilon: Any,
    delta: Any,
    *,
    weights: Mapping[str, float] | None = None,
    family: str | None = None,
    units: str | None = None,
    keys_for: str = "shown",
    shared: Mapping[str, str] | None = None,
    times: int = 1,
) -> Spending:
    """The least noise for all columns together. With `units`, keys are found privately: noise and threshold are chosen
    for `keys_for`. A column that equals another one (`shared`) is released and charged once. With `times` the budget is
    for that many releases, which are composed exactly.
    """
    budget, share = float(budgets("epsilon", epsilon)), float(deltas("delta", delta, zero=True))
    goal = one_of("keys_for", keys_for, OBJECTIVES)
    if units is not None and share == 0.0:
        raise InvalidParameter(
            'keys="private" needs a delta greater than 0, because finding groups can fail; write delta=1e-6, '
            "or list the keys."
        )
    given, twice = _checked_weights(reach, weights or {}), shared or {}
    drawn, each = distinct(reach, twice), column_weights(reach, given, twice)
    asked = _Asked(drawn, budget, share, each, family, all(part.linf == 1 for part in reach.parts), times)
    if units is None:
        return Spending(budget, share, reach, given, asked.plan(), units, twice, times=times)
    if times > 1:
        for_keys = _OF_MANY * share
        plan = asked.independent(asked.must_be_independent(), share - for_keys)
        made_once = Spending(budget, share, reach, given, plan, units, twice, times=times)
        rule = shown_by_chance(made_once.mechanisms[units], reach.groups, down(for_keys / times, CLOSED_FORM))
        return replace(made_once, rule=rule)
    made = (Spending(budget, share, reach, given, plan, units, twice, keys_for=goal) for plan in asked.with_keys(goal))
    return _best(*_with_rules(made, goal), goal, family)


@dataclass(frozen=True)
class _Asked:
    """What noise is asked for: the columns that are drawn, a budget, weights, and perhaps a family."""

    reach: Reach
    epsilon: float
    delta: float
    weights: Mapping[str, float]
    family: str | None
    whole_steps: bool
    #: how many releases the budget is for
    times: int = 1

    def must_be_independent(self) -> str | None:
        """The family; raises for one that is not drawn for each number."""
        if self.family in (*JOINT, BUMP, LIFTED, RULE):
            raise Unsupported(f"{self.family} noise with private keys needs times=1; leave family out.")
        return self.family

    def independent(self, family: str | None, delta: float) -> Plan:
        """Independent noise for all cells."""
        bound = box(self.reach, self.weights)
        return _least_noise(self.epsilon, delta, bound, family, self.whole_steps and bound.linf == 1.0, self.times)

    def plan(self) -> Plan:
        """The least noise for public keys."""
        family = self.family
        if self.times > 1 and family in (BUMP, LIFTED):
            raise Unsupported(f"{family} noise needs times=1; leave family out.")
        quick = _quick(self.reach, self.epsilon, self.delta, self.weights, self.times) if family is None else []
        wanted = family is None or family in JOINT
        joint = self.joint(family, quick) if wanted else None
        if family in JOINT and joint is None:
            raise Unsupported(
                f"{family} noise needs a query with several columns, none of them bins; leave family out."
            )
        if joint is None or not clearly_better(joint, quick):
            plan = self.independent(family, self.delta)
            if joint is None or plan.variance <= joint.ranking[0].loss:
                return plan
        return joint

    def joint(self, family: str | None, quick: list[RankedNoise]) -> Plan | None:
        """The least joint noise. It has a pure epsilon, which for several releases follows from their composition."""
        for each in pure_epsilons(self.epsilon, self.delta, self.times):
            found = joint_plan(self.reach, each, self.weights, family, quick)
            if found is None or self.times == 1:
                return found
            charge = Charge(found.noise, found.sensitivity, times=self.times)
            if keeps((charge,), self.epsilon, self.delta):
                return replace(found, epsilon=self.epsilon, delta=self.delta, times=self.times)
        return None

    def with_keys(self, goal: str) -> Iterator[Plan]:
        """The noises that are compared for private keys."""
        # the keys need the rest, and a curve is rounded up
        family, delta = self.family, down(down(self.delta, SPARE), SPARE)
        if family in (None, PLATEAU):
            yield from plateau_plans(self.reach, self.epsilon, self.weights)
        if family in JOINT:
            joint = joint_plan(self.reach, self.epsilon, self.weights, family, [])
            yield from [joint] if joint is not None else []
            return
        if family in (None, RULE):
            yield from rule_plans(self.reach, self.epsilon, delta)
        if family in (None, BUMP):
            yield from bump_plans(self.reach, self.epsilon, delta, goal)
        if family in (None, LIFTED):
            yield from lifted_plans(self.reach, self.epsilon, delta, self.weights, goal)
        if family == laplace.FAMILY.name:
            yield self.independent(family, 0.0)
        if family not in (BUMP, LIFTED, RULE):
            yield self.independent(family or (None if goal == "variance" else normal.FAMILY.name), delta)


def _ruled(made: Spending) -> Spending:
    """The noise with its threshold."""
    assert made.units is not None
    people = made.mechanisms[made.units]
    return replace(made, rule=key_rule(made.charge, people, made.reach.groups, made.epsilon, made.delta))


def _with_rules(made: Iterable[Spending], goal: str) -> tuple[list[Spending], list[Spending]]:
    """The noises with their thresholds, and those that cannot be the best for the goal, without."""
    found: list[Spending] = []
    hopeless: list[Spending] = []
    best = math.inf
    for one in made:
        if _least_size(one, goal) > best * (1.0 + _PRICE):
            hopeless.append(one)
            continue
        ruled = _ruled(one)
        if ruled.rule is not None:
            found.append(ruled)
            best = min(best, {"shown": _size, "threshold": _threshold, "variance": _nothing}[goal](ruled))
    return found, hopeless


def _threshold(made: Spending) -> float:
    return made.threshold or 0.0


def _nothing(made: Spending) -> float:
    """For the least variance no threshold rules a noise out."""
    return math.inf


def _least_size(made: Spending, goal: str) -> float:
    """A lower bound on the size that is shown, or on the threshold, as if all of delta paid for the keys; 0 for pure
    noise, whose threshold is quick to find.
    """
    assert made.units is not None
    people = made.mechanisms[made.units]
    if made.plan.delta == 0.0 or isinstance(people.joint, ForKeys):
        return 0.0
    each = -math.expm1(math.log1p(-made.delta) / made.reach.groups)
    threshold = 1.0 + float(np.asarray(people.noise.isf(each))) - 2.0 * people.step
    return threshold + (float(np.asarray(people.noise.ppf(0.9))) - people.step if goal == "shown" else 0.0)


def _best(found: list[Spending], hopeless: list[Spending], goal: str, family: str | None) -> Spending:
    """The best noise for the goal, with a remark that says so."""
    if not found:
        reason = "leave family out" if family else "spend more, or use a smaller groups_per_unit"
        raise Unsupported(f"no threshold for private keys is proved with {family or 'any'} noise; {reason}.")
    losses = {id(made): _loss(made) for made in [*found, *hopeless]}
    sizes = {id(made): _size(made) for made in found}
    thresholds = {id(made): _threshold(made) for made in found}
    firsts = {"shown": sizes, "threshold": thresholds, "variance": losses}[goal]
    least = min(firsts[id(made)] for made in found)
    # further columns may cost a little of the size: their variance falls much faster
    several = goal == "shown" and len(found[0].drawn) > 1
    near = [made for made in found if (firsts[id(made)] - least) / least <= (_PRICE if several else _TIE)]
    second = sizes if goal == "variance" else losses
    best = min(near, key=lambda made: second[id(made)])
    size = math.ceil(sizes[id(best)])
    remark = f"noise and threshold are chosen for {_GOALS[goal]}; a group of {size} is shown with probability 0.9"
    rows: dict[str, RankedNoise] = {}
    for made in sorted([*found, *hopeless], key=lambda one: losses[id(one)]):
        rows.setdefault(made.plan.family, RankedNoise(made.plan.family, noise=made.noise, loss=losses[id(made)]))
    return replace(best, plan=replace(best.plan, ranking=tuple(rows.values()), remark=remark))


def _size(made: Spending) -> float:
    """The least number of people of a group that is shown with probability 0.9."""
    assert made.rule is not None and made.units is not None
    return made.rule.size_shown(made.mechanisms[made.units])


def _loss(made: Spending) -> float:
    """The average variance of the columns, with their weights, in bounds of the columns."""
    if made.joint is None:
        return made.plan.variance
    return joint_loss(made.joint, made.drawn, column_weights(made.reach, made.weights, made.shared))


def _checked_weights(reach: Reach, weights: Mapping[str, float]) -> dict[str, float]:
    """The weights by aggregate; raises for a weight of something else."""
    given = {name: positive(f"the weight of {shown(name)}", w) for name, w in weights.items()}
    known = {part.aggregate for part in reach.parts}
    if foreign := sorted(set(given) - known):
        raise InvalidParameter(
            f"weights names {shown(foreign[0])}, which is no aggregate of the query; the aggregates are "
            f"{', '.join(sorted(known))}."
        )
    return given


def _quick(
    reach: Reach, epsilon: float, delta: float, weights: Mapping[str, float], times: int = 1
) -> list[RankedNoise]:
    """Laplace and Gaussian noise for the box, which have closed forms; several releases of Laplace noise have one for
    delta = 0 only.
    """
    bound, found = box(reach, weights), []
    if times == 1 or delta == 0.0:
        scale = up(times * (bound.l1_bound or 0.0) / epsilon, CLOSED_FORM)
        found.append(RankedNoise("laplace", noise=Laplace(scale)))
    if delta > 0.0:
        sigma = float(np.asarray(gaussian.sigma(epsilon, delta, math.sqrt(times) * (bound.l2_bound or 0.0))))
        found.append(RankedNoise("gaussian", noise=Gaussian(sigma)))
    return sorted((replace(row, loss=row.variance) for row in found), key=lambda row: row.loss)


def quick_spending(
    reach: Reach, epsilon: float, delta: float, shared: Mapping[str, str] | None = None, times: int = 1
) -> Spending:
    """The better of Laplace and Gaussian noise, which calibrate quickly: for bounds to be found and for the effect of
    limits.
    """
    # Laplace noise takes no part of delta, and composes exactly with any other noise
    pure = spending(reach, epsilon, 0.0, family="laplace", shared=shared, times=times)
    if delta == 0.0:
        return pure
    normal = spending(reach, epsilon, delta, family="gaussian", shared=shared, times=times)
    return min(pure, normal, key=lambda made: made.plan.variance)
