"""The difference of two gamma variables of any shape: a share of Laplace noise, or a sum of such shares.

The numerics at scale 1 are in gamma_difference_density.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import epsilons, positive, reject
from hush.noise.contract import Law
from hush.noise.divisible import shape_of
from hush.noise.family import Family
from hush.noise.gamma_difference_density import LEAST, UnitLaw
from hush.noise.gamma_difference_tail import tail
from hush.noise.laplace import Laplace
from hush.noise.region import Region
from hush.numerics import special
from hush.numerics.root import halved, safe_chords
from hush.numerics.rounding import CLOSED_FORM, Claim, up

__all__ = ["FAMILY", "GammaDifference"]

Array = NDArray[np.float64]

_ERROR = 1e-12  # relative error of a tail or a density: ten times the largest error seen
_SLACK = 2e-13  # absolute error of a loss; regions are computed with this margin, so that they contain the exact ones
_NOTHING_LEFT = Claim(
    1e-6, "no bound: a shifted mass this far above the mass is round-off, and delta is then its safety margin alone"
)


@dataclass(frozen=True)
class GammaDifference(Law):
    """scale (G - G') with G, G' independent gamma variables of shape r > 0.

    The characteristic function is (1 + (scale t)^2)^(-r). Shape 1 is the Laplace law.

    f(x) = |y|^(r - 1/2) K_(r-1/2)(|y|) / (scale sqrt(pi) Gamma(r) 2^(r-1/2)),  y = x/scale.

    Guarantees: shapes add up under independent sums (Kotz, Kozubowski and Podgorski 2001, Section 2.4). The law is
    symmetric and unimodal for every shape: gamma densities a of shape at most 1 fall, so f(x) = int a(t) a(t + x) dt
    does; above 1 they are log-concave, and so is f. For r < 1 log f is convex on either side of 0 and the loss is
    largest there; for r >= 1 it rises into the far tail, with limit shift/scale. For r <= 1/2 the density is infinite
    at 0 and there is no pure epsilon.

    >>> round(GammaDifference(1.0, 2.0).pdf(1.0), 12) == round(0.25 * math.exp(-0.5), 12)
    True
    """

    shape: float
    scale: float
    relative_error: ClassVar[float] = 1e-11

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", positive("shape", self.shape, "write GammaDifference(0.01, 2.0)"))
        object.__setattr__(self, "scale", positive("scale", self.scale, "write GammaDifference(0.01, 2.0)"))

    @cached_property
    def _unit(self) -> UnitLaw:
        return UnitLaw(self.shape)

    def log_density(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return self._unit.log_density(np.abs(x) / self.scale) - math.log(self.scale)

    def log_tail(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return self._unit.log_tail(np.abs(x) / self.scale)

    def inverse_tail(self, v: Array) -> Array:
        return self._unit.quantile(np.asarray(v, dtype=np.float64)) * self.scale

    # -- moments ---------------------------------------------------------------------------------------------

    @property
    def variance(self) -> float:
        return 2.0 * self.shape * self.scale * self.scale

    @property
    def mean_abs(self) -> float:
        """2 scale Gamma(r + 1/2)/(sqrt(pi) Gamma(r)) = scale E sqrt(2 G) sqrt(2/pi)."""
        return (
            2.0
            * self.scale
            * math.exp(float(special.gammaln(self.shape + 0.5) - special.gammaln(self.shape)))
            / math.sqrt(math.pi)
        )

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    def plain(self) -> Law:
        return Laplace(self.scale) if self.shape == 1.0 else self

    def scaled(self, k: float) -> GammaDifference:
        return self.scaled_by(k, "scale")

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Law:
        return GammaDifference(shape_of(Fraction(self.shape) * ratio, upwards=upwards), self.scale).plain()

    # -- privacy ---------------------------------------------------------------------------------------------

    def max_loss(self, shift: float) -> float:
        """shift/scale for r >= 1; log f(0)/f(shift) for 1/2 < r < 1, rounded up; infinite for r <= 1/2."""
        s = positive("shift", shift) / self.scale
        if self.shape >= 1.0:
            return s
        if self.shape <= 0.5:
            return math.inf
        return up(self._unit.log_centre - float(self._unit.log_density(np.array([s]))[0]), CLOSED_FORM) + _ERROR

    @lru_cache(maxsize=64)  # noqa: B019 - the class is frozen
    def _cap(self, s: float) -> float:
        """Return the loss at the smallest x > 0 of the density; delta at larger epsilon is bounded by delta here."""
        return float((self._unit.log_density(np.array([LEAST])) - self._unit.log_density(np.array([s])))[0])

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "use hush.curve for a negative epsilon")
        s = positive("shift", shift) / self.scale
        flat = np.minimum(epsilon.ravel(), self._cap(s)) if self.shape <= 0.5 else epsilon.ravel()
        lower, upper = self._found(flat.tobytes(), s)
        empty = lower >= upper
        lower, upper = (
            np.where(empty, 0.0, end * self.scale).reshape(epsilon.shape)[..., None] for end in (lower, upper)
        )
        return Region(lower, upper)

    @lru_cache(maxsize=4)  # noqa: B019 - `surplus` and `error_at` need the same region
    def _found(self, epsilon: bytes, s: float) -> tuple[Array, Array]:
        return (self._half_line if self.shape >= 1.0 else self._interval)(np.frombuffer(epsilon), s)

    def _half_line(self, epsilon: Array, s: float) -> tuple[Array, Array]:
        """r >= 1: the loss rises as x falls from s/2; bisect on t = s/2 - x."""
        density = self._unit.log_density

        def above(t: Array) -> Any:
            return density(np.abs(0.5 * s - t)) - density(0.5 * s + t) > epsilon - _SLACK

        high = halved(above, np.zeros_like(epsilon), np.full_like(epsilon, self._unit.furthest), turns=70)[1]
        reached = high < self._unit.furthest
        return np.where(reached, -np.inf, 0.0), np.where(reached, 0.5 * s - high, 0.0)

    def _interval(self, epsilon: Array, s: float) -> tuple[Array, Array]:
        """r < 1: the loss falls on either side of 0, to 0 at s/2 and to the limit s far on the left."""
        density = self._unit.log_density
        upper = _outermost(lambda x: density(x) - density(s - x), epsilon, 0.5 * s)
        left = _outermost(lambda x: density(x) - density(x + s), epsilon, self._unit.furthest)
        lower = np.where((epsilon <= s) | (left >= 0.999 * self._unit.furthest), -np.inf, -left)
        some = density(upper) - density(s - upper) >= epsilon - 1e-9
        return np.where(some, lower, 0.0), np.where(some, upper, 0.0)

    def error_at(self, epsilon: Array, shift: float) -> Array | float:
        """Return the part of the value that is its safety margin, at most 1.

        Above the cap of epsilon it is 1: the value is an upper bound only.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)
        value, margin = self._both(self.exceeds(epsilon, shift), epsilon, shift)
        small = 2.0 * margin >= 1e-3 * value
        capped = self.shape <= 0.5 and epsilon > self._cap(shift / self.scale)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(
                small | capped, 1.0, np.minimum(3.0 * margin / np.where(value > 0.0, value, 1.0) + 1e-15, 1.0)
            )

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return P(I) - e^epsilon P(I - shift) plus a bound on its error: an upper bound."""
        value, margin = self._both(region, np.asarray(epsilon, dtype=np.float64), shift)
        return np.where(value + margin > 0.0, value + margin, 0.0)

    def _both(self, region: Region, epsilon: Array, shift: float) -> tuple[Array, Array]:
        """Return the surplus, and a bound on its error."""
        s = shift / self.scale
        low, high = (end[..., 0].ravel() / self.scale for end in (region.lower, region.upper))
        flat = np.broadcast_to(epsilon, region.lower.shape[:-1]).ravel()
        flat = np.minimum(flat, self._cap(s)) if self.shape <= 0.5 else flat
        value, margin = np.zeros(flat.shape), np.zeros(flat.shape)
        on = low < high
        if on.any():
            here = self._unit.between(low[on], high[on])
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                there = np.exp(flat[on] + self._unit.log_between_shifted(low[on], high[on], s))
                capped = np.minimum(there, up(here, _NOTHING_LEFT))  # on the region the exact value is smaller
                there = np.where(np.isfinite(there), capped, 0.0)
            value[on] = np.maximum(here - there, 0.0)
            margin[on] = _ERROR * (here + there) * (1.0 + np.abs(flat[on]) * 1e-3)
        shape = np.broadcast_shapes(epsilon.shape, region.lower.shape[:-1])
        return value.reshape(shape), margin.reshape(shape)


def _outermost(loss: Any, epsilon: Array, far: float) -> Array:
    """Return a point just beyond the x < `far` where a loss that falls with x equals epsilon, searched in log x.

    At the result the loss is within two slacks of epsilon, or no smaller float has a loss below epsilon: the region is
    never too small.
    """
    target = epsilon - _SLACK
    low, high = np.full_like(epsilon, math.log(LEAST)), np.full_like(epsilon, math.log(far))
    return np.exp(safe_chords(lambda t, at: loss(np.exp(t)) - target[at], low, high, near=_SLACK))


FAMILY = Family(
    "gamma_difference",
    GammaDifference,
    paper="Kotz, Kozubowski and Podgorski 2001",
    cites=("kotz2001",),
    ranked=False,
    tail=lambda noise: tail(noise.shape, noise.scale),
    panels=False,  # the density may be infinite at 0, where no polynomial approximates the quantile function
    divisible=True,
    public=False,
)
