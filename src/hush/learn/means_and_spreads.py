"""Means and spreads of all columns from one noisy release of integer sums, which scale the columns of a fit.

A column is first mapped from its public range to z in [-1, 1]. The sums of z and of z^2 over rows are then released
once for all columns and give a centre and a spread; all later steps use released numbers only. With the integers q =
round(G z), one replaced row moves (sum q, floor(sum q^2 / G)) by at most sqrt(4 G^2 + 1) per column: for |q - q'| = d
the second number moves by at most d (2G - d)/G + 1, and d^2 + (d (2G - d)/G + 1)^2 is largest at d = 2G. In l1 the move
is at most 9G/4 + 1, at d = 3G/2. One row more or less moves the two numbers by at most G each, because q^2/G <= G is
an integer bound: by at most sqrt(2) G together, and 2G in l1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.learn.affine import Affine
from hush.learn.budget import Part, Wish
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.scaling import GRAIN, Scaling, Span
from hush.learn.whole_sums import MOST_ROWS, ExactSum
from hush.numerics.rounding import FEW_ROUNDINGS, up

__all__ = ["Level", "MomentSums", "moment_sums", "moments_wish", "private_scaling", "shrunk_mean"]

Array = NDArray[np.float64]


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


class Level(NamedTuple):
    """An estimate of the mean of the target in units of half its range, the deviation of its noise, and its bias."""

    mean: float
    error: float
    bias: float


def private_scaling(
    sums: NDArray[np.int64], count: int, span: Span, part: Part, paid: Paid, level: Level | None = None
) -> Scaling:
    """Centre and spread of all columns from the sums of `count` rows with noise, shrunk in proportion to the noise.

    `level` is another estimate of the mean of the last column, in units of half its range. Both means are joined, each
    weighted by the inverse of the variance of its noise.

    A variance below the noise level is raised to it: a spread that is too large only slows learning, and one that is
    too small would make the values of a column very large.
    """
    scale = count * GRAIN
    first, second = paid.release(part.mechanism, sums, part.wish.name) / scale
    error = part.deviation / scale
    errors, bias = np.full(first.shape, error), np.zeros(first.shape)
    if level is not None:
        own = error**2 / (error**2 + level.error**2)
        first[-1] += own * (level.mean - first[-1])
        errors[-1] *= math.sqrt(1.0 - own)
        bias[-1] = own * level.bias
    mean = shrunk_mean(first, errors)
    bias = np.hypot(bias, 9.0 * errors**2 * mean)  # the second one is that of the shrinkage
    # Variances are shrunk like means, with the prior 0.1 +- 0.15.
    spare = 0.15**2 / (0.15**2 + error**2)
    seen = second - first**2 + errors**2  # the expected square of a noisy mean contains the noise's variance
    variance = np.clip(spare * seen + (1.0 - spare) * 0.1, min(error, 0.1), 1.0)
    centre, spread = span.middle + span.half * mean, span.half * np.sqrt(variance)
    return Scaling(centre, spread, span.low, span.high, (errors**2 + bias**2) / variance)
