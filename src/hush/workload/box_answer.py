"""`BoxesAnswer`: private counts of the cells of a grid, with intervals for every box."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.workload.box_strategy import BoxStrategy
from hush.workload.consistent import around, non_negative_fit, whole_steps_of

__all__ = ["BoxesAnswer"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class BoxesAnswer:
    """The answer to `Boxes`. Everything here is post-processing of the noisy numbers.

    `estimates` has the unbiased estimate of each cell, with an axis for each column. `histogram` has whole numbers;
    the count of a box in whole numbers is the sum of its cells.
    """

    workload: Any
    strategy: BoxStrategy
    estimates: Array = field(repr=False)
    receipt: Receipt

    @cached_property
    def histogram(self) -> Whole:
        """The count of each cell, in whole numbers; it may be negative. Cumulative counts are rounded once."""
        sums = self.estimates
        for axis in range(sums.ndim):
            sums = np.cumsum(sums, axis=axis)
        found: Whole = np.rint(sums).astype(np.int64)
        for axis in range(found.ndim):
            found = np.diff(found, axis=axis, prepend=0)
        return found

    @property
    def total(self) -> int:
        """The number of rows."""
        return int(self.histogram.sum())

    @property
    def non_negative(self) -> Whole:
        """The closest counts without negative ones that have the same total, in whole numbers."""
        fitted = non_negative_fit(self.estimates, float(max(self.total, 0)))
        return whole_steps_of(fitted.ravel()).reshape(fitted.shape)

    def box(self, *, level: float = 0.95, non_negative: bool = False, **places: Any) -> Total:
        """The number of rows in a box, not rounded, with an interval: box(age=(3, 7), sex=1) has the bins 3 to 6 of age
        and the value 1 of sex. A column that is not named has all its bins. non_negative=True cuts it at 0.
        """
        weights = [np.ones(n) for n in self.workload.shape]
        for name, given in places.items():
            if name not in self.workload.names:
                raise InvalidParameter(f"{shown(name)} is not one of the columns {list(self.workload.names)}.")
            axis = self.workload.names.index(name)
            weights[axis] = _bins(name, given, self.workload.shape[axis])
        value: Any = self.estimates
        for one in weights:
            value = np.tensordot(one, value, axes=(0, 0))
        width = self.strategy.law(weights).half_width(level)
        return around(float(value), width, non_negative)

    def __repr__(self) -> str:
        return f"BoxesAnswer: {self.workload}; {self.strategy.name}; {self.receipt.guarantee}"


def _bins(name: str, given: Any, bins: int) -> Array:
    """1 for the bins of a range, or for one bin, and 0 for all others."""
    ends = given if isinstance(given, tuple) and len(given) == 2 else (given, given)
    if not all(isinstance(end, int | np.integer) for end in ends):
        raise InvalidParameter(f"{name} must be a bin or a range (start, stop) of bins, got {shown(given)}.")
    start, stop = int(ends[0]), int(ends[1]) + (ends[0] is given)
    if not 0 <= start < stop <= bins:
        raise InvalidParameter(f"{name} must be a bin or a range with 0 <= start < stop <= {bins}, got {shown(given)}.")
    found = np.zeros(bins)
    found[start:stop] = 1.0
    return found
