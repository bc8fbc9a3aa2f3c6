"""Where a fit reads its rows: blocks of a table, one after another, as often as the fit needs them.

Everything that a fit computes from rows is a sum of integers over single rows. Such sums do not depend on the order of
the rows or on the size of the blocks, so every source of the same rows gives the same sums to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Block", "RowSource", "blocks_of"]

Array = NDArray[np.float64]
#: Features (m, K), targets (m,), and the weights (m,) in [0, 1]; None where every row has the weight 1.
Block = tuple[Array, Array, Array | None]


class RowSource(Protocol):
    """Rows and targets, block by block. A block is read only: a fit does not write into it.

    The numbers of rows and of features are public or released; the true number of rows may differ. `blocks` gives the
    same rows each time, and in the same order if the source has no attribute `ordered`, or if that is True. A source of
    weighted rows also has `weighted_blocks`.
    """

    @property
    def n_rows(self) -> int:
        """The public or released number of rows of all blocks together."""

    @property
    def n_features(self) -> int:
        """The number of columns of X."""

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Pairs (X, y): X has the shape (m, n_features), y has the shape (m,), both hold float64."""


def blocks_of(source: RowSource) -> Iterator[Block]:
    """The blocks of any source with weights, which are None where the source has none."""
    weighted = getattr(source, "weighted_blocks", None)
    if weighted is not None:
        yield from weighted()
        return
    for X, y in source.blocks():
        yield X, y, None
