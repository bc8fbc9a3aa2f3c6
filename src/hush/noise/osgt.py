"""Offset-symmetric Gaussian tails: two Gaussian tails moved inwards until they meet at the centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.errors import non_negative, positive
from hush.noise.contract import Law
from hush.noise.log_concave import LogConcave
from hush.numerics.mills import drop, mills, moment_ratios
from hush.numerics.twofold import Twofold

__all__ = ["OSGT", "GaussianTailed"]

Array = NDArray[np.float64]


_GAUSSIAN_PEAK = Twofold(-math.log(2.0 * float(mills(0.0))))


class GaussianTailed(LogConcave):
    """exp(-y^2/2 - r y)/(2 M(r)) for y >= 0 in units of sigma, with M the normal Mills ratio; r = 0 is the Gaussian itself.

    The Mills ratio of this law at y is M(r + y), and its loss is linear on each side of the centre:

        y >= 0:   d (2y + 2r + d)/2 = eps      =>   y = eps/d - d/2 - r
        y <  0:   (d - 2z)(d + 2r)/2 = eps     =>   z = d/2 - eps/(d + 2r),  z = -y

    These are the two branches of OSGT paper, Theorem 1.
    """

    @property
    def _offset(self) -> Twofold:
        """r, twofold."""
        return Twofold(0.0)

    @property
    def _peak(self) -> Twofold:
        """log f(0) in units of sigma."""
        return _GAUSSIAN_PEAK

    def unit_log_density(self, y: Twofold) -> Twofold:
        half = y.halved()
        return self._peak - y * (half + self._offset if float(self._offset.hi) else half)

    def unit_mills(self, y: Array) -> Array:
        return mills(self._offset.hi + y)

    def unit_drop(self, y: Array, d: Array) -> Array:
        return drop(self._offset.hi + y, d)

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        far = np.asarray(epsilon, dtype=np.float64) / d - d.halved()
        if float(self._offset.hi) == 0.0:
            return far
        far = far - self._offset
        if (far.hi >= 0.0).all():
            return far
        return far.where(far.hi >= 0.0, epsilon / (d + self._offset * 2.0) - d.halved())


@dataclass(frozen=True)
class OSGT(GaussianTailed):
    """Offset-symmetric Gaussian tails with offset m >= 0 and tail deviation sigma > 0.

    f(y) = exp(-(|y| + m)^2 / (2 sigma^2)) / (2 sqrt(2 pi) sigma Q(m/sigma)); m = 0 is the Gaussian, large m/sigma tends to Laplace
    with scale sigma^2/m.

    Guarantees: exact delta for every shift (OSGT paper, Theorem 1); variance by eq. (9).

    >>> round(OSGT(3, 40**0.5).variance, 10)
    27.7046783263
    """

    m: float
    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", non_negative("m", self.m, "write OSGT(m=3.0, sigma=6.3)"))
        object.__setattr__(self, "sigma", positive("sigma", self.sigma, "write OSGT(m=3.0, sigma=6.3)"))

    @property
    def unit(self) -> float:
        return self.sigma

    @cached_property
    def _offset(self) -> Twofold:
        return Twofold(self.m) / self.sigma

    @cached_property
    def _peak(self) -> Twofold:
        return Twofold(-math.log(2.0 * float(mills(self._offset.hi))))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        first, second = moment_ratios(self._offset.hi)
        return float(first), float(first * second)

    @property
    def variance(self) -> float:
        """V(m, sigma^2) of OSGT paper, eq. (9), as the product of two moment ratios (no cancellation for large m/sigma)."""
        return self._moments[1] * (self.sigma * self.sigma)

    @property
    def mean_abs(self) -> float:
        """E|Y| = sigma (1 - r M(r))/M(r), r = m/sigma."""
        return self._moments[0] * self.sigma

    @property
    def fisher_information(self) -> float:
        """E (|Y| + m)^2 / sigma^4."""
        r = float(self._offset.hi)
        return (self._moments[1] + 2.0 * r * self._moments[0] + r * r) / (self.sigma * self.sigma)

    @property
    def subgaussian_proxy(self) -> float:
        """sigma^2 for every m >= 0: the density is a Gaussian times an even log-concave factor (erratum to Proposition 2)."""
        return self.sigma * self.sigma

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,) if self.m > 0.0 else ()

    def plain(self) -> Law:
        from hush.noise.gaussian import Gaussian  # here, because the Gaussian is built on this room

        return Gaussian(self.sigma) if self.m == 0.0 else self

    def scaled(self, k: float) -> OSGT:
        return self._scaled_by(k, "m", "sigma")
