"""The least scale of a joint noise on a lattice: its pure epsilon is the move divided by the scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hush.errors import Unsupported
from hush.noise.lattice import steps_in
from hush.noise.level_noise import LevelNoise
from hush.noise.request import Request
from hush.numerics.rounding import next_up

__all__ = ["calibrated", "least_scale"]

_FINE = 8.0  # steps in the scale of the noise, where the values are not whole numbers


def least_scale(total: float | Fraction, epsilon: float) -> float:
    """Return the least float scale with total/scale <= epsilon, exactly."""
    scale = float(Fraction(total) / Fraction(epsilon))
    while Fraction(total) / Fraction(scale) > Fraction(epsilon):
        scale = next_up(scale)
    return scale


def calibrated(request: Request, make: Callable[[float, float], LevelNoise], one_sided_only: bool) -> LevelNoise:
    """Return the noise of least scale that is private for the request; `make(scale, step)` builds it.

    Joint noise needs the number of numbers (`dimension`), one bound for all of them, and no bound in another norm.
    """
    bound = request.bound
    if bound.dimension is None or bound.dimension == 1 or not request.plain:
        raise Unsupported("joint noise needs Sensitivity(linf=..., dimension=D), with one bound for all D > 1 numbers")
    if one_sided_only and bound.one_sided is not True:
        raise Unsupported("this noise needs one_sided=True: counts, or sums of values of one sign, under add-remove")
    step, scale = request.step, float(Fraction(request.shift) * request.times / Fraction(request.epsilon))
    if step is None:  # the shift divided by a power of two, at most an eighth of the scale: rounding costs under 0.1 %
        step = math.ldexp(request.shift, -max(0, math.ceil(math.log2(_FINE * request.shift / scale))))
    steps = steps_in(request.shift, step)  # raises if the noise does not fit the moves of the answers
    # the float of a decimal shift such as 0.3 may be below three steps of 0.1: the steps are what moves
    return make(least_scale(steps * Fraction(step) * request.times, request.epsilon), step)
