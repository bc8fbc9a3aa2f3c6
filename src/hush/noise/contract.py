"""The base classes of all noise: `Noise` is added to a vector of numbers, `Law` is the noise of one number.

A noise is a frozen dataclass whose fields are its parameters. A `Law` is symmetric about zero. Added to a vector, it
means independent copies, one for each number. A joint noise is a `Noise` of a fixed `dimension` whose numbers depend on
each other.

Start from the closest base class when you write a new law:

    LogConcave (log_concave.py)   densities f with log f concave: define the density and its Mills ratio
    Steps (steps.py)              piecewise-constant densities: define the list of pieces
    Lattice (lattice.py)          laws on the multiples of a step: define the table of probabilities
    Law (this file)               every other law: define the six methods below

    method             what it returns
    log_density(x)     log of the density; for a law on a lattice the log probability of the point x
    log_tail(x)        log P(X > x) for x >= 0
    inverse_tail(v)    the x >= 0 with P(X > x) = v, for 0 < v <= 1/2
    exceeds(e, s)      the `Region` where f(x) > e^e f(x - s), for e >= 0
    surplus(R, e, s)   the sum over the intervals I of R of P(I) - e^e P(I - s), computed without cancellation
    worst_shifts(s)    shifts in (0, s], one of which has the largest divergence; (s,) for every unimodal law

`surplus` on the region `exceeds` is the hockey-stick divergence delta(epsilon) of the law from its shifted copy; all
privacy numbers are computed from it. A law also defines its moments (`variance`, `mean_abs`, `fisher_information`),
`scaled`, and `max_loss` if it has a pure epsilon. pdf, cdf, ppf, ... follow (distribution.py).
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive
from hush.noise.distribution import Distribution
from hush.noise.region import LossTerms, Region
from hush.numerics.quadrature import panels

__all__ = ["Law", "Noise"]

Array = NDArray[np.float64]


class Noise:
    """The noise that is added to a vector: independent copies of a `Law`, or a joint noise.

    A joint noise defines `dimension`, `marginal`, `covariance`, `scaled`, `pair` and `lattice_draws`. Every `Law` has
    them.
    """

    #: The length of the vector for a joint noise; None for a law, which is drawn independently for each number.
    dimension: int | None = None
    #: True for a noise whose values are multiples of `step`.
    discrete: ClassVar[bool] = False
    #: The most numbers that may move for `largest_loss` to hold; None if all of them may.
    most_moving: int | None = None
    #: The step of the lattice, for a discrete noise only.
    step: float
    #: The factor of each number, for a noise that multiplies the numbers of another one, `base`; else None.
    factors: tuple[float, ...] | None = None

    @property
    def marginal(self) -> Law:
        """The law of the noise of one number."""
        raise Unsupported(f"{type(self).__name__} has no marginal law here.")

    def marginal_of(self, column: int) -> Law:
        """The law of the number at a place; the same for all places unless a joint noise states more."""
        return self.marginal

    @property
    def variance(self) -> Any:
        """E X^2 of one number; an array where the numbers of a joint noise differ."""
        return self.marginal.variance

    @property
    def covariance(self) -> Array:
        """E X X^T, a matrix of shape (dimension, dimension)."""
        raise Unsupported(f"{type(self).__name__} has no covariance here.")

    def scaled(self, k: float) -> Self:
        """Return the noise of k X, k > 0."""
        raise Unsupported(f"{type(self).__name__} cannot be scaled.")

    def widened(self, k: float) -> Self:
        """Return a noise k times as wide that can replace this one. A lattice noise keeps its step."""
        return self.scaled(k)

    def plain(self) -> Noise:
        """Return the same distribution as a member of the simplest family, such as Gaussian or Laplace."""
        return self

    @property
    def base(self) -> Noise:
        """The noise before its numbers are multiplied by `factors`."""
        return self

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Any:
        """Return the noise whose characteristic function is that of this noise to the power `ratio`.

        n independent copies of the noise for ratio = 1/n add up to this noise. Parameters are rounded so that the noise
        becomes larger if `upwards`, and smaller otherwise.
        """
        raise Unsupported(
            f"{type(self).__name__} noise is not known to be a sum of smaller independent noises; share Stable, "
            "Gaussian, Laplace, Discrete(Laplace(...)), Skellam or Correlated(Gaussian(...), ...) noise."
        )

    def largest_loss(self, move: float, *, one_sided: bool) -> Fraction | None:
        """Return the largest change of the log density (a pure epsilon) when at most `most_moving` numbers move by at
        most `move`, with `one_sided` all in the same direction; None if unknown.
        """
        return None

    def loss_under(self, sensitivity: Any) -> Fraction | None:
        """Return the largest change of the log density under the moves of a box of numbers; None if unknown."""
        losses = {self.largest_loss(move, one_sided=sensitivity.one_sided is True) for move in sensitivity.each_move}
        return None if None in losses else max((loss for loss in losses if loss is not None), default=None)

    def pair(self, sensitivity: Any) -> Any:
        """Return the privacy curve that a theorem of this noise proves for a sensitivity; None if there is none."""
        return None

    def log_density_of(self, vectors: Any) -> Array:
        """Return the log density of each row of `vectors`; of the point, for a noise on a lattice."""
        raise Unsupported(f"{type(self).__name__} has no joint density here.")

    def reach_of_all(self, probability: float) -> float | None:
        """Return a w with P(some |X_j| > w) <= probability for a joint noise; None where the family has none."""
        return None

    def reach_of_sum(self, weights: Any, probability: float) -> float | None:
        """Return a w with P(|weights . X| > w) <= probability for a joint noise; None where the family has none."""
        return None

    def lattice_draws(self, bits: Any, count: int, step: float) -> NDArray[np.int64]:
        """Return `count` exact draws of a joint noise in whole steps, of shape (count, dimension), by `bits` alone."""
        raise Unsupported(f"{type(self).__name__} has no exact draw here.")


class Law(Distribution, Noise):
    """The symmetric noise of one number; the module's docstring lists the methods that a law defines."""

    #: log f is concave. The privacy loss is then monotone, and the region `exceeds` is a half line.
    log_concave: ClassVar[bool] = False
    #: The joint density of independent copies depends on the length of the vector only (true for the Gaussian). The l2
    #: norm of a move then determines the divergence.
    isotropic: ClassVar[bool] = False
    #: Relative error of `surplus`: ten times the largest error found against 40-digit arithmetic.
    relative_error: ClassVar[float] = 1e-12

    @property
    def marginal(self) -> Law:
        """The law itself."""
        return self

    def log_density_of(self, vectors: Any) -> Array:
        """Return the log density of each row of `vectors`, for independent copies."""
        return np.asarray(self.log_density(np.asarray(vectors, dtype=np.float64)).sum(axis=-1))

    # -- moments ---------------------------------------------------------------------------------------------

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
        """Fisher information of location, E (f'/f)^2; infinite where the density jumps."""
        raise Unsupported(f"{type(self).__name__} has no Fisher information here.")

    @property
    def normalised_fisher_information(self) -> float:
        """Fisher information times variance: 1 for a Gaussian and never less (Cramer-Rao); FH paper, eq. (12)."""
        return self.fisher_information * self.variance

    @property
    def subgaussian_proxy(self) -> float:
        """The least known v with E e^(tX) <= e^(v t^2/2) for all t; infinite where there is none."""
        return math.inf

    # -- shape of the density --------------------------------------------------------------------------------

    @property
    def kinks(self) -> tuple[float, ...]:
        """Points x >= 0 where the density or one of its first derivatives jumps."""
        return ()

    def breaks(self, reach: float, most: int) -> Array | None:
        """Return every x in (0, reach) where the density is not analytic; None if there are more than about `most`."""
        known = np.array([*self.kinks, self.support])
        return known[np.isfinite(known) & (known > 0.0)]

    def cuts(self, shift: float) -> Array:
        """Return the kinks of the density and of its shifted copy, sorted: the places to cut an integral at."""
        kinks = np.array(self.kinks, dtype=np.float64)
        mirrored = np.concatenate([-kinks, kinks])
        return np.unique(np.concatenate([mirrored, mirrored + shift]))

    @property
    def slow_tail(self) -> bool:
        """True if the tail takes milliseconds in ball arithmetic. Fewer of its points are then checked."""
        return False

    # -- relations to other laws -----------------------------------------------------------------------------

    def plain(self) -> Law:
        """Return the same distribution as a member of the simplest family, such as Gaussian or Laplace."""
        return self

    @property
    def continuous(self) -> Law:
        """The continuous law that a lattice version was made from; the law itself for all others."""
        return self

    def scaled_by(self, k: float, *names: str) -> Self:
        """Return the law with the named parameters multiplied by k: `scaled` for parameters that are lengths."""
        k = positive("k", k)
        changes = {name: getattr(self, name) * k for name in names}
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    @property
    def stability(self) -> tuple[float, float] | None:
        """(alpha, scale) if the characteristic function is exp(-|scale t|^alpha); None for every other law."""
        return None

    @property
    def memoryless(self) -> float | None:
        """The b of a law whose density is proportional to e^(-|x|/b) everywhere; None for every other law."""
        return None

    def power_on_lattice(self, ratio: Fraction, step: float, *, upwards: bool = True) -> Law | None:
        """Return `power` for the lattice version of this law, `Discrete(law, step)`; None where it is not known."""
        return None

    # -- privacy ---------------------------------------------------------------------------------------------

    def worst_shifts(self, shift: float) -> tuple[float, ...]:
        """Return shifts in (0, shift], one of which is the worst at every epsilon; (shift,) for unimodal laws."""
        return (shift,)

    def max_loss(self, shift: float) -> float:
        """Return the pure epsilon, sup over x of log f(x)/f(x - shift); infinite where there is none."""
        return math.inf

    def exact_max_loss(self, shift: float) -> Fraction | None:
        """Return `max_loss` as an exact fraction; None where it is known in floats only."""
        return None

    def loss_terms(self, shift: float, reach: float) -> LossTerms | None:
        """Return all privacy losses; None where they are too many. A table is listed to `reach` times its length."""
        return None

    def atoms(self, shift: float) -> tuple[float, ...]:
        """Return the positive values that the privacy loss takes with positive probability, the most probable first."""
        return ()

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        """Return the region where f(x) > e^epsilon f(x - shift), for epsilon >= 0 and shift > 0."""
        raise Unsupported(f"{type(self).__name__} has no exceeding region here.")

    def hockey_stick(self, epsilon: Array, shift: float) -> Array:
        """Return delta at epsilon >= 0, the surplus on the region `exceeds`; a law with a closed form overrides it."""
        return self.surplus(self.exceeds(epsilon, shift), epsilon, shift)

    def error_at(self, epsilon: Array, shift: float) -> Array | float:
        """Return the relative error of delta at this epsilon and shift; 1 means that it is an upper bound only."""
        return self.relative_error

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return the sum over the intervals I of `region` of P(I) - e^epsilon P(I - shift).

        On the region `exceeds`, the integrand f(x) - e^epsilon f(x - shift) is positive, so its integral has no
        cancellation. Intervals are cut at the kinks of both densities. This default is for bounded intervals only.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)[..., None]
        total = np.zeros(np.broadcast_shapes(region.lower.shape, epsilon.shape))
        each = np.broadcast_to(epsilon, total.shape)
        for index in np.ndindex(total.shape):
            low, high = float(region.lower[index]), float(region.upper[index])
            if low < high:
                total[index] = self._surplus_between(low, high, float(each[index]), shift)
        return (total * region.weight).sum(axis=-1)

    def _surplus_between(self, low: float, high: float, epsilon: float, shift: float) -> float:
        points, weights = panels(low, high, self.cuts(shift))
        here, there = self.log_density(points), self.log_density(points - shift)
        with np.errstate(invalid="ignore", under="ignore"):
            share = -np.expm1(np.where(np.isneginf(there), -np.inf, epsilon + there - here))
        return float(np.sum(weights * np.exp(here) * np.maximum(share, 0.0)))
