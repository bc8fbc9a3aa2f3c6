"""ErrorBars: how far a released number can be from the true number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
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

    Intervals include the rounding to the lattice. The standard deviation is infinite for noise without a variance (a
    stable law). If the noise of the numbers differs, deviations and widths are arrays with one entry for each number.
    """

    noise: Law = field(repr=False)
    step: float = field(repr=False)
    rounded: bool = field(repr=False)
    #: How many numbers are released together.
    size: int = field(default=1, repr=False)
    #: The noise of all numbers together, if it is a joint noise; None if the numbers are independent.
    joint: Noise | None = field(default=None, repr=False)
    #: What widths and deviations are multiplied by, if the numbers have different factors; else None.
    factors: tuple[float, ...] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, noise: Noise, step: float, rounded: bool, size: int) -> ErrorBars:
        """The error bars of a release of `size` numbers."""
        base = noise.base
        return cls(base.marginal, step, rounded, size, None if base.dimension is None else base, noise.factors)

    @property
    def _laws(self) -> list[Law]:
        """The law of each number before it is multiplied by its factor; one law if all have the same."""
        each = [] if self.joint is None else [self.joint.marginal_of(place) for place in range(self.size)]
        return each if len(set(each)) > 1 else [self.noise]

    def _each(self, numbers: Any) -> Any:
        """A number for all, or an array of one for each number, times the factors."""
        array = np.asarray(numbers, dtype=np.float64) * (1.0 if self.factors is None else np.array(self.factors))
        return float(array[0]) if array.size == 1 else array

    @property
    def standard_deviation(self) -> Any:
        return self._each([math.sqrt(law.variance) for law in self._laws])

    @property
    def half_width95(self) -> Any:
        return self.half_width(0.95)

    def beyond(self, probability: float) -> Any:
        """The value that the noise of a number exceeds with this probability; an array if the numbers differ."""
        return self._each([float(np.asarray(law.isf(probability))) for law in self._laws])

    def half_width(self, level: float) -> Any:
        """The w with P(|released - true| <= w) >= level, for one number; an array if the numbers differ."""
        outside = down(1.0 - must_be_level(level), CLOSED_FORM)
        reach = [law_of(law, self.step).steps_beyond(outside) for law in self._laws]
        return self._each([(steps + (0.5 if self.rounded else 0.0)) * self.step for steps in reach])

    def band_half_width(self, level: float) -> Any:
        """The w with P(|released - true| <= w for all numbers) >= level; an array if the numbers differ.

        Exact for independent numbers and for `Cube` and `Interval` noise; otherwise a bound (Bonferroni).
        """
        allowed = down(1.0 - must_be_level(level), CLOSED_FORM)
        reach = reach_of_all(self.joint or self.noise, self.step, self.size, allowed)
        return self._each([one + (0.5 * self.step if self.rounded else 0.0) for one in reach])

    def sum_half_width(self, weights: Any, level: float) -> float:
        """The w with P(|weighted sum of the released numbers - that of the true ones| <= w) >= level.

        By the law of the sum where it is known (independent numbers, `Cube` and `Interval` noise), otherwise by a
        bound.
        """
        allowed = down(1.0 - must_be_level(level), CLOSED_FORM)
        given = np.asarray(weights, dtype=np.float64).ravel()
        if given.size != self.size or not np.isfinite(given).all():
            raise InvalidParameter(f"weights must be {self.size} finite numbers, one for each released number.")
        if self.factors is not None:
            given = given * np.array(self.factors)
        reach = reach_of_sum(self.joint or self.noise, self.step, tuple(given.tolist()), allowed)
        return reach + (0.5 * self.step * float(np.abs(given).sum()) if self.rounded else 0.0)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """E (error)(error)^T of the noise, a matrix with a row for each released number."""
        if self.joint is not None:
            matrix = np.asarray(self.joint.covariance, dtype=np.float64)
            return matrix if self.factors is None else matrix * np.outer(self.factors, self.factors)
        if self.size > _MOST:
            raise Unsupported(
                f"the errors of these {self.size} numbers are independent; write error.standard_deviation**2 instead "
                "of their covariance matrix."
            )
        return np.diag(np.resize(np.asarray(self.standard_deviation) ** 2, self.size))

    @property
    def variance_around_mean(self) -> float:
        """The expected squared error of a number beyond the error of the mean of all numbers: a common error drops out.

        It is the variance for independent numbers.
        """
        if self.factors is not None or len(self._laws) > 1:
            raise Unsupported("the noise of these numbers differs, and this method is for equal noise; leave it out.")
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
        deviation, width = (np.atleast_1d(v) for v in (self.standard_deviation, self.half_width95))
        shown = [", ".join(f"{v:.6g}" for v in each.ravel()) for each in (deviation, width)]
        marks = "{}" if deviation.size == 1 else "[{}]"
        return f"ErrorBars(standard_deviation={marks.format(shown[0])}, half_width95={marks.format(shown[1])})"
