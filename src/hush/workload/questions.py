"""`Questions`: any list of weighted sums of bins, given as a matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, reals
from hush.workload.line import Line

__all__ = ["Questions"]

Array = NDArray[np.float64]

_MOST_NUMBERS = 1 << 24  # of the matrix


class Questions(Line):
    """Weighted sums of bins: each row of the matrix has the weights of one question, one for each bin.

    The order of the bins matters for the choice of blocks only. For at most 256 bins, the best strategy with Gaussian
    noise is compared too.

    >>> plan = Questions([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]]).plan(1.0, 0.0)
    >>> round(plan.mse, 3)
    3.683
    """

    kind: ClassVar[str] = "questions"

    def __init__(self, rows: Any) -> None:
        found = reals("rows", rows)
        if found.ndim != 2 or not found.size or found.size > _MOST_NUMBERS or not np.abs(found).sum() > 0.0:
            raise InvalidParameter(
                f"rows must be a matrix of at most {_MOST_NUMBERS} numbers, one row for each question; "
                "write Questions([[1, 1, 0], [0, 1, 1]])."
            )
        super().__init__(found.shape[1])
        object.__setattr__(self, "_rows", found)

    def __eq__(self, other: object) -> bool:  # two matrices with as many bins are different workloads
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def questions(self) -> int:
        """The number of questions."""
        return len(self.matrix())

    def matrix(self) -> Array:
        """All questions as rows."""
        found: Array = self.__dict__["_rows"]
        return found

    def block_norms(self, size: int, padded: int) -> Array:
        """The squared length of each question after every block of this size is replaced by its mean."""
        rows = self.matrix()
        full = np.zeros((len(rows), padded))
        full[:, : self.bins] = rows
        return np.asarray((full.reshape(len(rows), -1, size).sum(axis=2) ** 2).sum(axis=1) / size)

    def __repr__(self) -> str:
        return f"{self.questions} questions about {self.bins} bins"
