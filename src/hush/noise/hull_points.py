"""Uniform points of the hull, in whole numbers only.

A vector of B(j, R), that is, of {1, ..., R}^j with a sum of at most l0 R, is drawn by rejection, in one of two ways:

    box       j independent numbers, uniform on {1, ..., R}; accepted if their sum is at most l0 R
    simplex   the gaps of a uniform set of j of the numbers 1, ..., l0 R; accepted if no gap exceeds R

Both propose from a larger set that contains B(j, R) and give each of its members the same probability, so an accepted
vector is uniform on B(j, R). The smaller set is used: R^j vectors against C(l0 R, j). A uniform set of j numbers is
drawn by Floyd's method (Bentley and Floyd 1987).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.noise.uniform_numbers import UniformNumbers
from hush.numerics import special
from hush.numerics.arrays import distinct

__all__ = ["ordered", "placed", "positive_points"]

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: Takes levels R, j and l0, and returns one vector for each level and whether it is in B(j, R).
Propose = Callable[[UniformNumbers, Whole, int, int], tuple[Whole, Flags]]

_PROPOSALS = 256  # proposals that are made at once, at least


def positive_points(numbers: UniformNumbers, level: Whole, count: Whole, l0: int) -> Whole:
    """Uniform vectors of B(count, level), one in each row; a row has zeros after its `count` numbers."""
    out = np.zeros((level.size, int(count.max(initial=0))), dtype=np.int64)
    for j in distinct(count[count > 0]).tolist():
        box = _box_is_smaller(level, j, l0) & (count == j)
        for rows, propose in ((box, _from_box), (~box & (count == j), _from_simplex)):
            chosen = np.flatnonzero(rows)
            out[chosen, :j] = _accepted(numbers, propose, level[chosen], j, l0)
    return out


def _box_is_smaller(level: Whole, j: int, l0: int) -> Flags:
    """R^j <= C(l0 R, j), up to rounding: both ways are exact, this only chooses the faster one."""
    r = level.astype(np.float64)
    top = np.maximum(l0 * r, float(j))
    return np.asarray(
        j * np.log(np.maximum(r, 1.0))
        <= special.gammaln(top + 1.0) - special.gammaln(top - j + 1.0) - special.gammaln(j + 1.0)
    )


def _accepted(numbers: UniformNumbers, propose: Propose, level: Whole, j: int, l0: int) -> Whole:
    """The first accepted proposal of every row."""
    out = np.empty((level.size, j), dtype=np.int64)
    left = np.arange(level.size)
    while left.size:
        tries = max(1, _PROPOSALS // left.size)
        points, good = propose(numbers, np.repeat(level[left], tries), j, l0)
        good = good.reshape(-1, tries)
        found, first = good.any(axis=1), good.argmax(axis=1)
        out[left[found]] = points.reshape(-1, tries, j)[np.flatnonzero(found), first[found]]
        left = left[~found]
    return out


def _from_box(numbers: UniformNumbers, level: Whole, j: int, l0: int) -> tuple[Whole, Flags]:
    points = 1 + numbers.below(np.repeat(level, j)).reshape(-1, j)
    return points, points.sum(axis=1) <= l0 * level


def _from_simplex(numbers: UniformNumbers, level: Whole, j: int, l0: int) -> tuple[Whole, Flags]:
    points = np.diff(_subsets(numbers, l0 * level, j), axis=1, prepend=0)
    return points, points.max(axis=1) <= level


def _subsets(numbers: UniformNumbers, most: Whole, size: int) -> Whole:
    """Uniform sets of `size` of the numbers 1, ..., most, one in each row, sorted."""
    members = np.zeros((most.size, size), dtype=np.int64)
    for taken in range(size):
        top = most - size + 1 + taken
        drawn = 1 + numbers.below(top)
        again = (members[:, :taken] == drawn[:, None]).any(axis=1)
        members[:, taken] = np.where(again, top, drawn)
    members.sort(axis=1)
    return members


def ordered(numbers: UniformNumbers, most: Whole, before: Whole, after: Whole) -> Whole:
    """The member of a uniform set of before + after + 1 of the numbers 1, ..., most that has `before` below it.

    It is k with a probability proportional to C(k - 1, before) C(most - k, after).
    """
    found = np.empty_like(most)
    for size in distinct(before + after + 1).tolist():
        rows = np.flatnonzero(before + after + 1 == size)
        found[rows] = _subsets(numbers, most[rows], size)[np.arange(rows.size), before[rows]]
    return found


def placed(
    numbers: UniformNumbers, above: Whole, n_above: Whole, below: Whole, n_below: Whole, dimension: int
) -> Whole:
    """Vectors with the numbers of `above` and the negatives of `below` at uniform places, and zeros elsewhere.

    A row uses the first n_above numbers of its row of `above`, and the first n_below of `below`.
    """
    rows = np.arange(n_above.size)
    up, down = n_above.copy(), n_below.copy()
    out = np.zeros((rows.size, dimension), dtype=np.int64)
    for column in range(dimension):
        ticket = numbers.below(np.full(rows.size, dimension - column))
        takes = ticket < up
        gives = ~takes & (ticket < up + down)
        for which, left, values, sign in ((takes, up, above, 1), (gives, down, below, -1)):
            left[which] -= 1
            out[which, column] = sign * values[rows[which], left[which]]
    return out
