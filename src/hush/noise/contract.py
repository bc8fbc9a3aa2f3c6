"""What every noise answers: `Noise` is added to a vector of numbers, `Law` is the noise of one number.

A noise is a frozen dataclass of plain parameters. A `Law` is symmetric about zero; added to a vector it means
independent copies, one for each number. A joint noise is a `Noise` of a fixed `dimension` whose numbers depend on
each other. A law supplies the hooks below; everything else derives from them here, so that all laws behave alike:

    hook               meaning
    log_density(x)     log density (log probability of the lattice point for a discrete law)
    log_tail(x)        log P(X > x) for x >= 0
    inverse_tail(v)    the x >= 0 with P(X > x) = v, for 0 < v <= 1/2
    exceeds(e, s)      the Region where f(x) > e^e f(x - s), for e >= 0
    surplus(R, e, s)   the sum over R's intervals I of P(I) - e^e P(I - s), each term free of cancellation
    worst_shifts(s)    the shifts in (0, s] of which one has the largest divergence: (s,) for every unimodal law

`surplus` on the region `exceeds` is the hockey-stick divergence, from which every privacy number follows.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive, probabilities, reals
from hush.noise.region import LossTerms, Region
from hush.numerics.bracket import unwrap
from hush.numerics.quadrature import panels

__all__ = ["Law", "Noise"]

Array = NDArray[np.float64]


class Noise:
    """What is added to d numbers: independent copies of a `Law` (dimension None: as many as there are numbers), or a
    joint noise.

    A joint noise of `dimension` numbers supplies `marginal`, `covariance`, `scaled`, `pair` and `lattice_draws`; a
    `Law` has them.
    """

    #: how many numbers the noise is made for; None where it is drawn independently for each number, however many
    #: there are
    dimension: int | None = None
    #: the noise sits on a lattice of its own `step`
    discrete: ClassVar[bool] = False
    step: float

    @property
    def marginal(self) -> Law:
        """The law of the noise of one number."""
        raise Unsupported(f"{type(self).__name__} has no marginal law here.")

    @property
    def variance(self) -> Any:
        """E X^2 of one number; an array where numbers differ."""
        return self.marginal.variance

    @property
    def covariance(self) -> Array:
        """E X X^T, a matrix of dimension times dimension."""
        raise Unsupported(f"{type(self).__name__} has no covariance here.")

    def scaled(self, k: float) -> Self:
        """The noise of k X, k > 0."""
        raise Unsupported(f"{type(self).__name__} cannot be scaled.")

    def widened(self, k: float) -> Self:
        """A noise k times as wide that can replace this one: on the same lattice, where the noise has one."""
        return self.scaled(k)

    def plain(self) -> Noise:
        """The simplest family's member with exactly this law: a Gaussian or Laplace noise under another name, or
        itself.
        """
        return self

    def pair(self, sensitivity: Any) -> Any:
        """The privacy curve under a sensitivity, proved by the noise's own theorem; None where it has none for this
        sensitivity.
        """
        return None

    def lattice_draws(self, bits: Any, count: int, step: float) -> NDArray[np.int64]:
        """`count` exact draws of a joint noise, in whole steps: an array of shape (count, dimension), a function of
        the bits alone.
        """
        raise Unsupported(f"{type(self).__name__} has no exact draw here.")


class Law(Noise):
    """The symmetric noise of one number; see the module's table for the hooks that a law supplies."""

    #: log f is concave: the privacy loss is monotone and the exceeding region a half line.
    log_concave: ClassVar[bool] = False
    #: independent copies have a density that depends on the length of the vector only, so that the l2 norm of a move
    #: says it all
    isotropic: ClassVar[bool] = False
    #: relative error that `surplus` keeps, ten times what the dense check against 40-digit arithmetic shows.
    relative_error: ClassVar[float] = 1e-12

    # -- hooks -----------------------------------------------------------------------------------------------

    def log_density(self, x: Array) -> Array:
        raise Unsupported(f"{type(self).__name__} has no density here.")

    def log_tail(self, x: Array) -> Array:
        raise Unsupported(f"{type(self).__name__} has no distribution function here.")

    def inverse_tail(self, v: Array) -> Array:
        raise Unsupported(f"{type(self).__name__} has no quantile here.")

    def worst_shifts(self, shift: float) -> tuple[float, ...]:
        """The shifts in (0, shift] of which one has the largest divergence at every epsilon: the full shift for a
        unimodal law.
        """
        return (shift,)

    @property
    def marginal(self) -> Law:
        """The law itself."""
        return self

    @property
    def variance(self) -> float:
        """E X^2."""
        raise Unsupported(f"{type(self).__name__} has no variance here.")

    @property
    def mean_abs(self) -> float:
        """E |X|."""
        raise Unsupported(f"{type(self).__name__} has no mean absolute value here.")

    @property
    def fisher_information(self) -> float:
        """Fisher information of location: E (f'/f)^2; infinite where the density jumps."""
        raise Unsupported(f"{type(self).__name__} has no Fisher information here.")

    @property
    def subgaussian_proxy(self) -> float:
        """The v of E e^(tX) <= e^(v t^2/2) for all t; infinite where there is none."""
        return math.inf

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points x >= 0 where the density or one of its first derivatives jumps."""
        return ()

    @property
    def support(self) -> float:
        """The largest |x| with a density, often infinite."""
        return math.inf

    @property
    def slow_tail(self) -> bool:
        """Does the tail take milliseconds in ball arithmetic, not microseconds? Then fewer points of it are checked."""
        return False

    def breaks(self, reach: float, most: int) -> Array | None:
        """Every x in (0, reach) where the density is not analytic; None if there are more than about `most`."""
        known = np.array([*self.kinks, self.support], dtype=np.float64)
        return known[np.isfinite(known) & (known > 0.0)]

    def plain(self) -> Law:
        """The simplest family's member with exactly this law: a Gaussian or Laplace law under another name, or
        itself.
        """
        return self

    @property
    def continuous(self) -> Law:
        """The continuous law that a lattice version was made from; every other law is its own."""
        return self

    @property
    def stability(self) -> tuple[float, float] | None:
        """(alpha, scale) of a law whose characteristic function is exp(-|scale t|^alpha); None for every other law."""
        return None

    @property
    def memoryless(self) -> float | None:
        """The b of a law whose density is proportional to e^(-|x|/b) everywhere; None for every other law."""
        return None

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Law:
        """The law whose characteristic function is this one's to the power `ratio`, rounded to more noise (up) or to
        less.
        """
        raise Unsupported(
            f"{type(self).__name__} noise is not known to be a sum of smaller independent noises; "
            "share Stable, Gaussian, Laplace, Discrete(Laplace(...)) or Skellam noise."
        )

    def power_on_lattice(self, ratio: Fraction, step: float, *, upwards: bool = True) -> Law | None:
        """`power` of the law that has this density, renormalised, on the multiples of a step; None where it is not
        known.
        """
        return None

    def max_loss(self, shift: float) -> float:
        """sup over x of log f(x)/f(x - shift): the pure epsilon, infinite where there is none."""
        return math.inf

    def exact_max_loss(self, shift: float) -> Fraction | None:
        """`max_loss` as an exact number, where the parameters give one; None where it is known in floats only."""
        return None

    def loss_terms(self, shift: float, reach: float) -> LossTerms | None:
        """All losses as a list, `reach` times as far as the law's own table goes; None where they form a continuum,
        or cannot be listed.
        """
        return None

    def atoms(self, shift: float) -> tuple[float, ...]:
        """Positive values that the privacy loss takes with a probability of their own, the weightiest first."""
        return ()

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        """The region where f(x) > e^epsilon f(x - shift), for epsilon >= 0 and shift > 0."""
        raise Unsupported(f"{type(self).__name__} has no exceeding region here.")

    def error_at(self, epsilon: Array, shift: float) -> Array | float:
        """The relative error that `surplus` keeps here (1 means: an upper bound only)."""
        return self.relative_error

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Sum over the intervals I of `region` of P(I) - e^epsilon P(I - shift).

        On the exceeding region the integrand f(x) - e^epsilon f(x - shift) is positive, so it is integrated as it
        stands: nothing cancels. Intervals are cut at the kinks of both densities; bounded intervals only.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)[..., None]
        total = np.zeros(np.broadcast_shapes(region.lower.shape, epsilon.shape))
        for index in np.ndindex(total.shape):
            low, high = float(region.lower[index]), float(region.upper[index])
            if low < high:
                total[index] = self._surplus_between(
                    low, high, float(np.broadcast_to(epsilon, total.shape)[index]), shift
                )
        return (total * region.weight).sum(axis=-1)

    def _surplus_between(self, low: float, high: float, epsilon: float, shift: float) -> float:
        points, weights = panels(low, high, self.cuts(shift))
        here, there = self.log_density(points), self.log_density(points - shift)
        with np.errstate(invalid="ignore", under="ignore"):
            share = -np.expm1(np.where(np.isneginf(there), -np.inf, epsilon + there - here))
        return float(np.sum(weights * np.exp(here) * np.maximum(share, 0.0)))

    def cuts(self, shift: float) -> Array:
        kinks = np.array(self.kinks, dtype=np.float64)
        mirrored = np.concatenate([-kinks, kinks])
        return np.unique(np.concatenate([mirrored, mirrored + shift]))

    # -- what derives ----------------------------------------------------------------------------------------

    @property
    def normalised_fisher_information(self) -> float:
        """Fisher information times variance: 1 for a Gaussian and never less (Cramer-Rao); FH paper, eq. (12)."""
        return self.fisher_information * self.variance

    def logpdf(self, x: Any) -> Any:
        """log of the density."""
        return unwrap(self.log_density(reals("x", x)))

    def pdf(self, x: Any) -> Any:
        """The density (for a discrete family the probability of the point)."""
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
        """The x with P(X > x) = u, accurate for u as small as floats go."""
        u = probabilities("u", u)
        tail = np.minimum(u, 1.0 - u)  # 1 - u is exact for u >= 1/2
        inside = tail > 0.0
        x = np.where(inside, self.inverse_tail(np.where(inside, tail, 0.5)), self.support)
        return unwrap(np.where(u <= 0.5, x, -x))

    def ppf(self, u: Any) -> Any:
        """The quantile: P(X <= ppf(u)) = u."""
        return unwrap(-np.asarray(self.isf(u)))

    def scaled_by(self, k: float, *names: str) -> Self:
        """The law with these parameters multiplied by k: what `scaled` returns where they are lengths."""
        k = positive("k", k)
        changes = {name: getattr(self, name) * k for name in names}
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]
