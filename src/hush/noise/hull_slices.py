"""One number of hull noise: the sums over the points of the hull whose first number is fixed.

Let the first number be k >= 0 and the level be k + v. The other numbers of the same sign then lie in {1, ..., k + v},
and their sum is at most l0 (k + v) - k. The number of such vectors with i entries is, by inclusion and exclusion,

    sum over f < l0 of (-1)^f C(i, f) C((l0 - f) (k + v) - k, i),

a polynomial in k and v. A weighted sum over i, with weights w_i >= 0 that do not depend on k and v, is stored by its
differences at 0: as coefficients G[m, n] of C(k, m) C(v, n), m + n < dimension. They are computed in ball arithmetic,
with enough bits that the differences leave the required precision. Each is a sum of weights times numbers of words
(docs/maths/hull.md has the proof), so none of them is negative, and the sums of the floats do not cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.binomial_sums import ball_sums, log_sums
from hush.noise.hull_counts import pascal
from hush.numerics.ball import Ball, flint_module, precision

__all__ = ["LogSlices", "ball_at_least", "slices"]

Array = NDArray[np.float64]
#: Returns the weights w_i at the ambient precision.
Weights = Callable[[], list[Ball]]


def slices(l0: int, weights: Weights) -> NDArray[Any]:
    """The coefficients G[m, n] as balls that are accurate to the ambient precision."""
    flint = flint_module()
    bits: int = flint.ctx.prec
    near = weights()
    last, least = len(near) - 1, min(near, key=float_log)
    largest = sum((w * math.comb(l0 * last, i) for i, w in enumerate(near)), flint.arb(0))
    spare = max(0.0, float_log(largest / least) / math.log(2.0))  # bits that the differences may lose
    with precision(bits + int(spare) + 2 * last + 64):
        values = _values(l0, weights())
        for axis in (1, 0):
            values = _differences(values, axis)
    # a coefficient is a sum of weights times whole numbers >= 0; it is 0, or at least the smallest weight
    if not all(value > 0 or abs(value) < least / 2 for value in values.ravel()):
        raise NotCertified("a coefficient of hull noise is negative, but its proof excludes that; nothing was made.")
    return values


def _values(l0: int, weights: list[Ball]) -> NDArray[Any]:
    """The sums for all k + v < len(weights), in an array [k, v]; other entries are 0."""
    flint, size = flint_module(), len(weights)
    terms = min(l0, size)  # C(i, f) = 0 for f >= size
    factors = [[(-1) ** f * math.comb(i, f) * weights[i] for f in range(terms)] for i in range(size)]
    sums = (flint.arb_mat(_binomials(l0 * (size - 1) + 1, size)) * flint.arb_mat(factors)).table()
    found = np.full((size, size), flint.arb(0), dtype=object)
    for level in range(size):
        for k in range(level + 1):
            parts = (sums[(l0 - f) * level - k][f] for f in range(terms))
            found[k, level - k] = sum(parts, flint.arb(0))
    return found


@lru_cache(maxsize=8)
def _binomials(rows: int, columns: int) -> Any:
    """C(n, i) for n < rows and i < columns, as a matrix of python-flint."""
    return flint_module().fmpz_mat(rows, columns, pascal(rows, columns).ravel().tolist())


def _differences(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """Differences at 0 along one axis, of values that are known for k + v < size."""
    rows = values if axis == 0 else values.T
    size = len(rows)
    found = rows.copy()
    for m in range(1, size):
        for i in range(size - 1, m - 1, -1):
            found[i, : size - i] = found[i, : size - i] - found[i - 1, : size - i]
    return found if axis == 0 else found.T


class LogSlices:
    """The law of one number in floats: log of the weight of k, from the coefficients."""

    def __init__(self, rate: Fraction, offset: int, coefficients: NDArray[Any]) -> None:
        self.rate, self.offset = rate, offset
        self._logs = np.array([[float_log(value) for value in row] for row in coefficients])

    def log_weight(self, k: Array) -> Array:
        """log of the sum over the levels a >= max(k, offset) of q^a times the number of points, for k >= 0."""
        k, size = np.asarray(k, dtype=np.float64), len(self._logs)
        binomials = np.zeros((*k.shape, size))
        with np.errstate(divide="ignore"):
            for m in range(1, size):
                binomials[..., m] = binomials[..., m - 1] + np.log(np.maximum(k - m + 1.0, 0.0)) - math.log(m)
        sums = log_sums(self.rate, np.maximum(self.offset - k, 0.0), size)
        for n in range(size):
            inner = binomials[..., : size - n] + self._logs[: size - n, n]
            sums[..., n] += _log_sum(inner)
        return _log_sum(sums) - float(self.rate) * k


def float_log(value: Ball) -> float:
    """The logarithm as a float; of a ball that holds 0, -inf."""
    return float(value.log()) if value > 0 else -math.inf


def _log_sum(terms: Array) -> Array:
    """log of the sum of exp(terms) along the last axis; at least one of them is finite, or all are -inf."""
    most = terms.max(axis=-1)
    safe = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(under="ignore", divide="ignore"):
        return np.log(np.exp(terms - safe[..., None]).sum(axis=-1)) + safe


def ball_at_least(rate: Fraction, offset: int, coefficients: NDArray[Any], k: int) -> Ball:
    """The sum of the weights of k, k + 1, ... in ball arithmetic."""
    flint, size = flint_module(), len(coefficients)
    total = flint.arb(0)
    for number in range(k, offset):  # the levels a >= offset, one number at a time
        binomials = [math.comb(number, m) for m in range(size)]
        sums = ball_sums(rate, offset - number, size)
        inner = sum((_dot(binomials, coefficients[:, n]) * sums[n] for n in range(size)), flint.arb(0))
        total += inner * (-number * flint.arb(rate.numerator) / flint.arb(rate.denominator)).exp()
    beyond, sums = ball_sums(rate, max(k, offset), size), ball_sums(rate, 0, size)
    return total + sum((_dot(beyond, coefficients[:, n]) * sums[n] for n in range(size)), flint.arb(0))


def _dot(left: Any, right: Any) -> Ball:
    return sum((a * b for a, b in zip(left, right, strict=True)), flint_module().arb(0))
