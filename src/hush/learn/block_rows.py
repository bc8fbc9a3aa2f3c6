"""Sources of rows with weights: arrays and sparse matrices in memory, and tables of `hush.tables`.

Each gives its rows as dense blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, shown
from hush.learn.budget import vector_families
from hush.learn.planning import Plan, Request
from hush.learn.row_source import Block
from hush.learn.scaling import Span
from hush.learn.vector_noise import BALL

__all__ = ["HELD_SOLVERS", "MemoryRows", "TableRows", "must_be_streamed", "must_hold_zero"]

Array = NDArray[np.float64]

BLOCK, TABLE_BLOCK = 1 << 14, 1 << 16  # rows; an engine gives large blocks in half the time of small ones
#: Solvers that hold all scaled rows in memory.
HELD_SOLVERS = ("cd", "gd")


@dataclass(frozen=True)
class MemoryRows:
    """An array or a scipy sparse matrix (by rows), the targets, and weights in [0, 1].

    Of a sparse matrix one block at a time is made dense. `n_rows` is `public_rows` if the true number of rows is not
    public.

    >>> import scipy.sparse
    >>> rows = MemoryRows(scipy.sparse.eye_array(3, format="csr"), np.zeros(3), size=2)
    >>> [X.tolist() for X, y in rows.blocks()]
    [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]
    """

    X: Any
    y: Array
    weights: Array | None = None
    size: int = BLOCK
    public_rows: int | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if self.public_rows is None else self.public_rows

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Rows and targets."""
        for X, y, _ in self.weighted_blocks():
            yield X, y

    def weighted_blocks(self) -> Iterator[Block]:
        """Rows, targets and weights."""
        for start in range(0, int(self.X.shape[0]), self.size):
            part = slice(start, start + self.size)
            rows = self.X[part] if isinstance(self.X, np.ndarray) else self.X[part].toarray()
            yield rows, self.y[part], None if self.weights is None else self.weights[part]


@dataclass(frozen=True)
class TableRows:
    """The rows of a table that `row_blocks` of `hush.tables` keeps: features, target, and the weight if there is one.

    `n_rows` is the declared or the noisy number of rows. The order of the rows may differ from one reading to the next.
    Sums of integers do not depend on it.
    """

    rows: Any
    n_rows: int
    n_features: int
    max_weight: float | None = None
    size: int = TABLE_BLOCK

    ordered = False

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """Rows and targets."""
        for X, y, _ in self.weighted_blocks():
            yield X, y

    def weighted_blocks(self) -> Iterator[Block]:
        """Rows, targets and weights."""
        width = self.n_features
        for block in self.rows.blocks(self.size):
            weights = None
            if self.max_weight is not None:
                weights = np.clip(block[:, width + 1], 0.0, self.max_weight) / self.max_weight
            yield block[:, :width], block[:, width], weights


def must_be_streamed(made: Plan, what: str) -> None:
    """Reject a solver that holds all scaled rows in memory, for rows that are read in blocks."""
    solver = made.setting.solver
    if solver in HELD_SOLVERS:
        why, instead = _reason(made.request, solver)
        raise Unsupported(
            f"{why} holds all rows as one dense array in memory, and X is {what} (sparse or streamed rows are read in "
            f"blocks); {instead}."
        )


def _reason(request: Request, solver: str) -> tuple[str, str]:
    """Why a fit has this solver, and what to write instead; both name only what was given."""
    other = request.family not in (None, *vector_families(request.delta))
    each = isinstance(request.clip, list | tuple | np.ndarray)  # whitened gradients have one bound
    out = ["family"] * (other or request.family == BALL) + ["clip"] * each
    whitened = "write solver='whitened'" + (f", and leave {' and '.join(out)} out" if out else "")
    if request.solver != "auto":
        return f"solver={shown(solver)}", whitened
    given = [name for name in ("family", "passes", "step", "clip") if getattr(request, name) is not None]
    names = " and ".join(given)
    leave = f"leave {names} out" + ("" if out else ", or write solver='whitened'")
    return f"{names} need{'s' * (len(given) == 1)} solver={shown(solver)}, which", leave


def must_hold_zero(span: Span) -> None:
    """Reject ranges without 0 for a sparse matrix: its empty entries are zeros."""
    if (span.low > 0.0).any() or (span.high < 0.0).any():
        raise InvalidParameter(
            "the entries that a sparse matrix does not store are zeros, but a range in bounds does not hold 0; "
            "widen that range, or give a dense array."
        )
