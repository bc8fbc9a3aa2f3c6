"""Privacy loss distributions: certified discretisation and composition.

**Discretising.** A pair of laws is known by its curve delta(e). On the grid e_j = j h, join the exact values by chords (in e^e): the curve of
a discrete loss distribution that lies above the true, convex one. Its masses are second differences,

    p_j = (e^h (delta_(j-1) - delta_j) - (delta_j - delta_(j+1))) / (e^h - 1)     for j > 0,        p_inf = delta at the last point,

and losses below zero mirror those of the reversed pair, p_(-j) = e^(-e_j) p_j. Whatever dominates each part dominates the composition, so
the composed curve is an upper bound. The chords cost (h/d)^2/8 of the shift d, no more. Shrinking all losses by about as much gives a
discrete curve that lies *below* the true one everywhere (checked, not assumed): a lower bound, and so a bracket.

**Composing.** Losses add, so distributions convolve. Each is tilted first, p_j e^(t e_j)/M(t), with t at the saddle point: the tilted sum is
centred where delta is decided, and the FFT's round-off, 1e-16 of the *tilted* mass, is 1e-16 of delta instead of 1e-16 of 1. Round-off,
wrap-around (by Chernoff's bound) and the mass at infinity are added to the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from hush.errors import Unsupported
from hush.numerics.bracket import Bracket
from hush.privacy.curve import Curve

__all__ = ["Composed", "LossDistribution", "Pair"]

Array = NDArray[np.float64]

_UNIT = 2.3e-16
_CUT = 1e-55  # a part's loss beyond the epsilon where its delta is this small counts as infinite
_MOST_POINTS = 1 << 24
#: The share of the shift that discretisation may cost, unless asked otherwise.
DEFAULT_RELATIVE = 3e-6
_NEGLIGIBLE = 45.0  # e^-45 of the tilted mass is left out of sums, and added to delta
_WRAPPED = 1e-10  # share of the tilted mass that may wrap round, and is then added to delta


class Pair(Protocol):
    """Two laws, by the curve of the one against the other and back, for epsilon >= 0."""

    def forward(self, epsilon: Array) -> Bracket:
        """delta of the first against the second."""
        ...

    def backward(self, epsilon: Array) -> Bracket:
        """delta of the second against the first."""
        ...

    @property
    def symmetric(self) -> bool:
        """Is backward the same as forward?"""
        ...

    @property
    def spread(self) -> float:
        """The size of a typical loss: what a grid step is measured against."""
        ...

    @property
    def atoms(self) -> tuple[float, ...]:
        """Positive losses that have a probability of their own; the grid is aligned with the first."""
        ...


@dataclass(frozen=True)
class Reversed:
    """A pair the other way round."""

    pair: Any

    def forward(self, epsilon: Array) -> Bracket:
        return self.pair.backward(epsilon)

    def backward(self, epsilon: Array) -> Bracket:
        return self.pair.forward(epsilon)

    @property
    def symmetric(self) -> bool:
        return bool(self.pair.symmetric)

    @property
    def spread(self) -> float:
        return float(self.pair.spread)

    @property
    def atoms(self) -> tuple[float, ...]:
        return tuple(self.pair.atoms)


@dataclass(frozen=True)
class LossDistribution:
    """Masses p at losses (first + i) step, and `infinite` mass at infinity."""

    masses: Array
    first: int
    step: float
    infinite: float

    @cached_property
    def losses(self) -> Array:
        return (self.first + np.arange(self.masses.size)) * self.step

    @cached_property
    def _log_masses(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def moments(self, tilt: float) -> tuple[float, float, float]:
        """log M, mean and variance of the tilted law, M the sum of p e^(tilt loss) over the finite losses."""
        exponent = self._log_masses + tilt * self.losses
        top = float(exponent.max())
        with np.errstate(under="ignore"):
            weight = np.exp(exponent - top)
        total = float(weight.sum())
        mean = float(weight @ self.losses) / total
        return top + math.log(total), mean, float(weight @ (self.losses - mean) ** 2) / total

    def log_mgf(self, tilt: float) -> float:
        """log M alone."""
        exponent = self._log_masses + tilt * self.losses
        top = float(exponent.max())
        with np.errstate(under="ignore"):
            return top + math.log(float(np.exp(exponent - top).sum()))

    def tilted(self, tilt: float, log_m: float) -> Array:
        with np.errstate(under="ignore"):
            return np.exp(self._log_masses + tilt * self.losses - log_m)


def _side(delta: Array, step: float) -> Array:
    """Second differences: masses at e_1, e_2, ..., e_n from delta at e_0 .. e_n (rounding below zero is raised to zero, which only adds)."""
    fall = np.append(delta[:-1] - delta[1:], 0.0)
    return np.maximum((math.exp(step) * fall[:-1] - fall[1:]) / math.expm1(step), 0.0)


def _curve_of(masses: Array, infinite: float, step: float) -> Array:
    """delta at e_0 .. e_n of the masses at e_1 .. e_n: the differences' inverse, summed from the outside in."""
    e = np.arange(1.0, masses.size + 1.0) * step
    with np.errstate(divide="ignore", under="ignore"):
        tails = np.logaddexp.accumulate((np.log(masses) - e)[::-1])[::-1]  # log of the reversed law's mass at e_j and beyond
        falls = np.exp(tails + e - step) * math.expm1(step)  # delta_(j-1) - delta_j
    return np.append(np.cumsum(falls[::-1])[::-1] + infinite, infinite)


@lru_cache(maxsize=64)
def _sampled(pair: Any, backward: bool, step: float) -> tuple[Array, Bracket]:
    """The grid from 0 to where delta falls below the cut or stops falling, and the pair's curve on it, forward or backward."""
    side = pair.backward if backward else pair.forward
    counts = np.unique(np.round(64 * 2.0 ** (0.5 * np.arange(40)))).astype(np.int64)
    ends = np.asarray(side(counts * step).upper)
    final = np.flatnonzero((ends <= _CUT) | (np.append(ends[4:], [ends[-1]] * 4) >= 0.999 * ends))
    if not final.size or counts[final[0]] > _MOST_POINTS:
        raise Unsupported("the loss reaches too far for the grid; fewer releases or more noise are needed.")
    count = int(counts[final[0]])
    grid = np.arange(count + 1) * step
    values = side(grid)
    upper = np.asarray(values.upper)
    small = np.flatnonzero((upper <= _CUT) | (upper <= upper[-1] * (1.0 + 1e-12)))
    end = max(int(small[0]) if small.size else count, 1) + 1
    return grid[:end], Bracket(np.asarray(values.lower)[:end], upper[:end])


def discretise(pair: Pair, step: float) -> LossDistribution:
    """The chords' distribution: its curve is at or above the pair's, for every epsilon."""
    _, curve = _sampled(pair, False, step)
    up = _side(curve.upper, step) * (1.0 + 1e-13)
    down = up if pair.symmetric else _side(_sampled(pair, True, step)[1].upper, step) * (1.0 + 1e-13)
    return _joined(up, down, float(curve.upper[-1]), step)


def _joined(up: Array, down: Array, infinite: float, step: float) -> LossDistribution:
    """Positive losses as given, negative ones mirrored from the reversed pair, the rest at zero."""
    below = down * np.exp(-step * np.arange(1.0, down.size + 1.0))
    centre = 1.0 - infinite - math.fsum(up) - math.fsum(below)
    return LossDistribution(np.concatenate([below[::-1], [max(centre, 0.0)], up]), -down.size, step, infinite)


def discretise_below(pair: Pair, share: float, step: float) -> LossDistribution | None:
    """A distribution whose curve is at or below the pair's, checked; None if the share is too small for that.

    The candidate is (1 - c) delta(e/(1 - c)): below delta because delta falls, with c at least `share` and such that the first atom
    lands on the grid (the factor keeps the masses' sum at 1). Between grid points the true curve lies above the two lines that
    continue its neighbouring chords, and the candidate's chord must lie below the higher of the two where they meet.
    """
    squeeze = 1.0 - share
    if pair.atoms and pair.atoms[0] > step:
        steps = pair.atoms[0] * squeeze / step
        squeeze *= math.floor(steps * (1.0 + 1e-12)) / steps if steps >= 1.0 else 1.0
    sides = []
    for backward in (False,) if pair.symmetric else (False, True):
        grid, curve = _sampled(pair, backward, step)
        truth = pair.backward if backward else pair.forward
        squeeze = min(squeeze, 1.0)
        low = np.asarray(truth(grid / squeeze).lower) * squeeze
        masses = _side(np.maximum(low - low[-1], 0.0), step) * (1.0 - 1e-13)
        if not _lies_below(_curve_of(masses, 0.0, step), np.asarray(curve.lower), step):
            return None
        sides.append(masses)
    found = _joined(sides[0], sides[-1], 0.0, step)
    return found if found.masses[-found.first] > 0.0 else None


def _lies_below(chords: Array, truth: Array, step: float) -> bool:
    """Is the piecewise-linear curve (linear in e^e) below every convex curve through the points `truth`?"""
    if (chords > truth).any():
        return False
    # in a cell, with u = (e^e - e^(e_j))/(e^(e_(j+1)) - e^(e_j)): neighbouring chords continued from the left and from the right
    grow = math.exp(step)
    fall = truth[:-1] - truth[1:]
    left = np.append(np.inf, fall[:-1] * grow)  # fall per cell continued from the cell before
    right = np.append(fall[1:] / grow, 0.0)
    start, end = truth[:-1], truth[1:]
    # lines: start - left u and end + right (1 - u); they meet at
    with np.errstate(invalid="ignore", divide="ignore"):
        u = np.where(np.isinf(left), 0.0, (start - end - right) / (left - right))
    u = np.clip(np.where(np.isfinite(u), u, 0.0), 0.0, 1.0)
    meet = end + right * (1.0 - u)
    chord = chords[:-1] + (chords[1:] - chords[:-1]) * u
    return bool((chord <= meet * (1.0 - 1e-12)).all() or (chord <= meet)[chord > 0.0].all())


@dataclass(frozen=True)
class _Sum:
    """Several loss distributions on one grid, each a number of times, composed under a tilt."""

    parts: tuple[tuple[LossDistribution, int], ...]

    @property
    def step(self) -> float:
        return self.parts[0][0].step

    @cached_property
    def infinite(self) -> float:
        return -math.expm1(sum(times * math.log1p(-min(part.infinite, 1.0 - 1e-16)) for part, times in self.parts))

    def moments(self, tilt: float) -> tuple[float, float, float]:
        rows = [tuple(times * m for m in part.moments(tilt)) for part, times in self.parts]
        return tuple(float(math.fsum(column)) for column in zip(*rows, strict=True))  # type: ignore[return-value]

    def log_mgf(self, tilt: float) -> float:
        return math.fsum(times * part.log_mgf(tilt) for part, times in self.parts)

    def tilt_for(self, epsilon: float) -> float:
        """The saddle point: the tilt whose mean is epsilon (0 if the mean is above it already); near it is near enough."""
        top = sum(times * part.losses[-1] for part, times in self.parts)
        epsilon = min(epsilon, top * (1.0 - 1e-9))
        low, high, tilt = 0.0, math.inf, 0.0
        for _ in range(200):
            _, mean, variance = self.moments(tilt)
            if abs(mean - epsilon) < 0.2 * math.sqrt(variance) or (tilt == 0.0 and mean >= epsilon) or tilt > 1e12:
                break
            low, high = (tilt, high) if mean < epsilon else (low, tilt)
            newton = tilt + (epsilon - mean) / variance
            tilt = newton if low < newton < min(high, 4.0 * tilt + 1.0 / math.sqrt(variance)) else min(2.0 * low + 1e-3, 0.5 * (low + high))
        return tilt

    def tilt_for_delta(self, delta: float) -> float:
        """The tilt t at which Chernoff's bound at its own mean, M(t) e^(-t mean), has come down to delta."""
        target = math.log(delta)
        log_m, mean, variance = self.moments(0.0)
        tilt, low, high = math.sqrt(-2.0 * target / max(variance, 1e-300)), 0.0, math.inf
        for _ in range(200):
            log_m, mean, variance = self.moments(tilt)
            gap = log_m - tilt * mean - target
            if abs(gap) < 0.5 or tilt > 1e12:
                break
            low, high = (tilt, high) if gap > 0.0 else (low, tilt)
            newton = tilt + gap / max(tilt * variance, 1e-300)
            tilt = newton if low < newton < min(high, 4.0 * tilt) else min(2.0 * low + 1e-3, 0.5 * (low + high))
        return tilt

    def composed(self, tilt: float) -> _Tilted:
        """One FFT, in a window around the tilted mean that all but 1e-18 of the tilted mass stays in."""
        log_m, mean, variance = self.moments(tilt)
        step = self.step
        lowest = sum(times * part.first for part, times in self.parts)
        highest = sum(times * (part.first + part.masses.size - 1) for part, times in self.parts)
        below, above, wrapped = self._window(tilt, log_m, mean, variance)
        start = max(lowest, math.floor((mean - below) / step))
        end = min(highest, math.ceil((mean + above) / step))
        length = next_fast_len(max(end - start + 1, max(p.masses.size for p, _ in self.parts), 16), real=True)
        if length > _MOST_POINTS:
            raise Unsupported("the composition needs too fine a grid; fewer releases or more noise are needed.")
        spectrum = self._spectrum(tilt, length)
        offset = sum(times * part.first for part, times in self.parts)
        circle = irfft(spectrum, length)
        window = np.roll(circle, -((start - offset) % length))[: end - start + 1]
        count = sum(times for _, times in self.parts)
        noise = 8.0 * _UNIT * (count + math.log2(length)) * float(np.abs(spectrum).mean()) * 2.0
        return _Tilted(np.maximum(window, 0.0), start, step, tilt, log_m, noise, wrapped, self.infinite, mean, math.sqrt(variance))

    def _spectrum(self, tilt: float, length: int) -> NDArray[np.complex128]:
        """The transform of the composed tilted law; short parts are convolved with each other first, at the length that they need."""
        spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
        waiting: list[Array] = []
        with np.errstate(under="ignore"):
            for part, times in self.parts:
                masses = part.tilted(tilt, part.log_mgf(tilt))
                if times > 1 or 8 * masses.size > length:
                    spectrum *= _power(rfft(masses, length), times)
                    continue
                if sum(w.size for w in waiting) + masses.size > length // 4:
                    spectrum *= rfft(_convolved(waiting), length)
                    waiting = []
                waiting.append(masses)
            if waiting:
                spectrum *= rfft(_convolved(waiting), length)
        return spectrum

    def _window(self, tilt: float, log_m: float, mean: float, variance: float) -> tuple[float, float, float]:
        """How far below and above the mean the window has to go, and Chernoff's bound on what lies outside."""
        deviation = math.sqrt(variance) + self.step
        reach, bounds = [], []
        for sign in (-1.0, 1.0):
            width = 7.0 * deviation
            for _ in range(60):
                # Chernoff at the point that suits a normal law, then at some that suit longer tails
                for t in (width / deviation**2, 0.5 * width / deviation**2, 2.0 * width / deviation**2, 2.0 / deviation):
                    bound = math.exp(min(self.log_mgf(tilt + sign * t) - log_m - sign * t * mean - t * width, 0.0))
                    if bound < _WRAPPED:
                        break
                if bound < _WRAPPED:
                    break
                width *= 1.25
            reach.append(width)
            bounds.append(bound)
        return reach[0], reach[1], sum(bounds)


def _convolved(rows: list[Array]) -> Array:
    """All rows convolved."""
    if len(rows) == 1:
        return rows[0]
    size = sum(row.size for row in rows) - len(rows) + 1
    length = next_fast_len(size, real=True)
    product = rfft(rows[0], length)
    for row in rows[1:]:
        product *= rfft(row, length)
    return irfft(product, length)[:size]


def _power(transform: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """z^times by squaring."""
    result = np.ones_like(transform)
    base = transform.copy()
    while times:
        if times & 1:
            result *= base
        times >>= 1
        if times:
            base = base * base
    return result


@dataclass(frozen=True)
class _Tilted:
    """A composed distribution under its tilt, with what is not known about it."""

    masses: Array
    first: int
    step: float
    tilt: float
    log_m: float
    noise: float
    wrapped: float
    infinite: float
    mean: float
    deviation: float

    @cached_property
    def _grid(self) -> tuple[Array, Array, Array, Array]:
        """Losses, log delta there (finite part), and the sums from each loss outwards that give delta between them.

        delta(e) = near - e^(e - loss_0) far for e below the next loss, all relative to e^(log M - tilt loss_0).
        """
        # the tilt puts the crossing near the mean, a few deviations or e-folds below it at most; the caller checks
        skip = math.floor(self.mean / self.step - 3.0 * self.deviation / self.step - 5.0 / max(self.tilt * self.step, 1e-9)) - self.first
        skip = min(max(skip, 0), self.masses.size - 1)
        loss = (self.first + np.arange(skip, self.masses.size)) * self.step
        with np.errstate(under="ignore", divide="ignore", invalid="ignore"):
            weight = self.masses[skip:] * np.exp(-self.tilt * (loss - loss[0]))
            near = np.append(np.cumsum(weight[::-1])[::-1][1:], 0.0)
            far = np.append(np.cumsum((weight * np.exp(-(loss - loss[0])))[::-1])[::-1][1:], 0.0)
            log_delta = np.log(np.maximum(near - np.exp(loss - loss[0]) * far, 0.0))
        return loss, np.minimum.accumulate(log_delta), near, far

    def epsilon(self, delta: float) -> float:
        """Where delta(epsilon) crosses delta, to rounding: an estimate that the caller checks."""
        loss, log_delta, near, far = self._grid
        target = math.log(delta) - self.log_m + self.tilt * loss[0]
        index = int(np.searchsorted(-log_delta, -target))  # the first loss with delta at or below the target
        if index == 0 or index >= loss.size:
            return self._bisected(delta)
        # between loss[index - 1] and loss[index]: near - e^(e - loss_0) far = target
        rest = near[index - 1] - math.exp(target)
        inside = math.log(rest / far[index - 1]) + loss[0] if rest > 0.0 and far[index - 1] > 0.0 else loss[index]
        return float(min(max(inside, loss[index - 1]), loss[index]))

    def _bisected(self, delta: float) -> float:
        """The crossing by halving the whole window, where the shortcut does not reach."""
        low, high = self.first * self.step, (self.first + self.masses.size) * self.step
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle).upper - self.infinite > delta else (low, middle)
        return high

    def delta(self, epsilon: float) -> Bracket:
        """delta at epsilon: the sum over losses above it, every term positive; errors added at both ends."""
        loss = (self.first + np.arange(self.masses.size)) * self.step
        index = int(np.searchsorted(loss, epsilon, side="right"))
        end = int(np.searchsorted(loss, epsilon + _NEGLIGIBLE / max(self.tilt, 1e-300)))
        over = loss[index:end] - epsilon
        with np.errstate(under="ignore"):
            factor = np.exp(-self.tilt * over) * -np.expm1(-over)
            total = float(self.masses[index:end] @ factor)
            # each point is off by `noise` at most, and what wrapped round by the factor's largest value
            slack = self.noise * float(factor.sum()) + self.wrapped * float(factor.max(initial=0.0)) + math.exp(-_NEGLIGIBLE)
        scale = self.log_m - self.tilt * epsilon
        upper = math.exp(min(scale + math.log(max((total + slack) * (1.0 + 1e-13), 5e-324)), 1.0)) + self.infinite
        lower = math.exp(min(scale + math.log(max((total - slack) * (1.0 - 1e-13), 5e-324)), 1.0)) if total > slack else 0.0
        if index == 0:  # the window starts above epsilon: mass below it is unknown, and it is at most all
            upper = 1.0
        return Bracket(min(lower, 1.0), min(max(upper, 5e-324), 1.0))


@dataclass(frozen=True, eq=False)
class Composed(Curve):
    """The curve of several pairs released together: (pair, times) each; see the module's text.

    `relative` is the share of the shift that discretisation may cost.
    """

    parts: tuple[tuple[Any, int], ...]
    relative: float = DEFAULT_RELATIVE
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _step(self) -> float:
        """h with h^2/8 = relative * (mean square loss), aligned with an atom where there is one."""
        count = sum(times for _, times in self.parts)
        square = math.fsum(times * pair.spread**2 for pair, times in self.parts) / count
        step = math.sqrt(8.0 * self.relative * square)
        aligned = [atom for pair, _ in self.parts for atom in pair.atoms]
        if aligned and max(aligned) > step:
            step = max(aligned) / math.ceil(max(aligned) / step)
        return step

    @cached_property
    def _ways(self) -> tuple[tuple[tuple[Any, int], ...], ...]:
        """The parts, and where one of them is not its own mirror image all of them reversed: the worse way counts."""
        if all(pair.symmetric for pair, _ in self.parts):
            return (self.parts,)
        return self.parts, tuple((Reversed(pair), times) for pair, times in self.parts)

    @cached_property
    def _above(self) -> tuple[_Sum, ...]:
        return tuple(_Sum(tuple((discretise(pair, self._step), times) for pair, times in parts)) for parts in self._ways)

    @cached_property
    def _below(self) -> tuple[_Sum | None, ...]:
        return tuple(self._below_of(parts) for parts in self._ways)

    def _below_of(self, parts_of_way: tuple[tuple[Any, int], ...]) -> _Sum | None:
        """Each part with the least share that passes."""
        alone = len(parts_of_way) == 1
        step = self._step if alone else self._step / 6.0  # atoms of several parts cannot all be aligned
        found = []
        for pair, times in parts_of_way:
            shares = (0.0, *(0.25 * (step / pair.spread) ** 2 * 2.0**i for i in range(12)))
            tried = (discretise_below(pair, share, step * (1.0 - share) if alone else step) for share in shares if share < 0.2)
            part = next((p for p in tried if p is not None), None)
            if part is not None:  # a part without a lower bound is left out, which only lowers the whole
                found.append((part, times))
        return _Sum(tuple(found)) if found else None

    @cached_property
    def _inflation(self) -> float:
        """(1 + relative error of the parts' curves and of their masses)^count."""
        return math.exp(min(sum(times for _, times in self.parts) * 4e-13, 1.0))

    @cached_property
    def _pure(self) -> float:
        return math.fsum(times * pair.pure_epsilon for pair, times in self.parts)

    @property
    def pure_epsilon(self) -> float:
        """The sum of the parts' pure epsilons."""
        return self._pure * (1.0 + 1e-15)

    def _one(self, epsilon: float, *, lower: bool) -> float:
        if lower:
            values = [self._tilted(total, epsilon).delta(epsilon).lower for total in self._below if total is not None]
            return max((float(value) for value in values), default=0.0) / self._inflation
        if epsilon >= self._pure:
            return 0.0
        return min(max(float(self._tilted(total, epsilon).delta(epsilon).upper) for total in self._above) * self._inflation, 1.0)

    def _tilted(self, total: _Sum, epsilon: float) -> _Tilted:
        """The composed distribution under a tilt that suits epsilon, from the few already made if one of them does."""
        made = self._cache.setdefault(id(total), [])
        for mean, deviation, tilted in made:
            if abs(epsilon - mean) < 2.0 * deviation or (tilted.tilt == 0.0 and epsilon < mean):
                return tilted
        tilt = total.tilt_for(epsilon)
        _, mean, variance = total.moments(tilt)
        tilted = total.composed(tilt)
        made.append((mean, math.sqrt(variance), tilted))
        return tilted

    def _forward(self, epsilon: Array) -> Bracket:
        upper = self._end(epsilon, "upper")
        return Bracket(np.minimum(self._end(epsilon, "lower"), upper), upper)

    def _end(self, epsilon: Array, end: str) -> Array:
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        return np.array([self._one(float(e), lower=end == "lower") for e in flat]).reshape(np.shape(epsilon))

    def _epsilon_end(self, delta: Array, end: str) -> tuple[Array, Array]:
        found = np.array([self._epsilon_at(float(d), lower=end == "lower") for d in delta.ravel()]).reshape(delta.shape)
        return found, found

    def _epsilon_at(self, delta: float, *, lower: bool) -> float:
        """The worse way's epsilon."""
        alone = max(float(np.asarray(pair.forward(np.zeros(())).lower)) for pair, _ in self.parts)  # together they give no less
        if alone <= delta and self._one(0.0, lower=lower) <= delta:
            return 0.0
        totals = self._below if lower else self._above
        return max((self._crossing(total, delta, lower=lower) for total in totals if total is not None), default=0.0)

    def _crossing(self, total: _Sum, delta: float, *, lower: bool) -> float:
        """One tilt aimed at delta, its crossing, and then as little more (or less) as makes the certified end agree."""
        if not lower and total.infinite >= delta:
            return math.inf
        tilted = total.composed(total.tilt_for_delta(delta))
        sign = -1.0 if lower else 1.0
        # aim a little to the safe side, so that the first check settles it: 1e-8 of delta is nothing in epsilon
        room = delta / self._inflation * (1.0 - 1e-8) - total.infinite if not lower else delta * self._inflation * (1.0 + 1e-8)
        found, rise = tilted.epsilon(max(room, 5e-324)), 1e-13
        for _ in range(60):
            bracket = tilted.delta(found)
            value = float(bracket.lower) / self._inflation if lower else float(bracket.upper) * self._inflation
            if (value >= delta) if lower else (value <= delta):
                return max(found, 0.0)
            found = found + sign * (rise * abs(found) + 1e-300)
            rise *= 4.0
        return 0.0 if lower else math.inf


def compose_parts(parts: Sequence[tuple[Any, int]], **options: Any) -> Composed:
    """Equal parts merged, then composed."""
    merged: dict[Any, int] = {}
    for pair, times in parts:
        merged[pair] = merged.get(pair, 0) + times
    return Composed(tuple(merged.items()), **options)
