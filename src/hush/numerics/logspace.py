"""Sums and differences of numbers that are given by their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["exp_excess", "log1mexp", "log_difference", "logsumexp"]


def log1mexp(x: Any) -> Any:
    """Return log(1 - e**x) for x <= 0, accurate for small and for large |x| (-inf at x = 0).

    >>> float(log1mexp(-1e-20)), float(log1mexp(-50.0))
    (-46.0517018598..., -1.92874984796...e-22)
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore", under="ignore"):
        return np.where(x > -0.6931471805599453, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def log_difference(larger: Any, smaller: Any) -> Any:
    """Return log(e**larger - e**smaller); -inf where both are equal."""
    larger, smaller = np.asarray(larger, dtype=np.float64), np.asarray(smaller, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isneginf(smaller), -np.inf, smaller - larger)
    return np.where(np.isneginf(larger), -np.inf, larger + log1mexp(np.minimum(gap, 0.0)))


def logsumexp(x: Any, axis: int | None = None) -> Any:
    """Return the logarithm of the sum of e**x along an axis, or of all numbers; x is below infinity.

    The largest numbers are counted and the others are added relative to them, so no digits are lost where one number
    dominates. The result is that of scipy.special.logsumexp.

    >>> float(logsumexp([1000.0, 1000.0])), float(logsumexp([0.0, -50.0]))
    (1000.69314718..., 1.92874984796...e-22)
    """
    x = np.asarray(x, dtype=np.float64)
    largest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    is_largest = x == largest
    with np.errstate(invalid="ignore", under="ignore"):
        others = np.where(is_largest, 0.0, np.exp(x - largest))
    count = np.sum(is_largest, axis=axis, keepdims=True, dtype=np.float64)
    count = np.maximum(count, 1.0)  # there is no largest of no numbers
    found = np.log1p(np.sum(others, axis=axis, keepdims=True) / count) + np.log(count) + largest
    return np.squeeze(found, axis=axis)[()]


def exp_excess(x: Any) -> Any:
    """Return e**x - 1 - x, which is never negative, without cancellation.

    >>> float(exp_excess(1e-8))
    5.0000000166...e-17
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.abs(x) < 0.5
    t = np.where(small, x, 0.0)
    series = np.ones_like(t)
    for n in range(16, 2, -1):  # x^2/2 * (1 + x/3 (1 + x/4 (...))): 0.5^16/17! is below 1e-19
        series = 1.0 + series * t / n
    with np.errstate(over="ignore"):
        return np.where(small, 0.5 * t * t * series, np.expm1(np.where(small, 1.0, x)) - np.where(small, 1.0, x))
