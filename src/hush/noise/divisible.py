"""Parameters of a law that is a part of another one: rounded so that they are never below, or never above, the exact
ones.
"""

from __future__ import annotations

from fractions import Fraction

from hush.numerics.rounding import Claim, down, round_down, round_up, up

__all__ = ["scale_of", "shape_of"]


def scale_of(value: float, claim: Claim, *, upwards: bool) -> float:
    """A computed scale, moved by its claim. Upwards the sum of shares has at least the noise asked for: more is
    post-processing.
    """
    return up(value, claim) if upwards else down(value, claim)


def shape_of(exact: Fraction, *, upwards: bool) -> float:
    """The nearest float that is not below, or not above."""
    return round_up(exact) if upwards else round_down(exact)
