"""Standardise columns (centre 0, spread about 1, limited) from public ranges and released moments only.

A column is first mapped from its public range to z in [-1, 1]. The sums of z and of z^2 over rows are then released
once for all columns and give a centre and a spread; all later steps use released numbers only. With the integers q =
round(G z), one replaced row moves (sum q, floor(sum q^2 / G)) by at most sqrt(4 G^2 + 1) per column: for |q - q'| = d
the second number moves by at most d (2G - d)/G + 1, and d^2 + (d (2G - d)/G + 1)^2 is largest at d = 2G. In l1 the move
is at most 9G/4 + 1, at d = 3G/2. One row more or less moves the two numbers by at most G each, because q^2/G <= G is
an integer bound: by at most sqrt(2) G together, and 2G in l1.
"""

from __future__ import annotations

import difflib
import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, reject
from hush.learn.affine import Affine
from hush.learn.budget import Part, Wish
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.whole_sums import MOST_ROWS, ExactSum
from hush.numerics.rounding import FEW_ROUNDINGS, up

__all__ = [
    "GRAIN",
    "SCALINGS",
    "UNKNOWN",
    "MomentSums",
    "Scaling",
    "Span",
    "moment_sums",
    "moments_wish",
    "private_scaling",
    "shrunk_mean",
    "span_of",
    "to_be_found",
]

Array = NDArray[np.float64]

#: Half of the range in which bounds that were not declared are searched for.
UNKNOWN = 2.0**64
SCALINGS = ("private", "public", "paper")
GRAIN = 2.0**20  # G: lattice steps in half a range
_LARGEST_BOUND, _LEAST_HALF = 1e100, 1e-100  # beyond these, products of squares overflow or underflow


@dataclass(frozen=True)
class Span:
    """The public ranges of columns. Values outside are moved to the nearest end."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half(self) -> Array:
        return 0.5 * self.high - 0.5 * self.low

    def __getitem__(self, part: slice) -> Span:
        return Span(self.low[part], self.high[part])

    def joined(self, other: Span) -> Span:
        return Span(np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high]))


def span_of(name: str, bounds: Any, width: int, names: Any = None) -> Span:
    """The public ranges: one pair for all columns, a pair for each, or a mapping from column names to pairs."""
    hint = f"write {name}=(0.0, 100.0)" + (
        ", or one (low, high) pair per column" if name == "bounds" and width > 1 else ""
    )
    if to_be_found(bounds):
        return Span(np.full(width, -UNKNOWN), np.full(width, UNKNOWN))
    if bounds is None:
        raise InvalidParameter(
            f"{name} must be given: ranges are public knowledge and are never computed from the data without noise; "
            f"{hint}, or {name}='private' to find them with a part of the budget."
        )
    if isinstance(bounds, dict):
        _must_name_columns(name, bounds, names, hint)
        bounds = [bounds[column] for column in names]
    pairs = _numbers(name, bounds, hint)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (width, 1))
    if pairs.shape != (width, 2):
        more = f", or {width} pairs" if width > 1 else ", because X has one column" if name == "bounds" else ""
        raise reject(name, bounds, f"one pair (low, high){more}", hint)
    low, high = pairs.T
    if not (np.abs(pairs) <= _LARGEST_BOUND).all():
        raise reject(name, bounds, f"pairs of finite numbers from {-_LARGEST_BOUND:g} to {_LARGEST_BOUND:g}", hint)
    if not (low < high).all():
        place = int(np.flatnonzero(~(low < high))[0])
        where = "" if width == 1 else f" (pair {place}, counted from 0, is ({low[place]:g}, {high[place]:g}))"
        raise reject(name, bounds, f"pairs of finite numbers with low below high{where}", hint)
    if not (0.5 * high - 0.5 * low >= _LEAST_HALF).all():
        raise reject(name, bounds, f"pairs at least {2.0 * _LEAST_HALF:g} apart", "use a smaller unit")
    if not (high - low > 1e-9 * np.maximum(np.abs(low), np.abs(high))).all():
        raise reject(
            name,
            bounds,
            "pairs whose distance is at least 1e-9 of their size",
            "subtract a public number from the column",
        )
    return Span(low.copy(), high.copy())


def _must_name_columns(name: str, bounds: dict[Any, Any], names: Any, hint: str) -> None:
    """Reject a mapping whose keys are not the columns of X. Names of columns are public."""
    if names is None:
        raise reject(name, bounds, "a list of pairs, because the columns of X have no names", hint)
    foreign, missing = [key for key in bounds if key not in names], [key for key in names if key not in bounds]
    if foreign:
        near = difflib.get_close_matches(str(foreign[0]), map(str, names), 1)
        guess = f"; did you mean {near[0]!r}?" if near else "; leave it out."
        raise InvalidParameter(f"{name} names {foreign[0]!r}, which is no column of X{guess}")
    if missing:
        column = repr(missing[0])
        raise InvalidParameter(f"{name} has no pair for the column {column} of X; add {column}: (low, high).")


def to_be_found(bounds: Any) -> bool:
    """Whether bounds are the word "private"."""
    return isinstance(bounds, str) and bounds == "private"


def _numbers(name: str, bounds: Any, hint: str) -> Array:
    """An array of the given numbers; texts are rejected, not parsed."""
    try:
        given = np.asarray(bounds)
        if given.dtype.kind not in "iuf" and not all(
            isinstance(value, numbers.Real) for value in given.ravel().tolist()
        ):
            raise TypeError
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as failure:
        raise reject(name, bounds, "pairs of numbers", hint) from failure


@dataclass(frozen=True)
class Scaling:
    """u = (clip(x, low, high) - centre) / spread for each column; all four numbers are public or released."""

    centre: Array
    spread: Array
    low: Array
    high: Array

    def __getitem__(self, part: slice) -> Scaling:
        return Scaling(self.centre[part], self.spread[part], self.low[part], self.high[part])

    def apply(self, columns: Array) -> None:
        """Scale columns (K, N) in place."""
        for index in range(self.centre.size):
            column = columns[index]
            np.clip(column, self.low[index], self.high[index], out=column)
            column -= self.centre[index]
            column /= self.spread[index]

    def apply_to_rows(self, rows: Array, out: Array) -> None:
        """Write the scaled rows (N, K) into `out`."""
        np.maximum(rows, self.low, out=out)
        np.minimum(out, self.high, out=out)
        out -= self.centre
        out /= self.spread

    def uncentred(self) -> Scaling:
        """The scaling of a model without an intercept: centre 0, and the root mean square as the spread."""
        return Scaling(np.zeros_like(self.centre), np.hypot(self.centre, self.spread), self.low, self.high)

    def limited(self, reach: float | None) -> Scaling:
        """The same scaling with limits at most `reach` spreads from the centre."""
        if reach is None:
            return self
        low, high = (
            np.maximum(self.low, self.centre - reach * self.spread),
            np.minimum(self.high, self.centre + reach * self.spread),
        )
        return Scaling(self.centre, self.spread, low, high)

    @classmethod
    def public(cls, span: Span) -> Scaling:
        """The scaling by the public ranges only: u in [-1, 1]."""
        return cls(span.middle, span.half, span.low, span.high)

    @classmethod
    def of_data(cls, columns: Array, span: Span) -> Scaling:
        """The scaling by the means and spreads of the data, as in the paper. It is not private."""
        limited = np.clip(columns, span.low[:, None], span.high[:, None])
        centre, spread = limited.mean(axis=1), limited.std(axis=1)
        constant = spread <= 1e-12 * np.abs(centre)  # rounding errors alone give a constant column this spread
        return cls(centre, np.where(constant, 1.0, spread), span.low, span.high)


def moments_wish(columns: int, share: float, relation: Relation = REPLACED_ROW) -> Wish:
    """The release of the two integer sums of every column."""
    l2 = up(math.sqrt(columns * (4.0 * GRAIN**2 + 1.0)), FEW_ROUNDINGS)
    l1 = columns * (2.25 * GRAIN + 1.0)
    own_l2, own_l1 = up(math.sqrt(2.0 * columns) * GRAIN, FEW_ROUNDINGS), 2.0 * columns * GRAIN
    numbers = 2 * columns
    return Wish(
        "means and spreads",
        share,
        relation.bound(replaced={"l2": l2}, alone={"l2": own_l2}, dimension=numbers),
        relation.bound(replaced={"l1": l1, "l2": l2}, alone={"l1": own_l1, "l2": own_l2}, dimension=numbers),
        numbers,
    )


class MomentSums:
    """sum q and floor(sum q^2 / G) of every column: exact, whatever the parts in which the rows are added.

    A sum of 2^12 squares of at most 2^40 is an integer below 2^53.
    """

    def __init__(self, span: Span) -> None:
        ends = np.full(span.low.size, GRAIN)
        self._scaled, self._ones = Affine(span.middle, GRAIN / span.half, -ends, ends), np.ones(MOST_ROWS)
        self._first, self._second = ExactSum(ends.shape), ExactSum(ends.shape)

    def add(self, rows: Array) -> None:
        """Add some rows."""
        for start in range(0, len(rows), MOST_ROWS):
            q = self._scaled.of(rows[start : start + MOST_ROWS])
            ones = self._ones[: len(q)]
            np.rint(q, out=q)
            self._first.add(ones @ q)
            np.multiply(q, q, out=q)
            self._second.add(ones @ q)

    @property
    def total(self) -> NDArray[np.int64]:
        """Both numbers of all columns: an array with two rows."""
        return np.stack([self._first.integers, self._second.integers // int(GRAIN)]).astype(np.int64)


def moment_sums(rows: Array, span: Span) -> NDArray[np.int64]:
    """`MomentSums` of some rows."""
    made = MomentSums(span)
    made.add(rows)
    return made.total


def shrunk_mean(noisy: Array, error: float | Array) -> Array:
    """Means of z in [-1, 1] by normal shrinkage, with the prior 0 +- 1/3.

    It costs no privacy, because the size of the noise is public.
    """
    return np.asarray(np.clip(noisy / (1.0 + 9.0 * error**2), -1.0, 1.0))


def private_scaling(
    sums: NDArray[np.int64], count: int, span: Span, part: Part, paid: Paid, level: tuple[float, float] | None = None
) -> Scaling:
    """Centre and spread of all columns from the sums of `count` rows with noise, shrunk in proportion to the noise.

    `level` is another estimate of the mean of the last column, in units of half its range, and its standard error. Both
    means are joined, each weighted by the inverse of its variance.

    A variance below the noise level is raised to it: a spread that is too large only slows learning, and one that is
    too small would make the values of a column very large.
    """
    scale = count * GRAIN
    first, second = paid.release(part.mechanism, sums, part.wish.name) / scale
    error = part.deviation / scale
    errors = np.full(first.shape, error)
    if level is not None:
        own = error**2 / (error**2 + level[1] ** 2)
        first[-1] += own * (level[0] - first[-1])
        errors[-1] *= math.sqrt(1.0 - own)
    mean = shrunk_mean(first, errors)
    # Variances are shrunk like means, with the prior 0.1 +- 0.15.
    spare = 0.15**2 / (0.15**2 + error**2)
    seen = second - first**2 + errors**2  # the expected square of a noisy mean contains the noise's variance
    variance = np.clip(spare * seen + (1.0 - spare) * 0.1, min(error, 0.1), 1.0)
    return Scaling(span.middle + span.half * mean, span.half * np.sqrt(variance), span.low, span.high)
