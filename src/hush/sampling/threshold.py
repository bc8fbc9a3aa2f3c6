"""The law of a draw as a decreasing sequence of thresholds.

By symmetry a draw is a fair sign and a magnitude. One uniform V in (0, 1) determines the magnitude M:

    T_k = P(|K| > k),      M = the number of k >= 0 with V < T_k,      so that P(M > k) = P(V < T_k) = T_k.

For a continuous noise rounded to the lattice of step h, T_k = P(|X| > (k + 1/2) h). For a lattice noise, T_k is a sum
of its point masses. V is never stored as one number. Its bits are generated as they are needed: the first b bits define
an interval [A, A + 1] 2^-b that contains V.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.noise.contract import Law
from hush.noise.lattice import Lattice
from hush.numerics.arrays import distinct
from hush.numerics.ball import Tail, flint_module, precision
from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, down, next_down, up
from hush.numerics.search import first_true
from hush.sampling.entropy import Bits
from hush.sampling.lattice_ball import DiscreteTail
from hush.sampling.tail_ball import tail

__all__ = ["MARGIN", "SATURATED", "Pending", "Sampler", "Tails", "fill_all", "tails"]

Array = NDArray[np.float64]
Words = NDArray[np.uint64]
#: The undecided draws of a fast path: their places in the block, and their words, one row each.
Pending = tuple[NDArray[np.int64], Words]

_BLOCK = 1 << 15  # draws in one block, so that its arrays stay in the processor cache

#: A draw of this many steps or more is returned as this many; see `exact.draw`.
SATURATED = 1 << 62
#: Error bounds are this many times the error that ball arithmetic finds.
MARGIN = 1000.0

_LEAST_SLACK = 1e-11  # relative error bound, at least: a thousand times ten times the 1e-15 of the families
_MOST_SLACK = 1e-6  # relative error bound, at most: a larger one is not round-off but a mistake
_BELOW_ONE = next_down(1.0)  # the largest V that is a float
_FAR = 2.0**52  # steps; float64 does not distinguish neighbouring thresholds beyond


class Tails:
    """The thresholds of one noise on the lattice of one step: in float64 with a validated error, and in balls."""

    def __init__(self, noise: Law, step: float, margin: float = MARGIN) -> None:
        self.noise, self.step, self.margin = noise, step, margin
        self._ball: Tail = DiscreteTail(noise) if noise.continuous is not noise else tail(noise)
        self.slack = self._validated_slack()

    # -- float64: |T_k - truth| <= slack (T_k + 2 x f(x)), x = (k + 1/2) h -----------------------------------
    # The second term is the effect of a relative error of x. Near the end of a bounded law it dominates.

    def at(self, k: Array) -> Array:
        """Return T_k for whole numbers k >= 0."""
        with np.errstate(under="ignore"):
            if isinstance(self.noise, Lattice):
                return 2.0 * self.noise.at_least(k + 1.0)
            return 2.0 * np.exp(self.noise.log_tail((k + 0.5) * self.step))

    def spread(self, k: Array, threshold: Array) -> Array:
        """Return T_k + 2 x f(x), the unit of the error bounds; f is the larger value if it jumps at x."""
        if isinstance(self.noise, Lattice):
            return threshold
        x = (k + 0.5) * self.step
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            density = np.exp(
                np.maximum(self.noise.log_density(down(x, CLOSED_FORM)), self.noise.log_density(up(x, CLOSED_FORM)))
            )
            return threshold + 2.0 * np.nan_to_num(x * density, posinf=np.inf)

    def ends(self, k: Array) -> tuple[Array, Array]:
        """Return a lower and an upper bound of the exact T_k."""
        threshold = self.at(k)
        error = self.slack * self.spread(k, threshold)
        return threshold - error, threshold + error

    def steps_beyond(self, probability: float) -> int:
        """Return a number m of steps with P(|K| > m) <= probability: the least one, or one more."""
        near = int(min(float(self.guess(np.array(min(max(probability, 1e-300), _BELOW_ONE)))), float(SATURATED)))
        low, high, stride = near, near, 1
        while not self._surely_below(
            high, probability
        ):  # double outwards to a certain m, then search back for the first
            low, high, stride = high, high + stride, 2 * stride
            if high > SATURATED:
                return SATURATED
        return first_true(low + 1, high - 1, lambda m: self._surely_below(m, probability))

    def _surely_below(self, m: int, probability: float) -> bool:
        return bool(self.ends(np.array(float(m)))[1] <= probability)

    def guess(self, v: Array) -> Array:
        """Return approximately the number of thresholds above v, for 0 < v < 1."""
        if isinstance(self.noise, Lattice):
            return np.searchsorted(-self.noise.upper_sums[1:], -0.5 * v, side="left").astype(np.float64)
        with np.errstate(over="ignore"):
            return np.maximum(np.ceil(self.noise.inverse_tail(0.5 * v) / self.step - 0.5), 0.0)

    def decide(
        self, words: Words, table: tuple[Array, Array] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the magnitudes from the first 63 bits of V, and which of them are certain; the others are close.

        `table` may contain the first `ends`.
        """
        low = np.maximum(words.astype(np.float64) * 2.0**-63, 2.0**-63)
        m, certain = np.zeros(low.size), np.zeros(low.size, dtype=bool)
        listed = np.zeros(low.size, dtype=bool)
        if table is not None:
            below, above = table
            listed = low > up(above[-1], CLOSED_FORM)
            near = above.size - np.searchsorted(
                above[::-1], low[listed], side="right"
            )  # the number of thresholds that may be above V
            m[listed] = near
            before = np.where(near > 0, below[np.maximum(near - 1, 0)], np.inf)
            certain[listed] = self._clear(low[listed], above[np.minimum(near, above.size - 1)], before)
        rest = np.flatnonzero(~listed)
        if rest.size:
            m[rest], certain[rest] = self._decide_far(low[rest])
        return np.minimum(m, float(SATURATED - 1024)).astype(np.int64), certain & (words > 0)

    def _decide_far(self, low: Array) -> tuple[Array, NDArray[np.bool_]]:
        guess = self.guess(np.minimum(low, _BELOW_ONE))
        reached = guess < _FAR
        m = np.where(reached, guess, 0.0)
        for _ in range(3):  # the guess may be wrong by one because of rounding
            here, before = self.at(m), np.where(m > 0.0, self.at(np.maximum(m - 1.0, 0.0)), np.inf)
            step = 1.0 * (low < here) - 1.0 * (low >= before)
            if not step.any():
                break
            m = m + step
        here, before = self.ends(m)[1], np.where(m > 0.0, self.ends(np.maximum(m - 1.0, 0.0))[0], np.inf)
        return np.where(reached, m, guess), reached & self._clear(low, here, before)

    @staticmethod
    def _clear(low: Array, here: Array, before: Array) -> NDArray[np.bool_]:
        """Return True if the whole interval of V, with its rounding, is between the bounds of T_m and T_(m-1)."""
        return (down(low, FEW_ROUNDINGS) >= here) & (up(low + 2.0**-63, FEW_ROUNDINGS) <= before)

    # -- balls -----------------------------------------------------------------------------------------------

    def ball(self, k: int) -> Any:
        """Return T_k at the current precision, as a ball."""
        arb = flint_module().arb
        if self.noise.discrete:
            return self._ball(k)
        return self._ball(arb(2 * k + 1) * arb(self.step) / 2)

    def _validated_slack(self) -> float:
        """Return `margin` times the largest error that ball arithmetic finds, in units of `spread`.

        The points range from the centre far into the tail.
        """
        arb = flint_module().arb
        points = self._points_to_check()
        values = self.at(points)
        seen = 0.0
        with precision(192):
            for k, value, unit in zip(points, values, self.spread(points, values), strict=True):
                truth = self.ball(int(k))
                if not truth.is_finite() or truth.rad() > 2.0**-120:
                    raise NotCertified(
                        f"ball arithmetic gives no accurate tail of {self.noise} at {k * self.step:g}; "
                        "nothing was drawn."
                    )
                if truth > 2.0**-100 and unit > 0.0:
                    seen = max(seen, abs(float(arb(float(value)) - truth)) / float(unit))
        slack = max(_LEAST_SLACK * self.margin / MARGIN, self.margin * seen)
        if self.margin == MARGIN and slack > _MOST_SLACK:
            raise NotCertified(
                f"the float64 tail of {self.noise} has an error of {seen:.2g}, more than round-off; nothing was drawn."
            )
        return min(slack, 0.5)

    def _points_to_check(self) -> Array:
        """Return whole numbers of steps, spread over the law; for a bounded law also some close to its end."""
        count = 10 if self.noise.slow_tail else 32
        far = float(np.minimum(self.guess(np.array(2.0**-40)), 2.0**40))
        points = [np.zeros(1), np.geomspace(1.0, max(far, 1.0), count)]
        end = self.noise.support / self.step
        if math.isfinite(end) and end < 2.0**50:
            points.append(end - np.geomspace(0.5, max(end, 1.0), 12))
        return distinct(np.maximum(np.floor(np.concatenate(points)), 0.0))

    def refine(self, draw: int, known: int, bits: int, turn: int, near: int, entropy: Bits) -> int:
        """Return the magnitude of one draw, decided in ball arithmetic.

        `known` are the first `bits` bits of V, `turn` is the next round of `more`, and `near` is a guess of the
        magnitude. While a threshold is inside the interval of V, 128 more bits are generated.
        """
        while (found := self._between(known, bits, near)) is None:
            high, low = (int(word) for word in entropy.more(np.array([draw], dtype=np.int64), turn)[0])
            known, bits, turn = (known << 128) | (high << 64) | low, bits + 128, turn + 1
        return found

    def _between(self, known: int, bits: int, near: int) -> int | None:
        """Return the magnitude if no threshold is inside the interval [known, known + 1] 2^-bits, and None otherwise.

        The search starts at the guess `near` and moves outwards.
        """
        if known == 0:
            return None
        m = min(near, SATURATED - 1)
        # numerics/search.py has no such search: a comparison of balls can be undecided, and then the search ends
        low, high, stride = -1, SATURATED, 1  # V < T_low, and V >= T_high unless the draw saturates
        while high - low > 1:
            below = self._below(m, known, bits)
            if below is None:
                return None
            low, high = (m, high) if below else (low, m)
            if low < 0:
                m, stride = max(high - stride, 0), 2 * stride
            elif high == SATURATED:
                m, stride = min(low + stride, high - 1), 2 * stride
            else:
                m = (low + high) // 2
        return high

    def _below(self, k: int, known: int, bits: int) -> bool | None:
        """Return whether V < T_k, and None if T_k is inside the interval of V."""
        arb = flint_module().arb
        for extra in (64, 192, 448):
            with precision(max(bits + extra, 192)):
                scaled = self.ball(k) * arb(2) ** bits
                if scaled >= known + 1:
                    return True
                if scaled <= known:
                    return False
        return None


@lru_cache(maxsize=64)
def tails(noise: Law, step: float, margin: float = MARGIN) -> Tails:
    """Return the thresholds; they are validated at the first call and then reused."""
    return Tails(noise, step, margin)


class Sampler(Protocol):
    """A way to draw: floats decide most draws of a block, and ball arithmetic settles the others."""

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: Array) -> Pending:
        """Fill a block, and return the draws that are undecided."""

    def settle(self, draws: NDArray[np.int64], words: Words, entropy: Bits) -> NDArray[np.int64]:
        """Decide these draws, which are numbered from the first of all blocks."""


def fill_all(sample: NDArray[np.int64], way: Sampler, entropy: Bits) -> None:
    """Fill all draws by the fast path, then settle the undecided ones together."""
    left, words = [], []
    scratch = np.empty((5, min(_BLOCK, sample.size)))  # allocated once for all blocks
    for start in range(0, sample.size, _BLOCK):
        places, undecided = way.fill(sample[start : start + _BLOCK], entropy, scratch)
        if places.size:
            left.append(places + start)
            words.append(undecided)
    if left:
        draws = np.concatenate(left)
        sample[draws] = way.settle(draws, np.concatenate(words), entropy)
