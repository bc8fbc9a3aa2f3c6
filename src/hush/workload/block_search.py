"""The search for the sizes of nested blocks and for the shares of epsilon of their levels.

Every choice is private, so the search is only as good as its error, which a closed form gives. There are several local
minima, so the search starts from many sizes and improves one size at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.workload.blocks import precisions

__all__ = ["Blocks", "best_blocks", "best_shares", "gains", "gaussian_blocks"]

Array = NDArray[np.float64]
Norm = Callable[[int, int], float]

_TURNS = 80  # of the search for the shares of one list of sizes
_SLOWLY = 0.35  # exponent of its steps
_NEAR = 5  # ratios that differ by at most this are all tried at the end
_LEAST = 1e-3  # the least share of a level: one that needs less is not worth measuring


class Blocks(NamedTuple):
    """Sizes of blocks, the epsilon of each level, and the sum of the squared errors of all questions."""

    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    total: float


def gains(norm: Norm, bins: int, sizes: Sequence[int]) -> Array:
    """t_l: the sum over all questions of |E_l w|^2, for each level."""
    padded = -(-bins // sizes[0]) * sizes[0]
    each = np.array([norm(size, padded) for size in sizes])
    return np.maximum(np.diff(each, prepend=0.0), 0.0)


def best_shares(gained: Array, sizes: Sequence[int], epsilon: float) -> tuple[Array, float]:
    """The epsilons of the levels with the least error: 1/V = cosh(epsilon) - 1 for whole-number Laplace noise.

    At the minimum the derivatives of the error by each epsilon are equal. Shares with a large derivative grow.
    """
    count = len(sizes)
    shares = np.full(count, epsilon / count)
    widths, best = np.array(sizes, dtype=np.float64), (shares, math.inf)
    for _ in range(_TURNS if count > 1 else 1):
        scale = precisions(sizes, 1.0 / (2.0 * np.sinh(0.5 * shares) ** 2))
        total = float((gained / scale).sum())
        if total < best[1]:
            best = (shares, total)
        slope = widths * np.cumsum(gained / scale**2) * np.sinh(shares)
        shares = np.maximum(shares * (slope / slope.max()) ** _SLOWLY, _LEAST * epsilon)
        shares = shares * (epsilon / shares.sum())
    return best


def _sized(steps: Sequence[int]) -> tuple[int, ...]:
    """Sizes from the ratios of neighbouring sizes, the finest ratio first."""
    return tuple(int(size) for size in np.cumprod([1, *steps])[::-1])


def best_blocks(norm: Norm, bins: int, epsilon: float, levels: int) -> Blocks:
    """The best blocks of this many levels that the search finds."""
    known: dict[tuple[int, ...], Blocks] = {}

    def tried(steps: tuple[int, ...]) -> Blocks:
        if steps not in known:
            sizes = _sized(steps)
            shares, total = best_shares(gains(norm, bins, sizes), sizes, epsilon)
            known[steps] = Blocks(sizes, tuple(shares.tolist()), total)
        return known[steps]

    if levels == 1:
        return tried(())
    typical = max(2.0, (bins / 6.0) ** (1.0 / levels))
    factors = ((0.6, 0.6), (1.0, 1.0), (1.6, 1.6), (1.5, 0.7))  # of the finest ratio, and of the others
    starts = [
        tuple(max(2, round(typical * (own if place == 0 else other))) for place in range(levels - 1))
        for own, other in factors
    ]
    ranked = sorted({start for start in starts if math.prod(start) <= bins}, key=lambda start: tried(start).total)
    found = [_improved(tried, start, bins) for start in ranked[:2]]
    return min(found, key=lambda blocks: blocks.total, default=tried(()))


def _improved(tried: Callable[[tuple[int, ...]], Blocks], start: tuple[int, ...], bins: int) -> Blocks:
    """Change one ratio, or two in opposite directions, as long as the error falls; the steps become smaller."""
    best, stride = start, 0.5
    while stride * max(best) >= 0.5:
        moves = []
        for place, ratio in enumerate(best):
            wide = max(1, round(stride * ratio))
            near = range(1, _NEAR + 1) if wide <= _NEAR else (wide,)  # whole blocks fit some lines better than others
            for by in near:
                moves += [tuple(r + side * by if p == place else r for p, r in enumerate(best)) for side in (1, -1)]
        allowed = [move for move in moves if min(move) >= 2 and math.prod(move) <= bins]
        found = min([best, *allowed], key=lambda move: tried(move).total)
        best, stride = (found, stride) if found != best else (best, 0.5 * stride)
    return tried(best)


def gaussian_blocks(norm: Norm, bins: int, ratio: int) -> tuple[tuple[int, ...], Array, float]:
    """Sizes, the precision 1/V of each level for a total precision of 1, and the sum of the squared errors, for
    Gaussian noise and blocks whose sizes are powers of `ratio`.

    The least error is (sum of root(t_l r_l))^2 with r_l = 1/s_l - 1/s_(l-1), at lambda_l proportional to
    root(t_l/r_l). Counts of blocks realise it where lambda_l falls with l; where it does not, it is made level.
    """
    sizes = [1]
    while sizes[-1] * ratio <= bins:
        sizes.append(sizes[-1] * ratio)
    sizes = sizes[::-1]
    gained = gains(norm, bins, sizes)
    inverse = 1.0 / np.array(sizes, dtype=np.float64)
    ranks = np.diff(inverse, prepend=0.0)
    wanted = np.minimum.accumulate(np.sqrt(np.maximum(gained, 1e-300) / ranks))
    each = (wanted - np.append(wanted[1:], 0.0)) * inverse  # 1/V_l, up to a factor
    each = each / each.sum()
    with np.errstate(divide="ignore"):
        total = float((gained / precisions(sizes, 1.0 / np.maximum(each, 1e-300))).sum())
    return tuple(sizes), each, total
