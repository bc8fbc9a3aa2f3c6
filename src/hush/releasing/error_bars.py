"""ErrorBars: how far a released number can be from the true number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, must_be_level
from hush.noise.contract import Law, Noise
from hush.numerics.rounding import CLOSED_FORM, down
from hush.releasing.sum_error import reach_of_all, reach_of_sum
from hush.sampling.exact import law_of

__all__ = ["ErrorBars", "Total"]

_MOST = 5000  # numbers whose covariance is written out


class Total(NamedTuple):
    """A weighted sum of released numbers, and the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ErrorBars:
    """How far a released number can be from the true number: the standard deviation of the noise, and half widths of
    intervals. For several numbers also half widths that hold for all of them at once, and for weighted sums of them.
    Where the numbers of a joint noise have different laws, a single figure is the largest of theirs.

    Intervals include the rounding to the lattice. The standard deviation is infinite for noise without a variance (a
    stable law).
    """

    noise: Law = field(repr=False)
    step: float = field(repr=False)
    rounded: bool = field(repr=False)
    #: How many numbers are released together.
    size: int = field(default=1, repr=False)
    #: The noise of all numbers together, if it is a joint noise; None if the numbers are independent.
    joint: Noise | None = field(default=None, repr=False)

    @classmethod
    def of(cls, noise: Noise, step: float, rounded: bool, size: int) -> ErrorBars:
        """The error bars of a release of `size` numbers."""
        return cls(noise.marginal, step, rounded, size, None if noise.dimension is None else noise)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The law of each number; a single one if all numbers have the same."""
        every = tuple(self.joint.marginal_of(place) for place in range(self.size)) if self.joint is not None else ()
        return every if len(set(every)) > 1 else (self.noise,)

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(max(law.variance for law in set(self.laws)))

    @property
    def half_width95(self) -> float:
        return self.half_width(0.95)

    def half_width(self, level: float) -> float:
        """The w with P(|released - true| <= w) >= level, for each number by itself."""
        return float(self.half_widths(level).max())

    def half_widths(self, level: float) -> NDArray[np.float64]:
        """The least such w of each number, or one w if all numbers have the same law."""
        outside = down(1.0 - must_be_level(level), CLOSED_FORM)
        steps = {law: law_of(law, self.step).steps_beyond(outside) for law in set(self.laws)}
        return (np.array([steps[law] for law in self.laws]) + (0.5 if self.rounded else 0.0)) * self.step

    def band_half_width(self, level: float) -> float:
        """The w with P(|released - true| <= w for all numbers) >= level.

        Exact for independent numbers and for `Cube` and `Interval` noise; otherwise a bound (Bonferroni).
        """
        allowed = down(1.0 - must_be_level(level), CLOSED_FORM)
        reach = reach_of_all(self.joint or self.noise, self.step, self.size, allowed)
        return reach + (0.5 * self.step if self.rounded else 0.0)

    def sum_half_width(self, weights: Any, level: float) -> float:
        """The w with P(|weighted sum of the released numbers - that of the true ones| <= w) >= level.

        By the law of the sum where it is known (independent numbers, `Cube` and `Interval` noise), otherwise by a
        bound.
        """
        allowed = down(1.0 - must_be_level(level), CLOSED_FORM)
        given = np.asarray(weights, dtype=np.float64).ravel()
        if given.size != self.size or not np.isfinite(given).all():
            raise InvalidParameter(f"weights must be {self.size} finite numbers, one for each released number.")
        reach = reach_of_sum(self.joint or self.noise, self.step, tuple(given.tolist()), allowed)
        return reach + (0.5 * self.step * float(np.abs(given).sum()) if self.rounded else 0.0)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """E (error)(error)^T of the noise, a matrix with a row for each released number."""
        if self.joint is not None:
            return np.asarray(self.joint.covariance, dtype=np.float64)
        if self.size > _MOST:
            raise Unsupported(
                f"the errors of these {self.size} numbers are independent; write error.standard_deviation**2 instead "
                "of their covariance matrix."
            )
        return np.eye(self.size) * self.noise.variance

    @property
    def variance_around_mean(self) -> float:
        """The expected squared error of a number beyond the error of the mean of all numbers: a common error drops out.

        It is the variance for independent numbers.
        """
        if self.joint is None or self.size == 1:
            return float(self.noise.variance)
        matrix = self.covariance
        return float((np.trace(matrix) - matrix.sum() / self.size) / (self.size - 1))

    @property
    def dependence(self) -> str:
        """How the errors of the numbers depend on each other, in one sentence; empty if they are independent."""
        if self.joint is None or self.size == 1:
            return ""
        start = f"these {self.size} numbers share one draw of noise: their errors are dependent"
        try:
            matrix = self.covariance
        except Unsupported:
            return start
        scale = np.sqrt(np.diag(matrix))
        if not (np.isfinite(matrix).all() and (scale > 0.0).all()):
            return start
        beside = (matrix / np.outer(scale, scale))[np.triu_indices(self.size, 1)]
        low, high = f"{beside.min():.2g}", f"{beside.max():.2g}"
        shown = low if low == high else f"{low} to {high}"
        return f"{start}, but not correlated" if not beside.any() else f"{start}, with correlation {shown}"

    def __repr__(self) -> str:
        return f"ErrorBars(standard_deviation={self.standard_deviation:.6g}, half_width95={self.half_width95:.6g})"
