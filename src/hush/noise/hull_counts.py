"""Numbers of lattice points of the hull, in whole numbers: the tables from which hull noise is computed and drawn.

For j coordinates and a level R let B(j, R) be the vectors z of {1, ..., R}^j whose sum is at most l0 R. Write |B| for
its number of points. By inclusion and exclusion over the coordinates that exceed R,

    |B(j, R)| = sum over i < l0 of (-1)^i C(j, i) C((l0 - i) R, j):

the terms with i >= l0 are 0 for j > 0, because C(n, j) = 0 for 0 <= n < j. In general let T_e be the sum over B of
C(l0 R - s + e, e), where s is the sum of the vector. It counts ways to add e more numbers, and
T_e = sum over i < l0 of (-1)^i C(j, i) C((l0 - i) R + e, j + e). With U_e, the same sum for a vector whose first number
alone exceeds R,

    sum of s     = (l0 R + 1) T_0 - T_1
    sum of s^2   = (l0 R + 1)^2 T_0 - (2 l0 R + 3) T_1 + 2 T_2
    sum of z_1^2 = 2 (T_2 - C(R + 1, 2) U_0 - R U_1) - (sum of z_1),
    U_e          = sum over i < l0 - 1 of (-1)^i C(j - 1, i) C((l0 - 1 - i) R + e, j + e).

(The last line but one uses z^2 = 2 C(z + 1, 2) - z, and that C(z + 1, 2) = C(R + 1, 2) + R (z - R) + C(z - R + 1, 2).)

All of these are polynomials in R of degree at most j + 2. They are stored by their differences at 0, that is, as
coefficients of C(R, m). These are numbers of words (docs/maths/hull.md has the proof), so none of them is negative.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified

__all__ = ["Exact", "HullCounts", "evaluated", "hull_counts", "log_of", "pascal", "shifted"]

#: Arrays of Python's whole numbers, which have no largest value.
Exact = NDArray[Any]
Array = NDArray[np.float64]


@lru_cache(maxsize=16)
def pascal(rows: int, columns: int) -> Exact:
    """C(n, k) for n < rows and k < columns."""
    table = np.zeros((rows, columns), dtype=object)
    table[:, 0] = 1
    for n in range(1, rows):
        table[n, 1:] = table[n - 1, 1:] + table[n - 1, :-1]
    return table


def _differences(values: Exact) -> Exact:
    """Coefficients of C(R, m), m = 0, 1, ..., of the polynomials with these values at R = 0, 1, ... (first axis).

    Column j has degree j + 2 at most, so its coefficients are 0 from m = j + 3 on.
    """
    found = np.zeros_like(values)
    found[0] = values[0]
    for m in range(1, len(found)):
        values = (values[1:] - values[:-1])[:, min(1, max(0, m - 2)) :]
        found[m, max(0, m - 2) :] = values[0]
    return found


def shifted(coefficients: Exact, c: int) -> Exact:
    """Coefficients of C(u, m) of the polynomial R = c + u -> sum of coefficients[m] C(R, m); the first axis is m."""
    out = coefficients.copy()
    for i in range(1, len(out)):
        out[: len(out) - i] += math.comb(c, i) * coefficients[i:]
    return out


def evaluated(coefficients: Exact, r: int) -> Any:
    """The polynomials at R = r: the sum of coefficients[m] C(r, m) over the first axis."""
    binomials = np.array([math.comb(r, m) for m in range(len(coefficients))], dtype=object)
    return binomials @ coefficients


class HullCounts:
    """The polynomials of one dimension and l0. Each table has the power m first and the number j of coordinates last.

    points   the number of points of B(j, R)
    first    the sum of z_1 over them
    square   the sum of z_1^2
    product  the sum of z_1 z_2
    """

    def __init__(self, dimension: int, l0: int) -> None:
        self.dimension, self.l0 = dimension, l0
        level, j = (np.arange(size).astype(object) for size in (dimension + 3, dimension + 1))
        level = level[:, None]
        top = l0 * level
        t0, t1, t2 = (self._alternating(e, 0) for e in range(3))
        u0, u1 = (self._alternating(e, 1) for e in range(2))
        total = (top + 1) * t0 - t1
        squares = (top + 1) ** 2 * t0 - (2 * top + 3) * t1 + 2 * t2
        first = total // np.maximum(j, 1)
        first[:, 0] = 0
        square = 2 * (t2 - level * (level + 1) // 2 * u0 - level * u1) - first
        square[:, 0] = 0
        product = (squares - j * square) // np.maximum(j * (j - 1), 1)
        product[:, :2] = 0
        self.points, self.first, self.square, self.product = map(_differences, (t0, first, square, product))
        if any((table < 0).any() for table in (self.points, self.first, self.square, self.product)):
            raise NotCertified(
                "a coefficient of hull noise is negative, but its proof excludes that; nothing was made."
            )

    def _alternating(self, e: int, over: int) -> Exact:
        """T_e (over = 0), or U_e, where `over` = 1 coordinate exceeds the level; for all levels and all j."""
        last = self.dimension
        table = pascal(self.l0 * (last + 2) + 3, last + 3)
        found = np.zeros((last + 3, last + 1), dtype=object)
        for i in range(min(self.l0, last + 1) - over):
            ways = (-1) ** i * table[i : last + 1 - over, i]  # C(j - over, i) for j = i + over, ..., last
            rows = (self.l0 - over - i) * np.arange(last + 3) + e
            found[:, i + over :] += ways * table[rows, i + over + e : last + 1 + e]
        return found

    @cached_property
    def logs(self) -> tuple[Array, Array, Array, Array]:
        """Logarithms of the coefficients of the four tables, which are all 0 or greater."""
        return log_of(self.points), log_of(self.first), log_of(self.square), log_of(self.product)


def log_of(whole: Exact) -> Array:
    """Logarithms of whole numbers >= 0 of any size."""
    flat = [math.log(value) if value > 0 else -math.inf for value in whole.ravel()]
    return np.array(flat, dtype=np.float64).reshape(whole.shape)


@lru_cache(maxsize=32)
def hull_counts(dimension: int, l0: int) -> HullCounts:
    """The tables, built once."""
    return HullCounts(dimension, l0)
