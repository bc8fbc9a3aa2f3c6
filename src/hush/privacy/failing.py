"""Pure releases but for a failure: the curve of (epsilon, delta) pairs and of cut noise.

A release that is (epsilon, delta)-private is at most as bad as this: with probability delta everything is revealed, and
otherwise the outcome is a randomised response with that epsilon (Kairouz, Oh and Viswanath 2015). Several of them
compose as randomised responses, and fail with probability 1 - (1 - delta)^count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CLOSED_FORM, round_up, up
from hush.privacy.composed_curve import compose_parts
from hush.privacy.curve import Mirrored, PureBound

__all__ = ["Failing", "any_of", "responses"]

Array = NDArray[np.float64]


def any_of(count: int, chance: float) -> float:
    """1 - (1 - chance)^count: the probability that at least one of independent events happens."""
    return -math.expm1(count * math.log1p(-chance))


@dataclass(frozen=True, eq=False)
class Failing(Mirrored):
    """With probability `failure` everything is revealed, otherwise the curve is that of `pure`."""

    pure: Any
    failure: float

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.zeros_like(upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        if end == "lower":
            return np.zeros(np.shape(epsilon))
        return self.beside(np.asarray(self.pure._end(np.asarray(epsilon), "upper")))

    def beside(self, rest: Array) -> Array:
        """delta from that of the pure part."""
        return np.minimum(up(self.failure + (1.0 - self.failure) * rest, CLOSED_FORM), 1.0)

    @property
    def atoms(self) -> tuple[float, ...]:
        """The largest loss of the pure part, where its curve ends."""
        end = self.pure.pure_epsilon
        return (end,) if math.isfinite(end) else ()


def responses(epsilon: Fraction, count: int, chance: float) -> Failing:
    """`count` releases, each with the pure epsilon but for a failure of the given chance."""
    from hush.privacy.compose import BestOf

    total, one = PureBound(round_up(epsilon * count)), PureBound(round_up(epsilon))
    pure = total if count == 1 else BestOf((total, compose_parts([(one, count)])))
    return Failing(pure, any_of(count, chance))
