"""Choices before a fit: private quantiles and the best of several columns, drawn exactly.

A choice gives a score, a whole number, to each of several things and publishes the place of one of them: thing i with
probability proportional to e^(score_i/scale) (McSherry and Talwar 2007). A neighbour moves every score by at most
`move`, up or down, so the losses of one choice lie in an interval of length 2 move/scale (docs/maths/choices.md). This
range decides what a choice costs.

A quantile is such a choice (Smith 2011). The line is divided into cells. The score of a cell is minus the number of
rows by which the cell misses the quantile: with a rows below the cell and b rows below its upper end, it is
-max(a - wanted, wanted - b, 0). A row that is replaced, added or removed moves a and b by at most 1 each, so it moves
the score by at most 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.learn.paid import Paid
from hush.noise import selection
from hush.numerics.rounding import SPARE, up
from hush.privacy import gaussian
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity

__all__ = [
    "CELLS",
    "Choice",
    "around",
    "cells_of",
    "counts_in",
    "deviations_of",
    "gaussian_amount",
    "range_for",
    "scores",
    "share_of",
]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The number of cells of every quantile.
CELLS = 4096
_LINEAR = 1024  # cells of equal length
_FINEST, _LARGEST = -24, 64  # powers of two between which cells grow with their distance from 0
_EACH = 16  # cells in an octave of distances from 0
_EACH_DEVIATION, _OCTAVES = 8, 90  # cells in an octave of deviations, and octaves below the largest deviation


@dataclass(frozen=True)
class Choice:
    """`times` choices, each among `numbers` scores that a neighbour moves by at most `move`, with losses in an interval
    of length `range`.
    """

    name: str
    numbers: int
    move: int
    times: int
    range: float
    neighbours: str = "replace"

    @cached_property
    def noise(self) -> selection.Selection:
        """The noise that decides."""
        return selection.Selection(up(2.0 * self.move / self.range, SPARE))

    @cached_property
    def charge(self) -> Charge:
        """The cost of all these choices."""
        bound = Sensitivity(linf=float(self.move), dimension=self.numbers, neighbours=self.neighbours)
        return Charge(self.noise, bound, times=self.times)

    def best(self, scored: Whole, paid: Paid) -> int:
        """The place of one choice; if the range is infinite, without noise: the place of the largest score."""
        if math.isinf(self.range):
            return int(np.argmax(scored))
        return int(paid.choose(self.charge.repeated(1), scored)[0])

    def all_best(self, scored: Whole, paid: Paid) -> Whole:
        """The places of all choices from one list, each place at most once."""
        if math.isinf(self.range):
            return np.argsort(-scored, kind="stable")[: self.times]
        return paid.choose(self.charge, scored)


def share_of(range_: float, times: int, epsilon: float, delta: float) -> float:
    """The part of the budget that these choices use, about: of mu^2 as in `hush.learn.budget`, or of epsilon.

    k choices with a range r have at most the Renyi divergences of Gaussian noise with mu^2 = k r^2/4
    (docs/maths/top.md). The accounting of a fit composes their exact curves and does not use this number.
    """
    if delta == 0.0:
        return times * range_ / epsilon
    return times * (0.5 * range_ * gaussian_amount(epsilon, delta)) ** 2


def range_for(share: float, times: int, epsilon: float, delta: float) -> float:
    """The range of each of `times` choices that use this part of the budget; infinite without noise."""
    if math.isinf(epsilon):
        return math.inf
    if delta == 0.0:
        return share * epsilon / times
    return 2.0 * math.sqrt(share / times) / gaussian_amount(epsilon, delta)


@lru_cache(maxsize=256)
def gaussian_amount(epsilon: float, delta: float) -> float:
    """sigma of Gaussian noise for the sensitivity 1. A plan needs it many times for the same budget."""
    return float(np.asarray(gaussian.sigma(epsilon, delta)))


def cells_of(low: float, high: float) -> Array:
    """The edges of the cells of a range: cells of equal length, and cells that grow with the distance from 0."""
    powers = 2.0 ** np.arange(_FINEST, _LARGEST, 1.0 / _EACH)
    points = np.concatenate([np.linspace(low, high, _LINEAR + 1), powers, -powers, [0.0]])
    edges = np.unique(points[(points >= low) & (points <= high)])
    return np.concatenate([edges, np.full(CELLS + 1 - edges.size, high)])  # the last cells are empty


def deviations_of(largest: float) -> Array:
    """The edges of the cells of distances from a point, up to `largest`."""
    edges = largest * 2.0 ** (-np.arange(_EACH_DEVIATION * _OCTAVES)[::-1] / _EACH_DEVIATION)
    return np.concatenate([np.zeros(CELLS + 1 - edges.size), edges])


def counts_in(edges: Array, values: Array) -> Whole:
    """The number of values in each cell; a cell includes its lower end. Values are within the edges."""
    places = np.searchsorted(edges, values, side="right") - 1
    # a value at the upper end of the range is in the last cell that is not empty
    last = int(np.searchsorted(edges, edges[-1], side="left")) - 1
    return np.bincount(np.minimum(places, max(last, 0)), minlength=CELLS).astype(np.int64)


def scores(counts: Whole, wanted: int) -> Whole:
    """Minus the number of values by which each cell misses the place `wanted`."""
    upper = np.cumsum(counts)
    return -np.maximum(np.maximum(upper - counts - wanted, wanted - upper), 0)


def around(edges: Array, place: int) -> tuple[float, float]:
    """The ends of a cell."""
    return float(edges[place]), float(edges[place + 1])
