"""`LineAnswer`: private counts of the bins of a line, with cumulative counts, ranges and quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, must_be_level, probabilities, reals, whole
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.workload.consistent import around, non_negative_fit, whole_steps_of
from hush.workload.line_intervals import mean_ends, quantile_ends

__all__ = ["LineAnswer"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_TESTED = 4096  # bins for which an interval of a quantile is computed


@dataclass(frozen=True, eq=False, repr=False)
class LineAnswer:
    """The answer to `Prefixes`, `Ranges`, `Quantiles` or `Questions`: all of it is post-processing of noisy numbers.

    `estimates` has the unbiased estimate of each bin. `histogram`, `prefixes` and ranges in whole numbers agree with
    each other to the last integer: prefix sums are rounded once, and all other counts are differences of them.
    """

    workload: Any
    strategy: Any
    estimates: Array = field(repr=False)
    receipt: Receipt

    @cached_property
    def histogram(self) -> Whole:
        """The count of each bin, in whole numbers; it may be negative."""
        return whole_steps_of(self.estimates)

    @property
    def prefixes(self) -> Whole:
        """The count of the first k bins, for k = 1, ..., bins, in whole numbers."""
        return np.cumsum(self.histogram)

    @property
    def non_negative(self) -> Whole:
        """The closest counts without negative ones that have the same total, in whole numbers."""
        total = float(max(int(self.histogram.sum()), 0))
        return whole_steps_of(non_negative_fit(self.estimates, total))

    @property
    def answers(self) -> Array:
        """The unbiased estimates of all questions of the workload, in their order, for short lines."""
        return np.asarray(self.workload.matrix() @ self.estimates)

    def range(self, start: int, stop: int, *, level: float = 0.95, non_negative: bool = False) -> Total:
        """The number of rows in the bins start, ..., stop - 1, not rounded, with an interval. non_negative=True cuts
        both at 0.
        """
        bins = self.workload.bins
        start, stop = whole("start", start, 0), whole("stop", stop, 1)
        if not start < stop <= bins:
            raise InvalidParameter(f"a range needs 0 <= start < stop <= {bins}; got start={start} and stop={stop}.")
        weights = np.zeros(bins)
        weights[start:stop] = 1.0
        return around(float(weights @ self.estimates), self.strategy.law(weights).half_width(level), non_negative)

    def total(self, weights: Any, *, level: float = 0.95) -> Total:
        """A weighted sum of the counts of all bins, with an interval."""
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (self.workload.bins,) or not np.isfinite(given).all():
            raise InvalidParameter(f"weights must be {self.workload.bins} finite numbers, one for each bin.")
        return around(float(given @ self.estimates), self.strategy.law(given).half_width(level))

    def quantile(self, share: Any = 0.5) -> Any:
        """The bin in which the cumulative count reaches this share of all rows: the first bin of an increasing fit."""
        wanted = probabilities("share", share)
        fitted = np.cumsum(self.non_negative)
        found = np.searchsorted(fitted, wanted * max(int(fitted[-1]), 1) - 1e-9)
        found = np.minimum(found, self.workload.bins - 1)
        return int(found) if found.ndim == 0 else found

    def quantile_interval(self, share: float = 0.5, *, level: float = 0.95) -> tuple[int, int]:
        """The first and the last bin of an interval that contains the bin of this quantile of the rows with at least
        this probability.
        """
        wanted, bins = float(probabilities("share", share)), self.workload.bins
        outside = 1.0 - must_be_level(level)
        if bins > _MOST_TESTED or outside < 0.002:
            raise InvalidParameter(
                f"an interval of a quantile needs at most {_MOST_TESTED} bins and a level of at most 0.998."
            )

        def weights(k: int) -> Array:
            return (np.arange(bins) <= k).astype(np.float64) - wanted

        deviation = math.sqrt(max(self.strategy.variance_of(weights(k)) for k in range(bins)))
        return quantile_ends(
            self.estimates, wanted, lambda k: float(self.strategy.law(weights(k)).half_width(level)), deviation
        )

    def mean(self, values: Any, *, level: float = 0.95) -> Total:
        """The mean over all rows of a value that is the same for all rows of a bin, with an interval."""
        given = reals("values", values)
        if given.shape != (self.workload.bins,):
            raise InvalidParameter(f"values must be {self.workload.bins} numbers, one for each bin.")
        must_be_level(level)
        return Total(*mean_ends(self.estimates, given, lambda w: float(self.strategy.law(w).half_width(level))))

    def __repr__(self) -> str:
        return f"LineAnswer: {self.workload}; {self.strategy.name}; {self.receipt.guarantee}"
