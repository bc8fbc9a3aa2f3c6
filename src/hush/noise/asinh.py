"""Asinh noise: a smooth density whose score is the inverse hyperbolic sine.

It is Gaussian at the centre, and its tail falls like exp(-kappa y log y). The numerics at scale 1 are in
asinh_mills.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import positive, within
from hush.noise.asinh_mills import shape_of
from hush.noise.family import Family, Reference, Shape
from hush.noise.log_concave import LogConcave
from hush.noise.smooth import crossing
from hush.numerics.ball import Ball, Tail, flint_module
from hush.numerics.logarithm import log_twofold
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "Asinh"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Asinh(LogConcave):
    """Asinh noise with shape 1e-6 <= kappa <= 1e8 and scale > 0: log f falls like x log x in the tail.

    f(x) proportional to exp(-kappa (y asinh y - sqrt(1 + y^2))), y = x/scale; the score is (kappa/scale)
    asinh(x/scale). For large kappa the law tends to Gaussian(scale/sqrt(kappa)); for small kappa its centre resembles
    Laplace noise.

    Guarantees: exact delta for every shift, from the half line where the loss exceeds epsilon. The family is new in
    this project. It approximates the least-variance noise for many coordinates, whose score grows like a logarithm.

    >>> round(Asinh(1.0, 2.0).variance, 10)
    5.3725812306
    """

    relative_error: ClassVar[float] = 2e-13

    kappa: float
    scale: float

    def __post_init__(self) -> None:
        hint = "write Asinh(kappa=1.0, scale=10.0)"
        object.__setattr__(self, "kappa", within("kappa", self.kappa, 1e-6, 1e8, hint))
        object.__setattr__(self, "scale", positive("scale", self.scale, hint))

    @property
    def unit(self) -> float:
        return self.scale

    def _energy(self, y: Twofold) -> Twofold:
        """U(y) = kappa y (asinh y - y/(1 + sqrt(1 + y^2)))."""
        root = (y * y + 1.0).sqrt()
        return y * (log_twofold(y + root) - y / (root + 1.0)) * self.kappa

    def unit_log_density(self, y: Twofold) -> Twofold:
        return -math.log(2.0 * shape_of(self.kappa).centre) - self._energy(y)

    def unit_mills(self, y: Array) -> Array:
        y = np.asarray(y, dtype=np.float64)
        return shape_of(self.kappa).at(0, np.arcsinh(y.ravel())).reshape(y.shape)

    def unit_drop(self, y: Array, d: Array) -> Array:
        y, d = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(d, dtype=np.float64))
        return shape_of(self.kappa).drop(y.ravel(), d.ravel()).reshape(y.shape)

    def _newton(self, y: Array, epsilon: Array, shift: Twofold) -> tuple[Array, Array]:
        """Return epsilon - loss and the slope of the loss at y; differences of asinh and roots are in closed form."""
        a, b, d = y + float(shift.hi), np.abs(y), float(shift.hi)
        gap, total = d + 2.0 * np.minimum(y, 0.0), d + 2.0 * np.maximum(y, 0.0)  # a - b and a + b
        root_a, root_b = np.hypot(1.0, a), np.hypot(1.0, b)
        turn, low = np.arcsinh(gap / root_b * (total / (a + b * (root_a / root_b)))), np.arcsinh(b)
        loss = a * turn + gap * (low - total / (root_a + root_b))
        return epsilon - self.kappa * loss, self.kappa * np.where(y >= 0.0, turn, turn + 2.0 * low)

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        """Start Newton's method at the m = y + d/2 with d U'(m) = epsilon.

        The loss is concave in m and at most d U'(m), so the start is at or before the root.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)
        start = np.sinh(np.minimum(epsilon / (self.kappa * float(d.hi)), 330.0)) - 0.5 * float(d.hi)
        return crossing(epsilon, d, np.asarray(start), self._newton, self._energy)

    def error_at(self, epsilon: Array, shift: float) -> float:
        """Return a larger error for a tiny shift, because its crossing is computed in single floats only."""
        return self.relative_error if shift > 1e-6 * self.scale * shape_of(self.kappa).mean_abs else 1e-11

    @property
    def variance(self) -> float:
        return shape_of(self.kappa).variance * self.scale**2

    @property
    def mean_abs(self) -> float:
        return shape_of(self.kappa).mean_abs * self.scale

    @property
    def fisher_information(self) -> float:
        """E U''/scale^2, U'' = kappa/sqrt(1 + y^2)."""
        return shape_of(self.kappa).fisher_information / self.scale**2

    @property
    def slow_tail(self) -> bool:
        return True

    def scaled(self, k: float) -> Asinh:
        return self.scaled_by(k, "scale")


def _tail(noise: Asinh) -> Tail:
    """Return the function x -> P(|X| > x).

    It is the integral of exp(-kappa (u sinh u - cosh u + 1)) cosh u over (asinh(x/scale), inf), divided by that over
    (0, inf). The integrand is entire. The integral is cut at some W. With e(u) = u sinh u - cosh u + 1, which is convex
    with e'(u) = u cosh u, the part beyond W is the integral of exp(-kappa e) de/u <= exp(-kappa e(W))/(kappa W).
    """

    def beyond(x: Ball) -> Ball:
        flint = flint_module()
        kappa, start = flint.arb(noise.kappa), (x / noise.scale).asinh()

        def energy(u: Ball) -> Ball:
            return u * u.sinh() - u.cosh() + 1

        def integral(low: Ball) -> Ball:
            end = low + 1
            needed = (flint.ctx.prec + 16) * 0.7 / noise.kappa
            while not energy(end) > energy(low) + needed:
                end = end * 2
            inside = flint.acb.integral(lambda u, _: (-kappa * energy(u)).exp() * u.cosh(), low, end).real
            return inside + (-kappa * energy(end)).exp() / (kappa * end) * flint.arb(0.5, 0.5)

        key = (noise.kappa, flint.ctx.prec)
        if key not in _CENTRE:
            _CENTRE[key] = integral(flint.arb(0))
        return integral(start) / _CENTRE[key]

    return beyond


#: The integral over (0, inf), by kappa and precision in bits.
_CENTRE: dict[tuple[float, int], Ball] = {}


def _log_weight(noise: Asinh) -> Tail:
    return lambda x: -noise.kappa * (lambda y: y * y.asinh() - (1 + y * y).sqrt() + 1)(x / noise.scale)


FAMILY = Family(
    "asinh",
    Asinh,
    paper="this project",
    cites=("hush",),
    shape=Shape(
        lambda k: Asinh(k, 1.0),
        -6.0,
        6.0,
        0.25,
        lambda r: math.log(max(0.74 * (r - 0.84), 0.01)),
        least_regime=0.3,
    ),
    tail=_tail,
    log_weight=_log_weight,
    reference=Reference(Asinh(1.0, 1.0), 0.5, 0.19697714957103828),
)
