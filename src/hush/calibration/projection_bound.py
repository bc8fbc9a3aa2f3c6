"""Lower bounds for a vector at every delta: weighted sums of the numbers are noise for one number.

Let X be additive noise for d numbers, private for every allowed move s. For weights w, the sum w.X is private noise for
one number whose moves are w.s. If the largest w.s is h, then E (w.X)^2 >= h^2 V, where V is the least E X^2 for one
number of sensitivity 1 (`one_number.least`). If w is random with E w w' = I, the mean of E (w.X)^2 is the sum of all
E X_j^2. So the average E X_j^2 is at least E h^2/d times V, for every law of w; each function here is one such law.

**Both directions.** k of the numbers, chosen at random, get random signs, and the others get weight 0, all times
sqrt(d/k). If k numbers can move by r at the same time, h = r k sqrt(d/k), so E h^2/d = k r^2.

**One direction.** j numbers, chosen at random, get the weight p > 0, and the others -q. Let A be the squared sum of the
weights divided by d, and B the sum of their squares minus A. If the j numbers move by r_j, then
h = j p r_j = r_j (j sqrt(A) + sqrt(B j (d - j)))/sqrt(d). A mixture of two such laws has E w w' = I if the A add up to
1 and the B to d - 1. Every such split gives a bound, so rounding the best split is safe.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.calibration.one_number import least, least_on_lattice
from hush.numerics.arrays import distinct
from hush.numerics.rounding import CLOSED_FORM, down
from hush.numerics.search import golden_minimum
from hush.privacy.sensitivity import Sensitivity

__all__ = ["by_projection", "by_projection_on_lattice", "reach"]

Array = NDArray[np.float64]
_TINY = 1e-100  # instead of 0 in a denominator
_MOST_GROUPS = 4096  # sizes of groups that are compared; every selection of them gives a bound


def reach(bound: Sensitivity, count: int) -> float:
    """The largest move that `count` numbers can all make at once; the least of them if linf is a list."""
    listed = bound.linf if isinstance(bound.linf, tuple) else (math.inf if bound.linf is None else bound.linf,)
    return min(min(listed), _cap(bound, count))


def _cap(bound: Sensitivity, count: int) -> float:
    """How far l1 and l2 allow `count` numbers to move together."""
    sums = math.inf if bound.l1 is None else bound.l1 / count
    return min(sums, math.inf if bound.l2 is None else bound.l2 / math.sqrt(count))


def by_projection(epsilon: float, delta: float, bound: Sensitivity, loss: str) -> float:
    """A lower bound on the average loss of one number, for every additive noise on the real numbers."""
    one, most = least(epsilon, delta, loss), bound.moving or 1
    if loss == "mae":  # |w.X| has no mean that splits into those of the numbers, so each number stands alone
        listed = bound.linf if isinstance(bound.linf, tuple) else (reach(bound, 1),)
        return down(one * math.fsum(min(c, _cap(bound, 1)) for c in listed) / len(listed), CLOSED_FORM)
    if isinstance(bound.linf, tuple):
        factor = _unequal(bound, bound.linf, most)
    elif bound.one_sided and most > 1:
        factor = _one_direction(bound, bound.dimension or most, most)
    else:
        factor = max(k * reach(bound, k) ** 2 for k in _group_sizes(bound, most))
    return down(one * factor, CLOSED_FORM)


def by_projection_on_lattice(epsilon: float, delta: float, bound: Sensitivity, loss: str, step: float) -> float:
    """The same for noise on the multiples of `step`, if every bound is a whole number of steps.

    Each number stands alone. If the numbers move in both directions by one bound, the signed sum of k of them is noise
    on the same lattice too, and it moves by every whole number of steps up to k times the bound.
    """
    listed = bound.linf if isinstance(bound.linf, tuple) else (reach(bound, 1),)

    def least_for(move: float, k: int) -> float:
        cells = int(Fraction(move) / Fraction(step)) * k
        return least_on_lattice(epsilon, delta, cells, loss) * (k * move**2 if loss == "variance" else move)

    found = math.fsum(least_for(move, 1) for move in listed) / len(listed)
    if loss == "variance" and not bound.one_sided and len(listed) == 1:
        found = max(found, least_for(listed[0], bound.moving or 1))
    return down(found, CLOSED_FORM)


def _group_sizes(bound: Sensitivity, most: int) -> set[int]:
    """The numbers k for which k reach(k)^2, the least of k linf^2, l1^2/k and l2^2, can be largest."""
    turn = bound.l1 / bound.linf if bound.l1 is not None and isinstance(bound.linf, float) else 1.0
    return {1, most, *(min(max(k, 1), most) for k in (math.floor(turn), math.ceil(turn)))}


def _one_direction(bound: Sensitivity, count: int, most: int) -> float:
    """The best mixture of two group sizes, for moves of one sign; each group moves as far as the facts allow."""
    sizes = distinct(np.linspace(1.0, most, min(most, _MOST_GROUPS)).round())
    moves = np.array([reach(bound, int(j)) for j in sizes])
    own, rest = moves**2 * sizes**2 / count, moves**2 * sizes * (count - sizes) / count

    def values(log_t: float) -> Array:
        """For each size, the cost that it forces if the squared width along the sum is t times that across it."""
        t = math.exp(log_t)
        return (1.0 + (count - 1.0) / t) * (own + rest * t)

    reach_of_t = math.log(count) + 5.0
    best = golden_minimum(lambda x: float(values(x).max()), -reach_of_t, reach_of_t, width=1e-9)
    near = [int(np.argmax(values(best + side))) for side in (1e-7, -1e-7)]
    ratios = sizes[near] / np.maximum(count - sizes[near], _TINY)
    return max(_split(own[near], rest[near], ratios, count, math.exp(best))) / count


def _split(own: Array, rest: Array, ratios: Array, count: int, t: float) -> list[float]:
    """The values of some splits of A = 1 and B = count - 1 between two sizes: all to one of them, and the balanced
    one.
    """

    def value(i: int, a: float, b: float) -> float:
        return float(own[i] * a + rest[i] * b + 2.0 * math.sqrt(own[i] * a) * math.sqrt(rest[i] * b))

    whole, across = 1.0, count - 1.0
    found = [value(0, whole, across), value(1, whole, across)]
    first, second = (float(r) / t**2 for r in ratios)  # A/B of each size at the optimum
    if first != second:
        b = min(max((second * across - whole) / (second - first), 0.0), across)
        a = min(first * b, whole)
        found.append(value(0, a, b) + value(1, whole - a, across - b))
    return found


def _unequal(bound: Sensitivity, listed: tuple[float, ...], most: int) -> float:
    """Bounds that differ between the numbers: each alone, or k = `most` of them with their own bounds.

    For k of d numbers with random signs the mean of h^2 is that of the squared sum of k bounds. For moves of one sign,
    random signs on all numbers give h = (C + |D|)/2 with C the sum of the bounds and D their signed sum; E D^2 is the
    sum Q of their squares and E D^4 <= 3 Q^2, so E |D| >= sqrt(Q/3) by Hoelder's inequality.
    """
    count = len(listed)
    single = math.fsum(min(c, _cap(bound, 1)) ** 2 for c in listed)
    together = [min(c, _cap(bound, most)) for c in listed]
    total, squares = math.fsum(together), math.fsum(c * c for c in together)
    if not bound.one_sided:
        pairs = (most - 1.0) / max(count - 1.0, 1.0) * max(total**2 - squares, 0.0)
        return max(single, squares + pairs) / count
    found = max(single / count, _one_direction(bound, count, most))
    if most < count:
        return found
    return max(found, 0.25 * (total**2 + 2.0 * total * math.sqrt(squares / 3.0) + squares) / count)
