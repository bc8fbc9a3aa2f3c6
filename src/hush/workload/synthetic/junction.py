"""Junction trees: which attributes a model of all attributes keeps together, with a limit on the cells of its tables.

A graph joins attributes whose dependence the model keeps. Attributes are eliminated one after the other. The neighbours
of an attribute at that moment form a clique with it, and they are joined. The largest cliques, joined by a spanning
tree with the largest common sets, are a junction tree: every attribute is in a connected part of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hush.workload.residual import Subset

__all__ = ["Edge", "JunctionTree", "grown", "junction_tree"]

#: Two attributes, by their places.
Edge = tuple[int, int]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each clique but the first has its parent before it.

    `parents[c]` is the place of the parent of clique c, and `shared[c]` are the attributes that both have.
    """

    cliques: tuple[Subset, ...]
    parents: tuple[int, ...]
    shared: tuple[Subset, ...]

    def cells(self, sizes: Sequence[int]) -> int:
        """The number of cells of the tables of all cliques."""
        return sum(math.prod(sizes[i] for i in clique) for clique in self.cliques)


def _cliques(edges: Iterable[Edge], sizes: Sequence[int]) -> list[Subset]:
    """The largest cliques of the graph, after edges were added. The clique with the fewest cells is eliminated next."""
    near: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for i, j in edges:
        near[i].add(j)
        near[j].add(i)

    def cost(i: int) -> tuple[int, int]:
        return math.prod(sizes[j] for j in (i, *near[i])), i

    found: list[set[int]] = []
    while near:
        i = min(near, key=cost)
        clique = {i, *near[i]}
        if not any(clique <= other for other in found):
            found.append(clique)
        for j in near.pop(i):
            near[j] = (near[j] | clique) - {i, j}
    return [tuple(sorted(clique)) for clique in found]


def junction_tree(edges: Iterable[Edge], sizes: Sequence[int]) -> JunctionTree:
    """The junction tree of a graph on the attributes. Parts of the graph that are not joined share no attribute."""
    left = _cliques(edges, sizes)
    cliques, parents = [left.pop(0)], [-1]
    shared: list[Subset] = [()]
    while left:  # Prim's algorithm: the pair with the most common attributes is next
        pairs = ((len(set(new) & set(old)), -b, -a) for a, old in enumerate(cliques) for b, new in enumerate(left))
        _, b, a = max(pairs)
        new = left.pop(-b)
        parents.append(-a)
        shared.append(tuple(i for i in new if i in cliques[-a]))
        cliques.append(new)
    return JunctionTree(tuple(cliques), tuple(parents), tuple(shared))


def grown(ranked: Iterable[Edge], sizes: Sequence[int], most_cells: int) -> JunctionTree:
    """The junction tree of as many of the ranked edges as the limit on cells allows, the first ones first."""
    kept: list[Edge] = []
    best = junction_tree(kept, sizes)
    for edge in ranked:
        tree = junction_tree([*kept, edge], sizes)
        if tree.cells(sizes) <= most_cells:
            kept.append(edge)
            best = tree
    return best
