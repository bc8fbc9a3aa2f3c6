"""A sensitivity in units: every number is divided by a factor of its own."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from hush.numerics.rounding import round_up
from hush.privacy.sensitivity import Sensitivity

__all__ = ["in_units"]


def in_units(bound: Sensitivity, factors: tuple[float, ...]) -> Sensitivity:
    """Return the sensitivity of the numbers after number j is divided by factors[j], rounded upwards.

    A bound on a norm of all moves is divided by the least factor. The directions of moves stay as they are.

    >>> in_units(Sensitivity(linf=(1.0, 30.0)), (1.0, 30.0))
    Sensitivity(linf=1.0, l0=2, dimension=2)
    """
    if bound.columns is not None:
        columns = tuple(_over(move, factor) for move, factor in zip(bound.columns, factors, strict=True))
        return dataclasses.replace(bound, columns=columns)
    least, count = min(factors), len(factors)
    linf: float | tuple[float, ...] | None = None
    if bound.linf is not None:
        listed = bound.linf if isinstance(bound.linf, tuple) else (bound.linf,) * count
        moves = tuple(_over(move, factor) for move, factor in zip(listed, factors, strict=True))
        linf = moves[0] if len(set(moves)) == 1 else moves
    l1, l2 = (None if norm is None else _over(norm, least) for norm in (bound.l1, bound.l2))
    return dataclasses.replace(bound, linf=linf, dimension=count, l1=l1, l2=l2)


def _over(move: float, factor: float) -> float:
    return round_up(Fraction(move) / Fraction(factor))
