"""Sizes of nested blocks and the shares of their noise, for the counts from which quantiles are found.

The q-quantile is found from F(k) - q N, the rows up to bin k less q times all rows. The sum of the squared errors of
these numbers, over all k and all q that are asked, has a closed form for every choice of sizes and shares. Every choice
is private, so the search is only as good as this error, and need not find the best one.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hush.workload.block_search import best_shares, gaussian_blocks
from hush.workload.blocks import precisions

__all__ = ["LEAST_BINS", "Levels", "excess_error", "levels_for"]

Array = NDArray[np.float64]
#: Shorter histograms are measured bin by bin: blocks could not save much.
LEAST_BINS = 24
_MOST_SIZES = 3  # for Laplace noise: a fourth size does not pay for up to 1,000 bins
_REFINED = 12  # lists of sizes whose shares are searched
_SMALL = 2.0**-7  # an epsilon at which Laplace noise on the whole numbers is that on the line
_RATIOS = (2, 3, 4, 6, 8, 12, 16)
_LEAST_SHARE = 0.02  # a size that needs less is not worth measuring


class Levels(NamedTuple):
    """Sizes of blocks, the largest first, and their shares."""

    sizes: tuple[int, ...]
    shares: tuple[float, ...]


class _Norms:
    """The sum over all questions of |P w|^2, P the matrix that replaces each block of a size by its mean."""

    def __init__(self, bins: int, levels: tuple[float, ...]) -> None:
        self.bins, self.levels = bins, levels
        self._known: dict[int, float] = {}

    def __call__(self, size: int, padded: int = 0) -> float:
        if size not in self._known:
            self._known[size] = self._found(size)
        return self._known[size]

    def _found(self, size: int) -> float:
        """For each k: blocks of rows that all count with 1 - q, one block that k cuts, and blocks that count with
        -q.
        """
        blocks = -(-self.bins // size)
        last = self.bins - (blocks - 1) * size
        squares = ((blocks - 1) * size**2 + last**2) / size  # of all blocks with the weight 1
        k = np.arange(1.0, self.bins + 1.0)
        rest = k % size
        before = k - rest
        cut = np.where(rest > 0, np.where(before >= (blocks - 1) * size, last, size), 0.0)
        total = 0.0
        for q in self.levels:
            whole, behind = before * (1.0 - q) ** 2, q**2 * (squares - before - cut**2 / size)
            total += float((whole + (rest - q * cut) ** 2 / size + behind).sum())
        return total


def excess_error(bins: int, levels: tuple[float, ...], sizes: tuple[int, ...], variances: tuple[float, ...]) -> float:
    """The mean squared error of F(k) - q N over all bins k and levels q, for noise of these variances."""
    norms = _Norms(bins, levels)
    gained = np.diff([norms(size) for size in sizes], prepend=0.0)
    return float((gained / precisions(sizes, variances)).sum()) / (bins * len(levels))


@lru_cache(maxsize=128)
def levels_for(kind: str, bins: int, levels: tuple[float, ...]) -> Levels:
    """The best sizes and shares that the search finds. `kind` says what bounds the shares: "sum" (they add up to 1, for
    Laplace noise), "squares" (their squares do, for Gaussian noise) or "equal" (all are 1, for Laplace noise on the
    whole numbers).
    """
    norms = _Norms(bins, levels)
    if kind == "squares":
        found = min((gaussian_blocks(norms, bins, ratio) for ratio in _RATIOS), key=lambda made: made[2])
        return _worthwhile(found[0], np.sqrt(found[1]))
    ranked = sorted(_chains(bins), key=lambda sizes: _equal_error(norms, sizes))
    if kind == "equal":
        return Levels(ranked[0], (1.0,) * len(ranked[0]))
    tried = []
    for sizes in ranked[:_REFINED]:
        gained = np.maximum(np.diff([norms(size) for size in sizes], prepend=0.0), 0.0)
        shares, total = best_shares(gained, sizes, _SMALL)
        tried.append((total, sizes, shares / _SMALL))
    _, sizes, shares = min(tried, key=lambda made: made[0])
    return _worthwhile(sizes, shares)


def _worthwhile(sizes: tuple[int, ...], shares: Array) -> Levels:
    """The sizes with a share that is worth measuring; bins are always measured."""
    each = zip(sizes, shares.tolist(), strict=True)
    kept = [(size, share) for size, share in each if share >= _LEAST_SHARE or size == 1]
    return Levels(tuple(size for size, _ in kept), tuple(share for _, share in kept))


def _chains(bins: int) -> list[tuple[int, ...]]:
    """Lists of sizes, each a multiple of the next: all of up to two sizes beside 1, and 1 alone."""
    most = bins // 2
    found: list[tuple[int, ...]] = [(1,), *((size, 1) for size in range(2, most + 1))]
    if _MOST_SIZES > 2:
        small = range(2, math.isqrt(bins) + 1)
        found += [(size, inner, 1) for inner in small for size in range(2 * inner, most + 1, inner)]
    return found


def _equal_error(norms: _Norms, sizes: tuple[int, ...]) -> float:
    """The sum of the squared errors if each of n sizes has Laplace noise of a variance in proportion to n^2."""
    gained, scale, before = 0.0, float(sum(sizes)), 0.0
    for size in sizes:
        norm = norms(size)
        gained += (norm - before) / scale
        before, scale = norm, scale - size
    return gained * len(sizes) ** 2
