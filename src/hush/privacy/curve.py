"""From (noise, shift) to privacy: delta(epsilon), epsilon(delta) and the trade-off of an attacker.

One function serves every family. The hockey-stick divergence is the surplus of the noise over its shifted copy on the
region where its density exceeds e^epsilon times that of the copy,

    delta(epsilon) = sum over intervals I of  P(I) - e^epsilon P(I - shift).

For a symmetric unimodal noise it grows with the shift, so the full sensitivity is the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, as_float, called_like, deltas, epsilons, probabilities, reject
from hush.noise.contract import Law
from hush.numerics import special
from hush.numerics.bracket import Bracket, around, unwrap
from hush.numerics.root import bracket_upwards, narrowed_maximum, safe_root
from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, PURE_EPSILON, down, next_down, next_up, up

__all__ = ["Curve", "OneNumber", "PureBound", "epsilon_for_error_sum", "error_sum"]

Array = NDArray[np.float64]
_TINY = 5e-324
_BLOCK = 8192  # numbers; work arrays of this length fit in the processor's cache


def _hockey_stick(noise: Law, epsilon: Array, shift: float) -> Bracket:
    """The divergence for epsilon >= 0 and one shift, with the family's stated relative error."""
    if epsilon.size > _BLOCK:
        ends = [
            _hockey_stick(noise, part, shift) for part in np.array_split(epsilon.ravel(), epsilon.size // _BLOCK + 1)
        ]
        lower = np.concatenate([part.lower for part in ends]).reshape(epsilon.shape)
        return Bracket(lower, np.concatenate([part.upper for part in ends]).reshape(epsilon.shape))
    value = noise.hockey_stick(epsilon, shift)
    bracket = around(value, noise.error_at(epsilon, shift))
    # At equality the surplus, in twofold precision, decides. Where delta is not proved to be 0 it is positive, even if
    # it underflows.
    most = noise.max_loss(shift)
    never = (epsilon > most) | ((epsilon == most) & (value == 0.0))
    upper = np.where(never, 0.0, np.minimum(np.maximum(bracket.upper, _TINY), 1.0))
    return Bracket(np.where(never, 0.0, np.minimum(bracket.lower, 1.0)), upper)


class Curve:
    """A privacy curve: delta at an epsilon, epsilon at a delta.

    Guarantees: `delta(e)` and `epsilon(d)` are proved upper bounds on what an attacker can learn from the release, for
    every neighbouring pair. `delta_bracket(e)` and `epsilon_bracket(d)` also give a lower end: the truth is between.

    A subclass defines `_forward`: delta for epsilon >= 0 of a symmetric pair of laws.

    >>> import hush
    >>> c = hush.curve(hush.Gaussian(1.0))
    >>> round(c.delta(1.0), 12)
    0.126936737507
    """

    def _forward(self, epsilon: Array) -> Bracket:
        raise NotCertified("a subclass of Curve must define _forward.")

    def _end(self, epsilon: Array, end: str) -> Array:
        """One end of `_forward`, for curves where that is less work."""
        return np.asarray(getattr(self._forward(epsilon), end))

    @property
    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up; infinite where there is none."""
        return math.inf

    def delta_bracket(self, epsilon: Any) -> Bracket:
        """The lower and upper bound on delta, at any real epsilon.

        Below zero by the symmetry of the pair: delta(-e) = 1 - e^-e + e^-e delta(e).
        """
        epsilon = epsilons("epsilon", epsilon)
        forward = self._forward(np.abs(epsilon))
        return Bracket(_mirrored(epsilon, forward.lower, next_down), _mirrored(epsilon, forward.upper, next_up))

    def delta(self, epsilon: Any) -> Any:
        """delta at epsilon, a proved upper bound: the upper end of `delta_bracket`, often at half the work."""
        epsilon = epsilons("epsilon", epsilon)
        return unwrap(_mirrored(epsilon, self._end(np.abs(epsilon), "upper"), next_up))

    def _gap(self, epsilon: Array, delta: Array, end: str) -> Array:
        """log of the chosen end of the delta bracket over the target."""
        value = self._end(epsilon, end)
        with np.errstate(divide="ignore"):
            ratio = np.log(value) - np.log(delta)
        # the logarithm guides the search; the comparison of the values decides
        return np.where(value <= delta, np.minimum(ratio, -1e-300), np.maximum(ratio, 1e-300))

    def _epsilon_end(self, delta: Array, end: str) -> tuple[Array, Array]:
        """Where the chosen end of the delta bracket meets the target: (still above it, no longer above it)."""
        done = self._gap(np.zeros_like(delta), delta, end) <= 0.0
        start = np.full_like(delta, min(1.0, self.pure_epsilon))
        above, below = bracket_upwards(lambda e: np.where(done, -1.0, self._gap(e, delta, end)), start)
        live = np.isfinite(below) & ~done
        unsafe = np.where(done, 0.0, np.inf)
        safe = unsafe.copy()
        if live.any():
            unsafe[live], safe[live] = safe_root(lambda e: self._gap(e, delta[live], end), above[live], below[live])
        return unsafe, safe

    def epsilon_bracket(self, delta: Any) -> Bracket:
        """The lower and upper bound on epsilon at delta; both are infinite where no epsilon reaches delta."""
        upper = np.asarray(self.epsilon(delta))
        delta = deltas("delta", delta, zero=True)
        pure = delta == 0.0
        lower, _ = self._epsilon_end(np.where(pure, 0.5, delta), "lower")
        ceiling = self.pure_epsilon
        floor = down(ceiling, PURE_EPSILON) if math.isfinite(ceiling) else ceiling
        return Bracket(np.where(pure, floor, np.minimum(lower, upper)), upper)

    def epsilon(self, delta: Any) -> Any:
        """epsilon at delta, a proved upper bound. Never below 0; infinite where no epsilon reaches delta.

        delta = 0 gives the pure epsilon.
        """
        delta = deltas("delta", delta, zero=True)
        pure = delta == 0.0
        ceiling = self.pure_epsilon
        if pure.all():
            return unwrap(np.full_like(delta, ceiling))
        _, upper = self._epsilon_end(np.where(pure, 0.5, delta), "upper")
        return unwrap(np.where(pure, ceiling, np.minimum(upper, ceiling)))

    def tradeoff(self, alpha: Any) -> Any:
        """The least false negative rate of any test with false positive rate alpha, rounded down.

        beta(alpha) = sup over e of 1 - delta(e) - e^e alpha: every line is a true lower bound, the best one is
        returned.
        """
        alpha = probabilities("alpha", alpha)
        return unwrap(np.array([self._supporting_line(a) for a in alpha.ravel()]).reshape(alpha.shape))

    def _supporting_line(self, alpha: float) -> float:
        """The best of the lines 1 - delta(e) - e^e alpha and e^-e (1 - delta(e) - alpha) over e >= 0, each searched
        separately.
        """
        # beyond this, e^e alpha exceeds 1
        steep = min(self.pure_epsilon, 60.0 if alpha == 0.0 else 1.0 - math.log(alpha))
        there = narrowed_maximum(lambda e: 1.0 - self._end(e, "upper") - np.exp(e) * alpha, 0.0, steep, points=65)
        far = min(self.pure_epsilon, 60.0)
        back = narrowed_maximum(lambda e: np.exp(-e) * (1.0 - self._end(e, "upper") - alpha), 0.0, far, points=65)
        return max(float(there), float(back), 0.0)

    @property
    def least_error_sum(self) -> float:
        """The least false positive plus false negative rate of any attacker: 1 - delta(0), rounded down."""
        return max(1.0 - float(self.delta(0.0)), 0.0)


def _mirrored(epsilon: Array, forward: Any, rounded: Callable[[Array], Array]) -> Array:
    """delta at epsilon of any sign from delta at |epsilon|, rounded to the given side."""
    forward = np.asarray(forward)
    negative = epsilon < 0.0
    if not negative.any():
        return forward
    below = np.minimum(epsilon, 0.0)
    mirror = np.clip(rounded(-np.expm1(below) + np.exp(below) * forward), 0.0, 1.0)
    return np.where(negative, mirror, forward)


class Mirrored(Curve):
    """The curve of a symmetric pair, which can be a part of a composition (see discretise.Pair)."""

    def forward(self, epsilon: Array) -> Bracket:
        """delta of the first law against the second."""
        return self._forward(epsilon)

    def backward(self, epsilon: Array) -> Bracket:
        """delta of the second against the first: the same."""
        return self.forward(epsilon)

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def spread(self) -> float:
        """The shift at which a unit Gaussian has the same total variation from its copy, at most 16."""
        return float(min(2.0 * special.ndtri(0.5 + 0.5 * min(self._apart(), down(1.0, FEW_ROUNDINGS))), 16.0))

    def _apart(self) -> float:
        return float(np.asarray(self._end(np.zeros(()), "upper")))

    @property
    def atoms(self) -> tuple[float, ...]:
        return ()


@dataclass(frozen=True)
class OneNumber(Mirrored):
    """One number with additive noise, moved by at most `shift`: exact. Also a pair that composition can use."""

    noise: Law
    shift: float

    def _shifts(self) -> tuple[float, ...]:
        return self.noise.worst_shifts(self.shift)

    def _forward(self, epsilon: Array) -> Bracket:  # the worst over the shifts that must be considered
        brackets = [_hockey_stick(self.noise, np.asarray(epsilon), shift) for shift in self._shifts()]
        lower = np.max([np.asarray(b.lower) for b in brackets], axis=0)
        return Bracket(lower, np.max([np.asarray(b.upper) for b in brackets], axis=0))

    @property
    def pure_epsilon(self) -> float:
        return max(next_up(float(self.noise.max_loss(shift))) for shift in self._shifts())

    def _apart(self) -> float:
        return max(float(self.noise.hockey_stick(np.zeros(()), shift)) for shift in self._shifts())

    def tradeoff(self, alpha: Any) -> Any:
        """F(F^-1(1 - alpha) - shift) for a log-concave noise, by supporting lines otherwise. Rounded down."""
        if not self.noise.log_concave:
            return super().tradeoff(alpha)
        alpha = probabilities("alpha", alpha)
        beta = np.asarray(self.noise.cdf(np.asarray(self.noise.isf(alpha)) - self.shift))
        beta = np.where(alpha <= 0.0, np.asarray(self.noise.cdf(self.noise.support - self.shift)), beta)
        return unwrap(np.maximum(down(beta, CLOSED_FORM), 0.0))

    def forward(self, epsilon: Array) -> Bracket:
        """The curve. Its lower end uses the full shift only, because several releases share one shift."""
        whole = self._forward(epsilon)
        if len(self._shifts()) == 1:
            return whole
        return Bracket(_hockey_stick(self.noise, np.asarray(epsilon), self.shift).lower, whole.upper)

    @property
    def atoms(self) -> tuple[float, ...]:
        return self.noise.atoms(self.shift)


@dataclass(frozen=True)
class PureBound(Mirrored):
    """Only a pure epsilon is known: delta(e) = (e^pure - e^e)/(e^pure + 1), the curve of randomised response, which
    is the worst possible.
    """

    pure: float

    def _forward(self, epsilon: Array) -> Bracket:
        left = np.maximum(self.pure - epsilon, 0.0)
        upper = -np.expm1(-left) / (1.0 + math.exp(-self.pure))
        return Bracket(np.zeros_like(upper), np.minimum(up(upper, FEW_ROUNDINGS), 1.0))

    @property
    def pure_epsilon(self) -> float:
        return self.pure

    @property
    def spread(self) -> float:
        return self.pure

    @property
    def atoms(self) -> tuple[float, ...]:
        return (self.pure,)


@called_like("error_sum(1.0, 1e-6)")
def error_sum(epsilon: float, delta: float) -> float:
    """The least sum p + q of an attacker's false positive and false negative rates under (epsilon, delta): 2 (1 -
    delta)/(1 + e^epsilon).

    Adding the two inequalities p + e^eps q >= 1 - delta and e^eps p + q >= 1 - delta (SaS paper, eq. 12-13, with a
    delta).

    >>> error_sum(0.0, 0.0)
    1.0
    """
    epsilon = as_float("epsilon", epsilon, "a finite number, 0 or greater")
    if not 0.0 <= epsilon < math.inf:
        raise reject("epsilon", epsilon, "a finite number, 0 or greater")
    share = float(deltas("delta", as_float("delta", delta, "in [0, 1)"), zero=True))
    fall = math.exp(-epsilon)
    found = 2.0 * (1.0 - share) * fall / (1.0 + fall)
    return down(found, FEW_ROUNDINGS) if epsilon > 0.0 or share > 0.0 else found  # exactly 1 at (0, 0)


def epsilon_for_error_sum(least: float) -> float:
    """The epsilon at which every attacker's p + q is `least` or more: log(2/least - 1), the inverse of eq. (13) of the
    SaS paper.

    >>> round(epsilon_for_error_sum(0.5), 12)
    1.098612288668
    """
    least = as_float("least", least, "greater than 0 and at most 1")
    if not 0.0 < least <= 1.0:
        raise reject("least", least, "greater than 0 and at most 1")
    return math.log(2.0 / least - 1.0)
