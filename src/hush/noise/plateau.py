"""Plateau noise: joint noise on a lattice for numbers of several kinds, with the number of people among them.

One person moves each number by at most m steps. A number of the kind

    "people"      moves by exactly m steps whenever any number moves: the number of people
    "one_sided"   moves in the same direction as the number of people, by 0 to m steps: counts, sums of values >= 0
    "two_sided"   moves by at most m steps in any direction: sums of values of both signs

**The law.** A level u >= 0 and a whole number i, uniform on {0, ..., u}, are drawn. A one-sided number of offset c is
uniform on {-(c + u - i), ..., c + i}, a two-sided number of offset c on {-(c + u), ..., c + u}, and the number of
people is 2 i - u. Given u and i the numbers are independent. The level u has a probability proportional to q^u times
the number of points (i and all numbers) that it can lead to, q = e^(-step/scale).

**Privacy.** Every pair (u, x) with x possible at the level u has the same weight q^u, and x determines i from u if the
number t of people is part of x: i = (u + t)/2. So P(x) is proportional to the sum of q^u over the levels u that allow
x. These are the u with the parity of t that reach a least level f(x), because larger intervals contain smaller ones:
P(x) is proportional to q^f(x). Suppose a person is added: t grows by m, one-sided numbers by 0 to m, two-sided ones by
-m to m. The level u + m with i + m allows the new point if u with i allows the old one: c + u - i is unchanged, c + i
and c + u grow by m. A person who is removed needs u + m with i unchanged. So f changes by at most m in both directions,
and the pure epsilon is m step/scale. If the number of people is not among the numbers, it is drawn and not released,
which is post-processing; then numbers may also move while no number of people does.

The plateau is the region around 0 where the density is constant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, each, one_of, reject, shown
from hush.noise.family import Family
from hush.noise.level_calibration import calibrated
from hush.noise.level_noise import LevelMarginal, LevelNoise
from hush.noise.offsets import SHARES, least_offsets, weight_classes
from hush.noise.power_sums import ProductSums
from hush.noise.request import Request
from hush.numerics.ball import Ball, flint_module

__all__ = ["FAMILY", "KINDS", "Plateau", "least_plateau"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

KINDS = ("people", "one_sided", "two_sided")


@dataclass(frozen=True)
class Plateau(LevelNoise):
    """Noise for several numbers on the multiples of `step`, one for each of `kinds`. The module describes the law.

    `kinds` lists "people" (at most once), "one_sided" and "two_sided". `offsets` has a whole number of steps for each
    number (0 for people).

    Guarantees: pure epsilon m/scale if one person moves every number by at most m, as its kind states. New here.

    >>> Plateau(("people", "two_sided", "one_sided"), 3.0).variance.round(1)
    array([61.1, 57.4, 30.5])
    """

    kinds: tuple[str, ...] = field()
    scale: float
    offsets: tuple[float, ...] = ()
    step: float = 1.0
    dimension: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.kinds, list | tuple) or not self.kinds:
            raise reject("kinds", self.kinds, "a list of kinds", 'write Plateau(("people", "one_sided"), 1.0)')
        object.__setattr__(self, "kinds", tuple(each(one_of, "kinds", self.kinds, KINDS)))
        if self.kinds.count("people") > 1:
            raise InvalidParameter("kinds can list 'people' once; other counts of people are 'one_sided'.")
        object.__setattr__(self, "dimension", len(self.kinds))
        self.check_sizes()
        given = tuple(self.whole_offset(c) for c in self.offsets) or (0.0,) * self.dimension
        object.__setattr__(self, "offsets", given)
        if len(given) != self.dimension:
            raise InvalidParameter(f"offsets must have one number for each of the {self.dimension} kinds.")
        if any(kind == "people" and c for kind, c in zip(self.kinds, given, strict=True)):
            raise InvalidParameter(f"the offset of a number of the kind 'people' must be 0, got {shown(self.offsets)}.")

    def __str__(self) -> str:  # equal numbers are counted: a table may have hundreds
        seen = Counter(zip(self.kinds, self.offsets, strict=True))
        each = [f"{n} {kind}" + (f" with offset {c}" if c else "") for (kind, c), n in seen.items()]
        return f"Plateau({', '.join(each)}, scale={self.scale}, step={self.step})"

    def scaled(self, k: float) -> Plateau:
        return Plateau(self.kinds, self.scale * k, tuple(c * k for c in self.offsets), self.step * k)

    def widened(self, k: float) -> Plateau:
        offsets = tuple(round(c * k / self.step) * self.step for c in self.offsets)
        return Plateau(self.kinds, self.scale * k, offsets, self.step)

    def largest_loss(self, move: float, *, one_sided: bool) -> Fraction | None:
        known = "people" not in self.kinds and (one_sided or "one_sided" not in self.kinds)
        return self.steps_in(move) * self.rate if known else None

    def loss_under(self, sensitivity: Any) -> Fraction | None:
        moves, one_sided = sensitivity.each_move, sensitivity.each_one_sided
        if len(moves) == 1 and sensitivity.dimension is None:  # one bound for all numbers
            return self.largest_loss(moves[0], one_sided=sensitivity.one_sided is True)
        if len(moves) != self.dimension:
            return None
        for place, kind in enumerate(self.kinds):
            if kind == "people" and (sensitivity.people != place or moves[place] != max(moves)):
                return None
            if kind == "one_sided" and not one_sided[place]:
                return None
        return max(self.steps_in(move) for move in moves) * self.rate

    # -- the level -------------------------------------------------------------------------------------------

    @property
    def _has_middle(self) -> bool:
        """Do the intervals of some numbers move with i?"""
        return any(kind != "two_sided" for kind in self.kinds)

    def _factors(self, but: int | None = None) -> list[tuple[int, int]]:
        """(a, b) for each number but one, where a + b u is how many values it can take at the level u."""
        listed = zip(range(self.dimension), self.kinds, self.offsets, strict=True)
        slope = {"one_sided": 1, "two_sided": 2}
        return [(2 * round(c / self.step) + 1, slope[kind]) for j, kind, c in listed if kind != "people" and j != but]

    @cached_property
    def _every(self) -> list[tuple[int, int]]:
        """The same for all numbers and for i."""
        return self._factors() + [(1, 1)] * self._has_middle

    def _log_from(self, factors: list[tuple[int, int]], start: Array, every: int = 1) -> Array:
        """log of the sum of q^u times the factors over u = start, start + every, ..."""
        sums = ProductSums(self.rate * every, [b * every for _, b in factors])
        return -float(self.rate) * start + sums.log([a + b * start for a, b in factors])

    def _ball_from(self, factors: list[tuple[int, int]], start: int, every: int = 1) -> Ball:
        arb = flint_module().arb
        power = (-start * arb(self.rate.numerator) / arb(self.rate.denominator)).exp()
        sums = ProductSums(self.rate * every, [b * every for _, b in factors])
        return power * sums.ball([a + b * start for a, b in factors])

    @cached_property
    def _log_total(self) -> float:
        return float(self._log_from(self._every, np.array(0.0)))

    def log_level_weights(self, level: Array) -> Array:
        parts = (n * np.log(a + b * level) for (a, b), n in Counter(self._every).items())
        return -float(self.rate) * level + sum(parts, np.zeros_like(level))

    def log_level_tail(self, level: Array) -> Array:
        return self._log_from(self._every, np.asarray(level, dtype=np.float64) + 1.0) - self._log_total

    def level_tail_ball(self, level: int) -> Ball:
        return self._ball_from(self._every, level + 1) / self._ball_from(self._every, 0)

    def intervals(self, level: Whole, below: Any) -> tuple[Whole, Whole]:
        u = level[:, None]
        i = below(level + 1)[:, None] if self._has_middle else np.zeros_like(u)
        kind, c = np.array(self.kinds), np.array([c for _, c in self._each])
        least = np.where(kind == "people", 2 * i - u, np.where(kind == "one_sided", i - u - c, -u - c))
        points = np.where(kind == "people", 1, np.where(kind == "one_sided", 2 * c + u + 1, 2 * (c + u) + 1))
        return least, points

    @property
    def _each(self) -> list[tuple[str, int]]:
        """The kind of each number and its offset in steps."""
        return [(kind, round(c / self.step)) for kind, c in zip(self.kinds, self.offsets, strict=True)]

    @staticmethod
    def _around(kind: str, c: int, level: Array) -> Array:
        """The half width of a number around the middle of its interval."""
        return {"people": 0.0 * level, "one_sided": c + 0.5 * (level + 1.0), "two_sided": c + level + 0.5}[kind]

    def half_widths_given(self, level: Array) -> tuple[Array, Array]:
        around = np.stack([self._around(*pair, level) for pair in self._each], axis=1)
        return around, 0.5 * (level + 1.0) if self._has_middle else np.zeros_like(level)

    def spans(self, level: Array) -> tuple[Array, Array]:
        raise Unsupported("the numbers of plateau noise have different intervals.")

    @property
    def middle_factors(self) -> Array:
        return np.array([{"people": 2.0, "one_sided": 1.0, "two_sided": 0.0}[kind] for kind in self.kinds])

    def log_density_of(self, vectors: Any) -> Array:
        """The sum of q^u over the levels u, and the i, that allow the point."""
        steps, kind, t = self.in_steps(vectors), np.array(self.kinds), float(self.rate)
        beyond = [side - np.array([c for _, c in self._each]) for side in (steps, -steps)]
        up, down = (np.max(side, axis=-1, initial=0.0, where=kind == "one_sided") for side in beyond)
        least = np.maximum(*(np.max(side, axis=-1, initial=0.0, where=kind == "two_sided") for side in beyond))
        if "people" in self.kinds:  # u has the parity of the number of people n, i = (u + n)/2 >= up, u - i >= down
            n = steps[..., self.kinds.index("people")]
            least = np.maximum.reduce([least, np.abs(n), 2.0 * up - n, 2.0 * down + n])
            least = least + np.mod(least + n, 2.0)
            return np.asarray(-t * least - math.log(-math.expm1(-2.0 * t)) - self._log_total)
        ways = np.zeros_like(least)
        if self._has_middle:  # up <= i <= u - down: at the level least + v, spare + v + 1 values of i
            spare = np.maximum(least - up - down, 0.0)
            least, ways = np.maximum(least, up + down), np.log(spare + 1.0 / -math.expm1(-t))
        return np.asarray(-t * least + ways - math.log(-math.expm1(-t)) - self._log_total)

    # -- moments ---------------------------------------------------------------------------------------------

    @cached_property
    def _squares(self) -> tuple[Array, float]:
        """E of the squared distance of each number from its middle, and of the squared middle, in steps."""
        level, mass = self.level_masses
        points = {pair: np.maximum(2.0 * self._around(*pair, level), 1.0) for pair in set(self._each)}
        squares = {pair: float(mass @ ((n**2 - 1.0) / 12.0)) for pair, n in points.items()}
        middle = float(mass @ (level * (level + 2.0) / 12.0)) * self._has_middle
        return np.array([squares[pair] for pair in self._each]), middle

    @property
    def variance(self) -> Array:  # type: ignore[override]
        around, middle = self._squares
        return (around + self.middle_factors**2 * middle) * self.step**2

    @property
    def covariance(self) -> Array:
        around, middle = self._squares
        return (np.outer(self.middle_factors, self.middle_factors) * middle + np.diag(around)) * self.step**2

    # -- one number ------------------------------------------------------------------------------------------

    def marginal_of(self, column: int) -> LevelMarginal:
        return LevelMarginal(self, self._each.index(self._each[column]))  # numbers of a kind and offset have one law

    def falls_away(self, column: int) -> bool:
        return self.kinds[column] != "people"  # the number of people has the parity of the level

    def log_mass_of(self, column: int, k: Array) -> Array:
        k = np.asarray(k, dtype=np.float64)
        others, past = self._factors(but=column), np.maximum(k - self._each[column][1], 0.0)
        if self.kinds[column] == "people":
            return self._log_from(others, k, every=2) - self._log_total
        if self.kinds[column] == "two_sided":
            return self._log_from(others + [(1, 1)] * self._has_middle, past) - self._log_total
        # of the u + 1 intervals at the level u = past + v, v + 1 reach k
        sums = ProductSums(self.rate, [b for _, b in others] + [1])
        found = sums.log([a + b * past for a, b in others] + [np.ones_like(past)])
        return found - float(self.rate) * past - self._log_total

    def at_least_ball_of(self, column: int, k: int) -> Ball:
        others, c = self._factors(but=column), self._each[column][1]
        past, spare, arb = max(k - c, 0), max(c - k, 0), flint_module().arb
        power = (-arb(self.rate.numerator) / arb(self.rate.denominator)).exp()
        total = self._ball_from(self._every, 0)
        if self.kinds[column] == "people":  # u = k + 2 v and u = k + 1 + 2 v: v + 1 values of i give at least k
            sums = ProductSums(2 * self.rate, [2 * b for _, b in others] + [1])
            parts = (power**u * sums.ball([a + b * u for a, b in others] + [1]) for u in (k, k + 1))
            return sum(parts, arb(0)) / total
        slopes, starts = [b for _, b in others], [a + b * past for a, b in others]
        if self.kinds[column] == "two_sided":  # spare + 1 + v values are at least k
            slopes, starts = [*slopes, 1], [*starts, spare + 1]
            if self._has_middle:
                slopes, starts = [*slopes, 1], [*starts, past + 1]
            return power**past * ProductSums(self.rate, slopes).ball(starts) / total
        # one-sided: (v + 1) (v + 2 + 2 spare)/2 pairs of i and a value of at least k
        sums = ProductSums(self.rate, [*slopes, 1, 1])
        return power**past * sums.ball([*starts, 1, 2 + 2 * spare]) / (2 * total)


def least_plateau(kinds: tuple[str, ...], scale: float, step: float, weights: Sequence[float] = ()) -> Plateau:
    """Return the offsets of least total variance (times `weights`), one for each class of numbers (offsets.py)."""
    share = tuple(weights) or (1.0,) * len(kinds)
    classes = weight_classes(kinds, share, "people")

    def made(offsets: tuple[int, ...]) -> Plateau:
        return Plateau(kinds, scale, tuple(0.0 if c is None else offsets[c] * step for c in classes), step)

    count = len({c for c in classes if c is not None})
    best = least_offsets(count, lambda offsets: float(np.array(share) @ made(offsets).variance), scale / step, share)
    return made(best)


def _least(request: Request) -> Plateau:
    bound = request.bound
    if bound.people is None and len(set(bound.each_one_sided)) == 1 and not request.weights:
        raise Unsupported("plateau noise is for numbers of several kinds or weights, or with a number of people")
    sides = ("one_sided" if flag else "two_sided" for flag in bound.each_one_sided)
    kinds = tuple("people" if place == bound.people else side for place, side in enumerate(sides))
    return calibrated(request, partial(_for_loss, request, kinds), False)  # type: ignore[return-value]


def _for_loss(request: Request, kinds: tuple[str, ...], scale: float, step: float) -> Plateau:
    """The offsets of least variance; for another loss the best of these and of some multiples of them."""
    best = least_plateau(kinds, scale, step, request.weights)
    shares = () if request.loss == "variance" else (0.0, *SHARES)
    tried = (tuple(round(share * c / step) * step for c in best.offsets) for share in shares)
    return min([best, *(Plateau(kinds, scale, offsets, step) for offsets in tried)], key=request.value)


FAMILY = Family("plateau", Plateau, paper="this project", cites=("hush",), calibrate=_least)
