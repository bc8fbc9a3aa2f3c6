"""The fit of a model to released tables: which attributes it keeps together, and its weights.

**The graph.** Two attributes are joined where their released table differs from independence by more than its noise.
The strongest dependence comes first, as long as the junction tree keeps to its limit of cells.

**The weights.** Mirror descent starts at independent attributes and lowers the distance from the released residuals
(McKenna, Sheldon and Miklau 2019). It ends where the distance is what the noise alone explains. A closer fit would fit
the noise. All models on the way have the form of maximum entropy: a product of weights of the cliques.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hush.workload.consistent import non_negative_fit
from hush.workload.residual import Subset, centred, rebuild
from hush.workload.synthetic.junction import Edge, JunctionTree, grown
from hush.workload.synthetic.model import Distance, Model, spread_out

__all__ = ["fitted_model", "ranked_pairs"]

Array = NDArray[np.float64]

_MOST_TURNS = 600
_LONGER, _SHORTER = 1.5, 0.5  # factors of the step after a success and after a failure
_CLEAR = 3.0  # standard deviations of chance by which a dependence must exceed the noise
_EVEN = 0.01  # the share of evenly spread rows at the start: no cell is empty there
_SHORTEST = 1e-12  # of the first step; shorter steps change nothing


def one_way_tables(residuals: Mapping[Subset, Array], sizes: Sequence[int], total: float) -> list[Array]:
    """The non-negative counts of each attribute; even counts where nothing was released about it."""
    return [non_negative_fit(rebuild((i,), residuals, sizes), total) for i in range(len(sizes))]


def ranked_pairs(
    tables: Iterable[Subset],
    residuals: Mapping[Subset, Array],
    spreads: Mapping[Subset, float],
    ones: Sequence[Array],
    total: float,
) -> list[Edge]:
    """The pairs of attributes that clearly depend on each other, the strongest dependence first.

    Its measure is the sum of the absolute differences from independence, less what noise adds to it on average.
    """
    pairs = {pair for table in tables for pair in combinations(table, 2) if pair in residuals}
    found: dict[Edge, float] = {}
    for i, j in sorted(pairs):
        off = residuals[i, j] - centred(np.outer(ones[i], ones[j]) / total)
        numbers = math.prod(size - 1 for size in off.shape)
        chance = math.sqrt(2.0 * numbers)
        if float((off**2).sum()) / spreads[i, j] - numbers > _CLEAR * chance:
            noise = math.sqrt(2.0 / math.pi * spreads[i, j] * numbers * off.size)
            found[i, j] = float(np.abs(off).sum()) - noise
    return sorted(found, key=lambda pair: -found[pair])


def _independent(tree: JunctionTree, ones: Sequence[Array], total: float) -> Model:
    """The model of independent attributes."""
    logs, placed = [], set[int]()
    for clique in tree.cliques:
        table = np.zeros(tuple(ones[i].size for i in clique))
        for i in clique:
            if i not in placed:
                shares = (1.0 - _EVEN) * ones[i] / total + _EVEN / ones[i].size
                table = table + spread_out(np.log(shares), (i,), clique)
        placed.update(clique)
        logs.append(table)
    return Model(tree, logs, total)


def fitted_model(
    tables: Iterable[Subset],
    residuals: Mapping[Subset, Array],
    spreads: Mapping[Subset, float],
    sizes: Sequence[int],
    most_cells: int,
) -> Model:
    """The model of all attributes that fits the released residuals."""
    total = max(float(residuals.get((), np.ones(()))), 1.0)
    ones = one_way_tables(residuals, sizes, total)
    tree = grown(ranked_pairs(tables, residuals, spreads, ones, total), sizes, most_cells)
    model, distance = _independent(tree, ones, total), Distance(tree, residuals, spreads)
    now, slopes = distance.at(model.tables())
    first = step = 1.0 / max(max(float(np.abs(one).max()) for one in slopes), 1e-300)
    for _ in range(_MOST_TURNS):
        if now <= distance.numbers or step < _SHORTEST * first:
            break
        tried = model.moved(slopes, step)
        then, after = distance.at(tried.tables())
        if then < now:
            model, now, slopes, step = tried, then, after, step * _LONGER
        else:
            step *= _SHORTER
    return model
