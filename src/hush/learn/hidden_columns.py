"""Weights of columns whose spread the noise hides: constant columns, and columns in bounds that are far too wide.

A scaled column has a mean square near 1. If the released mean square of a column is within its noise, the column is
constant, or nearly so, or its bounds are so wide that its scaling hides it. The products tell nothing about such a
column, so its weight starts at 0. Gradients know more. They move the weights of a constant column by noise alone, whose
variance is known, and in the units of X this noise would be large, because the spread of the column is small. But they
find the weights of a column whose bounds are too wide.

So after the steps the weights of all hidden columns are shrunk together, by the rule of empirical Bayes (James and
Stein 1961): they are multiplied by 1 - n/q, or by 0 if that is negative. q is their squared length in the geometry of
the fit, and n is what noise alone adds to it on average, if no curvature held it back. All numbers here are released or
public, so this costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.learn.moment_solver import Products

__all__ = ["kept_of_hidden", "visible"]

Array = NDArray[np.float64]

#: A mean square is hidden up to the first number of deviations of its noise, and seen from the second one on.
_WITHIN, _SEEN = 3.0, 6.0
#: The largest mean square that may be called hidden; a usual column has 1.
_SMALL = 0.2


def visible(found: Products, features: int) -> Array:
    """For each feature a number from 0, its released mean square is within its noise, to 1, it is seen clearly.

    The features come first in the products. With so much noise that usual columns may be hidden too, all numbers are 1.

    >>> visible(Products(np.diag([1.0, 0.001, 0.045, 1.0, 1.0]), 0.01), 3).tolist()
    [1.0, 0.0, 0.5]
    """
    if found.error == 0.0 or _SEEN * found.error > _SMALL:
        return np.ones(features)
    deviations = np.diag(found.matrix)[:features] / found.error
    return np.clip((deviations - _WITHIN) / (_SEEN - _WITHIN), 0.0, 1.0)


def kept_of_hidden(weights: Array, seen: Array, hessian: Array, variance: float) -> Array:
    """The factor of the weight of each feature; features come first in the last axis of `weights`.

    `variance` is that of the noise of a whitened weight, summed over the free classes, if no curvature held it back.

    >>> seen, hessian = np.array([1.0, 0.0, 0.0]), np.eye(4)
    >>> kept_of_hidden(np.array([3.0, 0.2, -0.1, 1.0]), seen, hessian, 0.1).tolist()
    [1.0, 0.0, 0.0]
    >>> kept_of_hidden(np.array([3.0, 2.0, 0.0, 1.0]), seen, hessian, 0.1).tolist()
    [1.0, 0.95, 0.95]
    """
    places = np.flatnonzero(seen < 1.0)
    if not places.size:
        return seen
    block, own = hessian[np.ix_(places, places)], np.atleast_2d(weights)[:, places]
    length = float(np.einsum("ck,kl,cl->", own, block, own))
    noise = variance * float(np.sum(block * np.linalg.inv(hessian)[np.ix_(places, places)]))
    together = max(0.0, 1.0 - noise / length) if length > 0.0 else 0.0
    return np.asarray(seen + (1.0 - seen) * together)
