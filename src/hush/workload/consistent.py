"""Whole numbers that agree in every table and every total, and tables without negative numbers.

Prefix counts are the free coordinates of consistent tables. The prefix count of a set of attributes at the indices
(k_1, k_2, ...), each k_i below n_i, is the number of people whose values are at most these. Each one is rounded once.
A cell is a signed sum of prefix counts, where the last index of an attribute is the prefix count without it. So
every table is a difference of the same whole numbers, and all tables agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hush.numerics.arrays import on_simplex
from hush.releasing.error_bars import Total
from hush.workload.residual import Subset

__all__ = ["PrefixCounts", "around", "non_negative_fit", "whole_steps_of"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class PrefixCounts:
    """The rounded prefix counts of all tables; `estimate(subset)` gives a table of estimates."""

    def __init__(self, estimate: Callable[[Subset], Array]) -> None:
        self._estimate = estimate
        self._known: dict[Subset, Whole] = {}

    def of(self, subset: Subset) -> Whole:
        """The prefix counts of a set of attributes; the last index of an axis is the set without its attribute."""
        if subset not in self._known:
            found = self._estimate(subset)
            for axis in range(found.ndim):
                found = np.cumsum(found, axis=axis)
            rounded = np.rint(found).astype(np.int64)
            for axis, i in enumerate(subset):
                last: list[slice | int] = [slice(None)] * len(subset)
                last[axis] = -1
                rounded[tuple(last)] = self.of(tuple(j for j in subset if j != i))
            self._known[subset] = rounded
        return self._known[subset]

    def table(self, subset: Subset) -> Whole:
        """The table of whole numbers."""
        found = self.of(subset)
        for axis in range(found.ndim):
            found = np.diff(found, axis=axis, prepend=0)
        return found


def around(value: float, width: float, non_negative: bool = False) -> Total:
    """A number with its interval. With `non_negative` all of it is cut at 0: a true count is never negative, so the
    interval contains it as often as before.
    """
    least = 0.0 if non_negative else -math.inf
    return Total(max(value, least), max(value - width, least), max(value + width, least))


def whole_steps_of(estimates: Array) -> Whole:
    """Whole numbers for the bins of a line, whose sums over ranges are the rounded sums up to one: prefix sums are
    rounded, and their differences are returned.
    """
    sums: Whole = np.rint(np.cumsum(estimates)).astype(np.int64)
    return sums - np.append(np.zeros(1, dtype=np.int64), sums[:-1])


def non_negative_fit(estimates: Array, total: float) -> Array:
    """The non-negative numbers with this sum (0 if it is negative) that are closest to the estimates.

    They are the estimates less a constant, where that is positive (projection to a simplex).
    """
    return np.zeros_like(estimates) if total <= 0.0 else on_simplex(estimates, total)
