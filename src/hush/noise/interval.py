"""Interval noise: joint noise on a lattice for counts and one-signed sums, with less variance than the cube.

Write a = max(0, x_1, ..., x_d) and b = max(0, -x_1, ..., -x_d). The density is proportional to
exp(-max(a, b, a + b - offset)/scale).

**Privacy.** If a person adds to the numbers, x moves by D with 0 <= D_j <= m. Then a grows by at most m and does not
shrink, b shrinks by at most m and does not grow, and a + b, the range of the numbers 0, x_1, ..., x_d, changes by at
most m. So each of a, b and a + b - offset changes by at most m, their maximum does too, and the pure epsilon is
m/scale, for every offset. A move of both signs can change a + b by 2 m, and the pure epsilon is then 2 m/scale.

**Mixture.** In steps, with c = offset/step and q = e^(-step/scale), the following mixture has this density: a level h
below c has weight (1 - q) q^h (2h + 1)^d and the interval {-h, ..., h}; a level c + u has weight
(1 - q)^2 (u + 1) q^(c + u) (2c + 1 + u)^d, and its interval {-(c + u - i), ..., c + i} has i uniform on {0, ..., u}.
Given the interval the numbers are independent and uniform on it. To see this, add up what each part gives to a point
with a <= b (the other case is its mirror image). The symmetric intervals that hold the point have h >= b: they give
q^b - q^c if b < c, and nothing else. Of the others, i >= a - c and u - i >= b - c are needed: with i' = max(a - c, 0)
and j' = max(b - c, 0) they give q^(c + i' + j'). If b < c the sum is q^b; if b >= c > a it is q^b; if a >= c it is
q^(a + b - c). In every case it is q^max(a, b, a + b - c).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.noise.family import Family
from hush.noise.level_calibration import calibrated
from hush.noise.level_noise import LevelNoise
from hush.noise.offsets import SHARES
from hush.noise.power_sums import PowerSums
from hush.noise.request import Request
from hush.numerics.ball import Ball, flint_module
from hush.numerics.search import first_true

__all__ = ["FAMILY", "Interval"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Interval(LevelNoise):
    """Noise for `dimension` numbers on the multiples of `step`, with correlated numbers.

    P(x) is proportional to exp(-max(a, b, a + b - offset)/scale), where
    a is the largest of 0 and the x_j, and b the largest of 0 and the -x_j. `offset` is a whole number of steps.

    Guarantees: pure epsilon m/scale if a person moves every number by at most m and all in one direction (counts, or
    sums of values of one sign, under add-remove); 2 m/scale if moves have both signs. The proof is at the top of this
    module. New here.

    >>> round(Interval(10, 1.0, 3.0).variance, 2)
    20.28
    """

    dimension: int = field()
    scale: float
    offset: float = 0.0
    step: float = 1.0

    def __post_init__(self) -> None:
        self.check_sizes()
        object.__setattr__(self, "offset", self.whole_offset(self.offset))

    def scaled(self, k: float) -> Interval:
        return Interval(self.dimension, self.scale * k, self.offset * k, self.step * k)

    def widened(self, k: float) -> Interval:
        return Interval(self.dimension, self.scale * k, round(self.offset * k / self.step) * self.step, self.step)

    def largest_loss(self, move: float, *, one_sided: bool) -> Fraction:
        return (1 if one_sided else 2) * self.steps_in(move) * self.rate

    @property
    def _c(self) -> int:
        """The offset in steps."""
        return round(self.offset / self.step)

    # -- the level -------------------------------------------------------------------------------------------

    @property
    def _sums(self) -> PowerSums:
        return PowerSums(self.rate, self.dimension)

    @property
    def _inner(self) -> PowerSums:
        return PowerSums(self.rate, self.dimension - 1)

    @property
    def _log_q1(self) -> float:
        """log(1 - q)."""
        return math.log(-math.expm1(-float(self.rate)))

    def log_level_weights(self, level: Array) -> Array:
        base = np.minimum(level, float(self._c))
        spare = level - base
        split = np.where(level < self._c, self._log_q1, 2.0 * self._log_q1 + np.log(spare + 1.0))
        return split - float(self.rate) * level + self.dimension * np.log(2.0 * base + 1.0 + spare)

    @property
    def _log_low_levels(self) -> Array:
        """Logarithms of the weights of the levels below c."""
        return self.log_level_weights(np.arange(self._c, dtype=np.float64))

    def _log_high(self, u: Array) -> Array:
        """log of the weight of all levels c + u, c + u + 1, ... together."""
        t, c = float(self.rate), self._c
        start = np.asarray(u, dtype=np.float64)
        # sum over v of (v + u + 1) q^v (2c + 1 + u + v)^d, in two parts: weights 1 and v
        both = np.logaddexp(
            np.log(start + 1.0) + self._sums.log(2.0 * c + 1.0 + start, (1,)),
            self._sums.log(2.0 * c + 1.0 + start, (0, 1)),
        )
        return np.asarray(2.0 * self._log_q1 - t * (c + start) + both)

    @cached_property
    def _log_total(self) -> float:
        parts = np.append(self._log_low_levels, self._log_high(np.array(0.0)))
        return float(np.logaddexp.reduce(parts))

    @cached_property
    def _log_low_tails(self) -> Array:
        """log of the weight of levels k, k + 1, ... for k = 0, ..., c."""
        parts = np.append(self._log_low_levels, self._log_high(np.array(0.0)))
        return np.logaddexp.accumulate(parts[::-1])[::-1]

    def log_level_tail(self, level: Array) -> Array:
        start = np.asarray(level, dtype=np.float64) + 1.0
        low = self._log_low_tails[np.minimum(start, self._c).astype(np.int64)]
        high = self._log_high(np.maximum(start - self._c, 0.0))
        return np.where(start < self._c, low, high) - self._log_total

    def level_tail_ball(self, level: int) -> Ball:
        return self._levels_ball(level + 1) / self._levels_ball(0)

    def _levels_ball(self, start: int) -> Ball:
        """The weight of levels start, start + 1, ... in balls."""
        c, q = self._c, self._q_ball
        low = sum((q**h * (2 * h + 1) ** self.dimension for h in range(start, c)), flint_module().arb(0))
        u = max(start - c, 0)
        high = (u + 1) * self._sums.ball(2 * c + 1 + u, (1,)) + self._sums.ball(2 * c + 1 + u, (0, 1))
        return (1 - q) * low + (1 - q) ** 2 * q ** (c + u) * high

    @property
    def _q_ball(self) -> Ball:
        arb = flint_module().arb
        return (-arb(self.rate.numerator) / arb(self.rate.denominator)).exp()

    def intervals(self, level: Whole, below: Any) -> tuple[Whole, Whole]:
        spare, base = np.maximum(level - self._c, 0), np.minimum(level, self._c)
        up = below(spare + 1)
        return (up - spare - base)[:, None], (2 * base + spare + 1)[:, None]

    def half_widths_given(self, level: Array) -> tuple[Array, Array]:
        spare, base = np.maximum(level - self._c, 0.0), np.minimum(level, float(self._c))
        around = base + 0.5 * (spare + 1.0)
        return np.broadcast_to(around[:, None], (level.size, self.dimension)), 0.5 * (spare + 1.0)

    @property
    def middle_factors(self) -> Array:
        return np.ones(self.dimension)

    def log_density_of(self, vectors: Any) -> Array:
        steps = self.in_steps(vectors)
        a, b = np.maximum(steps.max(axis=-1), 0.0), np.maximum(-steps.min(axis=-1), 0.0)
        return -float(self.rate) * np.maximum(np.maximum(a, b), a + b - self._c) - self._log_total

    # -- one number ------------------------------------------------------------------------------------------

    def log_mass(self, k: Array) -> Array:
        t, c = float(self.rate), self._c
        k = np.asarray(k, dtype=np.float64)
        past = np.maximum(k - c, 0.0)
        # levels c + u with u >= past: u - past + 1 of their u + 1 intervals reach k
        high = 2.0 * self._log_q1 - t * (c + past) + self._inner.log(2.0 * c + 1.0 + past, (1, 1))
        low = self._log_low_masses[np.minimum(k, c).astype(np.int64)]
        return np.asarray(np.logaddexp(high, low)) - self._log_total

    @cached_property
    def _log_low_masses(self) -> Array:
        """log of what levels k, ..., c - 1 give to the point k, for k = 0, ..., c (the last is log 0)."""
        h = np.arange(self._c, dtype=np.float64)
        parts = self._log_q1 - float(self.rate) * h + (self.dimension - 1) * np.log(2.0 * h + 1.0)
        sums = np.logaddexp.accumulate(parts[::-1])[::-1] if self._c else parts
        return np.append(sums, -np.inf)

    def at_least_ball(self, k: int) -> Ball:
        c, q, n = self._c, self._q_ball, self.dimension - 1
        low = sum((q**h * (2 * h + 1) ** n * (h - k + 1) for h in range(k, c)), flint_module().arb(0))
        past = max(k - c, 0)
        spare = max(c - k, 0)  # whole points of every interval between k and c
        # past = 0: sum over u of (u + 1) (spare + 1) + u (u + 1)/2; else with v = u - past: (v + 1) + v (v + 1)/2
        high = (spare + 1) * self._inner.ball(2 * c + 1 + past, (1, 1)) + self._inner.ball(
            2 * c + 1 + past, (0, 1, 1)
        ) / 2
        return ((1 - q) * low + (1 - q) ** 2 * q ** (c + past) * high) / self._levels_ball(0)


def _best_offset(request: Request, scale: float, step: float) -> Interval:
    """The offset of least loss, in whole steps. The variance falls and then rises as the offset grows; for another loss
    the offsets around that of least variance are compared.
    """

    def made(c: int) -> Interval:
        return Interval(request.bound.dimension, scale, c * step, step)

    most = math.ceil(1.3 * request.bound.dimension * scale / step) + 1
    best = first_true(0, most, lambda c: made(c + 1).variance >= made(c).variance)
    if request.loss == "variance":
        return made(best)
    around = {0, best, *(round(best * share) for share in SHARES), *(max(best + side, 0) for side in (-1, 1))}
    return min(
        (made(c) for c in sorted(around)), key=lambda noise: (request.value(noise), abs(noise.offset - best * step))
    )


def _least(request: Request) -> Interval:
    made = calibrated(request, lambda scale, step: _best_offset(request, scale, step), True)
    assert isinstance(made, Interval)
    return made


FAMILY = Family("interval", Interval, paper="this project", cites=("hush",), calibrate=_least)
