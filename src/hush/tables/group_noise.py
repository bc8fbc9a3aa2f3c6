"""Joint noise for all columns of a group: one draw for each group, with pure privacy.

Every column is divided by its bound, so one person moves each column of a group by at most 1, in at most
groups_per_unit groups. Counts move upwards when a person is added, and the number of people moves by exactly 1 in every
group that the person moves (`Part.one_sided`, `Part.people`). The groups have independent draws, so their pure epsilons
add up. The noise uses no delta: all of it is left for keys that are found privately.

The lattice. Columns that all move by 1 have noise on the whole numbers. Otherwise a bound is divided into a power of
two steps: exact sums are rounded to the lattice first. A sum that moves by at most its bound moves by at most that many
steps after rounding, in the same direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from hush.calibration.plan import Plan, RankedNoise
from hush.calibration.ranking import calibrate
from hush.errors import Unsupported
from hush.noise.catalogue import family_of
from hush.noise.level_noise import LevelNoise, least_scale
from hush.noise.plateau import least_plateau
from hush.privacy.sensitivity import Sensitivity
from hush.tables.contribution import Part, Reach

__all__ = ["JOINT", "clearly_better", "joint_plan", "loss_of"]

#: The joint families that a query can name.
JOINT = ("plateau", "interval")
_FINE = 64.0  # steps in the scale of the noise: rounding then widens intervals by about a thousandth
_CLEAR = 0.7  # joint noise is chosen without a full ranking if its loss is below this share of the quick families'


def loss_of(noise: LevelNoise, parts: tuple[Part, ...], weights: Mapping[str, float]) -> float:
    """The average over the columns of the squared weight times the variance, in bounds of the columns."""
    share = np.array([weights.get(part.aggregate, 1.0) ** 2 for part in parts])
    return float(np.mean(share * noise.variance))


def joint_plan(
    reach: Reach, epsilon: float, weights: Mapping[str, float], family: str | None, quick: list[RankedNoise]
) -> Plan | None:
    """The least joint noise for the columns of a group; None if the query has none.

    Queries with bins have none yet, and one column by itself needs none. `quick` are independent noises that are named
    beside it.
    """
    parts = reach.parts
    if len(parts) < 2 or any(len(part.columns) > 1 or part.coordinates > 1 for part in parts):
        return None
    found = [noise for noise in _candidates(reach, epsilon, weights) if family in (None, _name(noise))]
    if not found:
        return None
    ranked = sorted(found, key=lambda noise: loss_of(noise, parts, weights))
    rows = [RankedNoise(_name(noise), noise=noise, loss=loss_of(noise, parts, weights)) for noise in ranked]
    bound = _bound(reach)
    others = tuple(row for row in quick if row.family not in JOINT)
    return Plan(ranked[0], rows[0].family, epsilon, 0.0, bound, 1, "variance", "dp", None, (*rows, *others))


def clearly_better(plan: Plan, quick: list[RankedNoise]) -> bool:
    """Is the joint noise so much better than the quick families that no family needs to be compared?"""
    return plan.ranking[0].loss <= _CLEAR * min((row.loss for row in quick), default=math.inf)


def _name(noise: LevelNoise) -> str:
    row = family_of(noise)
    assert row is not None
    return row.name


def _bound(reach: Reach) -> Sensitivity:
    """The body: every column moves by at most 1 in each of `groups` groups."""
    people = next((place for place, part in enumerate(reach.parts) if part.people), None)
    one_sided = tuple(part.one_sided for part in reach.parts)
    return Sensitivity(columns=(1.0,) * len(reach.parts), l0=reach.groups, one_sided=one_sided, people=people)


def _candidates(reach: Reach, epsilon: float, weights: Mapping[str, float]) -> list[LevelNoise]:
    parts, bound = reach.parts, _bound(reach)
    whole = all(part.linf == 1 for part in parts)
    found: list[LevelNoise] = []
    if whole and bound.one_sided is True:
        made = calibrate(epsilon, 0.0, bound, family="interval", values="integer").noise
        assert isinstance(made, LevelNoise)
        found.append(made)
    kinds = tuple(
        "people" if place == bound.people else "one_sided" if part.one_sided else "two_sided"
        for place, part in enumerate(parts)
    )
    scale = least_scale(reach.groups, epsilon)
    step = 1.0 if whole else 2.0 ** -max(0, math.ceil(math.log2(_FINE / scale)))
    with suppress(Unsupported):  # a scale that the lattice cannot represent
        found.append(least_plateau(kinds, scale, step, [weights.get(part.aggregate, 1.0) ** 2 for part in parts]))
    return found
