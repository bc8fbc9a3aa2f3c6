"""The base class of log-concave laws: all privacy numbers follow from the density and its Mills ratio.

All lengths are in units of the scale of the family. f is the density, R(y) = P(Y > y)/f(y) its Mills ratio, and d the
shift. The crossing is the y where the privacy loss log f(-y)/f(-y - d) equals epsilon. The exceeding region is then the
half line x < -y, and

    delta = P(Y < -y) - e^eps P(Y < -y - d) = f(y) (R(y) - R(y + d))                                   if y >= 0,
    delta = (1 - f(z)/f(0)) + f(z) (R(0) - R(z)) + f(z) (R(0) - R(d - z)),   z = -y                    if y < 0.

Both follow from f(y) = e^eps f(y + d) at the crossing and from f(0) R(0) = 1/2. Every term is positive, so there is no
cancellation. Each family computes the drops R(a) - R(b) without subtraction. Crossings and exponents are in twofold
precision.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, epsilons, positive, reject
from hush.noise.contract import Law
from hush.noise.region import Region
from hush.numerics.twofold import Twofold

__all__ = ["LogConcave"]

Array = NDArray[np.float64]
_FAR = 1e140  # units; twofold products overflow beyond, where all densities are 0 in floats


class LogConcave(Law):
    """A log-concave law. A subclass defines `unit` and four methods, in units of `unit` and for y >= 0:

    unit_log_density(y)   log f(y); argument and result are `Twofold`
    unit_mills(y)         R(y) = P(Y > y)/f(y)
    unit_drop(y, d)       R(y) - R(y + d), without cancellation
    unit_crossing(e, d)   the y with log f(-y)/f(-y - d) = e; it may be negative, and is +inf where the loss is never e
    """

    log_concave: ClassVar[bool] = True
    relative_error: ClassVar[float] = 5e-14

    @property
    def unit(self) -> float:
        """The length that y and d are measured in, usually the scale parameter."""
        raise NotCertified(f"{type(self).__name__} must define `unit`, the length that it is measured in.")

    def unit_log_density(self, y: Twofold) -> Twofold:
        raise NotCertified(f"{type(self).__name__} must define `unit_log_density`.")

    def unit_mills(self, y: Array) -> Array:
        raise NotCertified(f"{type(self).__name__} must define `unit_mills`, the Mills ratio.")

    def unit_drop(self, y: Array, d: Array) -> Array:
        raise NotCertified(f"{type(self).__name__} must define `unit_drop`, the difference of two Mills ratios.")

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        raise NotCertified(f"{type(self).__name__} must define `unit_crossing`.")

    # -- the methods of `Law`, which follow ------------------------------------------------------------------

    def in_units(self, x: Array) -> Twofold:
        """Return |x|/unit in twofold precision."""
        # divide by an exact power of two first, so that very large and very small units do not overflow
        fraction, power = math.frexp(self.unit)
        with np.errstate(under="ignore", over="ignore"):
            return Twofold(np.minimum(np.ldexp(np.abs(x), -power), _FAR)) / fraction

    def log_density(self, x: Array) -> Array:
        far = np.isinf(x)
        log_density = self.unit_log_density(self.in_units(np.where(far, 0.0, x))).value() - math.log(self.unit)
        return np.where(far, -np.inf, log_density)

    def log_tail(self, x: Array) -> Array:
        far = np.isinf(x)
        y = self.in_units(np.where(far, 0.0, x))
        return np.where(far, -np.inf, self.unit_log_density(y).value() + np.log(self.unit_mills(y.value())))

    def _central(self, z: Array) -> Array:
        """Return P(0 < Y < z), accurate for small z."""
        fall = self.unit_log_density(Twofold(z)) - self.unit_log_density(Twofold(0.0))
        return -0.5 * fall.expm1() + self.unit_log_density(Twofold(z)).exp() * self.unit_drop(np.zeros_like(z), z)

    def inverse_tail(self, v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64)
        # log P(Y > z) is concave, so Newton's steps from the right of the root decrease to it and never cross it;
        # doubling finds a start on the right
        furthest = -np.log(2.0 * v) * float(self.unit_mills(np.zeros(())))
        z = np.minimum(furthest, float(self.unit_mills(np.zeros(()))))
        for _ in range(40):
            short = (self.unit_log_density(Twofold(z)).value() + np.log(self.unit_mills(z)) > np.log(v)) & (
                z < furthest
            )
            if not short.any():
                break
            z = np.where(short, np.minimum(2.0 * z, furthest), z)
        for _ in range(200):  # monotone steps need no bracket
            excess = self.unit_log_density(Twofold(z)).value() + np.log(self.unit_mills(z)) - np.log(v)
            step = np.minimum(excess, 0.0) * self.unit_mills(z)
            z = np.maximum(z + step, 0.0)
            if (np.abs(step) <= 4e-16 * z).all():
                break
        return self._polish_centre(z, v) * self.unit

    def _polish_centre(self, z: Array, v: Array) -> Array:
        """Improve quantiles near the centre by solving P(0 < Y < z) = 1/2 - v; log v has no digits of 1/2 - v there."""
        centre = v > 0.25
        if not centre.any():
            return z
        z = np.where(centre, np.where(v == 0.5, 0.0, z), z)
        for _ in range(4):
            inner = np.where(centre, z, 0.0)
            density = self.unit_log_density(Twofold(inner)).exp()
            z = np.where(centre, np.maximum(inner - (self._central(inner) - (0.5 - v)) / density, 0.0), z)
        return z

    def atoms(self, shift: float) -> tuple[float, ...]:
        """Return the loss at the centre, log f(0)/f(shift), if the loss grows little from there outwards.

        It is an atom of the Laplace law, and nearly an atom of laws close to it.
        """
        if 0.0 not in self.kinks:
            return ()
        d, out = self.in_units(np.asarray(shift)), Twofold(self.unit_mills(np.zeros(())))
        centre = float((self.unit_log_density(Twofold(0.0)) - self.unit_log_density(d)).value())
        further = float((self.unit_log_density(out) - self.unit_log_density(out + d)).value())
        return (centre,) if further < 1.2 * centre else ()

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "use hush.curve for a negative epsilon")
        shift = positive("shift", shift)
        crossing = self.unit_crossing(epsilon, self.in_units(np.asarray(shift)))
        with np.errstate(over="ignore"):
            upper = (-crossing.value() * self.unit)[..., None]
        return Region(np.full_like(upper, -np.inf), upper, crossing=crossing)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return delta by the formula of the module docstring, for the half line that `exceeds` returned."""
        d = self.in_units(np.asarray(shift))
        y = (
            region.crossing
            if region.crossing is not None
            else self.unit_crossing(np.asarray(epsilon, dtype=np.float64), d)
        )
        return self.surplus_at(y, d)

    def unit_drop_from(self, y: Twofold, d: Twofold) -> Array:
        """Return `unit_drop` from a twofold point. A family whose Mills ratio needs the extra digits overrides it."""
        return self.unit_drop(y.hi, d.hi)

    def surplus_at(self, y: Twofold, d: Twofold) -> Array:
        """Return delta from the crossing y and the shift d, both in units and twofold precision, elementwise."""
        reached = y.hi < _FAR  # beyond, the density is 0 in floats
        outer = reached & (y.hi >= 0.0)
        inner = reached & (y.hi < 0.0)
        spread = Twofold(np.broadcast_to(d.hi, y.hi.shape), np.broadcast_to(d.lo, y.hi.shape))
        result = np.zeros(y.hi.shape)
        with np.errstate(under="ignore"):
            if outer.any():
                far = y[outer]
                result[outer] = self.unit_log_density(far).exp() * self.unit_drop_from(far, spread[outer])
            if inner.any():
                z = -y[inner]
                density = self.unit_log_density(z)
                fall = density - self.unit_log_density(Twofold(0.0))
                zero = np.zeros_like(z.hi)
                drops = self.unit_drop(zero, z.hi) + self.unit_drop(zero, np.maximum((spread[inner] - z).value(), 0.0))
                result[inner] = -fall.expm1() + density.exp() * drops
        return result
