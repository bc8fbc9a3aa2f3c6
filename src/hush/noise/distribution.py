"""The distribution functions of a symmetric law: pdf, cdf, sf, ppf, isf and their logarithms.

All of them follow from three functions that a law defines, `log_density`, `log_tail` and `inverse_tail`. The names
follow scipy.stats: `sf` is P(X > x), `isf` its inverse, `ppf` the quantile.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, probabilities, reals
from hush.numerics.bracket import unwrap

__all__ = ["Distribution"]

Array = NDArray[np.float64]


class Distribution:
    """A law that is symmetric about zero, with distribution functions for numbers and arrays."""

    # -- a law defines these ---------------------------------------------------------------------------------

    def log_density(self, x: Array) -> Array:
        """log f(x); for a law on a lattice the log probability of the point x."""
        raise Unsupported(f"{type(self).__name__} has no density here.")

    def log_tail(self, x: Array) -> Array:
        """log P(X > x) for x >= 0."""
        raise Unsupported(f"{type(self).__name__} has no distribution function here.")

    def inverse_tail(self, v: Array) -> Array:
        """The x >= 0 with P(X > x) = v, for 0 < v <= 1/2."""
        raise Unsupported(f"{type(self).__name__} has no quantile here.")

    @property
    def support(self) -> float:
        """The largest |x| with a positive density; often infinite."""
        return math.inf

    # -- these follow ----------------------------------------------------------------------------------------

    def logpdf(self, x: Any) -> Any:
        """log of the density."""
        return unwrap(self.log_density(reals("x", x)))

    def pdf(self, x: Any) -> Any:
        """The density; for a law on a lattice the probability of the point x."""
        with np.errstate(under="ignore"):
            return unwrap(np.exp(self.log_density(reals("x", x))))

    def logsf(self, x: Any) -> Any:
        """log P(X > x)."""
        x = reals("x", x)
        with np.errstate(under="ignore", divide="ignore"):
            beyond = self.log_tail(np.abs(x))
            return unwrap(np.where(x >= 0.0, beyond, np.log1p(-np.exp(np.minimum(beyond, 0.0)))))

    def sf(self, x: Any) -> Any:
        """P(X > x)."""
        x = reals("x", x)
        with np.errstate(under="ignore"):
            beyond = np.exp(self.log_tail(np.abs(x)))
        return unwrap(np.where(x >= 0.0, beyond, 1.0 - beyond))

    def logcdf(self, x: Any) -> Any:
        """log P(X <= x)."""
        return self.logsf(-reals("x", x))

    def cdf(self, x: Any) -> Any:
        """P(X <= x)."""
        return self.sf(-reals("x", x))

    def isf(self, u: Any) -> Any:
        """The x with P(X > x) = u, accurate for every u that is a float."""
        u = probabilities("u", u)
        tail = np.minimum(u, 1.0 - u)  # 1 - u is exact for u >= 1/2
        inside = tail > 0.0
        x = np.where(inside, self.inverse_tail(np.where(inside, tail, 0.5)), self.support)
        return unwrap(np.where(u <= 0.5, x, -x))

    def ppf(self, u: Any) -> Any:
        """The quantile: the x with P(X <= x) = u."""
        return unwrap(-np.asarray(self.isf(u)))
