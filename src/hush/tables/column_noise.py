"""The noise of a query's columns: one calibration for all of them, and a threshold for private keys.

Every integer column is divided by its bound, so one person moves at most l0 cells of the table by at most 1 each. The
least noise for that box is calibrated once and scaled back for each column. `weights` moves accuracy between
aggregates: a weight w makes the noise of a column w times smaller, and the side of the box in its cells w times larger.
A column that several aggregates share (`hush.tables.sharing`) has one noise, with the largest of their weights.

Keys found privately. A group is shown only if its noisy number of people reaches a threshold. A group that exists
because of one person alone holds one person, and there are at most groups_per_unit = g of them. So with probability at
least 1 - g P(1 + noise >= threshold) none of them is shown, and the rest of the answer is the noise mechanism on groups
that both neighbouring tables have. The failure probability is charged to delta.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from hush.calibration.plan import Plan, RankedNoise
from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, NotCertified, Unsupported, budgets, deltas, positive, within
from hush.ledger.payment import Draws, Payment
from hush.noise.contract import Law, Noise
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.rounding import CLOSED_FORM, down, up
from hush.privacy import gaussian
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.exact import law_of
from hush.sampling.mechanism import Mechanism
from hush.sampling.whole_steps import divides_one
from hush.tables.column_law import ColumnLaw
from hush.tables.contribution import Part, Reach
from hush.tables.group_noise import JOINT, clearly_better, joint_plan

__all__ = ["Shares", "Spending", "quick_spending", "spending"]


@lru_cache(maxsize=256)
def _least_noise(
    epsilon: float, delta: float, bound: Sensitivity, family: str | None, whole_steps: bool, times: int
) -> Plan:
    """The calibration for the box: one law for all columns, whose noise is then scaled by bounds and weights. Columns
    that all move by 1 may have noise on the whole numbers.
    """
    values = "integer" if whole_steps else "real"
    return calibrate(epsilon, delta, bound, family=family or "independent", values=values, times=times)


@dataclass(frozen=True)
class Spending:
    """The noise of the columns of a query, for a budget."""

    epsilon: float
    delta: float
    reach: Reach
    weights: Mapping[str, float]
    plan: Plan
    key_delta: float = 0.0
    #: the column whose noisy number of people decides whether a private group is shown
    units: str | None = None
    #: a mapping from a column to the column that it equals; noise is drawn only for the second one
    shared: Mapping[str, str] = field(default_factory=dict)
    #: the share of delta for keys that are found privately, if the noise uses delta too
    key_share: float = 0.1
    #: how many releases epsilon and delta are for; `key_delta` is for one of them
    times: int = 1

    @property
    def noise(self) -> Noise:
        """The noise of a column divided by its bound; for joint noise that of all columns of a group."""
        return self.plan.noise

    @property
    def joint(self) -> Noise | None:
        """The joint noise of the columns of a group, or of the whole table; None if every column has its independent
        noise.
        """
        return self.noise if self.noise.dimension is not None else None

    @property
    def whole_table(self) -> bool:
        """Is one draw for all cells of the table? Otherwise joint noise is drawn for each group."""
        return self.joint is not None and self.plan.sensitivity.columns is None

    @property
    def drawn(self) -> tuple[Part, ...]:
        """The parts whose noise is drawn: a shared column has the noise of another one."""
        return _distinct(self.reach, self.shared).parts

    @cached_property
    def mechanisms(self) -> dict[str, ColumnLaw]:
        """The noise of each column, as intervals need it."""
        if self.joint is None:
            return {column: ColumnLaw.of(made) for column, made in self.sources.items()}
        laws = {part.columns[0]: _column_law(self.joint, place, part) for place, part in enumerate(self.drawn)}
        return {column: laws[self.shared.get(column, column)] for column in self.reach.columns}

    @cached_property
    def sources(self) -> dict[str, Mechanism]:
        """The mechanism of each column with independent noise, on a lattice that contains the whole numbers; with joint
        noise the one mechanism of a group, under the name of its first column.
        """
        if self.joint is not None:
            part_of = None if self.whole_table else self.charge
            made_for = {"coordinates": self.joint.dimension or 1, "part_of": part_of}
            return {
                self.drawn[0].columns[0]: Mechanism(self.joint, self.plan.sensitivity, self.joint.step, **made_for)  # type: ignore[arg-type]
            }
        made: dict[str, Mechanism] = {}
        weight_of = _weights(self.reach, self.weights, self.shared)
        for part in self.reach.parts:
            scaled = _scaled(self.charge, self.plan.law, part.linf / weight_of[part.columns[0]], part.linf)
            for column in part.columns:
                made[column] = made.get(self.shared.get(column, column), scaled)
        return made

    @cached_property
    def threshold(self) -> float | None:
        """The least noisy number of people at which a private group is shown."""
        if self.units is None:
            return None
        made = self.mechanisms[self.units]
        law = law_of(made.noise, made.step)
        # T_m = P(|K| > m) is twice one tail
        allowed = 2.0 * self.key_delta / self.reach.groups * (1.0 - 2.0 * law.slack)
        steps = float(law.guess(np.array(min(allowed, 0.5))))
        while float(law.at(np.array(steps))) > allowed:  # the guess may be a step or two too small
            steps += 1.0
        return 1.0 + (steps + 1.0) * made.step

    def open(self, payment: Payment, what: str) -> dict[str, Draws]:
        """The paid draws of each column. `what` is the part of the query that they are for: answers, bounds or
        limits.
        """
        return {
            name: payment.open(made, part=f"{what}: {name}")
            for name, made in self.sources.items()
            if name not in self.shared
        }

    @property
    def charge(self) -> Charge:
        """The charge to a ledger for all columns together."""
        return Charge(self.noise, self.plan.sensitivity)


@dataclass(frozen=True)
class Shares:
    """The requested budget and noise family, and the parts of the budget that find bounds and measure what the limits
    leave out.
    """

    epsilon: float
    delta: float
    family: str | None = None
    bounds: Spending | None = None
    limits: Spending | None = None
    #: contribution limits that were found privately before, and their price; None: all limits were declared
    found: Mapping[str, Any] | None = None


def _scaled(charge: Charge, noise: Law, factor: float, bound: int) -> Mechanism:
    """The mechanism of one column, a part of the charge: noise and bound are scaled by the same factor."""
    moves = Sensitivity(linf=float(bound), l0=1)
    if noise.discrete:
        if factor != 1.0:
            raise NotCertified(
                "noise on the integers was calibrated for columns that move by 1, but a column moves by more; "
                "nothing was spent."
            )
        return Mechanism(noise, moves, noise.step, integers=True, part_of=charge)
    scaled = noise.scaled(up(factor, CLOSED_FORM))
    fine = max(float(np.asarray(scaled.isf(0.25))) / 16.0, bound * 2.0**-30)  # finer steps would overflow large sums
    return Mechanism(scaled, moves, min(1.0, float(2.0 ** np.floor(np.log2(fine)))), integers=True, part_of=charge)


def spending(
    reach: Reach,
    epsilon: Any,
    delta: Any,
    *,
    weights: Mapping[str, float] | None = None,
    family: str | None = None,
    units: str | None = None,
    key_share: float = 0.1,
    shared: Mapping[str, str] | None = None,
    times: int = 1,
) -> Spending:
    """The least noise for all columns together. `key_share` of delta pays for keys found privately. A column that
    equals another one (`shared`) is released and charged once. With `times` the budget is for that many releases, which
    are composed exactly; their noise is independent for each number.
    """
    budget, share = float(budgets("epsilon", epsilon)), float(deltas("delta", delta, zero=True))
    key_share = within("key_share", key_share, 0.001, 0.999, "write key_share=0.1")
    if units is not None and share == 0.0:
        raise InvalidParameter(
            'keys="private" needs a delta greater than 0, because finding groups can fail; write delta=1e-6, '
            "or list the keys."
        )
    given, twice = _checked_weights(reach, weights or {}), shared or {}
    drawn = _distinct(reach, twice)
    each = _weights(reach, given, twice)
    key_delta = share * key_share if units is not None else 0.0
    quick = _quick(drawn, budget, share - key_delta, each) if family is None else []
    one_draw = (family is None or family in JOINT) and times == 1
    joint = joint_plan(drawn, budget, each, family, quick) if one_draw else None
    if family in JOINT and joint is None:
        needed = "a query with several columns, none of them bins" if times == 1 else "times=1"
        raise Unsupported(f"{family} noise needs {needed}; leave family out.")
    if joint is None or not clearly_better(joint, quick):
        bound = _box(drawn, each)
        whole_steps = all(part.linf == 1 for part in reach.parts) and bound.linf == 1.0
        plan = _least_noise(budget, share - key_delta, bound, family, whole_steps, times)
        if joint is None or plan.variance <= joint.ranking[0].loss:
            for_one = down(key_delta / times, CLOSED_FORM) if times > 1 else key_delta
            return Spending(budget, share, reach, given, plan, for_one, units, twice, key_share, times)
    # joint noise uses no delta, so keys get all of it
    return Spending(budget, share, reach, given, joint, share if units is not None else 0.0, units, twice, key_share)


def _checked_weights(reach: Reach, weights: Mapping[str, float]) -> dict[str, float]:
    """The weights by aggregate; raises for a weight of something else."""
    given = {name: positive(f"the weight of {name!r}", w) for name, w in weights.items()}
    known = {part.aggregate for part in reach.parts}
    if foreign := sorted(set(given) - known):
        raise InvalidParameter(
            f"weights names {foreign[0]!r}, which is no aggregate of the query; the aggregates are "
            f"{', '.join(sorted(known))}."
        )
    return given


def _distinct(reach: Reach, shared: Mapping[str, str]) -> Reach:
    """The parts without columns that equal another column."""
    return replace(reach, parts=tuple(part for part in reach.parts if part.columns[0] not in shared))


def _quick(reach: Reach, epsilon: float, delta: float, weights: Mapping[str, float]) -> list[RankedNoise]:
    """Laplace and Gaussian noise for the box, which have closed forms."""
    bound = _box(reach, weights)
    found = [RankedNoise("laplace", noise=Laplace(up((bound.l1_bound or 0.0) / epsilon, CLOSED_FORM)))]
    if delta > 0.0:
        sigma = float(np.asarray(gaussian.sigma(epsilon, delta, bound.l2_bound)))
        found.append(RankedNoise("gaussian", noise=Gaussian(sigma)))
    return sorted((replace(row, loss=row.variance) for row in found), key=lambda row: row.loss)


def _column_law(joint: Noise, place: int, part: Part) -> ColumnLaw:
    """The noise of one column: a step of the joint noise is the same share of the bound of every column."""
    step = part.linf * joint.step
    law = joint.scaled(float(part.linf)).marginal_of(place)
    return ColumnLaw(law, step, rounds=not divides_one(step), joint=joint, place=place)


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


def _weights(reach: Reach, weights: Mapping[str, float], shared: Mapping[str, str]) -> dict[str, float]:
    """The weight of each part, by its first column. Columns that are shared have the largest weight of those who use
    them.
    """
    largest: dict[str, float] = {}
    for part in reach.parts:
        first = shared.get(part.columns[0], part.columns[0])
        largest[first] = max(largest.get(first, 0.0), weights.get(part.aggregate, 1.0))
    return {part.columns[0]: largest[shared.get(part.columns[0], part.columns[0])] for part in reach.parts}


def _box(reach: Reach, weights: Mapping[str, float]) -> Sensitivity:
    """The box: l0 cells, each of which moves by at most its weight."""
    moves = [weights[part.columns[0]] for part in reach.parts for _ in range(part.coordinates)]
    if len(set(moves)) == 1:
        return Sensitivity(linf=moves[0], l0=reach.l0)
    return Sensitivity(linf=tuple(moves * reach.groups))
