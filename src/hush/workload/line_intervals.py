"""Intervals of quantiles and means that are made from the estimated bins of a line.

**Quantiles.** F is the cumulative count and N the number of rows. Bin k holds the q-quantile if its excess F(k) - q N
is at least 0 and that of bin k - 1 is negative. The excess is linear in the bins, so the law of its error is known. Bin
k is ruled out if noise would have had to move the excess of k down, or that of k - 1 up, further than the half width of
the level. The interval is from the first to the last bin that is not ruled out. Only the two tests at the true bin can
cause a miss, each with a probability of at most (1 - level)/2, because the laws are symmetric.

**Means.** Each bin has a value v_i. The mean over all rows is m if the sum of (v_i - m) times the count of bin i is 0.
That sum is linear too. The interval has all m for which the noisy sum is within its half width.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["mean_ends", "quantile_ends"]

Array = NDArray[np.float64]

_TURNS = 30  # of the search for an end of the interval of a mean
_BELIEVED = 1e-9  # of N: rounding of floats must not rule out a bin


def quantile_ends(estimates: Array, share: float, width: Callable[[int], float], deviation: float) -> tuple[int, int]:
    """The first and the last bin that are not ruled out. `width(k)` is the half width of the excess of bin k, and
    `deviation` is at least the standard deviation of every excess.

    Widths are computed only where they can matter: a bin whose excess is beyond 30 deviations is ruled out by
    Chebyshev's inequality at every level up to 0.998; the caller allows no larger one.
    """
    sums = np.cumsum(estimates)
    excess = sums - share * sums[-1]
    slack = _BELIEVED * max(1.0, abs(float(sums[-1])))
    known: dict[int, float] = {}

    def reach(k: int) -> float:
        if abs(float(excess[k])) > 30.0 * deviation:
            return 30.0 * deviation
        if k not in known:
            known[k] = width(k) + slack
        return known[k]

    def likely(k: int) -> bool:
        if k < excess.size - 1 and excess[k] < -reach(k):  # all rows are in the bins up to the last
            return False
        return k == 0 or bool(excess[k - 1] <= reach(k - 1))

    first = next((k for k in range(excess.size) if likely(k)), 0)
    last = next((k for k in range(excess.size - 1, first - 1, -1) if likely(k)), excess.size - 1)
    return first, last


def mean_ends(estimates: Array, values: Array, width: Callable[[Array], float]) -> tuple[float, float, float]:
    """The mean of the values over all rows, and the ends of its interval. `width(weights)` is the half width of a
    weighted sum of the bins. The interval lies between the least and the largest value.
    """
    low, high, rows = float(values.min()), float(values.max()), float(estimates.sum())
    if rows <= 0.0:
        return 0.5 * (low + high), low, high
    mean = min(max(float(values @ estimates) / rows, low), high)

    def likely(m: float) -> bool:
        return abs(float((values - m) @ estimates)) <= width(values - m)

    def end(outer: float) -> float:
        if likely(outer):
            return outer
        inside, outside = mean, outer
        for _ in range(_TURNS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if likely(middle) else (inside, middle)
        return outside

    return mean, end(low), end(high)
