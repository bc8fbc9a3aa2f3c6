"""Privacy loss distributions: certified discretisation, from above and from below.

A pair of laws is described by its curve delta(e). On the grid e_j = j h, chords (in e^e) connect the exact values. They
are the curve of a discrete loss distribution that lies above the true, convex curve. Its masses are second differences,

    p_j = (e^h (delta_(j-1) - delta_j) - (delta_j - delta_(j+1))) / (e^h - 1)     for j > 0,
    p_inf = delta at the last point,

and losses below zero mirror those of the reversed pair, p_(-j) = e^(-e_j) p_j. If each part is dominated, so is the
composition: the composed curve is an upper bound. The chords cost at most (h/d)^2/8 of the shift d. Reducing all losses
by about as much gives a discrete curve that lies *below* the true one everywhere (checked, not assumed): a lower bound,
and with the upper one a bracket. composed_curve.py composes such distributions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CLOSED_FORM, ELEMENTARY, NEAR_ENOUGH, SUM_OF_POSITIVE_TERMS, down, up
from hush.privacy.loss_grid import FAR, sampled
from hush.privacy.loss_pair import LossDistribution, Pair, Reversed

__all__ = ["below_on_ladder", "discretise", "discretise_below"]

Array = NDArray[np.float64]


def _side(delta: Array, step: float) -> Array:
    """Second differences: masses at e_1 .. e_n from delta at e_0 .. e_n. Values that rounding made negative become 0,
    which only adds mass.
    """
    fall = np.append(delta[:-1] - delta[1:], 0.0)
    return np.maximum((math.exp(step) * fall[:-1] - fall[1:]) / math.expm1(step), 0.0)


def _curve_of(masses: Array, infinite: float, step: float) -> Array:
    """delta at e_0 .. e_n of the masses at e_1 .. e_n: the inverse of `_side`, summed from the outside inwards."""
    e = np.arange(1.0, masses.size + 1.0) * step
    with np.errstate(divide="ignore", under="ignore"):
        # log of the mass of the reversed law at e_j and beyond
        tails = np.logaddexp.accumulate((np.log(masses) - e)[::-1])[::-1]
        falls = np.exp(tails + e - step) * math.expm1(step)  # delta_(j-1) - delta_j
    return np.append(np.cumsum(falls[::-1])[::-1] + infinite, infinite)


def discretise(pair: Pair, step: float) -> LossDistribution:
    """The loss distribution whose curve consists of chords; they are at or above the curve of the pair."""
    ladder, backward = _ladder_of(pair)
    if ladder is not None:
        made: LossDistribution = ladder.above(step, backward=backward)
        return made
    _, curve = sampled(pair, False, step)
    there = up(_side(curve.upper, step), SUM_OF_POSITIVE_TERMS)
    back = there if pair.symmetric else up(_side(sampled(pair, True, step)[1].upper, step), SUM_OF_POSITIVE_TERMS)
    return _joined(there, back, float(curve.upper[-1]), step)


def _ladder_of(pair: Pair) -> tuple[Any, bool]:
    """The ladder of losses of a pair (None if it has none), and whether the pair is reversed."""
    backward = isinstance(pair, Reversed)
    return getattr(pair.pair if isinstance(pair, Reversed) else pair, "ladder", None), backward


def below_on_ladder(pair: Pair, step: float, *, free: bool) -> LossDistribution | None:
    """The distribution below a pair that has a ladder of losses; None for other pairs."""
    ladder, backward = _ladder_of(pair)
    if ladder is None:
        return None
    made: LossDistribution = ladder.below(step, backward=backward, free=free)
    return made


def _joined(
    there: Array, back: Array, infinite: float, step: float, *, slack: float = ELEMENTARY.share
) -> LossDistribution:
    """Positive losses as given, negative ones mirrored from the reversed pair, and the rest (with the round-off of the
    sums, as slack) at zero.
    """
    below = back * np.exp(-step * np.arange(1.0, back.size + 1.0))
    centre = 1.0 - infinite - float(there.sum()) - float(below.sum()) + slack
    # a tiny mass at zero keeps logarithms finite if all mass is infinite; it only adds to the total, the safe side
    return LossDistribution(np.concatenate([below[::-1], [max(centre, 1e-300)], there]), -back.size, step, infinite)


def discretise_below(pair: Pair, share: float, step: float) -> LossDistribution | None:
    """A distribution whose curve is at or below that of the pair, checked; None if the share is too small for that.

    The candidate is (1 - c) delta(e/(1 - c)): below delta because delta falls, with c at least `share` and such that
    the first atom lands on the grid (the factor keeps the masses' sum at 1). Between grid points the true curve lies
    above the two lines that continue its neighbouring chords, and the candidate's chord must lie below the higher of
    the two where they meet.
    """
    squeeze = 1.0 - share
    if pair.atoms and pair.atoms[0] > step:
        steps = pair.atoms[0] * squeeze / step
        # slightly below the grid point, so that rounding leaves no mass of the atom beyond it
        squeeze *= down(math.floor(up(steps, CLOSED_FORM)) / steps, ELEMENTARY) if steps >= 1.0 else 1.0
    sides, infinite = [], 0.0
    for backward in (False,) if pair.symmetric else (False, True):
        grid, curve = sampled(pair, backward, step)
        truth = pair.backward if backward else pair.forward
        squeeze = min(squeeze, 1.0)
        low = np.asarray(truth(grid / squeeze).lower) * squeeze
        rest = down(float(np.asarray(truth(np.array([FAR])).lower)[0]) * squeeze, CLOSED_FORM)
        masses = _masses_below(np.maximum(low - max(rest, low[-1]), 0.0), step)
        if not _lies_below(_curve_of(masses, rest, step), curve, step):
            return None
        sides.append(masses)
        infinite = rest if not backward else infinite
    found = _joined(sides[0], sides[-1], infinite, step, slack=-ELEMENTARY.share)
    return found if found.masses[-found.first] > 1e-300 else None


def _masses_below(values: Array, step: float) -> Array:
    """Masses of a curve through these values, or below them where they are not convex.

    Lower ends of brackets need not be convex: where a curve ends they may fall to 0 from one point to the next.
    Raising negative masses to zero would then raise the whole curve, so the largest convex curve below the values
    is used instead.
    """
    masses = down(_side(values, step), SUM_OF_POSITIVE_TERMS)
    if (_curve_of(masses, 0.0, step) > up(values, NEAR_ENOUGH)).any():
        masses = down(_side(_convex_minorant(values, step), step), SUM_OF_POSITIVE_TERMS)
    return masses


def _convex_minorant(values: Array, step: float) -> Array:
    """The largest curve at or below the values that is convex in e^e: the lower hull of the points."""
    x = np.expm1(np.arange(values.size) * step)
    corners: list[int] = []
    for i in range(values.size):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (values[b] - values[a]) * (x[i] - x[a]) < (values[i] - values[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return np.asarray(np.interp(x, x[corners], values[corners]))


def _lies_below(chords: Array, truth: Bracket, step: float) -> bool:
    """Is the piecewise-linear curve (linear in e^e) below every falling convex curve that lies within `truth` at the
    grid points?
    """
    least, most = np.asarray(truth.lower), np.asarray(truth.upper)
    if (chords > least).any():
        return False
    # In a cell, with u = (e^e - e^(e_j))/(e^(e_(j+1)) - e^(e_j)): a convex curve lies above the line through its
    # highest possible point one place before the cell and its lowest possible point where the cell begins. The same
    # holds from the other side.
    grow = math.exp(step)
    left = np.append(np.inf, (most[:-2] - least[1:-1]) * grow)
    right = np.append(np.maximum(least[1:-1] - most[2:], 0.0) / grow, 0.0)
    start, end = least[:-1], least[1:]
    # lines: start - left u and end + right (1 - u); they meet at
    with np.errstate(invalid="ignore", divide="ignore"):
        u = np.where(np.isinf(left), 0.0, (start - end - right) / (left - right))
    u = np.clip(np.where(np.isfinite(u), u, 0.0), 0.0, 1.0)
    meet = end + right * (1.0 - u)
    chord = chords[:-1] + (chords[1:] - chords[:-1]) * u
    return bool((chord <= down(meet, CLOSED_FORM)).all() or (chord <= meet)[chord > 0.0].all())
