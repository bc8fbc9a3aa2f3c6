"""Draws of lattice laws that are differences of two independent counts, such as Skellam noise.

Each count is drawn exactly from its thresholds P(N > k), which the descriptor of the family supplies in floats and in
balls (`Family.counts`). The difference of two exact independent draws is an exact draw of the difference. The two
counts use different words and different rounds of further bits, so they are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.catalogue import family_of
from hush.noise.contract import Law
from hush.numerics.root import first_whole
from hush.sampling.entropy import Bits
from hush.sampling.lookup import Guide
from hush.sampling.tail_ball import descriptor
from hush.sampling.threshold import MARGIN, Pending, Tails

__all__ = ["Counts", "Difference", "Table", "is_difference"]

Array = NDArray[np.float64]
Words = NDArray[np.uint64]
Ball = Any

_SECOND = 1 << 40  # the first round of the second count; the first count never needs so many rounds


def is_difference(noise: Law) -> bool:
    """Return True if the law is drawn as a difference of two counts."""
    row = family_of(noise)
    return row is not None and row.counts is not None


class Counts(Tails):
    """The thresholds P(N > k) of one count, with the interface of `Tails`."""

    def __init__(self, noise: Law, margin: float = MARGIN) -> None:
        self.noise, self.step, self.margin = noise, 1.0, margin
        row = descriptor(noise)
        if row.counts is None:
            raise Unsupported(f"{row.name} noise is not drawn as a difference of counts.")
        self._float, self._exact = row.counts(noise)
        self.slack = self._validated_slack()

    def at(self, k: Array) -> Array:
        with np.errstate(under="ignore"):
            return np.asarray(self._float(np.asarray(k, dtype=np.float64)))

    def spread(self, k: Array, threshold: Array) -> Array:
        return threshold

    def guess(self, v: Array) -> Array:
        """Return the number of thresholds above v."""
        v = np.asarray(v, dtype=np.float64)
        return first_whole(lambda k: self.at(k) <= v, v.shape)

    def _points_to_check(self) -> Array:
        centre = self.guess(np.array([0.999999999, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-9, 2.0**-40]))
        return np.unique(
            np.maximum(
                np.concatenate([[0.0, 1.0, 2.0], centre, centre - 1.0, np.geomspace(1.0, centre[-1] + 1.0, 12)]), 0.0
            )
            // 1
        )

    def ball(self, k: int) -> Ball:
        return self._exact(k)


class Table(Tails):
    """The thresholds of the difference, from the table of its law. They serve for intervals only, not for draws."""

    def __init__(self, noise: Law, step: float) -> None:
        self.noise, self.step, self.margin, self.slack = noise, step, MARGIN, 1e-9


class _Lane:
    """The bits of one of the two counts: its row of words, and its range of rounds."""

    def __init__(self, bits: Bits, offset: int, row: NDArray[Any] | None = None) -> None:
        self._bits, self._offset, self._row = bits, offset, row

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        assert self._row is not None
        return self._row[None, :]

    def more(self, draws: NDArray[np.int64], turn: int) -> Words:
        return self._bits.more(draws, turn + self._offset)

    def lanes(self, draws: NDArray[np.int64], first: int, count: int) -> Words:
        return self._bits.lanes(draws, first, count)

    def part(self, number: int) -> Bits:
        return self._bits.part(number)


class Difference:
    """The sampler. A draw is two table look-ups; if the table does not decide one of them, both are settled again."""

    def __init__(self, noise: Law, margin: float = MARGIN) -> None:
        self._guide = Guide(Counts(noise, margin))

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: NDArray[np.float64]) -> Pending:
        words = entropy.words(out.size, np.uint16, 2)
        second = np.empty_like(out)
        left = []
        for count, row in ((out, words[0]), (second, words[1])):
            places, _ = self._guide.fill(count, _Lane(entropy, 0, row), scratch)
            left.append(places)
        out[:] = np.abs(out) - np.abs(second)  # the sign that `Guide` draws is not used
        rest = np.union1d(*left).astype(np.int64)
        return rest, words[:, rest].T.astype(np.uint64)

    def settle(self, draws: NDArray[np.int64], words: Words, entropy: Bits) -> NDArray[np.int64]:
        first, second = (
            np.abs(self._guide.settle(draws, words[:, [i]], _Lane(entropy, i * _SECOND))) for i in (0, 1)
        )  # for a word that the table has already decided, the count is the same
        return first - second
