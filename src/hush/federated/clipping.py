"""Updates clipped to an l1 or l2 bound: as integers on a lattice, and the projection of a noisy mean update."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.numerics.arrays import on_simplex
from hush.numerics.rounding import CLOSED_FORM, down, next_down

__all__ = ["as_vector", "clipped_steps", "projected"]


def as_vector(name: str, value: Any) -> NDArray[np.float64]:
    """A vector of floats; the error message does not show it, because it is private."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        return array.astype(np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be an array of numbers, got {type(value).__name__}.") from None


def clipped_steps(vector: NDArray[np.float64], clip: float, norm: str, step: float) -> NDArray[np.int64]:
    """The vector clipped to norm `clip` and rounded towards zero to integers in units of `step`.

    Guarantees: the norm of the result times step is at most clip, checked in integers; step must be a power of two.
    """
    largest = float(np.abs(vector).max())
    if largest == 0.0:
        return np.zeros(vector.size, dtype=np.int64)
    shape = vector / largest  # so that no norm overflows
    length = float(np.abs(shape).sum()) if norm == "l1" else float(np.sqrt(np.square(shape).sum()))
    scaled = shape * min(largest, clip / length)
    steps = np.trunc(scaled / step).astype(np.int64)
    while not _within(steps, clip / step, norm):  # rounding errors went above the bound: shorten by part of a step
        scaled = down(scaled, CLOSED_FORM) - np.sign(scaled) * step * 1e-3
        steps = np.trunc(scaled / step).astype(np.int64)
    return steps


def _within(steps: NDArray[np.int64], bound: float, norm: str) -> bool:
    """Whether the norm is at most `bound`, a number of steps that is exact because the step is a power of two."""
    sizes = [abs(int(k)) for k in steps]
    return sum(sizes) <= bound if norm == "l1" else sum(k * k for k in sizes) <= next_down(bound * bound)


def projected(vector: NDArray[np.float64], clip: float, norm: str) -> NDArray[np.float64]:
    """The vector projected first to [-clip, clip] in each number, then to norm at most `clip`."""
    inside = np.clip(vector, -clip, clip)
    sizes = np.abs(inside)
    if norm == "l2":
        return inside * min(1.0, clip / max(float(np.linalg.norm(inside)), 5e-324))
    if float(sizes.sum()) <= clip:
        return inside
    return np.copysign(on_simplex(sizes, clip), inside)
