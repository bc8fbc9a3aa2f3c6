"""Loss distributions from the probabilities of cells of losses, for a release on a Poisson sample.

A pair of laws P and Q has the loss L = log dP/dQ. The losses are divided into cells by grid points e_j. If the
probabilities P_k and Q_k of every cell are known, the two discrete loss distributions that bound the pair follow from
them. The second differences of discretise.py, which cancel where the losses are small, are not needed:

    above   the cell between e_k and e_(k+1) becomes two masses at its ends, with the same P_k and Q_k in sum:
            (P_k - e^(e_k) Q_k)/(1 - e^(e_k - e_(k+1))) at the upper end, the rest at the lower end. At every e_j the
            curve of these masses equals the true one, and between them it is a chord of a convex curve.
    below   the cell around e_k becomes one mass P_k. Merging outputs only lowers the curve. The loss of the merged cell
            is log(P_k/Q_k), which is at least e_k if the cell is placed so, and a mass at a lower loss has a lower
            curve.

The points need not have equal distances; they only have to be on one lattice, so that sums of losses are. Cells are
narrow where most losses are, and grow with the loss outside: this needs some thousand points for every rate.

For a release on a sample, Q is the law without the person and P = (1 - q) Q + q R, where R is the law with the person
in the sample. With l the loss of R against Q, the loss is e = log(1 - q + q e^l). So cells of e are cells of l, and
P_k - e^(e_k) Q_k = q R_k - w_k Q_k with w_k = e^(e_k) - (1 - q), where nothing cancels but neighbouring losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.normal_losses import NormalLosses
from hush.numerics.rounding import ELEMENTARY, LOSS_CELLS, up
from hush.privacy.discretise import LossDistribution

__all__ = ["SampledCells"]

Array = NDArray[np.float64]
Places = NDArray[np.int64]

_BEYOND = 1e-60  # losses that are larger with less than this probability count as infinite
_FINE = 8.0  # up to this many typical losses a cell is one step wide; further out cells grow
_MOST_FINE = 4096  # such cells on each side
_HALVINGS = 40  # of the search for the first place of the lower bound
_MOST_PLACES = 1 << 22


@dataclass(frozen=True)
class SampledCells:
    """The losses of a noise (such as `NormalLosses`), released on a Poisson sample with the given rate."""

    losses: NormalLosses
    rate: float

    @property
    def typical(self) -> float:
        """About the standard deviation of the loss: q sqrt(E e^loss - 1) for small rates, and at most that without
        sampling.
        """
        square = self.losses.log_mean_ratio
        return min(self.rate * math.sqrt(math.expm1(min(square, 600.0))), math.sqrt(square))

    def above(self, step: float, *, backward: bool) -> LossDistribution:
        """The distribution whose curve is at or above that of the pair."""
        places = self._places(step)
        ends: Array = places.astype(np.float64) * step
        person, other = self._cells(ends[1:])  # cells end at ends[1], ends[2], ..., infinity
        scaled, plain = self.rate * person[:-1], other[:-1]
        weight = self._weight(ends)
        doubt = LOSS_CELLS.share * (scaled + np.abs(weight[1:]) * plain)
        if backward:
            whole, raised = plain, (weight[1:] * plain - scaled + doubt) * np.exp(-ends[1:])
        else:
            whole, raised = (1.0 - self.rate) * plain + scaled, scaled - weight[:-1] * plain + doubt
        raised = np.clip(up(raised, ELEMENTARY) / -np.expm1(-np.diff(ends)), 0.0, whole)
        masses = np.zeros(places.size)
        masses[:-1] += raised if backward else whole - raised
        masses[1:] += whole - raised if backward else raised
        if backward:  # the losses are the negative ones, so those beyond the last end are even less
            masses[-1] += other[-1]
            return LossDistribution(masses[::-1], -int(places[-1]), step, 0.0, -places[::-1])
        infinite = up(float((1.0 - self.rate) * other[-1] + self.rate * person[-1]), LOSS_CELLS)
        return LossDistribution(masses, int(places[0]), step, infinite, places)

    def below(self, step: float, *, backward: bool) -> LossDistribution:
        """The distribution whose curve is at or below that of the pair.

        Its lattice starts at the loss of the lowest cell: where the noise is small, most losses are just above the
        least one, log(1 - q).
        """
        places = self._places(step)
        order = places - places[0]
        start = self._lowest(float(order[1]) * step)
        ends = start + order * step
        quarters = (ends[:-1, None] + np.diff(ends)[:, None] * (np.arange(4) / 4.0)).ravel()
        person, other = self._cells(quarters[2:])  # the lowest cell ends half a width above its loss
        scaled, weight = self.rate * person, self._weight(ends)
        if not backward:
            whole = (1.0 - self.rate) * other + scaled
            masses = _packed(scaled, other, weight, whole, LOSS_CELLS.share)
            return LossDistribution(masses, 0, step, 0.0, order, start)
        masses = _packed(scaled, other, weight, other, -LOSS_CELLS.share)
        return LossDistribution(masses[::-1], -int(order[-1]), step, 0.0, -order[::-1], -start)

    def _lowest(self, width: float) -> float:
        """A loss such that the cell below the point half a width above it has this loss."""

        def loss(bound: float) -> float:
            person, other = self._cells(np.array([bound]))
            return float(self._merged(person, other)[0])

        least = math.log1p(-self.rate)
        low, high = least, least + width
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if middle - loss(middle) < 0.5 * width else (low, middle)
        return high - 0.5 * width

    def _weight(self, losses: Array) -> Array:
        """e^loss - (1 - q)."""
        return np.asarray(np.expm1(losses) + self.rate)

    def _merged(self, person: Array, other: Array) -> Array:
        """The loss of cells that are merged into one output each: log((1 - q) + q R/Q)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log1p(self.rate * np.where(other > 0.0, (person - other) / other, np.inf))

    def _cells(self, ends: Array) -> tuple[Array, Array]:
        """The probabilities of the cells that end at these losses, and of the rest above, with the person in the sample
        and without.
        """
        # e^l = (e^e - (1 - q))/q; there is no loss below log(1 - q)
        with np.errstate(divide="ignore"):
            return self.losses.cells(np.log(np.maximum(self._weight(ends) / self.rate, 0.0)))

    def reach(self, probability: float) -> float:
        """A loss that is exceeded with about this probability if the person is in the sample."""
        return float(np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + self.losses.beyond(probability)))

    def _places(self, step: float) -> Places:
        """The lattice points that masses lie on: every one near 0, fewer further out."""
        above, below = (
            _ladder(self.reach(_BEYOND), step, self.typical),
            _ladder(-math.log1p(-self.rate), step, self.typical),
        )
        return np.concatenate([-below[::-1], [0], above])


def _ladder(reach: float, step: float, typical: float) -> Places:
    """Numbers of steps from 1 to beyond `reach`: all of them for typical losses, then every second, every fourth and so
    on, half as many again for each doubling of the loss.
    """
    near, last = min(2 * math.ceil(0.5 * _FINE * typical / step), _MOST_FINE), math.ceil(reach / step) + 1
    rows, width, start = [np.arange(1, min(near, last) + 1, dtype=np.int64)], 2, near
    while start < last:
        if near * len(rows) > _MOST_PLACES:
            raise Unsupported("the privacy losses reach too far for the grid; use more noise or a larger rate.")
        end = min(2 * start, start - (start - last) // width * width)
        rows.append(np.arange(start + width, end + 1, width, dtype=np.int64))
        start, width = 2 * start, 2 * width
    return np.concatenate(rows)


def _packed(scaled: Array, other: Array, weight: Array, whole: Array, share: float) -> Array:
    """The mass of each place, if narrow cells with increasing losses are merged until each merged cell has the loss of
    its place: q R - w Q summed over the cell is 0. The last narrow cell of each is divided at random.

    The sums are held on the safe side of 0: above for a positive share, below for a negative one.
    """
    masses = np.zeros(weight.size)
    place, lacks, mass, last = 0, 0.0, 0.0, weight.size - 1
    level = weight.tolist()
    for here, there, amount in zip(scaled.tolist(), other.tolist(), whole.tolist(), strict=True):
        left = 1.0
        while True:
            gain = left * (here - level[place] * there - share * (here + abs(level[place]) * there))
            if gain <= lacks or place == last:  # all of it is merged, and more is needed
                lacks -= gain
                mass += left * amount
                break
            if mass > 0.0:
                part = lacks / gain
                masses[place] = mass + part * left * amount
                left, lacks, mass = left * (1.0 - part), 0.0, 0.0
            place += 1
    return _ended(masses, place, mass, share)


def _ended(masses: Array, place: int, mass: float, share: float) -> Array:
    """The last cell lacks something, so its mass goes to the place before; as a negative loss it is left out."""
    if share > 0.0:
        masses[place - 1] += mass
    return masses
