"""Joint noise for the columns of a table: one draw for each group, or one for the whole table; with pure privacy.

Every column is divided by its bound, so one person moves each column of a group by at most 1, in at most
groups_per_unit groups. Counts move upwards when a person is added, and the number of people moves by exactly 1 in every
group that the person moves (`Part.one_sided`, `Part.people`).

One draw for each group. The groups have independent draws, so their pure epsilons add up.

One draw for the whole table. The keys must be public, because the number of cells is then known. The noise hides a move
of all cells or, with one column, of the cells of some groups.

The lattice. Columns that all move by 1 have noise on the whole numbers. Otherwise a bound is divided into a power of
two steps: exact sums are rounded to the lattice first. A sum that moves by at most its bound moves by at most that many
steps after rounding, in the same direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress

import numpy as np

from hush.calibration.plan import Plan, RankedNoise
from hush.calibration.ranking import calibrate
from hush.errors import Unsupported
from hush.noise.catalogue import family_of
from hush.noise.contract import Noise
from hush.noise.level_calibration import least_scale
from hush.noise.plateau import least_plateau
from hush.privacy.sensitivity import Sensitivity
from hush.tables.contribution import Part, Reach

__all__ = ["JOINT", "clearly_better", "joint_loss", "joint_plan", "lattice_step", "move_by_one"]

#: The joint families that a query can name.
JOINT = ("plateau", "interval", "hull")
_FINE = 64.0  # steps in the scale of the noise: rounding then widens intervals by about a thousandth
_CLEAR = 0.8  # joint noise is chosen without a full ranking if its loss is below this share of the closed forms'
_MOST_CELLS = 400  # of a table with one draw: more cells would make draws and tables slow


def joint_plan(
    reach: Reach, epsilon: float, weights: Mapping[str, float], family: str | None, quick: list[RankedNoise]
) -> Plan | None:
    """The least joint noise for the columns of a query; None if there is none.

    Queries with bins have none yet, and one number by itself needs none. `weights` has the weight of each column.
    `quick` are independent noises that are named beside it.
    """
    parts = reach.parts
    if any(len(part.columns) > 1 or part.coordinates > 1 for part in parts):
        return None
    found: dict[str, tuple[float, Noise, Sensitivity]] = {}
    for noise, bound in (*_for_groups(reach, epsilon, weights), *_for_table(reach, epsilon, weights)):
        name, loss = _name(noise), joint_loss(noise, parts, weights)
        if family in (None, name) and loss < found.get(name, (math.inf,))[0]:
            found[name] = (loss, noise, bound)
    if not found:
        return None
    ranked = sorted(found, key=lambda name: found[name][0])
    rows = tuple(RankedNoise(name, noise=found[name][1], loss=found[name][0]) for name in ranked)
    _, noise, bound = found[ranked[0]]
    return Plan(noise, ranked[0], epsilon, 0.0, bound, 1, "variance", "dp", None, (*rows, *quick))


def clearly_better(plan: Plan, quick: list[RankedNoise]) -> bool:
    """Is the joint noise so much better than the quick families that no family needs to be compared?"""
    return plan.ranking[0].loss <= _CLEAR * min((row.loss for row in quick), default=math.inf)


def joint_loss(noise: Noise, parts: tuple[Part, ...], weights: Mapping[str, float]) -> float:
    """The average over the columns of the squared weight times the variance, in bounds of the columns."""
    each = np.broadcast_to(noise.variance, (noise.dimension or 1,)).reshape(-1, len(parts))
    return float(np.mean(each * np.array(_squares(parts, weights))))


def _squares(parts: tuple[Part, ...], weights: Mapping[str, float]) -> list[float]:
    return [weights[part.columns[0]] ** 2 for part in parts]


def _name(noise: Noise) -> str:
    row = family_of(noise)
    assert row is not None
    return row.name


def move_by_one(parts: tuple[Part, ...]) -> bool:
    """Does every column move by at most 1?"""
    return all(part.linf == 1 and part.settled for part in parts)


def lattice_step(reach: Reach, scale: float) -> float:
    """The step of the lattice, as a share of a bound."""
    if move_by_one(reach.parts):
        return 1.0
    return 2.0 ** -max(0, math.ceil(math.log2(_FINE / scale)))


def _for_groups(reach: Reach, epsilon: float, weights: Mapping[str, float]) -> Iterator[tuple[Noise, Sensitivity]]:
    """One draw for the columns of each group."""
    parts = reach.parts
    if len(parts) < 2:
        return
    people = next((place for place, part in enumerate(parts) if part.people), None)
    one_sided = tuple(part.one_sided for part in parts)
    bound = Sensitivity(columns=(1.0,) * len(parts), l0=reach.groups, one_sided=one_sided, people=people)
    if all(one_sided) and move_by_one(parts):
        yield calibrate(epsilon, 0.0, bound, family="interval", values="integer").noise, bound
    kinds = tuple(
        "people" if place == people else "one_sided" if part.one_sided else "two_sided"
        for place, part in enumerate(parts)
    )
    scale = least_scale(reach.groups, epsilon)
    with suppress(Unsupported):  # a scale that the lattice cannot represent
        yield least_plateau(kinds, scale, lattice_step(reach, scale), _squares(parts, weights)), bound


def _for_table(reach: Reach, epsilon: float, weights: Mapping[str, float]) -> Iterator[tuple[Noise, Sensitivity]]:
    """One draw for all cells of a table with public keys, as if one person could move all of them."""
    parts, groups = reach.parts, reach.listed
    if groups is None or groups == 1 or reach.groups == 1 or groups * len(parts) > _MOST_CELLS:
        return
    yield from _for_some_groups(reach, epsilon)
    one_sided = tuple(part.one_sided for part in parts) * groups
    bound = Sensitivity(linf=1.0, dimension=len(one_sided), one_sided=one_sided)
    if bound.one_sided is True and move_by_one(parts):
        yield calibrate(epsilon, 0.0, bound, family="interval", values="integer").noise, bound
    kinds = tuple("one_sided" if flag else "two_sided" for flag in one_sided)
    scale = least_scale(1, epsilon)
    with suppress(Unsupported):
        yield least_plateau(kinds, scale, lattice_step(reach, scale), _squares(parts, weights) * groups), bound


def _for_some_groups(reach: Reach, epsilon: float) -> Iterator[tuple[Noise, Sensitivity]]:
    """One column in at most some of the listed groups: hull noise, if it is small enough for its tables."""
    (first, *others), most = reach.parts, reach.groups
    if others or most == reach.listed:
        return
    bound = Sensitivity(linf=1.0, l0=most, dimension=reach.listed, one_sided=first.one_sided)
    with suppress(Unsupported):
        values = "integer" if move_by_one(reach.parts) else "real"
        yield calibrate(epsilon, 0.0, bound, family="hull", values=values).noise, bound
