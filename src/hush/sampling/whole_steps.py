"""Values as whole numbers of lattice steps: k = floor(v/step + 1/2), computed exactly and limited to 2^61 steps."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter

__all__ = ["FURTHEST", "divides_one", "whole_steps"]

#: The limit of values and answers, in steps. It is half of the limit of a draw, so that a draw at its limit always
#: leads to an answer at this limit.
FURTHEST = 1 << 61


@lru_cache(maxsize=1024)
def divides_one(step: float) -> bool:
    """Return True if 1 is exactly a whole number of steps."""
    return (1 / Fraction(step)).denominator == 1


def whole_steps(values: Any, step: float) -> NDArray[np.int64]:
    """Return floor(v/step + 1/2) for each value, exactly, limited to +-2^61.

    >>> whole_steps([0.14, 0.15, -0.15], 0.1).tolist()
    [1, 1, -1]
    """
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return _of_integers(array.ravel(), step).reshape(array.shape)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:  # wider floats would be rounded twice
        raise InvalidParameter(f"values must be integers or floats of at most 64 bits, got an array of {array.dtype}.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidParameter("values must be finite numbers; a NaN or an infinity is among them.")
    return _of_floats(array.ravel(), step).reshape(array.shape)


def _of_integers(values: NDArray[Any], step: float) -> NDArray[np.int64]:
    if divides_one(step) and step < 2.0**-40:
        return _of_fractions([Fraction(int(v)) for v in values], step)
    if not divides_one(step):
        small = bool((values <= 2**53).all() and (values >= -(2**53)).all()) if values.dtype.kind != "b" else True
        return (
            _of_floats(values.astype(np.float64), step)
            if small
            else _of_fractions([Fraction(int(v)) for v in values], step)
        )
    per_unit = int(1.0 / step)
    most = FURTHEST // per_unit
    if values.dtype.kind == "u":
        values = np.minimum(values, np.uint64(most))
    return np.clip(values.astype(np.int64), -most, most) * per_unit


def _of_floats(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """Round floats to steps.

    If the step is a power of two, the quotient is exact. Otherwise fmod is exact, and (v - fmod(v, h))/h rounds to the
    correct whole number below 2^50; larger quotients are computed in fractions.
    """
    with np.errstate(over="ignore", under="ignore"):
        quotient = values / step
    if math.frexp(step)[0] == 0.5:
        quotient = np.clip(quotient, -float(FURTHEST), float(FURTHEST))
        steps = np.floor(quotient)
        return (steps + (quotient - steps >= 0.5)).astype(np.int64)
    near = np.abs(quotient) < 2.0**50
    calm = np.where(near, values, 0.0)
    rest = np.fmod(calm, step)
    out = (np.rint((calm - rest) / step) + (rest >= 0.5 * step) - (rest < -0.5 * step)).astype(np.int64)
    if not near.all():
        out[~near] = _of_fractions([Fraction(float(v)) for v in values[~near]], step)
    return out


def _of_fractions(values: list[Fraction], step: float) -> NDArray[np.int64]:
    rounded = [math.floor(v / Fraction(step) + Fraction(1, 2)) for v in values]
    return np.array([min(max(k, -FURTHEST), FURTHEST) for k in rounded], dtype=np.int64)
