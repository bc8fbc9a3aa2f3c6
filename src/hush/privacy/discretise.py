"""Privacy loss distributions: certified discretisation, from above and from below.

A pair of laws is described by its curve delta(e). On the grid e_j = j h, chords (in e^e) connect the exact values. They
are the curve of a discrete loss distribution that lies above the true, convex curve. Its masses are second differences,

    p_j = (e^h (delta_(j-1) - delta_j) - (delta_j - delta_(j+1))) / (e^h - 1)     for j > 0,
    p_inf = delta at the last point,

and losses below zero mirror those of the reversed pair, p_(-j) = e^(-e_j) p_j. If each part is dominated, so is the
composition: the composed curve is an upper bound. The chords cost at most (h/d)^2/8 of the shift d. A distribution
whose curve lies *below* the true one, by merging losses (loss_ladder.py), gives the lower end of the bracket.
composed_curve.py composes such distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics.rounding import ELEMENTARY, SUM_OF_POSITIVE_TERMS, up
from hush.privacy.loss_grid import CUT, sampled
from hush.privacy.loss_ladder import LossLadder
from hush.privacy.loss_pair import LossDistribution, Pair, Reversed, is_listed, kinks_of

__all__ = ["all_below", "discretise", "discretise_below"]

Array = NDArray[np.float64]


def _side(delta: Array, step: float) -> Array:
    """Second differences: masses at e_1 .. e_n from delta at e_0 .. e_n. Values that rounding made negative become 0,
    which only adds mass.
    """
    fall = np.append(delta[:-1] - delta[1:], 0.0)
    return np.maximum((math.exp(step) * fall[:-1] - fall[1:]) / math.expm1(step), 0.0)


def discretise(pair: Pair, step: float, *, cut: float = CUT) -> LossDistribution:
    """The loss distribution whose curve consists of chords; they are at or above the curve of the pair. Losses beyond
    which delta is less than the cut count as infinite.
    """
    ladder, backward = _ladder_of(pair)
    if ladder is not None:
        made: LossDistribution = ladder.above(step, backward=backward, cut=cut)
        return made
    _, curve = sampled(pair, False, step, cut)
    there = up(_side(curve.upper, step), SUM_OF_POSITIVE_TERMS)
    back = there if pair.symmetric else up(_side(sampled(pair, True, step, cut)[1].upper, step), SUM_OF_POSITIVE_TERMS)
    return _joined(there, back, float(curve.upper[-1]), step)


def _ladder_of(pair: Pair) -> tuple[Any, bool]:
    """The ladder of losses of a pair (None if it has none), and whether the pair is reversed."""
    backward = isinstance(pair, Reversed)
    return getattr(pair.pair if isinstance(pair, Reversed) else pair, "ladder", None), backward


@dataclass(frozen=True)
class _Ends:
    """The two curves of a pair, one end at a time."""

    pair: Any

    def end(self, epsilon: Array, end: str, *, backward: bool) -> Array:
        curve = self.pair.backward if backward else self.pair.forward
        return np.asarray(getattr(curve(epsilon), end))


def discretise_below(pair: Pair, step: float, *, free: bool, cut: float = CUT) -> LossDistribution | None:
    """A distribution whose curve is at or below that of the pair (loss_ladder.py); None if nothing is known from below.
    If the step is free, it may become slightly smaller.
    """
    ladder, backward = _ladder_of(pair)
    if ladder is None:
        if not (np.asarray(pair.forward(np.zeros(1)).lower) > 0.0).all():
            return None
        kinks = kinks_of(pair)
        ladder, backward = LossLadder(_Ends(pair), (kinks, kinks)), False
    made: LossDistribution = ladder.below(step, backward=backward, free=free, cut=cut)
    return made


def all_below(
    parts: Sequence[tuple[Pair, int]], step: float, aligned: bool, cut: float
) -> tuple[tuple[LossDistribution, int], ...]:
    """The distributions below all parts, on one lattice. Unless all losses are on it, several parts need a finer one. A
    part without a lower bound is left out, which only lowers the total.
    """
    alone, first = len(parts) == 1, parts[0][0]
    smooth = alone and (_ladder_of(first)[0] is not None or kinks_of(first).size < 2)
    listed = aligned and all(is_listed(pair) for pair, _ in parts)
    step = step if listed or smooth else step / 6.0
    found = []
    for pair, times in parts:
        with suppress(Unsupported):
            part = discretise_below(pair, step, free=alone, cut=cut)
            found.extend([] if part is None else [(part, times)])
    return tuple(found)


def _joined(there: Array, back: Array, infinite: float, step: float) -> LossDistribution:
    """Positive losses as given, negative ones mirrored from the reversed pair, and the rest (with the round-off of the
    sums) at zero.
    """
    below = back * np.exp(-step * np.arange(1.0, back.size + 1.0))
    centre = 1.0 - infinite - float(there.sum()) - float(below.sum()) + ELEMENTARY.share
    # a tiny mass at zero keeps logarithms finite if all mass is infinite; it only adds to the total, the safe side
    return LossDistribution(np.concatenate([below[::-1], [max(centre, 1e-300)], there]), -back.size, step, infinite)
