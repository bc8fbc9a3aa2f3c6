"""The step of the lattice on which losses are composed: how fine it must be, and which losses it should meet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.privacy.loss_pair import kinks_of

__all__ = ["lattice_step"]

Array = NDArray[np.float64]

_RARE = 1e-16  # losses beyond which delta of all releases together is less than this may be outside the window
_LEAST_STEP = 1e-290
_LEAST_SAMPLED = 1e-150  # typical losses on samples: squares of smaller ones are not normal floats
_SAME = 1e-9  # of the largest loss: losses this close to a point of a lattice are on it
_FINER = 0.25  # of the step that precision needs: a lattice with a smaller step is not worth its points


def lattice_step(parts: Sequence[tuple[Any, int]], relative: float) -> tuple[float, bool]:
    """h with h^2/8 = relative * (mean square loss), and whether all known losses that have a probability of their own
    are multiples of it. If they have a common divisor, h divides it. Otherwise h divides the largest one.
    """
    count = sum(times for _, times in parts)
    square = math.fsum(times * pair.spread**2 for pair, times in parts) / count
    step = math.sqrt(8.0 * relative * square)
    ladders: list[Any] = [getattr(pair, "ladder", None) for pair, _ in parts]
    if None not in ladders and math.sqrt(square) > _LEAST_SAMPLED:
        step = _sampled_step(math.sqrt(square), count, max(one.reach(_RARE / count) for one in ladders), step)
    elif None not in ladders:
        step = 0.0
    if not step > _LEAST_STEP:
        raise Unsupported(
            f"the privacy losses are too small to compose (below {_LEAST_SAMPLED:g} on samples, {_LEAST_STEP:g} "
            "otherwise); use less noise or drop these releases."
        )
    if None not in ladders:
        return step, False
    largest = max((atom for pair, _ in parts for atom in pair.atoms), default=0.0)
    divisor = _divisor(parts, _FINER * step)
    anchor = divisor or largest
    return anchor / math.ceil(anchor / step) if anchor > step else divisor or step, divisor > 0.0


def _divisor(parts: Sequence[tuple[Any, int]], least: float) -> float:
    """The largest number, `least` or more, of which all known losses with a probability of their own are multiples (by
    Euclid's algorithm); 0 if there is none.
    """
    if len(parts) > 8:  # many different parts have no common lattice
        return 0.0
    losses = np.concatenate([kinks_of(pair) for pair, _ in parts])
    if not losses.size:
        return 0.0
    tolerance, found = _SAME * float(losses.max()), float(losses.min())
    rest = losses
    while found > max(least, 4.0 * tolerance):
        rest = np.abs(losses - found * np.round(losses / found))
        rest = rest[rest > tolerance]
        if not rest.size:
            return found
        found = float(rest.min())
    return 0.0


def _sampled_step(typical: float, count: int, reach: float, usual: float) -> float:
    """The step for releases on samples. It is the share of the typical loss for which the window of the sum has about
    2^18 points, and at most 1e-4 while the window then has at most 2^21. Rare losses must fit into as many points.
    """
    window = 14.0 * math.sqrt(count) * typical
    step = min(max(window / (1 << 18), typical / 1024.0), typical / 64.0)
    fine = min(step, max(1e-4, window / (1 << 21), typical / 4096.0))
    return max(fine if usual < typical / 64.0 else usual, reach / max(1 << 18, window / fine))
