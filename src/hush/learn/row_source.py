"""Where a fit reads its rows: blocks of a table, one after another, as often as the fit needs them.

Everything that a fit computes from rows is a sum of integers over single rows. Such sums do not depend on the order of
the rows or on the size of the blocks, so every source of the same rows gives the same sums to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayRows", "Block", "RowSource", "blocks_of"]

Array = NDArray[np.float64]
#: Features (m, K), targets (m,), and the weights (m,) in [0, 1]; None where every row has the weight 1.
Block = tuple[Array, Array, Array | None]


class RowSource(Protocol):
    """Rows and targets, block by block. A block is read only: a fit does not write into it.

    The numbers of rows and of features are public or released. `blocks` gives the same rows each time, and in the same
    order if the source has no attribute `ordered`, or if that is True. A source of weighted rows also has
    `weighted_blocks`.
    """

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks together."""

    @property
    def n_features(self) -> int:
        """The number of columns of X."""

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Pairs (X, y): X has the shape (m, n_features), y has the shape (m,), both hold float64."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows and targets that are in memory.

    >>> source = ArrayRows(np.zeros((5, 2)), np.ones(5), size=2)
    >>> [X.shape for X, y in source.blocks()]
    [(2, 2), (2, 2), (1, 2)]
    """

    X: Array
    y: Array
    size: int = 1 << 14

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Parts of the arrays with at most `size` rows; nothing is copied."""
        for start in range(0, self.n_rows, self.size):
            yield self.X[start : start + self.size], self.y[start : start + self.size]


def blocks_of(source: RowSource) -> Iterator[Block]:
    """The blocks of any source with weights, which are None where the source has none."""
    weighted = getattr(source, "weighted_blocks", None)
    if weighted is not None:
        yield from weighted()
        return
    for X, y in source.blocks():
        yield X, y, None
