"""OSGT noise, offset-symmetric Gaussian tails: two Gaussian tails moved inwards until they meet at the centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from hush.errors import non_negative, positive
from hush.noise.contract import Law
from hush.noise.family import Family, Reference, Shape
from hush.noise.gaussian import Gaussian
from hush.noise.gaussian_tailed import GaussianTailed
from hush.numerics.ball import Ball, Tail, flint_module, normal_tail
from hush.numerics.mills import mills, moment_ratios
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "OSGT"]


@dataclass(frozen=True)
class OSGT(GaussianTailed):
    """Offset-symmetric Gaussian tails with offset m >= 0 and standard deviation of the tails sigma > 0.

    f(y) = exp(-(|y| + m)^2 / (2 sigma^2)) / (2 sqrt(2 pi) sigma Q(m/sigma)); m = 0 is the Gaussian, and for large
    m/sigma the law tends to Laplace with scale sigma^2/m.

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
        """V(m, sigma^2) of OSGT paper, eq. (9), as a product of two moment ratios, without cancellation."""
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
        """sigma^2 for every m >= 0, because the density is a Gaussian one times an even log-concave factor.

        See the erratum to Proposition 2.
        """
        return self.sigma * self.sigma

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,) if self.m > 0.0 else ()

    def plain(self) -> Law:
        return Gaussian(self.sigma) if self.m == 0.0 else self

    def scaled(self, k: float) -> OSGT:
        return self.scaled_by(k, "m", "sigma")


def _tail(noise: OSGT) -> Tail:
    """Return the function x -> P(|X| > x) = Q((x + m)/sigma)/Q(m/sigma).

    For large m/sigma each Q is a density times U(1/2, 1/2, z^2/2), and the ratio of the densities is computed directly.
    """

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        near, far = arb(noise.m) / noise.sigma, (x + noise.m) / noise.sigma
        if near < 20:
            return normal_tail(far) / normal_tail(near)
        half = arb(0.5)
        fall = (-(x * (x + 2 * arb(noise.m))) / (2 * arb(noise.sigma) ** 2)).exp()
        return fall * (far**2 / 2).hypgeom_u(half, half) / (near**2 / 2).hypgeom_u(half, half)

    return beyond


def _log_weight(noise: OSGT) -> Tail:
    arb = flint_module().arb
    return lambda x: -(x * (x + 2 * arb(noise.m))) / (2 * arb(noise.sigma) ** 2)


FAMILY = Family(
    "osgt",
    OSGT,
    paper="Sadeghi and Korki 2022",
    cites=("sadeghi2022",),
    shape=Shape(
        lambda r: OSGT(r, 1.0),  # r = m/sigma
        -4.0,
        7.0,
        0.25,
        lambda r: -0.84 - 1.03 * math.log(max(r - 0.6, 0.02)),
        like_laplace=lambda scale: OSGT(1e12 * scale, 1e6 * scale),
        like_gaussian=lambda sigma: OSGT(0.0, sigma),
    ),
    tail=_tail,
    log_weight=_log_weight,
    degree=2,
    reference=Reference(OSGT(1.0, 2.0), 0.5, 0.084982079497046336),
)
