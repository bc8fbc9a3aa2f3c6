"""Lower triangular matrices of whole numbers, row by row: what is measured in each period under Gaussian noise.

`squared_length(appears, apart)` bounds the squared length by which one person moves the vector of all measured numbers.
It is computed in whole numbers for the matrix that is used, so rounding its entries costs no privacy. The proofs are in
docs/maths/stream.md.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, LedgerError, Unsupported, shown

__all__ = ["SCALE", "LiftedRows", "LowerRows", "Rows", "ScaledRows", "ToeplitzRows", "coming_back", "inverse_series"]
__all__ += ["most_appearances", "rows_from"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The whole number that stands for a coefficient of 1.
SCALE = 1 << 20


def most_appearances(horizon: int, appears: int, apart: int) -> int:
    """How often one person can be in `horizon` periods, if two appearances are at least `apart` periods apart."""
    return min(appears, -(-horizon // apart))


class Rows:
    """The matrix: `row(t)` has the coefficients of the periods 1, ..., t in the number measured in period t."""

    horizon: int

    def row(self, t: int) -> Whole:
        """The coefficients of the periods 1, ..., t."""
        raise Unsupported(f"{type(self).__name__} has no rows.")

    def squared_length(self, appears: int, apart: int) -> int:
        """A bound on the squared length of the move of all measured numbers by one person."""
        raise Unsupported(f"{type(self).__name__} has no sensitivity.")

    def unit_variances(self, window: int) -> Array:
        """The variances of the totals of the last `window` periods if all measured numbers have variance 1."""
        full = np.zeros((self.horizon, self.horizon))
        for t in range(1, self.horizon + 1):
            full[t - 1, :t] = self.row(t)
        inverse = np.cumsum(np.linalg.inv(full), axis=0)
        inverse[window:] -= inverse[:-window].copy()
        return np.asarray((inverse**2).sum(axis=1))

    def to_plain(self) -> dict[str, Any]:
        """The numbers that define the matrix."""
        raise Unsupported(f"{type(self).__name__} cannot be stored.")


def _window_squares(inverse: Array, window: int) -> Array:
    """The sums of squares of the rows of W C^-1 for Toeplitz C, whose inverse has this first column."""
    sums = np.cumsum(inverse)
    sums[window:] -= sums[:-window].copy()
    return np.cumsum(sums**2)


def inverse_series(coefficients: Array, horizon: int) -> Array:
    """The first coefficients of 1/c(x)."""
    first, rest = coefficients[0], coefficients[1:horizon] / coefficients[0]
    found = np.zeros(horizon)
    found[0] = 1.0 / first
    for n in range(1, horizon):
        reach = min(n, rest.size)
        found[n] = -rest[:reach] @ found[n - reach : n][::-1]
    return found


def coming_back(coefficients: Sequence[int] | Array, horizon: int, appears: int, apart: int) -> Any:
    """The sum of the columns 1, 1 + apart, 1 + 2 apart, ...: the move of a person who appears as early as allowed."""
    given = np.asarray(coefficients)[:horizon]
    total = np.zeros(horizon, dtype=given.dtype)
    for place in range(most_appearances(horizon, appears, apart)):
        start = place * apart
        reach = min(horizon - start, given.size)
        total[start : start + reach] += given[:reach]
    return total


@dataclass(frozen=True, eq=False)
class ToeplitzRows(Rows):
    """c_(t-s) for periods s <= t, with whole coefficients c_0 >= c_1 >= ... >= 0; those that are not listed are 0."""

    horizon: int
    coefficients: tuple[int, ...]

    def __post_init__(self) -> None:
        values = (*self.coefficients, 0)
        if any(before < after for before, after in pairwise(values)) or values[0] < 1:
            raise InvalidParameter("the coefficients must be positive or 0 and must not rise.")

    def row(self, t: int) -> Whole:
        found = np.zeros(t, dtype=np.int64)
        kept = self.coefficients[:t]
        found[t - len(kept) :] = kept[::-1]
        return found

    def squared_length(self, appears: int, apart: int) -> int:
        return sum(int(move) ** 2 for move in coming_back(self.coefficients, self.horizon, appears, apart))

    def unit_variances(self, window: int) -> Array:
        inverse = inverse_series(np.array(self.coefficients, dtype=np.float64), self.horizon)
        return _window_squares(inverse, window)

    def to_plain(self) -> dict[str, Any]:
        return {"rows": "toeplitz", "horizon": self.horizon, "coefficients": list(self.coefficients)}


@dataclass(frozen=True, eq=False)
class ScaledRows(Rows):
    """c_(t-s) g_s/2^20, rounded down, for periods s <= t: Toeplitz columns, each with a factor of its own."""

    horizon: int
    coefficients: tuple[int, ...]
    factors: tuple[int, ...]

    def row(self, t: int) -> Whole:
        first = np.array(self.coefficients[:t][::-1], dtype=np.int64)
        return first * np.array(self.factors[:t], dtype=np.int64) // SCALE

    def squared_length(self, appears: int, apart: int) -> int:
        if appears > 1:
            raise Unsupported("it is for people who appear once")
        given, most = np.array(self.coefficients, dtype=np.int64), 0
        for place, factor in enumerate(self.factors):
            column = given[: self.horizon - place] * factor // SCALE
            most = max(most, int((column**2).sum()))  # at most 2^42 each, so the sum is exact up to 2^20 periods
        return most

    def unit_variances(self, window: int) -> Array:
        inverse = inverse_series(np.array(self.coefficients, dtype=np.float64), self.horizon)[::-1]
        total, found, before = np.zeros(self.horizon), np.zeros(self.horizon), []
        for t in range(1, self.horizon + 1):
            step = inverse[self.horizon - t :] * (SCALE / self.factors[t - 1])
            total[:t] += step
            if window < self.horizon:
                before.append(step)
                if t > window:
                    total[: t - window] -= before[t - window - 1]
            found[t - 1] = float(total[:t] @ total[:t])
        return found

    def to_plain(self) -> dict[str, Any]:
        plain = {"rows": "scaled", "horizon": self.horizon, "coefficients": list(self.coefficients)}
        return plain | {"factors": list(self.factors)}


@dataclass(frozen=True, eq=False)
class LowerRows(Rows):
    """Any lower triangular matrix of whole numbers below 2^31 in absolute value."""

    matrix: Whole

    @property
    def horizon(self) -> int:  # type: ignore[override]
        """The number of periods."""
        return len(self.matrix)

    def row(self, t: int) -> Whole:
        return self.matrix[t - 1, :t]

    def squared_length(self, appears: int, apart: int) -> int:
        if appears > 1:
            raise Unsupported("it is for people who appear once")
        return max(sum(int(k) ** 2 for k in column) for column in self.matrix.T.tolist())

    def to_plain(self) -> dict[str, Any]:
        below = self.matrix[np.tril_indices(self.horizon)].astype("<i4").tobytes()
        text = base64.b64encode(zlib.compress(below, 9)).decode("ascii")
        return {"rows": "lower", "horizon": self.horizon, "entries": text}


@dataclass(frozen=True, eq=False)
class LiftedRows(Rows):
    """d_t on the diagonal, and -o_t in all earlier places of row t, o_t >= 0. It is for counts that one person raises
    by 0 or 1, never lowers.
    """

    diagonal: tuple[int, ...]
    beside: tuple[int, ...]

    @property
    def horizon(self) -> int:  # type: ignore[override]
        """The number of periods."""
        return len(self.diagonal)

    def row(self, t: int) -> Whole:
        found = np.full(t, -self.beside[t - 1], dtype=np.int64)
        found[-1] = self.diagonal[t - 1]
        return found

    def squared_length(self, appears: int, apart: int) -> int:
        """The largest sum of (d_t x_t - o_t n_t)^2 over all x of zeros and ones, n_t the appearances before t.

        It depends on the past by n_t only, so the largest sum for each n follows from those of the period before.
        """
        most = min(appears, self.horizon)
        n, best = np.arange(most + 1), np.full(most + 1, -1, dtype=np.int64)
        best[0] = 0
        rows = enumerate(zip(self.diagonal, self.beside, strict=True))
        if sum(max(d, o * min(most, t)) ** 2 for t, (d, o) in rows) >= 1 << 62:
            raise Unsupported("the coefficients are too large to be added up exactly")
        for d, o in zip(self.diagonal, self.beside, strict=True):
            stays = np.where(best >= 0, best + (o * n) ** 2, -1)
            comes = np.where(best[:-1] >= 0, best[:-1] + (d - o * n[:-1]) ** 2, -1)
            best = stays
            best[1:] = np.maximum(best[1:], comes)
        return int(best.max())

    def unit_variances(self, window: int) -> Array:
        """The estimated total N obeys N_t = N_(t-1) (1 + o_t/d_t) + w_t/d_t, so variances and covariances of totals do
        too.
        """
        d, o = np.array(self.diagonal, dtype=np.float64), np.array(self.beside, dtype=np.float64)
        growth, totals, value = 1.0 + o / d, np.zeros(self.horizon + 1), 0.0
        for t in range(self.horizon):
            value = value * growth[t] ** 2 + 1.0 / d[t] ** 2
            totals[t + 1] = value
        logs = np.concatenate([[0.0], np.cumsum(np.log(growth))])
        end = np.arange(1, self.horizon + 1)
        start = np.maximum(end - window, 0)
        return np.asarray(totals[end] + totals[start] * (1.0 - 2.0 * np.exp(logs[end] - logs[start])))

    def to_plain(self) -> dict[str, Any]:
        return {"rows": "lifted", "diagonal": list(self.diagonal), "beside": list(self.beside)}


def _lower_from(values: Mapping[str, Any]) -> LowerRows:
    horizon = int(values["horizon"])
    below = np.frombuffer(zlib.decompress(base64.b64decode(values["entries"])), dtype="<i4")
    matrix = np.zeros((horizon, horizon), dtype=np.int64)
    matrix[np.tril_indices(horizon)] = below
    return LowerRows(matrix)


_KINDS: dict[str, Callable[[Mapping[str, Any]], Rows]] = {
    "toeplitz": lambda values: ToeplitzRows(int(values["horizon"]), tuple(values["coefficients"])),
    "scaled": lambda values: ScaledRows(
        int(values["horizon"]), tuple(values["coefficients"]), tuple(values["factors"])
    ),
    "lower": _lower_from,
    "lifted": lambda values: LiftedRows(tuple(values["diagonal"]), tuple(values["beside"])),
}


def rows_from(values: Mapping[str, Any]) -> Rows:
    """The matrix that `to_plain` stored."""
    kind = values["rows"]
    if kind not in _KINDS:
        raise LedgerError(f"the ledger has a stream with rows of the unknown kind {shown(kind)}; use a newer hush.")
    return _KINDS[kind](values)
