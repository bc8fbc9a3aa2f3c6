"""Lifted noise: a law of its own for the number of people, and Gaussian noise for the other columns of a group.

One person moves the number of people by exactly 1 and a one-sided column by 0 to 1. So the column less half the number
of people moves by at most 1/2: with the noise t of the number of people, the column has the noise y + t/2, where y is
Gaussian and hides a move of 1/2 only. A two-sided column moves by at most 1 and has the noise y alone.

The exact numbers are multiples of the step, which divides 1/2. So y is rounded to the lattice (the rounding of
a number on the lattice plus y is post-processing of Gaussian noise), and t is a whole number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, positive
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.noise.gaussian import Gaussian
from hush.noise.lattice import Lattice
from hush.noise.made_of import MadeOf
from hush.numerics import special
from hush.numerics.ball import Ball, Tail, flint_module

__all__ = ["FAMILY", "Lifted", "LiftedMarginal"]

Array = NDArray[np.float64]
_FAR = 38.0  # deviations: a normal tail underflows beyond
_HINT = "write Lifted(Bump(8.0, 100.0), (20.0,), (0.5,), step=0.5)"


@dataclass(frozen=True)
class Lifted(MadeOf):
    """Noise for a vector whose number at `place` is the number of people, with the noise t of the law `noise`.

    The other numbers have the noise y_j + shares_j t, y_j Gaussian of deviation sigmas_j, rounded to multiples of
    `step`. A share is 1/2 for a number that moves in the direction of the number of people, and 0 for any other.

    Guarantees: the curve of the composition of `noise` (a move of 1) and Gaussian noise (moves of 1/2, or 1). New here.

    >>> from hush import Bump
    >>> Lifted(Bump(8.0, 100.0), (20.0,), (0.5,), step=0.5).variance.round(1)
    array([448.5, 512.1])
    """

    discrete: ClassVar[bool] = True
    noise: Law
    sigmas: tuple[float, ...] = field()
    shares: tuple[float, ...] = field()
    place: int = 0
    step: float = 0.5
    dimension: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Lattice):
            raise InvalidParameter(f"the noise of the number of people must be on a lattice; {_HINT}.")
        object.__setattr__(self, "sigmas", tuple(positive("sigmas", sigma, _HINT) for sigma in self.sigmas))
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
        object.__setattr__(self, "step", positive("step", self.step, _HINT))
        object.__setattr__(self, "dimension", len(self.sigmas) + 1)
        if len(self.shares) != len(self.sigmas) or not set(self.shares) <= {0.0, 0.5}:
            raise InvalidParameter(f"shares must have 0.5 or 0 for each of sigmas; {_HINT}.")
        if not 0 <= self.place <= len(self.sigmas) or not (0.5 * self.noise.step / self.step).is_integer():
            raise InvalidParameter(
                f"place must be that of a number, and step must divide half a step of the noise of people; {_HINT}."
            )

    # -- one number, and all of them -------------------------------------------------------------------------

    def parts_of(self, column: int) -> tuple[float, float]:
        """(sigma, share) of the number at a place; (0, 1) for the number of people."""
        if column == self.place:
            return 0.0, 1.0
        other = column - (column > self.place)
        return self.sigmas[other], self.shares[other]

    @property
    def marginal(self) -> LiftedMarginal:
        """The law of the number with the most noise."""
        return self.marginal_of(int(np.argmax(self.variance)))

    def marginal_of(self, column: int) -> LiftedMarginal:
        sigma, share = self.parts_of(column)
        return LiftedMarginal(self.noise, sigma, share, self.step)

    @property
    def _loadings(self) -> tuple[Array, Array]:
        parts = np.array([self.parts_of(column) for column in range(self.dimension)])
        rounding = np.where(parts[:, 0] > 0.0, self.step**2 / 12.0, 0.0)
        return parts[:, 0] ** 2 + rounding, parts[:, 1]

    @property
    def variance(self) -> Array:
        own, share = self._loadings
        return own + share**2 * self.noise.variance

    @property
    def covariance(self) -> Array:
        own, share = self._loadings
        return np.outer(share, share) * self.noise.variance + np.diag(own)

    def terms_of(self, weights: Array) -> list[tuple[Law, float, float]]:
        """Independent noises that add up to a weighted sum of the numbers: (law, step, factor) each."""
        weights = np.asarray(weights, dtype=np.float64)
        parts = [self.parts_of(column) for column in range(self.dimension)]
        common = math.fsum(w * share for w, (_, share) in zip(weights.tolist(), parts, strict=True))
        own = [
            (Gaussian(sigma), self.step, abs(w)) for w, (sigma, _) in zip(weights.tolist(), parts, strict=True) if sigma
        ]
        return [(self.noise, self.noise.step, abs(common)), *own]

    @property
    def sources(self) -> tuple[tuple[Law, float], ...]:
        """The law of the number of people, then the Gaussian laws of the others."""
        return ((self.noise, self.noise.step), *((Gaussian(sigma), self.step) for sigma in self.sigmas))

    def joined(self, parts: Any) -> NDArray[np.int64]:
        people, *others = parts
        drawn = np.empty((people.size, self.dimension), dtype=np.int64)
        for column in range(self.dimension):  # exact: the step divides half a step of the number of people
            drawn[:, column] = people * round(self.parts_of(column)[1] * self.noise.step / self.step)
        for other, own in enumerate(others):
            drawn[:, other + (other >= self.place)] += own
        return drawn

    def scaled(self, k: float) -> Lifted:
        sigmas = tuple(sigma * k for sigma in self.sigmas)
        return Lifted(self.noise.scaled(k), sigmas, self.shares, self.place, self.step * k)

    def widened(self, k: float) -> Lifted:
        sigmas = tuple(sigma * k for sigma in self.sigmas)
        return Lifted(self.noise.widened(k), sigmas, self.shares, self.place, self.step)

    def log_density_of(self, vectors: Any) -> Array:
        """The log probability of each row, without the rounding of the Gaussian parts."""
        rows = np.asarray(vectors, dtype=np.float64)
        t = rows[..., self.place]
        total = np.asarray(self.noise.log_density(t))
        for column in range(self.dimension):
            sigma, share = self.parts_of(column)
            if sigma:
                total = total + Gaussian(sigma).log_density(rows[..., column] - share * t) + math.log(self.step)
        return total


@dataclass(frozen=True)
class LiftedMarginal(Lattice):
    """The law of y + share t, y Gaussian of deviation sigma rounded to multiples of `step` (no y if sigma is 0)."""

    noise: Law
    sigma: float
    share: float
    step: float = 0.5

    @property
    def support(self) -> float:
        return math.inf if self.sigma else self.share * self.noise.support

    @property
    def points(self) -> int:
        return int(_table(self)[0].size) - 1

    @property
    def masses(self) -> Array:
        sums = _table(self)[0]
        return np.maximum(sums[:-1] - sums[1:], 0.0)

    @property
    def upper_sums(self) -> Array:
        return _table(self)[0]

    def log_mass(self, k: Array) -> Array:
        inside = k < self.points
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(self.masses[np.where(inside, k, 0.0).astype(np.int64)]), -np.inf)

    def losses(self, n: int) -> tuple[Array, Array]:
        whole = round(self.noise.step / self.step)
        if not self.sigma and isinstance(self.noise, Lattice) and n % whole == 0:
            return self.noise.losses(n // whole)
        raise Unsupported("the curve of one number of lifted noise is not known; use that of the joint noise.")

    @property
    def variance(self) -> float:
        rounding = self.step**2 / 12.0 if self.sigma else 0.0
        return self.sigma**2 + rounding + self.share**2 * self.noise.variance

    def scaled(self, k: float) -> LiftedMarginal:
        return LiftedMarginal(self.noise.scaled(k), self.sigma * k, self.share, self.step * k)

    def ball_beyond(self, k: int) -> Ball:
        """P(X > k step) in balls, for k >= 0."""
        arb = flint_module().arb
        base = lifted_tail(self.noise)
        edge, total = (arb(2 * k + 1) * arb(self.step) / 2), arb(0)
        last = round(self.noise.support / self.noise.step)
        for t in range(-last, last + 1):
            beyond = base(abs(t) - 1) if t else arb(1)
            mass = (beyond - base(abs(t))) / 2 if t else 1 - base(0)
            total += (
                mass
                * ((edge - arb(self.share) * t * arb(self.noise.step)) / (arb(self.sigma) * arb(2).sqrt())).erfc()
                / 2
            )
        return total


def lifted_tail(noise: Law) -> Tail:
    """The tail of the law of t in balls."""
    from hush.noise.catalogue import family_of

    row = family_of(noise)
    if row is None or row.tail is None:
        raise Unsupported(f"{noise} has no tail in ball arithmetic.")
    return row.tail(noise)


@lru_cache(maxsize=64)
def _table(law: LiftedMarginal) -> tuple[Array]:
    """P(X >= k step) for k = 0, 1, 2, ...; the last entry is 0."""
    base = law.noise
    assert isinstance(base, Lattice)
    if not law.sigma:
        whole = round(base.step / law.step)
        k = np.arange((base.points - 1) * whole + 2, dtype=np.float64)
        sums = base.at_least(np.ceil(k / whole))
        return (np.append(sums, 0.0),)
    far = math.ceil((_FAR * law.sigma + law.share * base.support) / law.step) + 2
    edges = (np.arange(far, dtype=np.float64) - 0.5) * law.step
    t = np.arange(1.0 - base.points, base.points)
    mass = np.exp(base.log_mass(np.abs(t)))
    sums = special.ndtr(-(edges[:, None] - law.share * base.step * t) / law.sigma) @ mass
    return (np.append(sums, 0.0),)


def _tail(law: LiftedMarginal) -> Tail:
    """P(|X| > k step) in balls."""
    if not law.sigma:
        whole, base = round(law.noise.step / law.step), lifted_tail(law.noise)
        return lambda k: base(int(k) // whole)
    return lambda k: 2 * law.ball_beyond(int(k))


FAMILY = Family("lifted", Lifted, paper="this project", cites=("hush",), ranked=False, pure=False)
MARGINAL = Family(
    "lifted_marginal", LiftedMarginal, paper="this project", cites=("hush",), ranked=False, public=False, tail=_tail
)
