"""`Tree`: counts of all nodes of a tree, such as countries, regions and districts, or chapters of codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, called_like, made_like, one_of, whole
from hush.privacy.charge import Budget
from hush.releasing.receipt import Receipt
from hush.workload.counts import MOST_ROWS, whole_array
from hush.workload.plan import WorkloadPlan, chosen
from hush.workload.strategy import gaussian_part, laplace_part, laplace_variance, spared
from hush.workload.tree_answer import TreeAnswer, TreeStrategy
from hush.workload.tree_levels import Levels

__all__ = ["Tree"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_TURNS = 40  # of the search for the shares of the levels
_STEP = 1e-4  # relative, of its differences
_LEAST = 1e-3  # the least share of a level
_SCALE = 1 << 24  # the whole number that stands for a share of 1 of the l2 sensitivity
_MOST_CHOICES = 4  # levels above the leaves of which all choices are compared


@made_like("Tree([['north', 'north', 'south'], ['a', 'b', 'c']])")
@dataclass(frozen=True, repr=False)
class Tree:
    """The counts of all nodes of a tree. `levels` lists the node of every leaf, for each level, the coarsest first.

    The last level names the leaves; if its names are not all different, a level of leaves is added. A row is in one
    leaf. weights="levels" minimises the mean over the levels of the mean squared error of their nodes, "nodes" the mean
    squared error of all nodes.

    >>> plan = Tree([["north"] * 3 + ["south"] * 5, list("abcdefgh")]).plan(1.0, 1e-6)
    >>> round(plan.rmse, 2)
    1.72
    """

    levels: Sequence[Sequence[Any]]
    weights: str = "levels"
    by_attributes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        one_of("weights", self.weights, ("levels", "nodes"))
        _ = self.nodes

    @cached_property
    def nodes(self) -> Levels:
        """The nodes of all levels."""
        return Levels.of(self.levels)

    @property
    def questions(self) -> int:
        """The number of nodes."""
        return sum(len(names) for names in self.nodes.labels)

    @property
    def objective(self) -> str:
        """What the plan minimises, in words."""
        words = {"levels": "mean over the levels of the mean squared error of their nodes"}
        return words.get(self.weights, "mean squared error of all nodes")

    def error(self, variances: Sequence[float]) -> float:
        """What is minimised, for noise of these variances on the nodes of each level."""
        each = self.nodes.variances(variances)
        if self.weights == "nodes":
            return float(sum(one.sum() for one in each)) / self.questions
        return float(np.mean([one.mean() for one in each]))

    @called_like("Tree([['north', 'south']]).plan(1.0, 1e-6)")
    def plan(self, epsilon: float, delta: float, *, rows_per_person: int = 1) -> WorkloadPlan:
        """The strategy and the noise of least error for this budget: which levels are measured, with which shares of
        epsilon, and with whole-number Laplace or Gaussian noise.
        """
        budget, rows = Budget.asked(epsilon, delta), whole("rows_per_person", rows_per_person)
        makers = [
            ("Laplace noise on each leaf", partial(_laplace, self, budget, rows, False)),
            ("Laplace noise on several levels", partial(_laplace, self, budget, rows, True)),
            ("Gaussian noise on several levels", partial(_gaussian, self, budget, rows)),
        ]
        return chosen(self, budget, rows, makers)

    def counted(self, leaves: Any) -> Whole:
        """The count of each leaf, checked."""
        array = whole_array("leaves", leaves)
        if array.shape != (self.nodes.leaves,):
            raise InvalidParameter(f"leaves must be a list of {self.nodes.leaves} counts, got shape {array.shape}.")
        if float(np.abs(array).astype(np.float64).sum()) > MOST_ROWS:
            raise InvalidParameter("the counts must be those of at most 2^40 rows.")
        return array

    def answer_of(self, plan: WorkloadPlan, estimated: Any, receipt: Receipt) -> TreeAnswer:
        """The answer from the estimated nodes."""
        assert isinstance(plan.strategy, TreeStrategy)
        return TreeAnswer(self, plan.strategy, estimated, receipt)

    def variances(self, strategy: TreeStrategy) -> list[Array]:
        """The variance of each node, for each level."""
        return self.nodes.variances(strategy.node_variances)

    def mean_squared_error(self, strategy: TreeStrategy) -> float:
        """The mean over all nodes."""
        return float(sum(one.sum() for one in self.variances(strategy))) / self.questions

    def __repr__(self) -> str:
        return "a tree of " + ", ".join(str(len(names)) for names in self.nodes.labels) + " nodes"

    def __hash__(self) -> int:
        return hash((self.nodes.labels, self.weights))


def _shares(tree: Tree, kept: tuple[int, ...], noise: Callable[[float], float]) -> tuple[list[float], float]:
    """The shares of the measured levels with the least error, and the error; `noise(share)` is a variance.

    At the minimum the error falls equally fast with each share. Shares with which it falls faster grow.
    """
    count = len(tree.nodes.labels)

    def error(shares: Array) -> float:
        variances = [math.inf] * count
        for level, share in zip(kept, shares.tolist(), strict=True):
            variances[level] = noise(share)
        return tree.error(variances)

    shares = np.full(len(kept), 1.0 / len(kept))
    best = (shares, error(shares))
    for _ in range(_TURNS if len(kept) > 1 else 0):
        here = error(shares)
        slopes = np.empty(len(kept))
        for place in range(len(kept)):
            moved = shares.copy()
            moved[place] *= 1.0 + _STEP
            slopes[place] = max(here - error(moved), 1e-300) / (_STEP * shares[place])
        shares = np.maximum(shares * (slopes / slopes.max()) ** 0.4, _LEAST)
        shares = shares / shares.sum()
        best = min(best, (shares, error(shares)), key=lambda pair: pair[1])
    return best[0].tolist(), best[1]


def _choices(tree: Tree) -> list[tuple[int, ...]]:
    """The levels to measure: the leaves, and any of the others."""
    leaf = len(tree.nodes.labels) - 1
    above = list(range(leaf))
    if leaf > _MOST_CHOICES:
        return [(*above[start:], leaf) for start in range(leaf)]
    return [(*some, leaf) for size in range(1, leaf + 1) for some in combinations(above, size)]


def _best(tree: Tree, choices: list[tuple[int, ...]], noise: Callable[[float], float]) -> tuple[Any, ...]:
    if not choices:
        raise Unsupported("the tree has one level")
    tried = [(kept, *_shares(tree, kept, noise)) for kept in choices]
    return min(tried, key=lambda found: found[2])


def _laplace(tree: Tree, budget: Budget, rows: int, several: bool) -> TreeStrategy:
    total = spared(budget.epsilon)
    leaf: tuple[int, ...] = (len(tree.nodes.labels) - 1,)
    choices = _choices(tree) if several else [leaf]
    kept, shares, _ = _best(tree, choices, lambda share: laplace_variance(share * total / rows))
    epsilons = [spared(share * total) for share in shares]
    variances = [math.inf] * len(tree.nodes.labels)
    for level, epsilon in zip(kept, epsilons, strict=True):
        variances[level] = laplace_variance(epsilon / rows)
    parts = tuple(
        laplace_part(each, tree.nodes.size(level), 1, rows) for level, each in zip(kept, epsilons, strict=True)
    )
    name = f"Laplace noise on levels {', '.join(map(str, kept))}" if several else "Laplace noise on each leaf"
    return TreeStrategy(
        name,
        parts,
        tree.error(variances),
        nodes=tree.nodes,
        kept=kept,
        node_variances=tuple(variances),
        epsilons=tuple(each / rows for each in epsilons),
    )


def _gaussian(tree: Tree, budget: Budget, rows: int) -> TreeStrategy:
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")
    choices = [*_choices(tree), (len(tree.nodes.labels) - 1,)]
    kept, shares, _ = _best(tree, choices, lambda share: 1.0 / share)
    multiples = tuple(math.floor(_SCALE * math.sqrt(share)) for share in shares)
    count = sum(tree.nodes.size(level) for level in kept)
    part = gaussian_part(rows * math.sqrt(sum(k * k for k in multiples)), count, budget)
    variances = [math.inf] * len(tree.nodes.labels)
    for level, k in zip(kept, multiples, strict=True):
        variances[level] = float(np.max(part.noise.variance)) / k**2
    name = f"Gaussian noise on levels {', '.join(map(str, kept))}"
    return TreeStrategy(
        name,
        (part,),
        tree.error(variances),
        nodes=tree.nodes,
        kept=kept,
        node_variances=tuple(variances),
        multiples=multiples,
    )
