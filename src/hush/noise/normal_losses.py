"""The privacy losses of Gaussian noise: the probabilities of cells of losses, to full relative precision.

With m the shift in units of sigma, the loss of the moved law against the other at z is m z - m^2/2, where z is normal
with mean 0 without the move and mean m with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special

__all__ = ["NormalLosses"]

Array = NDArray[np.float64]

_NARROW = 0.5  # width times distance from the centre, up to which the quadrature is exact to rounding
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)
_PEAK = 1.0 / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class NormalLosses:
    """The losses of Gaussian noise that moves by `shift` standard deviations."""

    shift: float

    @property
    def log_mean_ratio(self) -> float:
        """log E e^loss under the moved law: the square of the shift."""
        return self.shift * self.shift

    def beyond(self, probability: float) -> float:
        """A loss that is exceeded with about this probability by the moved law."""
        return self.shift * (0.5 * self.shift - float(special.ndtri(probability)))

    def cells(self, ends: Array) -> tuple[Array, Array]:
        """The probability of every cell of losses, with the move and without. The cells end at the given increasing
        losses (which may be minus infinity), and the last one contains all larger losses.

        Guarantees: within `LOSS_CELLS` of the truth, for cells whose ends are within a few roundings of those given.
        A narrow cell is integrated on the same points for both laws, so its two errors have the same sign and size.
        """
        z = ends / self.shift + 0.5 * self.shift
        low, high = np.append(-np.inf, z), np.append(z, np.inf)
        size = np.maximum(np.abs(low), np.abs(high)) + self.shift
        with np.errstate(invalid="ignore"):
            width = np.where(low == high, 0.0, high - low)
            narrow = width * np.maximum(size, 1.0) <= _NARROW
        person, other = _between(low - self.shift, high - self.shift), _between(low, high)
        if narrow.any():
            half = 0.5 * width[narrow]
            points = (low[narrow] + half)[:, None] + half[:, None] * _NODES
            with np.errstate(under="ignore", over="ignore"):
                density = half[:, None] * _WEIGHTS * (_PEAK * np.exp(-0.5 * points * points))
                other[narrow] = density.sum(axis=1)
                person[narrow] = (density * np.exp(self.shift * (points - 0.5 * self.shift))).sum(axis=1)
        return person, other


def _between(low: Array, high: Array) -> Array:
    """The normal probability of intervals, from the tail that is nearer."""
    mirrored = low > 0.0
    near, far = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    return np.asarray(special.ndtr(far) - special.ndtr(near))
