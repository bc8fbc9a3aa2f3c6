"""Set weights to 0: with an l1 penalty if they are within their noise, and of columns without a visible spread.

An l1 penalty sets weights to 0, but noise moves them away from 0 again. The variance of the noise of every weight is
known, for columns that are not correlated. A weight whose square is below this variance is set to 0. The reason: under
squared loss a weight removes more error than its noise adds only if the square of the true weight is above the
variance. Only weights with an l1 penalty change.

A scaled column has a mean square near 1. A column that is constant, or that has the same value in nearly all rows, has
a mean square near 0, and its weight is noise. In the units of X this noise would be large, because the spread of the
column is small. So the weight is set to 0 if the released mean square is within three deviations of its noise, and it
is multiplied by a number that grows to 1 at six deviations. If six deviations are more than 0.2, columns with a small
spread would be lost as well, and all weights stay. This uses released numbers only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.learn.moment_solver import Products
from hush.learn.penalty import Penalty

__all__ = ["visible", "without_small"]

Array = NDArray[np.float64]

#: A mean square is 0 up to the first number of deviations of its noise, and seen from the second one on.
_WITHIN, _SEEN = 3.0, 6.0
#: The largest mean square that may change a weight; a usual column has 1.
_SMALL = 0.2


def without_small(weights: Array, variance: Array, penalty: Penalty) -> Array:
    """The weights, with 0 for penalised ones whose square is below the variance of their noise.

    >>> penalty = Penalty(np.array([0.1, 0.1, 0.0]), np.zeros(3))
    >>> without_small(np.array([0.5, 3.0, 0.5]), np.ones(3), penalty).tolist()
    [0.0, 3.0, 0.5]
    """
    return np.where((penalty.l1 > 0.0) & (weights**2 < variance), 0.0, weights)


def visible(weights: Array, found: Products, features: int) -> Array:
    """The weights, without those of columns whose mean square in the released products is within its noise.

    The features come first in `weights`, whose last axis has the columns.

    >>> found = Products(np.diag([1.0, 0.001, 0.045, 1.0, 1.0]), 0.01)
    >>> visible(np.array([3.0, 50.0, 4.0, 2.0]), found, 3).tolist()
    [3.0, 0.0, 2.0, 2.0]
    """
    if found.error == 0.0 or _SEEN * found.error > _SMALL:
        return weights
    made, deviations = weights.copy(), np.diag(found.matrix)[:features] / found.error
    made[..., :features] *= np.clip((deviations - _WITHIN) / (_SEEN - _WITHIN), 0.0, 1.0)
    return made
