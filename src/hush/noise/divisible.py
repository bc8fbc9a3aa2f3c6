"""Rounding of the parameters of `Law.power`: never below the exact parameter, or never above it."""

from __future__ import annotations

from fractions import Fraction

from hush.numerics.rounding import Claim, down, round_down, round_up, up

__all__ = ["scale_of", "shape_of"]


def scale_of(value: float, claim: Claim, *, upwards: bool) -> float:
    """Return a computed scale, rounded by its claim.

    Rounded upwards, the sum of the shares has at least the intended noise; more noise is post-processing.
    """
    return up(value, claim) if upwards else down(value, claim)


def shape_of(exact: Fraction, *, upwards: bool) -> float:
    """Return the nearest float that is not below the exact shape, or not above it."""
    return round_up(exact) if upwards else round_down(exact)
