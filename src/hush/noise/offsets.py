"""The search for the offsets of plateau noise: one offset for each class of numbers.

Numbers of one kind and of about the same weight are a class. A number of little weight gets a large offset: its own
noise grows, and that of all others shrinks, because the level then depends less on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = ["SHARES", "least_offsets", "weight_classes"]

#: Offsets that are compared if the loss is not the variance, relative to those of least variance.
SHARES = (0.5, 0.7, 0.85, 1.15, 1.3, 1.6)

_MOST_CLASSES = 8


def weight_classes(kinds: Sequence[str], weights: Sequence[float], fixed: str) -> list[int | None]:
    """Return the class of each number, numbered from 0 by their first place; None for numbers of the kind `fixed`.

    Weights of a class differ by less than a factor of two, or by a larger power of two if there are many kinds of
    weights.
    """
    most, width = max(weights), 1.0
    while True:
        keys = [
            None if kind == fixed else (kind, math.floor(math.log2(most / weight) / width))
            for kind, weight in zip(kinds, weights, strict=True)
        ]
        names = [key for key in dict.fromkeys(keys) if key is not None]
        if len(names) <= _MOST_CLASSES:
            return [None if key is None else names.index(key) for key in keys]
        width *= 2.0


def least_offsets(
    count: int, loss: Callable[[tuple[int, ...]], float], scale: float, weights: Sequence[float]
) -> tuple[int, ...]:
    """Return the offsets of `count` classes, in steps from 0 upwards, with the least loss that a search finds.

    `scale` is that of the noise, in steps. The search moves one offset at a time, or all of them together, by steps
    that are halved. The loss is flat near its least value, so the last step is a small part of the scale.
    """
    wide = max(1.0, min(math.sqrt(max(weights) / min(weights)), 64.0) * len(weights) * scale)
    stride, fine, most = 1 << max(0, round(math.log2(wide)) - 1), max(1.0, scale / 32.0), math.ceil(4.0 * wide)
    known: dict[tuple[int, ...], float] = {}

    def value(offsets: tuple[int, ...]) -> float:
        if offsets not in known:
            known[offsets] = loss(offsets)
        return known[offsets]

    best = (0,) * count
    while stride >= fine:
        single = [(side if i == j else 0) for i in range(count) for side in (stride, -stride) for j in range(count)]
        moves = [tuple(single[start : start + count]) for start in range(0, len(single), count)]
        moves += [(stride,) * count, (-stride,) * count] if count > 1 else []
        near = [tuple(a + b for a, b in zip(best, move, strict=True)) for move in moves]
        found = min([best, *(o for o in near if min(o) >= 0 and max(o) <= most)], key=value)
        stride, best = (stride // 2, best) if found == best else (stride, found)
    return best
