"""Sources whose rows are not held as one dense array: sparse matrices, and tables of `hush.tables`.

Each gives its rows as dense blocks of at most `BLOCK` rows, with the weights of the rows if there are any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.learn.row_source import ArrayRows
from hush.learn.scaling import Span
from hush.learn.training import BLOCK

__all__ = ["Block", "SparseRows", "TableRows", "blocks_of", "must_hold_zero"]

Array = NDArray[np.float64]
#: Features (m, K), targets (m,), and the weights (m,) in [0, 1]; None where every row has the weight 1.
Block = tuple[Array, Array, Array | None]


@dataclass(frozen=True)
class SparseRows:
    """A scipy sparse matrix by rows, its targets, and weights in [0, 1]. One block at a time is made dense.

    >>> import scipy.sparse
    >>> rows = SparseRows(scipy.sparse.eye_array(3, format="csr"), np.zeros(3), size=2)
    >>> [X.tolist() for X, y in rows.blocks()]
    [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]
    """

    X: Any
    y: Array
    weights: Array | None = None
    size: int = BLOCK

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Rows and targets."""
        for X, y, _ in self.weighted_blocks():
            yield X, y

    def weighted_blocks(self) -> Iterator[Block]:
        """Rows, targets and weights."""
        for start in range(0, self.n_rows, self.size):
            part = slice(start, start + self.size)
            yield self.X[part].toarray(), self.y[part], None if self.weights is None else self.weights[part]


@dataclass(frozen=True)
class TableRows:
    """The rows of a table that `row_blocks` of `hush.tables` keeps: features, target, and the weight if there is one.

    The order of the rows may differ from one reading to the next. Sums of integers do not depend on it.
    """

    rows: Any
    n_features: int
    max_weight: float | None = None
    size: int = BLOCK

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Rows and targets."""
        for X, y, _ in self.weighted_blocks():
            yield X, y

    def weighted_blocks(self) -> Iterator[Block]:
        """Rows, targets and weights."""
        width = self.n_features
        for whole in self.rows.blocks(self.size):
            for start in range(0, len(whole), self.size):
                block = whole[start : start + self.size]
                weights = None
                if self.max_weight is not None:
                    weights = np.clip(block[:, width + 1], 0.0, self.max_weight) / self.max_weight
                yield block[:, :width], block[:, width], weights


def blocks_of(source: Any) -> Iterator[Block]:
    """The blocks of any source; the weights are None where it has none."""
    if hasattr(source, "weighted_blocks"):
        yield from source.weighted_blocks()
        return
    plain: ArrayRows = source
    for X, y in plain.blocks():
        yield X, y, None


def must_hold_zero(span: Span) -> None:
    """Reject ranges without 0 for a sparse matrix: its empty entries are zeros."""
    if (span.low > 0.0).any() or (span.high < 0.0).any():
        raise InvalidParameter(
            "the entries that a sparse matrix does not store are zeros, but a range in bounds does not hold 0; "
            "widen that range, or give a dense array."
        )
