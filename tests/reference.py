"""Fifty-digit references, written from the densities alone and sharing nothing with the library.

Parameters are exact binary floats. A law gives log f up to its normaliser for x >= 0, the integral of f from x to
infinity piece by piece, and its moments by quadrature. Privacy is F(t) - e^eps F(t - s), with t found by bisection of
the privacy loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import mpmath as mp

DIGITS = 60


@dataclass(frozen=True)
class Law:
    """A symmetric log-concave law: -log of the unnormalised density at x >= 0, and its integral from x >= 0 upwards."""

    cost: Callable[[mp.mpf], mp.mpf]
    beyond: Callable[[mp.mpf], mp.mpf]
    support: mp.mpf
    breaks: tuple[mp.mpf, ...] = ()

    @cached_property
    def total(self) -> mp.mpf:
        with mp.workdps(DIGITS):
            return 2 * self.beyond(mp.mpf(0))

    def logpdf(self, x: object) -> mp.mpf:
        """log f(x), -inf beyond the support."""
        with mp.workdps(DIGITS):
            x = abs(mp.mpf(x))
            return -mp.inf if x > self.support else -self.cost(x) - mp.log(self.total)

    def sf(self, x: object) -> mp.mpf:
        """P(X > x)."""
        with mp.workdps(DIGITS):
            x = mp.mpf(x)
            if x < 0:
                return 1 - self.sf(-x)
            return mp.mpf(0) if x >= self.support else self.beyond(x) / self.total

    def cdf(self, x: object) -> mp.mpf:
        """P(X <= x)."""
        return self.sf(-mp.mpf(x))

    def loss(self, x: mp.mpf, shift: mp.mpf) -> mp.mpf:
        """log f(x)/f(x - shift) for x inside the support; +inf where only the copy vanishes."""
        if abs(x - shift) > self.support:
            return mp.inf
        return self.cost(abs(x - shift)) - self.cost(abs(x))

    def threshold(self, epsilon: mp.mpf, shift: mp.mpf) -> mp.mpf | None:
        """The t such that the loss exceeds epsilon exactly on x < t (the loss falls with x); None if it never does."""
        high = min(shift / 2, self.support)
        if self.loss(high, shift) > epsilon:
            return high
        if self.support < mp.inf:
            low = -self.support
        else:
            reach = shift
            while self.loss(-reach, shift) <= epsilon:
                reach *= 2
                if reach > shift * mp.mpf(10) ** 60:
                    return None
            low = -reach
        if self.loss(low, shift) <= epsilon:
            return None
        for _ in range(int(DIGITS * 3.4) + 60):
            middle = (low + high) / 2
            if self.loss(middle, shift) > epsilon:
                low = middle
            else:
                high = middle
        return high

    def delta(self, epsilon: float, shift: float) -> mp.mpf:
        """The hockey-stick divergence at epsilon >= 0."""
        with mp.workdps(DIGITS):
            e, s = mp.mpf(epsilon), mp.mpf(shift)
            t = self.threshold(e, s)
            return mp.mpf(0) if t is None else self.cdf(t) - mp.exp(e) * self.cdf(t - s)

    def isf(self, u: float) -> mp.mpf:
        """The x with P(X > x) = u, u <= 1/2, by bisection of the tail (20 digits of a number down to 1e-13 of the
        scale).
        """
        with mp.workdps(34):
            goal = mp.mpf(u) * self.total
            low, high = mp.mpf(0), min(self.support, self.total)
            while self.beyond(high) > goal:
                high *= 2
            for _ in range(110):
                middle = (low + high) / 2
                if self.beyond(middle) > goal:
                    low = middle
                else:
                    high = middle
            return high

    def mean(self, power: int) -> mp.mpf:
        """E |X|^power, by quadrature in units of the law's own width (mp.quad's tolerance is absolute)."""
        return self._average(lambda x, unit: (x / unit) ** power) * (self.total / 2) ** power

    def information(self) -> mp.mpf:
        """E (f'/f)^2; a central difference of the cost is exact, as every cost is at most quadratic on each piece."""

        def slope(x: mp.mpf, unit: mp.mpf) -> mp.mpf:
            h = min([x, *(abs(x - b) for b in self.breaks if b != x)]) / 2
            return (unit * (self.cost(x + h) - self.cost(x - h)) / (2 * h)) ** 2

        return self._average(slope) / (self.total / 2) ** 2

    def _average(self, function: Callable[[mp.mpf, mp.mpf], mp.mpf]) -> mp.mpf:
        with mp.workdps(30):
            unit = self.total / 2
            marks = [mp.mpf(k) for k in (0, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128)] + [
                b / unit for b in self.breaks if b > 0
            ]
            far = min(self.support / unit, mp.mpf(256))
            ends = [*sorted({e for e in marks if e < far}), far]
            return mp.quad(lambda y: function(y * unit, unit) * mp.exp(-self.cost(y * unit)), ends)


def _normal_beyond(x: mp.mpf, sigma: mp.mpf) -> mp.mpf:
    """The integral of exp(-y^2/(2 sigma^2)) from x."""
    return mp.sqrt(mp.pi / 2) * sigma * mp.erfc(x / (sigma * mp.sqrt(2)))


def gaussian(sigma: float) -> Law:
    """exp(-x^2/(2 sigma^2))."""
    s = mp.mpf(sigma)
    return Law(lambda x: x * x / (2 * s * s), lambda x: _normal_beyond(x, s), mp.inf)


def laplace(scale: float) -> Law:
    """exp(-|x|/scale)."""
    b = mp.mpf(scale)
    return Law(lambda x: x / b, lambda x: b * mp.exp(-x / b), mp.inf)


def osgt(m: float, sigma: float) -> Law:
    """exp(-(|x| + m)^2/(2 sigma^2)), here divided by its value at 0."""
    m_, s = mp.mpf(m), mp.mpf(sigma)

    def cost(x: mp.mpf) -> mp.mpf:
        return x * (x + 2 * m_) / (2 * s * s)

    return Law(cost, lambda x: mp.exp(m_ * m_ / (2 * s * s)) * _normal_beyond(x + m_, s), mp.inf)


def flipped_huber(alpha: float, gamma: float) -> Law:
    """exp(-alpha|x|/gamma^2) up to alpha, exp(-(x^2 + alpha^2)/(2 gamma^2)) beyond."""
    a, g = mp.mpf(alpha), mp.mpf(gamma)

    def cost(x: mp.mpf) -> mp.mpf:
        return (a * x if x <= a else (x * x + a * a) / 2) / g**2

    def beyond(x: mp.mpf) -> mp.mpf:
        tail = mp.exp(-a * a / (2 * g * g)) * _normal_beyond(max(x, a), g)
        return tail if x >= a else tail + g * g / a * (mp.exp(-a * x / g**2) - mp.exp(-a * a / g**2))

    return Law(cost, beyond, mp.inf, (a,))


def truncated_laplace(scale: float, bound: float) -> Law:
    """exp(-|x|/scale) on [-bound, bound]."""
    b, end = mp.mpf(scale), mp.mpf(bound)
    return Law(lambda x: x / b, lambda x: b * (mp.exp(-x / b) - mp.exp(-end / b)) if x < end else mp.mpf(0), end)
