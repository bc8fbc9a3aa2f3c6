"""The difference of two gamma variables of any shape: a share of Laplace noise, or a sum of such shares.

With G a gamma variable of the same shape, the law is that of sqrt(2 G) times a normal one, so density and tail are
positive integrals,

    f(x) = 1/(sqrt(4 pi) Gamma(r)) int exp(r w - e^w - x^2 e^(-w)/4 - w/2) dw,
    P(X > x) = 1/Gamma(r) int exp(r w - e^w) Q(x e^(-w/2)/sqrt 2) dw,

both analytic in a strip: the trapezoidal rule settles them to round-off. So is the mass next to the centre, which 1/2
minus a tail would lose where it is small (P(r, .) the regularised incomplete gamma function),

    P(0 < X < x) = 1/sqrt(pi) int_0^inf P(r, x^2/(4 z^2)) e^(-z^2) dz,          z = e^v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln, kve, log_ndtr

from hush.errors import epsilons, positive, reject
from hush.noise.contract import Law
from hush.noise.divisible import shape_of
from hush.noise.family import Family
from hush.noise.gamma_difference_tail import tail
from hush.noise.laplace import Laplace
from hush.noise.region import Region
from hush.numerics.quadrature import gauss
from hush.numerics.root import halved, safe_chords
from hush.numerics.rounding import CLOSED_FORM, Claim, up

__all__ = ["FAMILY", "GammaDifference"]

Array = NDArray[np.float64]

_LEAST = 1e-290  # in scales: below, Bessel functions overflow; nothing asks for the density there
_BESSEL = 20.0  # larger shapes overflow them earlier, and go by the trapezoidal rule
_ERROR = 1e-12  # relative, of a tail or a density; ten times what is seen
_SLACK = 2e-13  # absolute, of a loss: regions are found with this much to spare, so that they hold the true ones
_NOTHING_LEFT = Claim(
    1e-6, "no bound: a shifted mass this far above the mass is round-off, and nothing is left of delta but its margin"
)
_FURTHEST = 2000.0  # scales: no float holds the probability beyond


@dataclass(frozen=True)
class GammaDifference(Law):
    """scale (G - G') with G, G' independent gamma variables of shape r > 0: characteristic function (1 + (scale
    t)^2)^(-r).

    f(x) = |y|^(r - 1/2) K_(r-1/2)(|y|) / (scale sqrt(pi) Gamma(r) 2^(r-1/2)),  y = x/scale.  Shape 1 is the Laplace
    law.

    Guarantees: shapes add up under independent sums (Kotz, Kozubowski and Podgorski 2001, Section 2.4). Symmetric and
    unimodal for every shape: gamma densities a of shape at most 1 fall, so f(x) = int a(t) a(t + x) dt does; above 1
    they are log-concave, and so is f. For r < 1 log f is convex on either side of 0 and the loss is largest there;
    for r >= 1 it rises into the far tail, with limit shift/scale.
    For r <= 1/2 the density is infinite at 0 and there is no pure epsilon.

    >>> round(GammaDifference(1.0, 2.0).pdf(1.0), 12) == round(0.25 * math.exp(-0.5), 12)
    True
    """

    shape: float
    scale: float
    relative_error: ClassVar[float] = 1e-11

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", positive("shape", self.shape, "write GammaDifference(0.01, 2.0)"))
        object.__setattr__(self, "scale", positive("scale", self.scale, "write GammaDifference(0.01, 2.0)"))

    # -- density and tail, in scales -------------------------------------------------------------------------

    def _window(self, y: Array) -> tuple[Array, Array]:
        """Where the integrand in w is, to e^-60 of its peak: from the normal factor on the left, from e^(-e^w) on the
        right.
        """
        r = self.shape
        low = 2.0 * np.log(y) - np.log(4.0 * (y + 64.0 + r))
        return low, np.log(y + 90.0 + r + 14.0 * math.sqrt(r))

    def _trapezoid(self, y: Array, log_factor: Any) -> Array:
        """log of the integral of exp(r w - e^w) factor(y, w) dw/Gamma(r)."""
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
            out[part] = top[:, 0] + np.log(total * span[:, 0]) - gammaln(r)
        return out

    def unit_log_density(self, y: Array) -> Array:
        """log f at y >= 0 scales, for unit scale."""
        r = self.shape
        y = np.asarray(y, dtype=np.float64)
        flat = np.minimum(np.maximum(y.ravel(), _LEAST), 1e5)
        if r <= _BESSEL:
            with np.errstate(over="ignore", divide="ignore"):
                log_k = np.log(kve(r - 0.5, flat)) - flat
            value = (r - 0.5) * (np.log(flat) - math.log(2.0)) + log_k - 0.5 * math.log(math.pi) - gammaln(r)
            value = np.where(
                np.isfinite(log_k), value, self._log_centre
            )  # only shapes above 1/2 overflow, close to the centre
        else:
            value = self._trapezoid(flat, lambda x, w: -x * x * np.exp(-w) / 4.0 - 0.5 * (w + math.log(4.0 * math.pi)))
        value = np.where(y.ravel() > 1e5, -np.inf, value)
        return np.where(y.ravel() < _LEAST, self._log_centre, value).reshape(y.shape)

    @property
    def _log_centre(self) -> float:
        """log f(0) at unit scale: Gamma(r - 1/2)/(2 sqrt(pi) Gamma(r)), infinite for r <= 1/2."""
        r = self.shape
        return math.inf if r <= 0.5 else float(gammaln(r - 0.5) - gammaln(r)) - math.log(2.0 * math.sqrt(math.pi))

    def _log_tail(self, y: Array) -> Array:
        """log P(X > y), y >= 0 scales."""
        y = np.asarray(y, dtype=np.float64)
        flat = y.ravel()
        inner = np.clip(flat, 1e-300, _FURTHEST)
        value = self._trapezoid(inner, lambda x, w: log_ndtr(-x * np.exp(-0.5 * w) / math.sqrt(2.0)))
        value = np.where(flat <= 0.0, -math.log(2.0), np.where(flat > _FURTHEST, -np.inf, value))
        return np.minimum(value, -math.log(2.0)).reshape(y.shape)

    def _near(self, y: Array) -> Array:
        """P(0 < X < y), y > 0 scales, to a relative error at any size: 1/2 less the tail where that is a loss of no
        digits.
        """
        out, far = np.empty(y.shape), y >= 1.0
        with np.errstate(under="ignore"):
            out[far] = 0.5 - np.exp(self._log_tail(y[far]))
        close = np.flatnonzero(~far)
        close = close[np.argsort(y[close])]
        for part in np.array_split(close, math.ceil(close.size / 500)) if close.size else ():
            log_y = np.log(y[part])[:, None]
            start = float(log_y.min()) - 45.0
            v = start + 0.1 * np.arange(math.ceil((2.2 - start) * 10.0))
            log_x = 2.0 * (log_y - math.log(2.0) - v)
            with np.errstate(under="ignore"):
                below = np.exp(
                    np.minimum(self.shape * log_x, 0.0) - gammaln(self.shape + 1.0)
                )  # the first term is all, for small x
                middle = (log_x > -40.0) & (log_x < 7.0)
                below[middle] = gammainc(self.shape, np.exp(log_x[middle]))
                below[log_x >= 7.0] = 1.0
                out[part] = (below * np.exp(v - np.exp(2.0 * v))).sum(axis=1) * (0.1 / math.sqrt(math.pi))
        return out

    def log_density(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return self.unit_log_density(np.abs(x) / self.scale) - math.log(self.scale)

    def log_tail(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return self._log_tail(np.abs(x) / self.scale)

    @cached_property
    def _ladder(self) -> tuple[Array, Array]:
        """log y and log P(X > y) on a grid, for first guesses of quantiles."""
        y = np.concatenate([np.linspace(-660.0, -3.0, 800), np.log(np.linspace(0.05, 740.0 + 8.0 * self.shape, 4000))])
        return y, self._log_tail(np.exp(y))

    def inverse_tail(self, v: Array) -> Array:
        v = np.asarray(v, dtype=np.float64)
        target = np.log(v).ravel()
        log_y, ladder = self._ladder
        guess = np.interp(-target, -ladder, log_y)
        inside = target < ladder[0]  # closer to the centre than the ladder: 0, for all that floats can tell
        y = np.exp(guess)
        for _ in range(4):  # Newton's steps without a bracket: the ladder's guess is close
            tail = self._log_tail(y)
            slope = np.exp(np.clip(self.unit_log_density(y) - tail, -700.0, 700.0)) * y
            y = y * np.exp(np.clip((tail - target) / np.maximum(slope, 1e-300), -1.0, 1.0))
        return np.where(inside, y, 0.0).reshape(v.shape) * self.scale

    # -- moments ---------------------------------------------------------------------------------------------

    @property
    def variance(self) -> float:
        return 2.0 * self.shape * self.scale * self.scale

    @property
    def mean_abs(self) -> float:
        """2 scale Gamma(r + 1/2)/(sqrt(pi) Gamma(r)): E sqrt(2 G) sqrt(2/pi)."""
        return 2.0 * self.scale * math.exp(float(gammaln(self.shape + 0.5) - gammaln(self.shape))) / math.sqrt(math.pi)

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0,)

    def plain(self) -> Law:
        return Laplace(self.scale) if self.shape == 1.0 else self

    def scaled(self, k: float) -> GammaDifference:
        return self.scaled_by(k, "scale")

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Law:
        return GammaDifference(shape_of(Fraction(self.shape) * ratio, upwards=upwards), self.scale).plain()

    # -- privacy ---------------------------------------------------------------------------------------------

    def max_loss(self, shift: float) -> float:
        """shift/scale for r >= 1; log f(0)/f(shift) for 1/2 < r < 1, rounded up; infinite for r <= 1/2."""
        s = positive("shift", shift) / self.scale
        if self.shape >= 1.0:
            return s
        if self.shape <= 0.5:
            return math.inf
        return up(self._log_centre - float(self.unit_log_density(np.array([s]))[0]), CLOSED_FORM) + _ERROR

    @lru_cache(maxsize=64)  # noqa: B019 - frozen
    def _cap(self, s: float) -> float:
        """The loss at the innermost point that floats reach: beyond, delta is bounded by its value here."""
        return float((self.unit_log_density(np.array([_LEAST])) - self.unit_log_density(np.array([s])))[0])

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "the curve covers negative epsilon by symmetry")
        s = positive("shift", shift) / self.scale
        flat = np.minimum(epsilon.ravel(), self._cap(s)) if self.shape <= 0.5 else epsilon.ravel()
        lower, upper = self._found(flat.tobytes(), s)
        empty = lower >= upper
        lower, upper = (
            np.where(empty, 0.0, end * self.scale).reshape(epsilon.shape)[..., None] for end in (lower, upper)
        )
        return Region(lower, upper)

    @lru_cache(maxsize=4)  # noqa: B019 - a value and its error ask for the same region
    def _found(self, epsilon: bytes, s: float) -> tuple[Array, Array]:
        return (self._half_line if self.shape >= 1.0 else self._interval)(np.frombuffer(epsilon), s)

    def _half_line(self, epsilon: Array, s: float) -> tuple[Array, Array]:
        """r >= 1: the loss rises as x falls from s/2; bisect on t = s/2 - x."""

        def above(t: Array) -> Any:
            return self.unit_log_density(np.abs(0.5 * s - t)) - self.unit_log_density(0.5 * s + t) > epsilon - _SLACK

        high = halved(above, np.zeros_like(epsilon), np.full_like(epsilon, _FURTHEST), turns=70)[1]
        reached = high < _FURTHEST
        return np.where(reached, -np.inf, 0.0), np.where(reached, 0.5 * s - high, 0.0)

    def _interval(self, epsilon: Array, s: float) -> tuple[Array, Array]:
        """r < 1: the loss falls on either side of 0, to 0 at s/2 and to the limit s far on the left."""
        upper = _outermost(lambda x: self.unit_log_density(x) - self.unit_log_density(s - x), epsilon, 0.5 * s)
        left = _outermost(lambda x: self.unit_log_density(x) - self.unit_log_density(x + s), epsilon, _FURTHEST)
        lower = np.where((epsilon <= s) | (left >= 0.999 * _FURTHEST), -np.inf, -left)
        some = self.unit_log_density(upper) - self.unit_log_density(s - upper) >= epsilon - 1e-9
        return np.where(some, lower, 0.0), np.where(some, upper, 0.0)

    def error_at(self, epsilon: Array, shift: float) -> Array | float:
        """The share of the value that is its own safety margin, at most 1; beyond the cap the value is an upper bound
        only.
        """
        epsilon = np.asarray(epsilon, dtype=np.float64)
        value, margin = self._both(self.exceeds(epsilon, shift), epsilon, shift)
        small = 2.0 * margin >= 1e-3 * value
        capped = self.shape <= 0.5 and epsilon > self._cap(shift / self.scale)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(
                small | capped, 1.0, np.minimum(3.0 * margin / np.where(value > 0.0, value, 1.0) + 1e-15, 1.0)
            )

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """P(I) - e^epsilon P(I - shift) plus a bound on its error: it errs upwards."""
        value, margin = self._both(region, np.asarray(epsilon, dtype=np.float64), shift)
        return np.where(value + margin > 0.0, value + margin, 0.0)

    def _both(self, region: Region, epsilon: Array, shift: float) -> tuple[Array, Array]:
        s = shift / self.scale
        low, high = (end[..., 0].ravel() / self.scale for end in (region.lower, region.upper))
        flat = np.broadcast_to(epsilon, region.lower.shape[:-1]).ravel()
        flat = np.minimum(flat, self._cap(s)) if self.shape <= 0.5 else flat
        value, margin = np.zeros(flat.shape), np.zeros(flat.shape)
        on = low < high
        if on.any():
            here = self._between(low[on], high[on])
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                there = np.exp(flat[on] + self._log_away(low[on], high[on], s))
                capped = np.minimum(there, up(here, _NOTHING_LEFT))  # on the region the truth is less
                there = np.where(np.isfinite(there), capped, 0.0)
            value[on] = np.maximum(here - there, 0.0)
            margin[on] = _ERROR * (here + there) * (1.0 + np.abs(flat[on]) * 1e-3)
        shape = np.broadcast_shapes(epsilon.shape, region.lower.shape[:-1])
        return value.reshape(shape), margin.reshape(shape)

    def _between(self, low: Array, high: Array) -> Array:
        """P(low < X < high): low minus infinity, or below 0 with high above it."""
        out, whole = np.empty(low.shape), np.isneginf(low)
        with np.errstate(under="ignore"):
            right = np.exp(self._log_tail(np.abs(high[whole])))
        out[whole] = np.where(high[whole] >= 0.0, 1.0 - right, right)
        if not whole.all():
            out[~whole] = self._near(-low[~whole]) + self._near(high[~whole])
        return out

    def _log_away(self, low: Array, high: Array, s: float) -> Array:
        """log P(low - s < X < high - s): far from the centre, by tails if wide and by quadrature of the density if
        narrow.
        """
        near, bounded = s - high, ~np.isneginf(low)
        width = np.where(
            bounded, high - np.where(bounded, low, 0.0), 1.0
        )  # of the ends themselves: s - low would round it away
        short = bounded & (width < 0.5 * np.minimum(near, 1.0))
        out = np.empty(near.shape)
        with np.errstate(divide="ignore", under="ignore"):
            tail = self._log_tail(near[~short])
            beyond = np.where(bounded[~short], self._log_tail(near[~short] + width[~short]), -np.inf)
            out[~short] = tail + np.log(-np.expm1(np.minimum(beyond - tail, -1e-300)))
            nodes, weights = gauss(16)
            density = self.unit_log_density(near[short, None] + width[short, None] * nodes)
            out[short] = np.log((np.exp(density) * weights).sum(axis=1)) + np.log(width[short])
        return out


def _outermost(loss: Any, epsilon: Array, far: float) -> Array:
    """Just beyond the x below `far` where a loss that falls with x passes epsilon, sought in log x.

    The loss there is within two slacks of epsilon, or nothing lies between x and a point above: the region is never
    too small.
    """
    target = epsilon - _SLACK
    low, high = np.full_like(epsilon, math.log(_LEAST)), np.full_like(epsilon, math.log(far))
    return np.exp(safe_chords(lambda t, at: loss(np.exp(t)) - target[at], low, high, near=_SLACK))


FAMILY = Family(
    "gamma_difference",
    GammaDifference,
    paper="Kotz, Kozubowski and Podgorski 2001",
    cites=("kotz2001",),
    ranked=False,
    tail=lambda noise: tail(noise.shape, noise.scale),
    panels=False,  # the density may be infinite at 0, where no polynomial follows the quantile
    divisible=True,
    public=False,
)
