"""The sums for coefficient intervals: weighted products of rows, or a weighted gradient with its second derivatives.

A row in whitened coordinates is z = M V, exact in floats because M and V are integers (`whole_rows`). Its weight is the
square of m = min(1, R/|z|). All contributions are rounded towards zero to integers, which never makes them longer, and
the integers are summed exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part
from hush.learn.inference_plan import Inference
from hush.learn.moment_solver import Products, products, whole_rows
from hush.learn.paid import Paid
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import FURTHEST, ExactSum, Integers, integer_matrix, margin_bits

__all__ = ["Score", "Whitening", "score", "weighted_products", "whitening"]

Array = NDArray[np.float64]

_DIAGONAL, _ABOVE = 5, 7  # integer weights of the entries of a symmetric matrix, as in `moment_solver`


@dataclass(frozen=True)
class Whitening:
    """W, which maps a scaled row to z = W u, as integers in units of 2^-bits."""

    matrix: Integers
    bits: int

    @property
    def numbers(self) -> Array:
        return np.ldexp(self.matrix.astype(np.float64), -self.bits)


def whitening(second_moments: Array | None, columns: int, *, standard: bool = True) -> Whitening:
    """W = H^(-1/2) from released second moments of the first columns.

    Columns that were divided by their spread (`standard`) have second moments with the mean eigenvalue 1. The released
    ones are smaller, because long rows were shortened, so they are multiplied by a number that makes them so.
    Other columns, and all columns if nothing was released, keep their coordinates.
    """
    made = np.eye(columns)
    if second_moments is not None:
        width = len(second_moments)
        factor = width / np.trace(second_moments) if standard else 1.0
        values, vectors = np.linalg.eigh(second_moments * factor)
        made[:width, :width] = (vectors / np.sqrt(np.maximum(values, 1e-4 * values[-1]))).T
    return Whitening(*integer_matrix(made))


def _whitened(rows: WholeRows, shape: Whitening, reach: float) -> Iterator[tuple[Array, Array, Array, Array, Array]]:
    """Parts of the rows: V, z, m, the target, and the weights of the rows."""
    matrix = shape.matrix.astype(np.float64).T
    for whole, target, given in rows.parts():
        z = np.ldexp(whole @ matrix, -shape.bits - rows.bits)
        length = np.sqrt(np.einsum("nk,nk->n", z, z))
        shorter = np.minimum(1.0, reach / np.maximum(length, 1e-300))
        yield whole, z, shorter, target, np.ones_like(target) if given is None else given


def weighted_products(
    rows: WholeRows, shape: Whitening, made: Inference, count: int, part: Part | None, paid: Paid
) -> Products:
    """Mean products of m (z, f t) with noise, where f is `made.factor`."""

    def blocks() -> Iterator[Array]:
        for _, z, shorter, target, given in _whitened(rows, shape, made.reach):
            block = np.column_stack([z, made.factor * target])
            block *= (shorter * np.sqrt(given))[:, None]
            yield block

    return products(blocks(), count, made.radius, part, paid)


@dataclass(frozen=True)
class Score:
    """The mean weighted gradient and second derivatives of logistic loss, with the deviations of their noise."""

    information: Array
    information_error: float
    gradient: Array
    gradient_error: float


def score(
    rows: WholeRows,
    shape: Whitening,
    made: Inference,
    weights: Array,
    count: int,
    part: Part | None,
    paid: Paid,
) -> Score:
    """Noisy means over rows of m^2 p (1 - p) z z' and m^2 (p - y) z, at these weights of the scaled columns."""
    fine, coarse = made.grains(count) if part is not None else (1.0, 1.0)
    products_, slopes = ExactSum((made.columns, made.columns)), np.zeros(made.columns, dtype=object)
    exact = np.zeros((made.columns, made.columns)), np.zeros(made.columns)
    bits = margin_bits(rows.width, weights)
    rounded = np.rint(np.ldexp(weights, bits))
    for whole, z, shorter, target, given in _whitened(rows, shape, made.reach):
        state = rows.objective.start(target)
        state += np.ldexp(whole[:, : weights.size] @ rounded, -bits - rows.bits)
        slope = rows.objective.slope(state, target, np.empty_like(state))
        z, chance = z[:, : made.columns], np.clip(slope + target, 0.0, 1.0)
        curved = z * (shorter * np.sqrt(given * chance * (1.0 - chance)))[:, None]
        sloped = z * (shorter**2 * given * slope)[:, None]
        if part is None:
            exact = exact[0] + curved.T @ curved, exact[1] + sloped.sum(axis=0)
            continue
        whole_rows(curved, 0.5 * made.reach, fine)
        products_.add(curved.T @ curved)  # sums of integers below 2^53 are exact in any order
        slopes = slopes + whole_rows(sloped, made.reach, coarse).astype(np.int64).sum(axis=0)
    if part is None:
        return Score(exact[0] / count, 0.0, exact[1] / count, 0.0)
    return _released(products_.total, slopes, (fine, coarse), count, part, paid)


def _released(
    products_: NDArray[np.int64], slopes: Integers, grains: tuple[float, float], count: int, part: Part, paid: Paid
) -> Score:
    size, above = len(products_), np.triu_indices(len(products_), 1)
    limited = np.asarray(np.clip(slopes, -FURTHEST, FURTHEST), dtype=np.int64)
    sums = np.concatenate([_DIAGONAL * np.diag(products_), _ABOVE * products_[above], limited])
    noisy = paid.release(part.mechanism, sums, part.wish.name) / count
    matrix = np.diag(noisy[:size] / _DIAGONAL)
    matrix[above] = noisy[size:-size] / _ABOVE
    matrix.T[above] = matrix[above]
    fine, coarse = grains
    error = part.deviation / count
    return Score(matrix / fine**2, error / (_ABOVE * fine**2), noisy[-size:] / coarse, error / coarse)
