"""The search for the offset and the lattice of stairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeVar

from hush.noise.lattice import steps_in
from hush.noise.level_noise import LevelNoise
from hush.noise.offsets import SHARES
from hush.noise.request import Request
from hush.numerics.rounding import next_down

__all__ = ["least_stairs"]

T = TypeVar("T", bound=LevelNoise)

_FINE = 16.0  # steps in the standard deviation, at least: rounding to the lattice then costs under 0.1 % of variance
_MOST_STAIRS = 1 << 12  # steps in the width of a stair, at most
_PLACES = 24  # offsets of the first comparison


def least_stairs(request: Request, make: Callable[..., T]) -> T:
    """Return the least noise of the family `make(dimension, epsilon, width, offset, step)` for the request."""
    bound, move = request.bound, request.shift
    epsilon = request.epsilon / request.times
    while Fraction(epsilon) * request.times > Fraction(request.epsilon):
        epsilon = next_down(epsilon)

    def made(c: int, step: float) -> T:
        return make(bound.dimension, epsilon, move, c * step, step)

    steps, step = 16, move / 16.0
    if request.step is not None:
        steps, step = steps_in(move, request.step), request.step
    best = _best_offset(partial(_at, made, step), bound.dimension, steps, epsilon)
    while request.step is None and step * _FINE > math.sqrt(made(best, step).variance) and steps < _MOST_STAIRS:
        steps, step = 4 * steps, step / 4.0
        best = _best_offset(partial(_at, made, step), bound.dimension, steps, epsilon)
    if request.loss == "variance":
        return made(best, step)
    around = {0, best, *(round(best * share) for share in SHARES)}
    return min((made(c, step) for c in sorted(around)), key=request.value)


def _at(made: Callable[[int, float], T], step: float, c: int) -> T:
    return made(c, step)


def _best_offset(made: Callable[[int], LevelNoise], dimension: int, width: int, epsilon: float) -> int:
    """The offset of least variance: a comparison of offsets within one stair and beyond, then ever finer ones."""
    known: dict[int, float] = {}

    def value(c: int) -> float:
        if c not in known:
            known[c] = float(made(c).variance)
        return known[c]

    most = math.ceil(1.3 * dimension * width / epsilon) + 2 * width
    places = {round(i * reach / _PLACES) for i in range(_PLACES + 1) for reach in (width, most)}
    best = min(sorted(places), key=value)
    stride = max(1, most // _PLACES)
    while stride >= 1:
        best = min([best, *(c for c in (best - stride, best + stride) if c >= 0)], key=value)
        stride //= 2
    return best
