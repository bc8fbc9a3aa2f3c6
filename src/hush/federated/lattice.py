"""The law of a sum of rounded shares, with certified bounds. (It is not the law of the rounded sum.)

A share X rounded to the lattice of step h has the characteristic function (Poisson summation, theta in [-pi, pi])

    phi_r(theta) = sum over m of phi((theta + 2 pi m)/h) sin((theta + 2 pi m)/2)/((theta + 2 pi m)/2),

and the sum S of n rounded shares has phi_r^n. One FFT of length M gives the probabilities of S folded modulo M, w(k)
= sum over m of p(k + m M).
S is symmetric and unimodal (convolutions of symmetric unimodal laws on the integers are), so that

    folded     w(k) - p(k) <= (2/M) P(|S| > M/2 - |k|): each p(mM - |k|) is at most the mean of the M/2 values before it
    far        beyond -L the divergence is at most P(-L - s < S <= -L) <= s p(L): there p(k) - p(k - s) >= 0
               telescopes
    tails      P(|S| > l) <= P(|T| > (l - c) h) + 2 exp(-2 c^2/n) by Hoeffding's inequality, with T the sum of the
               unrounded shares; the last term is 0 if c >= n/2

Together with a bound on the round-off of the FFT, these bounds give a certified bracket.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive, reject, shown, whole
from hush.federated.divisible import power
from hush.noise.contract import Law
from hush.noise.region import Region
from hush.numerics import special
from hush.numerics.rounding import CLOSED_FORM, SPECIAL_FUNCTION, TWO_ROUNDINGS, ULP, down, up

__all__ = ["RoundedSum", "beyond"]

Array = NDArray[np.float64]

_LONGEST = 1 << 22  # points of the longest FFT
_MOST_FOLDS = 2000  # terms of the Poisson sum on each side
_DARK = 45.0  # terms of the Poisson sum below e^-45 are left out; a bound accounts for them


def beyond(noise: Law, count: int, steps: float, step: float) -> float:
    """A bound on P(|S| > steps) for the sum S of `count` shares that are rounded to the lattice, or defined on it."""
    total = power(noise, Fraction(count))
    if noise.discrete:
        return min(up(2.0 * float(total.sf(steps * step)), SPECIAL_FUNCTION), 1.0)
    best = 1.0
    for share in (1e-6, 1e-9, 1e-12, 1e-15, 1e-20, 1e-30, 1e-60, 0.0):  # the probability left to rounding errors
        c = 0.5 * count if share == 0.0 else min(math.sqrt(0.5 * count * math.log(2.0 / share)), 0.5 * count)
        left = share if c < 0.5 * count else 0.0
        if steps > c:
            best = min(best, up(2.0 * float(total.sf((steps - c) * step)), SPECIAL_FUNCTION) + left)
    return best


@dataclass(frozen=True)
class RoundedSum(Law):
    """The sum of `count` independent copies of a Gaussian or stable noise, each rounded to the lattice of step `step`.

    Guarantees: delta is a bracket of the hockey-stick divergence of exactly this law (see the module), down to about
    1e-12. The proved pure epsilon is that of a single rounded share.

    >>> from hush import Gaussian, delta
    >>> abs(delta(RoundedSum(Gaussian(1.0), 100, 0.25), 0.1) / delta(Gaussian(10.0), 0.1) - 1.0) < 0.02
    True
    """

    noise: Law
    count: int
    step: float = 1.0
    lazy: InitVar[bool] = False  # skip the checks that only a table of probabilities needs
    discrete: ClassVar[bool] = True

    def __post_init__(self, lazy: bool) -> None:
        object.__setattr__(self, "count", whole("count", self.count, 1, "write RoundedSum(Gaussian(1.0), 100)"))
        object.__setattr__(self, "step", positive("step", self.step, "write RoundedSum(Gaussian(1.0), 100, step=0.1)"))
        object.__setattr__(self, "noise", self.noise.plain() if isinstance(self.noise, Law) else self.noise)
        if self.noise.stability is None:
            raise Unsupported(
                "sums of rounded shares are certified for Gaussian and Stable noise, "
                f"not for {type(self.noise).__name__}; Skellam and Discrete(Laplace(...)) shares are defined on the "
                "lattice and need no certificate."
            )
        if lazy:
            return
        if self._folds > _MOST_FOLDS:
            raise Unsupported(
                f"a step of {self.step:g} is too coarse for shares as small as {self.noise}; "
                f"use a step of {0.5 * self.step:g} or less."
            )
        if self._span > _LONGEST:
            raise Unsupported(
                f"a step of {self.step:g} is too fine for {self.count} shares of {self.noise}; "
                f"use a step of {2.0 * self.step:g} or more."
            )

    # -- the characteristic function -------------------------------------------------------------------------

    def decay(self, t: Array) -> Array:
        """-log phi(t/h) of one share; t is an angle per lattice step h."""
        alpha, scale = self._stability
        with np.errstate(under="ignore"):
            return (scale / self.step * np.abs(t)) ** alpha

    @property
    def _stability(self) -> tuple[float, float]:
        found = self.noise.stability
        assert found is not None
        return found

    @property
    def _folds(self) -> int:
        """The number of terms m on each side: until phi is e^-45 times phi(pi)."""
        fall = _DARK + float(self.decay(np.array(math.pi)))
        t = (fall / float(self.decay(np.ones(())))) ** (1.0 / self._stability[0])
        return math.ceil(t / (2.0 * math.pi) + 0.5)

    def _spectrum(self, theta: Array) -> tuple[Array, Array]:
        """phi_r^n at theta in (0, pi], and a bound on its error.

        phi_r = phi(theta) sinc (1 + rho). The power n of the first factor is known exactly, and n log of the rest is
        small where that power is not small.
        """
        n, here = self.count, self.decay(theta)
        rho, size = np.zeros_like(theta), np.zeros_like(theta)
        with np.errstate(under="ignore"):
            for m in range(1, self._folds + 1):
                for t in (theta + 2.0 * math.pi * m, theta - 2.0 * math.pi * m):
                    term = np.exp(here - self.decay(t)) * theta / t
                    rho += -term if m % 2 else term
                    size += np.abs(term)
            rest = n * (_log_sinc(0.5 * theta) + np.log1p(rho))
            value = np.exp(rest - n * here)
            left_out = 4.0 * theta * math.exp(-_DARK)
            error = (
                value * ULP * (16.0 * (np.abs(rest) + n * here) + 16.0 + 16.0 * n * (size + theta**2 * 1e-2))
                + value * 2.0 * n * left_out
            )
        return value, error

    # -- probabilities ---------------------------------------------------------------------------------------

    @property
    def _span(self) -> int:
        """The length M of the FFT, long enough that folding adds little."""
        total = power(self.noise, Fraction(self.count))
        light = math.isfinite(total.variance)
        reach = float(total.isf(1e-13 if light else 1e-7)) / self.step + math.sqrt(20.0 * self.count)
        long = 8.0 * reach
        if not light:
            long = min(long, float(_LONGEST))  # heavy tails: the longest FFT that is allowed
        least = 64.0 * float(total.isf(0.25)) / self.step + 8.0 * math.sqrt(20.0 * self.count)
        return 1 << math.ceil(math.log2(max(long, least, 1024.0)))

    @cached_property
    def _table(self) -> tuple[Array, float, float]:
        """w(k) for k = 0 .. M/4, a bound on its error, and a bound on the effect of folding."""
        size = self._span
        theta = 2.0 * math.pi * np.arange(1, size // 2 + 1) / size
        value, error = self._spectrum(theta)
        value, error = np.append(1.0, value), np.append(0.0, error)
        folded = special.irfft(value, size)
        rms = math.sqrt((2.0 * float(np.sum(value**2)) + 1.0) / size)
        # the normwise error of an FFT (Higham 2002, Theorem 24.2), applied to the largest entry
        round_off = 8.0 * ULP * math.log2(size) * rms
        off = round_off + 2.0 * float(np.mean(error))
        tail = beyond(self.noise, self.count, size / 4.0, self.step)
        return folded[: size // 4 + 1], off, 2.0 / size * tail

    def _window(self, n: int) -> int:
        """The last point to sum: up to it, probabilities are much larger than their error."""
        w, off, _ = self._table
        clear = np.flatnonzero(w < 20.0 * off)
        return int(min(max(clear[0] if clear.size else w.size - 1, 2 * n + 16), w.size - 1 - n))

    @lru_cache(maxsize=16)  # noqa: B019 - frozen
    def _pairs(self, n: int) -> tuple[Array, Array, Array]:
        """w(k) for k from n/2 downwards, w(k - n), and the bound n p(k) on the rest beyond k."""
        w, off, _ = self._table
        last = self._window(n)
        if last < 2 * n:
            raise Unsupported(f"a shift of {n} lattice steps is too large for {self}; use a coarser step.")
        k = np.arange(n // 2, -last - 1, -1)
        return w[np.abs(k)], w[np.abs(k - n)], np.where(k <= 0, n * (w[np.abs(k)] + off), 1.0)

    def steps_in(self, shift: float) -> int:
        shift = positive("shift", shift)
        n = round(shift / self.step)
        if n < 1 or abs(shift - n * self.step) > 1e-12 * shift:
            enough = math.ceil(Fraction(shift) / Fraction(self.step)) * self.step  # always rounded up
            raise Unsupported(
                f"answers on a lattice of step {shown(self.step)} move by whole steps, not by {shown(shift)}; "
                f"write sensitivity={shown(enough)}."
            )
        return n

    def _ends(self, epsilon: Array, shift: float) -> tuple[Array, Array]:
        """Lower and upper bounds of delta."""
        here, there, far = self._pairs(self.steps_in(shift))
        _, off, folded = self._table
        flat = np.asarray(epsilon, dtype=np.float64).ravel()
        low, high = np.empty(flat.size), np.empty(flat.size)
        for i, e in enumerate(flat):
            factor = math.exp(min(float(e), 700.0))
            most = here + off - factor * np.maximum(there - off - folded, 0.0)
            least = here - off - folded - factor * (there + off)
            low[i] = max(down(float(np.sum(np.maximum(least, 0.0))), CLOSED_FORM), 0.0)
            best = float(np.min(np.cumsum(np.maximum(most, 0.0)) + far))  # the best L
            high[i] = up(best, CLOSED_FORM)
        return low, np.minimum(high, 1.0)

    # -- the contract ----------------------------------------------------------------------------------------

    def log_density(self, x: Array) -> Array:
        """An estimate of the log probability; the privacy curve uses certified bounds instead."""
        k = np.abs(x) / self.step
        near = np.round(k)
        w = self._table[0]
        inside = (np.abs(k - near) <= 1e-9 * np.maximum(near, 1.0)) & (near < w.size)
        with np.errstate(divide="ignore"):
            return np.where(inside, np.log(np.maximum(w[np.where(inside, near, 0).astype(np.int64)], 0.0)), -np.inf)

    @property
    def variance(self) -> float:
        """count times the variance of one rounded share; infinite for stable shares.

        step^2 sum over k of (2k - 1) P(|X| > (k - 1/2) step).
        """
        if math.isinf(self.noise.variance):
            return math.inf
        if self.noise.variance > 16.0 * self.step**2:  # the relative error is e^(-2 pi^2 16)
            return self.count * (self.noise.variance + self.step**2 / 12.0)
        k = np.arange(1.0, 200.0)
        return (
            self.count
            * self.step**2
            * math.fsum((2.0 * k - 1.0) * 2.0 * np.asarray(self.noise.sf((k - 0.5) * self.step)))
        )

    def scaled(self, k: float) -> RoundedSum:
        return RoundedSum(self.noise.scaled(k), self.count, self.step * positive("k", k))

    def max_loss(self, shift: float) -> float:
        """The largest loss of one share, with the other shares known: infinite for Gaussian shares."""
        self.steps_in(shift)
        return self.noise.max_loss(shift)

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        """The whole line: the sums in `surplus` choose the points."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "use hush.curve for a negative epsilon")
        ends = np.full(epsilon.shape, math.inf)[..., None]
        return Region(-ends, ends)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """The upper bound of delta."""
        return self._ends(epsilon, shift)[1].reshape(np.shape(epsilon))

    def error_at(self, epsilon: Array, shift: float) -> Array:
        """The relative distance between the lower and the upper bound."""
        low, high = self._ends(epsilon, shift)
        return (1.0 - low / np.maximum(high, 1e-300)).reshape(np.shape(epsilon)) + TWO_ROUNDINGS.share


def _log_sinc(x: Array) -> Array:
    """log(sin x/x) on (0, pi/2], without cancellation."""
    y = x * x
    # the series to y^4; the next term is below 1e-16 for x < 0.02
    small = -y / 6.0 * (1.0 + y / 30.0 * (1.0 + y * (4.0 / 63.0) * (1.0 + y * (3.0 / 40.0))))
    with np.errstate(divide="ignore"):
        return np.where(x < 0.02, small, np.log(np.sin(x) / x))
