"""Groups that are found in the data, with people who add more where they have fewer groups (docs/maths/keys.md).

A rung states the most groups of a person, the largest move in each of them, and the chance that one of them is shown if
it holds this person alone. The max rule holds for each rung. The curve is the maximum over the rungs, at every epsilon.

For each rung the number j of new groups is bounded in three blocks: the last number of a block bounds the new groups,
its first one bounds the groups that move. So three compositions are enough for a rung.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CLOSED_FORM, up
from hush.privacy.by_keys import noise_if_moved, on_chords
from hush.privacy.charge import Charge
from hush.privacy.curve import Mirrored
from hush.privacy.failing import any_of
from hush.privacy.sensitivity import Sensitivity

__all__ = ["RungsCurve", "of_rung", "rung_delta", "rungs_of"]

Array = NDArray[np.float64]
Rung = tuple[int, float, float]
_FEW = 24  # epsilons: more than these are read from chords
_NODES = 64  # chords of a curve
_FLAT = 1e-3  # the chords end where the noise adds less than this share of what keys cost
_FURTHEST = 512.0  # the largest epsilon of a chord


def rungs_of(charge: Charge) -> tuple[Rung, ...]:
    """All rungs of a charge, with the one that its sensitivity states."""
    keys, move = charge.keys, charge.sensitivity.linf
    assert keys is not None and isinstance(move, float)
    return (*keys.rungs, (keys.groups, move, keys.chance))


def of_rung(charge: Charge, groups: int, move: float) -> Charge:
    """The noise if a person moves that many groups by that much, and all groups are shown."""
    bound = Sensitivity(linf=move, l0=groups, neighbours=charge.sensitivity.neighbours)
    return replace(charge, sensitivity=bound, keys=None, times=1)


def rung_delta(charge: Charge, rung: Rung, epsilon: Array) -> Array:
    """delta of one rung: the worst number of new groups, in three blocks."""
    groups, move, chance = rung
    worst = np.full(np.shape(epsilon), any_of(groups, chance))  # all groups are new
    for first, last in blocks(groups):
        noise = noise_if_moved(of_rung(charge, groups - first, move), epsilon)
        worst = np.maximum(worst, any_of(last, chance) + noise)
    return np.minimum(up(worst, CLOSED_FORM), 1.0)


def blocks(groups: int) -> list[tuple[int, int]]:
    """0 to all but one new groups, in at most three blocks (first, last)."""
    ends = sorted({0, -(-groups // 8), -(-groups // 2), groups})
    return [(first, after - 1) for first, after in pairwise(ends)]


@dataclass(frozen=True)
class RungsCurve(Mirrored):
    """The curve of one release with rungs: an upper bound for every pair of neighbours."""

    charge: Charge

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.zeros_like(upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        place = np.asarray(epsilon, dtype=np.float64)
        if end == "lower":
            return np.zeros(place.shape)
        return on_chords(*self._chords, place) if place.size > _FEW else self._worst(place)

    def _worst(self, epsilon: Array) -> Array:
        return np.max([rung_delta(self.charge, rung, epsilon) for rung in rungs_of(self.charge)], axis=0)

    @cached_property
    def _chords(self) -> tuple[Array, Array]:
        """Points and values of a curve above this one, which is convex in e^epsilon: a maximum of convex curves. They
        end where the noise adds little to what keys cost.
        """
        keys = max(any_of(groups, chance) for groups, _, chance in rungs_of(self.charge))
        end, before = max(self.spread, 1e-6), 2.0
        while end < _FURTHEST:
            here = float(self._worst(np.array(end)))
            if here <= (1.0 + _FLAT) * keys or before - here <= _FLAT * keys:
                break
            end, before = 1.25 * end, here
        nodes = np.linspace(0.0, end, _NODES + 1)
        return nodes, self._worst(nodes)
