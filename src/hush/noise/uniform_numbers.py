"""The random whole numbers that joint noises are made of, as a protocol: hush.sampling implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["UniformNumbers"]

Whole = NDArray[np.int64]


class UniformNumbers(Protocol):
    """Exact random whole numbers, which hush.sampling implements."""

    def below(self, most: NDArray[Any]) -> Whole:
        """Uniform whole numbers on {0, ..., n - 1}, for each n of `most`, which are at most 2^31."""

    def rows(self, most: NDArray[Any]) -> Whole:
        """The same for a table of bounds with one row for each draw. Each number depends on its draw only."""

    def choose(self, weights: Sequence[int], count: int) -> Whole:
        """`count` indices of the list, drawn independently; each has the probability weight/total, exactly."""
