"""Gaussian noise on combinations of periods: one number with one fresh normal draw in each period.

The matrix C of whole coefficients is lower triangular with a positive diagonal. Measured are w = Cx + z, rounded. The
counts are estimated by C^-1 w, period by period, so an estimate never changes later. The correlation of the errors of
totals comes from C: no noise is stored, and no two draws depend on each other. That later counts may depend on earlier
answers is shown by Denisov et al. 2022. (Henzinger, Upadhyay and Upadhyay 2023 for the square root.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.privacy.charge import Budget, Charge
from hush.stream.rows import SCALE, LiftedRows, LowerRows, Rows, ScaledRows, ToeplitzRows, rows_from
from hush.stream.strategy import Measured, StreamStrategy, limited, paid_part
from hush.workload.dense import dense_search
from hush.workload.strategy import gaussian_part
from hush.workload.sum_law import SumLaw

__all__ = ["MatrixStream", "dense_rows", "lifted_rows", "matrix_stream", "must_have_delta"]
__all__ += ["normalised_rows", "square_root_rows"]

Array = NDArray[np.float64]

_MOST_DENSE = 512  # periods for which the best matrix is searched
_EXPONENT = 3.0  # of the steps of that search
_GAP = 2e-4  # relative, between the error of that matrix and a lower bound on the error of all matrices
_EXTRA = 180  # bits of the coefficients of the square root beside those that are kept


@dataclass(frozen=True, eq=False)
class MatrixStream(StreamStrategy):
    """One number in each period: the row of the matrix times the counts so far, with Gaussian noise."""

    rows: Rows = field(kw_only=True, repr=False)
    appears: int = field(kw_only=True)
    apart: int = field(kw_only=True)

    def measured(self, counts: Sequence[int]) -> list[Measured]:
        row = self.rows.row(len(counts)).tolist()
        return [(0, limited(sum(k * int(count) for k, count in zip(row, counts, strict=True) if k)))]

    def estimated(self, noisy: Sequence[Sequence[int]]) -> Array:
        found = np.zeros(len(noisy))
        for t, (number,) in enumerate(noisy, 1):
            row = self.rows.row(t)
            found[t - 1] = (number - float(row[:-1] @ found[: t - 1])) / float(row[-1])
        return found

    def _weights(self, weights: Array) -> Array:
        """The weight of each measured number in the estimate of a weighted sum of counts: y with C'y = weights."""
        left, found = np.array(weights, dtype=np.float64), np.zeros(len(weights))
        for t in range(len(left), 0, -1):
            row = self.rows.row(t)
            found[t - 1] = left[t - 1] / float(row[-1])
            left[: t - 1] -= found[t - 1] * row[:-1]
        return found

    def law(self, weights: Array) -> SumLaw:
        return SumLaw(float((self._weights(weights) ** 2).sum()) * float(np.max(self.noise.variance)))

    def rounding(self, weights: Array) -> float:
        return 0.5 * float(np.abs(self._weights(weights)).sum())

    def variances(self, window: int) -> Array:
        return self.rows.unit_variances(window) * (float(np.max(self.noise.variance)) + 1.0 / 12.0)

    def to_plain(self) -> dict[str, Any]:
        plain = {"kind": "matrix", "name": self.name, "appears": self.appears, "apart": self.apart}
        return plain | {"matrix": self.rows.to_plain()}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], paid: Sequence[Charge]) -> MatrixStream:
        """The strategy that `to_plain` stored, with the noise that was paid for."""
        rows = rows_from(values["matrix"])
        part, about = paid_part(paid[0], rows.horizon), {"appears": int(values["appears"]), "apart": values["apart"]}
        return cls(values["name"], (part,), rows.horizon, math.nan, rows=rows, **about)


def must_have_delta(budget: Budget) -> None:
    """Reject a budget with delta = 0, which no Gaussian noise meets."""
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")


def matrix_stream(name: str, rows: Rows, budget: Budget, appears: int, apart: int) -> MatrixStream:
    """Gaussian noise on these rows for people who appear at most `appears` times, at least `apart` periods apart."""
    must_have_delta(budget)
    length = math.sqrt(rows.squared_length(appears, apart))
    part = gaussian_part(length, rows.horizon, budget)
    return MatrixStream(name, (part,), rows.horizon, math.nan, rows=rows, appears=appears, apart=apart)


# -- matrices ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _root_coefficients(horizon: int) -> tuple[int, ...]:
    """binomial(2 j, j)/4^j in units of 2^-20, rounded down up to the last of 180 more bits."""
    exact, found = SCALE << _EXTRA, [SCALE]
    for j in range(1, horizon):
        exact = exact * (2 * j - 1) // (2 * j)
        found.append(exact >> _EXTRA)
    return tuple(found)


def square_root_rows(horizon: int) -> ToeplitzRows:
    """The square root of the matrix of running totals: the coefficients of (1 - x)^(-1/2)."""
    return ToeplitzRows(horizon, _root_coefficients(horizon))


def normalised_rows(horizon: int) -> ScaledRows:
    """The square root with columns of equal length. All numbers are whole, so they are the same on every machine."""
    coefficients = _root_coefficients(horizon)
    squares, factors = 0, []
    for coefficient in coefficients:  # the last period has the shortest column
        squares += coefficient**2
        factors.append(math.isqrt(SCALE**4 // squares))
    return ScaledRows(horizon, coefficients, tuple(factors[::-1]))


def _gram(horizon: int, window: int) -> Array:
    """W'W for the totals of the last `window` periods."""
    full = np.tri(horizon) - np.tri(horizon, k=-window)
    return np.asarray(full.T @ full)


@lru_cache(maxsize=4)
def _dense_weights(horizon: int, window: int) -> tuple[Array, Array]:
    """The best Gram matrix and the vector of its search, which starts from that of half as many periods."""
    start = np.ones(horizon)
    if horizon >= 32:
        start = _stretched(_dense_weights(horizon // 2, min(max(window // 2, 1), horizon // 2))[1], horizon)
    found = dense_search(_gram(horizon, window), start, _GAP, _EXPONENT)
    return found.gram, found.weights


def _stretched(values: Array, length: int) -> Array:
    """Positive values continued to more places, in logarithms of the distances from both ends."""

    def places(count: int) -> Array:
        i = np.arange(count) + 0.5
        return np.log(i / (count - i))

    old, new, logs = places(values.size), places(length), np.log(values)
    found = np.interp(new, old, logs)
    for outside, a, b in ((new < old[0], 0, 1), (new > old[-1], -1, -2)):
        found[outside] = logs[a] + (new[outside] - old[a]) * (logs[b] - logs[a]) / (old[b] - old[a])
    return np.asarray(np.exp(found))


def dense_rows(horizon: int, window: int, most: float = math.inf) -> LowerRows:
    """The matrix of least mean error for people who appear once; raises if its unit error is surely above `most`."""
    if horizon > _MOST_DENSE:
        raise Unsupported(f"it is computed for at most {_MOST_DENSE} periods")
    singular = np.linalg.svd(np.tri(horizon) - np.tri(horizon, k=-window), compute_uv=False)
    bound = float(singular.sum()) ** 2 / horizon**2
    if bound > most:
        raise Unsupported(f"its error is at least {bound / most:.3g} times that of blocks")
    gram = _dense_weights(horizon, window)[0]
    lower = np.linalg.cholesky(gram[::-1, ::-1])[::-1, ::-1].T  # C with C'C = gram
    return LowerRows(np.rint(SCALE * np.tril(lower)).astype(np.int64))


def lifted_rows(horizon: int, window: int, appears: int) -> LiftedRows:
    """Rows with C'C near I - b J, J the matrix of ones, for the b of least error.

    A person who is in n periods moves Cx by the squared length n - b n^2. The error of the total of w periods is w plus
    w^2 b/(1 - b horizon). Row by row from the last, d^2 = 1 - b and o = b/d, and the other rows have b/(1 - b).
    """
    n, w = np.arange(1.0, appears + 1.0), np.minimum(np.arange(1.0, horizon + 1.0), window)

    def error(share: float) -> float:
        b = share / horizon
        return float((n - b * n**2).max() * (w + w**2 * b / (1.0 - share)).mean())

    shares = np.linspace(0.0, 0.999, 400)
    share = min(shares.tolist(), key=error)
    if share == 0.0:
        raise Unsupported("it is not better than noise on each period")
    diagonal, beside, b = [], [], share / horizon
    for t in range(horizon, 0, -1):
        d = math.sqrt(1.0 - b)
        diagonal.append(round(SCALE * d))
        beside.append(round(SCALE * b / d) if t > 1 else 0)
        b = b / (1.0 - b)
    return LiftedRows(tuple(diagonal[::-1]), tuple(beside[::-1]))
