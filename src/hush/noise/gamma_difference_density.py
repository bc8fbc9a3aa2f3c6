"""The difference of two gamma variables at scale 1: density, tail, mass near the centre, quantile.

With G a gamma variable of the same shape r, the law is that of sqrt(2 G) times a standard normal variable. Density and
tail are therefore integrals of positive functions,

    f(x) = 1/(sqrt(4 pi) Gamma(r)) int exp(r w - e^w - x^2 e^(-w)/4 - w/2) dw,
    P(X > x) = 1/Gamma(r) int exp(r w - e^w) Q(x e^(-w/2)/sqrt 2) dw,

which are analytic in a strip, so that the trapezoidal rule computes them to round-off. The mass next to the centre has
its own integral, because 1/2 minus a tail would lose its digits where it is small (P(r, .) is the regularised
incomplete gamma function),

    P(0 < X < x) = 1/sqrt(pi) int_0^inf P(r, x^2/(4 z^2)) e^(-z^2) dz,          z = e^v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.numerics.quadrature import gauss

__all__ = ["LEAST", "UnitLaw"]

Array = NDArray[np.float64]

LEAST = 1e-290  # scales: the smallest y of the density; Bessel functions overflow below it
_BESSEL = 20.0  # the largest shape computed by Bessel functions; larger shapes overflow earlier
_END = 1e5  # scales: beyond this the density is set to 0


@dataclass(frozen=True)
class UnitLaw:
    """G - G' with G, G' independent gamma variables of the given shape r. All arguments y are >= 0, in scales."""

    shape: float

    @property
    def furthest(self) -> float:
        """Where the probability beyond underflows to 0, in scales: Chernoff's bound is below e^-745 there."""
        return 2000.0 + 60.0 * math.sqrt(self.shape)

    def _window(self, y: Array) -> tuple[Array, Array]:
        """Return the range of w outside of which the integrand is below e^-60 of its peak.

        The normal factor gives the left end, the factor e^(-e^w) the right end.
        """
        r = self.shape
        low = 2.0 * np.log(y) - np.log(4.0 * (y + 64.0 + r))
        return low, np.log(y + 90.0 + r + 14.0 * math.sqrt(r))

    def _trapezoid(self, y: Array, log_factor: Any) -> Array:
        """Return the log of the integral of exp(r w - e^w) factor(y, w) dw/Gamma(r)."""
        r, out = self.shape, np.empty(y.shape)
        low, high = self._window(y)
        width = 0.16 / (1.0 + math.sqrt(r) / 6.0)
        order = np.argsort(high - low)
        for part in np.array_split(order, max(1, math.ceil(y.size / 2000))):
            if not part.size:
                continue
            count = math.ceil(float((high - low)[part].max()) / width) + 1
            span = ((high - low)[part] / count)[:, None]
            w = low[part, None] + span * np.arange(count + 1)
            with np.errstate(under="ignore"):
                exponent = r * w - np.exp(w) + log_factor(y[part, None], w)
                top = exponent.max(axis=1, keepdims=True)
                total = np.exp(exponent - top).sum(axis=1)
            out[part] = top[:, 0] + np.log(total * span[:, 0]) - special.gammaln(r)
        return out

    def log_density(self, y: Array) -> Array:
        """Return log f(y)."""
        r = self.shape
        y = np.asarray(y, dtype=np.float64)
        flat = np.minimum(np.maximum(y.ravel(), LEAST), _END)
        if r <= _BESSEL:
            with np.errstate(over="ignore", divide="ignore"):
                log_k = np.log(special.kve(r - 0.5, flat)) - flat
            value = (r - 0.5) * (np.log(flat) - math.log(2.0)) + log_k - 0.5 * math.log(math.pi) - special.gammaln(r)
            # only shapes above 1/2 overflow, and only close to the centre
            value = np.where(np.isfinite(log_k), value, self.log_centre)
        else:
            value = self._trapezoid(
                flat, lambda x, w: -((x * np.exp(-0.5 * w)) ** 2) / 4.0 - 0.5 * (w + math.log(4.0 * math.pi))
            )
        value = np.where(y.ravel() > _END, -np.inf, value)
        return np.where(y.ravel() < LEAST, self.log_centre, value).reshape(y.shape)

    @property
    def log_centre(self) -> float:
        """log f(0) = log of Gamma(r - 1/2)/(2 sqrt(pi) Gamma(r)); infinite for r <= 1/2."""
        r = self.shape
        return (
            math.inf
            if r <= 0.5
            else float(special.gammaln(r - 0.5) - special.gammaln(r)) - math.log(2.0 * math.sqrt(math.pi))
        )

    def log_tail(self, y: Array) -> Array:
        """Return log P(X > y)."""
        y = np.asarray(y, dtype=np.float64)
        flat = y.ravel()
        inner = np.clip(flat, 1e-300, self.furthest)
        value = self._trapezoid(inner, lambda x, w: special.log_ndtr(-x * np.exp(-0.5 * w) / math.sqrt(2.0)))
        value = np.where(flat <= 0.0, -math.log(2.0), np.where(flat > self.furthest, -np.inf, value))
        return np.minimum(value, -math.log(2.0)).reshape(y.shape)

    def near(self, y: Array) -> Array:
        """Return P(0 < X < y) with a small relative error for every y > 0.

        From y = 1 on it is 1/2 minus the tail, which loses no digits there.
        """
        out, far = np.empty(y.shape), y >= 1.0
        with np.errstate(under="ignore"):
            out[far] = 0.5 - np.exp(self.log_tail(y[far]))
        close = np.flatnonzero(~far)
        close = close[np.argsort(y[close])]
        for part in np.array_split(close, math.ceil(close.size / 500)) if close.size else ():
            log_y = np.log(y[part])[:, None]
            start = float(log_y.min()) - 45.0
            v = start + 0.1 * np.arange(math.ceil((2.2 - start) * 10.0))
            log_x = 2.0 * (log_y - math.log(2.0) - v)
            with np.errstate(under="ignore"):
                # for small x the first term of the series of P(r, x) is enough
                below = np.exp(np.minimum(self.shape * log_x, 0.0) - special.gammaln(self.shape + 1.0))
                middle = (log_x > -40.0) & (log_x < 7.0)
                below[middle] = special.gammainc(self.shape, np.exp(log_x[middle]))
                below[log_x >= 7.0] = 1.0
                out[part] = (below * np.exp(v - np.exp(2.0 * v))).sum(axis=1) * (0.1 / math.sqrt(math.pi))
        return out

    @cached_property
    def _ladder(self) -> tuple[Array, Array]:
        """log y and log P(X > y) on a grid, for first guesses of quantiles."""
        y = np.concatenate([np.linspace(-660.0, -3.0, 800), np.log(np.linspace(0.05, 740.0 + 8.0 * self.shape, 4000))])
        return y, self.log_tail(np.exp(y))

    def quantile(self, v: Array) -> Array:
        """Return the y with P(X > y) = v, for 0 < v <= 1/2."""
        target = np.log(v).ravel()
        if self.shape >= 1.0:
            y, inside = self._concave_guess(target), target < -math.log(2.0)
        else:
            log_y, ladder = self._ladder
            inside = target < ladder[0]  # otherwise y is closer to 0 than the grid, and 0 is returned
            y = np.exp(np.interp(-target, -ladder, log_y))
        for _ in range(4):  # Newton's steps need no bracket here, because the guess from the grid is close
            tail = self.log_tail(y)
            slope = np.exp(np.clip(self.log_density(y) - tail, -700.0, 700.0)) * y
            y = y * np.exp(np.clip((tail - target) / np.maximum(slope, 1e-300), -1.0, 1.0))
        return np.where(inside, y, 0.0).reshape(v.shape)

    def _concave_guess(self, target: Array) -> Array:
        """Return the y with log P(X > y) = target, roughly, for a shape of at least 1.

        Chernoff's bound P(X > y) <= e^(-ty) (1 - t^2)^(-r) gives a y that is too large. log P is concave, so Newton's
        steps from there decrease to the root.
        """
        t = np.linspace(0.01, 0.99, 99)
        y = ((-target[:, None] - self.shape * np.log1p(-t * t)) / t).min(axis=1)
        y = np.minimum(y, self.furthest)
        for _ in range(40):
            tail = self.log_tail(y)
            hazard = np.exp(np.clip(self.log_density(y) - tail, -700.0, 700.0))
            step = np.minimum(tail - target, 0.0) / hazard
            y = np.maximum(y + step, 1e-300)
            if (np.abs(step) <= 1e-6 * y).all():
                break
        return y

    def between(self, low: Array, high: Array) -> Array:
        """Return P(low < X < high), where low is minus infinity, or low < 0 < high."""
        out, whole = np.empty(low.shape), np.isneginf(low)
        with np.errstate(under="ignore"):
            right = np.exp(self.log_tail(np.abs(high[whole])))
        out[whole] = np.where(high[whole] >= 0.0, 1.0 - right, right)
        if not whole.all():
            out[~whole] = self.near(-low[~whole]) + self.near(high[~whole])
        return out

    def log_between_shifted(self, low: Array, high: Array, s: float) -> Array:
        """Return log P(low - s < X < high - s) for intervals left of the centre.

        Wide intervals are a difference of tails; narrow ones are integrated.
        """
        near, bounded = s - high, ~np.isneginf(low)
        # the width from the ends themselves, because s - low would round it away
        width = np.where(bounded, high - np.where(bounded, low, 0.0), 1.0)
        short = bounded & (width < 0.5 * np.minimum(near, 1.0))
        out = np.empty(near.shape)
        with np.errstate(divide="ignore", under="ignore"):
            tail = self.log_tail(near[~short])
            beyond = np.where(bounded[~short], self.log_tail(near[~short] + width[~short]), -np.inf)
            out[~short] = tail + np.log(-np.expm1(np.minimum(beyond - tail, -1e-300)))
            nodes, weights = gauss(16)
            density = self.log_density(near[short, None] + width[short, None] * nodes)
            out[short] = np.log((np.exp(density) * weights).sum(axis=1)) + np.log(width[short])
        return out
