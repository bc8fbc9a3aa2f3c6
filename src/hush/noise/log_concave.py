"""Log-concave families: a density and its Mills ratio are all that privacy needs.

Work in units of the family's scale. With f the density and R(y) = P(Y > y)/f(y) its Mills ratio, a shift d and the crossing y where
the privacy loss log f(-y)/f(-y - d) equals epsilon, the exceeding region is the half line x < -y, and

    delta = P(Y < -y) - e^eps P(Y < -y - d) = f(y) (R(y) - R(y + d))                                   if y >= 0,
    delta = (1 - f(z)/f(0)) + f(z) (R(0) - R(z)) + f(z) (R(0) - R(d - z)),   z = -y                    if y < 0.

Both follow from f(y) = e^eps f(y + d) at the crossing and f(0) R(0) = 1/2. Every term is positive, so nothing cancels; the drops
R(a) - R(b) come from each family without subtraction, and crossings and exponents are carried in twofold precision.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, epsilons, positive, reject
from hush.noise.contract import Noise, Region
from hush.numerics.twofold import Twofold

__all__ = ["LogConcave"]

Array = NDArray[np.float64]
_FAR = 1e140  # in units; twofold products overflow beyond, and every density here has long been 0


class LogConcave(Noise):
    """A family given in units of its scale by four hooks (all for y >= 0):

    _log_density(y)   log f(y), twofold in and out
    _mills(y)         R(y) = P(Y > y)/f(y)
    _drop(y, d)       R(y) - R(y + d)
    _crossing(e, d)   the y with log f(-y)/f(-y - d) = e (may be negative; +inf where the loss never gets there)
    """

    log_concave: ClassVar[bool] = True
    relative_error: ClassVar[float] = 5e-14

    @property
    def _unit(self) -> float:
        """The length that the family measures in."""
        raise NotCertified("a log-concave family has to name its unit.")

    def _log_density(self, y: Twofold) -> Twofold:
        raise NotCertified("a log-concave family has to give its density.")

    def _mills(self, y: Array) -> Array:
        raise NotCertified("a log-concave family has to give its Mills ratio.")

    def _drop(self, y: Array, d: Array) -> Array:
        raise NotCertified("a log-concave family has to give the drop of its Mills ratio.")

    def _crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        raise NotCertified("a log-concave family has to give its crossing.")

    # -- the contract's hooks ----------------------------------------------------------------------------------

    def _in_units(self, x: Array) -> Twofold:
        # by an exact power of two first, so that units near the ends of the float range pass through twofold products
        fraction, power = math.frexp(self._unit)
        with np.errstate(under="ignore", over="ignore"):
            return Twofold(np.minimum(np.ldexp(np.abs(x), -power), _FAR)) / fraction

    def _logpdf(self, x: Array) -> Array:
        far = np.isinf(x)
        log_density = self._log_density(self._in_units(np.where(far, 0.0, x))).value() - math.log(self._unit)
        return np.where(far, -np.inf, log_density)

    def _logsf(self, x: Array) -> Array:
        far = np.isinf(x)
        y = self._in_units(np.where(far, 0.0, x))
        return np.where(far, -np.inf, self._log_density(y).value() + np.log(self._mills(y.value())))

    def _central(self, z: Array) -> Array:
        """P(0 < Y < z), accurate for small z."""
        fall = self._log_density(Twofold(z)) - self._log_density(Twofold(0.0))
        return -0.5 * fall.expm1() + self._log_density(Twofold(z)).exp() * self._drop(np.zeros_like(z), z)

    def _isf(self, v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64)
        # log P(Y > z) is concave, so from the right of the root Newton's steps come down to it and never cross; doubling finds the right
        furthest = -np.log(2.0 * v) * float(self._mills(np.zeros(())))
        z = np.minimum(furthest, float(self._mills(np.zeros(()))))
        for _ in range(40):
            short = (self._log_density(Twofold(z)).value() + np.log(self._mills(z)) > np.log(v)) & (z < furthest)
            if not short.any():
                break
            z = np.where(short, np.minimum(2.0 * z, furthest), z)
        for _ in range(200):
            excess = self._log_density(Twofold(z)).value() + np.log(self._mills(z)) - np.log(v)
            step = np.minimum(excess, 0.0) * self._mills(z)
            z = np.maximum(z + step, 0.0)
            if (np.abs(step) <= 4e-16 * z).all():
                break
        return self._polish_centre(z, v) * self._unit

    def _polish_centre(self, z: Array, v: Array) -> Array:
        """Near the centre log v carries no digits of 1/2 - v: finish on P(0 < Y < z) = 1/2 - v instead."""
        centre = v > 0.25
        if not centre.any():
            return z
        z = np.where(centre, np.where(v == 0.5, 0.0, z), z)
        for _ in range(4):
            inner = np.where(centre, z, 0.0)
            density = self._log_density(Twofold(inner)).exp()
            z = np.where(centre, np.maximum(inner - (self._central(inner) - (0.5 - v)) / density, 0.0), z)
        return z

    def atoms(self, shift: float) -> tuple[float, ...]:
        """The loss at the centre, log f(0)/f(shift), if it hardly grows from there: an atom of the Laplace law, nearly one of its kin."""
        if 0.0 not in self.kinks:
            return ()
        d, out = self._in_units(np.asarray(shift)), Twofold(self._mills(np.zeros(())))
        centre = float((self._log_density(Twofold(0.0)) - self._log_density(d)).value())
        further = float((self._log_density(out) - self._log_density(out + d)).value())
        return (centre,) if further < 1.2 * centre else ()

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "the curve covers negative epsilon by symmetry")
        shift = positive("shift", shift)
        crossing = self._crossing(epsilon, self._in_units(np.asarray(shift)))
        with np.errstate(over="ignore"):
            upper = (-crossing.value() * self._unit)[..., None]
        return Region(np.full_like(upper, -np.inf), upper, crossing=crossing)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """The module's formula for the half line that `exceeds` found."""
        d = self._in_units(np.asarray(shift))
        y = region.crossing if region.crossing is not None else self._crossing(np.asarray(epsilon, dtype=np.float64), d)
        return self._surplus_at(y, d)

    def _drop_from(self, y: Twofold, d: Twofold) -> Array:
        """The drop from a twofold point, for a family whose Mills ratio needs its digits."""
        return self._drop(y.hi, d.hi)

    def _surplus_at(self, y: Twofold, d: Twofold) -> Array:
        """delta from the crossing y and the shift d, both in units and twofold; elementwise."""
        reached = y.hi < _FAR  # beyond, the density has long been 0
        outer = reached & (y.hi >= 0.0)
        inner = reached & (y.hi < 0.0)
        spread = Twofold(np.broadcast_to(d.hi, y.hi.shape), np.broadcast_to(d.lo, y.hi.shape))
        result = np.zeros(y.hi.shape)
        with np.errstate(under="ignore"):
            if outer.any():
                far = y[outer]
                result[outer] = self._log_density(far).exp() * self._drop_from(far, spread[outer])
            if inner.any():
                z = -y[inner]
                density = self._log_density(z)
                fall = density - self._log_density(Twofold(0.0))
                zero = np.zeros_like(z.hi)
                drops = self._drop(zero, z.hi) + self._drop(zero, np.maximum((spread[inner] - z).value(), 0.0))
                result[inner] = -fall.expm1() + density.exp() * drops
        return result
