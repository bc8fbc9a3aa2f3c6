"""Tools for arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct", "on_simplex"]


def distinct(numbers: Any) -> Any:
    """The different numbers of an array, smallest first. `numpy.unique` does the same, and loads `numpy.ma` for it.

    >>> distinct([3.0, 1.0, 3.0, 2.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    ordered = np.sort(np.asarray(numbers), axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def on_simplex(numbers: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest array of numbers >= 0 with this sum, total > 0: the same amount is subtracted from every number, and
    negative results become 0 (Duchi et al. 2008, Figure 1).

    >>> on_simplex(np.array([3.0, 2.0, -1.0]), 4.0)
    array([2.5, 1.5, 0. ])
    """
    falling = np.sort(numbers, axis=None)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1.0, falling.size + 1.0)
    cut = float(excess[np.flatnonzero(falling > excess)[-1]])
    return np.maximum(numbers - cut, 0.0)
