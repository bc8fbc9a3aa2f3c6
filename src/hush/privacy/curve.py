"""From (noise, sensitivity) to privacy: delta(epsilon), epsilon(delta) and the attacker's trade-off.

One function serves every family: the hockey-stick divergence is the surplus of the noise over its shifted copy on the region where its
density exceeds e^epsilon times the copy's,

    delta(epsilon) = sum over intervals I of  P(I) - e^epsilon P(I - shift).

For a symmetric unimodal noise it grows with the shift, so the full sensitivity is the worst case (design, section 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, as_float, deltas, epsilons, probabilities, reject, whole
from hush.noise.contract import Noise
from hush.noise.gaussian import Gaussian
from hush.numerics.bracket import Bracket, around, unwrap
from hush.numerics.root import bracket_upwards, safe_root
from hush.sensitivity import Sensitivity

__all__ = ["Curve", "curve", "delta", "epsilon", "epsilon_for_error_sum", "error_sum"]

Array = NDArray[np.float64]
_TINY = 5e-324
_BLOCK = 8192  # work arrays of this length stay in the processor's cache


def _hockey_stick(noise: Noise, epsilon: Array, shift: float) -> Bracket:
    """The divergence for epsilon >= 0 and one shift, with the family's stated relative error."""
    if epsilon.size > _BLOCK:
        ends = [_hockey_stick(noise, part, shift) for part in np.array_split(epsilon.ravel(), epsilon.size // _BLOCK + 1)]
        lower = np.concatenate([part.lower for part in ends]).reshape(epsilon.shape)
        return Bracket(lower, np.concatenate([part.upper for part in ends]).reshape(epsilon.shape))
    value = noise.surplus(noise.exceeds(epsilon, shift), epsilon, shift)
    bracket = around(value, noise.error_at(epsilon, shift))
    never = epsilon >= noise.max_loss(shift)  # proved zero; elsewhere the truth is positive even if floats are not
    upper = np.where(never, 0.0, np.minimum(np.maximum(bracket.upper, _TINY), 1.0))
    return Bracket(np.where(never, 0.0, np.minimum(bracket.lower, 1.0)), upper)


@dataclass(frozen=True)
class Curve:
    """The privacy curve of one noisy number: exact, both ways, as certified brackets.

    Guarantees: `delta(e).upper` and `epsilon(d).upper` are upper bounds on what an attacker can learn from one release of a value that
    neighbouring data move by at most `shift`.

    >>> from hush import Gaussian
    >>> c = curve(Gaussian(1.0))
    >>> round(c.delta(1.0).upper, 12)
    0.126936737507
    """

    noise: Noise
    shift: float

    def _shifts(self) -> tuple[float, ...]:
        if getattr(self.noise, "unimodal", True):
            return (self.shift,)
        return self.noise.smaller_shifts(self.shift)  # type: ignore[attr-defined]

    def _forward(self, epsilon: Array) -> Bracket:
        """Worst over the shifts that have to be looked at, epsilon >= 0."""
        brackets = [_hockey_stick(self.noise, epsilon, shift) for shift in self._shifts()]
        lower = np.max([np.asarray(b.lower) for b in brackets], axis=0)
        return Bracket(lower, np.max([np.asarray(b.upper) for b in brackets], axis=0))

    def delta(self, epsilon: Any) -> Bracket:
        """delta at epsilon, any real number: below zero by delta(-e) = 1 - e^-e + e^-e delta(e), the symmetry of the pair."""
        epsilon = epsilons("epsilon", epsilon)
        forward = self._forward(np.abs(epsilon))
        negative = epsilon < 0.0
        if not negative.any():
            return forward
        fall = np.exp(np.minimum(epsilon, 0.0))
        rest = -np.expm1(np.minimum(epsilon, 0.0))
        lower = np.where(negative, np.nextafter(rest + fall * np.asarray(forward.lower), 0.0), forward.lower)
        upper = np.where(negative, np.minimum(np.nextafter(rest + fall * np.asarray(forward.upper), 2.0), 1.0), forward.upper)
        return Bracket(np.maximum(lower, 0.0), upper)

    @property
    def pure_epsilon(self) -> float:
        """The epsilon of pure differential privacy, rounded up; infinite where there is none."""
        return max(float(np.nextafter(self.noise.max_loss(shift), math.inf)) for shift in self._shifts())

    def _gap(self, epsilon: Array, delta: Array, end: str) -> Array:
        """How far the chosen end of the delta bracket lies above the target, in logarithms."""
        value = np.asarray(getattr(self._forward(epsilon), end))
        with np.errstate(divide="ignore"):
            ratio = np.log(value) - np.log(delta)
        # the logarithm steers, the comparison itself decides
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

    def epsilon(self, delta: Any) -> Bracket:
        """epsilon at delta; delta = 0 asks for the pure epsilon. Never below 0, and infinite where no epsilon reaches delta."""
        delta = deltas("delta", delta, zero=True)
        pure = delta == 0.0
        target = np.where(pure, 0.5, delta)
        _, upper = self._epsilon_end(target, "upper")
        lower, _ = self._epsilon_end(target, "lower")
        ceiling = self.pure_epsilon
        upper = np.where(pure, ceiling, np.minimum(upper, ceiling))
        floor = ceiling * (1.0 - 1e-11) if math.isfinite(ceiling) else ceiling
        return Bracket(np.where(pure, floor, np.minimum(lower, upper)), upper)

    def epsilon_upper(self, delta: Any) -> Any:
        """The upper end of `epsilon(delta)` alone, at half the work."""
        delta = deltas("delta", delta, zero=True)
        pure = delta == 0.0
        _, upper = self._epsilon_end(np.where(pure, 0.5, delta), "upper")
        return unwrap(np.where(pure, self.pure_epsilon, np.minimum(upper, self.pure_epsilon)))

    def tradeoff(self, alpha: Any) -> Any:
        """The least false negative rate of any test with false positive rate alpha, rounded down.

        beta(alpha) = sup over e of 1 - delta(e) - e^e alpha, which for a log-concave noise is F(F^-1(1 - alpha) - shift).
        """
        alpha = probabilities("alpha", alpha)
        if self.noise.log_concave:
            beta = np.asarray(self.noise.cdf(np.asarray(self.noise.isf(alpha)) - self.shift))
            beta = np.where(alpha <= 0.0, np.asarray(self.noise.cdf(self.noise.support - self.shift)), beta)
            return unwrap(np.maximum(beta * (1.0 - 1e-12), 0.0))
        return unwrap(np.array([self._supporting_line(a) for a in alpha.ravel()]).reshape(alpha.shape))

    def _supporting_line(self, alpha: float) -> float:
        """The best of the lines 1 - delta(e) - e^e alpha and e^-e (1 - delta(e) - alpha): each is a true lower bound on beta."""
        reach = min(self.pure_epsilon, 60.0 if alpha == 0.0 else max(1.0 - math.log(alpha), 1.0) + 1.0)
        best, grid = 0.0, np.linspace(0.0, reach, 65)
        for _ in range(12):  # narrow around the best point; the sup of lines is smooth or has a corner, either way this closes in
            free = 1.0 - np.asarray(self._forward(grid).upper)
            lines = np.maximum(free - np.exp(grid) * alpha, np.exp(-grid) * (free - alpha))
            top = int(np.argmax(lines))
            best = max(best, float(lines[top]))
            grid = np.linspace(grid[max(top - 1, 0)], grid[min(top + 1, grid.size - 1)], 65)
        return max(best, 0.0)

    @property
    def least_error_sum(self) -> float:
        """The least false positive plus false negative rate of any attacker: 1 - delta(0), rounded down."""
        return max(1.0 - float(self.delta(0.0).upper), 0.0)


def curve(noise: Noise, sensitivity: Any = 1.0, *, times: int = 1) -> Curve:
    """The privacy curve of a noise for a sensitivity, released `times` times.

    Guarantees: exact for one number. The Gaussian is also exact for l2 bounds, l0 coordinates and repeated release, because the whole
    then is one Gaussian with sensitivity sqrt(times) * l2 (Zhao, Lemma 15).
    """
    if not isinstance(noise, Noise):
        raise reject("noise", noise, "a noise family", "write for example Gaussian(1.0)")
    bound = Sensitivity.of(sensitivity)
    times = whole("times", times)
    if isinstance(noise, Gaussian):
        return Curve(
            noise,
            float(np.nextafter(bound.l2_bound * math.sqrt(times), math.inf)) if times > 1 or bound.l0 != 1 else bound.l2_bound,
        )
    if bound.is_box and bound.l0 == 1 and times == 1:
        assert bound.linf is not None
        return Curve(noise, bound.linf)
    raise Unsupported(
        f"{type(noise).__name__} has no certified curve for {bound} released {times} times yet; the nearest supported calls are "
        "sensitivity=<number> with times=1, or Gaussian(sigma) with any of these."
    )


def delta(noise: Noise, epsilon: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The delta a noise gives at epsilon, as an upper bound; epsilon may be an array, and negative.

    >>> from hush import Laplace
    >>> round(delta(Laplace(1.0), 0.5), 12)
    0.221199216929
    """
    return curve(noise, sensitivity, times=times).delta(epsilon).upper


def epsilon(noise: Noise, delta: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The epsilon a noise gives at delta, as an upper bound; delta = 0 asks for the pure epsilon, infinite where there is none.

    >>> from hush import Laplace
    >>> round(epsilon(Laplace(2.0), 0.0), 12)
    0.5
    """
    return curve(noise, sensitivity, times=times).epsilon_upper(delta)


def error_sum(epsilon: float, delta: float = 0.0) -> float:
    """The least p + q of an attacker's false positive and false negative rates under (epsilon, delta): 2 (1 - delta)/(1 + e^epsilon).

    Adding the two inequalities p + e^eps q >= 1 - delta and e^eps p + q >= 1 - delta (SaS paper, eq. 12-13, with a delta).

    >>> error_sum(0.0)
    1.0
    """
    epsilon = as_float("epsilon", epsilon, "a finite number, 0 or greater")
    if not 0.0 <= epsilon < math.inf:
        raise reject("epsilon", epsilon, "a finite number, 0 or greater")
    share = float(deltas("delta", delta, zero=True))
    fall = math.exp(-epsilon)
    return 2.0 * (1.0 - share) * fall / (1.0 + fall)


def epsilon_for_error_sum(least: float) -> float:
    """The epsilon that keeps every attacker's p + q at `least` or more: log(2/least - 1), the inverse of eq. (13) of the SaS paper.

    >>> round(epsilon_for_error_sum(0.5), 12)
    1.098612288668
    """
    least = as_float("least", least, "greater than 0 and at most 1")
    if not 0.0 < least <= 1.0:
        raise reject("least", least, "greater than 0 and at most 1")
    return math.log(2.0 / least - 1.0)
