"""The staircase law: the noise of least variance for one number under pure differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive, within
from hush.noise.contract import Law
from hush.noise.family import Family, Reference
from hush.noise.request import Request
from hush.noise.steps import MOST_PIECES, Pieces, Steps
from hush.numerics.arrays import distinct
from hush.numerics.ball import Ball, Tail, flint_module
from hush.numerics.rounding import FEW_ROUNDINGS, down, rounded_up

__all__ = ["FAMILY", "Staircase", "least_mean_abs_gamma", "least_variance_gamma"]

Array = NDArray[np.float64]


def least_variance_gamma(epsilon: float) -> float:
    """Return the step fraction with least variance, (w - b)/(1 - b) with w^3 = b (1 + b)/2 and b = e^(-epsilon).

    Setting the derivative of the variance to zero gives a cubic equation in gamma that is a perfect cube in w = b +
    (1 - b) gamma. The form with expm1 keeps all digits as epsilon goes to 0, where gamma goes to 1/2. The result
    equals that of Geng and Viswanath 2014, Theorem 5.

    >>> round(least_variance_gamma(0.1), 15)
    0.491666667437583
    """
    third = (2.0 * epsilon + math.log1p(-0.5 * -math.expm1(-epsilon))) / 3.0
    return math.exp(third - epsilon) * math.expm1(-third) / math.expm1(-epsilon)


def least_mean_abs_gamma(epsilon: float) -> float:
    """Return the step fraction with least E|X|, 1/(1 + e^(epsilon/2)) (Geng and Viswanath 2014, Theorem 4)."""
    half = math.exp(-0.5 * epsilon)
    return half / (1.0 + half)


@dataclass(frozen=True)
class Staircase(Steps):
    """Staircase noise: the density falls by the factor e^(-epsilon) once per sensitivity Delta.

    f(x) = a e^(-k epsilon) for k Delta <= |x| < (k + gamma) Delta and a e^(-(k+1) epsilon) up to (k + 1) Delta. The
    default gamma=None selects the fraction with least variance.

    Guarantees: pure epsilon for every shift up to `sensitivity` (Geng and Viswanath 2014); no noise has less variance
    at delta = 0.

    >>> Staircase(1.0).max_loss(1.0)
    1.0
    """

    epsilon: float
    sensitivity: float = 1.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        hint = "write Staircase(epsilon=1.0, sensitivity=1.0)"
        object.__setattr__(self, "epsilon", within("epsilon", self.epsilon, 1e-12, 700.0, hint))
        object.__setattr__(self, "sensitivity", positive("sensitivity", self.sensitivity, hint))
        gamma = (
            least_variance_gamma(self.epsilon) if self.gamma is None else within("gamma", self.gamma, 0.0, 1.0, hint)
        )
        object.__setattr__(self, "gamma", gamma)

    # -- in units of the sensitivity: level(u) = floor(u), plus 1 after the fraction gamma of a period -------

    @property
    def fraction(self) -> float:
        """gamma as a number."""
        assert self.gamma is not None
        return self.gamma

    @property
    def _fall(self) -> float:
        """b = e^(-epsilon)."""
        return math.exp(-self.epsilon)

    @property
    def _fall_short(self) -> float:
        """1 - b."""
        return -math.expm1(-self.epsilon)

    @property
    def _log_peak(self) -> float:
        """log a for a unit period: a = (1 - b)/(2 (gamma + b (1 - gamma)))."""
        return math.log(self._fall_short) - math.log(2.0 * self._mean_level)

    @property
    def _mean_level(self) -> float:
        """gamma + b (1 - gamma)."""
        return self.fraction + self._fall * (1.0 - self.fraction)

    def _level(self, u: Array) -> Array:
        whole = np.floor(u)
        return whole + (u - whole >= self.fraction)

    def log_density(self, x: Array) -> Array:
        with np.errstate(invalid="ignore"):
            level = self._level(np.abs(x) / self.sensitivity)
        log_density = self._log_peak - math.log(self.sensitivity) - self.epsilon * level
        return np.where(np.isinf(x), -np.inf, log_density)

    def log_tail(self, x: Array) -> Array:
        """The mass of the rest of this period and all later ones: a b^k (rest + b (gamma + b (1 - gamma))/(1 - b))."""
        u = np.where(np.isinf(x), 0.0, x / self.sensitivity)
        whole = np.floor(u)
        inside = u - whole
        g, b = self.fraction, self._fall
        rest = np.maximum(g - inside, 0.0) + b * np.minimum(1.0 - inside, 1.0 - g)
        log_sf = self._log_peak - self.epsilon * whole + np.log(rest + b * self._mean_level / self._fall_short)
        return np.where(np.isinf(x), -np.inf, log_sf)

    def inverse_tail(self, v: Array) -> Array:
        g, b, mean = self.fraction, self._fall, self._mean_level
        below = np.log(2.0 * v)  # P(X > k) = b^k / 2
        whole = np.maximum(np.ceil(-below / self.epsilon) - 1.0, 0.0)
        # the mass of this period before x, in units of its first level
        share = -np.expm1(below + self.epsilon * whole) * mean / self._fall_short
        share = np.clip(share, 0.0, mean)
        flat = np.minimum(share, g) + np.maximum(share - g, 0.0) / b
        return (whole + np.minimum(flat, 1.0)) * self.sensitivity

    # -- privacy ---------------------------------------------------------------------------------------------

    @property
    def recurrence(self) -> float:
        return self.sensitivity

    def pieces(self, shift: float) -> Pieces:
        return _pieces(self, shift)

    def _outer(self, whole: float, part: float) -> tuple[Array, Array, Array]:
        """Return edges and levels of the pieces of one period with both points on one side of 0; it is repeated."""
        g = self.fraction
        edges = distinct([0.0, g, 1.0, (1.0 - part) % 1.0, (g - part) % 1.0])
        middle = 0.5 * (edges[:-1] + edges[1:])
        return edges, self._level(middle), self._level(middle + part) + whole

    def _inner(self, whole: int, part: float) -> tuple[Array, Array, Array]:
        """Return edges and levels of the pieces between the two centres, 0 < x < shift."""
        starts = np.arange(whole + 1.0)
        mine = np.concatenate([starts, starts + self.fraction])
        edges = distinct(np.concatenate([mine, (whole - mine) + part, [whole + part]]))
        edges = edges[(edges >= 0.0) & (edges <= whole + part)]
        middle = 0.5 * (edges[:-1] + edges[1:])
        return edges, self._level(middle), self._level((whole - middle) + part)

    def atoms(self, shift: float) -> tuple[float, ...]:
        return (self.epsilon,)

    # -- moments: sums of b^k k^n ----------------------------------------------------------------------------

    @property
    def variance(self) -> float:
        """The sum over all steps of the integral of x^2 f, in closed form."""
        g, b, d = self.fraction, self._fall, self._fall_short
        s1, s2 = b / d**2, b * (1.0 + b) / d**3
        centre = d * (s2 * g + s1 * g * g) + g**3 / 3.0
        return d / self._mean_level * (centre + b * (s2 + s1) + b / (3.0 * d)) * self.sensitivity**2

    @property
    def mean_abs(self) -> float:
        g, b, d = self.fraction, self._fall, self._fall_short
        s1 = b / d**2
        return d / self._mean_level * (d * s1 * g + 0.5 * g * g + b * s1 + 0.5 * b / d) * self.sensitivity

    @property
    def fisher_information(self) -> float:
        """Infinite, because the density jumps."""
        return math.inf

    @property
    def kinks(self) -> tuple[float, ...]:
        """The jumps of the first 60 periods, for numerical integration."""
        starts = np.arange(60.0)
        jumps = np.concatenate([starts[1:], starts + self.fraction]) * self.sensitivity
        return tuple(float(x) for x in distinct(jumps))

    def breaks(self, reach: float, most: int) -> Array | None:
        count = math.ceil(reach / self.sensitivity) + 1.0
        edges = np.arange(min(count, most + 1.0)) * self.sensitivity
        return None if count > most else np.concatenate([edges[1:], edges + self.fraction * self.sensitivity])

    def scaled(self, k: float) -> Staircase:
        return self.scaled_by(k, "sensitivity")


@lru_cache(maxsize=256)
def _pieces(noise: Staircase, shift: float) -> Pieces:
    unit = noise.sensitivity
    whole = math.floor(shift / unit)
    # fmod is exact, so that shift = n * sensitivity gives no tiny piece from rounding
    part = math.fmod(shift, unit) / unit
    if part >= 1.0:
        whole, part = whole + 1, 0.0
    if 4 * (whole + 2) > MOST_PIECES:
        raise Unsupported(
            f"a shift of {shift:g} spans too many periods of {unit:g}; "
            f"use Laplace({rounded_up(unit / noise.epsilon)}) instead."
        )
    whole = round((shift - math.fmod(shift, unit)) / unit)
    edges, mine, other = noise._outer(whole, part)
    inner_edges, inner_mine, inner_other = noise._inner(whole, part)
    tail_weight = np.full(mine.size, 1.0 / noise._fall_short)
    near = whole + part
    log_peak = noise._log_peak - math.log(unit)

    def listed(lower: Any, upper: Any, here: Array, there: Array, weight: Array) -> tuple[Array, ...]:
        return (
            np.asarray(lower) * unit,
            np.asarray(upper) * unit,
            log_peak - noise.epsilon * here,
            noise.epsilon * (there - here),
            weight,
        )

    left = listed(-edges[1:], -edges[:-1], mine, other, tail_weight)
    centre = listed(inner_edges[:-1], inner_edges[1:], inner_mine, inner_other, np.ones(inner_mine.size))
    right = listed(near + edges[:-1], near + edges[1:], other, mine, tail_weight)
    return Pieces(*(np.concatenate(columns) for columns in zip(left, centre, right, strict=True)))


def _noise(request: Request) -> Law:
    """Return the staircase for the epsilon of one one-dimensional release; its privacy is pure for every delta."""
    if not request.plain:
        raise Unsupported("staircase noise is proved for a single linf bound (with l0) only")
    if request.step is not None:
        raise Unsupported("on a lattice the staircase law is the discrete Laplace law")
    share = request.epsilon if request.count == 1 else down(request.epsilon / request.count, FEW_ROUNDINGS)
    gamma = least_mean_abs_gamma(share) if request.loss == "mae" else least_variance_gamma(share)
    return Staircase(share, request.shift, gamma)


def _tail(noise: Staircase) -> Tail:
    """Return the function x -> P(|X| > x): b^k for k whole periods, b = e^(-epsilon), times the rest of one period."""

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        b, gamma = (-arb(noise.epsilon)).exp(), arb(noise.fraction)
        u = x / noise.sensitivity
        period = u.floor().unique_fmpz()
        if period is None:
            return arb.nan()  # the precision is too low to know the period; the caller repeats with more bits
        part = u - period
        # the mass of this period before x: one slope up to gamma, a smaller one beyond
        passed = part.min(gamma + b * (part - gamma))
        level = gamma + b * (1 - gamma)
        return b**period * (1 - (1 - b) * passed / level)

    return beyond


FAMILY = Family(
    "staircase",
    Staircase,
    paper="Geng and Viswanath 2014",
    cites=("geng2014", "geng2016"),
    closed_form=True,
    calibrate=_noise,
    tail=_tail,
    reference=Reference(Staircase(1.0), 0.5, 0.27882693094780022),
)
