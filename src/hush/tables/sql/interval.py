"""Arithmetic on released numbers with intervals: each end is rounded outwards, so the result contains every value that
the arguments in their intervals can give.

Several numbers in one formula hold their intervals at once if each is taken at the level 1 - (1 - level)/k, for k
numbers, however their errors depend on each other. Then the formula's interval holds at `level`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.rounding import next_down, next_up

__all__ = ["Triple", "constant", "divided", "monotone", "plus", "sample_factor", "times"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Triple:
    """Values with lower and upper ends. NaN is an unknown value."""

    value: Array
    low: Array
    high: Array
    #: a number of rows or people: it is whole and not negative, whatever the noise
    counts: bool = False

    @property
    def ends(self) -> tuple[Array, Array]:
        """The ends, cut to what a number of rows can be."""
        return (np.maximum(self.low, 0.0), np.maximum(self.high, 0.0)) if self.counts else (self.low, self.high)


def constant(value: float) -> Triple:
    """A number of the statement."""
    array = np.asarray(float(value))
    return Triple(array, array, array)


def _outwards(value: Any, low: Any, high: Any) -> Triple:
    """Both ends rounded outwards, and the value between them. An end of exactly 0 is not rounded."""
    lower = np.where(low == 0.0, 0.0, next_down(np.asarray(low)))
    upper = np.where(high == 0.0, 0.0, next_up(np.asarray(high)))
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return Triple(np.asarray(value), np.fmin(lower, value), np.fmax(upper, value))


def plus(a: Triple, b: Triple, sign: float = 1.0) -> Triple:
    """a + b, or a - b with sign -1."""
    (low, high), (first, last) = a.ends, b.ends
    less, more = (first, last) if sign > 0 else (-last, -first)
    with np.errstate(all="ignore"):
        return _outwards(a.value + sign * b.value, low + less, high + more)


def times(a: Triple, b: Triple) -> Triple:
    """a * b."""
    (low, high), (first, last) = a.ends, b.ends
    with np.errstate(all="ignore"):
        return _outwards(a.value * b.value, *_corners([low * first, low * last, high * first, high * last]))


def _corners(found: list[Array]) -> tuple[Array, Array]:
    """The least and the largest; 0 times infinity is 0 here."""
    clean = [np.where(np.isnan(corner), 0.0, corner) for corner in found]
    return np.minimum.reduce(clean), np.maximum.reduce(clean)


def divided(a: Triple, b: Triple) -> Triple:
    """a / b; unknown where b is 0. A number of rows that divides is at least 1, because otherwise there is no quotient
    to be covered. Where the interval of b contains 0, the quotient has no bounds.
    """
    (low, high), (first, last) = a.ends, b.ends
    if b.counts:
        first, last = np.maximum(first, 1.0), np.maximum(last, 1.0)
    with np.errstate(all="ignore"):
        value = np.where(b.value == 0.0, np.nan, a.value / np.where(b.value == 0.0, 1.0, b.value))
        below, above = _corners([low / first, low / last, high / first, high / last])
        open_ends = (first <= 0.0) & (last >= 0.0)
        return _outwards(value, np.where(open_ends, -np.inf, below), np.where(open_ends, np.inf, above))


def monotone(a: Triple, of: Callable[[Any], Any], counts: bool = False) -> Triple:
    """A function that does not decrease, of a number with an interval."""
    with np.errstate(all="ignore"):
        found = _outwards(of(a.value), of(a.low), of(a.high))
    return Triple(found.value, found.low, found.high, counts)


def sample_factor(rows: Triple) -> Triple:
    """n / (n - 1), which turns a variance over n rows into the variance of a sample; n is at least 2."""
    low, high, value = (np.maximum(part, 2.0) for part in (rows.low, rows.high, rows.value))
    return _outwards(value / (value - 1.0), high / (high - 1.0), low / (low - 1.0))
