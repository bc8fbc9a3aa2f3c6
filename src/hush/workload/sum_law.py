"""`SumLaw`: the law of a weighted sum of independent normal and whole-number Laplace noises, for intervals.

The characteristic function of the sum is a product of known functions. A Fourier series gives the probability of an
interval. It needs a function that falls, so a narrow normal number G is added to the sum S. For every h,

    P(|S| > w) P(|G| <= h) <= P(|S + G| > w - h),

because S and G are independent, and |S + G| > w - h follows from |S| > w and |G| <= h. The widths returned here include
this loss, so they are never too narrow by the smoothing.

The series has a period. What lies beyond half of it is bounded by Chernoff's inequality,
P(|S| > w) <= 2 E e^(t S) e^(-t w), with the best of several t; the moment generating function is known too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.errors import must_be_level
from hush.numerics import special
from hush.numerics.rounding import SPECIAL_FUNCTION, up
from hush.numerics.search import safe_secant

__all__ = ["LaplaceTerms", "SumLaw", "laplace_terms"]

Array = NDArray[np.float64]

_SMOOTH = 0.004  # standard deviation of G, in standard deviations of the sum
_WITHIN = 3.5  # h, in standard deviations of G
_FURTHEST = 6.5  # the last frequency, in 1/(standard deviation of G): the normal factor is below 1e-9 there
_SHARES = np.linspace(0.02, 0.98, 49)  # of the largest t that Chernoff's inequality is tried with
_LONGEST = 1e6  # half a period in standard deviations of G: noise that is almost always 0 would need more terms
_PRECISION = 1e-9  # of a width, relative
_MOST_KEPT = 4096  # widths
_MISSED = 1e-7  # above the error of the series: what wraps round, and the terms that are left out
_KEPT: dict[object, float] = {}  # widths of half_width


@dataclass(frozen=True)
class LaplaceTerms:
    """Independent whole-number Laplace noises of one epsilon: `counts[i]` of them have the weight `weights[i]`."""

    epsilon: float
    weights: Array
    counts: Array

    @property
    def variance(self) -> float:
        """The variance of the weighted sum."""
        return float((self.counts * self.weights**2).sum()) * 0.5 / math.sinh(0.5 * self.epsilon) ** 2

    @property
    def furthest(self) -> float:
        """The moment generating function is finite below this number."""
        return self.epsilon / float(self.weights.max())

    def log_moments(self, t: Array) -> Array:
        """The logarithm of E e^(t S) for 0 <= t < furthest."""
        scale, total = math.sinh(0.5 * self.epsilon) ** 2, np.zeros_like(t)
        for weight, count in zip(self.weights.tolist(), self.counts.tolist(), strict=True):
            total -= count * np.log1p(-(np.sinh(0.5 * weight * t) ** 2) / scale)
        return total

    def log_transform(self, frequencies: Array) -> Array:
        """The logarithm of the characteristic function, which is positive."""
        total = np.zeros_like(frequencies)
        scale = math.sinh(0.5 * self.epsilon) ** 2
        for weight, count in zip(self.weights.tolist(), self.counts.tolist(), strict=True):
            # (cosh e - 1)/(cosh e - cos t) = s/(s + sin(t/2)^2) with s = sinh(e/2)^2
            total -= count * np.log1p(np.sin(0.5 * weight * frequencies) ** 2 / scale)
        return total


@dataclass(frozen=True)
class SumLaw:
    """A normal number of the given variance plus Laplace terms, all independent."""

    normal: float
    terms: tuple[LaplaceTerms, ...] = ()

    @property
    def variance(self) -> float:
        """The variance of the sum."""
        return self.normal + sum(term.variance for term in self.terms)

    def half_width(self, level: float) -> float:
        """A w with P(|sum| <= w) >= level. It is kept: answers ask for the same widths again and again."""
        laws = tuple((term.epsilon, term.weights.tobytes(), term.counts.tobytes()) for term in self.terms)
        key = (self.normal, laws, must_be_level(level))
        if key not in _KEPT:
            if len(_KEPT) >= _MOST_KEPT:
                _KEPT.clear()
            _KEPT[key] = self._half_width(level)
        return _KEPT[key]

    def _half_width(self, level: float) -> float:
        outside = 1.0 - must_be_level(level)
        deviation = math.sqrt(self.variance)
        if deviation == 0.0:
            return 0.0
        if self.normal == self.variance:
            return up(-float(special.ndtri(0.5 * outside)) * deviation, SPECIAL_FUNCTION)
        narrow = _SMOOTH * deviation
        longest = self.reach(0.1 * _MISSED) / narrow
        kept = 1.0 - 2.0 * float(special.ndtr(-_WITHIN))
        target = 1.0 - outside * kept + _MISSED
        if outside < 100.0 * _MISSED or longest > _LONGEST:  # too far out for the series, or too many terms
            return up(self.reach(outside), SPECIAL_FUNCTION)
        return self._width(target, narrow) + _WITHIN * narrow

    def reach(self, probability: float) -> float:
        """A w with P(|sum| > w) <= probability, by Chernoff's inequality."""
        furthest = min((term.furthest for term in self.terms), default=math.inf)
        deviation = math.sqrt(self.variance)
        t = np.minimum(furthest, 20.0 / deviation) * _SHARES
        logs = 0.5 * self.normal * t**2 + sum(term.log_moments(t) for term in self.terms)
        return float(np.min((logs + math.log(2.0 / probability)) / t))

    def _width(self, target: float, narrow: float) -> float:
        """The w with P(|sum + G| <= w) = target."""
        period = 2.0 * (self.reach(0.1 * _MISSED) + 6.0 * narrow)
        last = math.ceil(_FURTHEST / narrow * period / (2.0 * math.pi))
        frequencies = 2.0 * math.pi / period * np.arange(1.0, last + 1.0)
        logs = -0.5 * (self.normal + narrow**2) * frequencies**2
        for term in self.terms:
            logs += term.log_transform(frequencies)
        with np.errstate(under="ignore"):
            amounts = 4.0 / period * np.exp(logs) / frequencies
        live = amounts > 1e-18 * amounts.max()
        frequencies, amounts = frequencies[live], amounts[live]

        def missing(width: float) -> float:
            return target - 2.0 * width / period - float(amounts @ np.sin(frequencies * width))

        most = 0.5 * period
        return most if missing(most) > 0.0 else safe_secant(missing, 0.0, most, relative=_PRECISION)


def laplace_terms(epsilon: float, weights: Sequence[float] | Array) -> LaplaceTerms:
    """Terms with equal weights gathered; the sign of a weight does not matter."""
    sizes: Array = np.array([round(abs(float(weight)), 14) for weight in weights])
    found, counts = np.unique(sizes, return_counts=True)
    kept = found > 0.0
    return LaplaceTerms(epsilon, found[kept], counts[kept].astype(np.float64))
