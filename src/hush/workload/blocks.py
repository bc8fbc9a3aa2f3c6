"""Nested blocks of bins: the count of every block is measured, and least squares combines all levels.

Level l has blocks of s_l bins, s_0 > s_1 > ... > s_L = 1, each size a multiple of the next. Let P_l replace every block
by its mean, E_0 = P_0 and E_l = P_l - P_(l-1): orthogonal projections that add up to the identity. A node of level l
has noise of variance V_l. The counts of level l give the bins the precision (inverse covariance) s_l P_l/V_l. All
levels together give

    sum of lambda_l E_l    with    lambda_l = s_l/V_l + s_(l+1)/V_(l+1) + ... + s_L/V_L,

and the least squares estimate of a question w has the variance sum of |E_l w|^2/lambda_l.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hush.workload.strategy import Strategy, times_weights
from hush.workload.sum_law import SumLaw, laplace_terms

__all__ = ["BlockStrategy", "block_means", "precisions"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def precisions(sizes: Sequence[int], variances: Sequence[float] | Array) -> Array:
    """lambda_l of every level."""
    each = np.array(sizes, dtype=np.float64) / np.array(variances, dtype=np.float64)
    return np.cumsum(each[::-1])[::-1]


def block_means(values: Array, size: int) -> Array:
    """Every block replaced by its mean; the length is a multiple of the size."""
    return np.repeat(values.reshape(-1, size).mean(axis=1), size)


@dataclass(frozen=True, eq=False)
class BlockStrategy(Strategy):
    """Counts of nested blocks. `variances[l]` is the noise of a node of level l.

    `epsilons` lists the epsilon of a single move for whole-number Laplace noise; it is empty for Gaussian noise, where
    the counts of level l are multiplied by the whole number `multiples[l]` and all get noise of the same law.
    """

    bins: int = field(kw_only=True)
    sizes: tuple[int, ...] = field(kw_only=True)
    node_variances: tuple[float, ...] = field(kw_only=True)
    epsilons: tuple[float, ...] = field(default=(), kw_only=True)
    multiples: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def padded(self) -> int:
        """The bins of whole blocks of the largest size."""
        return -(-self.bins // self.sizes[0]) * self.sizes[0]

    def _nodes(self, size: int) -> int:
        """The blocks that contain a bin of the line."""
        return -(-self.bins // size)

    def measured(self, data: Whole) -> list[Whole]:
        levels = []
        for size in self.sizes:
            full = np.zeros(self._nodes(size) * size, dtype=np.int64)
            full[: self.bins] = data
            levels.append(full.reshape(-1, size).sum(axis=1))
        if not self.multiples:
            return levels
        each = [times_weights(level, np.array(k)) for level, k in zip(levels, self.multiples, strict=True)]
        return [np.concatenate(each)]

    def estimated(self, noisy: Sequence[Whole]) -> Array:
        """The estimated count of each bin."""
        if self.multiples:
            ends = np.cumsum([self._nodes(size) for size in self.sizes])[:-1]
            levels = [part / k for part, k in zip(np.split(noisy[0], ends), self.multiples, strict=True)]
        else:
            levels = [part.astype(np.float64) for part in noisy]
        said = np.zeros(self.padded)
        for size, level, variance in zip(self.sizes, levels, self.node_variances, strict=True):
            full = np.zeros(self.padded // size)
            full[: level.size] = level
            said += np.repeat(full, size) / variance
        return self._solved(said)[: self.bins]

    def _parts(self, values: Array) -> list[Array]:
        """E_l of a vector, for every level."""
        means = [block_means(values, size) for size in self.sizes]
        return [means[0], *(after - before for before, after in pairwise(means))]

    def _solved(self, values: Array) -> Array:
        """The inverse of what all levels say, applied to a vector."""
        return sum(
            (part / scale for part, scale in zip(self._parts(values), self._lambdas, strict=True)),
            np.zeros(values.size),
        )

    @property
    def _lambdas(self) -> Array:
        return precisions(self.sizes, self.node_variances)

    # -- errors ----------------------------------------------------------------------------------------------

    def variances(self, norms: Callable[[int, int], Array]) -> Array:
        """The variance of each question of a workload, from its `block_norms`."""
        each = [norms(size, self.padded) for size in self.sizes]
        gained = [each[0], *(after - before for before, after in pairwise(each))]
        return sum((part / scale for part, scale in zip(gained, self._lambdas, strict=True)), np.zeros(each[0].size))

    def with_error(self, norm: Callable[[int, int], float], questions: int) -> BlockStrategy:
        """The same strategy with the mean squared error of a workload, from its `block_norm`."""
        each = np.array([norm(size, self.padded) for size in self.sizes])
        total = float((np.diff(each, prepend=0.0) / self._lambdas).sum())
        return replace(self, error=total / questions)

    def _full(self, weights: Array) -> Array:
        full = np.zeros(self.padded)
        full[: self.bins] = weights
        return full

    def variance_of(self, weights: Array) -> float:
        """The variance of a weighted sum of the bins."""
        full = self._full(weights)
        return float(full @ self._solved(full))

    def law(self, weights: Array) -> SumLaw:
        """The law of the error of a weighted sum of the bins."""
        if not self.epsilons:
            return SumLaw(self.variance_of(weights))
        solved = self._solved(self._full(weights))
        terms = []
        for size, variance, epsilon in zip(self.sizes, self.node_variances, self.epsilons, strict=True):
            nodes = solved.reshape(-1, size).sum(axis=1)[: self._nodes(size)] / variance
            if np.abs(nodes).max() > 1e-12:
                terms.append(laplace_terms(epsilon, nodes))
        return SumLaw(0.0, tuple(terms))
