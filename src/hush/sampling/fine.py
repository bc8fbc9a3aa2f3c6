"""Narrow panels with parabolas, for the draws of fine lattices that most words decide.

Each panel of polynomial.py is cut into eight, and on each part its polynomial of degree 5 is replaced by a parabola in
V. The parabola needs half the memory accesses, and its argument is V itself, not the place in the panel.

Error bound, in steps: that of the polynomial, plus the difference from the parabola, plus round-off. The difference is
a polynomial of degree 5 whose Chebyshev coefficients are known, and the sum of their magnitudes bounds it. The parabola
a + b V + c V^2 is computed from the one in t = (V - low)/width, p + q t + r t^2, where low/width is a whole number n
below 2^11. The terms of both add up to at most |p| + 2 (n + 2) |q| + 4 (n + 2)^2 |r| in magnitude, and there are fewer
than 64 roundings, so round-off is at most this times 2^-47. A panel is used if the whole bound is at most 1/500 of a
step; one bound, the largest, then holds for all of them.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["PARTS", "FineTable", "fine_table", "parabolas", "parts_of"]

Array = NDArray[np.float64]

PARTS = 8  # of each panel
_ROUND_OFF = 2.0**-47  # relative to the magnitude of the terms
_MOST = 0.002  # steps; panels with a larger error bound are not used
_LEAST_SHARE = 0.9  # of V; the table is not used if its panels cover less


class FineTable:
    """The parabolas of one sampler, by rows: NaN where there is none, and in the first and the last row."""

    def __init__(self, columns: list[Array], error: float) -> None:
        self.columns, self.error = columns, error


@cache
def _matrices(degree: int) -> tuple[Array, Array]:
    """Return the matrix from powers of t in [0, 1] to the nearest parabola, and to Chebyshev coefficients."""
    chebyshev = np.zeros((degree + 1, degree + 1))
    for k in range(degree + 1):  # t = (1 + u)/2
        power = np.polynomial.Polynomial([0.5, 0.5]) ** k
        chebyshev[: k + 1, k] = np.polynomial.chebyshev.poly2cheb(power.coef)
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(3) + 0.5) / 3)
    parabola = np.linalg.inv(np.vander(nodes, 3, increasing=True)) @ np.vander(nodes, degree + 1, increasing=True)
    return parabola, chebyshev


def parts_of(coefficients: Array) -> Array:
    """Return the polynomials of the eight parts of each panel, each by powers of the place in its part."""
    degree = coefficients.shape[1] - 1
    shifts = np.zeros((PARTS, degree + 1, degree + 1))  # t = (s + u)/8 for part s
    for s in range(PARTS):
        for k in range(degree + 1):
            for j in range(k + 1):
                shifts[s, j, k] = math.comb(k, j) * float(s) ** (k - j) / PARTS**k
    return np.einsum("sjk,nk->nsj", shifts, coefficients).reshape(-1, degree + 1)


def parabolas(polynomials: Array, low: Array, width: Array) -> tuple[Array, Array]:
    """Return the parabolas, by powers of the argument, that replace polynomials in (argument - low)/width on panels.

    The second array bounds their difference from the polynomials, and their round-off.
    """
    to_parabola, to_chebyshev = _matrices(polynomials.shape[1] - 1)
    parabola = polynomials @ to_parabola.T
    rest = polynomials.copy()
    rest[:, :3] -= parabola
    n, unit = np.rint(low / width), 1.0 / width
    p, q, r = parabola.T
    terms = np.abs(p) + 2.0 * (n + 2.0) * np.abs(q) + 4.0 * (n + 2.0) ** 2 * np.abs(r)
    apart = np.abs(rest @ to_chebyshev.T).sum(axis=1) + _ROUND_OFF * terms
    return np.stack([p - n * q + n * n * r, (q - 2.0 * n * r) * unit, r * unit * unit], axis=1), apart


def fine_table(polynomials: Array, low: Array, width: Array, bound: Array) -> FineTable | None:
    """Return the table for panels with these polynomials (NaN for none), places of V, and error bounds in steps.

    None if parabolas are not good enough. V is counted in units of 2^-63.
    """
    table, apart = parabolas(polynomials, low * 2.0**63, width * 2.0**63)
    error = bound + apart
    usable = error <= _MOST  # False where the polynomial is NaN
    if float(width[usable].sum()) < _LEAST_SHARE:
        return None
    padded = np.full((low.size + 2, 3), np.nan)
    padded[1:-1][usable] = table[usable]
    return FineTable([np.ascontiguousarray(column) for column in padded.T], float(error[usable].max()))
