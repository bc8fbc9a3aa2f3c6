"""Bounded unbiased functions of a noisy report: their expectation is the person's value.

A report is y = x + Z with x in [0, 1] (in units of the range) and Z of known law. If E g(x + Z) = x for all x in [0,
1], the average of g over the reports is an unbiased estimate of the people's mean for any values. One such function
is g(y) = y. Its variance is that of Z, which is infinite for a stable law. The functions below have less variance,
because they use that x is in [0, 1].

    noise     g(y)                                        bias
    Laplace   y inside [0, 1], 1 + b above, -b below      none, except for the rounding to the lattice
    Stable    sum over i of c_i f(y - x_i)/w(y)           at most 1e-6 of the range where floats allow it, measured on
                                                          a dense grid

Laplace: g(y) is the expectation of the report given y clamped to [0, 1], a Rao-Blackwell step. Outside the range, only
the side is informative.

Stable: f is the density, the x_i are a few Chebyshev points, and w(y) is the mean of f(y - x_i). The c_i make g
unbiased at the points x_i, with the locally least variance (Barankin 1949). Between the points g is nearly unbiased,
because f is smooth.

The median of the reports is not such a function: it estimates the median of x + Z, which differs from the people's
mean for any number of reports.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.numerics import special
from hush.numerics.rounding import BETWEEN_COARSE_POINTS, BETWEEN_FINE_POINTS, up

__all__ = ["Bounded", "bounded"]

Array = NDArray[np.float64]

_BIAS = 1e-6  # the largest bias aimed for, as a fraction of the range
_POINTS = (2, 3, 4, 5, 6, 8, 10, 12, 16)  # numbers of points x_i, tried in this order
_GRID = 201  # values of x at which mean and variance are evaluated


@dataclass(frozen=True)
class Bounded:
    """g for one noise, with its largest bias, variance, |g| and slope over x in [0, 1].

    The slope bounds the effect of a lattice step. `third` and `fourth` are the largest absolute third and fourth
    cumulants over x; they bound the distance of a sum of few g from the normal law.
    """

    noise: Law
    places: tuple[float, ...]  # the points x_i; empty for the clamp
    weights: tuple[float, ...]
    bias: float
    variance: float
    most: float
    slope: float
    third: float
    fourth: float

    @property
    def reach(self) -> float:
        """A bound on the distance of g from its expectation."""
        return self.most + 1.0

    @property
    def cumulants(self) -> tuple[float, float]:
        """`third` and `fourth`."""
        return self.third, self.fourth

    def wobble(self, count: int) -> float:
        """The error of the normal law for a mean of `count` numbers that lie almost on a lattice: half a lattice step.

        With wide Laplace noise most reports are outside the range, and g then takes mostly two values, 1 + 2b apart.
        The remaining weight of the lattice in a sum is the characteristic function at the lattice's frequency, to the
        power of the count. e^(-1/b) is 4 times the product of the probabilities of both ends; it is small for narrow
        noise, which reaches one end only.
        """
        if self.places:
            return 0.0
        b = self._scale
        steps = ((1.0 + 2.0 * b) / k * left**count for k, left in enumerate(self._left, 1))
        return 0.5 * math.exp(-1.0 / b) / count * math.fsum(steps)

    @property
    def _scale(self) -> float:
        found = self.noise.memoryless
        assert found is not None
        return found

    @cached_property
    def _left(self) -> tuple[float, ...]:
        """The largest |characteristic function| of g over x, at the frequencies of lattices of step 1 + 2b and half."""
        b, x = self._scale, np.linspace(0.0, 1.0, _GRID)

        def side(reach: Array, way: complex) -> NDArray[np.complex128]:
            fall = np.exp((way - 1.0 / b) * reach)
            return np.asarray(0.5 * (1.0 - fall) / (1.0 - way * b) + 0.5 * fall * np.exp(way * b))

        turns = (2.0j * math.pi * k / (1.0 + 2.0 * b) for k in (1, 2))
        largest = (float(np.abs(side(1.0 - x, turn) + side(x, -turn)).max()) for turn in turns)
        return tuple(min(up(value, BETWEEN_FINE_POINTS), 1.0) for value in largest)

    def __call__(self, y: Array) -> Array:
        """g of reports in units of the range."""
        if not self.places:
            return np.where(y > 1.0, 1.0 + self._scale, np.where(y < 0.0, -self._scale, y))
        return 0.5 + _combined(self.noise, np.asarray(self.places), np.asarray(self.weights), y - 0.5)


def _ratios(noise: Law, places: Array, y: Array) -> Array:
    """f(y - x_i)/w(y), a row for each point x_i; 1 in the far tail, where the densities underflow."""
    logs = np.asarray(noise.logpdf(y[None, :] - places[:, None]))
    top = logs.max(axis=0)
    with np.errstate(under="ignore"):
        density = np.exp(logs - top)
    return density / density.mean(axis=0)


def _combined(noise: Law, places: Array, weights: Array, y: Array) -> Array:
    flat = y.ravel()
    out = np.empty(flat.size)
    for start in range(0, flat.size, 1 << 15):
        part = slice(start, start + (1 << 15))
        out[part] = weights @ _ratios(noise, places, flat[part])
    return out.reshape(y.shape)


@lru_cache(maxsize=64)
def bounded(noise: Law) -> Bounded:
    """The function g of a noise; raises `Unsupported` for families without a better function than the average."""
    plain = noise.plain()
    if plain.memoryless is not None:
        return _clamped(plain, plain.memoryless)
    if plain.stability is not None and math.isinf(plain.variance):
        return _barankin(plain)
    raise Unsupported(f"there is no bounded estimate for {type(noise).__name__} reports; write method='average'.")


def _clamped(noise: Law, b: float) -> Bounded:
    """The clamp for Laplace noise of scale b; its moments have a closed form, and the largest over a grid is used."""
    x = np.linspace(0.0, 1.0, _GRID)

    def moment(power: int) -> Array:
        """E (g - x)^power: on each side |z|^power up to the end of the range, and (reach + b)^power beyond it."""
        above, below = (
            0.5 * b**power * math.factorial(power) * special.gammainc(power + 1.0, reach / b)
            + 0.5 * np.exp(-reach / b) * (reach + b) ** power
            for reach in (1.0 - x, x)
        )
        return np.asarray(above + (-1.0) ** power * below)

    square = moment(2)
    worst = up(float(square.max()), BETWEEN_COARSE_POINTS)
    third, fourth = float(np.abs(moment(3)).max()), float(np.abs(moment(4) - 3.0 * square**2).max())
    # the slope 4 covers the jump of b at both ends, where the density is at most 1/(2b)
    return Bounded(noise, (), (), 0.0, worst, 1.0 + b, 4.0, 1.01 * third, 1.01 * fourth)


def _barankin(noise: Law) -> Bounded:
    """The function of least variance that is unbiased at a few points, as few as keep the bias between them small."""
    centre = float(np.asarray(noise.isf(0.25)))
    t = np.linspace(-30.0, 30.0, 4801)
    # the trapezoidal rule, which converges fast for analytic densities
    y, weight = centre * np.sinh(t), centre * np.cosh(t) * (t[1] - t[0])
    x = np.linspace(-0.5, 0.5, _GRID)
    density = np.exp(np.asarray(noise.logpdf(y[None, :] - x[:, None]))) * weight
    best: Bounded | None = None
    for count in _POINTS:
        places = 0.5 * np.cos(math.pi * (np.arange(count) + 0.5) / count)
        places = places / places[0] * 0.5 if count > 1 else places  # include both ends of the range
        ratio = _ratios(noise, places, y)
        at_places = np.exp(np.asarray(noise.logpdf(y[None, :] - places[:, None]))) * weight
        weights = np.linalg.lstsq(ratio @ at_places.T, places, rcond=1e-14)[0]
        g = weights @ ratio
        mean = density @ g
        apart = g[None, :] - mean[:, None]
        square, third, fourth = (np.einsum("xy,xy->x", density, apart**power) for power in (2, 3, 4))
        spread = up(float(square.max()), BETWEEN_COARSE_POINTS)
        bias = 1.01 * float(np.abs(mean - x).max()) + 1e-8
        found = Bounded(
            noise,
            tuple(places),
            tuple(weights),
            bias,
            spread,
            float(np.abs(g).max()) + 0.5,
            1.1 * float(np.abs(np.diff(g) / np.diff(y)).max()),
            1.01 * float(np.abs(third).max()),
            1.01 * float(np.abs(fourth - 3.0 * square**2).max()),
        )
        if best is None or bias < best.bias:
            best = found
        if bias <= _BIAS:
            break
    assert best is not None
    return best
