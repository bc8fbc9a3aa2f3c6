"""ErrorBars: how far a released number can be from the true number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hush.errors import must_be_level
from hush.noise.contract import Law
from hush.numerics.rounding import CLOSED_FORM, down
from hush.sampling.exact import law_of

__all__ = ["ErrorBars"]


@dataclass(frozen=True)
class ErrorBars:
    """How far a released number can be from the true number: the standard deviation of the noise, and half widths of
    intervals.

    Intervals include the rounding to the lattice. The standard deviation is infinite for noise without a variance (a
    stable law).
    """

    noise: Law = field(repr=False)
    step: float = field(repr=False)
    rounded: bool = field(repr=False)

    @property
    def standard_deviation(self) -> float:
        return math.sqrt(self.noise.variance)

    @property
    def half_width95(self) -> float:
        return self.half_width(0.95)

    def half_width(self, level: float) -> float:
        """The w with P(|released - true| <= w) >= level."""
        level = must_be_level(level)
        law = law_of(self.noise, self.step)
        return (law.steps_beyond(down(1.0 - level, CLOSED_FORM)) + (0.5 if self.rounded else 0.0)) * self.step

    def __repr__(self) -> str:
        return f"ErrorBars(standard_deviation={self.standard_deviation:.6g}, half_width95={self.half_width95:.6g})"
