"""Scaled rows, held column by column, whose clipped gradients are summed as whole numbers.

Row n adds to coordinate i the number round(B clip(x_ni l'_n / C_i, -1, 1)), an integer from -B to B. Exchanging one
row therefore moves the sum by at most 2B, whatever the data: the sensitivity of every update. Integers below 2^53 are
added without error in floats, in any order, so the sum is exact (a sum of fractions would not be: its rounding
depends on every row).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import daxpy

from hush.learn.objective import Objective

__all__ = ["Rows", "grain"]

Array = NDArray[np.float64]

_FINEST = 32  # bits of a clipped gradient: rounding then moves a mean by under 2^-33 of its clipping bound


def grain(rows: int) -> float:
    """B: as fine as _FINEST, and coarse enough that sums over all rows stay below 2^53."""
    return float(1 << min(_FINEST, 52 - rows.bit_length()))


class Rows:
    """The data of a descent: columns (K, N), the target, and the state that the objective keeps per row."""

    def __init__(self, columns: Array, target: Array, objective: Objective, clips: Array) -> None:
        """`columns` is overwritten: it is kept divided by the clipping bounds, in units of 1/B."""
        self.count = target.shape[0]
        self.objective, self.target, self.clips = objective, target, clips
        self.grain = grain(self.count)
        #: a clipping bound of infinity (no privacy asked for) leaves the gradients as they are
        self.clipped = bool(np.isfinite(clips).all())
        self.unit = clips / self.grain if self.clipped else np.ones_like(clips)
        columns /= self.unit[:, None]
        self._columns = columns
        self._state = objective.start(target)
        self._slope, self._scratch = np.empty_like(self._state), np.empty_like(self._state)

    def total(self, index: int) -> float:
        """The sum over rows for one coordinate: a whole number of absolute value at most N B."""
        slope = self.objective.slope(self._state, self.target, self._slope)
        return self._sum(index, slope)

    def totals(self) -> Array:
        """The sums for all coordinates at the present weights."""
        slope = self.objective.slope(self._state, self.target, self._slope)
        return np.array([self._sum(index, slope) for index in range(len(self._columns))])

    def _sum(self, index: int, slope: Array) -> float:
        if not self.clipped:
            return float(self._columns[index] @ slope)
        np.multiply(self._columns[index], slope, out=self._scratch)
        np.clip(self._scratch, -self.grain, self.grain, out=self._scratch)
        np.rint(self._scratch, out=self._scratch)
        return float(self._scratch.sum())

    def gradient(self, total: float, index: int) -> float:
        """A sum, noisy or not, as a mean gradient."""
        return float(total * self.unit[index] / self.count)

    def move(self, index: int, change: float) -> None:
        """One weight has moved; every row's state follows, by itself."""
        if change != 0.0:
            daxpy(
                self._columns[index], self._state, a=change * self.unit[index]
            )  # state += a column, in place and row by row

    def move_all(self, changes: Array) -> None:
        """All weights have moved. Column by column, so that no row's state depends on another row (a matrix product
        may not promise it).
        """
        for index, change in enumerate(changes):
            self.move(index, float(change))
