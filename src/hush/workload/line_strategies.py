"""The strategies that are compared for questions about a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from hush.errors import Unsupported
from hush.privacy.charge import Budget
from hush.workload.block_search import Blocks, best_blocks, gaussian_blocks
from hush.workload.blocks import BlockStrategy
from hush.workload.dense import dense_strategy
from hush.workload.root import root_strategy
from hush.workload.strategy import Strategy, gaussian_part, laplace_part, laplace_variance, spared

__all__ = ["makers"]

_RATIOS = (2, 3, 4, 6, 8, 12, 16)
_SCALE = 1 << 24  # the whole number that stands for a share of 1 of the l2 sensitivity


def makers(line: Any, budget: Budget, rows: int) -> list[tuple[str, Callable[[], Strategy]]]:
    """Names and functions of all candidates."""
    found: list[tuple[str, Callable[[], Strategy]]] = [
        ("Laplace noise on each bin", partial(_laplace, line, budget, rows, 1))
    ]
    most = 1 + (line.bins >= 8) + (line.bins >= 64) + (line.bins >= 1500)
    for levels in range(2, most + 1):
        found.append((f"Laplace noise on blocks of {levels} levels", partial(_laplace, line, budget, rows, levels)))
    found.append(("Gaussian noise on blocks", partial(_gaussian, line, budget, rows)))
    found.append(("Gaussian noise on the best combinations", partial(_dense, line, budget, rows)))
    found.append(("Gaussian noise on the root of cumulative sums", partial(root_strategy, line, budget, rows)))
    return found


@lru_cache(maxsize=64)
def _blocks(line: Any, epsilon: float, levels: int) -> Blocks:
    return best_blocks(line.block_norm, line.bins, epsilon, levels)


def _dense(line: Any, budget: Budget, rows: int) -> Strategy:
    """The best Gaussian strategy, unless a quick lower bound on its error shows that blocks are better."""
    least = min(_blocks(line, spared(budget.epsilon) / rows, levels).total for levels in (1, 2)) / line.questions
    return dense_strategy(line, budget, rows, least)


def _laplace(line: Any, budget: Budget, rows: int, levels: int) -> Strategy:
    epsilon = spared(budget.epsilon) / rows
    found = _blocks(line, epsilon, levels)
    if len(found.sizes) != levels or min(found.epsilons) < 0.01 * epsilon:
        raise Unsupported(f"{line.bins} bins are too few for {levels} levels")
    epsilons = tuple(spared(each) for each in found.epsilons)
    parts = tuple(
        laplace_part(each * rows, -(-line.bins // size), 1, rows)
        for each, size in zip(epsilons, found.sizes, strict=True)
    )
    shown = ", ".join(str(size) for size in found.sizes)
    name = "Laplace noise on each bin" if levels == 1 else f"Laplace noise on blocks of {shown} bins"
    return BlockStrategy(
        name,
        parts,
        found.total / line.questions,
        bins=line.bins,
        sizes=found.sizes,
        node_variances=tuple(laplace_variance(each) for each in epsilons),
        epsilons=epsilons,
    )


def _gaussian(line: Any, budget: Budget, rows: int) -> Strategy:
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")
    flat = line.bins + 1  # a ratio beyond the line: each bin by itself
    tried = [gaussian_blocks(line.block_norm, line.bins, ratio) for ratio in (*_RATIOS, flat)]
    sizes, shares, _ = min(tried, key=lambda found: found[2])
    multiples = [math.floor(_SCALE * math.sqrt(share)) for share in shares.tolist()]
    kept = [place for place, multiple in enumerate(multiples) if multiple >= 64]
    kept_sizes, kept_multiples = tuple(sizes[p] for p in kept), tuple(multiples[p] for p in kept)
    if not kept_sizes or kept_sizes[-1] != 1:
        raise Unsupported("the best blocks do not tell single bins apart")
    count = sum(-(-line.bins // size) for size in kept_sizes)
    part = gaussian_part(rows * math.sqrt(sum(k * k for k in kept_multiples)), count, budget)
    variance = float(np.max(part.noise.variance))
    nodes = tuple(variance / k**2 for k in kept_multiples)
    made = BlockStrategy(
        f"Gaussian noise on blocks of {', '.join(str(size) for size in kept_sizes)} bins",
        (part,),
        math.nan,
        bins=line.bins,
        sizes=kept_sizes,
        node_variances=nodes,
        multiples=kept_multiples,
    )
    return made.with_error(line.block_norm, line.questions)
