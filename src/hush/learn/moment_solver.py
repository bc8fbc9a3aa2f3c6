"""Linear models from noisy sums of products, released once: X'X, X'y and the sums of the scaled rows.

A row r = (u_1 .. u_K, 1, t) is rounded to integers in units of 2^-a. If it is longer than R, it is shrunk to length R
(all its entries by the same factor, so the linear relation between them is kept) and rounded towards zero. The sums of
products are integers, exact in floats below 2^53, and are released in units of 1/G^2. One replaced row moves the
symmetric matrix by r r' - s s', whose squared Frobenius length is |r|^4 + |s|^4 - 2 (r.s)^2 <= 2 R^4. The release
consists of 5 times the diagonal and 7 times the upper triangle: 25 d_ii^2 + 49 d_ij^2 <= 25 (d_ii^2 + 2 d_ij^2), so
together they move by at most 5 sqrt(2) R^2. The products of a single row have at most the length 5 R^2. A sum beyond
2^60 is moved to that end, which never increases a distance. For logistic regression the loss is replaced by its
second-order expansion at 0 (Zhang et al. 2012, "Functional mechanism", Section 5), whose minimum needs the same sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part, Wish
from hush.learn.paid import Paid
from hush.learn.penalty import Penalty
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import EXACT, MOST_ROWS, ExactSum
from hush.numerics.rounding import FEW_ROUNDINGS, TWO_ROUNDINGS, up

__all__ = [
    "Products",
    "grain_bits",
    "product_sums",
    "products",
    "products_wish",
    "quadratic_minimum",
    "row_products",
    "whole_rows",
]

Array = NDArray[np.float64]

_DIAGONAL, _ABOVE = 5, 7  # integer weights of the two kinds of entries: 7/5 is just below sqrt(2)


def _grain(rows: int, radius: float) -> float:
    """G: a power of 2 for which sums over `MOST_ROWS` rows are exact in floats, and all sums fit into 64 bits."""
    most = min(0.5 * EXACT / MOST_ROWS, 2.0**58 / rows)
    return 2.0 ** min(math.floor(0.5 * math.log2(most / radius**2)), 30)


def products_wish(rows: int, width: int, radius: float, share: float, relation: Relation = REPLACED_ROW) -> Wish:
    """The release of all sums of products of rows with `width` entries and length at most `radius`."""
    square = up((_grain(rows, radius) * radius) ** 2, FEW_ROUNDINGS)
    numbers = width * (width + 1) // 2
    l2, own_l2 = up(_DIAGONAL * math.sqrt(2.0) * square, FEW_ROUNDINGS), _DIAGONAL * square
    # l1: at most 7 (|r|_1^2) / 2 + 5 |r|_2^2 for each of the two rows, and |r|_1^2 <= width |r|_2^2
    l1 = (_ABOVE * width + 2.0 * _DIAGONAL) * square
    return Wish(
        "sums of products",
        share,
        relation.bound(replaced={"l2": l2}, alone={"l2": own_l2}, dimension=numbers),
        relation.bound(replaced={"l1": l1, "l2": l2}, alone={"l1": 0.5 * l1, "l2": own_l2}, dimension=numbers),
        numbers,
    )


def whole_rows(rows: Array, radius: float, grain: float) -> Array:
    """Overwrite rows (N, width): shrunk to the radius, then integers in units of 1/G, no longer than G R."""
    length = np.sqrt(np.einsum("nk,nk->n", rows, rows))
    # the computed length can be too small by this relative error
    inside = radius * (1.0 - TWO_ROUNDINGS.share * (rows.shape[1] + 16))
    with np.errstate(divide="ignore"):
        rows *= (grain * np.minimum(1.0, inside / length))[:, None]
    return np.trunc(rows, out=rows)


def shorten(rows: Array, goals: Array, weights: Array | None, radius: float, coarser: int) -> None:
    """Overwrite integer rows (N, K) and targets (N, C): divided by 2^coarser, no longer than `radius`, times the roots
    of the weights.

    What changes a row is one factor, and it is rounded towards zero. A row that fits already stays as it is.
    """
    length = np.sqrt(np.einsum("nk,nk->n", rows, rows) + np.einsum("nc,nc->n", goals, goals))
    # the computed length can be too small by this relative error
    inside = radius * (1.0 - TWO_ROUNDINGS.share * (rows.shape[1] + goals.shape[1] + 16))
    with np.errstate(divide="ignore"):
        factor = np.minimum(2.0**-coarser, inside / length)
    if weights is not None:
        factor *= np.sqrt(weights)
    changed = np.flatnonzero(factor != 1.0)
    if not changed.size:
        return
    goals[changed] = np.trunc(goals[changed] * factor[changed, None])
    if 3 * changed.size < len(rows):
        rows[changed] = np.trunc(rows[changed] * factor[changed, None])
        return
    rows *= factor[:, None]
    np.trunc(rows, out=rows)


class Products:
    """The noisy second moments of (u, 1, t): a symmetric matrix and the standard deviation of its noise."""

    def __init__(self, matrix: Array, error: float) -> None:
        self.matrix = matrix
        #: the noise's standard deviation in an off-diagonal entry
        self.error = error


def product_sums(rows: WholeRows, count: int, radius: float) -> NDArray[np.int64]:
    """The exact sums of products of the rows and of their targets, in units of 1/G^2, the grain for `count` rows."""
    finest, grain, size = rows.bits, grain_bits(count, radius), rows.width + rows.objective.outputs
    exact, made, coarser = ExactSum((size, size)), np.empty((size, size)), max(finest - grain, 0)
    limit = math.ldexp(radius, finest - coarser)
    for whole, target, weights in rows.parts():
        goal = np.rint(np.ldexp(rows.objective.signs(target), finest))
        shorten(whole, goal, weights, limit, coarser)
        inner, outer = made[: rows.width], made[rows.width :]
        inner[:, : rows.width] = whole.T @ whole  # sums of integers below 2^53 are exact in any order
        outer[:, : rows.width] = goal.T @ whole
        inner[:, rows.width :] = outer[:, : rows.width].T
        outer[:, rows.width :] = goal.T @ goal
        exact.add(made)
    return exact.shifted(2 * (grain - finest + coarser))


def row_products(rows: WholeRows, count: int, radius: float, part: Part, paid: Paid) -> Products:
    """Noisy mean products over `count` rows and their targets."""
    return _released(product_sums(rows, count, radius), 2.0 ** grain_bits(count, radius), count, part, paid)


def products(parts: Iterator[Array], count: int, radius: float, part: Part | None, paid: Paid) -> Products:
    """Noisy mean products over `count` rows of real numbers, in parts (N, width) of at most `MOST_ROWS` rows.

    The parts are overwritten. Without noise the rows are neither shrunk nor rounded.
    """
    if part is None:
        return Products(sum((rows.T @ rows for rows in parts), np.zeros(())) / count, 0.0)
    width = (math.isqrt(8 * part.wish.numbers + 1) - 1) // 2
    grain, exact = _grain(count, radius), ExactSum((width, width))
    for rows in parts:
        whole_rows(rows, radius, grain)
        exact.add(rows.T @ rows)  # sums of integers below 2^53 are exact in any order
    return _released(exact.total, grain, count, part, paid)


def grain_bits(count: int, radius: float) -> int:
    """The units of the products are 2^-bits, squared."""
    return round(math.log2(_grain(count, radius)))


def _released(exact: NDArray[np.int64], grain: float, count: int, part: Part, paid: Paid) -> Products:
    """Mean products of `count` rows from their exact sums, in units of 1/G^2, with noise."""
    above = np.triu_indices(len(exact), 1)
    sums = np.concatenate([_DIAGONAL * np.diag(exact), _ABOVE * exact[above]])
    noisy = paid.release(part.mechanism, sums, part.wish.name) / (grain**2 * count)
    matrix = np.diag(noisy[: len(exact)] / _DIAGONAL)
    matrix[above] = noisy[len(exact) :] / _ABOVE
    matrix.T[above] = matrix[above]
    return Products(matrix, part.deviation / (_ABOVE * grain**2 * count))


def quadratic_minimum(hessian: Array, pull: Array, penalty: Penalty, floor: float) -> Array:
    """argmin of w'Hw/2 - pull.w + penalty, with the eigenvalues of H raised to at least `floor`.

    Noise can make H indefinite; then the minimum would not exist.
    """
    values, vectors = np.linalg.eigh(hessian)
    safe = (vectors * np.maximum(values, floor)) @ vectors.T
    if not penalty.l1.any():
        # least squares gives the weight 0 to a constant column
        return np.asarray(np.linalg.lstsq(safe + np.diag(penalty.l2), pull, rcond=None)[0])
    weights, gradient = np.zeros_like(pull), -pull.copy()
    for _ in range(100_000):  # coordinate descent
        largest = 0.0
        for i in np.flatnonzero(np.diag(safe) > 1e-14 * values[-1]):  # the weight of a constant column stays 0
            step = 1.0 / safe[i, i]
            moved = float(penalty.nearest(weights[i] - step * gradient[i], step, i))
            if moved != weights[i]:
                gradient += safe[i] * (moved - weights[i])
                largest = max(largest, abs(moved - weights[i]))
                weights[i] = moved
        if largest <= 1e-13 * max(1.0, float(np.abs(weights).max())):
            break
    return weights
