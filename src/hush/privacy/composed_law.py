"""The composed distribution of privacy losses under a tilt, stored point by point or by its relevant frequencies; delta
and epsilon computed from it, with error bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import CLOSED_FORM, SUM_OF_POSITIVE_TERMS, UNIT, down, up

__all__ = ["ComposedLaw", "Dense", "Spectral"]

Array = NDArray[np.float64]
Spectrum = NDArray[np.complex128]

_NEAR = 4.0  # deviations below the mean, within which a law decides delta
_SERIES = 64.0 * UNIT  # the error of a geometric series and its rotation, in parts of its first one
_NEGLIGIBLE = 45.0  # e^-45 of the tilted mass is omitted from sums, and added to delta


@dataclass(frozen=True, eq=False)
class ComposedLaw:
    """A composed tilted law on the lattice points first .. first + length - 1 (times step, plus offset), with its error
    terms. `wrapped` bounds the tilted mass outside; if `folded`, only that above the window, and what is below comes
    back at the upper end of the window. Everything but `delta_bracket` and `epsilon` is without the offset.
    """

    first: int
    length: int
    step: float
    offset: float
    tilt: float
    log_m: float
    wrapped: float
    folded: bool
    infinite: float
    mean: float
    deviation: float

    def reaches(self, epsilon: float) -> bool:
        """Is epsilon in the window, and not far below the mean?"""
        lattice = epsilon - self.offset
        return lattice > (self.first + 4) * self.step and lattice > self.mean - _NEAR * self.deviation

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        """The tilted sum over losses above epsilon of p e^(-t over)(1 - e^-over), a bound on its error, and that of p
        e^(-(t+1) over).
        """
        raise Unsupported("a subclass of ComposedLaw must define _sums.")

    def delta_bracket(self, epsilon: float) -> Bracket:
        """delta at epsilon, with the errors added at both ends."""
        epsilon -= self.offset
        if epsilon < self.first * self.step:  # the mass below the window is unknown, and at most 1
            return Bracket(0.0, 1.0)
        total, slack, _ = self._sums(epsilon)
        # wrapped mass is bounded by the largest value of the factor, at over = log(1 + 1/t)
        largest = math.exp(-self.tilt * math.log1p(1.0 / self.tilt)) / (1.0 + self.tilt) if self.tilt > 0.0 else 1.0
        slack += self.wrapped * largest + math.exp(-_NEGLIGIBLE)
        scale = self.log_m - self.tilt * epsilon
        slack += self._from_below(scale)
        upper = (
            math.exp(min(scale + math.log(max(up(total + slack, SUM_OF_POSITIVE_TERMS), 5e-324)), 1.0)) + self.infinite
        )
        lower = 0.0
        if total > slack:
            lower = math.exp(min(scale + math.log(max(down(total - slack, SUM_OF_POSITIVE_TERMS), 5e-324)), 1.0))
        return Bracket(min(lower + down(self.infinite, CLOSED_FORM), upper, 1.0), min(max(upper, 5e-324), 1.0))

    def _from_below(self, scale: float) -> float:
        """What all masses below the window add to the sum: without the tilt, they come back times e^(-tilt window)."""
        around = self.tilt * self.length * self.step
        return 2.0 * math.exp(min(-around - scale, 700.0)) / -math.expm1(-around) if self.folded else 0.0

    def blurred(self, epsilon: float) -> bool:
        """Does the mass below the window matter at epsilon?"""
        lattice = epsilon - self.offset
        return self.folded and self._from_below(self.log_m - self.tilt * lattice) > 1e-8 * self._sums(lattice)[0]

    def log_tails(self, epsilon: float) -> tuple[float, float]:
        """About log P(L > epsilon) under the first law, and log of e^epsilon P(L > epsilon) under the second."""
        lattice = epsilon - self.offset
        total, _, far = self._sums(lattice)
        scale = self.log_m - self.tilt * lattice
        return scale + math.log(max(total + far, 5e-324)), scale + math.log(max(far, 5e-324))

    def epsilon(self, delta: float) -> float:
        """Approximately where the finite part of delta crosses `delta`: Newton steps on log delta inside a bracket. The
        caller checks the result.
        """
        # Not guarded_newton: the width of the bracket decides whether a step uses log delta or delta.
        low, high = self.first * self.step, (self.first + self.length - 1) * self.step
        point = min(max(self.mean, low), high)
        for _ in range(100):
            total, _, far = self._sums(point)
            gap = math.log(max(total, 5e-324)) + self.log_m - self.tilt * point - math.log(delta)
            if abs(gap) < 1e-10 or high - low <= 1e-14 * max(abs(high), self.step):
                break
            low, high = (point, high) if gap > 0.0 else (low, point)
            newton = point + gap * total / far if far > 0.0 else math.inf  # d log delta/d epsilon = -far/total
            close = abs(newton - point) < 0.01 * (high - low)
            if abs(gap) > 0.1 and close:  # below an atom, delta itself is nearly linear
                newton = point - math.expm1(min(-gap, 700.0)) * total / far if far > 0.0 else math.inf
            elif abs(newton - point) <= 1e-12 * max(abs(point), self.step):
                break
            point = newton if low < newton < high else 0.5 * (low + high)
        return point + self.offset


def _geometric(decay: float, count: int) -> Array:
    """e^(-decay m) for m < count, as products of two short rows."""
    block = 1 << (count.bit_length() + 1) // 2
    rows = np.arange(-(-count // block), dtype=np.float64) * (decay * block)
    with np.errstate(under="ignore"):
        return np.outer(np.exp(-rows), np.exp(-decay * np.arange(block))).ravel()[:count]


@dataclass(frozen=True, eq=False)
class Dense(ComposedLaw):
    """The law stored point by point, and a bound on the error of each point."""

    rounding: float = 0.0
    masses: Array = field(default_factory=lambda: np.zeros(0))

    @cached_property
    def _falls(self) -> tuple[Array, ...]:
        """e^(-tilt m step) and e^(-(tilt + 1) m step) at m = 0, 1, ... up to where the first is negligible."""
        most = math.ceil(_NEGLIGIBLE / max(self.tilt * self.step, 1e-12)) + 1
        return tuple(_geometric(rate * self.step, min(self.length, most)) for rate in (self.tilt, self.tilt + 1.0))

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        start = min(max(math.floor(epsilon / self.step) + 1 - self.first, 0), self.length)
        masses = self.masses[start : start + self._falls[0].size]
        if not masses.size:
            return 0.0, 0.0, 0.0
        over = (self.first + start) * self.step - epsilon
        near, far = (float(np.einsum("i,i->", masses, row[: masses.size])) for row in self._falls)
        near, far = near * math.exp(-self.tilt * over), far * math.exp(-(self.tilt + 1.0) * over)
        # the sum of all e^(-t over) (1 - e^-over) is at most that of min(over, 1) e^(-t over)
        count, rate = masses.size, self.tilt * self.step
        most = min(count, 1.0 / -math.expm1(-rate) if rate > 0.0 else math.inf)
        weights = most * min(1.0, over + self.step * most)
        return near - far, self.rounding * weights + (_SERIES + count * UNIT) * near, far


@dataclass(frozen=True, eq=False)
class Spectral(ComposedLaw):
    """The law stored by its relevant frequencies: their numbers, their values (point 0 is loss 0) with the error of
    each, and the sums of the faint ones, as rows (number, sum from there on).
    """

    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: Spectrum = field(default_factory=lambda: np.zeros(0, dtype=np.complex128))
    errors: Array = field(default_factory=lambda: np.zeros(0))
    faint: Array = field(default_factory=lambda: np.zeros((0, 2)))

    def _series(self, decay: float, count: int) -> Spectrum:
        """Sum over m < count of e^(-decay m step + 2 pi i number m/length), in closed form."""
        turn = 2.0 * math.pi / self.length
        ratio = -decay * self.step + 1j * turn * self.numbers
        whole = -decay * self.step * count + 1j * turn * (self.numbers * count % self.length)
        with np.errstate(under="ignore"):
            return np.where(ratio == 0.0, float(count), np.expm1(whole) / np.expm1(np.where(ratio == 0.0, 1.0, ratio)))

    def _sums(self, epsilon: float) -> tuple[float, float, float]:
        start = max(math.floor(epsilon / self.step) + 1, self.first)
        count = self.first + self.length - start
        if count <= 0:
            return 0.0, 0.0, 0.0
        over = start * self.step - epsilon
        turned = np.exp(2j * math.pi / self.length * (self.numbers * start % self.length))
        near = math.exp(-self.tilt * over) * self._series(self.tilt, count)
        far = math.exp(-(self.tilt + 1.0) * over) * self._series(self.tilt + 1.0, count)
        factor = near - far
        twice = np.where((self.numbers == 0) | (2 * self.numbers == self.length), 1.0, 2.0) / self.length
        weights = self.values * turned * twice
        total = float(np.sum((weights * factor).real))
        slack = self.errors * np.abs(factor) + _SERIES * np.abs(self.values) * np.abs(near)
        rest = 2.0 / self.length * float(np.sum(self.faint[:, 1] * np.minimum(factor[0].real, self._most(count))))
        return total, float(np.sum(slack * twice)) + rest, float(np.sum((weights * far).real))

    def _most(self, count: int) -> Array:
        """A bound on |near - far| at the first frequency of each row of `faint`, and at all higher ones.

        With z = e^(i angle), r = e^(-tilt step) and s = |1 - r z|, the two series differ by at most 2 (e^step - 1)/s^2,
        what they start with by at most a step, and what they omit beyond the window by r^count.
        """
        turn = math.pi / self.length * np.minimum(self.faint[:, 0], 0.5 * self.length)
        r = math.exp(-self.tilt * self.step)
        s = np.sqrt((1.0 - r) ** 2 + 4.0 * r * np.sin(turn) ** 2)
        with np.errstate(divide="ignore"):
            return np.asarray(
                (self.step + math.exp(-self.tilt * self.step * count)) / s + 2.0 * math.expm1(self.step) / s**2
            )
