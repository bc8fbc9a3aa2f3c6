"""The search for the sizes of blocks of periods and for the shares of epsilon of their levels.

Every choice is private, so the search is only as good as the error that it finds. That it finds the least one is not
proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from hush.errors import Unsupported
from hush.stream.blocks import BlockStream, block_stream, digits, up_to
from hush.workload.strategy import laplace_variance, spared

__all__ = ["best_blocks"]

_MOST_WINDOW_SEARCH = 1200  # periods for which blocks are searched for windows shorter than the horizon
_NEAR = (1, 2, 3)  # changes of a ratio that are tried beside the large ones
_STEPS = (0.3, 0.1, 0.03, 0.01)  # changes of the logarithm of a share, one after the other

Choice = tuple[tuple[int, ...], tuple[float, ...], float]


def best_blocks(horizon: int, window: int, epsilon: float, appears: int, levels: int) -> BlockStream:
    """The best blocks of this many levels that the search finds, for a person with at most `appears` appearances."""
    each = spared(epsilon) / appears
    if levels == 1:
        return block_stream(horizon, (1,), (each,), appears).for_window(window)
    if window < horizon and (horizon > _MOST_WINDOW_SEARCH or levels > 2):
        raise Unsupported(f"for windows it is searched for two levels and at most {_MOST_WINDOW_SEARCH} periods")
    if min(window, horizon) < 2**levels:
        raise Unsupported(f"so few periods have no blocks of {levels} levels")
    sizes, shares = _searched(min(window, horizon), each, levels)
    epsilons = tuple(spared(share) for share in shares)
    if min(epsilons) < 0.01 * each:
        raise Unsupported(f"{levels} levels are not better than fewer")
    return block_stream(horizon, sizes, epsilons, appears).for_window(window)


@lru_cache(maxsize=64)
def _searched(horizon: int, epsilon: float, levels: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Sizes and epsilons with a small mean error of the running totals of so many periods."""
    known: dict[tuple[int, ...], Choice] = {}

    def tried(ratios: tuple[int, ...]) -> Choice:
        if ratios not in known:
            sizes = tuple(int(size) for size in np.cumprod([1, *ratios]))
            known[ratios] = (sizes, *_best_shares(sizes, digits(sizes, horizon).mean(axis=1).tolist(), epsilon))
        return known[ratios]

    typical = horizon ** (1.0 / levels)
    starts = {
        tuple(max(2, round(typical * factor * (lean if place == 0 else 1.0))) for place in range(levels - 1))
        for factor in (0.6, 1.0, 1.6)
        for lean in (0.7, 1.0, 1.5)
    }
    allowed = sorted((start for start in starts if math.prod(start) <= horizon), key=lambda start: tried(start)[2])
    best = min((_improved(tried, start, horizon) for start in allowed[:2]), key=lambda one: one[2])
    return best[0], best[1]


def _improved(tried: Callable[[tuple[int, ...]], Choice], start: tuple[int, ...], horizon: int) -> Choice:
    """Change one ratio at a time as long as the error falls."""
    best, stride = start, 0.4
    while stride * max(best) >= 0.5:
        moves = []
        for place, ratio in enumerate(best):
            for by in {*_NEAR, max(1, round(stride * ratio))}:
                moves += [tuple(r + side * by if p == place else r for p, r in enumerate(best)) for side in (1, -1)]
        kept = [move for move in moves if min(move) >= 2 and math.prod(move) <= horizon]
        found = min([best, *kept], key=lambda move: tried(move)[2])
        best, stride = (found, stride) if found != best else (best, 0.5 * stride)
    return tried(best)


def _best_shares(sizes: Sequence[int], mean_digits: Sequence[float], epsilon: float) -> tuple[tuple[float, ...], float]:
    """The epsilons of the levels with the least mean error: each share is changed as long as the error falls."""

    def error(shares: Sequence[float]) -> float:
        total = sum(shares)
        variances = [laplace_variance(epsilon * share / total) for share in shares]
        return sum(d * v for d, v in zip(mean_digits, up_to(sizes, variances), strict=True))

    shares = [1.0 / len(sizes)] * len(sizes)
    best = error(shares)
    for step in _STEPS:
        improved = True
        while improved:
            improved = False
            for place in range(1, len(sizes)):  # the first share is the unit of the others
                for factor in (math.exp(step), math.exp(-step)):
                    moved = [share * factor if p == place else share for p, share in enumerate(shares)]
                    found = error(moved)
                    if found < best:
                        shares, best, improved = moved, found, True
    return tuple(epsilon * share / sum(shares) for share in shares), best
