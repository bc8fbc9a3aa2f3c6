"""Gaussian noise on combinations of bins with whole coefficients: the least error of all Gaussian strategies.

For questions W with M = W'W, a strategy A with Gram matrix X = A'A and diagonal at most 1 has the total squared error
tr(M X^-1). For every v > 0 with the diagonal matrix D,

    tr(M X^-1) >= (tr (D^1/2 M D^1/2)^1/2)^2 / sum of v,

and the bound is attained where X = D^-1/2 (D^1/2 M D^1/2)^1/2 D^-1/2 has a constant diagonal. The search changes v
until it is nearly constant. (docs/maths/workload.md has the proof.) A root of X is then rounded to whole numbers. Its
longest column, computed in whole numbers, is the sensitivity, so the rounding costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.privacy.charge import Budget
from hush.workload.strategy import Strategy, gaussian_part, times_weights
from hush.workload.sum_law import SumLaw

__all__ = ["MatrixStrategy", "dense_gram", "dense_rows", "dense_search", "dense_strategy", "matrix_strategy"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_BINS = 256  # for which all matrices are computed
_SCALE = 1 << 20  # the length of the longest column
_TURNS = 200
_RIDGE = 1e-6  # relative: what bins that no question uses count
_GAP = 1e-6  # relative, between the error and its lower bound


@dataclass(frozen=True, eq=False)
class MatrixStrategy(Strategy):
    """Combinations of the bins with whole coefficients, and Gaussian noise of one law on all of them."""

    rows: Whole = field(kw_only=True, repr=False)

    def measured(self, data: Whole) -> list[Whole]:
        one = np.array(1)
        return [times_weights(self.rows @ data, one)]

    def estimated(self, noisy: Sequence[Whole]) -> Array:
        found: Array = np.linalg.lstsq(self.rows.astype(np.float64), noisy[0].astype(np.float64), rcond=None)[0]
        return found

    def variance_of(self, weights: Array) -> float:
        """The variance of a weighted sum of the bins."""
        inverse = np.linalg.pinv(self.rows.astype(np.float64))
        return float(np.sum((weights @ inverse) ** 2)) * float(np.max(self.noise.variance))

    def law(self, weights: Array) -> SumLaw:
        """The law of the error of a weighted sum of the bins."""
        return SumLaw(self.variance_of(weights))


def _root(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


class Found(NamedTuple):
    """The best Gram matrix that was found, a lower bound on the error of all, and the vector v of the search."""

    gram: Array
    bound: float
    weights: Array


def dense_gram(gram: Array) -> tuple[Array, float]:
    """X with a diagonal of at most 1 and nearly the least tr(M X^-1), and a lower bound on that of all X."""
    found = dense_search(gram, np.ones(len(gram)), _GAP)
    return found.gram, found.bound


def dense_search(gram: Array, start: Array, gap: float, exponent: float = 2.0) -> Found:
    """The same from a given vector v, until the error is within `gap` of its lower bound. The exponent of the steps
    decides how many of them are needed.
    """
    v, best, bound = start, (np.eye(len(gram)), math.inf, start), 0.0
    for _ in range(_TURNS):
        half = np.sqrt(v)
        root = _root(gram * np.outer(half, half))
        trace = float(np.trace(root))
        bound = max(bound, trace**2 / float(v.sum()))
        found = root / np.outer(half, half)
        diagonal = np.diag(found)
        found = found / diagonal.max()
        # tr(M X^-1) = diagonal.max() tr(D^1/2 M D^1/2 root^-1) = diagonal.max() trace
        total = float(diagonal.max()) * trace
        if total < best[1]:
            best = (found, total, v)
        if best[1] <= bound * (1.0 + gap):
            break
        v = v * (diagonal / diagonal.max()) ** exponent
    return Found(best[0], bound, best[2])


def _full_rank(gram: Array) -> Array:
    """The matrix, with a small multiple of the identity added if it is nearly singular: then every bin is measured, if
    only roughly, and every sum of bins has an unbiased estimate.
    """
    least = _RIDGE * float(np.trace(gram)) / len(gram)
    return gram if float(np.linalg.eigvalsh(gram)[0]) >= least else gram + least * np.eye(len(gram))


def matrix_strategy(rows: Whole, questions: Array, budget: Budget, moves: int, name: str) -> MatrixStrategy:
    """Gaussian noise on these combinations; the error is that of the questions."""
    squares = [sum(int(k) ** 2 for k in column) for column in rows.T]
    part = gaussian_part(moves * math.sqrt(max(squares)), len(rows), budget)
    inverse = np.linalg.pinv(rows.astype(np.float64))
    total = float(np.sum((questions @ inverse) ** 2)) * float(np.max(part.noise.variance))
    return MatrixStrategy(name, (part,), total / len(questions), rows=rows)


def dense_strategy(line: Any, budget: Budget, moves: int, least: float = math.inf) -> MatrixStrategy:
    """The best Gaussian strategy for a short line; raises if its error is surely above `least`."""
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")
    if line.bins > _MOST_BINS:
        raise Unsupported(f"it is computed for at most {_MOST_BINS} bins")
    questions = line.matrix()
    unit = gaussian_part(float(moves), 1, budget).noise.variance
    bound = float(np.trace(_root(questions.T @ questions))) ** 2 / line.bins * unit / line.questions
    if bound > least:
        raise Unsupported(f"its error is at least {bound:.4g}")
    rows = dense_rows(line, _SCALE)
    return matrix_strategy(rows, questions, budget, moves, "Gaussian noise on the best combinations")


def dense_rows(line: Any, scale: int) -> Whole:
    """The best Gaussian strategy for a short line, its coefficients times this number and rounded."""
    questions = line.matrix()
    gram, _ = dense_gram(_full_rank(questions.T @ questions))
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.rint(scale * root).astype(np.int64)
