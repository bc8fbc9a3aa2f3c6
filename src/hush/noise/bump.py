"""Bump noise: a law on a lattice with light tails and a bounded support, for thresholds on noisy counts.

P(X = x) is proportional to cos(pi x/(2 edge))^exponent on the multiples x of a step with |x| < edge. For a given Fisher
information, which decides the privacy of many releases together, cos^2 is the law of least support (Huber 1981); larger
exponents have less mass near the edge. The Gaussian law is the limit of large exponents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive, reject
from hush.noise.contract import Law
from hush.noise.family import Family, Reference
from hush.noise.lattice import MOST_POINTS, Lattice
from hush.noise.region import Region
from hush.noise.request import Request
from hush.numerics.ball import Ball, Tail, flint_module
from hush.numerics.rounding import rounded_up

__all__ = ["FAMILY", "Bump"]

Array = NDArray[np.float64]
Wide = NDArray[np.longdouble]

_ULP = float(np.finfo(np.longdouble).eps)
_HINT = "write Bump(exponent=8.0, edge=100.0)"
_EXPONENTS = (6.0, 12.0, 24.0)  # that calibration tries
_LARGEST = 700.0  # an epsilon at which every finite loss of a table is smaller
_ENOUGH = 0.01  # the least share of P that a difference of sums may be


@dataclass(frozen=True)
class Bump(Lattice):
    """Noise on the multiples x of `step` with |x| < edge, of probability proportional to cos(pi x/(2 edge))^exponent.

    Guarantees: log cos is concave, so the probabilities are log-concave: the loss log p(k)/p(k - n) falls with k, the
    exceeding set is a half line of points, and the full shift is worst. The support is bounded, so there is no pure
    epsilon: the last points have no shifted counterpart. New here.

    >>> round(Bump(6.0, 100.0).variance, 1)
    575.1
    """

    exponent: float
    edge: float
    step: float = 1.0

    def __post_init__(self) -> None:
        for name in ("exponent", "edge", "step"):
            object.__setattr__(self, name, positive(name, getattr(self, name), _HINT))
        if self.exponent > 1e6:
            raise reject(
                "exponent",
                self.exponent,
                "at most 1e6",
                "write Discrete(Gaussian(sigma)), the limit of large exponents",
            )
        if self.edge / self.step > MOST_POINTS:
            raise Unsupported(
                f"a lattice of step {self.step:g} is too fine for an edge of {self.edge:g}; "
                f"use a step of at least {rounded_up(self.edge / MOST_POINTS, 3)}."
            )

    # -- the table of the points 0, 1, 2, ... ----------------------------------------------------------------

    @cached_property
    def log_weights(self) -> Wide:
        """log p(k)/p(0) for the points of the support, in extended precision: cos(pi x/(2 edge)) is the sine of the
        distance to the edge, which has no cancellation.
        """
        edge, step = np.longdouble(self.edge), np.longdouble(self.step)
        k = np.arange(math.ceil(self.edge / self.step) + 1).astype(np.longdouble)
        left = edge - k * step
        half_pi = np.longdouble(2.0) * np.arctan(np.longdouble(1.0))
        return np.longdouble(self.exponent) * np.log(np.sin(half_pi * (left[left > 0.0] / edge)))

    @cached_property
    def _log_total(self) -> np.longdouble:
        with np.errstate(under="ignore"):
            weights = np.exp(self.log_weights)
        return np.longdouble(np.log(2.0 * np.sum(weights[:0:-1]) + weights[0]))

    @property
    def points(self) -> int:
        return int(self.log_weights.size)

    @cached_property
    def masses(self) -> Array:
        with np.errstate(under="ignore"):
            return np.exp(self.log_weights - self._log_total).astype(np.float64)

    def log_mass(self, k: Array) -> Array:
        inside = k < self.points
        near = np.where(inside, k, 0.0).astype(np.int64)
        return np.where(inside, (self.log_weights[near] - self._log_total).astype(np.float64), -np.inf)

    @lru_cache(maxsize=64)  # noqa: B019 - the class is frozen, and its table is kept as long as the cache
    def losses(self, n: int) -> tuple[Array, Array]:
        k = np.arange(min(n // 2, self.points - 1), -self.points, -1)
        there = np.abs(k - n)
        loss = self.log_weights[np.abs(k)] - self.log_weights[np.minimum(there, self.points - 1)]
        return np.where(there < self.points, loss, np.inf).astype(np.float64), self.masses[np.abs(k)]

    def _unsure(self, epsilon: Array) -> Array:
        """Return a bound on the error of losses near epsilon: two logarithms of sines, each with a few roundings of
        its argument and its value (at most log(4e6)), times the exponent.
        """
        return 64.0 * _ULP * self.exponent * (1.0 + math.log(MOST_POINTS)) + 4e-16 * epsilon

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        region = super().exceeds(epsilon, shift)
        return Region(np.maximum(region.lower, -self.support - 0.5 * self.step), region.upper)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Return the sum over the region; epsilon is lowered by the error of the losses, so delta is an upper bound."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        return self._lowered(epsilon.tobytes(), shift).reshape(epsilon.shape).copy()

    @lru_cache(maxsize=4)  # noqa: B019 - `surplus` and `error_at` need the same sums
    def _lowered(self, flat: bytes, shift: float) -> Array:
        """The same for the bytes of epsilons."""
        epsilon = np.frombuffer(flat)
        lower = epsilon - self._unsure(epsilon)
        sure, value = self._by_sums(lower, self.steps_in(shift))
        value[~sure] = super().surplus(self.exceeds(epsilon[~sure], shift), lower[~sure], shift)
        return value

    @lru_cache(maxsize=64)  # noqa: B019 - as `losses`
    def _mass_from(self, n: int) -> Array:
        """Return the sums of the probabilities of finite `losses(n)` from each point on, then 0. The losses rise."""
        loss, mass = self.losses(n)
        return np.append(np.cumsum(np.where(np.isfinite(loss), mass, 0.0)[::-1])[::-1], 0.0)

    def _by_sums(self, epsilon: Array, n: int) -> tuple[NDArray[np.bool_], Array]:
        """Return P - e^epsilon Q of the half lines, from sums of both laws, and where it has enough digits: a
        difference of a hundredth of P loses two digits of the sums, whose terms are within a few roundings.
        """
        loss, here, there = self._sums(n)
        first = np.searchsorted(loss, epsilon, side="right")
        p, q = here[first], there[first]
        most = np.exp(np.minimum(epsilon, _LARGEST).astype(np.longdouble))  # where it is larger, q is 0
        value = np.where(epsilon < _LARGEST, p - most * q, p)
        return np.asarray(value >= _ENOUGH * p), np.maximum(value, 0.0).astype(np.float64)

    @lru_cache(maxsize=64)  # noqa: B019 - as for `losses`
    def _sums(self, n: int) -> tuple[Array, Wide, Wide]:
        """Return the rising losses, and the sums of p(k) and of p(k - n) from each point outwards."""
        loss, mass = self.losses(n)
        k = np.arange(min(n // 2, self.points - 1), -self.points, -1)
        there = np.abs(k - n)
        moved = np.where(there < self.points, self.masses[np.minimum(there, self.points - 1)], 0.0)
        sums = (np.cumsum(each[::-1].astype(np.longdouble))[::-1] for each in (mass, moved))
        here, beyond = (np.append(each, np.longdouble(0.0)) for each in sums)
        return np.maximum.accumulate(loss), here, beyond

    def error_at(self, epsilon: Array, shift: float) -> Array:
        """Return a bound on the relative change of delta if epsilon were raised by the error of the losses instead of
        lowered: a term p (1 - e^(epsilon - loss)) falls by at most p times the change of epsilon, and not at all if its
        loss is infinite.
        """
        epsilon, n = np.asarray(epsilon, dtype=np.float64), self.steps_in(shift)
        unsure = self._unsure(epsilon)
        first = np.searchsorted(self.losses(n)[0], epsilon - unsure, side="right")
        change = 2.0 * unsure * self._mass_from(n)[first]
        high = self._lowered(epsilon.tobytes(), shift).reshape(epsilon.shape)
        return self.relative_error + np.where(high > 0.0, change / np.where(high > 0.0, high, 1.0), 1.0)

    @property
    def support(self) -> float:
        """The largest point."""
        return (self.points - 1) * self.step

    def scaled(self, k: float) -> Bump:
        return self.scaled_by(k, "edge", "step")

    def widened(self, k: float) -> Bump:
        return Bump(self.exponent, self.edge * k, self.step)


def _noise(request: Request) -> Law:
    """Return the least noise of a few exponents, on the lattice of the request."""
    if request.step is None:
        raise Unsupported("bump noise exists on a lattice only; write step=1.0")
    if request.delta == 0.0:
        raise Unsupported("bump noise has no pure epsilon")
    step, first = request.step, request.gaussian_sigma()

    def least(power: float) -> Law:
        start = math.log(first * math.pi * math.sqrt(power) / 2.0)  # near 0 the law is Gaussian, of this sigma
        return request.least(lambda x: Bump(power, math.exp(x), step), start, tolerance=1e-7)

    return min((least(power) for power in _EXPONENTS), key=request.value)


def _tail(noise: Bump) -> Tail:
    """P(|X| > k step) in balls, for whole k."""
    return lambda k: _beyond(noise, flint_module().ctx.prec)[min(int(k) + 1, noise.points)]


@lru_cache(maxsize=32)
def _beyond(noise: Bump, bits: int) -> list[Ball]:
    """P(|X| >= k step) for k = 1, 2, ..., points, at this precision (index 0 is not used): sums from the outside."""
    arb = flint_module().arb
    edge, step, power = arb(noise.edge), arb(noise.step), arb(noise.exponent)
    weights = [((edge - k * step) / edge * arb.pi() / 2).sin() ** power for k in range(noise.points)]
    sums = [arb(0)]
    for weight in reversed(weights[1:]):
        sums.append(sums[-1] + weight)
    sums.reverse()  # sums[k - 1] is the sum from k on
    total = weights[0] + 2 * sums[0]
    return [arb(1), *(2 * each / total for each in sums)]


FAMILY = Family(
    "bump",
    Bump,
    paper="this project",
    cites=("hush",),
    ranked=False,  # its variance is never the least; it is for low thresholds of keys
    pure=False,
    calibrate=_noise,
    tail=_tail,
    reference=Reference(Bump(6.0, 12.0), 0.5, 0.017818731786841122),
)
