"""Several loss distributions on one grid, convolved under a tilt.

Every distribution is tilted first, p_j e^(t e_j)/M(t), with t at the saddle point. The tilted sum is then centred where
delta is decided. Round-off is 1e-16 of the *tilted* mass, so it is 1e-16 of delta instead of 1e-16. The convolution
is a product of discrete Fourier transforms on a window around the tilted mean. Chernoff's inequality bounds the mass
outside the window. Composed laws are smooth, so only a few frequencies of the product matter. Each of them contributes
a geometric series to delta, which has a closed form. If many frequencies matter, the law itself is transformed back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics import special
from hush.numerics.rounding import NEAR_ENOUGH, UNIT, down, next_down
from hush.numerics.search import guarded_newton
from hush.privacy.composed_law import ComposedLaw, Dense, Spectral
from hush.privacy.frequencies import MOST_TERMS, transform_at
from hush.privacy.loss_pair import LossDistribution

__all__ = ["TiltedSum"]

Array = NDArray[np.float64]
Spectrum = NDArray[np.complex128]
Parts = tuple[tuple[LossDistribution, int], ...]

_NORMAL = 7.0  # deviations that the window of a nearly normal sum extends to either side
_BEYOND = 5e-13  # the share of the tilted mass beyond the window of a sum with longer tails
_TURNS = 60  # of the search for a window of a sum with longer tails
_WRAPPED = 1e-10  # the share of the tilted mass that may wrap around, and is then added to delta
_FAINT = 1e-16  # smaller frequencies are omitted, and added to delta
_MOST_FREQUENCIES = 4096  # with more, transforming back is cheaper
_MOST_POINTS = 1 << 24
_LONG = 1 << 22  # points of a window for which a weaker tilt is tried
_WEAKER = 24  # tilts that are tried
_MANY = 20_000  # releases, from which the rounding errors of a fast transform matter


@dataclass(frozen=True, eq=False)
class TiltedSum:
    """Several loss distributions on one grid, each a number of times, composed under a tilt."""

    parts: Parts

    @property
    def step(self) -> float:
        return self.parts[0][0].step

    @cached_property
    def count(self) -> int:
        return sum(times for _, times in self.parts)

    @cached_property
    def offset(self) -> float:
        """What is added to every sum of losses on the lattice."""
        return math.fsum(times * part.offset for part, times in self.parts)

    @cached_property
    def infinite(self) -> float:
        return -math.expm1(sum(times * math.log1p(-min(part.infinite, next_down(1.0))) for part, times in self.parts))

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """log M, mean and variance of the tilted sum."""
        log_m = mean = variance = 0.0
        for part, times in self.parts:
            one = part.moments(tilt)
            log_m, mean, variance = log_m + times * one[0], mean + times * one[1], variance + times * one[2]
        return log_m, mean, variance

    def log_mgf(self, tilt: float) -> float:
        return math.fsum(times * part.log_mgf(tilt) for part, times in self.parts)

    def tilt_for(self, epsilon: float) -> float:
        """The saddle point: the tilt whose mean is approximately epsilon (0 if the mean is above epsilon already)."""
        top = sum(times * part.losses[-1] for part, times in self.parts)
        epsilon = min(epsilon - self.offset, down(top, NEAR_ENOUGH))

        def probe(tilt: float) -> tuple[float, float] | None:
            _, mean, variance = self.moments(tilt)
            if abs(mean - epsilon) < 0.2 * math.sqrt(variance) or (tilt == 0.0 and mean >= epsilon) or tilt > 1e12:
                return None
            newton = tilt + (epsilon - mean) / max(variance, 1e-300)
            return epsilon - mean, newton if newton < 4.0 * tilt + 1.0 / math.sqrt(max(variance, 1e-300)) else math.nan

        return guarded_newton(probe, 0.0, 0.0, math.inf, _between)

    def tilt_for_delta(self, delta: float) -> float:
        """The tilt t at which M(t) e^(-t mean)/(1 + t) falls to delta: Chernoff's bound at its mean, divided by 1 + t,
        because a loss counts by how far it exceeds epsilon (without this, losses that end in an atom never get there).
        """
        target = math.log(delta)
        variance = self.moments(0.0)[2]

        def probe(tilt: float) -> tuple[float, float] | None:
            log_m, mean, variance = self.moments(tilt)
            gap = log_m - tilt * mean - math.log1p(tilt) - target
            if abs(gap) < 1.0 or tilt > 1e12:
                return None
            newton = tilt + gap / (tilt * variance + 1.0 / (1.0 + tilt))
            return gap, newton if newton < 4.0 * tilt else math.nan

        return guarded_newton(probe, math.sqrt(-2.0 * target / max(variance, 1e-300)), 0.0, math.inf, _between)

    def composed(self, tilt: float) -> ComposedLaw:
        """The tilted law of the sum, in a window around its mean that contains all but a known share of it.

        A strong tilt may favour rare losses so far out that their window is too long; a weaker tilt is used then.
        """
        for turn in range(_WEAKER + 1):
            log_m, mean, variance = self.moments(tilt)
            lowest = sum(times * part.first for part, times in self.parts)
            highest = sum(times * part.last for part, times in self.parts)
            below, above, wrapped = self._window(tilt, log_m, mean, variance)
            first = max(lowest, math.floor((mean - below) / self.step))
            last = min(highest, math.ceil((mean + above) / self.step))
            if last - first < _LONG or turn == _WEAKER:
                break
            tilt = 0.7 * tilt if turn < _WEAKER - 1 else 0.0
        whole = (part.masses.size for part, _ in self.parts if part.places is None)
        length = special.next_fast_len(max(last - first + 1, *whole, 16))
        if length > _MOST_POINTS:
            raise Unsupported(
                f"the composition needs more than {_MOST_POINTS} grid points; use fewer releases or more noise."
            )
        spectrum = self._spectrum(tilt, length)
        rounding = 8.0 * UNIT * (self.count + math.log2(length))
        known = (first, length, self.step, self.offset, tilt, log_m, wrapped, self.infinite, mean, math.sqrt(variance))
        size = np.abs(spectrum)
        numbers = np.flatnonzero(size > _FAINT)
        if numbers.size <= _MOST_FREQUENCIES:
            faint = 2.0 * float(size.sum() - size[numbers].sum() + UNIT) / length
            if self.count > _MANY and numbers.size * sum(part.masses.size for part, _ in self.parts) < MOST_TERMS:
                rounding = 8.0 * UNIT * (8.0 * math.sqrt(self.count) + math.log2(length))
                return Spectral(*known, rounding, numbers, transform_at(self.parts, tilt, numbers, length), faint)
            turned = np.exp(-2j * math.pi / length * (numbers * (lowest % length) % length))
            return Spectral(*known, rounding, numbers, spectrum[numbers] * turned, faint)
        circle = np.roll(special.irfft(spectrum, length), -((first - lowest) % length))
        return Dense(*known, rounding * 2.0 * float(size.mean()), np.maximum(circle, 0.0))

    def _spectrum(self, tilt: float, length: int) -> Spectrum:
        """The transform of the tilted sum; short parts are first convolved with each other, at the length that they
        need.
        """
        spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
        waiting: list[Array] = []
        with np.errstate(under="ignore"):
            for part, times in self.parts:
                masses = part.tilted(tilt, part.log_mgf(tilt))
                if times > 1 or 8 * masses.size > length or part.places is not None:
                    spectrum *= _power(special.rfft(part.on_circle(masses, length), length), times)
                    continue
                if sum(w.size for w in waiting) + masses.size > length // 4:
                    spectrum *= special.rfft(_convolved(waiting), length)
                    waiting = []
                waiting.append(masses)
            if waiting:
                spectrum *= special.rfft(_convolved(waiting), length)
        return spectrum

    def _window(self, tilt: float, log_m: float, mean: float, variance: float) -> tuple[float, float, float]:
        """How far the window must extend below and above the mean, and Chernoff's bound on the mass outside."""
        deviation = math.sqrt(variance) + self.step
        reach, bounds = [], []
        for sign in (-1.0, 1.0):
            found = self._reach(sign, tilt, log_m, mean, deviation)
            reach.append(found[0])
            bounds.append(found[1])
        return reach[0], reach[1], sum(bounds)

    def _reach(self, sign: float, tilt: float, log_m: float, mean: float, deviation: float) -> tuple[float, float]:
        """How far the window must extend on one side, and a bound on the mass beyond it: P(sum beyond width) is at most
        e^(K(t) - t width) for every t > 0. Seven deviations suffice for sums that are nearly normal. For longer tails
        the least width of several t is taken, after the rarest losses were left out: K is then that of the other
        losses, and the probability that one of the rarest occurs is added.
        """

        def cumulant(parts: Parts, t: float) -> float:
            tilted = math.fsum(times * part.log_mgf(tilt + sign * t) for part, times in parts)
            return tilted - log_m - sign * t * mean

        width, t = _NORMAL * deviation, _NORMAL / deviation
        bound = math.exp(min(cumulant(self.parts, t) - t * width, 0.0))
        if bound < _WRAPPED:
            return width, bound
        common = tuple((part.without_tail(sign, tilt, _BEYOND / self.count), times) for part, times in self.parts)
        least, rises = math.inf, 0
        for turn in range(_TURNS):
            t = _NORMAL / deviation * 2.0 ** (0.5 - 0.5 * turn)
            needed = max(cumulant(common, t) - math.log(_BEYOND), 0.0) / t
            rises = 0 if needed < least else rises + 1
            least = min(least, needed)
            if rises > 3:
                break
        return max(least, width), 2.0 * _BEYOND


def _between(low: float, high: float) -> float:
    """A tilt between two: the middle, but at most twice the lower one, because strong tilts leave only round-off."""
    return min(2.0 * low + 1e-3, 0.5 * (low + high))


def _convolved(rows: list[Array]) -> Array:
    """The convolution of all rows."""
    if len(rows) == 1:
        return rows[0]
    size = sum(row.size for row in rows) - len(rows) + 1
    length = special.next_fast_len(size)
    product = special.rfft(rows[0], length)
    for row in rows[1:]:
        product *= special.rfft(row, length)
    return special.irfft(product, length)[:size]


def _power(transform: Spectrum, times: int) -> Spectrum:
    """z^times by squaring; 0 where the power would be below 1e-30."""
    if times == 1:
        return transform
    alive = np.flatnonzero(np.abs(transform) > 1e-30 ** (1.0 / times))
    base, result = transform[alive], np.ones(alive.size, dtype=np.complex128)
    while times:
        if times & 1:
            result = result * base
        times >>= 1
        if times:
            base = base * base
    whole = np.zeros_like(transform)
    whole[alive] = result
    return whole
