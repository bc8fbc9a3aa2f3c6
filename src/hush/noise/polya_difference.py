"""The difference of two Polya (negative binomial) counts of any shape: a share of discrete Laplace noise, or a sum of
such shares.

With q = e^(-step/scale) and shape r the generating function is ((1 - q)^2/((1 - q z)(1 - q/z)))^r. For r < 1 a contour
around the cut gives its coefficients as a mixture of geometric ones, for k >= 0,

    p(k) = (1 - q)^(2r) q^k (sin(pi r)/pi) int_0^inf e^(-(k + r) t) ((1 - q^2 e^(-t)) (1 - e^(-t)))^(-r) dt,

which is an integral of a positive function. Raising the shape by 1 is a convolution with the two-sided geometric law:
two running sums. For large shapes these sums overflow. The ratios rho_k = p(k)/p(k-1) are then computed from large k
downwards, as for the Skellam law, by the recursion that z d/dz of the generating function gives,

    q (k - 1 + r) p(k-1) = (1 + q^2) k p(k) - q (k + 1 - r) p(k+1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, Unsupported, positive
from hush.noise.divisible import shape_of
from hush.noise.family import Counts, Family
from hush.noise.lattice import MOST_POINTS, Lattice
from hush.numerics.ball import Ball, flint_module
from hush.numerics.quadrature import gauss
from hush.numerics.rounding import CLOSED_FORM, rounded_up, up

__all__ = ["FAMILY", "PolyaDifference"]

Array = NDArray[np.float64]

_MOST_SHAPE = 4096.0  # the largest shape; beyond it the law is practically Gaussian
_FEW_SHAPES = 32.0  # the largest shape computed by running sums: (4 10^6)^32/32! does not overflow
_ULP = float(np.finfo(np.longdouble).eps)


@dataclass(frozen=True)
class PolyaDifference(Lattice):
    """step (N - N') with N, N' independent negative binomial counts of shape r > 0.

    P(N = k) = Gamma(r + k)/(Gamma(r) k!) (1 - q)^r q^k, q = e^(-step/scale).

    Guarantees: shapes add up under independent sums, and shape 1 is the discrete Laplace law of the same scale (the
    generating function is a power). The law is symmetric and unimodal for every shape. For r <= 1 the probabilities a
    of a count fall and are log-convex, so p(k) = sum a_j a_(j+k) falls and is log-convex for k >= 0, and the loss is
    largest at 0: the pure epsilon is log p(0)/p(n). For r >= 1 all these sequences are log-concave and the pure epsilon
    is shift/scale.

    >>> noise = PolyaDifference(0.1, 2.0)
    >>> round(noise.variance / PolyaDifference(1.0, 2.0).variance, 12)
    0.1
    """

    shape: float
    scale: float
    step: float = 1.0

    def __post_init__(self) -> None:
        for name in ("shape", "scale", "step"):
            object.__setattr__(
                self, name, positive(name, getattr(self, name), "write PolyaDifference(0.01, 20.0, step=1.0)")
            )
        if self.shape > _MOST_SHAPE:
            raise Unsupported(
                f"shape must not be more than {_MOST_SHAPE:g}, got {self.shape:g}; use Skellam or Gaussian noise."
            )
        if self.points > MOST_POINTS:
            least = self.scale * 800.0 / MOST_POINTS
            raise Unsupported(
                f"a lattice of step {self.step:g} is too fine for scale {self.scale:g}; "
                f"use a step of at least {rounded_up(least, 3)}."
            )

    @property
    def _fall(self) -> float:
        """-log q."""
        return self.step / self.scale

    @property
    def points(self) -> int:
        """The length of the table: p(k) underflows beyond. For r > 1 it falls like (k + 1)^r times a geometric law."""
        if self.shape > _FEW_SHAPES:
            return self._reach(750.0)
        reach = 750.0
        for _ in range(3):
            reach = 750.0 + max(self.shape - 1.0, 0.0) * math.log1p(reach / min(self._fall, 1.0)) * (1.0 + self._fall)
        return int(reach / self._fall) + 2

    def _reach(self, depth: float) -> int:
        """Return a k with log P(X >= k) < -depth, by Chernoff's bound at the best of a few tilts."""
        tilts = self._fall * np.append(np.arange(1, 40) / 40.0, 1.0 - 2.0 ** -np.arange(6.0, 27.0))
        one_less = math.log(-math.expm1(-self._fall))
        moments = 2.0 * one_less - np.log(-np.expm1(tilts - self._fall)) - np.log(-np.expm1(-tilts - self._fall))
        return math.ceil(float(np.min((depth + self.shape * moments) / tilts))) + 2

    @cached_property
    def _log_table(self) -> Array:
        """log p(k) for k = 0, 1, 2, ...; it is checked that they sum to 1 and that the variance is the exact one."""
        found = self._by_ratios() if self.shape > _FEW_SHAPES else self._by_sums()
        with np.errstate(under="ignore"):
            mass = np.exp(found)
        off = abs(mass[0] + 2.0 * math.fsum(mass[1:]) - 1.0)
        spread = 2.0 * math.fsum(mass * np.arange(mass.size, dtype=np.float64) ** 2) * self.step**2 / self.variance
        if not (off < 1e-11 and abs(spread - 1.0) < 1e-9):
            raise NotCertified(
                f"the probabilities of {self} could not be computed (their sum differs from 1 by {off:.1g}); "
                "use Skellam noise."
            )
        return found

    def _by_ratios(self) -> Array:
        """Return log p(k) from ratios, computed from far beyond the table downwards; errors shrink with every step."""
        r, one = np.longdouble(self.shape), np.longdouble(1.0)
        q = np.exp(-np.longdouble(self.step) / np.longdouble(self.scale))
        centre, last = one + q * q, self.points
        ratios, ratio = np.empty(last, dtype=np.longdouble), q
        for k in range(self._reach(900.0) + math.ceil(60.0 / self._fall), 0, -1):
            ratio = q * (k - one + r) / (centre * k - q * (k + one - r) * ratio)
            if k <= last:
                ratios[k - 1] = ratio
        logs = np.append(np.longdouble(0.0), np.cumsum(np.log(ratios)))
        with np.errstate(under="ignore"):
            return (logs - np.log(one + 2.0 * np.sum(np.exp(logs[1:])))).astype(np.float64)

    def _by_sums(self) -> Array:
        """Return log p(k) from the law of the fractional part of the shape and running sums for its whole part."""
        k = np.arange(self.points + 1, dtype=np.float64)
        whole, part = divmod(self.shape, 1.0)
        values, turns = (np.ones(k.size), int(whole) - 1) if part == 0.0 else (self._fractional(part), int(whole))
        # for part 0 start at shape 1: its coefficients are q^k/(1 - q^2); the factor q^k is added at the end
        log_constant = -math.log(-math.expm1(-2.0 * self._fall)) if part == 0.0 else 0.0
        for _ in range(turns):
            values, grown = self._one_shape_more(values)
            log_constant += grown
        one_less = math.log(-math.expm1(-self._fall))
        return np.log(values) + log_constant - k * self._fall + 2.0 * self.shape * one_less

    def _fractional(self, r: float) -> Array:
        """Return p(k)/(q^k (1 - q)^(2r)) for 0 < r < 1.

        The integral uses Gauss-Jacobi at the singular end and Gauss-Legendre on octaves beyond.
        """
        from scipy.special import roots_jacobi

        spread = -math.expm1(-2.0 * self._fall)  # 1 - q^2
        first = 0.25 * min(1.0 / (self.points + 2.0), spread)
        nodes, weights = roots_jacobi(24, 0.0, -r)
        inner = 0.5 * first * (1.0 + nodes)
        jacobi = weights * (0.5 * first) ** (1.0 - r) * (-np.expm1(-inner) / inner) ** -r
        octaves = first * 2.0 ** np.arange(math.ceil(math.log2(60.0 / (r * first))) + 1)
        at, weight = gauss(20)
        outer = (octaves[:, None] * (1.0 + at)).ravel()
        with np.errstate(under="ignore"):
            legendre = (octaves[:, None] * weight).ravel() * (-np.expm1(-outer)) ** -r
        t, mass = np.concatenate([inner, outer]), np.concatenate([jacobi, legendre])
        mass = (
            mass
            * np.exp(-r * t)
            * (spread - math.exp(-2.0 * self._fall) * np.expm1(-t)) ** -r
            * math.sin(math.pi * min(r, 1.0 - r))
            / math.pi
        )
        mass *= np.where(mass > 0.0, 1.0, 0.0)
        return _mixture(self.points + 1, t, mass)

    def _one_shape_more(self, u: Array) -> tuple[Array, float]:
        """Return the convolution of q^|k| u with q^|k|/(1 - q^2), as a new u and the log of a separated factor."""
        from scipy.signal import lfilter

        square = math.exp(-2.0 * self._fall)
        # for j > k: the sum of u_j q^(2 (j - k)), backwards; for j <= k: the sum of u_j, and the part with j < 0
        beyond = square * np.append(lfilter([1.0], [1.0, -square], u[:0:-1])[::-1], u[-1] / (1.0 - square) * square)
        total = np.cumsum(u) + beyond[0] + beyond
        top = float(total.max())
        return total / top, math.log(top) - math.log(-math.expm1(-2.0 * self._fall))

    @cached_property
    def masses(self) -> Array:
        with np.errstate(under="ignore"):
            return np.exp(self._log_table[: self.points])

    def log_mass(self, k: Array) -> Array:
        last = self._log_table.size - 1.0
        inside = self._log_table[np.minimum(k, last).astype(np.int64)]
        # beyond the table, where p(k) underflows, continue geometrically
        return inside - np.maximum(k - last, 0.0) * self._fall

    @property
    def _unsure(self) -> float:
        """A bound on the error of the losses. Losses are raised by it, so that delta is an upper bound.

        The error of a logarithm near -745 is one or two units in the last place.
        """
        ratios = 4.0 * _ULP * self.points if self.shape > _FEW_SHAPES else 0.0  # one rounding for each ratio
        return 4e-16 * (800.0 + abs(float(self._log_table[0]))) + ratios

    def error_at(self, epsilon: Array, shift: float) -> Array:
        """Return the relative change of delta if the losses were lowered by their error instead of raised."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        region = self.exceeds(epsilon, shift)
        high, low = (self.surplus(region, epsilon + moved, shift) for moved in (0.0, 2.0 * self._unsure))
        return np.minimum(
            self.relative_error + np.where(high > 0.0, (high - low) / np.where(high > 0.0, high, 1.0), 1.0), 1.0
        )

    @lru_cache(maxsize=64)  # noqa: B019 - the class is frozen, and its table is kept as long as the cache
    def losses(self, n: int) -> tuple[Array, Array]:
        k = np.arange(n // 2, -self.points, -1, dtype=np.float64)
        loss = self.log_mass(np.abs(k)) - self.log_mass(np.abs(k - n))
        return loss + self._unsure, self.masses[np.abs(k).astype(np.int64)]

    @property
    def variance(self) -> float:
        """2 r q step^2/(1 - q)^2."""
        return self.shape * (self.step / math.sinh(0.5 * self._fall)) ** 2 / 2.0

    def scaled(self, k: float) -> PolyaDifference:
        return self.scaled_by(k, "scale", "step")

    def power(self, ratio: Fraction, *, upwards: bool = True) -> PolyaDifference:
        return PolyaDifference(shape_of(Fraction(self.shape) * ratio, upwards=upwards), self.scale, self.step)

    def max_loss(self, shift: float) -> float:
        n = self.steps_in(shift)
        if self.shape >= 1.0:
            return up(n * self.step / self.scale, CLOSED_FORM)
        return float(self.log_mass(np.zeros(())) - self.log_mass(np.asarray(float(n)))) + 1e-12


def _mixture(count: int, t: Array, mass: Array) -> Array:
    """Return the sum over i of mass_i e^(-k t_i) for k = 0, ..., count - 1."""
    out = np.empty(count)
    size = max(1, 2_000_000 // t.size)
    with np.errstate(under="ignore"):
        for start in range(0, count, size):
            k = np.arange(start, min(start + size, count), dtype=np.float64)
            live = t * start < 750.0
            out[start : start + k.size] = np.exp(-k[:, None] * t[live]) @ mass[live]
    return out


def _counts(noise: PolyaDifference) -> Counts:
    """Return P(N > k) = 1 - I_(1-q)(r, k + 1) of a negative binomial count, a regularised incomplete beta function."""
    from scipy.special import betaincc

    r, per_step = noise.shape, noise.step / noise.scale

    def ball(k: int) -> Ball:
        arb = flint_module().arb
        fall = arb(noise.step) / noise.scale
        return 1 - (-(-fall).expm1()).beta_lower(arb(noise.shape), arb(k + 1), 1)

    return Counts(lambda k: betaincc(r, k + 1.0, -math.expm1(-per_step)), ball)


FAMILY = Family(
    "polya_difference",
    PolyaDifference,
    paper="Goryczka and Xiong 2017",
    cites=("goryczka2017",),
    ranked=False,
    counts=_counts,
    divisible=True,
    public=False,
)
