"""Lattice laws that are differences of two independent counts: each count is drawn from its own thresholds, and the two are subtracted.

    Skellam            Poisson counts              P(N > k) = e^(-m) sum over j > k of m^j/j!
    PolyaDifference    negative binomial counts    P(N > k) = 1 - I_(1-q)(r, k + 1), the regularised incomplete beta function

The difference of exact draws is an exact draw of the difference; the two use separate words and separate rounds of further bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.polya_difference import PolyaDifference
from hush.noise.skellam import Skellam
from hush.sampling.ball import precision
from hush.sampling.entropy import Bits
from hush.sampling.guide import Guide
from hush.sampling.tails import MARGIN, Pending, Tails

__all__ = ["Counts", "Difference", "Table", "is_difference"]

Array = NDArray[np.float64]
Words = NDArray[np.uint64]
Ball = Any

_SECOND = 1 << 40  # rounds of the second count start here: the first never gets that far


def is_difference(noise: Law) -> bool:
    """Is the law drawn this way?"""
    return isinstance(noise, Skellam | PolyaDifference)


def _poisson(noise: Skellam) -> tuple[Any, Any]:
    """P(N > k) in floats, from a table of sums, and in balls; mean sigma^2/(2 step^2)."""
    start, table = _poisson_table(noise.rate)

    def above(k: Array) -> Array:
        return np.where(k < start, 1.0, table[np.clip(k - start, 0, table.size - 1).astype(np.int64)])

    def ball(k: int) -> Ball:
        from flint import arb, ctx

        extra = 2 * math.ceil(math.log2(noise.rate + k + 2.0)) + 32
        with precision(ctx.prec + extra):
            mean = (arb(noise.sigma) / noise.step) ** 2 / 2
            log_mass = -mean + k * mean.log() - arb(k + 1).lgamma()  # of k itself
            if k + 1 > mean:  # the sum over j > k, each term m/j of the one before
                return log_mass.exp() * _series(mean, k + 1, +1, ctx.prec)
            return 1 - log_mass.exp() * (1 + _series(mean, k, -1, ctx.prec))  # one minus the sum over j <= k

    return above, ball


def _poisson_table(mean: float) -> tuple[int, Array]:
    """The first k and P(N > k) from there on, as far as probabilities are floats: products of ratios from the mode, summed both ways."""
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
    """Sum of products of m/j, j = start, start + 1, ... (upwards), or of j/m, j = start, start - 1, ..., with a bound on the rest.

    Ratios fall along the way, so what is left out is at most the last term times rho/(1 - rho), rho the next ratio.
    """
    from flint import arb

    total, term, j, small = arb(0), arb(1), start, arb(2) ** -(bits + 8)
    while j > 0:
        term = term * (mean / j if direction > 0 else j / mean)
        total, j = total + term, j + direction
        if term < small * total:
            rho = mean / j if direction > 0 else j / mean
            if rho < 1:
                return total + (term * rho / (1 - rho)).upper() * arb(0.5, 0.5)
    return total


def _negative_binomial(noise: PolyaDifference) -> tuple[Any, Any]:
    from scipy.special import betaincc

    r, per_step = noise.shape, noise.step / noise.scale

    def ball(k: int) -> Ball:
        from flint import arb

        fall = arb(noise.step) / noise.scale
        return 1 - (-(-fall).expm1()).beta_lower(arb(noise.shape), arb(k + 1), 1)

    return lambda k: betaincc(r, k + 1.0, -math.expm1(-per_step)), ball


class Counts(Tails):
    """The thresholds P(N > k) of a count, in the form that magnitudes are drawn from."""

    def __init__(self, noise: Law, margin: float = MARGIN) -> None:
        self.noise, self.step, self.margin = noise, 1.0, margin
        if isinstance(noise, Skellam):
            if noise.rate > 1e9:
                raise Unsupported(
                    f"{noise} has {noise.rate:.3g} events on average, too many to draw; use a step of {noise.sigma / 4e4:.3g}."
                )
            self._float, self._exact = _poisson(noise)
        elif isinstance(noise, PolyaDifference):
            self._float, self._exact = _negative_binomial(noise)
        else:
            raise Unsupported(f"{type(noise).__name__} is not drawn as a difference of counts.")
        self.slack = self._validated_slack()

    def at(self, k: Array) -> Array:
        with np.errstate(under="ignore"):
            return np.asarray(self._float(np.asarray(k, dtype=np.float64)))

    def spread(self, k: Array, threshold: Array) -> Array:
        return threshold

    def guess(self, v: Array) -> Array:
        """The number of thresholds above v, by doubling and bisection."""
        v = np.asarray(v, dtype=np.float64)
        low, high = np.full(v.shape, -1.0), np.ones(v.shape)
        while (short := self.at(high) > v).any():
            low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
        while (high - low > 1.0).any():
            middle = np.floor(0.5 * (low + high))
            above = (self.at(middle) > v) & (middle > low)
            low, high = np.where(above, middle, low), np.where(above, high, np.maximum(middle, low + 1.0))
        return high

    def _points_to_check(self) -> Array:
        centre = self.guess(np.array([1.0 - 1e-9, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9, 2.0**-40]))
        return np.unique(
            np.maximum(np.concatenate([[0.0, 1.0, 2.0], centre, centre - 1.0, np.geomspace(1.0, centre[-1] + 1.0, 12)]), 0.0) // 1
        )

    def ball(self, k: int) -> Ball:
        return self._exact(k)


class Table(Tails):
    """The thresholds of the difference itself, from the table of its law: for intervals; draws go by the two counts."""

    def __init__(self, noise: Law, step: float) -> None:
        self.noise, self.step, self.margin, self.slack = noise, step, MARGIN, 1e-9


class _Lane:
    """The bits of one of the two counts: its row of words, and rounds of its own."""

    def __init__(self, bits: Bits, offset: int, row: NDArray[Any] | None = None) -> None:
        self._bits, self._offset, self._row = bits, offset, row

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        assert self._row is not None
        return self._row[None, :]

    def more(self, draws: NDArray[np.int64], turn: int) -> Words:
        return self._bits.more(draws, turn + self._offset)


class Difference:
    """The sampler: two look-ups a draw; what either leaves is settled for both."""

    def __init__(self, noise: Law, margin: float = MARGIN) -> None:
        self._guide = Guide(Counts(noise, margin))

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: NDArray[np.float64]) -> Pending:
        words = entropy.words(out.size, np.uint16, 2)
        second = np.empty_like(out)
        left = []
        for count, row in ((out, words[0]), (second, words[1])):
            places, _ = self._guide.fill(count, _Lane(entropy, 0, row), scratch)
            left.append(places)
        out[:] = np.abs(out) - np.abs(second)  # the sign that a guide draws is not used
        rest = np.union1d(*left).astype(np.int64)
        return rest, words[:, rest].T.astype(np.uint64)

    def settle(self, draws: NDArray[np.int64], words: Words, entropy: Bits) -> NDArray[np.int64]:
        first, second = (
            np.abs(self._guide.settle(draws, words[:, [i]], _Lane(entropy, i * _SECOND))) for i in (0, 1)
        )  # a word that the table did decide leads to the same count here
        return first - second
