"""Exponential power noise, with density proportional to exp(-|x|^p): Laplace at p = 1, Gaussian at p = 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import positive, within
from hush.noise.exponential_power_mills import power, shape_of
from hush.noise.family import Family, Reference, Shape
from hush.noise.log_concave import LogConcave
from hush.noise.smooth import crossing
from hush.numerics.ball import Ball, Tail, flint_module
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "ExponentialPower"]

Array = NDArray[np.float64]

_LARGEST_POWER = 16.0


@dataclass(frozen=True)
class ExponentialPower(LogConcave):
    """Exponential power noise with shape 1 <= p <= 16 and scale > 0, also called generalised Gaussian.

    f(x) = exp(-(|x|/scale)^p) / (2 scale Gamma(1 + 1/p)); p = 1 is Laplace(scale), p = 2 is Gaussian(scale/sqrt 2).

    Guarantees: exact delta for every shift, from the half line where the loss exceeds epsilon. Subbotin 1923 for the
    law; Liu 2019 (generalized Gaussian mechanism) for its use in privacy.

    >>> round(ExponentialPower(1.5, 2.0).variance, 10)
    2.9539524465
    """

    relative_error: ClassVar[float] = 7e-13

    p: float
    scale: float

    def __post_init__(self) -> None:
        hint = "write ExponentialPower(p=1.5, scale=1.0)"
        object.__setattr__(self, "p", within("p", self.p, 1.0, _LARGEST_POWER, hint))
        object.__setattr__(self, "scale", positive("scale", self.scale, hint))

    @property
    def unit(self) -> float:
        return self.scale

    def unit_log_density(self, y: Twofold) -> Twofold:
        return -math.log(2.0 * shape_of(self.p).centre) - power(y, self.p)

    def unit_mills(self, y: Array) -> Array:
        y = np.asarray(y, dtype=np.float64)
        return shape_of(self.p).mills(y.ravel()).reshape(y.shape)

    def unit_drop(self, y: Array, d: Array) -> Array:
        y, d = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(d, dtype=np.float64))
        return shape_of(self.p).drop(y.ravel(), d.ravel()).reshape(y.shape)

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        """Start Newton's method at the m = y + d/2 with d U'(m) = epsilon.

        For p <= 2 the loss is concave in m and at most d U'(m); for p > 2 it is convex and at least d U'(m). Newton's
        steps from this start therefore never cross the root.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if self.p == 1.0:
            y = (epsilon - d).halved()
            return y.where(y.hi < 0.0, np.inf)
        if self.p == 2.0:
            return (epsilon / d - d).halved()
        with np.errstate(divide="ignore", under="ignore"):
            ratio, excess = epsilon / (self.p * float(d.hi)), ((epsilon - d * self.p) / (d * self.p)).value()
            log_ratio = np.where(ratio < 0.5, np.log(ratio), np.log1p(excess))  # accurate where the logarithm is near 0
            start = np.exp(np.minimum(log_ratio / (self.p - 1.0), 330.0)) - 0.5 * float(d.hi)
        # at y = 0 the slope falls; for p near 1 it falls so steeply that steps from below would not get past 0
        if self.p < 2.0:
            start = np.where(
                self._newton(np.zeros(()), epsilon, d)[0] > 0.0, np.maximum(start, 1e-9 * float(d.hi)), start
            )
        return crossing(epsilon, d, np.asarray(start), self._newton, lambda x: power(x, self.p))

    def _newton(self, y: Array, epsilon: Array, shift: Twofold) -> tuple[Array, Array]:
        """Return epsilon - loss, and the slope of the loss a^p - b^p, a = y + d, b = |y|.

        Near p = 1 the factor h = p - 1 is explicit: a^p - b^p = (a - b) + (a - b)(a^h - 1) + b (a^h - b^h).
        """
        h, d, outside = self.p - 1.0, float(shift.hi), y >= 0.0
        a, b, gap = y + d, np.abs(y), d + 2.0 * np.minimum(y, 0.0)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            log_a = np.log(a)
            # log(a/b), by log1p where b is close to a
            stretch = np.where(2.0 * b > a, np.log1p(gap / np.maximum(b, 0.5 * a)), log_a - np.log(b))
            top, grown, shrink = np.exp(h * log_a), np.expm1(h * log_a), -np.expm1(-h * stretch)
            rest = (epsilon - shift).value() - 2.0 * np.minimum(y, 0.0) - (gap * grown + b * top * shrink)
            # far from p = 1 the direct formula loses no digits
            rest = np.where(np.abs(grown) < 0.5, rest, epsilon - top * (gap + b * shrink))
            return rest, self.p * top * np.where(outside, shrink, 2.0 - shrink)

    @property
    def variance(self) -> float:
        """scale^2 Gamma(3/p)/Gamma(1/p)."""
        return math.gamma(3.0 / self.p) / math.gamma(1.0 / self.p) * self.scale**2

    @property
    def mean_abs(self) -> float:
        """scale Gamma(2/p)/Gamma(1/p)."""
        return math.gamma(2.0 / self.p) / math.gamma(1.0 / self.p) * self.scale

    @property
    def fisher_information(self) -> float:
        """p^2 Gamma(2 - 1/p)/(scale^2 Gamma(1/p))."""
        return self.p**2 * math.gamma(2.0 - 1.0 / self.p) / math.gamma(1.0 / self.p) / self.scale**2

    @property
    def subgaussian_proxy(self) -> float:
        """The variance for p >= 2; infinite for p < 2.

        Let G be Gaussian with the same variance. The log of the ratio of the densities of X and G is concave in s =
        x^2. The densities of X^2 and G^2 have equal means, so they cross twice, in the order -, +, -. Hence X^2 is
        below G^2 in convex order, and cosh(t sqrt s) is convex in s.
        """
        return self.variance if self.p >= 2.0 else math.inf

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,) if self.p != 2.0 else ()

    def error_at(self, epsilon: Array, shift: float) -> float:
        """Return a larger error for a tiny (p - 1) shift, because its crossing is computed in single floats only."""
        return self.relative_error if self.p == 1.0 or (self.p - 1.0) * shift > 1e-7 * self.scale else 1e-11

    def max_loss(self, shift: float) -> float:
        shift = positive("shift", shift)
        return shift / self.scale if self.p == 1.0 else math.inf

    def scaled(self, k: float) -> ExponentialPower:
        return self.scaled_by(k, "scale")


def _start(r: float) -> float:
    """Return a first guess of p from r, the variance of pure Laplace over Gaussian noise; a fit for 5 to 50 numbers."""
    if r >= 1.1:
        return 2.0 - 0.55 * r**-0.8
    ladder = (
        (0.55, 1.01),
        (0.65, 1.045),
        (0.70, 1.07),
        (0.77, 1.13),
        (0.86, 1.242),
        (0.93, 1.329),
        (1.0, 1.39),
        (1.1, 1.47),
    )
    return float(np.interp(math.log(r), [math.log(x) for x, _ in ladder], [p for _, p in ladder]))


def _tail(noise: ExponentialPower) -> Tail:
    """Return the function x -> P(|X| > x) = Gamma(1/p, (x/scale)^p)/Gamma(1/p)."""

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        return ((x / noise.scale) ** arb(noise.p)).gamma_upper(1 / arb(noise.p), 1)

    return beyond


def _log_weight(noise: ExponentialPower) -> Tail:
    return lambda x: -((x / noise.scale) ** flint_module().arb(noise.p))


FAMILY = Family(
    "exponential_power",
    ExponentialPower,
    paper="Subbotin 1923; Liu 2019",
    cites=("subbotin1923", "liu2019"),
    shape=Shape(
        lambda p: ExponentialPower(p, 1.0),
        1.0,
        2.0,
        0.04,
        _start,
        logarithmic=False,
        like_laplace=lambda scale: ExponentialPower(1.0, scale),
        like_gaussian=lambda sigma: ExponentialPower(2.0, sigma * math.sqrt(2.0)),
    ),
    tail=_tail,
    log_weight=_log_weight,
    reference=Reference(ExponentialPower(1.5, 2.0), 0.5, 0.082123192678342518),
)
