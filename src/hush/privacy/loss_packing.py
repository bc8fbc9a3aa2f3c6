"""Losses that are merged into groups with losses on a lattice: the discrete distribution below a pair of laws.

Who sees merged outputs learns less, so merging lowers the curve. Neighbouring losses are merged until the loss of the
group is a point of the lattice; the last one of a group is divided by a coin.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush.numerics.rounding import ELEMENTARY, LOSS_LADDER

__all__ = ["aligned", "joined", "packed"]

Array = NDArray[np.float64]

_HEAVY = 0.01  # losses within half a step that have this probability together are placed on a point of the lattice
_SNAP = 4e-9  # of a step: a loss so little above a point of the ladder is placed there


def joined(there: tuple[Array, Array], back: tuple[Array, Array], infinite: float) -> tuple[Array, Array]:
    """The losses of both sides in one row, and their masses; the rest of the mass is at 0.

    If the two sides have more than the whole mass, the positive losses lose the excess. That lowers the curve at least
    as much as a negative mass at 0 would.
    """
    right, below = there[1], back[1] * np.exp(-back[0])
    slack = ELEMENTARY.share + 2.0 * LOSS_LADDER.share * infinite
    centre = 1.0 - infinite - float(right.sum()) - float(below.sum()) - slack
    if centre < 0.0:
        right = right * max(1.0 + (centre - ELEMENTARY.share) / float(right.sum()), 0.0)
    losses = np.concatenate([-back[0][::-1], [0.0], there[0]])
    masses = np.concatenate([below[::-1], [max(centre, 0.0)], right])
    held = np.flatnonzero(masses > 0.0)
    return losses[held], masses[held]


def aligned(losses: Array, masses: Array, step: float, *, free: bool) -> tuple[float, float, list[int]]:
    """Where a lattice begins, its step, and the numbers of its points on which losses of large probability are.

    The largest such loss is on a point: a group that ended just below it would lose a step. If the step is free, it
    becomes slightly smaller, so that the least such loss is on a point too.
    """
    low, high = (_around(losses, masses, side, step) for side in (losses < 0.0, losses > 0.0))
    count = 0
    if low is not None and high is not None and free:
        count = max(math.ceil((high - low) / step - _SNAP), 1)
        step = (high - low) / count
    anchor = high if high is not None else low if low is not None else float(losses[0])
    lead = math.ceil((anchor - float(losses[0])) / step)
    return anchor - lead * step - 0.5 * _SNAP * step, step, [lead - count, lead]


def _around(losses: Array, masses: Array, side: NDArray[np.bool_], step: float) -> float | None:
    """The loss of the most probable output when it is merged with the others up to a step below and half a step above,
    if they have a large probability together.
    """
    if not side.any():
        return None
    top = float(losses[side][np.argmax(masses[side])])
    near = (losses > top - step) & (losses < top + 0.5 * step)
    total = float(masses[near].sum())
    return top - math.log(float((masses[near] * np.exp(top - losses[near])).sum()) / total) if total > _HEAVY else None


def packed(losses: Array, masses: Array, levels: Array, step: float) -> Array:
    """The mass of each level, if neighbouring losses are merged until each group has the loss of its level: the sum of
    q (e^(loss - level) - 1) over the group is 0, where q = p e^-loss is the other law. Sums are held above 0. What
    would lack more than a tenth of what all larger losses have gets the loss of the level below it.
    """
    close = levels[np.maximum(np.searchsorted(levels, losses, side="right") - 1, 0)]
    losses = np.where(losses - close <= _SNAP * step, close, losses)  # a lower loss is on the safe side
    found, beyond = np.zeros(levels.size), _beyond(losses, masses, levels)
    level, place, lacks, mass, last = levels.tolist(), 0, 0.0, 0.0, levels.size - 1
    share = LOSS_LADDER.share
    for loss, amount in zip(losses.tolist(), masses.tolist(), strict=True):
        left = amount
        while True:
            gain = -left * math.expm1(level[place] - loss)
            gain -= share * abs(gain)
            if gain == 0.0:
                found[place] += left
                break
            if gain <= lacks or place == last:  # all of it is merged, and more is needed
                lacks -= gain
                mass += left
                break
            if mass > 0.0:
                part = lacks / gain
                found[place] += mass + part * left
                left, lacks, mass = left * (1.0 - part), 0.0, 0.0
            if level[place + 1] > loss and left * math.expm1(level[place + 1] - loss) > 0.1 * beyond[place + 1]:
                found[place] += left
                break
            place += 1
    # a group that lacks something gets the loss of the level before
    found[place if lacks <= 0.0 else place - 1] += mass
    return found


def _beyond(losses: Array, masses: Array, levels: Array) -> list[float]:
    """For each level, about the sum of p - e^level q over all larger losses: what they can give to smaller ones."""
    with np.errstate(divide="ignore", under="ignore"):
        other = np.append(np.logaddexp.accumulate((np.log(masses) - losses)[::-1])[::-1], -np.inf)
        tail = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        first = np.searchsorted(losses, levels, side="right")
        return np.maximum(tail[first] - np.exp(levels + other[first]), 0.0).tolist()
