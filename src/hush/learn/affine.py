"""Blocks of rows, shifted and multiplied column by column, without new memory for each block.

numpy is about twice as fast if the numbers of the columns are repeated for every row of a block: then all operations
run over whole arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Affine"]

Array = NDArray[np.float64]


class Affine:
    """min(max((x - centre) factor, low), high) of the rows of a block.

    >>> made = Affine(np.array([1.0, 0.0]), np.array([2.0, 3.0]), np.array([-9.0, -9.0]), np.array([9.0, 9.0]))
    >>> made.of(np.array([[2.0, 1.0], [1.0, 50.0]])).tolist()
    [[2.0, 3.0], [0.0, 9.0]]
    """

    def __init__(self, centre: Array, factor: Array, low: Array, high: Array) -> None:
        self._numbers = np.stack([centre, factor, low, high])
        self._repeated, self._room = np.empty((4, 0, centre.size)), np.empty((0, centre.size))

    def of(self, rows: Array) -> Array:
        """The result is overwritten by the next call. The given rows are not changed."""
        count = len(rows)
        if len(self._room) < count:
            self._repeated = np.repeat(self._numbers[:, None, :], count, axis=1)
            self._room = np.empty((count, self._numbers.shape[1]))
        room, (centre, factor, low, high) = self._room[:count], self._repeated[:, :count]
        with np.errstate(over="ignore"):  # infinity is limited in the next step
            np.subtract(rows, centre, out=room)
            np.multiply(room, factor, out=room)
        np.maximum(room, low, out=room)
        np.minimum(room, high, out=room)
        return room
