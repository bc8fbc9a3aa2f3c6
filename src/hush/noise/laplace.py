"""The Laplace law. It is a short example of a family file: the class first, then the functions of its descriptor.

The law is log-concave, so the class derives from `LogConcave` and defines the four `unit_*` methods in units of the
scale, y = |x|/scale. Everything about privacy follows from them (log_concave.py). The descriptor `FAMILY` at the end
contains what calibration, exact draws and citations need (family.py). The last step to add a family is its line in
catalogue.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive
from hush.noise.contract import Law
from hush.noise.divisible import shape_of
from hush.noise.family import Family, Reference
from hush.noise.log_concave import LogConcave
from hush.noise.request import Request
from hush.numerics.ball import Tail
from hush.numerics.rounding import FEW_ROUNDINGS, up
from hush.numerics.twofold import Twofold, quotient

__all__ = ["FAMILY", "Laplace", "laplace_noise"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Laplace(LogConcave):
    """The two-sided exponential law with scale > 0.

    f(x) = exp(-|x|/scale) / (2 scale).

    Guarantees: pure epsilon = shift/scale; delta(eps) = 1 - exp((eps - shift/scale)/2) below it.

    >>> Laplace(2.0).max_loss(1.0)
    0.5
    """

    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale, "write Laplace(1.0)"))

    # -- the law in units of the scale -----------------------------------------------------------------------

    @property
    def unit(self) -> float:
        return self.scale

    def unit_log_density(self, y: Twofold) -> Twofold:
        """log f(y) = -log 2 - y."""
        return Twofold(-0.6931471805599453, -2.3190468138462996e-17) - y  # -log 2

    def unit_mills(self, y: Array) -> Array:
        """P(Y > y)/f(y) = 1."""
        return np.ones_like(y)

    def unit_drop(self, y: Array, d: Array) -> Array:
        """The Mills ratio is constant, so its differences are 0."""
        return np.zeros(np.broadcast_shapes(np.shape(y), np.shape(d)))

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        """The y with loss epsilon: (epsilon - d)/2 for epsilon < d; infinite for larger epsilon."""
        y = (epsilon - d).halved()
        return y.where(y.hi < 0.0, np.inf)

    def hockey_stick(self, epsilon: Array, shift: float) -> Array:
        """Return 1 - e^((epsilon - d)/2) with d = shift/scale in twofold precision, and 0 from d on.

        Where epsilon and d are close, the difference with the first float of d is exact.
        """
        d, rest = quotient(shift, self.scale)
        return -np.expm1(0.5 * np.minimum((epsilon - d) - rest, 0.0))

    def atoms(self, shift: float) -> tuple[float, ...]:
        """Return the pure epsilon, which is the loss of half of all draws."""
        return (self.max_loss(shift),)

    # -- moments and shape -----------------------------------------------------------------------------------

    @property
    def variance(self) -> float:
        return 2.0 * (self.scale * self.scale)

    @property
    def mean_abs(self) -> float:
        return self.scale

    @property
    def fisher_information(self) -> float:
        return 1.0 / (self.scale * self.scale)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    # -- the pure epsilon ------------------------------------------------------------------------------------

    def max_loss(self, shift: float) -> float:
        return positive("shift", shift) / self.scale

    def exact_max_loss(self, shift: float) -> Fraction | None:
        return Fraction(shift) / Fraction(self.scale)

    def scaled(self, k: float) -> Laplace:
        return self.scaled_by(k, "scale")

    @property
    def memoryless(self) -> float:
        return self.scale

    # -- shares of the noise (hush.federated) ----------------------------------------------------------------

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Law:
        from hush.noise.gamma_difference import GammaDifference  # here, because that module imports this one

        return GammaDifference(shape_of(ratio, upwards=upwards), self.scale)

    def power_on_lattice(self, ratio: Fraction, step: float, *, upwards: bool = True) -> Law:
        from hush.noise.polya_difference import PolyaDifference

        return PolyaDifference(shape_of(ratio, upwards=upwards), self.scale, step)


# -- the functions of the descriptor -------------------------------------------------------------------------


_SHIFTS = 4  # different shifts, from which on a grid does not resolve how often all losses are largest


def laplace_noise(request: Request) -> Law:
    """Return the least Laplace noise for a request: the scale for pure privacy, reduced as far as delta allows.

    With the scale e^-u times the one for pure privacy, delta grows from 0 like a power of u. log delta is nearly linear
    in log u, so the search is in x = -log u.
    """
    if not request.bound.is_box:
        return request.at_scale(Laplace(1.0), request.rough_size)
    total = math.fsum(shift * count for shift, count in request.bound.shifts) * request.times
    pure = up(total / request.epsilon, FEW_ROUNDINGS)
    if request.delta == 0.0:
        return request.on_lattice(Laplace(pure))

    def noise_at(x: float) -> Law:
        return request.on_lattice(Laplace(pure * math.exp(-math.exp(-x))))

    first = max(-math.log(2.0 * request.delta), 0.0) - 0.69 * min(request.count, 30)
    tolerance = 1e-13 * math.exp(min(max(first, 0.0), 12.0)) if request.count == 1 else 1e-7
    if request.count == 1 or len(request.bound.shifts) > _SHIFTS:
        # delta = 1 - e^((epsilon - shift/scale)/2), but for the lattice; of many different shifts the curve uses only
        # that one of them takes what the others leave of epsilon
        first = -math.log(math.log1p(-2.0 * math.log1p(-request.delta) / request.epsilon))
    try:
        return request.least(noise_at, max(first, 0.0), tolerance=tolerance)
    except Unsupported:
        noise = request.on_lattice(Laplace(pure))
        if not request.meets(noise):
            raise
        return noise


def _tail(noise: Laplace) -> Tail:
    """Return the function x -> P(|X| > x) in ball arithmetic."""
    return lambda x: (-x / noise.scale).exp()


def _log_weight(noise: Laplace) -> Tail:
    """Return the function x -> log f(x)/f(0) in ball arithmetic."""
    return lambda x: -x / noise.scale


def _on_whole_numbers(scale: float) -> Law:
    """Return the discrete Laplace noise of a scale, which is better on whole numbers than rounded Laplace noise."""
    from hush.noise.discrete import Discrete  # here, to keep this module independent of the lattice laws

    return Discrete(Laplace(scale))


FAMILY = Family(
    "laplace",
    Laplace,
    paper="Dwork, McSherry, Nissim and Smith 2006",
    cites=("dwork2006",),
    closed_form=True,
    calibrate=laplace_noise,
    on_whole_numbers=_on_whole_numbers,
    tail=_tail,
    log_weight=_log_weight,
    degree=1,  # log f is linear in |x|
    reference=Reference(Laplace(1.0), 0.5, 0.22119921692859513),
    lattice_cites=("ghosh2012",),
)
