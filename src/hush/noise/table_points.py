"""Whole-number points of a table with a given sum and a bounded l1 norm: their numbers, moments and uniform draws.

A point x of Z^c with sum t >= 0 has a positive part with the sum p = m + t and a negative part with the sum m, so its
l1 norm is 2 m + t. With k positive entries there are C(c, k) places for them, C(p - 1, k - 1) ways to split p into k
positive numbers, and C(m + c - k - 1, c - k - 1) ways to split m into c - k numbers from 0 on. A point with a negative
sum is the mirror image of one with a positive sum.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["counts_by_positive", "drawn_point", "float_sums", "points_up_to", "position"]

Array = NDArray[np.float64]
_DEPTH = 200  # calls within each other
#: Returns a uniform whole number below n.
Below = Callable[[int], int]


@lru_cache(maxsize=1 << 16)
def counts_by_positive(cells: int, total: int, negative: int) -> tuple[int, ...]:
    """The number of points with sum `total` >= 0 and negative part `negative`, for each number of positive entries."""
    positive = total + negative
    found = []
    for k in range(cells + 1):
        ups = (1 if positive == 0 else 0) if k == 0 else math.comb(positive - 1, k - 1) if positive >= k else 0
        rest = cells - k
        downs = (1 if negative == 0 else 0) if rest == 0 else math.comb(negative + rest - 1, rest - 1)
        found.append(math.comb(cells, k) * ups * downs)
    return tuple(found)


def points_up_to(cells: int, total: int, norm: int) -> int:
    """The number of points with sum `total` >= 0 and an l1 norm of at most `norm`."""
    most = (norm - total) // 2
    for negative in range(_DEPTH, most, _DEPTH):  # smaller sums first, so that no call is deep
        _points(cells, total, negative)
    return _points(cells, total, most) if most >= 0 else 0


@lru_cache(maxsize=1 << 20)
def _points(cells: int, total: int, negative: int) -> int:
    """The number of points whose negative part is at most `negative`."""
    own = sum(counts_by_positive(cells, total, negative))
    return own + (_points(cells, total, negative - 1) if negative else 0)


def float_sums(cells: int, furthest: int) -> tuple[Array, Array]:
    """Two tables with a row for each sum t = 0, ..., furthest and a column for each m = 0, ..., furthest // 2.

    They hold the number of points whose negative part is at most m, and the sum of |x|_2^2 over them.
    """
    t, m = np.arange(furthest + 1.0)[:, None], np.arange(furthest // 2 + 1.0)[None, :]
    p, number, squares = t + m, np.zeros((furthest + 1, furthest // 2 + 1)), np.zeros((furthest + 1, furthest // 2 + 1))
    for k in range(cells + 1):
        rest = cells - k
        ups = (p == 0.0) * 1.0 if k == 0 else (p >= k) * _binomial(p - 1.0, k - 1)
        downs = (m == 0.0) * 1.0 if rest == 0 else _binomial(m + rest - 1.0, rest - 1)
        count = math.comb(cells, k) * ups * downs
        spare = np.maximum(p - k, 0.0)
        above = 0.0 if k == 0 else k * (_second_moment(spare, k) + 2.0 * spare / k + 1.0)
        below = 0.0 if rest == 0 else rest * _second_moment(m, rest)
        number, squares = number + count, squares + count * (above + below)
    return np.cumsum(number, axis=1), np.cumsum(squares, axis=1)


def _binomial(n: Array, k: int) -> Array:
    """n over k for whole n, 0 where n < k."""
    found = np.ones_like(n)
    for i in range(k):
        found = found * np.maximum(n - i, 0.0) / (i + 1.0)
    return found


def _second_moment(n: Array, parts: int) -> Array:
    """E y^2 of one of `parts` numbers from 0 on that have the sum n, all splits being equally likely."""
    return 2.0 * n * (n - 1.0) / (parts * (parts + 1.0)) + n / parts


def drawn_point(cells: int, total: int, norm: int, below: Below) -> list[int]:
    """A uniform point with this sum (of either sign) and an l1 norm of at most `norm`."""
    size = abs(total)
    weights = [counts_by_positive(cells, size, m) for m in range((norm - size) // 2 + 1)]
    pick = below(sum(sum(row) for row in weights))
    sums = [sum(row) for row in weights]
    negative = position(sums, pick)
    k = position(weights[negative], pick - sum(sums[:negative]))
    places = _chosen(cells, k, below)
    ups = _split(size + negative - k, k, below)
    downs = _split(negative, cells - k, below)
    point, sign = [0] * cells, 1 if total >= 0 else -1
    for place in range(cells):
        point[place] = sign * (ups.pop() + 1 if place in places else -downs.pop())
    return point


def position(weights: Sequence[int], pick: int) -> int:
    """The place of the weight that contains `pick`, if all weights follow each other from 0 on."""
    return bisect_right(list(accumulate(weights)), pick)


def _chosen(n: int, k: int, below: Below) -> set[int]:
    """A uniform set of k of the numbers 0, ..., n - 1 (Floyd's method)."""
    found: set[int] = set()
    for last in range(n - k, n):
        pick = below(last + 1)
        found.add(last if pick in found else pick)
    return found


def _split(total: int, parts: int, below: Below) -> list[int]:
    """A uniform split of a number into `parts` numbers from 0 on: bars between stars."""
    if parts == 0:
        return []
    bars = sorted(_chosen(total + parts - 1, parts - 1, below))
    edges = [-1, *bars, total + parts - 1]
    return [right - left - 1 for left, right in pairwise(edges)]
