"""Gradients as whole numbers: the step of the lattice, and the factor that keeps the exact norm within the clip.

A row of gradients x has d numbers. Its squared norm is computed in float64 as s, in any order of summation. With
u = 2^-53 the error of s is at most a share of (4/3)(d + 1) u while (d + 1) u <= 1/4 (Higham 2002, Section 4.2), besides
d 2^-1022 for squares that are rounded to 0. The row is multiplied by the factor f = min(1, c/root(s)), where c is a
little less than the clip C:

    c = C (1 - (d + 16) 2^-52)

Root, quotient and product round by at most u each, so the norm of the scaled row is at most

    c (1 + u)^2/(1 - u) (1 + (4/3)(d + 1) u) <= c (1 + (d + 8) 2^-52) <= C,

where the rest of the margin is far more than the squares that are rounded to 0, because C is at least 2^-300. The step
h is a power of two, so dividing by it is exact, and rounding towards zero makes no number larger. So the row of whole
numbers k has h |k| <= C: the clip is a bound on the exact norm, and not only on a computed one.

Whole numbers below 2^53 are exact in float64, and so are their sums. One row more or less therefore moves the sum by
at most C/h steps in the l2 norm, whatever the other rows are and in whatever order they are summed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from hush.errors import Unsupported, positive, whole
from hush.numerics.rounding import FEW_ROUNDINGS, next_down, up

__all__ = ["Lattice"]

_LEAST_CLIP, _LARGEST_CLIP = 2.0**-300, 2.0**300
_MOST_NUMBERS = 1 << 40  # of one row
_FINE = 10  # a number of typical size, clip/root(d), has at least 2^10 steps
_EXACT = 1 << 52  # sums up to here are exact in float64, with a factor of 2 to spare


@dataclass(frozen=True)
class Lattice:
    """The lattice for rows of `numbers` gradients whose l2 norm is clipped to `clip`.

    >>> lattice = Lattice(1.0, 1_000_000)
    >>> lattice.step == 2.0**-20, lattice.room < 1.0
    (True, True)
    """

    clip: float
    numbers: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip", positive("clip", self.clip, "write clip=1.0"))
        object.__setattr__(self, "numbers", whole("numbers", self.numbers))
        if not _LEAST_CLIP <= self.clip <= _LARGEST_CLIP or self.numbers > _MOST_NUMBERS:
            raise Unsupported("a clip must be between 2^-300 and 2^300, for at most 2^40 numbers; write clip=1.0.")

    @cached_property
    def step(self) -> float:
        """A power of two. It depends on the clip and on the number of gradients only, not on the data."""
        return math.ldexp(1.0, math.frexp(self.clip / math.sqrt(self.numbers))[1] - 1 - _FINE)

    @cached_property
    def room(self) -> float:
        """The norm c to which rows are scaled; see the module."""
        return next_down(float(Fraction(self.clip) * (1 - Fraction(self.numbers + 16, 2**52))))

    @property
    def reach(self) -> float:
        """The clip in steps. The quotient by a power of two is exact."""
        return self.clip / self.step

    def noise(self, sigma: float) -> float:
        """The standard deviation of the noise in steps, never below sigma times the clip."""
        return up(sigma * self.clip, FEW_ROUNDINGS) / self.step

    def must_hold(self, rows: int) -> None:
        """Raise if the sum of so many rows might not be exact."""
        if rows * self.reach > _EXACT:
            raise Unsupported("a sum of so many rows might not be exact in floats; use smaller batches.")
