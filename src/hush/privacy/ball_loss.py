"""The privacy loss of ball noise: delta(epsilon) as the integral of an entire function, with a proved error.

Let the density be proportional to exp(-|x|_2/s) in d >= 2 dimensions and let the vector move by m. With a = m/s,
z = a/2 and v = (|x - m| - |x|)/m, the loss is a v. In the coordinates v and w = (|x - m| + |x|)/m the measure is
(w^2 - v^2) ((w^2 - 1)(1 - v^2))^((d - 3)/2) dw dv. The integral over w gives Bessel functions, so v = cos theta has
the density

    e^k exp(z cos theta) sin(theta)^(d - 2) (1 + p sin(theta)^2),      p = z K_n(z)/((d - 1) K_(n+1)(z)),
    e^k = z (z/2)^n K_(n+1)(z)/(root(pi) Gamma(n + 1/2)),              n = (d - 2)/2,

and delta(a cos t) is the integral over (0, t) of that density times 1 - exp(-a (cos theta - cos t)). The proof is in
docs/maths/ball.md.

Quadrature. The integrand is entire, so the error of the Gauss rule of N points on a panel is at most
(64/15) h M rho^(-2N)/(1 - rho^-2), where h is half the width of the panel and M bounds the integrand on the ellipse
with the sum of semi-axes rho h around it. M follows from |sin|^2 = sin(x)^2 + sinh(y)^2 and |sinh u| <= |u| cosh(Re u),
in slices of the ellipse. Panels are halved until this bound is small; whatever remains is part of the bracket. All
terms of the sums are positive, so their rounding is bounded by the sizes of their exponents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.numerics.ball import flint_module, precision
from hush.numerics.root import halved
from hush.numerics.rounding import FEW_ROUNDINGS, SPARE, UNIT, down, next_up, up

__all__ = ["BallLoss"]

Array = NDArray[np.float64]

_NODES = 48
_FALLEN = 50.0  # the integrand is cut where it is e^-50 of its largest value
_GOAL = 1e-15  # of the bound on the error of a panel, relative to the integral
_DEEPEST = 40  # halvings of a panel
_MOST_PANELS = 1 << 16  # after that, no panel is halved any more; the bracket is then wider
_FURTHEST = 1e6  # moves of more scales than this: delta is then only known to be at most 1 below the pure epsilon
_BLOCK = 2048  # integrals at a time
_RATIOS = (1.6, 2.6, 4.5, 9.0)  # rho of the ellipses that are tried
_SLICES = 16  # of the upper half of an ellipse
_TINY = 5e-324


@cache
def _gauss() -> tuple[Array, Array, Array]:
    """Nodes on [0, 1], one minus the nodes, and weights; each rounded correctly."""
    arb = flint_module().arb
    with precision(128):
        roots = [arb.legendre_p_root(_NODES, k, weight=True) for k in range(_NODES)]
        below = np.array([float((1 - x) / 2) for x, _ in roots])
        return below, np.array([float((1 + x) / 2) for x, _ in roots]), np.array([float(w / 2) for _, w in roots])


@dataclass(frozen=True)
class BallLoss:
    """The loss of ball noise in `dimension` >= 2 numbers that move by `ratio` scales in the l2 norm."""

    dimension: int
    ratio: float

    @property
    def _z(self) -> float:
        return 0.5 * self.ratio

    def constants(self) -> tuple[Any, Any]:
        """k and p of the module docstring as balls, at the current precision."""
        arb = flint_module().arb
        z, n, half = arb(self.ratio) / 2, arb(self.dimension - 2) / 2, arb(1) / 2
        above = z.bessel_k(n + 1)
        log_mass = (z * above).log() + n * (z / 2).log() - arb.pi().log() / 2 - (n + half).lgamma()
        return log_mass, z * z.bessel_k(n) / ((self.dimension - 1) * above)

    @cached_property
    def _floats(self) -> tuple[float, float]:
        """k and p, each within one rounding."""
        for bits in (128, 512, 4096):
            with precision(bits):
                k, p = self.constants()
                if k.is_finite() and p.is_finite() and k.rad() < 2.0**-60 and p.rad() < p * 2.0**-60:
                    return float(k), float(p)
        raise NotCertified(f"the Bessel functions of {self} are not accurate; please report the parameters.")

    def divergence(self, order: float) -> float:
        """The Renyi divergence of an order >= 1, rounded up: E e^((order - 1) L) is a sum of two Bessel functions."""
        for bits in (192, 1024, 8192):
            with precision(bits + 4 * math.ceil(min(self.ratio * order, 1e5))):
                found = self._divergence_ball(flint_module().arb(order))
                if found.is_finite() and found.rad() < found * 2.0**-55:
                    return next_up(float(found.upper()))
        return math.inf

    def _divergence_ball(self, order: Any) -> Any:
        """log(E)/(order - 1), or E L for order 1. B_n(y), the integral of e^(y v)(1 - v^2)^(n - 1/2) over (-1, 1), is
        root(pi) Gamma(n + 1/2) (2/y)^n I_n(y), and its derivative has I_(n+1) in the place of I_n.
        """
        arb = flint_module().arb
        log_mass, p = self.constants()
        z, n = arb(self.ratio) / 2, arb(self.dimension - 2) / 2
        y, further = (2 * order - 1) * z, 1 if order == 1 else 0

        def integral(n: Any) -> Any:
            return arb.pi().sqrt() * (n + arb(1) / 2).gamma() * (2 / y) ** n * y.bessel_i(n + further)

        mean = log_mass.exp() * (integral(n) + p * integral(n + 1))
        return 2 * z * mean if order == 1 else mean.log() / (order - 1)

    # -- delta -----------------------------------------------------------------------------------------------

    def delta(self, epsilon: Array, *, upper: bool) -> Array:
        """An upper or a lower bound on delta at epsilon >= 0."""
        flat, a = np.asarray(epsilon, dtype=np.float64).ravel(), self.ratio
        out = np.zeros(flat.shape)
        inside = np.flatnonzero(flat < a)
        if a > _FURTHEST:
            out[inside] = 1.0 if upper else 0.0
            return out.reshape(np.shape(epsilon))
        for part in np.array_split(inside, max(1, math.ceil(inside.size / _BLOCK))):
            if part.size:
                angle = 2.0 * np.arcsin(np.sqrt(0.5 * ((a - flat[part]) / a)))
                # a wider angle belongs to a smaller epsilon, where delta is larger
                out[part] = self._bound(up(angle, FEW_ROUNDINGS) if upper else down(angle, FEW_ROUNDINGS), upper)
        return out.reshape(np.shape(epsilon))

    def _bound(self, angle: Array, upper: bool) -> Array:
        """The bound at epsilon = a cos(angle)."""
        start, cut = self._start(angle)
        total, error = self._integrals(angle, start)
        if upper:
            return np.clip(next_up(up(total + error + cut, FEW_ROUNDINGS)), _TINY, 1.0)
        return np.clip(down(total - error, FEW_ROUNDINGS), 0.0, 1.0)

    def _exponent(self, theta: Array) -> Array:
        """z cos theta + (d - 2) log sin theta, which rises up to its only peak."""
        with np.errstate(divide="ignore"):
            return self._z * np.cos(theta) + ((self.dimension - 2) * np.log(np.sin(theta)) if self.dimension > 2 else 0)

    def _start(self, angle: Array) -> tuple[Array, Array]:
        """Where integrals begin, and a bound on what lies before it: the density rises there."""
        k, p = self._floats
        spare = self.dimension - 2.0
        if not spare:
            return np.zeros_like(angle), np.zeros_like(angle)
        sum_of_sides = spare + math.hypot(spare, 2.0 * self._z)  # at the peak (d - 2) cos = z sin^2
        peak = math.atan2(math.sqrt(2.0 * spare * sum_of_sides), 2.0 * self._z)
        top = np.minimum(angle, down(peak, FEW_ROUNDINGS))
        level = self._exponent(top) - _FALLEN
        start, _ = halved(lambda theta: self._exponent(theta) >= level, np.zeros_like(top), top, turns=24)
        drop = 2.0 * np.sin(0.5 * angle) ** 2  # 1 - cos(angle)
        with np.errstate(under="ignore"):
            before = start * np.exp(k + self._exponent(start)) * (1.0 + p * np.sin(start) ** 2)
            return start, up(before * -np.expm1(-self.ratio * drop), SPARE)

    def _integrals(self, angle: Array, start: Array) -> tuple[Array, Array]:
        """The integrals from `start` to `angle`, and bounds on their errors."""
        total, error = np.zeros_like(angle), np.zeros_like(angle)
        of, left, right = np.arange(angle.size), start, angle
        for turn in range(_DEEPEST):
            value, rounding = self._sums(angle[of], left, right)
            missed = self._missed(angle[of], left, right)
            whole = total + np.bincount(of, value, angle.size)
            last = turn + 1 == _DEEPEST or of.size > _MOST_PANELS
            rough = np.zeros(of.size, dtype=bool) if last else missed > _GOAL * whole[of] + _TINY
            done = ~rough
            total += np.bincount(of[done], value[done], angle.size)
            error += np.bincount(of[done], (rounding + missed)[done], angle.size)
            if not rough.any():
                break
            middle = 0.5 * (left + right)[rough]
            of = np.concatenate([of[rough], of[rough]])
            left, right = np.concatenate([left[rough], middle]), np.concatenate([middle, right[rough]])
        return total, error

    def _sums(self, angle: Array, left: Array, right: Array) -> tuple[Array, Array]:
        """The Gauss sums of panels, and bounds on their rounding."""
        below, above, weights = _gauss()
        k, p = self._floats
        z, spare = self._z, self.dimension - 2.0
        width = right - left
        theta = left[:, None] + width[:, None] * below
        rest = (angle - right)[:, None] + width[:, None] * above  # angle - theta
        drop = 2.0 * np.sin(0.5 * (angle[:, None] + theta)) * np.sin(0.5 * rest)  # cos theta - cos angle
        sine = np.sin(theta)
        with np.errstate(under="ignore", divide="ignore"):
            fall = -np.log(sine) if spare else np.zeros_like(sine)
            terms = np.exp(k + z * np.cos(theta) - spare * fall) * (
                (1.0 + p * sine * sine) * -np.expm1(-2.0 * z * drop)
            )
        size = 4.0 * (z + abs(k) + spare * (1.0 + fall)) + 100.0
        terms *= weights * width[:, None]
        return terms.sum(axis=1), UNIT * (terms * size).sum(axis=1)

    def _missed(self, angle: Array, left: Array, right: Array) -> Array:
        """A bound on the error of the Gauss rule on each panel: the least over a few ellipses."""
        half, found = 0.5 * (right - left), np.full(left.shape, np.inf)
        for ratio in _RATIOS:
            log_most = self._largest(angle, left, half, ratio)
            log_rate = math.log(64.0 / 15.0) - 2.0 * _NODES * math.log(ratio) - math.log1p(-(ratio**-2))
            with np.errstate(over="ignore", under="ignore"):
                found = np.minimum(found, 2.0 * half * np.exp(log_most + log_rate))  # doubled, for its own rounding
        return found

    def _largest(self, angle: Array, left: Array, half: Array, ratio: float) -> Array:
        """log of a bound on the absolute value of the integrand on the ellipse around each panel."""
        k, p = self._floats
        z, spare = self._z, self.dimension - 2.0
        turn = np.linspace(0.0, math.pi, _SLICES + 1)  # an even number of slices: the highest point ends a slice
        x = (left + half)[:, None] + half[:, None] * (0.5 * (ratio + 1.0 / ratio) * np.cos(turn))
        y = half[:, None] * np.abs(0.5 * (ratio - 1.0 / ratio) * np.sin(turn))
        right, low = x[:, :-1], x[:, 1:]
        high_y, low_y = np.maximum(y[:, :-1], y[:, 1:]), np.minimum(y[:, :-1], y[:, 1:])
        far, near = np.cosh(high_y), np.cosh(low_y)
        most, least = _cosine_range(low, right)
        level = np.cos(angle)[:, None]
        real = np.maximum(
            most * np.where(most > 0.0, far, near) - level, level - least * np.where(least < 0.0, far, near)
        )
        squared = np.minimum(_sine_bound(low, right) + np.sinh(high_y) ** 2, far**2)
        reach = [
            np.hypot(np.maximum(np.abs(low + s), np.abs(right + s)), high_y) for s in (angle[:, None], -angle[:, None])
        ]
        gap = 2.0 * np.sinh(0.5 * reach[0]) * np.sinh(0.5 * reach[1])
        with np.errstate(divide="ignore"):
            log_bound = z * (level + np.maximum(real, 0.0)) + np.log(2.0 * z * gap) + 0.5 * spare * np.log(squared)
        return k + (log_bound + np.log1p(p * squared)).max(axis=1)


def _cosine_range(low: Array, high: Array) -> tuple[Array, Array]:
    """The largest and the least cosine between two numbers."""
    ends, turn = (np.cos(low), np.cos(high)), 2.0 * math.pi
    top = np.floor(low / turn) != np.floor(high / turn)
    bottom = np.floor((low + math.pi) / turn) != np.floor((high + math.pi) / turn)
    return np.where(top, 1.0, np.maximum(*ends)), np.where(bottom, -1.0, np.minimum(*ends))


def _sine_bound(low: Array, high: Array) -> Array:
    """The largest squared sine between two numbers."""
    peak = np.floor(low / math.pi + 0.5) != np.floor(high / math.pi + 0.5)
    return np.where(peak, 1.0, np.maximum(np.sin(low) ** 2, np.sin(high) ** 2))
