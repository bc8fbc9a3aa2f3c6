"""The common base class of the Gaussian and OSGT laws: two Gaussian tails that meet at the centre."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush.noise.log_concave import LogConcave
from hush.numerics.mills import MILLS_AT_ZERO, drop, mills
from hush.numerics.twofold import Twofold

__all__ = ["GaussianTailed"]

Array = NDArray[np.float64]

_GAUSSIAN_PEAK = Twofold(-math.log(2.0 * MILLS_AT_ZERO))


class GaussianTailed(LogConcave):
    """A symmetric law with the density exp(-y^2/2 - r y)/(2 M(r)) for y >= 0, in units of sigma.

    M is the normal Mills ratio, and r = 0 is the Gaussian. The Mills ratio of this law at y is M(r + y), and its loss
    is linear on each side of the centre:

        y >= 0:   d (2y + 2r + d)/2 = eps      =>   y = eps/d - d/2 - r
        y <  0:   (d - 2z)(d + 2r)/2 = eps     =>   z = d/2 - eps/(d + 2r),  z = -y

    These are the two branches of Theorem 1 of the OSGT paper.
    """

    @property
    def _offset(self) -> Twofold:
        """r in twofold precision."""
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
