"""The search for the offset and the lattice of stairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from hush.noise.level_noise import LevelNoise
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

    if request.step is not None:
        return _best_offset(request, lambda c: made(c, request.step or 1.0), round(move / request.step), epsilon)
    steps = 16
    while True:
        step = move / steps
        best = _best_offset(request, lambda c, step=step: made(c, step), steps, epsilon)  # type: ignore[misc]
        if step * _FINE <= math.sqrt(best.variance) or steps >= _MOST_STAIRS:
            return best
        steps *= 4


def _best_offset(request: Request, made: Callable[[int], T], width: int, epsilon: float) -> T:
    """The offset of least loss: a comparison of offsets within two stairs and beyond, then ever finer ones."""
    known: dict[int, float] = {}

    def value(c: int) -> float:
        if c not in known:
            known[c] = request.value(made(c)) if request.loss != "variance" else float(made(c).variance)
        return known[c]

    most = math.ceil(1.3 * request.bound.dimension * width / epsilon) + 2 * width
    places = {round(i * reach / _PLACES) for i in range(_PLACES + 1) for reach in (width, most)}
    best = min(sorted(places), key=value)
    stride = max(1, most // _PLACES)
    while stride >= 1:
        best = min([best, *(c for c in (best - stride, best + stride) if c >= 0)], key=value)
        stride //= 2
    return made(best)
