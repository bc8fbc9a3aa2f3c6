"""Tools for arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["distinct"]


def distinct(numbers: Any) -> Any:
    """The different numbers of an array, smallest first. `numpy.unique` does the same, and loads `numpy.ma` for it.

    >>> distinct([3.0, 1.0, 3.0, 2.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    ordered = np.sort(np.asarray(numbers), axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered
