"""Sums over v = 0, 1, 2, ... of e^(-t v) (a + b v)^n p(v): normalisers and tails of joint laws on a lattice.

With the power sums M_j = sum over v of v^j q^v, q = e^(-t), the binomial theorem gives

    S(a; p) = sum over j of C(n, j) a^(n-j) b^j (p_0 M_j + p_1 M_(j+1) + p_2 M_(j+2) + ...),
    M_0 = 1/(1 - q),   M_j = q/(1 - q) sum over i < j of C(j, i) M_i.

Every term is positive, so floats lose nothing to cancellation; they work with logarithms, because a^n overflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.numerics.ball import Ball, flint_module
from hush.numerics.logspace import logsumexp

__all__ = ["PowerSums", "ProductSums"]

Array = NDArray[np.float64]
_LARGEST = 690.0  # logarithms of numbers that floats hold


class PowerSums:
    """The sums of one rate t, exponent n and slope b, in floats (logarithms, for arrays of a) and in balls."""

    def __init__(self, rate: Fraction, exponent: int, slope: int = 1) -> None:
        self.rate, self.exponent, self.slope = rate, exponent, slope
        j = np.arange(exponent + 1, dtype=np.float64)
        self._log_binomials = (
            special.gammaln(exponent + 1.0) - special.gammaln(j + 1.0) - special.gammaln(exponent - j + 1.0)
        )
        self._log_binomials = self._log_binomials + j * math.log(slope)

    def log(self, a: Array, weights: Sequence[int]) -> Array:
        """log S(a; p) for the polynomial p with these coefficients, lowest first; a > 0."""
        moments = _log_moments(float(self.rate), self.exponent + len(weights))
        j = np.arange(self.exponent + 1)
        terms = [math.log(c) + moments[j + i] for i, c in enumerate(weights) if c]
        fixed = self._log_binomials + logsumexp(terms, axis=0)
        powers = (self.exponent - j) * np.log(np.asarray(a, dtype=np.float64))[..., None]
        return np.asarray(logsumexp(fixed + powers, axis=-1))

    def ball(self, a: int, weights: Sequence[int]) -> Ball:
        """S(a; p) at the ambient precision."""
        flint = flint_module()
        moments = _ball_moments(self.rate, self.exponent + len(weights), flint.ctx.prec)
        total = flint.arb(0)
        for j in range(self.exponent, -1, -1):  # Horner's rule, downwards in the power of b
            inner = sum((c * moments[j + i] for i, c in enumerate(weights) if c), flint.arb(0))
            total += math.comb(self.exponent, j) * flint.arb(a) ** (self.exponent - j) * self.slope**j * inner
        return total


class ProductSums:
    """Sums over v = 0, 1, 2, ... of e^(-t v) times the product of (a_j + b_j v), for whole numbers a_j, b_j > 0.

    The product is a polynomial in v with positive coefficients, which are multiplied out one factor at a time.
    """

    def __init__(self, rate: Fraction, slopes: Sequence[int]) -> None:
        self.rate, self.slopes = rate, tuple(slopes)

    def log(self, starts: Sequence[Array]) -> Array:
        """log of the sum, in floats; `starts` has one array of a_j for each slope.

        With y = t v the factors are b_j/t times (a_j t/b_j + y). The coefficients in y stay within the range of floats
        for up to about a hundred factors; beyond, logarithms of them are added.
        """
        rate, count = float(self.rate), len(self.slopes)
        shape = np.broadcast_shapes(*(np.shape(start) for start in starts))
        starts = [np.broadcast_to(np.asarray(start, dtype=np.float64), shape) for start in starts]
        ends = [start * rate / slope for start, slope in zip(starts, self.slopes, strict=True)]
        moments = _log_moments(rate, count + 1) + np.arange(count + 1) * math.log(rate)
        size = sum(math.log1p(float(end.max(initial=0.0))) for end in ends) + float(moments.max())
        outside = sum(math.log(slope / rate) for slope in self.slopes)
        if size < _LARGEST:
            found = np.zeros((*shape, count + 1))
            found[..., 0] = 1.0
            for end in ends:
                raised = found[..., :-1].copy()
                found *= end[..., None]
                found[..., 1:] += raised
            return np.asarray(np.log(found @ np.exp(moments)) + outside)
        logs = np.full((*shape, count + 1), -np.inf)
        logs[..., 0] = 0.0
        for end in ends:
            raised = np.concatenate([np.full((*shape, 1), -np.inf), logs[..., :-1]], axis=-1)
            logs = np.logaddexp(logs + np.log(end)[..., None], raised)
        return np.asarray(logsumexp(logs + moments, axis=-1) + outside)

    def ball(self, starts: Sequence[int]) -> Ball:
        """The sum at the ambient precision, with exact coefficients."""
        flint = flint_module()
        found = [1]
        for start, slope in zip(starts, self.slopes, strict=True):
            found = [start * low + slope * high for low, high in zip([*found, 0], [0, *found], strict=True)]
        moments = _ball_moments(self.rate, len(found), flint.ctx.prec)
        return sum((c * moment for c, moment in zip(found, moments, strict=True)), flint.arb(0))


@lru_cache(maxsize=64)
def _log_moments(rate: float, count: int) -> Array:
    """log M_j for j = 0, ..., count - 1."""
    found = np.empty(count)
    found[0] = -math.log(-math.expm1(-rate))
    for j in range(1, count):
        i = np.arange(j, dtype=np.float64)
        binomials = special.gammaln(j + 1.0) - special.gammaln(i + 1.0) - special.gammaln(j - i + 1.0)
        found[j] = -rate + found[0] + logsumexp(binomials + found[:j])
    return found


@lru_cache(maxsize=64)
def _ball_moments(rate: Fraction, count: int, bits: int) -> tuple[Ball, ...]:
    """M_j for j = 0, ..., count - 1, computed at the ambient precision, which is `bits`."""
    arb = flint_module().arb
    q = (-arb(rate.numerator) / arb(rate.denominator)).exp()
    found = [1 / (1 - q)]
    for j in range(1, count):
        found.append(q / (1 - q) * sum((math.comb(j, i) * found[i] for i in range(j)), arb(0)))
    return tuple(found)
