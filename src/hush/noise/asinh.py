"""Asinh: a smooth bell whose score is the inverse hyperbolic sine, Gaussian at the centre and exp(-kappa y log y) far
out.

In units of the scale, U(y) = kappa (y asinh y - sqrt(1 + y^2) + 1) and y = sinh u. The Mills ratio and its slope are

    R = integral over w > 0 of e^(-A) cosh(u + w) dw,      -R' = kappa times the integral of w e^(-A) cosh(u + w) dw,
    A = U(sinh(u + w)) - U(sinh u),

both of positive terms and entire in u: one Gauss rule sums them, and Chebyshev panels in u, made once per kappa,
repeat them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import positive, within
from hush.noise.family import Family, Reference, Shape
from hush.noise.log_concave import LogConcave
from hush.noise.smooth import crossing
from hush.numerics.ball import Ball, Tail, flint_module
from hush.numerics.logarithm import log_twofold
from hush.numerics.quadrature import gauss
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "Asinh", "crossing", "log_twofold"]

Array = NDArray[np.float64]

_ORDER, _WIDEST = 20, 1.5  # of a panel in u; the integrals vary with e^u
_END, _DEEPEST = (
    44.0,
    800.0,
)  # exponents that add nothing more to an integral, and beyond which densities are 0 in floats


@cache
def _chebyshev() -> tuple[Any, Any, Any, Any]:
    """Nodes on (-1, 1), values to coefficients, and the integrals of the interpolant from -1 to each node and to 1."""
    nodes = np.cos(np.pi * (np.arange(_ORDER) + 0.5) / _ORDER)
    fit = np.polynomial.chebyshev.chebvander(nodes, _ORDER - 1).T * (2.0 / _ORDER)
    fit[0] *= 0.5
    (points, weights), width = gauss(_ORDER), np.append(nodes, 1.0)[:, None] + 1.0
    inner = np.polynomial.chebyshev.chebvander(width * points - 1.0, _ORDER - 1)
    integrals = width * (np.einsum("j,ijk->ik", weights, inner) @ fit)
    return nodes, fit, integrals[:-1], integrals[-1]


@cache
def _rule(order: int) -> tuple[Array, Array]:
    """Gauss-Legendre on [0, 1] with full digits at the ends too, where the library's weights lose four: e^(-44 x)
    lives there.
    """
    x = slope = Twofold(np.polynomial.legendre.leggauss(order)[0])
    for _ in range(2):
        before, here = Twofold(1.0), x
        for k in range(2, order + 1):
            before, here = here, (x * here * (2.0 * k - 1.0) - before * (k - 1.0)) / k
        slope = (x * here - before) * order / (x * x - 1.0)
        x = x - here / slope
    return (x + 1.0).halved().value(), (1.0 / ((1.0 - x * x) * slope * slope)).value()


def _rise(kappa: float, u: Array, w: Array) -> tuple[Array, Array, Array]:
    """A = kappa (u (sinh v - sinh u) + (w sinh v - (cosh v - cosh u))), sinh v and cosh v at v = u + w; nothing
    cancels.
    """
    half, middle = 2.0 * np.sinh(0.5 * w), u + 0.5 * w
    sinh_gap, cosh_gap = half * np.cosh(middle), half * np.sinh(middle)
    sinh = np.sinh(u) + sinh_gap
    return kappa * (u * sinh_gap + (w * sinh - cosh_gap)), sinh, np.cosh(u) + cosh_gap


def _reach(kappa: float, u: Array, end: float) -> Array:
    """The w with A(w) = end: Newton's steps down from the least of four upper bounds (A is convex in w)."""
    cosh, cap = np.cosh(u), math.log1p(2.0 * end / kappa) + 1.0
    with np.errstate(divide="ignore"):
        by_slope = np.minimum(end / (kappa * u * cosh), np.log1p(math.sinh(cap) / np.sinh(u)))
    w = np.minimum(np.minimum(by_slope, np.sqrt(2.0 * end / (kappa * cosh))), cap)
    for _ in range(8):
        exponent, _, cosh = _rise(kappa, u, w)
        w = w - np.maximum(exponent - end, 0.0) / (kappa * (u + w) * cosh)
    return w


def _summands(kappa: float, u: Array, *, spare: int = 0) -> tuple[Array, Array, Array]:
    """Steps w, points sinh(u + w) and weights e^(-A) cosh(u + w) dw, along a first axis."""
    nodes, weights = _rule(spare + (40 if kappa >= 0.1 else 56))
    reach = _reach(kappa, u, _END)
    w = nodes[:, None] * reach
    exponent, sinh, cosh = _rise(kappa, u, w)
    return w, sinh, np.exp(-exponent) * cosh * (weights[:, None] * reach)


def _by_quadrature(kappa: float, u: Array) -> tuple[Array, Array]:
    """R and -R' at y = sinh u."""
    w, _, weights = _summands(kappa, u)
    return weights.sum(axis=0), kappa * (w * weights).sum(axis=0)


class _Law:
    """Everything that depends on kappa alone, at scale 1."""

    def __init__(self, kappa: float) -> None:
        _, y, weights = _summands(kappa, np.zeros(1), spare=24)  # second moments reach further
        self.kappa, self.centre = kappa, float(weights.sum())
        self.mean_abs = float((y * weights).sum()) / self.centre
        self.variance = float((y * y * weights).sum()) / self.centre
        self.fisher_information = kappa * float((weights / np.hypot(1.0, y)).sum()) / self.centre  # E U''
        end, edges = float(_reach(kappa, np.zeros(1), _DEEPEST)[0]), [0.0]
        while edges[-1] < end:
            edges.append(edges[-1] + min(_WIDEST, max(edges[-1], 1.0 / math.sqrt(1.0 + kappa))))
        self.edges, (nodes, fit, integrals, whole) = np.array(edges), _chebyshev()
        halves = 0.5 * np.diff(self.edges)[:, None]
        u = self.edges[:-1, None] + halves * (nodes + 1.0)
        ratio, slope = (part.reshape(u.shape) for part in _by_quadrature(kappa, u.ravel()))
        density = slope * np.cosh(u)  # -dR/du
        before = np.concatenate([[0.0], np.cumsum(halves[:, 0] * (density @ whole))])[:-1, None]
        fall = (before + halves * (density @ integrals.T)) / np.sinh(u)  # (R(0) - R(y))/y
        self.coefficients = [np.ascontiguousarray(fit @ values.T) for values in (ratio, slope, fall)]

    def _panels(self, which: int, u: Array) -> Array:
        """Clenshaw's sum on the panel of each u."""
        panel = np.minimum(np.searchsorted(self.edges, u, side="right") - 1, self.edges.size - 2)
        table, left = self.coefficients[which], self.edges[panel]
        x = 4.0 * (u - left) / (self.edges[panel + 1] - left) - 2.0
        one, two = table[-1][panel], np.zeros_like(u)
        for row in table[-2:0:-1]:
            one, two = row[panel] + x * one - two, one
        return table[0][panel] + 0.5 * x * one - two

    def at(self, which: int, u: Array) -> Array:
        """R, -R' or (R(0) - R)/y, from the panels and beyond them by quadrature."""
        inside = u <= self.edges[-1]
        out = self._panels(which, np.where(inside, u, 0.0))
        if not inside.all():
            ratio, slope = _by_quadrature(self.kappa, u[~inside])
            out[~inside] = (ratio, slope, (self.centre - ratio) / np.sinh(u[~inside]))[which]
        return out

    def drop(self, y: Array, d: Array) -> Array:
        """R(y) - R(y + d): subtracted where R falls a tenth or R(0) - R grows a tenth, else -R' is integrated."""
        there, u, v = y + d, np.arcsinh(y), np.arcsinh(y + d)
        lost = u > self.edges[-1]  # the density is 0 in floats there: the leading term of R, 1/U', will do
        if lost.any():
            out = (1.0 / np.maximum(u, self.edges[-1]) - 1.0 / np.maximum(v, self.edges[-1])) / self.kappa
            out[~lost] = self.drop(y[~lost], d[~lost])
            return out
        ratio, ratio_there = self.at(0, u), self.at(0, v)
        out = ratio - ratio_there
        tight = np.flatnonzero(ratio_there > 0.9 * ratio)
        if tight.size:
            fall, fall_there = y[tight] * self.at(2, u[tight]), there[tight] * self.at(2, v[tight])
            out[tight] = fall_there - fall
            tight = tight[fall_there < 1.1 * fall]
            out[tight] = self._drop_short(y[tight], d[tight])
        return out

    def _drop_short(self, y: Array, d: Array) -> Array:
        there, root, root_there = y + d, np.hypot(1.0, y), np.hypot(1.0, y + d)
        step = np.arcsinh(d / root * ((y + there) / (there + y * (root_there / root))))  # asinh(y + d) - asinh y
        nodes, weights = gauss(9)
        u = (np.arcsinh(y) + step * nodes[:, None]).ravel()
        return step * (weights @ (self.at(1, u) * np.cosh(u)).reshape(nodes.size, -1))


_law = lru_cache(maxsize=512)(_Law)


@dataclass(frozen=True)
class Asinh(LogConcave):
    """Asinh noise with shape 1e-6 <= kappa <= 1e8 and scale > 0: a bell with an x log x tail.

    f(x) proportional to exp(-kappa (y asinh y - sqrt(1 + y^2))), y = x/scale; the score is (kappa/scale)
    asinh(x/scale). A large kappa tends to Gaussian(scale/sqrt(kappa)); a small one looks like Laplace from the inside.

    Guarantees: exact delta for every shift, from the half line where the loss exceeds epsilon. This project's own
    family, made to follow the least-variance noise for many coordinates, whose score grows like a logarithm.

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
        return -math.log(2.0 * _law(self.kappa).centre) - self._energy(y)

    def unit_mills(self, y: Array) -> Array:
        y = np.asarray(y, dtype=np.float64)
        return _law(self.kappa).at(0, np.arcsinh(y.ravel())).reshape(y.shape)

    def unit_drop(self, y: Array, d: Array) -> Array:
        y, d = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(d, dtype=np.float64))
        return _law(self.kappa).drop(y.ravel(), d.ravel()).reshape(y.shape)

    def _newton(self, y: Array, epsilon: Array, shift: Twofold) -> tuple[Array, Array]:
        """epsilon - loss and the loss's slope at y, with the differences of asinh and of the roots in closed form."""
        a, b, d = y + float(shift.hi), np.abs(y), float(shift.hi)
        gap, total = d + 2.0 * np.minimum(y, 0.0), d + 2.0 * np.maximum(y, 0.0)  # a - b and a + b
        root_a, root_b = np.hypot(1.0, a), np.hypot(1.0, b)
        turn, low = np.arcsinh(gap / root_b * (total / (a + b * (root_a / root_b)))), np.arcsinh(b)
        loss = a * turn + gap * (low - total / (root_a + root_b))
        return epsilon - self.kappa * loss, self.kappa * np.where(y >= 0.0, turn, turn + 2.0 * low)

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        """The loss is concave in m = y + d/2 and at most d U'(m), so the m with d U'(m) = epsilon is at or before the
        root.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)
        start = np.sinh(np.minimum(epsilon / (self.kappa * float(d.hi)), 330.0)) - 0.5 * float(d.hi)
        return crossing(epsilon, d, np.asarray(start), self._newton, self._energy)

    def error_at(self, epsilon: Array, shift: float) -> float:
        """A tiny shift leaves the crossing to plain floats."""
        return self.relative_error if shift > 1e-6 * self.scale * _law(self.kappa).mean_abs else 1e-11

    @property
    def variance(self) -> float:
        return _law(self.kappa).variance * self.scale**2

    @property
    def mean_abs(self) -> float:
        return _law(self.kappa).mean_abs * self.scale

    @property
    def fisher_information(self) -> float:
        """E U''/scale^2, U'' = kappa/sqrt(1 + y^2)."""
        return _law(self.kappa).fisher_information / self.scale**2

    @property
    def slow_tail(self) -> bool:
        return True

    def scaled(self, k: float) -> Asinh:
        return self.scaled_by(k, "scale")


def _tail(noise: Asinh) -> Tail:
    """The integral of exp(-kappa (u sinh u - cosh u + 1)) cosh u over (asinh(x/scale), inf), over that from 0.

    The integrand is entire. Beyond the end W, with u sinh u - cosh u + 1 = e(u) convex and e'(u) = u cosh u, what is
    left out is the integral of exp(-kappa e) de/u <= exp(-kappa e(W))/(kappa W).
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


_CENTRE: dict[tuple[float, int], Ball] = {}


def _log_weight(noise: Asinh) -> Tail:
    return lambda x: -noise.kappa * (lambda y: y * y.asinh() - (1 + y * y).sqrt() + 1)(x / noise.scale)


FAMILY = Family(
    "asinh",
    Asinh,
    paper="this project",
    cites=("hush",),
    shape=Shape(lambda k: Asinh(k, 1.0), -6.0, 6.0, 0.25, lambda r: math.log(max(0.74 * (r - 0.84), 0.01))),
    tail=_tail,
    log_weight=_log_weight,
    reference=Reference(Asinh(1.0, 1.0), 0.5, 0.19697714957103828),
)
