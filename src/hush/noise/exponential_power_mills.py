"""The Mills ratio of the exponential power law, its drops, and powers in twofold precision.

In units of the scale, with z = y^p and a = 1/p, the Mills ratio is R(y) = e^z Gamma(a, z)/p. Two formulas give it and
its drops without cancellation. Every drop has a factor p - 1; it is computed separately, so that p -> 1 costs no
digits.

    y <= 1   R(0) - R(y) = y sum_k z^k/(1 + a)_k (1 - g_k y^(p-1)),   g_k = Gamma(k + 1 + a)/Gamma(k + 2) <= 1
    y >= 1   R(y) = y/(p A_0),  A_n = z + (n + 1 - a)/B_n,  B_n = 1 + (n + 1)/A_(n+1)           (Legendre's fraction)

The first formula combines the series of e^z Gamma(1 + a) and of the lower incomplete gamma function, power by power. In
the second, the differences of A and B between two points obey a recursion of positive terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.numerics.arrays import distinct
from hush.numerics.logarithm import PARTS, log_twofold, split
from hush.numerics.quadrature import gauss
from hush.numerics.twofold import Twofold

__all__ = ["Mills", "power", "shape_of"]

Array = NDArray[np.float64]

_TERMS = 24  # terms of the series for z <= 1
#: From each z in _FROM on, the number of levels in _LEVELS keeps the relative error of R and its drops below 1e-15
#: (measured against 40 digits).
_FROM = np.array([1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 24.0, 50.0, 140.0, 1e3, 1e5])
_LEVELS = np.array([80, 55, 40, 28, 22, 15, 11, 8, 6, 4, 3, 2, 1])


@cache
def _powers() -> tuple[Twofold, Twofold]:
    """Return 2^(j/64) for j = 0 ... 63, and log(2)/64."""
    with localcontext() as context:
        context.prec = 40
        part = Decimal(2).ln() / PARTS
        return split([(part * j).exp() for j in range(PARTS)]), split([part])[0]


def power(y: Twofold, p: float) -> Twofold:
    """Return y^p for y >= 0 to about 26 digits; the result is 0 for y < 1e-290, and at most about 1e300."""
    if p == 1.0:
        return y
    if p == 2.0:
        return y * y
    powers, part = _powers()
    some = y.hi > 1e-290
    x = log_twofold(y.where(some, 1.0)) * p
    x = x.where(x.hi < 690.0, 690.0)
    some = some & (x.hi > -700.0)
    x = x.where(some, 0.0)
    k = np.rint(x.hi / float(part.hi))
    r = x - part * k
    t = r.hi
    rest = (
        t
        * t
        * (1.0 / 24.0 + t * (1.0 / 120.0 + t * (1.0 / 720.0 + t * (1.0 / 5040.0 + t * (1.0 / 40320.0 + t / 362880.0)))))
    )
    growth = r + r * r * (r / 6.0 + rest + 0.5)
    whole, j = np.divmod(k.astype(np.int64), PARTS)
    value = powers[j] + powers[j] * growth
    return Twofold(np.where(some, np.ldexp(value.hi, whole), 0.0), np.where(some, np.ldexp(value.lo, whole), 0.0))


def _log_gamma_below_one(q: float) -> float:
    """Return log Gamma(1 - q) for 0 <= q < 1, with a small relative error as q -> 0."""
    if q > 0.25:
        return math.lgamma(1.0 - q)
    k = np.arange(2.0, 32.0)
    return math.fsum([np.euler_gamma * q, *(special.zeta(k) * q**k / k)])


@dataclass(frozen=True)
class Mills:
    """The constants of one p: h = p - 1, q = 1 - 1/p, R(0) (`centre`), and coefficients of the series for y <= 1."""

    p: float
    h: float
    q: float
    centre: float
    lead: tuple[float, float]
    flat: tuple[float, ...]
    steep: tuple[float, ...]

    def _factors(self, y: Array) -> tuple[Array, Array, Array]:
        """Return w = y^(p-1) - 1, z = y^p and E(y) = (R(0) - R(y))/y by the series, for y <= 1.

        It uses 1 - g y^(p-1) = (1 - g) - g w.
        """
        with np.errstate(divide="ignore", under="ignore"):
            w = np.expm1(self.h * np.log(y)) if self.h else np.zeros_like(y)
            z = y * (1.0 + w)
            flat, steep = np.full_like(z, self.flat[-1]), np.full_like(z, self.steep[-1])
            for u, v in zip(self.flat[-2::-1], self.steep[-2::-1], strict=True):
                flat, steep = flat * z + u, steep * z + v
        return w, z, flat - w * steep

    def fall(self, y: Array) -> Array:
        """Return R(0) - R(y) for y <= 1."""
        return y * self._factors(y)[2]

    def slope(self, y: Array) -> Array:
        """Return -R'(y) = 1 - U'(y) R(y) = (1 - Gamma(a) y^(p-1)) + p z E(y)."""
        w, z, ratio = self._factors(y)
        return self.lead[0] - self.lead[1] * w + self.p * z * ratio

    def mills(self, y: Array) -> Array:
        out, near = np.empty_like(y), y <= 1.0
        out[near] = self.centre - self.fall(y[near])
        far, part = y[~near], np.empty_like(y[~near])
        z = _plain_power(far, self.p)
        for band, levels in _bands(z):
            part[band] = far[band] / self.p / self._fraction(z[band], np.zeros(()), levels)[0]
        out[~near] = part
        return out

    def drop(self, y: Array, d: Array) -> Array:
        """Return R(y) - R(y + d): the part of the step below 1 plus the part above, both positive."""
        out = np.zeros_like(y)
        if self.h == 0.0:
            return out
        near = y < 1.0
        out[near] = self._drop_near(y[near], np.minimum(d, 1.0 - y)[near])
        rest = np.where(near, (y - 1.0) + d, d)
        far = rest > 0.0
        out[far] += self._drop_far(np.maximum(y[far], 1.0), rest[far])
        return out

    def _drop_near(self, y: Array, d: Array) -> Array:
        out, wide = np.empty_like(y), d >= 0.25 * y
        out[wide] = self.fall(y[wide] + d[wide]) - self.fall(y[wide])
        start, step, (nodes, weights) = y[~wide], d[~wide], gauss(9)
        out[~wide] = step * (weights @ self.slope(start + step * nodes[:, None]))
        return out

    def _drop_far(self, y: Array, d: Array) -> Array:
        z, stretch = _plain_power(y, self.p), np.log1p(d / y)
        gap = z * np.expm1(np.minimum(self.p * stretch, 600.0))
        out = np.empty_like(y)
        for band, levels in _bands(z):
            x, step, wide = y[band], d[band], gap[band]
            a, a_gap, b, b_gap = self._fraction(z[band], wide, levels)
            a_there, b_there = a + a_gap, b - b_gap
            rise = (x + step) / a_there * (z[band] / a) * np.expm1(np.minimum(self.h * stretch[band], 600.0))
            out[band] = (rise + self.q * (x * (b_gap / b / b_there) - step / b) / a / a_there) / self.p
        return out

    def _fraction(self, z: Array, gap: Array, levels: int) -> tuple[Array, Array, Array, Array]:
        """Return A_0, A_0' - A_0, B_0, B_0 - B_0' at z and z' = z + gap.

        The recursion starts from the fixed point of the level after the last one.
        """
        n = levels + 1
        root, root_there = np.sqrt(1.0 + 4.0 * n / z) * z, np.sqrt(1.0 + 4.0 * n / (z + gap)) * (z + gap)
        a = 0.5 * (z + root)
        a_gap = 0.5 * gap * (1.0 + (2.0 * z + gap + 4.0 * n) / (root + root_there))
        b = b_gap = a
        for n in range(levels, -1, -1):
            there = a + a_gap
            b = 1.0 + (n + 1.0) / a
            b_gap = (n + 1.0) * (a_gap / there) / a
            share = (n + self.q) / b
            a, a_gap = z + share, gap + share * (b_gap / (b - b_gap))
        return a, a_gap, b, b_gap


def _plain_power(y: Array, p: float) -> Array:
    return np.power(np.minimum(y, math.pow(1e300, 1.0 / p)), p)


def _bands(z: Array) -> list[tuple[NDArray[np.bool_], int]]:
    levels = _LEVELS[np.searchsorted(_FROM, z, side="right")]
    return [(levels == n, int(n)) for n in distinct(levels)]


@lru_cache(maxsize=512)
def shape_of(p: float) -> Mills:
    """Return the constants of p; they are computed once for each p."""
    h, q = p - 1.0, (p - 1.0) / p
    # g_k - 1 and g_k, starting from g_(-1) = Gamma(a), by the recursion of the gamma function
    excess, power = math.expm1(_log_gamma_below_one(q)), math.gamma(1.0 - q)
    lead, flat, steep, weight = (-excess, power), [], [], 1.0
    for k in range(1, _TERMS + 1):
        power *= 1.0 - q / k
        excess -= (1.0 + excess) * q / k
        flat.append(-excess * weight)
        steep.append(power * weight)
        weight /= k + 1.0 - q
    return Mills(p, h, q, steep[0], lead, tuple(flat), tuple(steep))
