"""Public ranges of columns, and the scaling of columns to centre 0 and spread about 1."""

from __future__ import annotations

import difflib
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, reject, shown

__all__ = [
    "GRAIN",
    "SCALINGS",
    "UNKNOWN",
    "Scaling",
    "Span",
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
        guess = f"; did you mean {shown(near[0])}?" if near else "; leave it out."
        raise InvalidParameter(f"{name} names a column that X does not have{guess}")
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
    except (TypeError, ValueError, OverflowError):
        raise reject(name, bounds, "pairs of numbers", hint) from None


@dataclass(frozen=True)
class Scaling:
    """u = (clip(x, low, high) - centre) / spread for each column; all numbers are public or released.

    `doubt` is the expected squared error of the centres in units of the spreads; None if they are not released means.
    """

    centre: Array
    spread: Array
    low: Array
    high: Array
    doubt: Array | None = None

    def __getitem__(self, part: slice) -> Scaling:
        doubt = None if self.doubt is None else self.doubt[part]
        return Scaling(self.centre[part], self.spread[part], self.low[part], self.high[part], doubt)

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
        return replace(self, low=low, high=high)

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
