"""Sums over v = r, r + 1, ... of q^v C(v, m): tails of laws on a lattice whose weights are q^v times a polynomial.

S_m(r) = sum over v >= r of q^v C(v, m) follows from C(v + 1, m) = C(v, m) + C(v, m - 1): the sum of q^v C(v + 1, m) is
S_m + S_(m-1), and it is also (S_m - q^r C(r, m))/q. So

    S_0(r) = q^r/(1 - q),      S_m(r) = (q^r C(r, m) + q S_(m-1)(r)) / (1 - q).

Every term is positive, so floats lose nothing to cancellation; they work with logarithms, because S_m overflows.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.numerics.ball import Ball, flint_module

__all__ = ["ball_sums", "log_sums"]

Array = NDArray[np.float64]


def log_sums(rate: Fraction, start: Array, count: int) -> Array:
    """log S_m(r) for m = 0, ..., count - 1 along a new last axis, for whole numbers r >= 0; q = e^(-rate)."""
    t, r = float(rate), np.asarray(start, dtype=np.float64)
    log_rest = math.log(-math.expm1(-t))  # log(1 - q)
    found = np.empty((*r.shape, count))
    first = -t * r  # log of q^r C(r, m)
    found[..., 0] = first - log_rest
    with np.errstate(divide="ignore"):
        for m in range(1, count):
            first = first + np.log(np.maximum(r - m + 1.0, 0.0)) - math.log(m)
            found[..., m] = np.logaddexp(first, found[..., m - 1] - t) - log_rest
    return found


def ball_sums(rate: Fraction, start: int, count: int) -> list[Ball]:
    """S_m(r) for m = 0, ..., count - 1 at the ambient precision."""
    arb = flint_module().arb
    t = arb(rate.numerator) / arb(rate.denominator)
    q = (-t).exp()
    power, binomial = (-start * t).exp(), 1
    found = [power / (1 - q)]
    for m in range(1, count):
        binomial = binomial * (start - m + 1) // m
        found.append((power * binomial + q * found[-1]) / (1 - q))
    return found
