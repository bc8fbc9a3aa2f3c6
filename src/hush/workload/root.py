"""The square root of the cumulative sums: Gaussian noise for long lines.

The matrix of cumulative sums has ones on and below its diagonal. Its coefficients are those of 1/(1 - x). The measured
combinations have the coefficients of the root of it, 1, 1/2, 3/8, 5/16, ... (Henzinger, Upadhyay and Upadhyay 2023;
Fichtenberger, Henzinger and Upadhyay 2023), times a whole number and rounded: c_0 >= c_1 >= ... >= 0. Combination t is
c_0 x_t + c_1 x_(t-1) + ... A row of a person in bin s moves the combinations s, s + 1, ... by c_0, c_1, ... So the
move is longest for s = 1, and the squares of all c_j, added in whole numbers, bound it.

The combinations determine the bins: the series of the bins is that of the combinations times 1/c(x). The estimate of a
cumulative count is a combination of noisy numbers with the coefficients u(x) = 1/((1 - x) c(x)), which are nearly those
of the root again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics import special
from hush.numerics.ball import flint_module
from hush.privacy.charge import Budget
from hush.workload.strategy import Strategy, gaussian_part, times_weights
from hush.workload.sum_law import SumLaw

__all__ = ["RootStrategy", "root_strategy"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_SCALE = 1 << 20  # the whole number that stands for a coefficient of 1
_TURNS = 2  # of the correction of 1/c(x) for rounded coefficients: each squares a relative error of about 1e-6
_LEAST_BINS = 257  # shorter lines have the best Gaussian strategy of all (dense.py)


def product(a: Array, b: Array, length: int) -> Array:
    """The first coefficients of the product of two series, by Fourier transforms."""
    points = special.next_fast_len(len(a) + len(b) - 1)
    return np.asarray(special.irfft(special.rfft(a, points) * special.rfft(b, points), points)[:length])


@lru_cache(maxsize=4)
def _root(bins: int) -> tuple[Whole, Array]:
    """The whole coefficients c_j, and those of _SCALE/c(x)."""
    j = np.arange(1.0, bins)
    exact = np.concatenate([[1.0], np.cumprod((2.0 * j - 1.0) / (2.0 * j))])
    rounded = np.rint(_SCALE * exact).astype(np.int64)
    inverse = np.concatenate([[1.0], np.cumprod((2.0 * j - 3.0) / (2.0 * j))])
    for _ in range(_TURNS):  # Newton's step for the inverse: b (2 - c b)
        error = -product(rounded / _SCALE, inverse, bins)
        error[0] += 1.0
        inverse = inverse + product(inverse, error, bins)
    return rounded, inverse


@dataclass(frozen=True, eq=False)
class RootStrategy(Strategy):
    """Combinations of the bins with the coefficients of the root, and Gaussian noise of one law on all of them."""

    bins: int = field(kw_only=True)

    def measured(self, data: Whole) -> list[Whole]:
        """Exact: at most 2^40 rows times coefficients of at most 2^20 stay below 2^61."""
        series = flint_module().fmpz_poly
        coefficients, _ = _root(self.bins)
        found = (series(coefficients.tolist()) * series(data.tolist())).coeffs()[: self.bins]
        full = np.zeros(self.bins, dtype=np.int64)
        full[: len(found)] = [int(value) for value in found]
        return [times_weights(full, np.array(1))]

    def estimated(self, noisy: Sequence[Whole]) -> Array:
        return product(noisy[0].astype(np.float64) / _SCALE, _root(self.bins)[1], self.bins)

    @property
    def _unit(self) -> float:
        """The variance of a measured number, in units of a coefficient of 1."""
        return float(np.max(self.noise.variance)) / _SCALE**2

    @cached_property
    def prefix_factors(self) -> Array:
        """u_j: the estimate of the count of the first k bins is the sum of u_(k-t) times noisy number t."""
        return np.cumsum(_root(self.bins)[1])

    def prefix_variances(self) -> Array:
        """The variance of the count of the first k bins, for k = 1, 2, ..."""
        return self._unit * np.cumsum(self.prefix_factors**2)

    def covariances_with_all(self) -> Array:
        """The covariance of the count of the first k bins with the count of all bins, for k = 1, 2, ..."""
        u = self.prefix_factors
        return self._unit * product(u, u[::-1], self.bins)

    def variance_of_sum(self) -> float:
        """The variance of the sum of all cumulative counts."""
        return self._unit * float((np.cumsum(self.prefix_factors) ** 2).sum())

    def variance_of(self, weights: Array) -> float:
        """The variance of a weighted sum of the bins."""
        factors = product(np.asarray(weights, np.float64)[::-1], _root(self.bins)[1], self.bins)
        return self._unit * float(factors @ factors)

    def law(self, weights: Array) -> SumLaw:
        """The law of the error of a weighted sum of the bins."""
        return SumLaw(self.variance_of(weights))


def root_strategy(line: Any, budget: Budget, moves: int) -> RootStrategy:
    """The root for a long line; `line.root_error` adds up the errors of its questions."""
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")
    if line.bins < _LEAST_BINS:
        raise Unsupported(f"lines of fewer than {_LEAST_BINS} bins have better combinations")
    squares = int((_root(line.bins)[0] ** 2).sum())  # at most 2^43: exact
    part = gaussian_part(moves * math.sqrt(squares), line.bins, budget)
    made = RootStrategy("Gaussian noise on the root of cumulative sums", (part,), math.nan, bins=line.bins)
    return RootStrategy(made.name, made.parts, line.root_error(made) / line.questions, bins=line.bins)
