"""Joint noises on a lattice that are uniform given a random level: the level is drawn first, then the numbers.

Norm-like densities are of this kind: q^f(x) = (1 - q) times the sum of q^r over the r >= f(x), so a density that
depends on the level set of x alone is drawn by drawing the level set. For most of these noises the numbers are
independent given the level, and each is uniform on the whole steps {-b, ..., a}; the level decides b and a.

A class supplies the law of its level and the law of one number, in floats (logarithms) and in ball arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, positive, reals, reject, shown, whole
from hush.noise.family import Family
from hush.noise.lattice import MOST_POINTS, Lattice, steps_in
from hush.noise.level_bands import LevelBands
from hush.noise.region import LossTerms
from hush.noise.uniform_numbers import UniformNumbers
from hush.numerics.ball import Ball, Tail
from hush.numerics.search import first_true_from

__all__ = ["FAMILY", "LevelMarginal", "LevelNoise"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_DEPTH = 1700.0  # logarithms of probabilities in tables go down to minus this
_FURTHEST = 2.0**28  # steps; beyond, levels would pass what exact draws allow
_SAME = 1e-12  # relative: two floats that represent the same decimal differ by far less
_CHUNK = 1 << 20  # numbers held at once when logarithms of many points are computed
_CELLS = 4096  # cells of the grid on which the likely levels are sought


class LevelNoise(LevelBands):
    """A joint noise of `dimension` numbers on the multiples of `step`, uniform on a set of points given its level."""

    discrete: ClassVar[bool] = True
    dimension: int
    scale: float
    step: float

    def check_sizes(self, example: str = "10, 1.0") -> None:
        """Check dimension, scale and step; classes call it from __post_init__. `example` shows parameters to write."""
        call = f"write {type(self).__name__}({example}"
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, 1, f"{call})"))
        object.__setattr__(self, "scale", positive("scale", self.scale, f"{call})"))
        object.__setattr__(self, "step", positive("step", self.step, f"{call}, step=1.0)"))
        if not 1e-6 < self.step / self.scale < 700.0 or (self.dimension + 800.0) * self.scale / self.step > _FURTHEST:
            raise Unsupported(
                f"a lattice of step {self.step:g} does not suit {self.dimension} numbers with noise of scale "
                f"{self.scale:g}; use a step between a millionth of the scale and 700 times the scale."
            )

    def steps_in(self, move: float) -> int:
        """Return a move in whole steps; raises if answers on the lattice of this noise cannot move by it."""
        return steps_in(move, self.step)

    def whole_offset(self, offset: Any) -> float:
        """Return an offset as whole steps times the step; raises if it is negative or between two lattice points.

        Decimals are read as decimals: 0.3 is three steps of 0.1, though the quotient of the floats is not 3.
        """
        given = float(reals("offset", offset))
        if not (given >= 0.0 and math.isfinite(given)):
            raise reject("offset", offset, "0 or greater", "write offset=3.0")
        steps = round(given / self.step)
        if abs(given - steps * self.step) > _SAME * given:
            raise InvalidParameter(
                f"offset must be a whole number of steps of {self.step:g}, got {shown(offset)}; "
                f"write offset={math.floor(given / self.step) * self.step:g}."
            )
        return steps * self.step

    @property
    def rate(self) -> Fraction:
        """How much the exponent of the density changes for one step: step/scale, exactly."""
        return Fraction(self.step) / Fraction(self.scale)

    def loss_of_one(self, steps: int) -> Fraction:
        """The largest change of the log density if one number moves by whole steps."""
        return steps * self.rate

    # -- hooks -----------------------------------------------------------------------------------------------

    def log_level_weights(self, level: Array) -> Array:
        """log of P(level = k), but for a constant, for whole numbers k >= 0."""
        raise Unsupported(f"{type(self).__name__} has no level law.")

    def log_level_tail(self, level: Array) -> Array:
        """log P(level > k) for whole numbers k >= 0."""
        raise Unsupported(f"{type(self).__name__} has no level law.")

    def level_tail_ball(self, level: int) -> Ball:
        """P(level > k) in ball arithmetic."""
        raise Unsupported(f"{type(self).__name__} has no level law.")

    def intervals(self, level: Whole, below: Any) -> tuple[Whole, Whole]:
        """The least point and the number of points of the interval of each number, given the level.

        Both have the shape (levels, dimension), or (levels, 1) if all numbers have the same interval. `below(n)` gives
        uniform whole numbers below n.
        """
        raise Unsupported(f"{type(self).__name__} has no intervals.")

    def points(self, level: Whole, numbers: UniformNumbers) -> Whole:
        """A uniform point of each level, an array of shape (levels, dimension). The default is a point of
        `intervals`.
        """
        least, count = self.intervals(level, lambda most: numbers.rows(most[:, None])[:, 0])
        return numbers.rows(np.broadcast_to(count, (level.size, self.dimension))) + least

    def spans(self, level: Array) -> tuple[Array, Array]:
        """(own, shared): given the level, X_j is s + u_j in steps, with independent s, u_1, ..., u_d. s is uniform on
        `shared` points around 0, u_j on `own` points. It is for noises whose numbers are all alike.
        """
        around, middle = self.half_widths_given(level)
        return 2.0 * around[:, 0], np.maximum(2.0 * middle, 1.0)

    def moments_given(self, level: Array) -> tuple[Array, Array]:
        """E X_1^2 and E X_1 X_2 given the level, in squared steps."""
        own, shared = self.spans(level)
        common = (shared**2 - 1.0) / 12.0
        return (own**2 - 1.0) / 12.0 + common, common

    def log_mass(self, k: Array) -> Array:
        """log P(X_1 = k) for whole numbers k >= 0."""
        raise Unsupported(f"{type(self).__name__} has no marginal law.")

    def at_least_ball(self, k: int) -> Ball:
        """P(X_1 >= k) for k >= 1, in ball arithmetic."""
        raise Unsupported(f"{type(self).__name__} has no marginal law.")

    def falls_away(self, column: int) -> bool:
        """Does the probability of a number never grow with its distance from 0? True if all intervals contain 0."""
        return True

    def log_mass_of(self, column: int, k: Array) -> Array:
        """The same for the number at a place; for noises whose numbers have different laws."""
        return self.log_mass(k)

    def at_least_ball_of(self, column: int, k: int) -> Ball:
        """P(X_j >= k) for the number at a place."""
        return self.at_least_ball(k)

    # -- what derives ----------------------------------------------------------------------------------------

    @property
    def marginal(self) -> LevelMarginal:
        return LevelMarginal(self)

    @cached_property
    def level_masses(self) -> tuple[Array, Array]:
        """Levels 0, 1, 2, ... and their probabilities.

        Beyond the table the weights fall by the factor e^(-rate/2) and more at every step, from e^-60 of the largest.
        """
        level = np.arange(self._likely_levels[1] + 1.0)
        weights = self.log_level_weights(level)
        mass = np.exp(weights - weights.max())
        return level, mass / mass.sum()

    @cached_property
    def _likely_levels(self) -> tuple[float, float]:
        """The first and the last level with more than e^-60 of the largest weight, or levels just beyond them.

        The weights grow to one largest and then fall. It is many cells of the grid wide, because its relative width is
        at least 1/sqrt(dimension).
        """
        last = 2.0 * (self.dimension + 2.0) / float(self.rate)
        while True:
            grid = np.ceil(np.linspace(0.0, last, _CELLS + 1))
            weights = self.log_level_weights(grid)
            if weights[-1] < weights.max() - 60.0:
                break
            last *= 1.5
        likely = np.flatnonzero(weights > weights.max() - 60.0)
        return float(grid[max(likely[0] - 1, 0)]), float(grid[likely[-1] + 1])

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Variance and covariance in squared steps."""
        first, last = self._likely_levels
        level = np.arange(first, last + 1.0)
        weights = self.log_level_weights(level)
        mass = np.exp(weights - weights.max())
        mass /= mass.sum()
        own, shared = self.moments_given(level)
        return float((mass * own).sum()), float((mass * shared).sum())

    @property
    def variance(self) -> float:
        return self._moments[0] * self.step**2

    @property
    def covariance(self) -> Array:
        own, shared = (moment * self.step**2 for moment in self._moments)
        return np.full((self.dimension, self.dimension), shared) + (own - shared) * np.eye(self.dimension)


@dataclass(frozen=True)
class LevelMarginal(Lattice):
    """The law of one number of a `LevelNoise`."""

    noise: LevelNoise
    column: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.noise, LevelNoise):
            raise InvalidParameter(f"noise must be a joint noise such as Cube(10, 1.0), got {shown(self.noise)}.")
        if self.points > MOST_POINTS:
            raise Unsupported(f"a lattice of step {self.step:g} is too fine for {self.noise}; use a larger step.")

    @property
    def step(self) -> float:  # type: ignore[override]
        return self.noise.step

    def log_mass(self, k: Array) -> Array:
        return _log_masses(self.noise, self.column, np.asarray(k, dtype=np.float64))

    @property
    def points(self) -> int:
        return _points(self.noise, self.column)

    @property
    def masses(self) -> Array:
        return _masses(self.noise, self.column)

    def losses(self, n: int) -> tuple[Array, Array]:
        self._check_shape()
        k = np.arange(math.floor(n / 2), -self.points, -1, dtype=np.float64)
        here = self.log_mass(np.abs(k))
        return here - self.log_mass(np.abs(k - n)), np.exp(here)

    def loss_terms(self, shift: float, reach: float) -> LossTerms | None:
        self._check_shape()
        return super().loss_terms(shift, reach)

    def _check_shape(self) -> None:
        """Raise if the law is not unimodal: a shorter move may then be worse than a longer one."""
        if not self.noise.falls_away(self.column):
            raise Unsupported(
                "the curve of this number by itself is not known, because its probability does not fall everywhere "
                "with the distance from 0; use the curve of the joint noise, which includes this number."
            )

    def max_loss(self, shift: float) -> float:
        return float(self.noise.loss_of_one(self.steps_in(shift)))


def _first_below(log_value: Any, bound: float) -> int:
    """The least whole number where a falling function is at most `bound`."""
    found = first_true_from(1, MOST_POINTS, lambda k: float(log_value(np.array([float(k)]))[0]) <= bound)
    return MOST_POINTS + 1 if found is None else found


def _in_chunks(function: Any, k: Array, width: int) -> Array:
    """function(k), a block of k at a time: each k needs `width` numbers of memory."""
    flat, size = np.atleast_1d(k).ravel(), max(1, _CHUNK // max(width, 1))
    parts = [np.asarray(function(flat[start : start + size])) for start in range(0, flat.size, size)]
    return np.concatenate(parts).reshape(np.shape(k)) if parts else np.empty(np.shape(k))


def _log_masses(noise: LevelNoise, column: int, k: Array) -> Array:
    return _in_chunks(lambda part: noise.log_mass_of(column, part), k, noise.dimension)


@lru_cache(maxsize=64)
def _points(noise: LevelNoise, column: int) -> int:
    return _first_below(lambda k: noise.log_mass_of(column, k), -745.0)


@lru_cache(maxsize=64)
def _masses(noise: LevelNoise, column: int) -> Array:
    with np.errstate(under="ignore"):
        return np.exp(_log_masses(noise, column, np.arange(float(_points(noise, column)))))


def _tail(law: LevelMarginal) -> Tail:
    """P(|X| > k step) in balls."""
    return lambda k: 2 * law.noise.at_least_ball_of(law.column, int(k) + 1)


FAMILY = Family(
    "level_marginal", LevelMarginal, paper="this project", cites=("hush",), ranked=False, public=False, tail=_tail
)
