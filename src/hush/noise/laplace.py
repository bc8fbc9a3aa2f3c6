"""The Laplace law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.errors import positive
from hush.noise.contract import Law
from hush.noise.divisible import shape_of
from hush.noise.log_concave import LogConcave
from hush.numerics.twofold import Twofold

__all__ = ["Laplace"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Laplace(LogConcave):
    """The two-sided exponential law with scale > 0.

    f(x) = exp(-|x|/scale) / (2 scale).

    Guarantees: pure epsilon = shift/scale; delta(eps) = 1 - exp((eps - shift/scale)/2) below it.

    >>> Laplace(2.0).max_loss(1.0)
    0.5
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale, "write Laplace(1.0)"))

    @property
    def unit(self) -> float:
        return self.scale

    def unit_log_density(self, y: Twofold) -> Twofold:
        return Twofold(-0.6931471805599453, -2.3190468138462996e-17) - y  # -log 2

    def unit_mills(self, y: Array) -> Array:
        return np.ones_like(y)

    def unit_drop(self, y: Array, d: Array) -> Array:
        return np.zeros(np.broadcast_shapes(np.shape(y), np.shape(d)))

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        y = (epsilon - d).halved()
        return y.where(y.hi < 0.0, np.inf)

    @property
    def variance(self) -> float:
        return 2.0 * (self.scale * self.scale)

    @property
    def mean_abs(self) -> float:
        return self.scale

    @property
    def fisher_information(self) -> float:
        return 1.0 / (self.scale * self.scale)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    def max_loss(self, shift: float) -> float:
        return positive("shift", shift) / self.scale

    def exact_max_loss(self, shift: float) -> Fraction | None:
        return Fraction(shift) / Fraction(self.scale)

    def scaled(self, k: float) -> Laplace:
        return self._scaled_by(k, "scale")

    @property
    def memoryless(self) -> float:
        return self.scale

    def power(self, ratio: Fraction, *, up: bool = True) -> Law:
        from hush.noise.gamma_difference import GammaDifference  # which is made of this law

        return GammaDifference(shape_of(ratio, up), self.scale)

    def power_on_lattice(self, ratio: Fraction, step: float, *, up: bool = True) -> Law:
        from hush.noise.polya_difference import PolyaDifference

        return PolyaDifference(shape_of(ratio, up), self.scale, step)
