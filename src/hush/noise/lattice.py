"""The base class of laws on a lattice. All numbers are sums over a table of points, never continuous formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, Unsupported, epsilons, positive, probabilities, reals, reject, shown
from hush.noise.contract import Law
from hush.noise.region import LossTerms, Region
from hush.numerics.bracket import unwrap

__all__ = ["MOST_POINTS", "Lattice", "steps_in"]

Array = NDArray[np.float64]

#: The largest table. The table holds every point whose probability does not underflow; finer lattices raise an error.
MOST_POINTS = 4_000_000
#: The terms of `surplus` that are computed at a time: as many as fit in a cache of the processor.
_TERMS = 100_000


def steps_in(shift: float, step: float) -> int:
    """Return the shift as a whole number of steps; raise if it is not one."""
    shift = positive("shift", shift)
    n = round(shift / step)
    if n < 1 or abs(shift - n * step) > 1e-12 * shift:
        # propose the next larger whole number: answers that are rounded to the lattice can move that far
        enough = math.ceil(Fraction(shift) / Fraction(step)) * step
        raise Unsupported(
            f"answers on a lattice of step {shown(step)} move by whole steps, not by {shown(shift)}; "
            f"write sensitivity={shown(enough)}."
        )
    return n


class Lattice(Law):
    """A symmetric unimodal law on the multiples of `step`. A subclass defines

    points       the number of points 0, 1, 2, ... in the table
    masses       their probabilities p(0), p(1), p(2), ...
    log_mass(k)  log p(k) for whole numbers k >= 0
    losses(n)    the losses log p(k)/p(k - n) for k from n/2 downwards, and the probabilities p(k); the losses must rise
                 to one peak and then fall
    """

    discrete: ClassVar[bool] = True
    relative_error: ClassVar[float] = 5e-13
    step: float

    @property
    def points(self) -> int:
        raise NotCertified(f"{type(self).__name__} must define `points`, the length of its table.")

    @property
    def masses(self) -> Array:
        raise NotCertified(f"{type(self).__name__} must define `masses`, its probabilities.")

    def log_mass(self, k: Array) -> Array:
        raise NotCertified(f"{type(self).__name__} must define `log_mass`, the logarithms of its probabilities.")

    def losses(self, n: int) -> tuple[Array, Array]:
        raise NotCertified(f"{type(self).__name__} must define `losses`.")

    @cached_property
    def upper_sums(self) -> Array:
        """P(X >= k step) for k = 0, 1, 2, ..., summed from the far end in extended precision; the last entry is 0."""
        sums = np.cumsum(self.masses[::-1].astype(np.longdouble))[::-1].astype(np.float64)
        return np.append(sums, 0.0)

    def at_least(self, k: Array) -> Array:
        """Return P(X >= k step) for whole numbers k of either sign."""
        near = np.clip(k, 0, self.points).astype(np.int64)
        mirrored = np.clip(1.0 - k, 0, self.points).astype(np.int64)
        return np.where(k > 0, self.upper_sums[near], 1.0 - self.upper_sums[mirrored])

    def _index(self, x: Array) -> Array:
        """Return x in steps; a quotient that is a whole number up to rounding becomes exactly that number."""
        k = np.clip(x / self.step, -1e15, 1e15)
        near = np.round(k)
        return np.where(np.abs(k - near) <= 1e-9 * np.maximum(np.abs(near), 1.0), near, k)

    # -- distribution ----------------------------------------------------------------------------------------

    def log_density(self, x: Array) -> Array:
        k = self._index(np.abs(x))
        on = (k == np.floor(k)) & np.isfinite(x)
        return np.where(on, self.log_mass(np.where(on, k, 0.0)), -np.inf)

    def sf(self, x: Any) -> Any:
        """P(X > x)."""
        return unwrap(self.at_least(np.floor(self._index(reals("x", x))) + 1.0))

    def cdf(self, x: Any) -> Any:
        """P(X <= x)."""
        return unwrap(self.at_least(-np.floor(self._index(reals("x", x)))))

    def logsf(self, x: Any) -> Any:
        """log P(X > x)."""
        with np.errstate(divide="ignore"):
            return unwrap(np.log(self.sf(x)))

    def logcdf(self, x: Any) -> Any:
        """log P(X <= x)."""
        with np.errstate(divide="ignore"):
            return unwrap(np.log(self.cdf(x)))

    def ppf(self, u: Any) -> Any:
        """The least lattice point x with P(X <= x) >= u."""
        u = probabilities("u", u)
        falling = -self.upper_sums
        low = np.searchsorted(falling, -u, side="right") - 1  # the largest k with P(X >= k) >= u, so x = -k
        high = np.searchsorted(falling[1:], -(1.0 - u), side="left")  # the least k with P(X >= k + 1) <= 1 - u
        k = np.where(u <= self.upper_sums[0], -low.astype(np.float64), high.astype(np.float64))
        end = self.support
        return unwrap(np.where(u <= 0.0, -end, np.where(u >= 1.0, end, k * self.step + 0.0)))

    def isf(self, u: Any) -> Any:
        """The least lattice point x with P(X > x) <= u."""
        u = probabilities("u", u)
        falling = -self.upper_sums
        high = np.searchsorted(falling[1:], -u, side="left")
        low = np.searchsorted(falling, -(1.0 - u), side="right") - 1
        k = np.where(u < 1.0 - self.upper_sums[0], high.astype(np.float64), -low.astype(np.float64))
        k = np.where((u >= 1.0 - self.upper_sums[0]) & (u <= self.upper_sums[1]), high.astype(np.float64), k)
        end = self.support
        return unwrap(np.where(u <= 0.0, end, np.where(u >= 1.0, -end, k * self.step + 0.0)))

    # -- moments ---------------------------------------------------------------------------------------------

    def _moment(self, power: int) -> float:
        k = np.arange(self.points, dtype=np.float64)
        return 2.0 * math.fsum(self.masses * k**power) * self.step**power

    @property
    def variance(self) -> float:
        return self._moment(2)

    @property
    def mean_abs(self) -> float:
        return self._moment(1)

    @property
    def fisher_information(self) -> float:
        """Infinite: a lattice law moved by less than a step has no point in common with itself."""
        return math.inf

    # -- privacy ---------------------------------------------------------------------------------------------

    def steps_in(self, shift: float) -> int:
        """See `steps_in`."""
        return steps_in(shift, self.step)

    def loss_terms(self, shift: float, reach: float) -> LossTerms | None:
        """Return every point of the table, and None for a larger `reach`."""
        if reach > 1.0:
            return None
        n = self.steps_in(shift)
        k = np.arange(1.0 - self.points, self.points + n)
        here, there = self.log_mass(np.abs(k)), self.log_mass(np.abs(k - n))
        known = here > -np.inf  # a point without mass has no loss
        here, there = here[known], there[known]
        return LossTerms(here, here - there, complete=False, relative_error=1e-11)

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "use hush.curve for a negative epsilon")
        n = self.steps_in(shift)
        loss, _ = self.losses(n)
        peak = int(np.argmax(loss))  # for a log-concave law the last point of the table
        rising, falling = loss[: peak + 1], loss[peak:]
        first = np.searchsorted(rising, epsilon, side="right")  # the points from n/2 downwards with loss <= epsilon
        last = peak + np.searchsorted(-falling, -epsilon, side="left") - 1
        top, bottom = (math.floor(n / 2) - index.astype(np.float64) for index in (first, last))
        # end halfway to the next point, so that the open interval contains exactly the points from `bottom` to `top`
        upper = np.where(first < rising.size, (top + 0.5) * self.step, -np.inf)[..., None]
        return Region(np.where(last < loss.size - 1, (bottom - 0.5) * self.step, -np.inf)[..., None], upper)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return the sum over the points of the region of p(k) (1 - e^(epsilon - loss)); every term is positive."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        loss, mass = self.losses(self.steps_in(shift))
        flat, total = epsilon.ravel(), np.zeros(epsilon.size)
        chunk = max(1, _TERMS // max(loss.size, 1))
        with np.errstate(under="ignore"):  # the sum of one epsilon must not depend on the others: no point is left out
            for start in range(0, flat.size, chunk):
                below = np.minimum(flat[start : start + chunk, None] - loss, 0.0)
                total[start : start + chunk] = np.sum(-np.expm1(below) * mass, axis=1)
        return total.reshape(epsilon.shape)
