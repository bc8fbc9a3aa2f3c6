"""Estimates of a mean and of a sum from local reports, with confidence intervals.

The estimated quantity is the mean of the people who reported, so the noise, whose law is known, is the only error.
`sampled=True` widens the interval so that it holds for the population of which these people are a random sample.

    method     error of the mean                        law used for the interval
    average    the average of n draws                   stable noise: exact, scale gamma n^(1/alpha - 1) (SaS paper,
                                                        Lemma V.1); other noise: the n-fold convolution on a grid,
                                                        rounded outwards
    bounded    the average of n bounded numbers         normal with the largest variance over all possible values,
               (see unbiased.py)                        corrected for the largest skewness and kurtosis (Cornish and
                                                        Fisher 1938) and for the lattice, plus the bias; below 50
                                                        reports, or if the correction is large, Bernstein's or
                                                        Chebyshev's inequality

The average of the reports of a `LocalMean` is an average of bounded numbers without bias, so the last law is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import HushError, InvalidParameter, Unsupported, must_be_level, one_of
from hush.federated.local_report import STEPS, Reports
from hush.federated.mean_report import LocalMean
from hush.federated.unbiased import Bounded, bounded
from hush.noise.contract import Law
from hush.numerics import special
from hush.numerics.rounding import CLOSED_FORM, SUM_OF_POSITIVE_TERMS, up

__all__ = ["Estimate", "half_width", "mean", "methods", "total"]

METHODS = ("average", "bounded")
_FEW = 50  # reports: below this number the normal law is not used
_MANY = 100_000  # reports: above this number the convolution is normal to a relative error of 1e-3 at all levels here
_PER_DEVIATION = 8  # grid points of a convolution per standard deviation


@dataclass(frozen=True)
class Estimate:
    """An estimate with an interval that contains the true value with probability at least `level`.

    `value` has no bias, so with few reports it can lie outside of `limits`, the public range of the true value. The
    interval never does: what lies outside is moved to the nearest limit.
    """

    value: float
    half_width: float
    level: float
    method: str
    count: int
    limits: tuple[float, float] = (-math.inf, math.inf)

    @property
    def interval(self) -> tuple[float, float]:
        """The two ends of the interval."""
        least, most = self.limits
        low, high = self.value - self.half_width, self.value + self.half_width
        return min(max(low, least), most), min(max(high, least), most)

    def __str__(self) -> str:
        low, high = self.interval
        cut = low != self.value - self.half_width or high != self.value + self.half_width
        wide = f"[{low:.6g}, {high:.6g}]" if cut else f"+- {self.half_width:.4g}"
        return f"{self.value:.6g} {wide} ({100 * self.level:g} %, {self.method} of {self.count} reports)"


def mean(reports: Reports, *, level: float = 0.95, method: str = "auto", sampled: bool = False) -> Estimate:
    """Estimate the mean of the people's (clipped) values.

    method: "average" of the reports, the only one for reports of a `LocalMean`; "bounded", the average of an unbiased
    bounded function of each report (see hush.federated.unbiased), which has a finite variance for stable noise and a
    smaller one for Laplace noise; or "auto", the method with the narrower interval.

    Guarantees: the interval contains the mean of the people who reported (with sampled=True: of the population of
    which they are a random sample) with probability at least `level`. For "bounded" and for a `LocalMean` with 50 or
    more reports this is based on a corrected normal law, checked against exact convolutions at levels from 0.5 to
    0.9999; for sampled=True on Student's t law.

    >>> from hush.federated import local
    >>> guess = mean(local([40.0] * 2000, 1.0, 0, 100, delta=0.0, family="laplace"))
    >>> guess.method, round(guess.half_width, 2)
    ('bounded', 5.21)
    """
    if not isinstance(reports, Reports) or reports.count == 0:
        raise InvalidParameter(
            "reports must be the result of federated.local for at least one person; "
            "write mean(local(values, 1.0, 0, 100, delta=0.0))."
        )
    one_of("method", method, ("auto", *METHODS))
    level = must_be_level(level)
    way = methods(reports.noise, reports.count, level)[0] if method == "auto" else method
    wide = half_width(reports.noise, reports.count, level=level, method=way)
    numbers = reports.places if way == "average" else bounded(_law(reports.noise).plain())(reports.places)
    if sampled:
        wide = max(wide, _sampled(numbers, reports.noise, way, level))
    value = reports.low + reports.width * (math.fsum(numbers) / reports.count)
    half = up(reports.width * wide, CLOSED_FORM)
    return Estimate(value, half, level, way, reports.count, (reports.low, reports.high))


def total(reports: Reports, *, level: float = 0.95, method: str = "auto") -> Estimate:
    """Estimate the sum of the people's (clipped) values: the mean times the number of people, which is public."""
    one = mean(reports, level=level, method=method)
    limits = (one.limits[0] * one.count, one.limits[1] * one.count)
    return Estimate(one.value * one.count, one.half_width * one.count, level, one.method, one.count, limits)


def methods(noise: Law | LocalMean, count: int, level: float) -> list[str]:
    """The methods that exist for a noise, the one with the narrowest interval first."""
    found: list[tuple[float, str]] = []
    for way in METHODS:
        try:
            found.append((half_width(noise, count, level=level, method=way), way))
        except HushError:  # this family has no bounded estimate
            continue
    return [way for _, way in sorted(found)]


def _law(noise: Law | LocalMean) -> Law:
    """The added law; a `LocalMean` has none."""
    if isinstance(noise, LocalMean):
        raise Unsupported("the reports of a LocalMean are bounded and unbiased themselves; write method='average'.")
    return noise


def half_width(noise: Law | LocalMean, count: int, *, level: float, method: str) -> float:
    """Half the width of the interval of a mean of `count` reports, in units of the range."""
    sure = must_be_level(level)
    one_of("method", method, METHODS)
    rounding = 1.0 / STEPS  # half a step for rounding the value and half a step for rounding the draw
    if isinstance(noise, LocalMean) and method == "average":
        return _bounded_width(noise, count, sure) + rounding
    noise = _law(noise)
    if method == "average":
        return _average_width(noise.plain(), count, sure) + rounding
    g = bounded(noise.plain())
    return _bounded_width(g, count, sure) + g.bias + g.slope * rounding


def _bounded_width(g: Bounded | LocalMean, count: int, level: float) -> float:
    """The w with P(|mean of `count` bounded numbers - its expectation| <= w) >= level."""
    miss, deviation = 1.0 - level, math.sqrt(g.variance / count)
    log, reach = math.log(2.0 / miss), g.reach / 3.0
    bernstein = (log * reach + math.sqrt((log * reach) ** 2 + 2.0 * count * g.variance * log)) / count
    proved = min(deviation / math.sqrt(miss), bernstein)  # Chebyshev
    z = float(-special.ndtri(0.5 * miss))
    third, fourth = g.cumulants
    skewness, kurtosis = third / (g.variance**1.5 * math.sqrt(count)), fourth / (g.variance**2 * count)
    more = (z * z + 1.0) / 6.0 * skewness + (z**3 + 3.0 * z) / 24.0 * kurtosis
    if count < _FEW or more > 0.25 * z:
        return proved
    return min((z + more) * deviation + g.wobble(count), proved)


def _sampled(numbers: NDArray[np.float64], noise: Law | LocalMean, method: str, level: float) -> float:
    if method == "average" and math.isinf(noise.variance):
        raise Unsupported(
            "sampled=True needs a finite variance, and the average of stable reports has none; write method='bounded'."
        )
    if numbers.size < _FEW:
        raise InvalidParameter(
            f"sampled=True needs at least {_FEW} reports, got {numbers.size}; "
            "write sampled=False for an interval of the mean of the people who reported."
        )
    extra = bounded(_law(noise).plain()).bias if method == "bounded" else 0.0
    deviation = float(numbers.std(ddof=1))
    t = float(-special.stdtrit(numbers.size - 1, 0.5 * (1.0 - level)))
    skewness = abs(float(np.mean((numbers - numbers.mean()) ** 3))) / deviation**3 if deviation > 0.0 else 0.0
    # in small samples the mean and the standard deviation are correlated if the law is skewed (Johnson 1978)
    wide = t + (2.0 * t * t + 1.0) / 6.0 * skewness / math.sqrt(numbers.size)
    return wide * deviation / math.sqrt(numbers.size) + extra + 4.0 / STEPS


@lru_cache(maxsize=4096)
def _average_width(noise: Law, count: int, level: float) -> float:
    """The w with P(|average of `count` draws| <= w) >= level."""
    beyond = 0.5 * (1.0 - level)
    if noise.stability is not None:
        return float(noise.scaled(count ** (1.0 / noise.stability[0] - 1.0)).isf(beyond))
    deviation = math.sqrt(noise.variance)
    if count > _MANY:
        return 1.001 * float(-special.ndtri(beyond)) * deviation / math.sqrt(count)
    return _convolved(noise, count, beyond, deviation / _PER_DEVIATION) / count


def _convolved(noise: Law, count: int, beyond: float, step: float) -> float:
    """The least w with P(sum > w) <= beyond, for the sum of `count` draws, each rounded to a grid.

    Rounding adds variance, so the result is too large rather than too small.
    """
    reach = 10.0 * math.sqrt(count * noise.variance) + float(np.asarray(noise.isf(1e-13)))
    half = 1 << math.ceil(math.log2(reach / step + 1.0))
    edges = (np.arange(-half, half + 1) - 0.5) * step
    mass = np.diff(np.asarray(noise.cdf(edges)))  # of the grid points -half ... half - 1
    power = np.fft.rfft(np.fft.ifftshift(mass)) ** count
    law = np.fft.fftshift(np.fft.irfft(power, mass.size))
    above = np.cumsum(law[::-1])[::-1]  # P(sum >= place)
    outside = np.flatnonzero(above[half:] > beyond - SUM_OF_POSITIVE_TERMS.share)
    return (float(outside[-1]) + 0.5 if outside.size else 0.5) * step
