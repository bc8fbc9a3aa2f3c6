"""Least squares on a tree: noisy counts of nodes, combined so that the children of a node add up to it.

Upwards, the estimate of a node is the weighted mean of its own noisy count and of the sum of its children. Downwards,
what the final estimate of a node differs from the sum of its children is divided among them by their variances. This is
the least squares estimate (Hay, Rastogi, Miklau and Suciu 2010, for equal variances), and the variances follow with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter

__all__ = ["Levels"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Levels:
    """The nodes of each level, the coarsest first; the last level has one node for each leaf.

    `nodes[l]` has the node of each leaf, `labels[l]` the names of the nodes, `parents[l]` the parent of each node of
    level l (empty for l = 0).
    """

    nodes: tuple[Whole, ...]
    labels: tuple[tuple[Any, ...], ...]
    parents: tuple[Whole, ...]

    @classmethod
    def of(cls, levels: Sequence[Sequence[Any]]) -> Levels:
        """From the name of the node of every leaf, for each level from the coarsest to the finest."""
        listed = [list(level) for level in levels]
        if not listed or not listed[0] or len({len(level) for level in listed}) != 1:
            raise InvalidParameter(
                "levels must list the node of every leaf, once for each level; "
                "write Tree([['north', 'north', 'south'], ['a', 'b', 'c']])."
            )
        if len(set(listed[-1])) != len(listed[-1]):
            listed.append(list(range(len(listed[-1]))))
        labels = tuple(tuple(dict.fromkeys(level)) for level in listed)
        places = [{name: place for place, name in enumerate(names)} for names in labels]
        nodes = tuple(np.array([place[name] for name in level]) for place, level in zip(places, listed, strict=True))
        parents = [np.zeros(0, dtype=np.int64)]
        for above, below, names in zip(nodes, nodes[1:], labels[1:], strict=False):
            found = np.zeros(len(names), dtype=np.int64)
            found[below] = above
            if (found[below] != above).any():
                raise InvalidParameter("levels must be nested: every node is a part of one node of the level before.")
            parents.append(found)
        return cls(nodes, labels, tuple(parents))

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return self.nodes[-1].size

    def size(self, level: int) -> int:
        """The number of nodes of a level."""
        return len(self.labels[level])

    def sums(self, leaves: NDArray[Any]) -> list[NDArray[Any]]:
        """The sums over the leaves of every node, for each level."""
        found = []
        for level, nodes in enumerate(self.nodes):
            total = np.zeros(self.size(level), dtype=leaves.dtype)
            np.add.at(total, nodes, leaves)
            found.append(total)
        return found

    def _added(self, children: Array, level: int) -> Array:
        """The sum of the children of each node of a level."""
        found: Any = np.bincount(self.parents[level + 1], weights=children, minlength=self.size(level))
        return np.asarray(found, dtype=np.float64)

    def up(self, variances: Sequence[float]) -> tuple[list[Array], list[Array]]:
        """The variance of each node from itself and everything below it, and that of the sum of its children."""
        own = [np.full(self.leaves, variances[-1])]
        below: list[Array] = [np.full(self.leaves, math.inf)]
        for level in range(len(self.nodes) - 2, -1, -1):
            children = self._added(own[0], level)
            below.insert(0, children)
            own.insert(0, 1.0 / (1.0 / variances[level] + 1.0 / children))
        return own, below

    def variances(self, variances: Sequence[float]) -> list[Array]:
        """The variance of the final estimate of each node, for noise of these variances (infinite: not measured)."""
        own, below = self.up(variances)
        found = [own[0]]
        for level in range(1, len(self.nodes)):
            parent = self.parents[level]
            share = own[level] / below[level - 1][parent]
            found.append(own[level] - share * own[level] + share**2 * found[-1][parent])
        return found

    def solved(self, noisy: Sequence[Array], variances: Sequence[float]) -> list[Array]:
        """The final estimate of each node, for each level."""
        own, below = self.up(variances)
        near: list[Array] = [np.asarray(noisy[-1], dtype=np.float64)]
        children: list[Array] = [np.zeros(0)]
        for level in range(len(self.nodes) - 2, -1, -1):
            total = self._added(near[0], level)
            children.insert(0, total)
            near.insert(0, own[level] * (noisy[level] / variances[level] + total / below[level]))
        found = [near[0]]
        for level in range(1, len(self.nodes)):
            parent = self.parents[level]
            missing = (found[-1] - children[level - 1])[parent]
            found.append(near[level] + own[level] / below[level - 1][parent] * missing)
        return found
