"""Nested blocks along several axes: their levels, the error of shares of the budget, and the best shares.

Axis i has block sizes s_(i,0) > s_(i,1) > ... = 1 with the projections E_(i,l) of `hush.workload.blocks`. A level is a
list l of one level for each axis; its blocks have s_l = product of s_(i,l_i) bins. Products of the projections,
E_l, are orthogonal projections that add up to the identity. If a block of level j has noise of variance V_j, all blocks
together give the bins the precision

    sum of lambda_l E_l    with    lambda_l = sum over all j >= l (in every axis) of s_j/V_j.

A question that is a product of questions w_i has |E_l w|^2 = product of |E_(i,l_i) w_i|^2. So the sum of the squared
errors of all products of questions is the sum of t_l/lambda_l, where t_l is the product of the gains of the axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_box_shares", "block_cells", "box_precisions"]

Array = NDArray[np.float64]

_TURNS = 120
_SLOWLY = 0.35  # exponent of the steps
_LEAST = 1e-4  # shares below this are not worth measuring


def block_cells(sizes: Sequence[Sequence[int]]) -> Array:
    """s_l: the number of bins of a block of each level, with an axis for each axis of the grid."""
    found: Array = reduce(np.multiply.outer, [np.array(one, dtype=np.float64) for one in sizes])
    return found


def _over_finer(values: Array) -> Array:
    """The sum over all finer levels, in every axis."""
    found = values
    for axis in range(values.ndim):
        found = np.flip(np.cumsum(np.flip(found, axis), axis=axis), axis)
    return found


def _over_coarser(values: Array) -> Array:
    found = values
    for axis in range(values.ndim):
        found = np.cumsum(found, axis=axis)
    return found


def box_precisions(cells: Array, inverse_variances: Array) -> Array:
    """lambda_l of every level, from 1/V of every level (0: not measured)."""
    return _over_finer(cells * inverse_variances)


def best_box_shares(
    gained: Array, cells: Array, inverse: Callable[[Array], Array], slope: Callable[[Array], Array]
) -> tuple[Array, float]:
    """Shares of the levels that add up to 1, with the least error that the search finds, and the error.

    `inverse(shares)` is 1/V of each level and `slope(shares)` its derivative. At the minimum the error falls equally
    fast with each share. Shares with which it falls faster grow. Levels with very small shares are left out at the end.
    """

    def error(shares: Array) -> float:
        return float((gained / box_precisions(cells, inverse(shares))).sum())

    shares, best = np.full(cells.shape, 1.0 / cells.size), (np.ones(cells.shape), math.inf)
    for _ in range(_TURNS if cells.size > 1 else 1):
        total = error(shares)
        if total < best[1]:
            best = (shares, total)
        falls = cells * slope(shares) * _over_coarser(gained / box_precisions(cells, inverse(shares)) ** 2)
        shares = np.maximum(shares * (falls / falls.max()) ** _SLOWLY, 0.1 * _LEAST)
        shares = shares / shares.sum()
    kept = np.where(best[0] < _LEAST, 0.0, best[0])
    kept[(-1,) * kept.ndim] = max(float(kept[(-1,) * kept.ndim]), _LEAST)  # single cells are always measured
    kept = kept / kept.sum()
    return kept, error(kept)
