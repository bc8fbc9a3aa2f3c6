"""The trade-off of an attacker against composed releases, from the composed laws themselves.

Every line 1 - delta(e) - e^e alpha bounds the false negative rate from below, and so does e^-e (1 - delta(e) - alpha),
for e >= 0. The best line of the first kind is that with Q(L > e) = alpha, and the best one of the second kind that with
P(L > e) = 1 - alpha, where P and Q are the two composed laws and L is the loss. So e is the root of a falling function,
and an approximate root gives a valid line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hush.numerics.rounding import ELEMENTARY, up
from hush.privacy.composed_law import ComposedLaw
from hush.privacy.convolution import TiltedSum

__all__ = ["SupportingLines"]

_CLOSE = 1e-4  # of the logarithm of a probability: the line at such a root is best but for 1e-8
_TURNS = 60
_FURTHEST = 60.0  # where no epsilon is too large: delta there is negligible, or never falls


@dataclass(frozen=True)
class SupportingLines:
    """Lower bounds on the false negative rate from one or two composed directions, of which the worse one counts."""

    totals: Sequence[TiltedSum]
    law_at: Callable[[TiltedSum, float], ComposedLaw]
    inflation: float
    pure: float
    _laws: dict[int, ComposedLaw] = field(default_factory=dict)

    def at(self, alpha: float) -> float:
        """The best line at alpha, rounded down."""
        furthest = min(self.pure, _FURTHEST if alpha == 0.0 else 1.0 - math.log(alpha))
        if alpha == 0.0:
            return self._first(furthest, alpha)
        first, second = self._tails(0.0)
        if math.log(alpha) < second:
            return self._first(self._root(lambda e: self._tails(e)[1] - e, math.log(alpha), furthest), alpha)
        if alpha < 1.0 and math.log1p(-alpha) < first:
            furthest = min(self.pure, _FURTHEST)
            found = self._root(lambda e: self._tails(e)[0], math.log1p(-alpha), furthest)
            return max(math.exp(-found) * (1.0 - self._delta(found) - alpha) * (1.0 - ELEMENTARY.share), 0.0)
        return self._first(0.0, alpha)

    def _first(self, epsilon: float, alpha: float) -> float:
        return max(1.0 - self._delta(epsilon) - up(math.exp(epsilon) * alpha, ELEMENTARY), 0.0)

    def _law(self, number: int, epsilon: float) -> ComposedLaw:
        """The law that was used last for this direction, if it shows epsilon well; otherwise one that does."""
        kept = self._laws.get(number)
        near = kept is not None and abs(epsilon - kept.offset - kept.mean) < 3.0 * kept.deviation
        if kept is None or not (near and kept.reaches(epsilon)):
            kept = self._laws[number] = self.law_at(self.totals[number], epsilon)
        return kept

    def _delta(self, epsilon: float) -> float:
        """A bound on delta at epsilon, of the worse direction."""
        if epsilon >= self.pure:
            return 0.0
        found = [float(self.law_at(total, epsilon).delta_bracket(epsilon).upper) for total in self.totals]
        return min(up(max(found) * self.inflation, ELEMENTARY), 1.0)

    def _tails(self, epsilon: float) -> tuple[float, float]:
        """The logarithms of P(L > e) and of e^e Q(L > e), of the direction that is worse there."""
        rows = [self._law(i, epsilon).log_tails(epsilon) for i in range(len(self.totals))]
        return max(rows, key=lambda row: math.exp(min(row[0], 0.0)) - math.exp(min(row[1], 0.0)))

    def _root(self, tail: Callable[[float], float], target: float, end: float) -> float:
        """Where a falling function crosses the target, between 0 and the end: the secant of the bracket, or its middle
        if that was not much better.
        """
        low, high = 0.0, end
        above, below = tail(low) - target, tail(high) - target if high < self.pure else -1.0
        for turn in range(_TURNS):
            secant = low + (high - low) * above / (above - below)
            point = secant if turn % 3 < 2 and low < secant < high else 0.5 * (low + high)
            gap = tail(point) - target
            if abs(gap) < _CLOSE or high - low < 1e-9 * (1.0 + high):
                return point
            low, above, high, below = (point, gap, high, below) if gap > 0.0 else (low, above, point, gap)
        return point
