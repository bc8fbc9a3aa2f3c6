"""The Gaussian law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from hush.errors import Unsupported, positive
from hush.noise.contract import Law
from hush.noise.divisible import scale_of
from hush.noise.family import Family, Reference
from hush.noise.gaussian_tailed import GaussianTailed
from hush.noise.request import Request
from hush.numerics.ball import Tail, normal_tail
from hush.numerics.rounding import FEW_ROUNDINGS
from hush.numerics.search import nudged

__all__ = ["FAMILY", "Gaussian", "gaussian_noise"]


@dataclass(frozen=True)
class Gaussian(GaussianTailed):
    """The normal law with standard deviation sigma > 0.

    f(x) = exp(-x^2 / (2 sigma^2)) / (sigma sqrt(2 pi)).

    Guarantees: exact delta for every shift (Balle and Wang 2018, Theorem 8; Zhao, Theorem 2).

    >>> Gaussian(2.0).variance
    4.0
    """

    isotropic: ClassVar[bool] = True

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
        return self.scaled_by(k, "sigma")

    @property
    def stability(self) -> tuple[float, float]:
        return 2.0, self.sigma / math.sqrt(2.0)

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Gaussian:
        return Gaussian(scale_of(self.sigma * float(ratio) ** 0.5, FEW_ROUNDINGS, upwards=upwards))


def gaussian_noise(request: Request) -> Law:
    """Return the least Gaussian noise for a request: a closed form, whose last digits are then certified."""
    if request.delta == 0.0:
        raise Unsupported("Gaussian noise has no pure epsilon")
    sigma = request.gaussian_sigma()
    if request.step is not None:
        return request.at_scale(Gaussian(1.0), sigma)
    if request.notion != "dp":
        return Gaussian(sigma)
    # the closed form contains a rounded square root of times and l0, so the result may have to be raised slightly
    found = nudged(lambda sigma: request.meets(Gaussian(sigma)), sigma, first=FEW_ROUNDINGS.share, growth=2.0, turns=30)
    if found is None:
        raise Unsupported("Gaussian noise could not be certified for this budget")
    return Gaussian(found)


def _tail(noise: Gaussian) -> Tail:
    return lambda x: normal_tail(x / noise.sigma)


def _log_weight(noise: Gaussian) -> Tail:
    return lambda x: -((x / noise.sigma) ** 2) / 2


FAMILY = Family(
    "gaussian",
    Gaussian,
    paper="Zhao et al. 2019; Balle and Wang 2018",
    cites=("zhao2019", "balle2018"),
    closed_form=True,
    notions=("dp", "pdp"),
    pure=False,
    calibrate=gaussian_noise,
    tail=_tail,
    log_weight=_log_weight,
    degree=2,
    reference=Reference(Gaussian(2.0), 0.5, 0.052440323287669662),
)
