"""Scaled noise: the noise of another law, with a factor of its own for each number.

**Privacy.** Number j of the answer is divided by its factor, the noise is added, and the sum is multiplied by the
factor again. Multiplication by public numbers is post-processing, and so is its inverse. So the privacy is that of the
noise for the divided numbers, whose moves are those of the answer divided by the factors.

It has two uses. Numbers that move by different bounds become numbers that all move by 1: the body of their moves is
then the unit body of a joint noise. And noise can be moved between numbers: a larger factor gives a number more noise,
and makes its move smaller for all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, each, positive, reject
from hush.noise.contract import Law, Noise
from hush.noise.family import Family

__all__ = ["FAMILY", "Scaled"]

Array = NDArray[np.float64]
_HINT = "write Scaled(Cube(2, 1.0), (1.0, 30.0))"


@dataclass(frozen=True)
class Scaled(Noise):
    """Noise for several numbers: number j has `factors[j]` times the noise of number j of `noise`.

    `noise` is a joint noise for as many numbers, or a law, which is drawn independently for each number. On a lattice,
    number j has the lattice of `factors[j]` times the step of `noise`.

    Guarantees: those of `noise` for moves that are divided by the factors; the proof is at the top of this module.

    >>> from hush import Cube
    >>> Scaled(Cube(3, 1.0), (1.0, 30.0, 5.0)).variance.round(2).tolist()
    [6.59, 5930.64, 164.74]
    """

    noise: Noise
    factors: tuple[float, ...] = field()
    dimension: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise) or self.noise.factors is not None:
            raise reject("noise", self.noise, "a noise that is not scaled itself", _HINT)
        if not isinstance(self.factors, list | tuple | np.ndarray) or not len(self.factors):
            raise reject("factors", self.factors, "a list of numbers, one for each number of the noise", _HINT)
        object.__setattr__(self, "factors", tuple(each(positive, "factors", self.factors, instead=_HINT)))
        object.__setattr__(self, "dimension", len(self.factors))
        if self.noise.dimension not in (None, self.dimension):
            raise InvalidParameter(
                f"{type(self.noise).__name__} noise is for {self.noise.dimension} numbers, but there are "
                f"{self.dimension} factors; {_HINT}."
            )

    @property
    def base(self) -> Noise:
        return self.noise

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        """True if `noise` is on a lattice."""
        return self.noise.discrete

    @property
    def step(self) -> float:  # type: ignore[override]
        """The step of `noise`; number j has `factors[j]` times this step."""
        return self.noise.step

    @property
    def most_moving(self) -> int | None:  # type: ignore[override]
        """As `noise` states it."""
        return self.noise.most_moving

    def scaled(self, k: float) -> Scaled:
        return Scaled(self.noise, tuple(factor * k for factor in self.factors))

    def widened(self, k: float) -> Scaled:
        return Scaled(self.noise.widened(k), self.factors)

    def plain(self) -> Noise:
        return Scaled(self.noise.plain(), self.factors)

    @property
    def marginal(self) -> Law:
        return self.marginal_of(0)

    def marginal_of(self, column: int) -> Law:
        return self.noise.scaled(self.factors[column]).marginal_of(column)

    @property
    def variance(self) -> Array:
        return np.array(self.factors) ** 2 * np.broadcast_to(self.noise.variance, (self.dimension,))

    @property
    def covariance(self) -> Array:
        if self.noise.dimension is None:
            return np.diag(self.variance)
        return np.outer(self.factors, self.factors) * np.asarray(self.noise.covariance)

    def log_density_of(self, vectors: Any) -> Array:
        inside = self.noise.log_density_of(np.asarray(vectors, dtype=np.float64) / np.array(self.factors))
        return inside if self.discrete else inside - math.fsum(math.log(factor) for factor in self.factors)


FAMILY = Family("scaled", Scaled, paper="this project", cites=("hush",), ranked=False)
