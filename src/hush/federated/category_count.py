"""Estimated counts of the people in each category, with intervals, from locally private answers.

A tally T of reports is binomial(c, keep) plus binomial(n - c, stray), with c the true count. Where its variance is
large the interval inverts the normal score test; elsewhere it uses the exact tails of the two binomial laws.

The estimates of all categories are projected to the possible counts, those that are at least 0 and have the sum n. The
true counts are possible, and possible counts are a convex set, so the projection is never further from the true counts
(in the sum of squares). It is post-processing and costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, must_be_level
from hush.federated.category import Answers
from hush.numerics import special
from hush.numerics.arrays import on_simplex
from hush.numerics.search import first_true
from hush.releasing.text import text_table

__all__ = ["Histogram", "histogram"]

_NORMAL = 1000.0  # the variance of a tally (people) from which on the normal law is used


@dataclass(frozen=True)
class Histogram:
    """Estimated counts by category; `low` and `high` are the ends of an interval for each count, each at `level`.

    If `raw` is true, the counts are unbiased, may be negative, and their sum may differ from the number of answers.
    """

    categories: tuple[Any, ...]
    count: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    method: str
    why: str
    raw: bool = False

    def __str__(self) -> str:
        rows = [
            (str(name), *(f"{value:.1f}" for value in values))
            for name, *values in zip(self.categories, self.count, self.low, self.high, strict=True)
        ]
        lines = text_table(("category", "count", "from", "to"), rows, right={1, 2, 3})
        return "\n".join([*lines, f"{self.method}: {self.why}"])


def histogram(answers: Answers, *, level: float = 0.95, raw: bool = False) -> Histogram:
    """The estimated number of people in each category, with intervals.

    The counts are the nearest possible ones, at least 0 and with the sum n, to the unbiased estimates
    (tally - n stray)/(keep - stray). With many categories their error is a third or less. raw=True returns the unbiased
    estimates.

    Guarantees: where a tally has a small variance, each interval holds its count with probability at least `level`
    (exact binomial tails). Elsewhere the interval inverts the normal score test with the variance at the tested
    count, corrected for continuity and skewness; it was checked against exact tails at levels from 0.5 to 0.9999.
    Intervals come from the unbiased estimates; an interval that would end before its count is extended to it.
    Counts refer to the people who answered.

    >>> from hush.federated import answers
    >>> made = histogram(answers(["a", "b", "b"] * 50, 1.0, ["a", "b", "c"]))
    >>> round(sum(made.count)), min(made.count) >= 0.0
    (150, True)
    """
    if not isinstance(answers, Answers) or answers.count == 0:
        raise InvalidParameter(
            "answers must be the result of federated.answers for at least one person; "
            "write histogram(answers(values, 1.0, ['yes', 'no']))."
        )
    sure = must_be_level(level)
    n, p, q = answers.count, float(answers.keep), float(answers.stray)
    tally = answers.tallies.astype(np.float64)
    low, high = _count_ends(tally, n, p, q, sure)
    value = (tally - n * q) / (p - q)
    if not raw:
        value = on_simplex(value, float(n))
        low, high = np.minimum(low, value), np.maximum(high, value)
    return Histogram(
        answers.categories,
        tuple(value.tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        sure,
        answers.method,
        answers.why,
        bool(raw),
    )


def _count_ends(
    tally: NDArray[np.float64], n: int, p: float, q: float, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals of counts: by the score test with z increased for skewness, by exact tails for small variances."""
    z: Any = float(-special.ndtri(0.5 * (1.0 - level)))
    for _ in range(2):  # the first pass finds the variance, the second uses it
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

    If there is no such c, the tally is lower than an empty category explains: both ends are 0.
    """
    over, gap = tally - n * q, p - q
    linear = 2.0 * over * gap + z * z * (p * (1.0 - p) - q * (1.0 - q))
    square = linear**2 - 4.0 * gap * gap * (over**2 - z * z * n * q * (1.0 - q))
    root = np.sqrt(np.maximum(square, 0.0))
    low, high = ((linear + sign * root) / (2.0 * gap * gap) for sign in (-1.0, 1.0))
    return np.where(square < 0.0, 0.0, low), np.where(square < 0.0, 0.0, high)


@lru_cache(maxsize=65_536)
def _exact_ends(tally: int, n: int, p: float, q: float, beyond: float) -> tuple[float, float]:
    """The least and the largest count c for which both P(T >= tally) and P(T <= tally) are above `beyond`.

    T is binomial(c, p) plus binomial(n - c, q), which is stochastically increasing in c.
    """
    low = first_true(0, n, lambda c: _at_least(tally, n, c, p, q) > beyond)
    high = first_true(0, n, lambda c: 1.0 - _at_least(tally + 1, n, c, p, q) <= beyond) - 1
    return float(min(low, n)), float(max(high, 0))


def _at_least(tally: int, n: int, c: int, p: float, q: float) -> float:
    """P(T >= tally): the sum over the likely values j of the first law of the tails of the second."""
    wide = 10.0 * math.sqrt(c * p * (1.0 - p)) + 30.0
    j = np.arange(max(math.floor(c * p - wide), 0), min(math.ceil(c * p + wide), c) + 1, dtype=np.float64)
    mass = np.exp(
        special.gammaln(c + 1.0)
        - special.gammaln(j + 1.0)
        - special.gammaln(c - j + 1.0)
        + j * math.log(p)
        + (c - j) * math.log1p(-p)
    )
    rest = tally - j  # the least value of the second law
    inside = (rest > 0.0) & (rest <= n - c)
    tail = np.where(rest <= 0.0, 1.0, 0.0)
    tail[inside] = special.betainc(rest[inside], n - c - rest[inside] + 1.0, q)
    return float(mass @ tail)
