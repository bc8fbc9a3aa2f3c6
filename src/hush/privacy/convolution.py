"""Several loss distributions on one grid, convolved under a tilt.

Every distribution is tilted first, p_j e^(t e_j)/M(t), with t at the saddle point. The tilted sum is then centred where
delta is decided. Round-off is 1e-16 of the *tilted* mass, so it is 1e-16 of delta instead of 1e-16. The convolution
is a product of discrete Fourier transforms on a window around the tilted mean. Chernoff's inequality bounds the mass
outside the window. Composed laws are smooth, so only a few frequencies of the product matter (spectrum.py). Each of
them contributes a geometric series to delta, which has a closed form. If many frequencies matter, the law itself is
transformed back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics import special
from hush.numerics.rounding import NEAR_ENOUGH, UNIT, down, next_down
from hush.numerics.search import guarded_newton
from hush.privacy.composed_law import ComposedLaw, Dense, Spectral
from hush.privacy.loss_pair import LossDistribution
from hush.privacy.spectrum import FAINT, Relevant, TiltedPart, in_bands, relevant, transform_error

__all__ = ["TiltedSum"]

Array = NDArray[np.float64]
Spectrum = NDArray[np.complex128]
Parts = tuple[tuple[LossDistribution, int], ...]

_NORMAL = (7.0, 7.5, 8.5)  # deviations that the window of a nearly normal sum extends to either side
_AROUND = 25.0  # e^-25 of Chernoff's bound on delta may come from below the window
_BEYOND = 5e-13  # the share of the tilted mass beyond the window of a sum with longer tails
_TURNS = 60  # of the search for a window of a sum with longer tails
_WRAPPED = 1e-10  # the share of the tilted mass that may wrap around, and is then added to delta
_MOST_FREQUENCIES = 512  # with more, transforming back is cheaper
_MOST_POINTS = 1 << 24
_LONG = 1 << 22  # points of a window for which a weaker tilt is tried
_WEAKER = 24  # tilts that are tried


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

    @cached_property
    def _flat(self) -> tuple[Array, Array, NDArray[np.int64], NDArray[np.int64], Array]:
        """The logarithms of the masses of all parts in one row, their losses, where each part starts, its size, and how
        often it occurs.
        """
        sizes = np.array([part.masses.size for part, _ in self.parts])
        logs = np.concatenate([part.log_masses for part, _ in self.parts])
        losses = np.concatenate([part.losses for part, _ in self.parts])
        times = np.array([times for _, times in self.parts], dtype=np.float64)
        return logs, losses, np.cumsum(sizes) - sizes, sizes, times

    def _weights(self, tilt: float) -> tuple[Array, Array, Array]:
        """e^(tilt loss) p of all parts in one row, divided by the largest of its part; the sums for each part, and the
        logarithms of the divisors.
        """
        logs, losses, starts, sizes, _ = self._flat
        exponent = logs + tilt * losses
        top = np.maximum.reduceat(exponent, starts)
        with np.errstate(under="ignore"):
            weights = np.exp(exponent - np.repeat(top, sizes))
        return weights, np.add.reduceat(weights, starts), top

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """log M, mean and variance of the tilted sum."""
        _, losses, starts, sizes, times = self._flat
        weights, totals, top = self._weights(tilt)
        means = np.add.reduceat(weights * losses, starts) / totals
        squares = np.add.reduceat(weights * (losses - np.repeat(means, sizes)) ** 2, starts) / totals
        log_m = math.fsum(times * (top + np.log(totals)))
        return log_m, float((times * means).sum()), float((times * squares).sum())

    def log_mgf(self, tilt: float) -> float:
        """log M alone."""
        _, totals, top = self._weights(tilt)
        return math.fsum(self._flat[-1] * (top + np.log(totals)))

    def _tilted(self, tilt: float) -> list[TiltedPart]:
        weights, totals, _ = self._weights(tilt)
        _, _, starts, sizes, _ = self._flat
        rows = np.split(weights / np.repeat(totals, sizes), starts[1:])
        return [TiltedPart(row, part.at, times) for row, (part, times) in zip(rows, self.parts, strict=True)]

    def tilt_for(self, epsilon: float) -> float:
        """The saddle point: the tilt whose mean is approximately epsilon (0 if the mean is above epsilon already)."""
        top = sum(times * part.losses[-1] for part, times in self.parts)
        epsilon = min(epsilon - self.offset, down(top, NEAR_ENOUGH))

        def probe(tilt: float) -> tuple[float, float] | None:
            _, mean, variance = self.moments(tilt)
            if abs(mean - epsilon) < 0.2 * math.sqrt(variance) or (tilt == 0.0 and mean >= epsilon) or tilt > 1e12:
                return None
            newton = tilt + (epsilon - mean) / max(variance, 1e-300)
            return epsilon - mean, newton if newton < 4.0 * tilt + 8.0 / math.sqrt(max(variance, 1e-300)) else math.nan

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

    def composed(self, tilt: float, *, fold: bool = True) -> ComposedLaw:
        """The tilted law of the sum, in a window around its mean that contains all but a known share of it.

        A strong tilt may favour rare losses so far out that their window is too long; a weaker tilt is used then. With
        `fold`, the window may end close below the mean.
        """
        for turn in range(_WEAKER + 1):
            log_m, mean, variance = self.moments(tilt)
            lowest = sum(times * part.first for part, times in self.parts)
            highest = sum(times * part.last for part, times in self.parts)
            below, above, wrapped, folded = self._window(tilt, log_m, mean, variance, fold)
            first = max(lowest, math.floor((mean - below) / self.step))
            last = min(highest, math.ceil((mean + above) / self.step))
            if last - first < _LONG or turn == _WEAKER:
                break
            tilt = 0.7 * tilt if turn < _WEAKER - 1 else 0.0
        length = special.next_fast_len(max(last - first + 1, 16))
        if length > _MOST_POINTS:
            raise Unsupported(
                f"the composition needs more than {_MOST_POINTS} grid points; use fewer releases or more noise."
            )
        spread = (mean, math.sqrt(variance))
        known = (first, length, self.step, self.offset, tilt, log_m, wrapped, folded, self.infinite, *spread)
        parts = self._tilted(tilt)
        found = relevant(parts, length)
        if found is None:
            spectrum, origin = _spectrum(parts, length)
            size, rounding = np.abs(spectrum), 2.0 * self.count * transform_error(length)
            numbers = np.flatnonzero(size > FAINT)
            if numbers.size > _MOST_FREQUENCIES:
                circle = np.roll(special.irfft(spectrum, length), -((first - origin) % length))
                return Dense(*known, 4.0 * rounding * float(size.mean()), np.maximum(circle, 0.0, out=circle))
            values = spectrum[numbers] * np.exp(-2j * math.pi / length * (numbers * (origin % length) % length))
            size[numbers] = 0.0
            faint = np.vstack([[0.0, float(size[0]) + UNIT], in_bands(size, 1)])
            found = Relevant(numbers, values, np.full(numbers.size, rounding), faint)
        return Spectral(*known, found.numbers, found.values, found.errors, found.faint)

    def _window(
        self, tilt: float, log_m: float, mean: float, variance: float, fold: bool
    ) -> tuple[float, float, float, bool]:
        """How far the window must extend below and above the mean, a bound on the tilted mass outside, and whether it
        is only about the mass above.

        What is below the window comes back at its upper end, where the tilt is undone by a factor that is smaller by
        e^(-tilt window). So it adds at most that to delta (composed_law.py). If the window is long enough for this, its
        lower end need not be far out.
        """
        deviation = math.sqrt(variance) + self.step
        above, bound = self._reach(1.0, tilt, log_m, mean, deviation)
        if tilt > 0.0 and fold:
            # a tilt on the ladder of tilts is up to 1.29 times that whose mean is the epsilon in question, or less
            apart = 0.3 * tilt * variance
            below = max((tilt * (mean + apart) - log_m + _AROUND) / tilt - above, deviation + max(deviation, apart))
            if below < _NORMAL[0] * deviation:
                return below, above, bound, True
        below, more = self._reach(-1.0, tilt, log_m, mean, deviation)
        return below, above, bound + more, False

    def _reach(self, sign: float, tilt: float, log_m: float, mean: float, deviation: float) -> tuple[float, float]:
        """How far the window must extend on one side, and a bound on the mass beyond it: P(sum beyond width) is at most
        e^(K(t) - t width) for every t > 0. Seven or eight deviations suffice for sums that are nearly normal. For
        longer tails the least width of several t is taken, after the rarest losses were left out: K is then that of the
        other losses, and the probability that one of the rarest occurs is added.
        """

        def cumulant(total: TiltedSum, t: float) -> float:
            return total.log_mgf(tilt + sign * t) - log_m - sign * t * mean

        for many in _NORMAL:
            width, t = many * deviation, many / deviation
            bound = math.exp(min(cumulant(self, t) - t * width, 0.0))
            if bound < _WRAPPED:
                return width, bound
        common = TiltedSum(
            tuple((part.without_tail(sign, tilt, _BEYOND / self.count), times) for part, times in self.parts)
        )
        least, rises = math.inf, 0
        for turn in range(_TURNS):
            t = _NORMAL[0] / deviation * 2.0 ** (0.5 - 0.5 * turn)
            needed = max(cumulant(common, t) - math.log(_BEYOND), 0.0) / t
            rises = 0 if needed < least else rises + 1
            least = min(least, needed)
            if rises > 3:
                break
        return max(least, width), 2.0 * _BEYOND


def _between(low: float, high: float) -> float:
    """A tilt between two: the middle, but at most twice the lower one, because strong tilts leave only round-off."""
    return min(2.0 * low + 1e-3, 0.5 * (low + high))


def _spectrum(parts: Sequence[TiltedPart], length: int) -> tuple[Spectrum, int]:
    """The transform of the sum at all frequencies, and the place that is its origin. Short parts are first convolved
    with each other, at the length that they need.
    """
    if len(parts) == 1:
        return _power(parts[0].transform(length), parts[0].times), parts[0].times * parts[0].centre
    spectrum, turns = np.ones(length // 2 + 1, dtype=np.complex128), 0
    waiting: list[Array] = []
    with np.errstate(under="ignore"):
        for part in parts:
            if part.times > 1 or 8 * part.span > length:
                spectrum *= _power(part.transform(length), part.times)
                turns += part.times * part.centre
                continue
            if sum(w.size for w in waiting) + part.span > length // 4:
                spectrum *= special.rfft(_convolved(waiting), length)
                waiting = []
            waiting.append(np.zeros(part.span))
            waiting[-1][part.places - part.places[0]] = part.masses
            turns += int(part.places[0])
        if waiting:
            spectrum *= special.rfft(_convolved(waiting), length)
    return spectrum, turns


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
