"""Joint noises that are normal vectors of random length: x = width root(C) n, with one random C for all numbers.

n is a normal vector whose numbers have variance 1 and a common correlation. C is an independent chi-squared variable,
or 1. Such a noise has convex level sets, and its numbers all have the same law. sampling/normal_draws.py draws it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Noise

__all__ = ["NormalMixture"]

Array = NDArray[np.float64]


class NormalMixture(Noise):
    """x_j = width root(C) (root(1 - correlation) Z_j + root(correlation) Z_0) for independent normal Z_0, ..., Z_d."""

    dimension: int
    #: The correlation of every two numbers, at least 0 and less than 1.
    correlation: float = 0.0

    @property
    def width(self) -> float:
        """The factor of all numbers."""
        raise Unsupported(f"{type(self).__name__} does not define its width.")

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the chi-squared variable C; 0 means that C is 1."""
        raise Unsupported(f"{type(self).__name__} does not define its degrees of freedom.")

    @property
    def variance(self) -> float:
        return max(self.freedom, 1) * (self.width * self.width)

    @property
    def covariance(self) -> Array:
        shared = self.correlation * self.variance
        return np.full((self.dimension, self.dimension), shared) + (self.variance - shared) * np.eye(self.dimension)
