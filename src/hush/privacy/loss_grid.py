"""The grid on which the curve of a pair of laws is sampled: from 0 to where delta is negligible or stops falling."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics.arrays import distinct
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import NEAR_ENOUGH, up

__all__ = ["CUT", "FAR", "sampled"]

Array = NDArray[np.float64]

#: An epsilon that is treated as infinite.
FAR = 1e12
#: By default, losses beyond the epsilon where delta is this small are treated as infinite.
CUT = 1e-55
_MOST_POINTS = 1 << 24
_MOST_KINDS = 100
_SHORT = 1 << 15  # points; a longer grid is not tried for another pair
#: After how many steps the last similar grid ended, and some more: where to look first for the end of the next one. The
#: grid itself does not depend on it.
_ENDS: dict[tuple[type, type, int, float], int] = {}


@lru_cache(maxsize=24)
def sampled(pair: Any, backward: bool, step: float, cut: float = CUT) -> tuple[Array, Bracket]:
    """Return a grid, and the forward or backward curve of the pair on it.

    The grid starts at 0 and ends where delta falls below the cut or stops falling.
    """
    side = pair.backward if backward else pair.forward
    if pair.pure_epsilon / step < 4096:  # the loss ends early, so its end need not be searched
        grid = np.arange(math.ceil(pair.pure_epsilon / step) + 2, dtype=np.float64) * step
        return grid, side(grid)
    similar = _similar(pair, step, cut)
    found = _until(side, _ENDS[similar], step, cut) if similar in _ENDS else None
    if found is None:
        counts = distinct(np.round(64 * 2.0 ** (0.5 * np.arange(40)))).astype(np.int64)
        ends = np.asarray(side(np.append(counts * step, FAR)).upper)
        final = np.flatnonzero(ends[:-1] <= cut + up(float(ends[-1]), NEAR_ENOUGH))
        if not final.size or counts[final[0]] > _MOST_POINTS:
            raise Unsupported("the privacy losses reach too far for the grid; use fewer releases or more noise.")
        found = _until(side, int(counts[final[0]]), step, cut) or _whole(side, int(counts[final[0]]), step)
    _remember(similar, found[0].size + found[0].size // 16 + 8)
    return found


def _similar(pair: Any, step: float, cut: float) -> tuple[type, type, int, float]:
    """What grids have in common that end after a similar number of steps: the family, the step to a factor 2, and the
    cut.
    """
    return type(pair), type(getattr(pair, "noise", None)), round(math.log2(step)), cut


def _remember(similar: tuple[type, type, int, float], end: int) -> None:
    if end > _SHORT:
        return
    if len(_ENDS) >= _MOST_KINDS:
        _ENDS.clear()
    _ENDS[similar] = end


def _whole(side: Any, count: int, step: float) -> tuple[Array, Bracket]:
    grid = np.arange(count + 1, dtype=np.float64) * step
    return grid, side(grid)


def _until(side: Any, count: int, step: float, cut: float) -> tuple[Array, Bracket] | None:
    """A grid of at most `count` steps, and the curve on it, up to where it falls below the cut; None if that is
    further.
    """
    grid = np.arange(count + 1, dtype=np.float64) * step
    values = side(np.append(grid, FAR))
    upper, rest = np.asarray(values.upper)[:-1], float(values.upper[-1])  # the mass that no epsilon removes
    small = np.flatnonzero(upper <= cut + up(rest, NEAR_ENOUGH))
    if not small.size:
        return None
    end = max(int(small[0]), 1) + 1
    return grid[:end], Bracket(np.asarray(values.lower)[:end], upper[:end])
