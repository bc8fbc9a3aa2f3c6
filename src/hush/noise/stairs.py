"""Stairs: joint noise on a lattice whose density falls in steps of the width that one person can move the numbers.

The density of cube noise (cube.py) falls evenly. Privacy needs less: after a whole move it may have fallen by e^eps,
and where it falls in between does not matter. So it can stay constant over the width of a move and then fall by e^eps
at once. For one number this is staircase noise, the optimum at delta = 0 (Geng and Viswanath 2014).

**The law, both directions.** In steps, with the width n and the offset c: a level u >= 0 has a weight q^u times
(2(c + n u) + 1)^d, q = e^-eps. Given u the numbers are independent and uniform on {-(c + n u), ..., c + n u}. A point x
is possible from the level f(x) on, the least u with max |x_j| <= c + n u, and every possible point has the weight q^u.
So P(x) is proportional to the sum of q^u over u >= f(x), that is to q^f(x). A move by at most k n steps changes f by at
most k: the pure epsilon is k eps.

**The law, one direction.** Beside u a whole number i, uniform on {0, ..., u}, is drawn. Given both, the numbers are
uniform on {-(c + n (u - i)), ..., c + n i}. So P(x) is proportional to the sum of q^u over all pairs (u, i) that allow
x. If x moves up by 0 to n steps in every number, (u + 1, i + 1) allows the new point for every (u, i) that allowed the
old one: the upper end grows by n, and the lower end stays. Different pairs stay different, so P(new) >= q P(old). If x
moves down, the same holds with (u + 1, i). So the pure epsilon of one such move is eps, and of a move by at most k n
steps k eps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, positive, reals, shown, whole
from hush.noise.family import Family
from hush.noise.level_noise import LevelNoise
from hush.noise.power_sums import ProductSums
from hush.noise.request import Request
from hush.noise.stairs_search import least_stairs
from hush.numerics.ball import Ball, flint_module

__all__ = ["FAMILY", "Stairs"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
_FURTHEST = 2.0**28  # steps; beyond, levels would pass what exact draws allow
#: Times epsilon, in one direction or not: with more numbers the stairs are small beside the noise and gain nothing.
_MOST_NUMBERS = {True: 12.0, False: 6.0}


@dataclass(frozen=True)
class Stairs(LevelNoise):
    """Noise for `dimension` numbers on the multiples of `step`: the density falls by e^-epsilon from stair to stair.

    A stair is `width` wide, and the middle one reaches `offset` to either side; both are whole numbers of steps. With
    `one_sided` the noise is for numbers that one person moves in the same direction.

    Guarantees: pure epsilon if one person moves every number by at most `width` (with `one_sided`, in one direction;
    twice that in both). The proof is at the top of this module. Geng and Viswanath 2014 for one number; the one-sided
    and the lattice form are new here.

    >>> round(Stairs(2, 8.0, 1.0, 0.125, 0.015625).variance, 4)
    0.016
    """

    dimension: int = field()
    epsilon: float
    width: float = 1.0
    offset: float = 0.0
    step: float = 1.0
    one_sided: bool = False

    def __post_init__(self) -> None:
        hint = "write Stairs(2, 8.0, 1.0, 0.125, 0.015625)"
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, 1, hint))
        for name in ("epsilon", "width", "step"):
            object.__setattr__(self, name, positive(name, getattr(self, name), hint))
        object.__setattr__(self, "offset", float(reals("offset", self.offset)))
        if not isinstance(self.one_sided, bool):
            raise InvalidParameter(f"one_sided must be True or False, got {shown(self.one_sided)}; {hint}.")
        for name in ("width", "offset"):
            steps = getattr(self, name) / self.step
            if not (math.isfinite(steps) and steps >= 0.0 and steps.is_integer()):
                raise InvalidParameter(
                    f"{name} must be a whole number of steps of {self.step:g}, got "
                    f"{shown(getattr(self, name))}; {hint}."
                )
        if self.epsilon > 700.0 or (self.dimension + 800.0) * self._n / self.epsilon + self._c > _FURTHEST:
            raise Unsupported(
                f"stairs of {self._n} steps do not suit {self.dimension} numbers with epsilon {self.epsilon:g}; "
                "use a larger step."
            )

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The length over which the density falls by a factor of e, on average."""
        return self.width / self.epsilon

    @property
    def rate(self) -> Fraction:
        """How much the exponent of the density falls at each stair."""
        return Fraction(self.epsilon)

    @property
    def _n(self) -> int:
        """The width in steps."""
        return round(self.width / self.step)

    @property
    def _c(self) -> int:
        """The offset in steps."""
        return round(self.offset / self.step)

    def scaled(self, k: float) -> Stairs:
        return Stairs(self.dimension, self.epsilon, self.width * k, self.offset * k, self.step * k, self.one_sided)

    def widened(self, k: float) -> Stairs:
        return Stairs(self.dimension, self.epsilon / k, self.width, self.offset, self.step, self.one_sided)

    def largest_loss(self, move: float, *, one_sided: bool) -> Fraction:
        both = 2 if self.one_sided and not one_sided else 1
        return both * self.loss_of_one(self.steps_in(move))

    def loss_of_one(self, steps: int) -> Fraction:
        return -(-steps // self._n) * self.rate

    # -- the level -------------------------------------------------------------------------------------------

    def _factors(self, count: int) -> list[tuple[int, int]]:
        """(a, b) for each of `count` numbers, where a + b u is how many values it can take at the level u."""
        return [(2 * self._c + 1, self._n if self.one_sided else 2 * self._n)] * count

    @cached_property
    def _every(self) -> list[tuple[int, int]]:
        """The same for all numbers and for i."""
        return self._factors(self.dimension) + [(1, 1)] * self.one_sided

    def _log_from(self, factors: list[tuple[int, int]], start: Array) -> Array:
        """log of the sum of q^u times the factors over u = start, start + 1, ..."""
        if not factors:
            return -self.epsilon * start - math.log(-math.expm1(-self.epsilon))
        sums = ProductSums(self.rate, [b for _, b in factors])
        return -self.epsilon * start + sums.log([a + b * start for a, b in factors])

    def _ball_from(self, factors: list[tuple[int, int]], start: int) -> Ball:
        sums = ProductSums(self.rate, [b for _, b in factors])
        return self._q_ball**start * sums.ball([a + b * start for a, b in factors])

    @property
    def _q_ball(self) -> Ball:
        arb = flint_module().arb
        return (-arb(self.rate.numerator) / arb(self.rate.denominator)).exp()

    @cached_property
    def _log_total(self) -> float:
        return float(self._log_from(self._every, np.array(0.0)))

    def log_level_weights(self, level: Array) -> Array:
        a, b = self._every[0]
        split = np.log(level + 1.0) if self.one_sided else 0.0
        return -self.epsilon * level + self.dimension * np.log(a + b * level) + split

    def log_level_tail(self, level: Array) -> Array:
        return self._log_from(self._every, np.asarray(level, dtype=np.float64) + 1.0) - self._log_total

    def level_tail_ball(self, level: int) -> Ball:
        return self._ball_from(self._every, level + 1) / self._ball_from(self._every, 0)

    def intervals(self, level: Whole, below: Any) -> tuple[Whole, Whole]:
        c, n = self._c, self._n
        if not self.one_sided:
            return -(c + n * level)[:, None], (2 * (c + n * level) + 1)[:, None]
        up = below(level + 1)
        return (-c - n * (level - up))[:, None], (2 * c + 1 + n * level)[:, None]

    def half_widths_given(self, level: Array) -> tuple[Array, Array]:
        a, b = self._every[0]
        around = np.broadcast_to(0.5 * (a + b * level)[:, None], (level.size, self.dimension))
        return around, 0.5 * self._n * (level + 1.0) if self.one_sided else np.zeros_like(level)

    @property
    def middle_factors(self) -> Array:
        return np.full(self.dimension, float(self.one_sided))

    def spans(self, level: Array) -> tuple[Array, Array]:
        if self.one_sided and self._n > 1:
            raise Unsupported("the middles of one-sided stairs are more than one step apart.")
        a, b = self._every[0]
        return a + b * level, level + 1.0 if self.one_sided else np.ones_like(level)

    def moments_given(self, level: Array) -> tuple[Array, Array]:
        a, b = self._every[0]
        common = self._n**2 * level * (level + 2.0) / 12.0 if self.one_sided else np.zeros_like(level)
        return ((a + b * level) ** 2 - 1.0) / 12.0 + common, common

    def _stairs_to(self, steps: Any) -> Any:
        """How many stairs lie between 0 and a number of steps."""
        return np.ceil(np.maximum(np.asarray(steps, dtype=np.float64) - self._c, 0.0) / self._n)

    def log_density_of(self, vectors: Any) -> Array:
        steps = self.in_steps(vectors)
        constant = self._log_total + math.log(-math.expm1(-self.epsilon)) * (2.0 if self.one_sided else 1.0)
        if not self.one_sided:
            return -self.epsilon * self._stairs_to(np.abs(steps).max(axis=-1)) - constant
        both = self._stairs_to(steps.max(axis=-1)) + self._stairs_to(-steps.min(axis=-1))
        return -self.epsilon * both - constant

    # -- one number ------------------------------------------------------------------------------------------

    def log_mass(self, k: Array) -> Array:
        past = self._stairs_to(k)
        others = self._factors(self.dimension - 1)
        if not self.one_sided:
            return self._log_from(others, past) - self._log_total
        # of the u + 1 intervals at the level u = past + v, v + 1 reach k
        sums = ProductSums(self.rate, [b for _, b in others] + [1])
        found = sums.log([a + b * past for a, b in others] + [np.ones_like(past)])
        return found - self.epsilon * past - self._log_total

    def at_least_ball(self, k: int) -> Ball:
        c, n = self._c, self._n
        past, others = max(-(-(k - c) // n), 0), self._factors(self.dimension - 1)
        spare = c + n * past - k + 1  # values from k on, at the level `past`
        slopes, starts = [b for _, b in others], [a + b * past for a, b in others]
        total = self._ball_from(self._every, 0) / self._q_ball**past
        if not self.one_sided:
            return ProductSums(self.rate, [*slopes, n]).ball([*starts, spare]) / total
        # the sum over i = past, ..., past + v of c + n i - k + 1 is (v + 1) (2 spare + n v)/2
        return ProductSums(self.rate, [*slopes, 1, n]).ball([*starts, 1, 2 * spare]) / (2 * total)


def _least(request: Request) -> Stairs:
    bound = request.bound
    if bound.dimension is None or bound.dimension == 1 or not request.plain:
        raise Unsupported("joint noise needs Sensitivity(linf=..., dimension=D), with one bound for all D > 1 numbers")
    if bound.dimension * request.times > _MOST_NUMBERS[bound.one_sided is True] * request.epsilon:
        raise Unsupported("stairs help only if epsilon is large or the numbers are few; use cube or interval noise")
    sides = [True, False] if bound.one_sided is True else [False]
    found = [least_stairs(request, partial(Stairs, one_sided=side)) for side in sides]
    return min(found, key=request.value)


FAMILY = Family("stairs", Stairs, paper="Geng and Viswanath 2014", cites=("geng2014",), calibrate=_least)
