"""The density, the tail and the score of the symmetric stable law at scale 1, to full float precision at every x.

With characteristic function exp(-|t|^alpha), 1 < alpha < 2, and x >= 0 (SaS paper, eq. (18)),

    p(x) = (1/pi) Re int f(t) dt,    P(X > x) = (1/pi) Re int (i/t) f(t) dt,    -p'(x) = (1/pi) Im int t f(t) dt,
    f(t) = exp(-t^alpha + i x t),    t from 0 to infinity in the right half of the upper half plane.

There are three methods, by the size of x:

    x < 3/2       a ray t = s e^(i phi), with e^(ixt) - 1 in place of e^(ixt), so that small x keeps its digits
    x < 20        up the imaginary axis to the saddle point of f (or to where f is negligible), then parallel to the
                  real axis. On the imaginary axis the integrand is e^A sin B, B proportional to
                  sin(pi (2-alpha)/2): it gives the power tail, without cancellation for alpha near 2. The parallel
                  part gives the Gaussian-like body.
    x >= 20       the asymptotic series (SaS paper, Lemma IV.2, with the 1/k! that is missing in eq. (20))

The first two fill a table of local polynomials once for each alpha; every later call is a table look-up.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from hush.numerics import special
from hush.numerics.quadrature import gauss
from hush.numerics.root import halved

__all__ = ["CauchyLaw", "StableLaw", "contour", "law"]

Array = NDArray[np.float64]

NEAR = 1.5  # the ray is used below this x, the L-shaped contour above
FAR = 20.0  # the series is used from this x on: its 16th term is below 1e-17 of the first for every alpha
_PIECES = 8  # local polynomials per unit of x; the singularities of log p are at least 6 half-widths away
_ORDER = 16  # coefficients of a local polynomial
_TERMS = 16  # terms of the series
_DEATH = 75.0  # exponent: e^-75 is negligible compared with any tail for x < 20


@lru_cache(maxsize=1)
def _ray_nodes() -> tuple[Array, Array]:
    """Return a double-exponential rule on (0, inf) for integrands that decay like e^-s and behave like s^alpha at 0."""
    v = np.arange(-141, 141) / 32.0
    fall = np.exp(-v)
    s = np.exp(v - fall)
    return s, s * (1.0 + fall) / 32.0


@lru_cache(maxsize=1)
def _axis_nodes() -> tuple[Array, Array]:
    """Return a double-exponential (tanh-sinh) rule on (0, 1)."""
    v = np.arange(-125, 126) / 32.0
    inner = np.exp(-math.pi * np.sinh(v))
    node = 1.0 / (1.0 + inner)
    return node, math.pi / 32.0 * np.cosh(v) * inner * node * node


def _by_ray(alpha: float, x: Array) -> tuple[Array, Array, Array]:
    """Return P(X > x), p(x), -p'(x) for 0 < x < 3/2."""
    s, weight = _ray_nodes()
    turn = np.exp(0.125j * math.pi / alpha)
    t = s * turn
    bare = weight * turn * np.exp(-(s**alpha) * np.exp(0.125j * math.pi)) / math.pi
    wave = np.expm1(1j * x[:, None] * t)
    half = (wave @ (bare / t)).imag  # P(0 < X < x)
    return 0.5 - half, math.gamma(1.0 + 1.0 / alpha) / math.pi + (wave @ bare).real, (wave @ (bare * t)).imag


def _corner(alpha: float, bend: float, x: Array) -> Array:
    """Return the height of the corner: the saddle (x/(alpha |cos(pi alpha/2)|))^(1/(alpha-1)), at most _DEATH/x."""
    with np.errstate(over="ignore"):
        saddle = np.exp(np.minimum(np.log(x / (alpha * bend)) / (alpha - 1.0), 600.0))
    return np.minimum(saddle, _DEATH / x)


def _level(alpha: float, bend: float, x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the parts of the three integrals along t = i y + u, u > 0."""

    def fallen(u: Array) -> Any:
        return ((u + 1j * y) ** alpha).real + bend * y**alpha >= 40.0

    # |f| decreases with u: find approximately where it is e^-40 of its start
    end = halved(fallen, np.zeros_like(x), np.full_like(x, 300.0), turns=14)[1]
    nodes, weights = gauss(80)
    t = end[:, None] * nodes + 1j * y[:, None]
    f = np.exp(1j * x[:, None] * t - t**alpha) * (weights * end[:, None] / math.pi)
    return -(f / t).sum(axis=1).imag, f.sum(axis=1).real, (f * t).sum(axis=1).imag


def _by_corner(alpha: float, x: Array) -> tuple[Array, Array, Array]:
    """Return P(X > x), p(x), -p'(x) for 3/2 <= x < 20 on the L-shaped contour."""
    # bend = -cos(pi alpha/2)
    bend = math.sin(0.5 * math.pi * (alpha - 1.0)) if alpha < 1.5 else math.cos(0.5 * math.pi * (2.0 - alpha))
    lift = math.sin(0.5 * math.pi * (2.0 - alpha))  # sin(pi alpha/2), exact as alpha -> 2
    node, weight = _axis_nodes()
    y = _corner(alpha, bend, x)
    power = (y**alpha)[:, None] * node**alpha
    with np.errstate(under="ignore"):
        axis = np.exp(bend * power - (x * y)[:, None] * node) * np.sin(lift * power) * (weight / math.pi)
        tail, density, slope = axis @ (1.0 / node), y * axis.sum(axis=1), y * y * (axis @ node)
    rest = (bend * y**alpha - x * y > np.log(density) - 45.0).nonzero()[0]
    if rest.size:
        more = _level(alpha, bend, x[rest], y[rest])
        tail[rest] += more[0]
        density[rest] += more[1]
        slope[rest] += more[2]
    return tail, density, slope


def contour(alpha: float, x: Array) -> tuple[Array, Array, Array]:
    """Return P(X > x), p(x), -p'(x) for 0 < x < 20 by contour integration.

    Guarantees: relative error below 1e-13 for 1 < alpha < 2.

    >>> tail, density, slope = contour(1.5, np.array([0.5, 2.0]))
    >>> print(density.round(8))
    [0.26229684 0.08453962]
    """
    out = np.empty((3, x.size))
    for start in range(0, x.size, 1024):
        piece = np.arange(start, min(start + 1024, x.size))
        near = x[piece] < NEAR
        for part, way in ((piece[near], _by_ray), (piece[~near], _by_corner)):
            if part.size:
                out[:, part] = way(alpha, x[part])
    return out[0], out[1], out[2]


def central(law: StableLaw | CauchyLaw, y: Array) -> Array:
    """Return P(0 < Y < y) without cancellation, for every y."""
    short = y < 1.0
    nodes, weights = gauss(14)
    step = np.where(short, y, 0.0)[..., None]
    with np.errstate(under="ignore"):
        inner = (np.exp(law.log_density(step * nodes)) @ weights) * step[..., 0]
        return np.where(short, inner, 0.5 - np.exp(law.log_tail(np.where(short, 1.0, y))))


class CauchyLaw:
    """alpha = 1 in closed form: p(y) = 1/(pi (1 + y^2)); all arguments y >= 0, infinity allowed."""

    def log_density(self, y: Array) -> Array:
        """log p(y)."""
        small = y < 1e8
        with np.errstate(divide="ignore"):
            return -math.log(math.pi) - np.where(small, np.log1p(np.where(small, y, 0.0) ** 2), 2.0 * np.log(y))

    def log_tail(self, y: Array) -> Array:
        """log P(Y > y)."""
        with np.errstate(divide="ignore"):
            return np.log(np.arctan2(1.0, y)) - math.log(math.pi)

    def score(self, y: Array) -> Array:
        """-p'(y)/p(y) = 2 y/(1 + y^2)."""
        small = y < 1e8
        inner = np.where(small, y, 0.0)
        return np.where(small, 2.0 * inner / (1.0 + inner * inner), 2.0 / np.where(small, 1.0, y))

    def quantile(self, v: Array) -> Array:
        """Return the y with P(Y > y) = v, 0 < v <= 1/2."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(v > 0.25, np.tan(math.pi * (0.5 - v)), 1.0 / np.tan(math.pi * np.minimum(v, 0.25)))


class StableLaw:
    """1 < alpha < 2: local polynomials below x = 20, the series beyond; all arguments y >= 0, infinity allowed.

    The table holds log P(Y > y), log p(y) and score/y on pieces of length 1/8, each interpolated at 16 Chebyshev
    points.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        angle = math.pi * (np.arange(_ORDER) + 0.5) / _ORDER
        pieces = np.arange(int(FAR) * _PIECES)
        x = (pieces[:, None] + 0.5 * (1.0 + np.cos(angle))) / _PIECES
        tail, density, slope = (part.reshape(x.shape) for part in contour(alpha, x.ravel()))
        values = np.stack([np.log(tail), np.log(density), slope / (density * x)])
        to_chebyshev = 2.0 / _ORDER * np.cos(np.arange(_ORDER)[:, None] * angle)
        to_chebyshev[0] *= 0.5
        to_powers = np.zeros((_ORDER, _ORDER))
        for k in range(_ORDER):
            to_powers[: k + 1, k] = chebyshev.cheb2poly(np.eye(_ORDER)[k])[: k + 1]
        level = values[:, :, _ORDER // 2]  # only the difference from it is interpolated, which keeps round-off small
        coefficients = np.einsum("jk,fpk->fjp", to_chebyshev, values - level[:, :, None])
        # two products, because one product with both matrices multiplied would lose digits
        self._table = np.einsum("ij,fjp->fip", to_powers, coefficients)
        self._table[:, 0, :] += level
        # SaS paper, eq. (20) with its 1/k!: (-1)^(k+1) sin(k pi alpha/2) = sin(k pi (2-alpha)/2)
        n = np.arange(1, _TERMS + 1)
        lift = np.sin(0.5 * math.pi * n * (2.0 - alpha))
        self._series = (
            np.exp(special.gammaln(n * alpha + 1.0) - special.gammaln(n + 1.0) - special.gammaln(alpha + 1.0))
            * lift
            / lift[0]
        )
        self._log_first = math.log(math.gamma(alpha + 1.0) * lift[0] / math.pi)  # p(x) is about e^this x^(-alpha-1)
        self._k: Array = n.astype(np.float64)

    def _look_up(self, which: int, y: Array) -> Array:
        piece = (y * _PIECES).astype(np.intp)
        z = 2.0 * (y * _PIECES - piece) - 1.0
        rows = self._table[which]
        value = rows[-1].take(piece)
        for row in rows[-2::-1]:
            value = value * z + row.take(piece)
        return value

    def _far_sum(self, y: Array, factor: Array) -> Array:
        """Return the series in z = y^-alpha with each term multiplied by its factor; the first term is factor[0]."""
        with np.errstate(under="ignore"):
            return np.polynomial.polynomial.polyval(y**-self.alpha, self._series * factor)

    def _split(self, which: int, y: Array) -> Array:
        y = np.asarray(y, dtype=np.float64)
        flat = y.ravel()
        out = np.empty_like(flat)
        for start in range(0, flat.size, 16384):  # blocks that stay in the processor cache
            part, result = flat[start : start + 16384], out[start : start + 16384]
            near = part < FAR
            result[near] = self._look_up(which, part[near])
            result[~near] = self._far(which, part[~near])
        return out.reshape(y.shape)

    def _far(self, which: int, y: Array) -> Array:
        density = self._far_sum(y, np.ones(_TERMS))
        if which == 2:
            return self._far_sum(y, self._k * self.alpha + 1.0) / density / y
        if which == 1:
            return self._log_first + np.log(density) - (self.alpha + 1.0) * np.log(y)
        return self._log_first - math.log(self.alpha) + np.log(self._far_sum(y, 1.0 / self._k)) - self.alpha * np.log(y)

    def log_tail(self, y: Array) -> Array:
        """log P(Y > y)."""
        return self._split(0, y)

    def log_density(self, y: Array) -> Array:
        """log p(y)."""
        return self._split(1, y)

    def score(self, y: Array) -> Array:
        """-p'(y)/p(y)."""
        y = np.asarray(y, dtype=np.float64)
        return self._split(2, y) * np.where(y < FAR, y, 1.0)

    def quantile(self, v: Array) -> Array:
        """Return the y with P(Y > y) = v, 0 < v <= 1/2, by Newton's steps in log y inside a bracket."""
        centre = v > 0.25
        target = np.log(np.where(centre, 0.25, v))
        with np.errstate(over="ignore"):
            tail_like = np.exp((self._log_first - math.log(self.alpha) - target) / self.alpha)
        low, high = np.full_like(target, 0.25), 40.0 + 4.0 * tail_like
        y = np.clip(np.maximum(tail_like, 2.0 * np.sqrt(-target - 0.7)), low, high)
        # newton_roots does not fit: the steps are relative, and each element has its own stopping rule
        for _ in range(100):
            excess = self.log_tail(y) - target
            low, high = np.where(excess > 0.0, y, low), np.where(excess < 0.0, y, high)
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                step = excess / (y * np.exp(self.log_density(y) - self.log_tail(y)))
                new = y * np.exp(step)
            new = np.where((new >= low) & (new <= high), new, np.sqrt(low) * np.sqrt(high))
            done = (np.abs(excess) <= 4e-16 * (4.0 - target)) | (new == y)
            y = np.where(done, y, new)
            if done.all():
                break
        return self._polish_centre(np.where(centre, 0.0, y), v, centre)

    def _polish_centre(self, y: Array, v: Array, centre: NDArray[np.bool_]) -> Array:
        """Compute quantiles near the centre by solving P(0 < Y < y) = 1/2 - v, which is concave in y, from the left.

        The equation in log v does not work there, because log v has no digits of 1/2 - v.
        """
        if not centre.any():
            return y
        target = 0.5 - v[centre]
        inner = target / math.exp(float(self.log_density(np.zeros(()))))
        for _ in range(10):
            step = (target - central(self, inner)) / np.exp(self.log_density(inner))
            inner = inner + step
            if (np.abs(step) <= 1e-9 * inner).all():  # the next step would be below 1e-17
                break
        y[centre] = inner
        return y


@lru_cache(maxsize=64)
def law(alpha: float) -> StableLaw | CauchyLaw:
    """Return the law at scale 1 for 1 <= alpha < 2; its table is computed once for each alpha.

    >>> round(float(np.exp(law(1.5).log_tail(np.array(30.0)))), 12)
    0.001225830277
    """
    return CauchyLaw() if alpha == 1.0 else StableLaw(alpha)
