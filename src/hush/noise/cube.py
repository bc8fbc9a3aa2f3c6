"""Cube noise: density proportional to exp(-|x|_inf/scale) on a lattice, for numbers that may all move at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.noise.family import Family
from hush.noise.level_calibration import calibrated
from hush.noise.level_noise import LevelNoise
from hush.noise.power_sums import PowerSums
from hush.noise.request import Request
from hush.numerics.ball import Ball, flint_module

__all__ = ["FAMILY", "Cube"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Cube(LevelNoise):
    """Noise for `dimension` numbers on the multiples of `step`: P(x) proportional to exp(-|x|_inf/scale).

    The level R has weight q^R (2R + 1)^d, q = e^(-step/scale); given R the numbers are independent and uniform on
    {-R, ..., R} steps.

    Guarantees: if every number moves by at most m, the log density changes by at most m/scale, because |x|_inf does by
    at most m: pure epsilon m/scale, however many of the numbers move (Hardt and Talwar 2010, for this body).

    >>> round(Cube(3, 1.0).variance, 6)
    6.5896
    """

    dimension: int = field()
    scale: float
    step: float = 1.0

    def __post_init__(self) -> None:
        self.check_sizes()

    def scaled(self, k: float) -> Cube:
        return Cube(self.dimension, self.scale * k, self.step * k)

    def widened(self, k: float) -> Cube:
        return Cube(self.dimension, self.scale * k, self.step)

    def largest_loss(self, move: float, *, one_sided: bool) -> Fraction:
        return self.steps_in(move) * self.rate

    # -- the level: weight q^R (2R + 1)^d ---------------------------------------------------------------------

    @property
    def _sums(self) -> PowerSums:
        return PowerSums(self.rate, self.dimension, slope=2)

    @property
    def _inner(self) -> PowerSums:
        return PowerSums(self.rate, self.dimension - 1, slope=2)

    @property
    def _log_total(self) -> float:
        return float(self._sums.log(np.array(1.0), (1,)))

    def log_level_weights(self, level: Array) -> Array:
        return -float(self.rate) * level + self.dimension * np.log(2.0 * level + 1.0)

    def log_level_tail(self, level: Array) -> Array:
        start = np.asarray(level, dtype=np.float64) + 1.0
        return -float(self.rate) * start + self._sums.log(2.0 * start + 1.0, (1,)) - self._log_total

    def level_tail_ball(self, level: int) -> Ball:
        start = level + 1
        return _power(self, start) * self._sums.ball(2 * start + 1, (1,)) / self._sums.ball(1, (1,))

    def intervals(self, level: Whole, below: Any) -> tuple[Whole, Whole]:
        return -level[:, None], 2 * level[:, None] + 1

    def half_widths_given(self, level: Array) -> tuple[Array, Array]:
        return np.broadcast_to(level[:, None] + 0.5, (level.size, self.dimension)), np.zeros_like(level)

    def log_density_of(self, vectors: Any) -> Array:
        steps = self.in_steps(vectors)
        largest = np.abs(steps).max(axis=-1)
        constant = math.log(-math.expm1(-float(self.rate))) + self._log_total
        return -float(self.rate) * largest - constant

    # -- one number: the sum over R >= k of q^R (2R + 1)^(d - 1) ----------------------------------------------

    def log_mass(self, k: Array) -> Array:
        return -float(self.rate) * k + self._inner.log(2.0 * k + 1.0, (1,)) - self._log_total

    def at_least_ball(self, k: int) -> Ball:
        return _power(self, k) * self._inner.ball(2 * k + 1, (1, 1)) / self._sums.ball(1, (1,))


def _power(noise: LevelNoise, k: int) -> Ball:
    """q^k."""
    arb = flint_module().arb
    return (-k * arb(noise.rate.numerator) / arb(noise.rate.denominator)).exp()


def _least(request: Request) -> Cube:
    return calibrated(request, lambda scale, step: Cube(request.bound.dimension, scale, step), False)  # type: ignore[return-value]


FAMILY = Family("cube", Cube, paper="Hardt and Talwar 2010", cites=("hardt2010",), calibrate=_least)
