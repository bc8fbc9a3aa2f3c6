"""Composition of pairs: privacy losses add, so their distributions are convolved.

The distributions are convolved under a tilt (convolution.py), which centres their sum where delta is decided. The upper
end includes round-off, neglected frequencies, wrap-around and the mass at infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, probabilities
from hush.numerics.bracket import Bracket, unwrap
from hush.numerics.rounding import ELEMENTARY, FEW_ROUNDINGS, SEARCH_AIM, SPECIAL_FUNCTION, TWO_ROUNDINGS, down, up
from hush.numerics.search import nudged, safe_end
from hush.privacy.composed_law import ComposedLaw
from hush.privacy.composed_tradeoff import SupportingLines
from hush.privacy.convolution import TiltedSum
from hush.privacy.curve import Curve
from hush.privacy.discretise import all_below, discretise
from hush.privacy.loss_grid import CUT
from hush.privacy.loss_pair import Reversed
from hush.privacy.loss_step import lattice_step

__all__ = ["DEFAULT_RELATIVE", "Composed", "compose_parts"]

Array = NDArray[np.float64]

#: The default share of the shift that discretisation may cost.
DEFAULT_RELATIVE = 1.8e-6
_WEAKER = 20  # weaker tilts that are tried
_LEAST_CUT = 1e-290
_COARSE = 1e-4  # the same for bounds at many epsilons


@dataclass(frozen=True, eq=False)
class Composed(Curve):
    """The curve of several pairs (pair, times) released together; see the module docstring.

    `relative` is the share of the shift that discretisation may cost. Losses beyond which delta of one part is less
    than the `cut` count as infinite.
    """

    parts: tuple[tuple[Any, int], ...]
    relative: float = DEFAULT_RELATIVE
    cut: float = CUT
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _lattice(self) -> tuple[float, bool]:
        return lattice_step(self.parts, self.relative)

    @property
    def _step(self) -> float:
        return self._lattice[0]

    @cached_property
    def _deeper(self) -> Composed | None:
        """The same where fewer losses count as infinite, for smaller deltas; None where floats end."""
        cut = max(self.cut**2, _LEAST_CUT)
        return Composed(self.parts, self.relative, cut) if self.cut > cut else None

    @cached_property
    def _shallow(self) -> float:
        """Below this, a delta may mostly be losses that count as infinite."""
        return 1e4 * self.cut * sum(times for _, times in self.parts)

    @cached_property
    def _ways(self) -> tuple[tuple[tuple[Any, int], ...], ...]:
        """The parts; if one of them is not symmetric, also all parts reversed. The worse direction decides."""
        if all(pair.symmetric for pair, _ in self.parts):
            return (self.parts,)
        return self.parts, tuple((Reversed(pair), times) for pair, times in self.parts)

    @cached_property
    def _above(self) -> tuple[TiltedSum, ...]:
        return tuple(
            TiltedSum(tuple((discretise(pair, self._step, cut=self.cut), times) for pair, times in parts))
            for parts in self._ways
        )

    @cached_property
    def _below(self) -> tuple[TiltedSum | None, ...]:
        rows = (all_below(parts, *self._lattice, self.cut) for parts in self._ways)
        return tuple(TiltedSum(found) if found else None for found in rows)

    @cached_property
    def _inflation(self) -> float:
        """(1 + relative error of the parts' curves and of their masses)^count."""
        return math.exp(min(sum(times for _, times in self.parts) * 4e-13, 1.0))

    @cached_property
    def _pure(self) -> float:
        return math.fsum(times * pair.pure_epsilon for pair, times in self.parts)

    @property
    def pure_epsilon(self) -> float:
        """The sum of the parts' pure epsilons."""
        return up(self._pure, FEW_ROUNDINGS)

    def _one(self, epsilon: float, *, lower: bool) -> float:
        found = self._at_cut(epsilon, lower=lower)
        if (
            found < self._shallow
            and epsilon < self._pure
            and self._deeper is not None
            and (not lower or self._below[0])
        ):
            with suppress(Unsupported):  # losses may be too far apart for a smaller cut
                return self._deeper._one(epsilon, lower=lower)
        return found

    def _at_cut(self, epsilon: float, *, lower: bool) -> float:
        if lower:
            values = [
                self._law_at(total, epsilon).delta_bracket(epsilon).lower for total in self._below if total is not None
            ]
            return max((float(value) for value in values), default=0.0) / self._inflation
        if epsilon >= self._pure:
            return 0.0
        found = max(self._upper(total, epsilon) for total in self._above) * self._inflation
        return min(found, self._beside_pure(epsilon), self._in_equal_parts(epsilon), 1.0)

    def _in_equal_parts(self, epsilon: float) -> float:
        """Basic composition of one release on samples, made n times: n delta(epsilon/n), with the curve of the worse
        direction. It is sharper than a grid where delta is less than the mass that counts as infinite there.
        """
        (pair, times), *others = self.parts
        if others or getattr(pair, "ladder", None) is None or not isinstance(pair, Curve):
            return 1.0
        return up(times * float(pair.delta(down(epsilon / times, TWO_ROUNDINGS))), FEW_ROUNDINGS)

    def _beside_pure(self, epsilon: float) -> float:
        """Basic composition: one part gets the epsilon that the pure epsilons of the others leave. It is sharper than a
        grid in two cases: close to the pure epsilon of all parts, because not all losses can be aligned to a grid, and
        where one part that is not pure is composed with pure ones.
        """
        close = 0.9 * self._pure < epsilon < self._pure
        if len(self.parts) == 1 or len(self.parts) > 8 or not (close or math.isinf(self._pure)):
            return 1.0
        bounds = []
        for i, (pair, times) in enumerate(self.parts):
            others = math.fsum(n * other.pure_epsilon for j, (other, n) in enumerate(self.parts) if j != i)
            left = epsilon - up(others, ELEMENTARY)
            if left > 0.0:
                bounds.append(self._alone(pair, times, left))
        return min(bounds, default=1.0)

    def _alone(self, pair: Any, times: int, epsilon: float) -> float:
        """The delta of one part, from its curve if it is released once."""
        if times == 1 and isinstance(pair, Curve):
            return float(pair.delta(epsilon))
        alone: Composed = self._cache.setdefault((pair, times), Composed(((pair, times),), self.relative))
        return alone._one(epsilon, lower=False)

    def at_many(self, epsilon: Array) -> Array:
        """An upper bound on delta at many epsilons >= 0, from a coarse grid and two tilts: quick, and less sharp."""
        coarse: Composed = self._cache.setdefault("coarse", Composed(self.parts, max(self.relative, _COARSE)))
        worst = np.zeros(epsilon.shape)
        for total in coarse._above:
            tilts = (0.0, total.tilt_for(float(np.max(epsilon))))  # a strong tilt may leave only round-off
            laws = [coarse._law(total, tilt) for tilt in tilts]
            found = [min(float(law.delta_bracket(float(e)).upper) for law in laws) for e in epsilon.ravel()]
            worst = np.maximum(worst, np.reshape(found, epsilon.shape) * coarse._inflation)
        return np.where(epsilon >= coarse._pure, 0.0, np.minimum(worst, 1.0))

    def tradeoff(self, alpha: Any) -> Any:
        """The least false negative rate of any test with false positive rate alpha, rounded down: the line of the curve
        that is best at alpha (composed_tradeoff.py).
        """
        alpha = probabilities("alpha", alpha)
        lines = SupportingLines(self._above, self._law_at, self._inflation, self._pure)
        return unwrap(np.array([lines.at(a) for a in alpha.ravel().tolist()]).reshape(alpha.shape))

    def _upper(self, total: TiltedSum, epsilon: float) -> float:
        """delta from the law that fits, or from one with a weaker tilt if such a strong tilt leaves only round-off.
        Every tilt gives a valid bound.
        """
        law = self._law_at(total, epsilon)
        for _ in range(6):
            found = float(law.delta_bracket(epsilon).upper)
            if found < 1.0 or law.tilt <= 0.0:
                break
            law = self._law(total, law.tilt * math.exp(-0.5))
        return found

    def _law(self, total: TiltedSum, tilt: float, *, fold: bool = True) -> ComposedLaw:
        """The composed law under a tilt rounded to a ladder, so that nearby queries share it and equal queries always
        get the same law. Small deltas are many deviations out, so their ladder is finer.
        """
        rungs = 2.0 if self.cut >= CUT else 8.0
        rung = math.exp(round(math.log(tilt) * rungs) / rungs) if tilt > 0.0 else 0.0
        made = self._cache.setdefault(id(total), {})
        if (rung, fold) not in made:
            made[rung, fold] = total.composed(rung, fold=fold)
        return made[rung, fold]

    def _law_at(self, total: TiltedSum, epsilon: float) -> ComposedLaw:
        """The law that decides delta at epsilon, with most of its mass near it."""
        law = self._weaker(total, total.tilt_for(epsilon), lambda law: law.reaches(epsilon))
        return self._law(total, law.tilt, fold=False) if law.blurred(epsilon) else law

    def _weaker(self, total: TiltedSum, tilt: float, fits: Callable[[ComposedLaw], bool]) -> ComposedLaw:
        """The law under this tilt. A strong tilt may favour rare losses so much that its mass lies far above the
        epsilon in question; weaker ones are tried until the law fits.
        """
        law = self._law(total, tilt)
        for _ in range(_WEAKER):
            if tilt < 1e-3 or fits(law):
                break
            tilt *= math.exp(-0.5)
            law = self._law(total, tilt)
        return law

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.minimum(self._end(epsilon, "lower"), upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        return np.array([self._one(float(e), lower=end == "lower") for e in flat]).reshape(np.shape(epsilon))

    def _epsilon_end(self, delta: Array, end: str) -> tuple[Array, Array]:
        found = np.array([self._epsilon_at(float(d), lower=end == "lower") for d in delta.ravel()]).reshape(delta.shape)
        return found, found

    def _epsilon_at(self, delta: float, *, lower: bool) -> float:
        """The epsilon of the worse direction."""
        if delta < self._shallow and self._deeper is not None:
            with suppress(Unsupported):
                return self._deeper._epsilon_at(delta, lower=lower)
        totals = self._below if lower else self._above
        alone = max((part.at_zero for total in totals if total is not None for part, _ in total.parts), default=0.0)
        if (
            alone <= delta and self._one(0.0, lower=lower) <= delta
        ):  # all parts together have at least the delta of one part
            return 0.0
        return max((self._crossing(total, delta, lower=lower) for total in totals if total is not None), default=0.0)

    def _crossing(self, total: TiltedSum, delta: float, *, lower: bool) -> float:
        """Where the law under one tilt crosses delta, then raised (or lowered) slightly until the certified end
        agrees.
        """
        if total.infinite >= (delta if not lower else up(delta * self._inflation, SPECIAL_FUNCTION)):
            return math.inf  # no epsilon removes this mass
        # aim slightly to the safe side, so that the first check passes: 1e-8 of delta hardly changes epsilon
        aim = up(delta * self._inflation, SEARCH_AIM) if lower else down(delta / self._inflation, SEARCH_AIM)
        finite = aim - total.infinite
        least = max(finite, 5e-324)

        @lru_cache(maxsize=1)
        def guess_of(law: ComposedLaw) -> float:
            return law.epsilon(least)

        law = self._weaker(total, total.tilt_for_delta(delta), lambda law: law.reaches(guess_of(law)))
        for _ in range(3):
            settled, guess = partial(self._settles, law, delta, lower=lower), guess_of(law)
            found = nudged(settled, guess, first=-1e-13 if lower else 1e-13, growth=4.0, turns=12)
            if found is None:
                break
            deciding = self._law_at(total, found)  # delta(found) uses this law, so it must agree
            if self._settles(deciding, delta, found, lower=lower):
                return max(found, 0.0)
            law = deciding
        return self._bisected(total, delta, lower=lower)

    def _settles(self, law: ComposedLaw, delta: float, epsilon: float, *, lower: bool) -> bool:
        """Is the law's delta at epsilon certified to be at most `delta` (or at least, for a lower end)?"""
        value = law.delta_bracket(epsilon)
        if lower:
            return float(value.lower) / self._inflation >= delta
        return float(value.upper) * self._inflation <= delta

    def _bisected(self, total: TiltedSum, delta: float, *, lower: bool) -> float:
        """The same by bisection, with a separate tilt at every point: for laws so skewed that one tilt does not show
        the crossing.
        """
        end = min(self._pure, total.offset + total.step * sum(times * (part.last + 1) for part, times in total.parts))

        def settles(epsilon: float) -> bool:
            return self._settles(self._law_at(total, epsilon), delta, epsilon, lower=lower)

        unsafe, safe = (end, 0.0) if lower else (0.0, end)
        found = safe_end(settles, unsafe, safe, relative=1e-13, turns=64)
        return found if lower or found < end else math.inf  # the end itself was not evaluated


def compose_parts(parts: Sequence[tuple[Any, int]], **options: Any) -> Composed:
    """Merge equal parts, then compose them."""
    merged: dict[Any, int] = {}
    for pair, times in parts:
        merged[pair] = merged.get(pair, 0) + times
    return Composed(tuple(merged.items()), **options)
