"""The offsets of plateau noise: a search for the pair of whole numbers with the least loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

__all__ = ["least_pair"]


def least_pair(
    loss: Callable[[int, int], float], free: tuple[bool, bool], steps_in_scale: float, count: int
) -> tuple[int, int]:
    """Return a pair of whole numbers >= 0 with little loss; a number that is not free stays 0.

    The search moves one number at a time, or both together, by steps that are halved. The loss is flat near its least
    value, so the last step is a small part of the scale.
    """
    known = cache(loss)
    best, stride = (0, 0), 1 << max(0, round(math.log2(max(count * steps_in_scale, 1.0))) - 1)
    fine = max(1.0, steps_in_scale / 32.0)
    while stride >= fine:
        moves = [(stride, 0), (-stride, 0), (0, stride), (0, -stride), (stride, stride), (-stride, -stride)]
        near = [(best[0] + a, best[1] + b) for a, b in moves if (free[0] or not a) and (free[1] or not b)]
        found = min([best, *(pair for pair in near if min(pair) >= 0)], key=lambda pair: known(*pair))
        stride, best = (stride // 2, best) if found == best else (stride, found)
    return best
