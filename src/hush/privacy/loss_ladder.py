"""Loss distributions of a pair on a ladder of losses: narrow steps for typical losses, wider ones for rare losses.

A release on a sample has many small losses and few large ones. The points of the ladder are on one lattice, so that
sums of losses are, but only some thousand of them carry mass. Both distributions follow from the curve of the pair, as
in discretise.py, with u = e^epsilon:

    above   chords between the exact values of the curve at the points. A convex curve is below its chords.
    below   the curve at narrow points, each lowered by the most that a convex curve can sag between them, is a polygon
            below the curve. It belongs to losses at the narrow points. Neighbouring losses are merged until the loss of
            each group is a point of the ladder: who sees merged outputs learns less. The last loss of a group is
            divided by a coin.

The sums of merged losses keep their mean up to the square of the step, so the lower bound is close to the truth after
any number of releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics.rounding import ELEMENTARY, LOSS_LADDER, NEAR_ENOUGH, down, next_down, up
from hush.privacy.loss_grid import CUT, FAR
from hush.privacy.loss_packing import aligned, joined, packed
from hush.privacy.loss_pair import LossDistribution

__all__ = ["LossLadder"]

Array = NDArray[np.float64]
Places = NDArray[np.int64]

_BEYOND = 1e-5  # of the cut: losses that are larger with less than this probability count as infinite
_FINE = 8.0  # up to this many typical losses a cell is one step wide; further out cells grow
_MOST_FINE = 4096  # such cells on each side
_MOST_PLACES = 1 << 16
_NARROW = 4  # narrow cells in a cell of the ladder, for the bound from below
_LARGEST = 4096.0  # losses are searched up to here
_MOST_KINKS = 1 << 13
_CLOSER, _FEW_KINKS = 16, 256  # narrower cells beside each kink, if there are few


class TwoCurves(Protocol):
    """A pair of laws, described by its two curves."""

    def end(self, epsilon: Array, end: str, *, backward: bool) -> Array:
        """The lower or upper end of delta of the first law against the second, or backwards, for epsilon >= 0."""
        ...


@dataclass(frozen=True)
class LossLadder:
    """A pair of laws, and the losses where its two curves have kinks (where they are known)."""

    pair: TwoCurves
    kinks: tuple[Array, Array]

    @cached_property
    def _profile(self) -> tuple[Array, tuple[Array, Array]]:
        """Epsilons from far below the typical loss to far beyond the largest, and both curves there, without the mass
        that no epsilon removes.
        """
        start = max(1e-3 * float(self.pair.end(np.zeros(1), "upper", backward=False)[0]), 1e-300)
        grid = start * 2.0 ** (0.25 * np.arange(4.0 * math.log2(_LARGEST / start) + 1.0))
        with np.errstate(all="ignore"):  # some families overflow on the way to a delta of 0
            rows = [self.pair.end(np.append(grid, FAR), "upper", backward=way) for way in (False, True)]
        first, second = (np.maximum(row[:-1] - up(float(row[-1]), NEAR_ENOUGH), 0.0) for row in rows)
        return grid, (first, second)

    @cached_property
    def typical(self) -> float:
        """About the standard deviation of a loss L: the root of 2 E (L - 1 + e^-L), an integral of both curves."""
        grid, rows = self._profile
        weights = np.diff(np.append(0.0, grid))
        return math.sqrt(2.0 * sum(float((row * weights).sum()) for row in rows))

    def reach(self, probability: float, *, backward: bool = False) -> float:
        """A loss beyond which delta is less than this (but for the mass at infinity)."""
        grid, rows = self._profile
        small = np.flatnonzero(rows[backward] <= probability)
        if not small.size:
            raise Unsupported("the privacy losses reach too far for the grid; use more noise or a larger rate.")
        return float(grid[small[0]])

    def above(self, step: float, *, backward: bool = False, cut: float = CUT) -> LossDistribution:
        """The distribution whose curve is at or above that of the pair."""
        sides: list[tuple[Places, Array]] = []
        infinite = 0.0
        for way in (backward, not backward):
            places = _ladder(self.reach(_BEYOND * cut, backward=way), step, self.typical)
            losses = np.append(0.0, places * step)
            values = self.pair.end(losses, "upper", backward=way)
            infinite = infinite if sides else float(values[-1])
            sides.append((places, up(np.maximum(_masses(losses, values), 0.0), LOSS_LADDER)))
        (right, there), (left, back) = sides
        below = back * np.exp(-step * left)
        slack = ELEMENTARY.share + LOSS_LADDER.share * infinite
        centre = max(1.0 - infinite - float(there.sum()) - float(below.sum()) + slack, 1e-300)
        masses = np.concatenate([below[::-1], [centre], there])
        return LossDistribution(masses, -int(left[-1]), step, infinite, np.concatenate([-left[::-1], [0], right]))

    def below(self, step: float, *, backward: bool = False, free: bool = False, cut: float = CUT) -> LossDistribution:
        """The distribution whose curve is at or below that of the pair. Its lattice starts at the least loss. If the
        step is free, it may become slightly smaller.
        """
        sides, rests = [], []
        for way in (backward, not backward):
            ends = _ladder(self.reach(_BEYOND * cut, backward=way), step, self.typical).astype(np.float64) * step
            losses = _narrow(ends, self.kinks[way])
            points = np.append(losses, FAR)
            lower, upper = (self.pair.end(points, end, backward=way) for end in ("lower", "upper"))
            rests.append(down(float(lower[-1]), LOSS_LADDER))
            sides.append(_polygon(losses, np.maximum(lower[:-1] - rests[-1], 0.0), upper[:-1] - rests[-1]))
        # at loss 0 the two sides are one point
        least = min(float(polygon[0]) + rest for (_, polygon), rest in zip(sides, rests, strict=True))
        rows = []
        for (losses, polygon), rest in zip(sides, rests, strict=True):
            corners, hull = _convex(losses, np.append(max(least - rest, 0.0), polygon[1:]))
            rows.append((corners[1:], down(np.maximum(_masses(corners, hull), 0.0), LOSS_LADDER)))
        losses, masses = joined(rows[0], rows[1], rests[0])
        start, step, heavy = aligned(losses, masses, step, free=free)
        left, right = (_ladder(max(reach, step), step, self.typical) for reach in (-start, float(losses[-1])))
        zero = round(-start / step)
        order = np.unique(np.maximum(np.concatenate([zero - left, [zero], zero + right, heavy]), 0))
        return LossDistribution(packed(losses, masses, start + order * step, step), 0, step, rests[0], order, start)


def _ladder(reach: float, step: float, typical: float) -> Places:
    """Numbers of steps from 1 to beyond `reach`: all of them for typical losses, then every second, every fourth and so
    on, half as many again for each doubling of the loss.
    """
    near, last = min(2 * math.ceil(0.5 * _FINE * typical / step), _MOST_FINE), math.ceil(reach / step) + 1
    rows, width, start = [np.arange(1, min(near, last) + 1, dtype=np.int64)], 2, near
    while start < last:
        if near // 2 * (len(rows) + 2) > _MOST_PLACES:
            raise Unsupported("the privacy losses reach too far for the grid; use more noise or a larger rate.")
        end = min(2 * start, start - (start - last) // width * width)
        rows.append(np.arange(start + width, end + 1, width, dtype=np.int64))
        start, width = 2 * start, 2 * width
    return np.concatenate(rows)


def _masses(losses: Array, values: Array) -> Array:
    """The masses at all losses but the first (which is 0) of the curve that connects the values by chords in e^loss."""
    width, fall = np.diff(losses), values[:-1] - values[1:]
    with np.errstate(over="ignore"):
        return np.asarray(fall / -np.expm1(-width) - np.append(fall[1:] / np.expm1(width[1:]), 0.0))


def _narrow(ends: Array, kinks: Array) -> Array:
    """Points that divide the cells with these ends, from 0 on; a point close to a kink is replaced by the kink."""
    starts = np.append(0.0, ends[:-1])
    width = (ends - starts) / _NARROW
    inner = (starts[:, None] + width[:, None] * np.arange(_NARROW)).ravel()
    points = np.append(inner, ends[-1])
    kinks = kinks[(kinks > 0.0) & (kinks < ends[-1])]
    if not kinks.size or kinks.size > _MOST_KINKS:
        return points
    clear = 0.25 * width[np.searchsorted(ends, kinks)]
    kinks, clear = _apart(kinks, clear)
    at = np.searchsorted(kinks, points)
    near = np.minimum(
        np.abs(points - kinks[np.minimum(at, kinks.size - 1)]) / clear[np.minimum(at, kinks.size - 1)],
        np.abs(points - kinks[np.maximum(at - 1, 0)]) / clear[np.maximum(at - 1, 0)],
    )
    keep = near > 1.0
    keep[0] = True
    # cells beside a kink become narrower and narrower, so that the polygon has its corner there
    close = clear[:, None] * 2.0 ** -np.arange(_CLOSER if kinks.size <= _FEW_KINKS else 0.0)
    beside = np.concatenate([(kinks[:, None] - close).ravel(), (kinks[:, None] + close).ravel()])
    return np.unique(np.concatenate([points[keep], kinks, beside[beside > 0.0]]))


def _apart(kinks: Array, clear: Array) -> tuple[Array, Array]:
    """The kinks that are not too close to 0 or to the one before."""
    kept, last = [], 0.0
    for i, kink in enumerate(kinks.tolist()):
        if kink - last > clear[i]:
            kept.append(i)
            last = kink
    return kinks[kept], clear[kept]


def _polygon(losses: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Losses and values whose chords are below every falling convex curve between `lower` and `upper`.

    In a cell, a convex curve is above the line through its highest possible value one point before the cell and its
    lowest possible value where the cell starts, and above the same line from the other side. The chord of the lower
    values exceeds both by at most A B/(A + B), where A and B are how far the lines end below the chord.
    """
    width, fall = np.diff(losses), lower[:-1] - lower[1:]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        growth = np.expm1(width)
        left = np.append(np.inf, (upper[:-2] - lower[1:-1]) * np.exp(width[:-1]) * growth[1:] / growth[:-1] - fall[1:])
        falls = np.maximum(lower[1:-1] - upper[2:], 0.0)
        right = fall - np.append(falls * growth[:-1] * np.exp(-width[:-1]) / growth[1:], 0.0)
        left, right = np.maximum(left, 0.0), np.maximum(right, 0.0)
        sag = np.where(np.isinf(left), right, np.where(left + right > 0.0, left * right / (left + right), 0.0))
    sag = up(sag, ELEMENTARY)
    found = lower - np.maximum(np.append(sag, 0.0), np.append(0.0, sag))
    gone = np.flatnonzero(~(found > 0.0))
    if not gone.size:
        return losses, found
    end = int(gone[0])  # here the polygon has reached or crossed 0, where it ends
    if end == 0:
        return losses[:2], np.zeros(2)
    before, after, last = float(found[end - 1]), float(found[end]), float(losses[end])
    if after < 0.0:
        share = down(before / (before - after), ELEMENTARY)
        last = float(next_down(losses[end - 1] + np.log1p(share * np.expm1(width[end - 1]))))
    if last > losses[end - 1]:
        return np.append(losses[:end], last), np.append(found[:end], 0.0)
    return losses[: max(end, 2)], np.append(found[: end - 1], 0.0) if end > 1 else np.zeros(2)


def _convex(losses: Array, values: Array) -> tuple[Array, Array]:
    """The corners of the largest convex polygon (in e^loss) at or below the values."""
    if (_masses(losses, values) >= 0.0).all():
        return losses, values
    corners: list[int] = []
    at, height = losses.tolist(), values.tolist()
    for i in range(losses.size):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            # the fall from a to b, per unit of e^loss, against that from b to i
            if (height[a] - height[b]) * _expm1(at[i] - at[b]) >= (height[b] - height[i]) * -math.expm1(at[a] - at[b]):
                break
            corners.pop()
        corners.append(i)
    return losses[corners], values[corners]


def _expm1(x: float) -> float:
    return math.expm1(min(x, 700.0))
