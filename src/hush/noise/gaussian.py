"""The Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hush.errors import positive
from hush.noise.divisible import hair
from hush.noise.osgt import GaussianTailed

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian(GaussianTailed):
    """The normal law with standard deviation sigma > 0.

    f(x) = exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi)).

    Guarantees: exact delta for every shift (Balle and Wang 2018, Theorem 8; Zhao, Theorem 2).

    >>> Gaussian(2.0).variance
    4.0
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma, "write Gaussian(1.0)"))

    @property
    def unit(self) -> float:
        return self.sigma

    @property
    def variance(self) -> float:
        return self.sigma * self.sigma

    @property
    def mean_abs(self) -> float:
        return self.sigma * math.sqrt(2.0 / math.pi)

    @property
    def fisher_information(self) -> float:
        return 1.0 / (self.sigma * self.sigma)

    @property
    def subgaussian_proxy(self) -> float:
        return self.sigma * self.sigma

    def scaled(self, k: float) -> Gaussian:
        return self._scaled_by(k, "sigma")

    @property
    def stability(self) -> tuple[float, float]:
        return 2.0, self.sigma / math.sqrt(2.0)

    def power(self, ratio: Fraction, *, up: bool = True) -> Gaussian:
        return Gaussian(self.sigma * float(ratio) ** 0.5 * hair(up))
