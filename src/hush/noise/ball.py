"""Ball noise: density proportional to exp(-|x|_2/scale), for a vector whose l2 norm moves by a bounded amount.

**Mixture.** The law is that of x = scale root(C) Z with Z a standard normal vector of d numbers and C an independent
chi-squared variable of d + 1 degrees of freedom. Given C, the density of x is proportional to
C^(-d/2) exp(-|x|^2/(2 scale^2 C)), and that of C is proportional to C^((d - 1)/2) e^(-C/2). Their product is
C^(-1/2) exp(-C/2 - r^2/(2 C)) with r = |x|/scale, and its integral over C is root(2 pi) e^(-r).

So one number is scale root(2 G) times a normal variable with a gamma variable G of shape (d + 1)/2: the difference of
two gamma variables of that shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, positive, reals, whole
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.noise.gamma_difference import GammaDifference
from hush.noise.normal_mixture import NormalMixture
from hush.noise.request import Request
from hush.numerics.rounding import FEW_ROUNDINGS, TWO_ROUNDINGS, up
from hush.numerics.search import nudged

__all__ = ["FAMILY", "Ball", "least_ball"]

Array = NDArray[np.float64]

_MOST = 100_000  # numbers; beyond, the Bessel functions of the curve take seconds
_WIDTH = 1e-9  # of a search for the least scale, relative
_BELOW_PURE = 0.9999  # where a search begins at most, as a share of the scale for delta = 0


@dataclass(frozen=True)
class Ball(NormalMixture):
    """Noise for `dimension` numbers with density proportional to exp(-|x|_2/scale).

    The numbers are uncorrelated, and each has variance (dimension + 1) scale^2.

    Guarantees: pure epsilon m/scale if the l2 norm of all moves is at most m, and for every epsilon below that the
    exact delta, by a theorem about one integral (docs/maths/ball.md). Hardt and Talwar 2010 for the pure epsilon;
    Joseph, Kulesza and Yu 2025 for a bound with a delta; the integral is new here.

    >>> Ball(10, 2.0).variance
    44.0
    """

    dimension: int = field()
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, 1, "write Ball(10, 1.0)"))
        object.__setattr__(self, "scale", positive("scale", self.scale, "write Ball(10, 1.0)"))
        if self.dimension > _MOST:
            raise Unsupported(f"Ball noise is for at most {_MOST} numbers, got {self.dimension}; use Gaussian(sigma).")

    @property
    def width(self) -> float:
        return self.scale

    @property
    def freedom(self) -> int:
        return self.dimension + 1

    @property
    def marginal(self) -> Law:
        return GammaDifference(0.5 * (self.dimension + 1), self.scale).plain()

    def log_density_of(self, vectors: Any) -> Array:
        rows = reals("vectors", vectors)
        if rows.ndim == 0 or rows.shape[-1] != self.dimension:
            raise InvalidParameter(f"vectors must be rows of {self.dimension} numbers.")
        half = 0.5 * self.dimension
        log_sphere = math.log(2.0) + half * math.log(math.pi) - math.lgamma(half)  # the area of the unit sphere
        constant = log_sphere + math.lgamma(self.dimension) + self.dimension * math.log(self.scale)
        return np.asarray(-np.sqrt((rows**2).sum(axis=-1)) / self.scale - constant)

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Any:
        """Raise: C is a sum of smaller independent variables, but each party rounds its share, and nothing is proved
        about a sum of rounded shares.
        """
        raise Unsupported(
            "Ball noise is a sum of smaller noises, but nothing is proved about sums of their rounded draws; "
            "share Gaussian(sigma), or for counts Correlated(Gaussian(sigma), dimension, correlation)."
        )

    def scaled(self, k: float) -> Ball:
        return Ball(self.dimension, self.scale * positive("k", k))


def least_ball(request: Request, dimension: int, stretch: float, made: Callable[[Ball], Any]) -> Any:
    """Return the least noise made from a ball for a request: the pure scale if delta is 0, else a root of its curve.

    `stretch` is the length of the longest move in the metric of the noise, divided by its l2 bound.
    """
    pure = stretch * request.bound.l2_bound * request.times / request.epsilon

    def meets(scale: float) -> bool:
        return request.meets(made(Ball(dimension, scale)))

    if request.delta == 0.0:
        scale = nudged(meets, pure, first=TWO_ROUNDINGS.share, growth=2.0, turns=20)
        if scale is None:
            raise Unsupported("ball noise could not be certified for this budget")
        return made(Ball(dimension, scale))
    gaussian = stretch * request.gaussian_sigma() / math.sqrt(dimension + 1.0)  # the limit of many numbers
    start = math.log(min(_BELOW_PURE, gaussian / pure))
    found: Any = request.least(lambda x: made(Ball(dimension, pure * math.exp(x))), start, tolerance=_WIDTH)
    largest = up(pure, FEW_ROUNDINGS)  # for a tiny delta, the search may end slightly above the scale for delta = 0
    return found if found.width <= largest or not meets(largest) else made(Ball(dimension, largest))


def _least(request: Request) -> Ball:
    dimension = request.bound.dimension
    if dimension is None or dimension == 1:
        raise Unsupported("ball noise needs Sensitivity(l2=..., dimension=D) or Sensitivity(linf=..., dimension=D)")
    if request.step is not None:
        raise Unsupported("ball noise is continuous, and is rounded when it is drawn; leave step out")
    found: Ball = least_ball(request, dimension, 1.0, lambda ball: ball)
    return found


FAMILY = Family(
    "ball",
    Ball,
    paper="Hardt and Talwar 2010; Joseph, Kulesza and Yu 2025",
    cites=("hardt2010", "joseph2025"),
    calibrate=_least,
)
