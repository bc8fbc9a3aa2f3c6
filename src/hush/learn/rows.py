"""Scaled rows, stored by column, whose clipped gradients are summed as integers.

Row n adds the number round(B clip(x_ni l'_n / C_i, -1, 1)) to coordinate i, an integer from -B to B. Replacing one
row therefore moves the sum by at most 2B for any data, and one row more or less by at most B; this is the sensitivity
of every update. Floats add integers below 2^53 without error in any order. So the sum over 2^20 rows is exact, and such
sums are added as integers of unlimited size: the sum is exact for every number of rows. (The rounding error of a sum of
fractions would depend on every row.) A row with a weight v in [0, 1] adds its number times v, rounded towards zero: an
integer from -B to B too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.learn.objective import Objective
from hush.learn.whole_sums import FURTHEST

__all__ = ["Rows", "grain"]

Array = NDArray[np.float64]

_FINEST = 32  # bits of a clipped gradient: rounding moves a mean by less than 2^-33 of its clipping bound
_TOGETHER = 1 << (52 - _FINEST)  # rows whose numbers are added as floats: the sum is at most 2^52


def grain(rows: int) -> float:
    """B: a power of 2, at most 2^_FINEST, such that sums over all rows stay below 2^53."""
    return float(1 << min(_FINEST, 52 - rows.bit_length()))


class Rows:
    """The data of a descent: columns (K, N), the target, and the objective's state of every row."""

    def __init__(
        self,
        columns: Array,
        target: Array,
        objective: Objective,
        clips: Array,
        *,
        weights: Array | None = None,
        rows: int | None = None,
    ) -> None:
        """`columns` is overwritten with its values divided by the clipping bounds, in units of 1/B.

        `weights` are numbers in [0, 1]. `rows` is the public number of rows, by which sums are divided; the default is
        N. The sums are exact for any N.
        """
        self.count = target.shape[0] if rows is None else rows
        self.objective, self.target, self.clips, self.weights = objective, target, clips, weights
        self.grain = grain(self.count)
        #: an infinite clipping bound (epsilon = inf) means that gradients are neither clipped nor rounded
        self.clipped = bool(np.isfinite(clips).all())
        self.unit = clips / self.grain if self.clipped else np.ones_like(clips)
        columns /= self.unit[:, None]
        self._columns = columns
        self._state = objective.start(target)
        self._slope, self._scratch = np.empty_like(self._state), np.empty_like(self._state)

    def total(self, index: int) -> int | float:
        """The sum over rows for one coordinate: an integer with absolute value at most N B and 2^60."""
        slope = self.objective.slope(self._state, self.target, self._slope)
        return self._sum(index, slope)

    def totals(self) -> NDArray[Any]:
        """The sums for all coordinates at the current weights."""
        slope = self.objective.slope(self._state, self.target, self._slope)
        return np.array([self._sum(index, slope) for index in range(len(self._columns))])

    def _sum(self, index: int, slope: Array) -> int | float:
        if not self.clipped:
            weighted = slope if self.weights is None else np.multiply(slope, self.weights, out=self._scratch)
            return float(self._columns[index] @ weighted)
        np.multiply(self._columns[index], slope, out=self._scratch)
        np.clip(self._scratch, -self.grain, self.grain, out=self._scratch)
        np.rint(self._scratch, out=self._scratch)
        if self.weights is not None:
            self._scratch *= self.weights
            np.trunc(self._scratch, out=self._scratch)
        parts = (self._scratch[at : at + _TOGETHER].sum() for at in range(0, self._scratch.size, _TOGETHER))
        return min(max(sum(int(part) for part in parts), -FURTHEST), FURTHEST)

    def gradient(self, total: float, index: int) -> float:
        """Convert a sum, with or without noise, to a mean gradient."""
        return float(total * self.unit[index] / self.count)

    def move(self, index: int, change: float) -> None:
        """Update the state of every row after one weight has changed.

        The product and the sum are rounded one after the other. A fused product and sum may be used for some places of
        an array and not for others; the state of a row would then depend on how many rows are before it.
        """
        if change != 0.0:
            np.multiply(self._columns[index], change * self.unit[index], out=self._scratch)
            self._state += self._scratch

    def move_all(self, changes: Array) -> None:
        """Update the state of every row after all weights have changed.

        It works column by column, so that no row's state depends on another row; a matrix product may not guarantee
        this.
        """
        for index, change in enumerate(changes):
            self.move(index, float(change))
