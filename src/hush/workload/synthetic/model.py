"""A model of all attributes over a junction tree, and its distance from released tables.

The model has a table of positive weights for each clique. The weight of a row is the product of the weights of its
cells. Messages along the tree give the expected counts of each clique. Nothing larger than these tables is stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.workload.residual import Subset, centred, parts_of
from hush.workload.synthetic.junction import JunctionTree

__all__ = ["Distance", "Model", "spread_out", "summed"]

Array = NDArray[np.float64]

_LEAST = 1e-300  # keeps weights away from 0


def summed(table: Array, clique: Subset, kept: Subset) -> Array:
    """The table of some attributes of a clique."""
    axes = tuple(axis for axis, i in enumerate(clique) if i not in kept)
    return np.asarray(table.sum(axis=axes)) if axes else table


def spread_out(table: Array, own: Subset, clique: Subset) -> Array:
    """A table of some attributes of a clique, with axes of length 1 for the others."""
    return np.expand_dims(table, tuple(axis for axis, i in enumerate(clique) if i not in own))


@dataclass(frozen=True, eq=False)
class Model:
    """The logarithms of the weights of each clique, and the number of rows."""

    tree: JunctionTree
    logs: list[Array]
    total: float

    def moved(self, slopes: Sequence[Array], step: float) -> Model:
        """The model after a step against the slopes."""
        return Model(self.tree, [one - step * s for one, s in zip(self.logs, slopes, strict=True)], self.total)

    def tables(self) -> list[Array]:
        """The expected counts of each clique. They agree on common attributes, and each table has the same total."""
        tree = self.tree
        weights = [np.exp(one - one.max()) for one in self.logs]
        for c in range(len(weights) - 1, 0, -1):  # from the children to their parents
            sums, parent = summed(weights[c], tree.cliques[c], tree.shared[c]), tree.parents[c]
            message = sums / sums.max() + _LEAST
            weights[parent] = weights[parent] * spread_out(message, tree.shared[c], tree.cliques[parent])
        weights[0] = weights[0] * (self.total / weights[0].sum())
        for c in range(1, len(weights)):  # from the parents to their children
            parent = tree.parents[c]
            wanted = summed(weights[parent], tree.cliques[parent], tree.shared[c])
            own = summed(weights[c], tree.cliques[c], tree.shared[c])
            weights[c] = weights[c] * spread_out(wanted / np.maximum(own, _LEAST), tree.shared[c], tree.cliques[c])
        return weights


class Distance:
    """The squared distance of the residuals of a model from the released ones, in units of their variances.

    The released residuals are independent. So a model that is the truth has a distance of about `numbers`, the number
    of independent released numbers that the cliques contain. For Gaussian noise, the model with the least distance is
    the most likely one.
    """

    def __init__(self, tree: JunctionTree, residuals: Mapping[Subset, Array], spreads: Mapping[Subset, float]) -> None:
        self._cliques = tree.cliques
        self._parts: list[tuple[int, Subset, Array, float]] = []
        seen: set[Subset] = set()
        for c, clique in enumerate(tree.cliques):
            for part in parts_of(clique):
                if part and part in residuals and part not in seen:
                    seen.add(part)
                    self._parts.append((c, part, residuals[part], spreads[part]))

    @property
    def numbers(self) -> int:
        """The number of independent released numbers."""
        return sum(math.prod(size - 1 for size in wanted.shape) for _, _, wanted, _ in self._parts)

    def at(self, tables: Sequence[Array]) -> tuple[float, list[Array]]:
        """The distance, and half its slope by the counts of each clique."""
        total, slopes = 0.0, [np.zeros((1,) * len(clique)) for clique in self._cliques]
        for c, part, wanted, variance in self._parts:
            off = centred(summed(tables[c], self._cliques[c], part)) - wanted
            total += float((off**2).sum()) / variance
            slopes[c] = slopes[c] + spread_out(off / variance, part, self._cliques[c])
        return total, slopes
