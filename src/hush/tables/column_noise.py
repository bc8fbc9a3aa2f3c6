"""The noise of a query's columns: one calibration for all of them, and a threshold for private keys.

Every integer column is divided by its bound, so one person moves at most l0 cells of the table by at most 1 each. The
least noise for that box is calibrated once and scaled back for each column. `weights` moves accuracy between
aggregates: a weight w makes the noise of a column w times smaller, and the side of the box in its cells w times larger.
A column that several aggregates share (`hush.tables.sharing`) has one noise, with the largest of their weights.

Keys found privately. A group is shown only if its noisy number of people reaches a threshold (key_rule.py). Noise and
threshold are chosen together, for a stated objective (key_noise.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.plan import Plan
from hush.errors import NotCertified
from hush.ledger.payment import Draws, Payment
from hush.noise.contract import Law, Noise
from hush.numerics.rounding import CLOSED_FORM, up
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism
from hush.sampling.whole_steps import divides_one
from hush.tables.column_law import ColumnLaw
from hush.tables.contribution import Part, Reach
from hush.tables.key_rule import KeyRule

if TYPE_CHECKING:
    from hush.tables.selection.spending import ChoiceSpending

__all__ = ["Shares", "Spending", "box", "column_weights", "distinct"]


@dataclass(frozen=True)
class Spending:
    """The noise of the columns of a query, for a budget."""

    epsilon: float
    delta: float
    reach: Reach
    weights: Mapping[str, float]
    plan: Plan
    #: the column whose noisy number of people decides whether a private group is shown
    units: str | None = None
    #: a mapping from a column to the column that it equals; noise is drawn only for the second one
    shared: Mapping[str, str] = field(default_factory=dict)
    #: which groups are shown, if their keys are found privately
    rule: KeyRule | None = None
    #: what noise and threshold were chosen for
    keys_for: str = "shown"
    #: how many releases epsilon and delta are for
    times: int = 1
    #: (most groups, weight) of people who add a weight to each of their groups; empty: everyone adds 1
    ladder: tuple[tuple[int, int], ...] = ()

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
        return distinct(self.reach, self.shared).parts

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
        weight_of = column_weights(self.reach, self.weights, self.shared)
        for part in self.reach.parts:
            factor = 1.0 if self.ladder else part.linf / weight_of[part.columns[0]]
            scaled = _scaled(self.charge, self.plan.law, factor, part.linf)
            for column in part.columns:
                made[column] = made.get(self.shared.get(column, column), scaled)
        return made

    @property
    def threshold(self) -> float | None:
        """The least noisy number of people at which a private group is shown."""
        return None if self.rule is None else self.rule.threshold

    @property
    def key_delta(self) -> float:
        """A bound on the probability that a group of one person is shown; the charge includes it."""
        return 0.0 if self.rule is None else self.rule.keys.failure

    def shown(self, released: Mapping[str, Any], exact: Mapping[str, Any]) -> NDArray[np.int64] | None:
        """The places of the groups that are shown, from noisy and exact columns; None if all are."""
        if self.rule is None or self.units is None:
            return None
        return self.rule.shown(released[self.units], exact[self.units])

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
        return Charge(self.noise, self.plan.sensitivity, keys=None if self.rule is None else self.rule.keys)


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
    #: the part that counts people with a group that is not shown
    other: Spending | None = None
    #: the part that chooses quantiles
    choices: ChoiceSpending | None = None
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


def distinct(reach: Reach, shared: Mapping[str, str]) -> Reach:
    """The parts without columns that equal another column."""
    return replace(reach, parts=tuple(part for part in reach.parts if part.columns[0] not in shared))


def _column_law(joint: Noise, place: int, part: Part) -> ColumnLaw:
    """The noise of one column: a step of the joint noise is the same share of the bound of every column."""
    step = part.linf * joint.step
    law = joint.scaled(float(part.linf)).marginal_of(place)
    return ColumnLaw(law, step, rounds=not divides_one(step), joint=joint, place=place)


def column_weights(reach: Reach, weights: Mapping[str, float], shared: Mapping[str, str]) -> dict[str, float]:
    """The weight of each part, by its first column. Columns that are shared have the largest weight of those who use
    them.
    """

    def source(part: Part) -> str:
        return shared.get(part.columns[0], part.columns[0])

    largest: dict[str, float] = {}
    for part in reach.parts:
        largest[source(part)] = max(largest.get(source(part), 0.0), weights.get(part.aggregate, 1.0))
    return {part.columns[0]: largest[source(part)] for part in reach.parts}


def box(reach: Reach, weights: Mapping[str, float]) -> Sensitivity:
    """The box: l0 cells, each of which moves by at most its weight."""
    moves = [weights[part.columns[0]] for part in reach.parts for _ in range(part.coordinates)]
    if len(set(moves)) == 1:
        return Sensitivity(linf=moves[0], l0=reach.l0)
    return Sensitivity(linf=tuple(moves * reach.groups))
