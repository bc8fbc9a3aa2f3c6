"""Correlated noise: ball or Gaussian noise whose numbers have a common correlation, for counts and one-signed sums.

If all numbers move in the same direction, a large common part of the noise hides the direction in which most of them
move together. The numbers of a person that moves j counts by 1 have, in the metric of the inverse of the correlation
matrix (1 - r) I + r J, the squared length

    (j - r j^2/(1 + (d - 1) r))/(1 - r).

It grows less than j does. A suitable r makes the longest of these moves much shorter than the l2 norm, root(d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, reals, reject, shown, whole
from hush.noise.ball import least_ball
from hush.noise.contract import Law, Noise
from hush.noise.family import Family
from hush.noise.gaussian import Gaussian
from hush.noise.normal_mixture import NormalMixture
from hush.noise.request import Request
from hush.numerics.rounding import FEW_ROUNDINGS
from hush.numerics.search import narrowed_minimum, nudged

__all__ = ["FAMILY", "Correlated"]

Array = NDArray[np.float64]
_GRIDS = (65,) + (17,) * 12  # points of the search for the correlation


@dataclass(frozen=True)
class Correlated(NormalMixture):
    """Noise for `dimension` numbers: each has the law of `noise`, and every two of them the given correlation.

    `noise` is `Gaussian(sigma)`, or `Ball(dimension, scale)`. `correlation` is 0 or greater, and less than 1.

    Guarantees: the curve of `noise` for the largest length that a move has in the metric of the correlation matrix. If
    all numbers move in one direction (counts under add-remove), this is shorter than the l2 norm. Lebeda 2024 for the
    Gaussian; for the ball, and for people who move some of the counts, it is new here (docs/maths/correlated.md).

    >>> from hush import Ball
    >>> Correlated(Ball(10, 2.0), 10, 0.25).variance
    44.0
    """

    noise: Noise
    dimension: int = field()
    correlation: float = field()

    def __post_init__(self) -> None:
        hint = "write Correlated(Ball(10, 2.0), 10, 0.25)"
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, 1, hint))
        if not isinstance(self.noise, NormalMixture) and not getattr(self.noise, "isotropic", False):
            raise InvalidParameter(f"noise must be Gaussian or Ball noise, got {shown(self.noise)}; {hint}.")
        correlated = isinstance(self.noise, Correlated)
        if self.noise.dimension not in (None, self.dimension) or correlated:
            raise InvalidParameter(
                f"noise must be Gaussian noise or Ball noise for {self.dimension} numbers, got {shown(self.noise)}; "
                f"write Correlated(Ball({self.dimension}, 2.0), {self.dimension}, 0.25)."
            )
        correlation = float(reals("correlation", self.correlation))
        if not 0.0 <= correlation < 1.0:
            raise reject("correlation", self.correlation, "0 or greater and less than 1", hint)
        object.__setattr__(self, "correlation", correlation)

    @property
    def width(self) -> float:
        return self.noise.width if isinstance(self.noise, NormalMixture) else self.noise.sigma  # type: ignore[attr-defined]

    @property
    def freedom(self) -> int:
        return self.noise.freedom if isinstance(self.noise, NormalMixture) else 0

    @property
    def marginal(self) -> Law:
        return self.noise.marginal

    def scaled(self, k: float) -> Correlated:
        return Correlated(self.noise.scaled(k), self.dimension, self.correlation)

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Correlated:
        """The same correlation, with the power of `noise`: covariance matrices of independent noises add up."""
        return Correlated(self.noise.power(ratio, upwards=upwards), self.dimension, self.correlation)

    def log_density_of(self, vectors: Any) -> Array:
        """The density of `noise` at the vector times the inverse root of the correlation matrix R, over root(det R)."""
        rows, d, r = reals("vectors", vectors), self.dimension, self.correlation
        if rows.ndim == 0 or rows.shape[-1] != d:
            raise InvalidParameter(f"vectors must be rows of {d} numbers.")
        along, across = 1.0 + (d - 1) * r, 1.0 - r if d > 1 else 1.0  # variances of the common part and of the rest
        middle = rows.mean(axis=-1, keepdims=True)
        straight = (rows - middle) / math.sqrt(across) + middle / math.sqrt(along)
        return self.noise.log_density_of(straight) - 0.5 * (math.log(along) + (d - 1) * math.log(across))

    def one_sided_length(self, moving: int) -> Fraction:
        """The largest squared length of a move by at most 1 of at most `moving` numbers, all in the same direction.

        The length is convex in the move, so the longest move is at a corner: j numbers move by 1. It rises and then
        falls with j.
        """
        r = Fraction(self.correlation)
        share = r / (1 + (self.dimension - 1) * r)
        best = moving if share == 0 else min(moving, max(1, round(1 / (2 * share))))
        return (best - share * best * best) / (1 - r)

    @property
    def any_length(self) -> Fraction:
        """The largest squared length of a move whose l2 norm is 1."""
        return 1 / (1 - Fraction(self.correlation)) if self.dimension > 1 else Fraction(1)


def _best_correlation(dimension: int, moving: int) -> float:
    """The correlation that makes the longest one-sided move as short as possible, by a search; every one is valid."""
    j = np.arange(1.0, moving + 1.0)[:, None]

    def longest(log_ratio: Any) -> Any:
        ratio = np.exp(np.asarray(log_ratio))  # r/(1 - r)
        return ((1.0 + ratio) * (j - ratio / (1.0 + dimension * ratio) * j * j)).max(axis=0)

    place, least = narrowed_minimum(longest, -math.log(dimension) * 3.0 - 4.0, 3.0, points=_GRIDS)
    ratio = math.exp(place)
    return ratio / (1.0 + ratio) if least < moving else 0.0


def _least(request: Request) -> Correlated:
    bound, dimension = request.bound, request.bound.dimension
    if dimension is None or dimension == 1 or not request.plain:
        raise Unsupported("correlated noise needs Sensitivity(linf=..., dimension=D), with one bound for all numbers")
    if bound.one_sided is not True:
        raise Unsupported("this noise needs one_sided=True: counts, or sums of values of one sign, under add-remove")
    if request.step is not None:
        raise Unsupported("correlated noise is continuous, and is rounded when it is drawn; leave step out")
    r = _best_correlation(dimension, bound.moving)
    stretch = math.sqrt(float(Correlated(Gaussian(1.0), dimension, r).one_sided_length(bound.moving)) / bound.moving)
    found: list[Correlated] = [least_ball(request, dimension, stretch, lambda ball: Correlated(ball, dimension, r))]
    if request.delta > 0.0:
        found += _least_gaussian(request, stretch, dimension, r)
    return min(found, key=request.value)


def _least_gaussian(request: Request, stretch: float, dimension: int, r: float) -> list[Correlated]:
    def made(sigma: float) -> Correlated:
        return Correlated(Gaussian(sigma), dimension, r)

    start = request.gaussian_sigma() * stretch
    sigma = nudged(
        lambda sigma: request.meets(made(sigma)),
        start,
        first=FEW_ROUNDINGS.share,
        growth=2.0,
        turns=40,
    )
    return [] if sigma is None else [made(sigma)]


FAMILY = Family("correlated", Correlated, paper="Lebeda 2024", cites=("lebeda2024",), calibrate=_least)
