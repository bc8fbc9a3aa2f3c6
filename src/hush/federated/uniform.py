"""Exact uniform whole numbers from random words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.sampling.entropy import Bits

__all__ = ["below"]


def below(bits: Bits, count: int, bound: int) -> NDArray[np.int64]:
    """`count` uniform integers from 0 to bound - 1: random words modulo the bound.

    Words of the last, incomplete cycle are drawn again.
    """
    last = np.uint64((1 << 64) // bound * bound - 1)
    out = np.empty(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        words = bits.words(left.size, np.uint64)[0]
        fair = words <= last
        out[left[fair]] = (words[fair] % np.uint64(bound)).astype(np.int64)
        left = left[~fair]
    return out
