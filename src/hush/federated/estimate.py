"""What a population's reports say: mean, sum and histogram, with intervals that cover.

The target is the people who reported, so that all error is noise of known law. `sampled=True` widens the interval to
the population that they were drawn from at random.

    method     error of the mean                                   law used for the interval
    average    the average of n draws                              stable: exact, scale gamma n^(1/alpha - 1) (SaS paper, Lemma V.1);
                                                                   others: their n-fold convolution on a grid, rounded
                                                                   outwards
    bounded    the average of n bounded numbers (unbiased.py)      normal with the largest variance that any values can give, corrected
                                                                   for the largest skewness and kurtosis (Cornish and
                                                                   Fisher 1938) and for the lattice, plus the bias;
                                                                   below 50 reports, or where the correction is large,
                                                                   Bernstein's or Chebyshev's inequality
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaln, ndtri, stdtrit

from hush.errors import HushError, InvalidParameter, Unsupported, as_float, one_of, reject
from hush.federated.category import Answers
from hush.federated.local_report import STEPS, Reports
from hush.federated.unbiased import Bounded, bounded
from hush.noise.contract import Law
from hush.numerics.rounding import CLOSED_FORM, SUM_OF_POSITIVE_TERMS, up
from hush.numerics.search import first_true

__all__ = ["Estimate", "Histogram", "half_width", "histogram", "mean", "methods", "total"]

METHODS = ("average", "bounded")
_FEW = 50  # below this many reports the normal law is not relied on
_NORMAL = 1000.0  # a variance of a tally from which on the normal law is relied on
_MANY = 100_000  # above, the convolution is normal to a part in a thousand at any level met here
_PER_DEVIATION = 8  # grid points of a convolution in one standard deviation


@dataclass(frozen=True)
class Estimate:
    """A number about a population with an interval that holds the true one with probability at least `level`."""

    value: float
    half_width: float
    level: float
    method: str
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.value - self.half_width, self.value + self.half_width

    def __str__(self) -> str:
        return (
            f"{self.value:.6g} +- {self.half_width:.4g} ({100 * self.level:g} %, {self.method} of {self.count} reports)"
        )


def mean(reports: Reports, *, level: float = 0.95, method: str = "auto", sampled: bool = False) -> Estimate:
    """The mean of the people's (clipped) values.

    method: "average" of the reports, "bounded" (an unbiased bounded function of each, see hush.federated.unbiased:
    finite variance for stable noise, less of it for Laplace), or "auto", the narrower one.

    Guarantees: the interval holds the mean of those who reported (sampled=True: of the population they are a random
    sample of) with probability at least `level`. For "bounded" from 50 reports on this rests on a corrected normal
    law, checked against exact convolutions at levels from 0.5 to 0.9999; for sampled=True on Student's t law.

    >>> from hush.federated import local
    >>> guess = mean(local([40.0] * 2000, 1.0, 0, 100, noise="laplace"))
    >>> guess.method, round(guess.half_width, 2)
    ('bounded', 5.21)
    """
    if not isinstance(reports, Reports) or reports.count == 0:
        raise InvalidParameter(
            "reports must be what local() returned, for at least one person; write mean(local(values, 1.0, 0, 100))."
        )
    one_of("method", method, ("auto", *METHODS))
    level = as_level(level)
    way = methods(reports.noise, reports.count, level)[0] if method == "auto" else method
    wide = half_width(reports.noise, reports.count, level=level, method=way)
    numbers = reports.places if way == "average" else bounded(reports.noise.plain())(reports.places)
    if sampled:
        wide = max(wide, _sampled(numbers, reports.noise, way, level))
    value = reports.low + reports.width * (math.fsum(numbers) / reports.count)
    return Estimate(value, up(reports.width * wide, CLOSED_FORM), level, way, reports.count)


def total(reports: Reports, *, level: float = 0.95, method: str = "auto") -> Estimate:
    """The sum of the people's (clipped) values: their mean times their number, which is public."""
    one = mean(reports, level=level, method=method)
    return Estimate(one.value * one.count, one.half_width * one.count, level, one.method, one.count)


def methods(noise: Law, count: int, level: float) -> list[str]:
    """The methods that a noise has, the narrower interval first."""
    found: list[tuple[float, str]] = []
    for way in METHODS:
        try:
            found.append((half_width(noise, count, level=level, method=way), way))
        except HushError:  # no such function for this family
            continue
    return [way for _, way in sorted(found)]


def half_width(noise: Law, count: int, *, level: float, method: str) -> float:
    """Half the interval of a mean of `count` reports, in units of the range."""
    sure = as_level(level)
    one_of("method", method, METHODS)
    rounding = 1.0 / STEPS  # half a step by the value, half a step by the draw
    if method == "average":
        return _average_width(noise.plain(), count, sure) + rounding
    g = bounded(noise.plain())
    return _bounded_width(g, count, sure) + g.bias + g.slope * rounding


def as_level(level: Any) -> float:
    """A probability that an interval holds."""
    sure = as_float("level", level, "a number between 0 and 1", "write level=0.95")
    if not 0.0 < sure < 1.0:
        raise reject("level", level, "a number between 0 and 1", "write level=0.95")
    return sure


def _bounded_width(g: Bounded, count: int, level: float) -> float:
    """The w with P(|mean of `count` bounded numbers - theirs| <= w) >= level."""
    miss, deviation = 1.0 - level, math.sqrt(g.variance / count)
    log, reach = math.log(2.0 / miss), (g.most + 1.0) / 3.0
    bernstein = (log * reach + math.sqrt((log * reach) ** 2 + 2.0 * count * g.variance * log)) / count
    proved = min(deviation / math.sqrt(miss), bernstein)  # Chebyshev
    z = float(-ndtri(0.5 * miss))
    skewness, kurtosis = g.third / (g.variance**1.5 * math.sqrt(count)), g.fourth / (g.variance**2 * count)
    more = (z * z + 1.0) / 6.0 * skewness + (z**3 + 3.0 * z) / 24.0 * kurtosis
    if count < _FEW or more > 0.25 * z:
        return proved
    return min((z + more) * deviation + g.wobble(count), proved)


def _sampled(numbers: NDArray[np.float64], noise: Law, method: str, level: float) -> float:
    if method == "average" and math.isinf(noise.variance):
        raise Unsupported("the average of stable reports has no standard error to sample by; write method='bounded'.")
    if numbers.size < _FEW:
        raise InvalidParameter(
            f"sampled=True needs at least {_FEW} reports, got {numbers.size}; the interval of those who reported needs none."
        )
    extra = bounded(noise.plain()).bias if method == "bounded" else 0.0
    deviation = float(numbers.std(ddof=1))
    t = float(-stdtrit(numbers.size - 1, 0.5 * (1.0 - level)))
    skewness = abs(float(np.mean((numbers - numbers.mean()) ** 3))) / deviation**3 if deviation > 0.0 else 0.0
    # numbers of few reports are skewed together with their deviation (Johnson 1978)
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
        return 1.001 * float(-ndtri(beyond)) * deviation / math.sqrt(count)
    return _convolved(noise, count, beyond, deviation / _PER_DEVIATION) / count


def _convolved(noise: Law, count: int, beyond: float, step: float) -> float:
    """The least w with P(sum > w) <= beyond, for the sum of `count` draws, each rounded to a grid: that adds
    variance, so it errs wide.
    """
    reach = 10.0 * math.sqrt(count * noise.variance) + float(np.asarray(noise.isf(1e-13)))
    half = 1 << math.ceil(math.log2(reach / step + 1.0))
    edges = (np.arange(-half, half + 1) - 0.5) * step
    mass = np.diff(np.asarray(noise.cdf(edges)))  # places -half ... half - 1
    power = np.fft.rfft(np.fft.ifftshift(mass)) ** count
    law = np.fft.fftshift(np.fft.irfft(power, mass.size))
    above = np.cumsum(law[::-1])[::-1]  # P(sum >= place)
    outside = np.flatnonzero(above[half:] > beyond - SUM_OF_POSITIVE_TERMS.share)
    return (float(outside[-1]) + 0.5 if outside.size else 0.5) * step


@dataclass(frozen=True)
class Histogram:
    """Estimated counts of a population by category; `low` and `high` are intervals for each count, each at `level`."""

    categories: tuple[Any, ...]
    count: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    method: str
    why: str

    def __str__(self) -> str:
        wide = max(8, *(len(str(name)) for name in self.categories))
        rows = [
            f"{name!s:{wide}}  {value:10.1f}  {low:10.1f}  {high:10.1f}"
            for name, value, low, high in zip(self.categories, self.count, self.low, self.high, strict=True)
        ]
        return "\n".join(
            [f"{'category':{wide}}  {'count':>10}  {'from':>10}  {'to':>10}", *rows, f"{self.method}: {self.why}"]
        )


def histogram(answers: Answers, *, level: float = 0.95) -> Histogram:
    """How many people are in each category, from their locally private answers: (tally - n stray)/(keep - stray).

    Guarantees: each interval holds its count with probability at least `level` where few strays are expected (the
    tails of the two binomial laws, summed). Elsewhere a score interval inverts the normal test with the variance of
    the count in question, with a continuity correction and one for skewness, checked against exact tails at levels
    from 0.5 to 0.9999. Counts are of those who answered.
    """
    if not isinstance(answers, Answers) or answers.count == 0:
        raise InvalidParameter("answers must be what answers() returned, for at least one person.")
    sure = as_level(level)
    n, p, q = answers.count, float(answers.keep), float(answers.stray)
    tally = answers.tallies.astype(np.float64)
    low, high = _count_ends(tally, n, p, q, sure)
    value = (tally - n * q) / (p - q)
    return Histogram(
        answers.categories,
        tuple(value.tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        sure,
        answers.method,
        answers.why,
    )


def _count_ends(
    tally: NDArray[np.float64], n: int, p: float, q: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of counts: by the score, its z raised by what the skewness of a tally can take, or by the tails where
    tallies are small.
    """
    z: Any = float(-ndtri(0.5 * (1.0 - level)))
    for _ in range(2):  # the first pass tells the variance, the second uses it
        low, high = (np.clip(_ends(tally + half, n, p, q, z)[end], 0.0, n) for end, half in ((0, -0.5), (1, 0.5)))
        least = np.minimum(*(c * p * (1.0 - p) + (n - c) * q * (1.0 - q) for c in (low, high)))
        if np.ndim(z) == 0:
            z = z + (z * z + 1.0) / 6.0 * max(abs(1.0 - 2.0 * p), abs(1.0 - 2.0 * q)) / np.sqrt(np.maximum(least, 1.0))
    for place in np.flatnonzero(least < _NORMAL):
        low[place], high[place] = _exact_ends(int(tally[place]), n, p, q, 0.5 * (1.0 - level))
    return low, high


def _ends(
    tally: NDArray[np.float64], n: int, p: float, q: float, z: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The counts c where (tally - n q - c (p - q))^2 = z^2 (c p (1 - p) + (n - c) q (1 - q)).

    No such c: fewer reports than even an empty category explains, and 0 is the nearest count.
    """
    over, gap = tally - n * q, p - q
    linear = 2.0 * over * gap + z * z * (p * (1.0 - p) - q * (1.0 - q))
    square = linear**2 - 4.0 * gap * gap * (over**2 - z * z * n * q * (1.0 - q))
    root = np.sqrt(np.maximum(square, 0.0))
    low, high = ((linear + sign * root) / (2.0 * gap * gap) for sign in (-1.0, 1.0))
    return np.where(square < 0.0, 0.0, low), np.where(square < 0.0, 0.0, high)


@lru_cache(maxsize=65_536)
def _exact_ends(tally: int, n: int, p: float, q: float, beyond: float) -> tuple[float, float]:
    """The least and the largest count c that a tally does not speak against: P(T >= tally) and P(T <= tally) above
    `beyond`.

    T is binomial(c, p) plus binomial(n - c, q), and rises with c.
    """
    low = first_true(0, n, lambda c: _at_least(tally, n, c, p, q) > beyond)
    high = first_true(0, n, lambda c: 1.0 - _at_least(tally + 1, n, c, p, q) <= beyond) - 1
    return float(min(low, n)), float(max(high, 0))


def _at_least(tally: int, n: int, c: int, p: float, q: float) -> float:
    """P(T >= tally): over the likely values j of the first law, the tail of the second."""
    wide = 10.0 * math.sqrt(c * p * (1.0 - p)) + 30.0
    j = np.arange(max(math.floor(c * p - wide), 0), min(math.ceil(c * p + wide), c) + 1, dtype=np.float64)
    mass = np.exp(
        gammaln(c + 1.0) - gammaln(j + 1.0) - gammaln(c - j + 1.0) + j * math.log(p) + (c - j) * math.log1p(-p)
    )
    rest = tally - j  # the second law has to bring this many
    inside = (rest > 0.0) & (rest <= n - c)
    tail = np.where(rest <= 0.0, 1.0, 0.0)
    tail[inside] = betainc(rest[inside], n - c - rest[inside] + 1.0, q)
    return float(mass @ tail)
