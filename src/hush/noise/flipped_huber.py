"""Flipped Huber noise: a Laplace density at the centre, continued by Gaussian tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import non_negative, positive, reals
from hush.noise.contract import Law
from hush.noise.family import Family, Reference, Shape
from hush.noise.gaussian import Gaussian
from hush.noise.log_concave import LogConcave
from hush.noise.request import Request
from hush.numerics import special
from hush.numerics.ball import Ball, Tail, flint_module, normal_tail
from hush.numerics.bracket import unwrap
from hush.numerics.mills import drop, mean_excess, mills
from hush.numerics.rounding import COARSE_SEARCH, ELEMENTARY, up
from hush.numerics.search import safe_secant
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "FlippedHuber"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FlippedHuber(LogConcave):
    """Flipped Huber noise: Laplace with scale gamma^2/alpha up to |t| = alpha, Gaussian with sigma = gamma beyond.

    f(t) = exp(-rho(t)/gamma^2)/kappa, rho(t) = alpha |t| for |t| <= alpha and (t^2 + alpha^2)/2 beyond (FH paper, eq.
    8-9). alpha = 0 is the Gaussian. For large alpha/gamma the law is Laplace except in its far tail.

    Guarantees: exact delta for every shift (FH paper, Theorem 4 with eq. 13 and 15).

    >>> round(FlippedHuber(31.906, 10.3129).variance, 3)
    22.214
    """

    alpha: float
    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", non_negative("alpha", self.alpha, "write FlippedHuber(alpha=3.0, gamma=1.0)"))
        object.__setattr__(self, "gamma", positive("gamma", self.gamma, "write FlippedHuber(alpha=3.0, gamma=1.0)"))

    # -- in units of gamma: b = alpha/gamma, rho(y) = b y for y <= b and (y^2 + b^2)/2 beyond ----------------

    @property
    def unit(self) -> float:
        return self.gamma

    @cached_property
    def _b(self) -> Twofold:
        return Twofold(self.alpha) / self.gamma

    @cached_property
    def _half_kappa(self) -> float:
        """kappa/(2 gamma) = (1 - e^(-b^2))/b + e^(-b^2) M(b)."""
        b = float(self._b.hi)
        if b == 0.0:
            return float(mills(0.0))
        return -math.expm1(-b * b) / b + math.exp(-b * b) * float(mills(b))

    @cached_property
    def _log_peak(self) -> Twofold:
        return Twofold(-math.log(2.0 * self._half_kappa))

    @cached_property
    def _hollow(self) -> float:
        """1/b - M(b): the Mills ratio of the Laplace law, 1/b, minus that of this law at y = b."""
        b = float(self._b.hi)
        return float(mean_excess(b)) / b if b > 0.0 else math.inf

    def unit_log_density(self, y: Twofold) -> Twofold:
        past = y - self._b
        past = past.where(past.hi > 0.0, 0.0)
        return self._log_peak - (self._b * y + (past * past).halved())  # (y^2 + b^2)/2 = b y + (y - b)^2/2

    def unit_mills(self, y: Array) -> Array:
        y = np.asarray(y, dtype=np.float64)
        b = float(self._b.hi)
        if b == 0.0:
            return mills(y)
        inside = np.minimum(y, b)
        with np.errstate(under="ignore"):
            centre = -np.expm1(-b * (b - inside)) / b + np.exp(-b * (b - inside)) * float(mills(b))
        return np.where(y < b, centre, mills(np.maximum(y, b)))

    def unit_drop(self, y: Array, d: Array) -> Array:
        """R is 1/b - (1/b - M(b)) e^(-b(b-y)) up to b and M(y) beyond; the drop is a sum of two positive terms."""
        b = float(self._b.hi)
        y, d = np.broadcast_arrays(np.asarray(y, dtype=np.float64), np.asarray(d, dtype=np.float64))
        if b == 0.0:
            return drop(y, d)
        inner = np.clip(b - y, 0.0, d)  # the part of the step inside the centre
        with np.errstate(under="ignore"):
            fall = self._hollow * np.exp(-b * (np.maximum(b - y, 0.0) - inner)) * -np.expm1(-b * inner)
        return fall + drop(np.maximum(y, b), d - inner)

    def unit_crossing(self, epsilon: Array, d: Twofold) -> Twofold:
        """Return the y where the loss rho(y + d) - rho(y) equals epsilon, piece by piece (FH paper, eq. 15).

        The cases from the outside in: both points in the Gaussian tail of one side; y in the centre and y + d in the
        tail of the same side; both in the centre on different sides of zero; one in the centre and one in the tail of
        the other side; both in tails of different sides.
        """
        shape = np.shape(epsilon)
        epsilon = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
        b = self._b
        step = float(d.hi)
        y = epsilon / d - d.halved()
        if self.alpha > 0.0:
            flat = epsilon - b * d
            past = max(step - float(b.hi), 0.0)
            # both points are on one side if epsilon is at least rho(d), the loss at the centre
            outside = flat.hi >= 0.5 * past * past
            graft = outside & (y.hi < b.hi)
            centre = ~outside & (0.5 * (epsilon / b.hi + step) <= b.hi)
            across = ~outside & ~centre & (step + b.hi - np.sqrt(2.0 * (epsilon + b.hi * step)) <= b.hi)
            if graft.any():
                y.put(graft, b - d + (flat[graft] * 2.0).sqrt())
            if centre.any():
                y.put(centre, (epsilon[centre] / b - d).halved())
            if across.any():
                y.put(across, ((epsilon[across] + b * d) * 2.0).sqrt() - d - b)
        return Twofold(y.hi.reshape(shape), y.lo.reshape(shape))

    # -- moments ---------------------------------------------------------------------------------------------

    @property
    def variance(self) -> float:
        """FH paper, eq. (11), with the part of the centre as an incomplete gamma function."""
        b = float(self._b.hi)
        if b < 1e-100:
            return self.gamma * self.gamma
        c = b * b
        centre = (
            2.0 * float(special.gammainc(3.0, c)) / b**3 if c > 1e-4 else (1.0 / 3.0 - c / 4.0 + c * c / 10.0) * b**3
        )
        return (centre + math.exp(-c) * (b + float(mills(b)))) / self._half_kappa * (self.gamma * self.gamma)

    @property
    def mean_abs(self) -> float:
        """E|T| = (gamma^2/kappa) 2 [Gamma(2; b^2)/b^2 + e^(-b^2)], b = alpha/gamma."""
        b = float(self._b.hi)
        c = b * b
        centre = float(special.gammainc(2.0, c)) / c if c > 1e-4 else c / 2.0 - c * c / 3.0 + c**3 / 8.0
        return (centre + math.exp(-c)) / self._half_kappa * self.gamma

    @property
    def fisher_information(self) -> float:
        """(b + e^(-b^2) M(b)) 2/(kappa gamma), equal to FH paper, eq. (12)."""
        b = float(self._b.hi)
        return (b + math.exp(-b * b) * float(mills(b))) / self._half_kappa / (self.gamma * self.gamma)

    @property
    def subgaussian_proxy(self) -> float:
        """gamma^2 (FH paper, Lemma 2; proved by peakedness, erratum A7)."""
        return self.gamma * self.gamma

    @property
    def kappa(self) -> float:
        """The normalising constant: f(0) = 1/kappa (FH paper, eq. 8)."""
        return 2.0 * self._half_kappa * self.gamma

    @property
    def omega(self) -> float:
        """kappa e^(b^2/2)/gamma (FH paper, eq. 9); infinite where e^(b^2/2) overflows, although `kappa` is finite."""
        half = 0.5 * float((self._b * self._b).hi)
        return self.kappa / self.gamma * math.exp(half) if half < 709.0 else math.inf

    @property
    def theta(self) -> float:
        """gamma Qinv(sqrt(pi/2)/omega), the offset of FH paper, Lemma 6."""
        half = 0.5 * float((self._b * self._b).hi)
        log_tail = 0.5 * math.log(math.pi / 2.0) - math.log(2.0 * self._half_kappa) - half
        return max(-float(special.ndtri_exp(min(log_tail, -math.log(2.0)))) * self.gamma, 0.0)

    def log_mgf(self, s: Any) -> Any:
        """log E e^(sT), finite for every s."""
        u = np.abs(reals("s", s)) * self.gamma
        b = float(self._b.hi)
        pieces = [_log_tail(u, b), _log_tail(-u, b)]
        if b > 0.0:
            pieces += [_log_centre(u - b, b), _log_centre(-u - b, b)]
        return unwrap(np.logaddexp.reduce(pieces, axis=0) - math.log(2.0 * self._half_kappa))

    def mgf(self, s: Any) -> Any:
        """E e^(sT) (FH paper, Section III); at most e^(gamma^2 s^2/2).

        >>> round(FlippedHuber(0.4, 1.5).mgf(0.0666666666666667), 12)
        1.004999910947
        """
        with np.errstate(over="ignore"):
            return unwrap(np.exp(self.log_mgf(s)))

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.0, self.alpha) if self.alpha > 0.0 else ()

    def plain(self) -> Law:
        return Gaussian(self.gamma) if self.alpha == 0.0 else self

    def scaled(self, k: float) -> FlippedHuber:
        return self.scaled_by(k, "alpha", "gamma")


def _log_centre(slope: Array, b: float) -> Array:
    """Return the log of the integral of e^(slope y) over (0, b)."""
    x = slope * b
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        flat = np.log(b) + np.log1p(x / 2.0 + x * x / 6.0 + x**3 / 24.0)
        grown = np.maximum(x, 0.0) + np.log(-np.expm1(-np.abs(x)) / np.abs(slope))
    return np.where(np.abs(x) < 1e-4, flat, grown)


def _log_tail(u: Array, b: float) -> Array:
    """Return the log of the integral of e^(u y - (y^2 + b^2)/2) over (b, infinity)."""
    return 0.5 * u * u - 0.5 * b * b + 0.5 * math.log(2.0 * math.pi) + special.log_ndtr(u - b)


def _noise(request: Request) -> Law:
    """Return the better of two members: the best one of the search, and the one at the kink, which a search misses.

    At the kink the constant loss at the centre, times the number of releases, is epsilon (erratum A9). It is the root
    of one equation in b = alpha/gamma.
    """
    if not request.plain or request.delta == 0.0 or request.step is not None:
        return request.search(FAMILY)
    share = request.epsilon / request.count
    low, high = math.sqrt(share), math.sqrt(share) + 40.0

    def noise_at(b: float) -> FlippedHuber:
        gamma = up(max(b, low) * request.shift / share, ELEMENTARY)
        return FlippedHuber(max(b, low) * gamma, gamma)

    estimate = lru_cache(lambda b: request.estimate(noise_at(b)))
    if estimate(high) > 0.0 and request.excess(noise_at(high)) > 0.0:
        return request.search(FAMILY)
    bracketed = estimate(high) <= 0.0 < estimate(low)
    b = safe_secant(estimate, low, high, relative=1e-5, near=1e-5) if bracketed else low
    laplace_like = request.regime < 0.9
    found = request.limits(FAMILY) if laplace_like else [request.search(FAMILY)]
    if laplace_like or request.value(noise_at(b)) < up(request.value(found[0]), COARSE_SEARCH):
        lowest = noise_at(low)  # no member at the kink has less noise
        private = b == low and request.meets(lowest)
        found.append(lowest if private else request.least(noise_at, b, tolerance=1e-9))
    return min(found, key=request.value)


def _tail(noise: FlippedHuber) -> Tail:
    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        y, b = x / noise.gamma, arb(noise.alpha) / noise.gamma

        def outer(z: Ball) -> Ball:
            return (-b * b / 2).exp() * (arb.pi() / 2).sqrt() * normal_tail(z)

        def inner(z: Ball) -> Ball:
            return (-b * z).exp() * -(b * z - b * b).expm1() / b  # e^(-bz) (1 - e^(bz - b^2))

        beyond_x = inner(y) + outer(b) if x <= noise.alpha else outer(y)
        return beyond_x / (inner(arb(0)) + outer(b))

    return beyond


def _log_weight(noise: FlippedHuber) -> Tail:
    arb = flint_module().arb
    alpha, square = arb(noise.alpha), arb(noise.gamma) ** 2
    return lambda x: -(alpha * x if x <= alpha else (x**2 + alpha**2) / 2) / square


FAMILY = Family(
    "flipped_huber",
    FlippedHuber,
    paper="Muthukrishnan and Kalyani 2023",
    cites=("muthukrishnan2023",),
    calibrate=_noise,
    shape=Shape(
        lambda b: FlippedHuber(b, 1.0),  # b = alpha/gamma
        -4.0,
        3.4,
        0.4,
        lambda r: -1.5 if r > 1.2 else 0.0,
        like_laplace=lambda scale: FlippedHuber(1600.0 * scale, 40.0 * scale),
        like_gaussian=lambda sigma: FlippedHuber(0.0, sigma),
    ),
    tail=_tail,
    log_weight=_log_weight,
    reference=Reference(FlippedHuber(1.0, 1.5), 0.5, 0.10578698295626024),
)
