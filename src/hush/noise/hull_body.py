"""The two bodies of hull noise: level sets for moves in both directions, and for moves in one direction.

A body supplies, in whole numbers, the polynomial that counts the points of a level, the weights of the first choices
after the level, and uniform points; and in floats the moments.

    TwoSided   level R: the x with |x|_inf <= R and |x|_1 <= l0 R
    OneSided   level u: a pair (a, b) of levels >= c with a + b = 2c + u, and the x whose positive part is within
               level a and whose negative part is within level b

Points are counted by their numbers of positive and of negative coordinates; see hull_counts.py for the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.noise.binomial_sums import ball_sums, log_sums
from hush.noise.hull_counts import Exact, evaluated, hull_counts, pascal, shifted
from hush.noise.hull_points import ordered, placed, positive_points
from hush.noise.uniform_numbers import UniformNumbers
from hush.numerics import special
from hush.numerics.arrays import distinct
from hush.numerics.ball import Ball, flint_module

__all__ = ["OneSided", "TwoSided"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class TwoSided:
    """Level sets {|x|_inf <= R, |x|_1 <= l0 R}: with j numbers that are not 0, C(d, j) 2^j |B(j, R)| points."""

    #: The weight of level R is q^R times the sum of coefficients[m] C(R + ahead, m).
    ahead = 0
    offset = 0

    def __init__(self, dimension: int, l0: int) -> None:
        self.dimension, self.l0 = dimension, l0
        self.counts = hull_counts(dimension, l0)
        self.shares = self.counts.points * _signed(dimension)
        self.coefficients: Exact = self.shares.sum(axis=1)

    def log_moments(self, rate: Fraction) -> tuple[float, float, float]:
        """log of the sums of q^R, of q^R x_1^2, and E X_1 X_2, which is 0, over all levels and points."""
        d, logs = self.dimension, log_sums(rate, np.array(0.0), self.dimension + 3)
        ways = np.arange(d + 1) * math.log(2.0) + _log_multinomial(d, 0)[:, 0]
        inner = np.append(-np.inf, np.arange(1, d + 1) * math.log(2.0) + _log_multinomial(d - 1, 0)[:, 0])
        total = _log_sum(ways + _log_levels(self.counts.logs[0], logs))
        return total, _log_sum(inner + _log_levels(self.counts.logs[2], logs)), 0.0

    def others(self, rate: Fraction) -> list[Ball]:
        """How many ways the other numbers have that leave i of them to be chosen from B(i, R): C(d - 1, i) 2^i."""
        arb = flint_module().arb
        return [arb(math.comb(self.dimension - 1, i) * 2**i) for i in range(self.dimension)]

    def total_ball(self, rate: Fraction) -> Ball:
        """The sum of q^R over all levels and points."""
        sums = ball_sums(rate, 0, len(self.coefficients))
        return sum((int(g) * s for g, s in zip(self.coefficients, sums, strict=True)), flint_module().arb(0))

    def points(self, level: Whole, numbers: UniformNumbers) -> Whole:
        """A uniform point of each level: the number of coordinates that are not 0, their sizes, signs and places."""
        count = np.zeros_like(level)
        for r in distinct(level).tolist():
            rows = np.flatnonzero(level == r)
            count[rows] = numbers.choose(evaluated(self.shares, r).tolist(), rows.size)
        sizes = positive_points(numbers, level, count, self.l0)
        sizes *= 2 * numbers.below(np.full(sizes.size, 2)).reshape(sizes.shape) - 1
        nothing = np.zeros_like(count)
        return placed(numbers, sizes, count, sizes, nothing, self.dimension)


class OneSided:
    """Level sets for moves in one direction. Coordinates are positive (i of them), or 0 or less (d - i).

    The number of points of (a, b) is the sum over i of C(d, i) |B(i, a)| N(d - i, b), where N(k, b), the sum over j of
    C(k, j) |B(j, b)|, counts the vectors of {0, ..., b}^k with a sum of at most l0 b. With a = c + s and b = c + u - s
    both factors are sums of C(s, m) and of C(u - s, n). The sum over s of C(s, m) C(u - s, n) is C(u + 1, m + n + 1): a
    polynomial in u again. So m and n are chosen first, by whole weights. Then s has weight C(s, m) C(u - s, n): in a
    uniform set of m + n + 1 of the numbers 0, ..., u it is the one with m others below it.
    """

    ahead = 1

    def __init__(self, dimension: int, l0: int, offset: int) -> None:
        self.dimension, self.l0, self.offset = dimension, l0, offset
        self.counts = hull_counts(dimension, l0)

    # -- the level, in whole numbers -------------------------------------------------------------------------

    @property
    def shares(self) -> Exact:
        """The polynomials of the number of points with i positive coordinates, i = 0, ..., d (last axis)."""
        return _shares(self.dimension, self.l0, self.offset)

    @property
    def coefficients(self) -> Exact:
        return _one_sided_total(self.dimension, self.l0, self.offset)

    def points(self, level: Whole, numbers: UniformNumbers) -> Whole:
        """A uniform point of each level: how many are positive, the pair (a, b), how many are negative, the sizes."""
        positive, before, after, negative = (np.zeros_like(level) for _ in range(4))
        for u in distinct(level).tolist():
            rows = np.flatnonzero(level == u)
            positive[rows] = numbers.choose(evaluated(self.shares, u + 1).tolist(), rows.size)
            for i in distinct(positive[rows]).tolist():
                same, parts = rows[positive[rows] == i], _splits(self.dimension, self.l0, self.offset, i)
                ways = [w * math.comb(u + 1, m + n + 1) for m, row in enumerate(parts) for n, w in enumerate(row)]
                before[same], after[same] = divmod(numbers.choose(ways, same.size), self.dimension - i + 1)
        high = self.offset + ordered(numbers, level + 1, before, after) - 1
        low = 2 * self.offset + level - high
        for i, b in sorted({*zip(positive.tolist(), low.tolist(), strict=True)}):
            rows, free = np.flatnonzero((positive == i) & (low == b)), self.dimension - i
            inside = _level_counts(self.dimension, self.l0, b)
            negative[rows] = numbers.choose([math.comb(free, j) * inside[j] for j in range(free + 1)], rows.size)
        above, below = (
            positive_points(numbers, size, count, self.l0) for size, count in ((high, positive), (low, negative))
        )
        return placed(numbers, above, positive, below, negative, self.dimension)

    # -- moments and one number ------------------------------------------------------------------------------

    def log_moments(self, rate: Fraction) -> tuple[float, float, float]:
        """log of the sums of q^(a + b), of q^(a + b) x_1^2, and E X_1 X_2, over all levels >= c and points."""
        d = self.dimension
        logs = log_sums(rate, np.array(float(self.offset)), d + 3)
        points, first, square, product = (_log_levels(table, logs) for table in self.counts.logs)
        total = _log_sum(_log_multinomial(d) + points[:, None] + points)
        one = _log_multinomial(d - 1) + points[:-1]  # i - 1 positive and n negative others
        own = math.log(2.0) + _log_sum(one + square[1:, None])
        if d == 1:
            return total, own, 0.0
        two = _log_multinomial(d - 2)
        same = _log_sum(two + product[2:, None] + points[:-2]) - total
        opposite = _log_sum(two + first[1:-1, None] + first[1:-1]) - total
        return total, own, 2.0 * (math.exp(same) - math.exp(opposite))

    def others(self, rate: Fraction) -> list[Ball]:
        """Ways of the other numbers, i of them positive: the sum over n of (d - 1)!/(i! n! (d-1-i-n)!) times B_n."""
        inside, last = self._level_balls(rate), self.dimension - 1
        arb = flint_module().arb
        return [
            sum((math.comb(last, i) * math.comb(last - i, n) * inside[n] for n in range(last - i + 1)), arb(0))
            for i in range(last + 1)
        ]

    def total_ball(self, rate: Fraction) -> Ball:
        """The sum of q^(a + b) over all levels >= c and points."""
        inside, d = self._level_balls(rate), self.dimension
        return sum(
            (
                math.comb(d, i) * math.comb(d - i, n) * inside[i] * inside[n]
                for i in range(d + 1)
                for n in range(d - i + 1)
            ),
            flint_module().arb(0),
        )

    def _level_balls(self, rate: Fraction) -> list[Ball]:
        """The sums over the levels R >= c of q^R |B(j, R)|, for every j."""
        sums = ball_sums(rate, self.offset, self.dimension + 3)
        return [
            sum((int(p) * s for p, s in zip(self.counts.points[:, j], sums, strict=True)), flint_module().arb(0))
            for j in range(self.dimension + 1)
        ]


@lru_cache(maxsize=32)
def _from_offset(dimension: int, l0: int, offset: int) -> tuple[Exact, Exact]:
    """Coefficients of C(u, m) of |B(j, c + u)| and of N(j, c + u), for all j (last axis)."""
    inside = shifted(hull_counts(dimension, l0).points, offset)
    return inside, inside @ pascal(dimension + 1, dimension + 1).T


@lru_cache(maxsize=32)
def _shares(dimension: int, l0: int, offset: int) -> Exact:
    found = np.zeros((dimension + 2, dimension + 1), dtype=object)
    for i in range(dimension + 1):
        for m, row in enumerate(_splits(dimension, l0, offset, i)):
            found[m + 1 : m + 1 + len(row), i] += np.array(row, dtype=object)
        found[:, i] *= math.comb(dimension, i)
    return found


@lru_cache(maxsize=256)
def _splits(dimension: int, l0: int, offset: int, i: int) -> list[list[int]]:
    """Coefficients of C(s, m) C(u - s, n) of the number of points of (c + s, c + u - s) with i given positive ones."""
    inside, with_zeros = _from_offset(dimension, l0, offset)
    rest = with_zeros[: dimension - i + 1, dimension - i].tolist()
    return [[a * b for b in rest] for a in inside[: i + 1, i].tolist()]


@lru_cache(maxsize=32)
def _one_sided_total(dimension: int, l0: int, offset: int) -> Exact:
    found: Exact = _shares(dimension, l0, offset).sum(axis=1)
    return found


@lru_cache(maxsize=4096)
def _level_counts(dimension: int, l0: int, level: int) -> list[int]:
    """|B(j, R)| for j = 0, ..., dimension."""
    found: list[int] = evaluated(hull_counts(dimension, l0).points, level).tolist()
    return found


def _signed(dimension: int) -> Exact:
    """C(d, j) 2^j for every j."""
    return np.array([math.comb(dimension, j) * 2**j for j in range(dimension + 1)], dtype=object)


def _log_levels(table: Array, logs: Array) -> Array:
    """log of the sum over levels of q^R times a polynomial, for every j."""
    return np.asarray(np.logaddexp.reduce(table + logs[:, None], axis=0))


def _log_sum(terms: Array) -> float:
    return float(np.logaddexp.reduce(terms.ravel()))


def _log_multinomial(n: int, most: int | None = None) -> Array:
    """log n!/(i! j! (n - i - j)!) for i, j = 0, ..., n (or j <= most); -inf where i + j > n."""
    i = np.arange(n + 1.0)[:, None]
    j = np.arange((n if most is None else most) + 1.0)
    rest = np.maximum(n - i - j, 0.0)
    found = special.gammaln(n + 1.0) - special.gammaln(i + 1.0) - special.gammaln(j + 1.0) - special.gammaln(rest + 1.0)
    return np.asarray(np.where(i + j <= n, found, -np.inf))
