"""Rounding for powers of a characteristic function: a scale or a shape that is never below, or never above, the exact one."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["hair", "shape_of"]

#: Scales are rounded up by this: the sum of shares then has at least the noise that was asked for, and more noise is post-processing.
_UP = 1.0 + 4.0 * 2.0**-52


def hair(up: bool) -> float:
    """The factor that covers the rounding of a scale, upwards or downwards."""
    return _UP if up else 1.0 / _UP


def shape_of(exact: Fraction, up: bool) -> float:
    """The nearest float that is not below, or not above."""
    near = float(exact)
    if up:
        return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)
