"""The Skellam law: the difference of two Poisson counts. Sums of independent Skellam variables are Skellam variables.

Its probabilities are p(k) = e^(-v) I_|k|(v), where v = sigma^2/step^2 is the variance in steps. The ratios of
neighbours come from the continued fraction I_(k+1)/I_k = 1/(2(k+1)/v + I_(k+2)/I_(k+1)), computed from large k
downwards. All terms are positive, and an error shrinks by the product of the squared ratios.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive
from hush.noise.contract import Law
from hush.noise.divisible import scale_of
from hush.noise.family import Counts, Family, Reference
from hush.noise.lattice import MOST_POINTS, Lattice
from hush.noise.region import Region
from hush.noise.request import Request
from hush.numerics import special
from hush.numerics.ball import Ball, flint_module, precision
from hush.numerics.rounding import FEW_ROUNDINGS, rounded_down, rounded_up
from hush.numerics.search import first_true_from

__all__ = ["FAMILY", "Skellam"]

Array = NDArray[np.float64]
Wide = NDArray[np.longdouble]

_ULP = float(np.finfo(np.longdouble).eps)
_MOST_STEPS = 1 << 62  # steps; more than any table has
_DEPTH = 1700.0  # the table ends at log p(k) = -1700: log 5e-324, minus a loss of 950


@dataclass(frozen=True)
class Skellam(Lattice):
    """step (N - N') with independent Poisson counts N, N' of mean sigma^2/(2 step^2) each; sigma is the deviation.

    P(X = k step) = e^(-v) I_|k|(v),  v = (sigma/step)^2.

    Guarantees: sums of independent members are members, and their variances add up. The probabilities are log-concave
    (convolutions of log-concave ones), so the loss log p(k)/p(k - n) falls with k, the exceeding set is a half line of
    points, and the full shift is worst. The loss is unbounded, so there is no pure epsilon. (Agarwal, Kairouz and Liu
    2021 bound the Renyi divergences; the curve of hush is exact.)

    >>> round(Skellam(2.0).variance, 12)
    4.0
    """

    sigma: float
    step: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma, "write Skellam(10.0)"))
        object.__setattr__(self, "step", positive("step", self.step, "write Skellam(10.0, step=1.0)"))
        if self.sigma / self.step < 1e-150 or self._reach(800.0) > MOST_POINTS:
            raise Unsupported(
                f"a lattice of step {self.step:g} does not suit Skellam noise of sigma {self.sigma:g}: "
                f"use a step from {rounded_up(self.sigma * 40.0 / MOST_POINTS, 3)} "
                f"to {rounded_down(self.sigma * 1e150, 3)}."
            )

    @property
    def _v(self) -> float:
        return (self.sigma / self.step) ** 2

    @property
    def rate(self) -> float:
        """The mean of each of the two Poisson counts."""
        return 0.5 * self._v

    def _reach(self, depth: float) -> int:
        """Return a k with log P(X >= k) < -depth.

        Chernoff's bound is k asinh(k/v) - sqrt(k^2 + v^2) + v; the result is one more than the least k that satisfies
        it.
        """
        v = self._v

        def fall(k: float) -> float:
            t = math.asinh(k / v)
            return k * t - v * math.expm1(t) ** 2 * math.exp(-t) / 2.0  # sqrt(k^2 + v^2) - v = v (cosh t - 1)

        found = first_true_from(1, _MOST_STEPS, lambda k: fall(k) >= depth)
        return _MOST_STEPS if found is None else found + 1

    @cached_property
    def log_weights(self) -> Wide:
        """log p(k)/p(0) for k = 0, 1, 2, ... in extended precision."""
        last = self._reach(_DEPTH)
        extra = self._reach(_DEPTH + 60.0)  # the start; its error shrinks by e^-120 until the table begins
        ratio, ratios = np.longdouble(0.0), np.empty(last, dtype=np.longdouble)
        per_step, one = np.longdouble(2.0) / self._wide_v, np.longdouble(1.0)
        for k in range(extra, 0, -1):
            ratio = one / (per_step * k + ratio)
            if k <= last:
                ratios[k - 1] = ratio
        return np.concatenate([np.zeros(1, dtype=np.longdouble), np.cumsum(np.log(ratios))])

    @property
    def _wide_v(self) -> np.longdouble:
        return np.longdouble((np.longdouble(self.sigma) / np.longdouble(self.step)) ** 2)

    @cached_property
    def _log_total(self) -> np.longdouble:
        weights = np.exp(self.log_weights)
        return np.longdouble(np.log(2.0 * np.sum(weights[:0:-1]) + weights[0]))

    @property
    def points(self) -> int:
        return int(self.masses.size)

    @cached_property
    def masses(self) -> Array:
        with np.errstate(under="ignore"):
            masses = np.exp(self.log_weights - self._log_total).astype(np.float64)
        return masses[: int(np.count_nonzero(masses)) + 1]

    def log_mass(self, k: Array) -> Array:
        table = self.log_weights
        near = np.minimum(k, table.size - 1.0).astype(np.int64)
        inside = (table[near] - self._log_total).astype(np.float64)
        if not (beyond := k >= table.size).any():
            return inside
        # p(k) is e^(-v) (v/2)^k/k! times a factor between 1 and e^(v^2/(4k)); k is far larger than v here
        far = np.where(beyond, k, 1.0)
        return np.where(beyond, far * math.log(0.5 * self._v) - special.gammaln(far + 1.0) - self._v, inside)

    @lru_cache(maxsize=64)  # noqa: B019 - the class is frozen, and its table is kept as long as the cache
    def losses(self, n: int) -> tuple[Array, Array]:
        table, last = self.log_weights, self.log_weights.size - 1
        k = np.arange(n // 2, -self.points, -1)
        there = np.abs(k - n)
        loss = table[np.abs(k)] - table[np.minimum(there, last)]
        # the loss of a point beyond the table is at least 900; infinity is an upper bound
        return np.where(there <= last, loss, np.inf).astype(np.float64), self.masses[np.abs(k)]

    def _unsure(self, epsilon: Array, shift: float) -> Array:
        """Return a bound on the error of losses near epsilon.

        A loss is a difference of two logarithms: the log of n ratios, each with at most about sigma/step roundings.
        """
        return _ULP * (4.0 * self.steps_in(shift) * (1.0 + self.sigma / self.step) + 8.0 * _DEPTH) + 4e-16 * epsilon

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return the sum over the region; epsilon is lowered by the error of the losses, so delta is an upper bound."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        return super().surplus(region, epsilon - self._unsure(epsilon, shift), shift)

    def error_at(self, epsilon: Array, shift: float) -> Array:
        """Return the relative change of delta if epsilon were raised by the error of the losses instead of lowered."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        region, unsure = self.exceeds(epsilon, shift), self._unsure(epsilon, shift)
        high, low = (super(Skellam, self).surplus(region, epsilon + side * unsure, shift) for side in (-1.0, 1.0))
        return self.relative_error + np.where(high > 0.0, (high - low) / np.where(high > 0.0, high, 1.0), 1.0)

    @property
    def variance(self) -> float:
        return self.sigma * self.sigma

    @property
    def subgaussian_proxy(self) -> float:
        """Infinite, because E e^(tX) = e^(v (cosh(t step) - 1)) grows faster than any e^(c t^2)."""
        return math.inf

    def scaled(self, k: float) -> Skellam:
        return self.scaled_by(k, "sigma", "step")

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Skellam:
        return Skellam(scale_of(self.sigma * float(ratio) ** 0.5, FEW_ROUNDINGS, upwards=upwards), self.step)

    def widened(self, k: float) -> Skellam:
        return Skellam(self.sigma * k, self.step)


def _noise(request: Request) -> Law:
    """Return the noise of least sigma on the lattice of the request; the search starts at the Gaussian sigma."""
    if request.step is None:
        raise Unsupported("Skellam noise exists on a lattice only; write step=1.0")
    if request.delta == 0.0:
        raise Unsupported("Skellam noise has no pure epsilon")
    step, first = request.step, request.gaussian_sigma()
    tolerance = 1e-13 if request.bound.is_box and request.count == 1 else 1e-7
    return request.least(lambda x: Skellam(math.exp(x), step), math.log(first), tolerance=tolerance)


# -- the two counts ------------------------------------------------------------------------------------------


def _counts(noise: Skellam) -> Counts:
    """Return P(N > k) = e^(-m) sum over j > k of m^j/j! of a Poisson count of mean m = sigma^2/(2 step^2)."""
    if noise.rate > 1e9:
        raise Unsupported(
            f"the Poisson counts of {noise} have a mean of {noise.rate:.3g}, too large to draw; "
            f"use a step of {noise.sigma / 4e4:.3g}."
        )
    start, table = _poisson_table(noise.rate)

    def above(k: Array) -> Array:
        return np.where(k < start, 1.0, table[np.clip(k - start, 0, table.size - 1).astype(np.int64)])

    def ball(k: int) -> Ball:
        flint = flint_module()
        arb, ctx = flint.arb, flint.ctx
        extra = 2 * math.ceil(math.log2(noise.rate + k + 2.0)) + 32
        with precision(ctx.prec + extra):
            mean = (arb(noise.sigma) / noise.step) ** 2 / 2
            log_mass = -mean + k * mean.log() - arb(k + 1).lgamma()  # of k itself
            if k + 1 > mean:  # the sum over j > k, each term m/j of the one before
                return log_mass.exp() * _series(mean, k + 1, +1, ctx.prec)
            return 1 - log_mass.exp() * (1 + _series(mean, k, -1, ctx.prec))  # one minus the sum over j <= k

    return Counts(above, ball)


def _poisson_table(mean: float) -> tuple[int, Array]:
    """Return the first k and P(N > k) from there on, as far as the probabilities do not underflow.

    The probabilities are products of ratios from the mode, summed from both ends.
    """
    reach = 40.0 * math.sqrt(mean) + 400.0
    mode, start = int(mean), max(int(mean - reach), 0)
    j = np.arange(start, int(mean + reach) + 1).astype(np.longdouble)
    ratios = np.log1p((np.longdouble(mean) - j[1:]) / j[1:])  # log m/j
    logs = np.concatenate([np.zeros(1, dtype=np.longdouble), np.cumsum(ratios)])
    with np.errstate(under="ignore"):
        weights = np.exp(logs - logs[mode - start])
        up_to, beyond = np.cumsum(weights), np.cumsum(weights[::-1])[::-1]
        beyond = np.append(beyond[1:], np.longdouble(0.0)) / up_to[-1]
        above = np.where(beyond < 0.5, beyond, 1.0 - up_to / up_to[-1])
    return start, above.astype(np.float64)


def _series(mean: Ball, start: int, direction: int, bits: int) -> Ball:
    """Return the sum of products of m/j, j = start, start + 1, ... (upwards), or of j/m, j = start, start - 1, ...

    The result includes a bound on the omitted rest: the ratios decrease, so the rest is at most the last term times
    rho/(1 - rho), rho the next ratio.
    """
    arb = flint_module().arb
    total, term, j, small = arb(0), arb(1), start, arb(2) ** -(bits + 8)
    while j > 0:
        term = term * (mean / j if direction > 0 else j / mean)
        total, j = total + term, j + direction
        if term < small * total:
            rho = mean / j if direction > 0 else j / mean
            if rho < 1:
                return total + (term * rho / (1 - rho)).upper() * arb(0.5, 0.5)
    return total


FAMILY = Family(
    "skellam",
    Skellam,
    paper="Agarwal, Kairouz and Liu 2021",
    cites=("agarwal2021",),
    pure=False,
    calibrate=_noise,
    counts=_counts,
    reference=Reference(Skellam(2.0), 0.5, 0.05267542605376093),
    divisible=True,
)
