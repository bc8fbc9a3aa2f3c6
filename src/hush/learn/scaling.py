"""Columns on a common footing: centred, of spread about 1, limited, from public ranges and charged moments only.

A column is first put into its public range, z in [-1, 1]. The sums of z and of z^2 over rows are then released once for all columns, and
give a centre and a spread; everything after that uses released numbers only. One exchanged row moves (sum q, sum floor(q^2/G)), with
q = round(G z) a whole number, by at most sqrt(4 G^2 + 1) per column: for |q - q'| = d the second sum moves by at most
d (2G - d)/G + 1, and d^2 + (d (2G - d)/G + 1)^2 is largest at d = 2G. In l1 it is at most 9G/4 + 1, at d = 3G/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part, Wish
from hush.sampling.entropy import Entropy
from hush.sensitivity import Sensitivity

__all__ = ["SCALINGS", "Scaling", "Span", "moments_wish", "private_scaling"]

Array = NDArray[np.float64]

SCALINGS = ("private", "public", "paper")
_GRAIN = 2.0**20  # G: steps in half a range


@dataclass(frozen=True)
class Span:
    """Public ranges of columns: values outside are moved to the nearest end."""

    low: Array
    high: Array

    @property
    def middle(self) -> Array:
        return 0.5 * self.low + 0.5 * self.high

    @property
    def half(self) -> Array:
        return 0.5 * self.high - 0.5 * self.low

    def joined(self, other: Span) -> Span:
        return Span(np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high]))


@dataclass(frozen=True)
class Scaling:
    """u = (clip(x, low, high) - centre) / spread, column by column; all four are public or released."""

    centre: Array
    spread: Array
    low: Array
    high: Array

    def __getitem__(self, part: slice) -> Scaling:
        return Scaling(self.centre[part], self.spread[part], self.low[part], self.high[part])

    def columns(self, rows: Array, *, constant: bool) -> Array:
        """The scaled rows as (K, N), with a last column of ones for an intercept."""
        count, width = rows.shape
        out = np.empty((width + constant, count))
        for index in range(width):
            np.clip(rows[:, index], self.low[index], self.high[index], out=out[index])
            out[index] -= self.centre[index]
            out[index] /= self.spread[index]
        if constant:
            out[-1] = 1.0
        return out

    @classmethod
    def public(cls, span: Span) -> Scaling:
        """The ranges alone: u in [-1, 1]."""
        return cls(span.middle, span.half, span.low, span.high)

    @classmethod
    def of_data(cls, rows: Array, span: Span | None) -> Scaling:
        """The data's own means and spreads, as the paper has it: not private."""
        spread = rows.std(axis=0)
        wide = np.full(rows.shape[1], math.inf)
        low, high = (-wide, wide) if span is None else (span.low, span.high)
        return cls(rows.mean(axis=0), np.where(spread > 0.0, spread, 1.0), low, high)


def moments_wish(columns: int, share: float) -> Wish:
    """The two sums of every column, in whole numbers."""
    l2 = math.sqrt(columns * (4.0 * _GRAIN**2 + 1.0)) * (1.0 + 1e-15)
    return Wish(
        "means and spreads",
        share,
        Sensitivity(l2=l2, neighbours="replace"),
        Sensitivity(l1=columns * (2.25 * _GRAIN + 1.0), neighbours="replace"),
        2 * columns,
    )


def moment_sums(rows: Array, span: Span) -> NDArray[np.int64]:
    """sum q and sum floor(q^2/G) of every column: exact whole numbers, row by row functions summed."""
    middle, half = span.middle, span.half
    first, second = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for index in range(rows.shape[1]):
        q = np.clip(rows[:, index], span.low[index], span.high[index])
        q -= middle[index]
        q *= _GRAIN / half[index]
        np.rint(q, out=q)
        np.clip(q, -_GRAIN, _GRAIN, out=q)  # rounding of the range itself may pass it by one step
        first[index] = q.sum()  # whole numbers below 2^53: exact
        q *= q
        q /= _GRAIN  # a power of 2: exact
        np.floor(q, out=q)
        second[index] = q.sum()
    return np.concatenate([first, second]).astype(np.int64)


def private_scaling(rows: Array, span: Span, part: Part, winsorise: float | None, entropy: Entropy | None) -> Scaling:
    """Centre and spread from noisy sums, limits at `winsorise` spreads from the centre and never outside the public range.

    A variance below what the noise lets us see is taken to be that much: too large a spread only slows learning, too small a one
    would make a column explode.
    """
    made = part.mechanism
    noisy = made.value_of(made.noisy(made.on_lattice(moment_sums(rows, span)), entropy)).astype(np.float64)
    scale = rows.shape[0] * _GRAIN
    first, second = np.split(noisy / scale, 2)
    error = part.deviation / scale
    mean = np.clip(first, -1.0, 1.0)
    variance = np.clip(second - mean**2 + min(error, 1.0) ** 2, min(error, 1.0), 1.0)
    centre, spread = span.middle + span.half * mean, span.half * np.sqrt(variance)
    reach = math.inf if winsorise is None else winsorise
    return Scaling(centre, spread, np.maximum(span.low, centre - reach * spread), np.minimum(span.high, centre + reach * spread))
