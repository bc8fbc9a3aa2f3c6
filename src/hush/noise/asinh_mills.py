"""The Mills ratio of the asinh law at scale 1, its drops, and its moments.

With U(y) = kappa (y asinh y - sqrt(1 + y^2) + 1) and y = sinh u, the Mills ratio and its slope are

    R = integral over w > 0 of e^(-A) cosh(u + w) dw,      -R' = kappa times the integral of w e^(-A) cosh(u + w) dw,
    A = U(sinh(u + w)) - U(sinh u).

Both integrands are positive, and the integrals are entire functions of u. One Gauss rule computes them. Chebyshev
panels in u, computed once for each kappa, make later evaluations fast.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.quadrature import gauss
from hush.numerics.twofold import Twofold

__all__ = ["Mills", "shape_of", "sharp_gauss"]

Array = NDArray[np.float64]

_ORDER = 20  # points of the Chebyshev interpolation on a panel
_WIDEST = 1.5  # width of a panel in u; the integrals vary like e^u
_END = 44.0  # an integral ends at this exponent: e^-44 adds nothing to its value in floats
_DEEPEST = 800.0  # the panels end at this exponent: the density is 0 in floats beyond it


@cache
def _chebyshev() -> tuple[Any, Any, Any, Any]:
    """Return the Chebyshev nodes on (-1, 1) and three matrices that act on the values at the nodes.

    The first gives the coefficients of the interpolant, the second its integrals from -1 to each node, the third its
    integral from -1 to 1.
    """
    nodes = np.cos(np.pi * (np.arange(_ORDER) + 0.5) / _ORDER)
    fit = np.polynomial.chebyshev.chebvander(nodes, _ORDER - 1).T * (2.0 / _ORDER)
    fit[0] *= 0.5
    (points, weights), width = gauss(_ORDER), np.append(nodes, 1.0)[:, None] + 1.0
    inner = np.polynomial.chebyshev.chebvander(width * points - 1.0, _ORDER - 1)
    integrals = width * (np.einsum("j,ijk->ik", weights, inner) @ fit)
    return nodes, fit, integrals[:-1], integrals[-1]


@cache
def sharp_gauss(order: int) -> tuple[Array, Array]:
    """Return the Gauss-Legendre rule on [0, 1] with full accuracy at the ends.

    The weights of numpy lose four digits at the ends, and the mass of e^(-44 x) is at an end.
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
    """Return A, sinh v and cosh v at v = u + w, without cancellation.

    A = kappa (u (sinh v - sinh u) + (w sinh v - (cosh v - cosh u))).
    """
    half, middle = 2.0 * np.sinh(0.5 * w), u + 0.5 * w
    sinh_gap, cosh_gap = half * np.cosh(middle), half * np.sinh(middle)
    sinh = np.sinh(u) + sinh_gap
    return kappa * (u * sinh_gap + (w * sinh - cosh_gap)), sinh, np.cosh(u) + cosh_gap


def _reach(kappa: float, u: Array, end: float) -> Array:
    """Return the w with A(w) = end: Newton's steps down from the least of four upper bounds (A is convex in w)."""
    cosh, cap = np.cosh(u), math.log1p(2.0 * end / kappa) + 1.0
    with np.errstate(divide="ignore"):
        by_slope = np.minimum(end / (kappa * u * cosh), np.log1p(math.sinh(cap) / np.sinh(u)))
    w = np.minimum(np.minimum(by_slope, np.sqrt(2.0 * end / (kappa * cosh))), cap)
    for _ in range(8):
        exponent, _, cosh = _rise(kappa, u, w)
        w = w - np.maximum(exponent - end, 0.0) / (kappa * (u + w) * cosh)
    return w


def _summands(kappa: float, u: Array, *, spare: int = 0) -> tuple[Array, Array, Array]:
    """Return the steps w, the points sinh(u + w) and the weights e^(-A) cosh(u + w) dw, along the first axis.

    `spare` adds points to the rule.
    """
    nodes, weights = sharp_gauss(spare + (40 if kappa >= 0.1 else 56))
    reach = _reach(kappa, u, _END)
    w = nodes[:, None] * reach
    exponent, sinh, cosh = _rise(kappa, u, w)
    return w, sinh, np.exp(-exponent) * cosh * (weights[:, None] * reach)


def _by_quadrature(kappa: float, u: Array) -> tuple[Array, Array]:
    """Return R and -R' at y = sinh u."""
    w, _, weights = _summands(kappa, u)
    return weights.sum(axis=0), kappa * (w * weights).sum(axis=0)


class Mills:
    """The law at scale 1 for one kappa: moments, and panels for R, -R' and (R(0) - R)/y.

    `at(which, u)` evaluates them: which = 0 is R, 1 is -R', 2 is (R(0) - R)/y.
    """

    def __init__(self, kappa: float) -> None:
        _, y, weights = _summands(kappa, np.zeros(1), spare=24)  # the integrand of a second moment extends further
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
        """Evaluate the interpolant on the panel of each u, by Clenshaw's sum."""
        panel = np.minimum(np.searchsorted(self.edges, u, side="right") - 1, self.edges.size - 2)
        table, left = self.coefficients[which], self.edges[panel]
        x = 4.0 * (u - left) / (self.edges[panel + 1] - left) - 2.0
        one, two = table[-1][panel], np.zeros_like(u)
        for row in table[-2:0:-1]:
            one, two = row[panel] + x * one - two, one
        return table[0][panel] + 0.5 * x * one - two

    def at(self, which: int, u: Array) -> Array:
        """Return R, -R' or (R(0) - R)/y: from the panels, and by quadrature beyond them."""
        inside = u <= self.edges[-1]
        out = self._panels(which, np.where(inside, u, 0.0))
        if not inside.all():
            ratio, slope = _by_quadrature(self.kappa, u[~inside])
            out[~inside] = (ratio, slope, (self.centre - ratio) / np.sinh(u[~inside]))[which]
        return out

    def drop(self, y: Array, d: Array) -> Array:
        """Return R(y) - R(y + d).

        It is a difference of R where R falls by a tenth, a difference of R(0) - R where that grows by a tenth, and an
        integral of -R' otherwise.
        """
        there, u, v = y + d, np.arcsinh(y), np.arcsinh(y + d)
        lost = u > self.edges[-1]  # the density is 0 in floats there: the leading term of R, 1/U', is enough
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


@lru_cache(maxsize=512)
def shape_of(kappa: float) -> Mills:
    """Return the law at scale 1; its panels are computed once for each kappa."""
    return Mills(kappa)
