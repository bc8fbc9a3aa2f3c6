"""Where two curves cross."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.root import safe_root

__all__ = ["crossing"]

Array = NDArray[np.float64]


def crossing(difference: Callable[[Array], Any], positive: float, negative: float) -> float:
    """Where a difference of two curves, a function of arrays, changes its sign: it is positive at one end and not at
    the other.

    >>> round(crossing(lambda x: 2.0 - x * x, 0.0, 4.0), 6)
    1.414214
    """

    def each(points: Array) -> Array:
        return np.asarray(difference(points.ravel()), dtype=np.float64).reshape(points.shape)

    return float(safe_root(each, positive, negative, relative=1e-10)[1])
