"""Set weights with an l1 penalty to 0 if they are within their noise.

An l1 penalty sets weights to 0, but noise moves them away from 0 again. The variance of the noise of every weight is
known, for columns that are not correlated. A weight whose square is below this variance is set to 0. The reason: under
squared loss a weight removes more error than its noise adds only if the square of the true weight is above the
variance. Only weights with an l1 penalty change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.learn.penalty import Penalty

__all__ = ["without_small"]

Array = NDArray[np.float64]


def without_small(weights: Array, variance: Array, penalty: Penalty) -> Array:
    """The weights, with 0 for penalised ones whose square is below the variance of their noise.

    >>> penalty = Penalty(np.array([0.1, 0.1, 0.0]), np.zeros(3))
    >>> without_small(np.array([0.5, 3.0, 0.5]), np.ones(3), penalty).tolist()
    [0.0, 3.0, 0.5]
    """
    return np.where((penalty.l1 > 0.0) & (weights**2 < variance), 0.0, weights)
