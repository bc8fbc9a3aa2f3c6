"""The strategy for a tree, and `TreeAnswer`: private counts of nodes that add up along the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.workload.consistent import around, non_negative_fit, whole_steps_of
from hush.workload.strategy import Strategy, times_weights
from hush.workload.sum_law import SumLaw, laplace_terms
from hush.workload.tree_levels import Levels

__all__ = ["TreeAnswer", "TreeStrategy"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeStrategy(Strategy):
    """The counts of the nodes of the levels `kept`, with noise; `node_variances` is infinite for all other levels.

    `epsilons` has the epsilon of a single move for each kept level with Laplace noise, `multiples` the whole factor of
    each kept level with Gaussian noise.
    """

    nodes: Levels = field(kw_only=True, repr=False)
    kept: tuple[int, ...] = field(kw_only=True)
    node_variances: tuple[float, ...] = field(kw_only=True)
    epsilons: tuple[float, ...] = field(default=(), kw_only=True)
    multiples: tuple[int, ...] = field(default=(), kw_only=True)

    def measured(self, data: Whole) -> list[Whole]:
        sums = self.nodes.sums(data)
        levels = [sums[level] for level in self.kept]
        if not self.multiples:
            return levels
        each = [times_weights(level, np.array(k)) for level, k in zip(levels, self.multiples, strict=True)]
        return [np.concatenate(each)]

    def estimated(self, noisy: Sequence[Whole]) -> list[Array]:
        """The estimate of each node, for each level."""
        parts = [part.astype(np.float64) for part in noisy]
        if self.multiples:
            ends = np.cumsum([self.nodes.size(level) for level in self.kept])[:-1]
            parts = [part / k for part, k in zip(np.split(parts[0], ends), self.multiples, strict=True)]
        full = [np.zeros(self.nodes.size(level)) for level in range(len(self.nodes.labels))]
        for level, part in zip(self.kept, parts, strict=True):
            full[level] = part
        return self.nodes.solved(full, self.node_variances)

    def law(self, weights: Array) -> SumLaw:
        """The law of the error of a weighted sum of the leaves.

        With X the precision of all leaves, the weight of the noise of a node is the sum of X^-1 w over its leaves,
        divided by its variance. Least squares itself computes X^-1 w: it is the estimate from leaves V w alone.
        """
        full = [np.zeros(self.nodes.size(level)) for level in range(len(self.nodes.labels))]
        full[-1] = weights[np.argsort(self.nodes.nodes[-1])] * self.node_variances[-1]
        solved = self.nodes.solved(full, self.node_variances)
        if not self.epsilons:
            return SumLaw(float(full[-1] @ solved[-1]) / self.node_variances[-1])
        terms = []
        for level, epsilon in zip(self.kept, self.epsilons, strict=True):
            each = solved[level] / self.node_variances[level]
            if np.abs(each).max() > 1e-12:
                terms.append(laplace_terms(epsilon, each))
        return SumLaw(0.0, tuple(terms))


@dataclass(frozen=True, eq=False, repr=False)
class TreeAnswer:
    """The answer to `Tree`. The counts of children add up to the count of their parent, to the last integer.

    Levels are numbered from 0, the coarsest. `labels[level]` names the nodes of a level, in the order of the counts.
    """

    workload: Any
    strategy: TreeStrategy
    estimates: list[Array] = field(repr=False)
    receipt: Receipt

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The names of the nodes of each level."""
        return self.strategy.nodes.labels

    def _level(self, level: int) -> int:
        count = len(self.labels)
        if not isinstance(level, int) or not -count <= level < count:
            raise InvalidParameter(f"level must be a number from 0 to {count - 1}, got {shown(level)}.")
        return level % count

    @cached_property
    def _whole_levels(self) -> list[Whole]:
        """The leaves in an order in which every node is a range of leaves are rounded by their cumulative counts."""
        nodes = self.strategy.nodes
        order = np.lexsort(nodes.nodes[::-1])
        leaves = np.zeros(nodes.leaves, dtype=np.int64)
        leaves[order] = whole_steps_of(self.estimates[-1][nodes.nodes[-1]][order])
        return [np.asarray(level) for level in nodes.sums(leaves)]

    def counts(self, level: int = -1) -> Whole:
        """The counts of the nodes of a level, in whole numbers; by default those of the leaves."""
        return self._whole_levels[self._level(level)]

    @property
    def total(self) -> int:
        """The number of all rows."""
        return int(self.counts(0).sum())

    @cached_property
    def _fitted_levels(self) -> list[Whole]:
        """From the top, the nodes below each node are the closest non-negative counts that add up to it."""
        nodes = self.strategy.nodes
        found = [whole_steps_of(non_negative_fit(self.estimates[0], float(max(self.total, 0))))]
        for level in range(1, len(self.labels)):
            below = np.zeros(nodes.size(level), dtype=np.int64)
            order = np.argsort(nodes.parents[level], kind="stable")
            ends = np.cumsum(np.bincount(nodes.parents[level], minlength=nodes.size(level - 1)))[:-1]
            for parent, children in enumerate(np.split(order, ends)):
                count = float(found[-1][parent])
                below[children] = whole_steps_of(non_negative_fit(self.estimates[level][children], count))
            found.append(below)
        return found

    def non_negative(self, level: int = -1) -> Whole:
        """Counts of the nodes of a level without negative ones, in whole numbers. They add up along the tree and to
        the same total. Small counts are too large on average.
        """
        return self._fitted_levels[self._level(level)]

    def node(self, label: Any, *, level: int = -1, confidence: float = 0.95, non_negative: bool = False) -> Total:
        """The count of one node, not rounded, with an interval. non_negative=True cuts both at 0."""
        at = self._level(level)
        if label not in self.labels[at]:
            raise InvalidParameter(f"level {at} has no node {shown(label)}.")
        place = self.labels[at].index(label)
        weights = (self.strategy.nodes.nodes[at] == place).astype(np.float64)
        value, width = float(self.estimates[at][place]), self.strategy.law(weights).half_width(confidence)
        return around(value, width, non_negative)

    def deviation(self, level: int = -1) -> Array:
        """The standard deviation of each node of a level."""
        return np.sqrt(self.strategy.nodes.variances(self.strategy.node_variances)[self._level(level)])

    def __repr__(self) -> str:
        return f"TreeAnswer: {self.workload}; {self.strategy.name}; {self.receipt.guarantee}"
