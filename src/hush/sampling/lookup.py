"""Small lattices: one 16-bit word looks its draw up in a table.

A word is a sign and the first 15 bits of V. A table row knows the magnitude if no threshold, widened by its error
bound, touches the row's interval of V. The other rows, one to ten in a thousand for a scale of ten steps, send their
draws on to `decide` with 48 bits more, and those that are still uncertain to `refine`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.sampling.entropy import Bits
from hush.sampling.threshold import SATURATED, Pending, Tails

__all__ = ["Guide"]

_BITS = 15
_UNDECIDED = np.iinfo(np.int64).min
#: More thresholds than this leave too many rows undecided; `Panels` are then faster.
MOST_THRESHOLDS = 4096


class Guide:
    """The table of one (noise, step)."""

    def __init__(self, law: Tails) -> None:
        self._law = law
        rows = 1 << _BITS
        reach = min(
            float(law.guess(np.array(2.0**-22))) + 2.0, 2.0 * MOST_THRESHOLDS
        )  # one draw in four million lies beyond
        below, above = law.ends(np.arange(reach))
        # true thresholds fall, so the widened ones may be made to fall too: upwards from behind, downwards from the
        # front
        self._ends = below, above = np.minimum.accumulate(below), np.maximum.accumulate(above[::-1])[::-1]
        edges = np.arange(rows + 1) / rows
        most = above.size - np.searchsorted(above[::-1], edges[:-1], side="right")
        least = below.size - np.searchsorted(below[::-1], edges[1:], side="left")
        known = (most == least) & (most < above.size)
        magnitude = np.where(known, most, 0)
        self._table = np.concatenate([np.where(known, magnitude, _UNDECIDED), np.where(known, -magnitude, _UNDECIDED)])

    @property
    def undecided(self) -> float:
        """The share of words that the table does not decide."""
        return float(np.mean(self._table == _UNDECIDED))

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: NDArray[np.float64]) -> Pending:
        """The next draws into `out`; what is left to `settle`."""
        words = entropy.words(out.size, np.uint16)[0]
        np.take(self._table, words, out=out, mode="wrap")
        rest = np.flatnonzero(out == _UNDECIDED)
        return rest, words[rest].astype(np.uint64)[:, None]

    def settle(self, draws: NDArray[np.int64], words: NDArray[np.uint64], entropy: Bits) -> NDArray[np.int64]:
        """The draws that `fill` left, by their numbers and words."""
        negative, prefix = words[:, 0] >> np.uint64(_BITS), words[:, 0] & np.uint64((1 << _BITS) - 1)
        more = entropy.more(draws, 0)
        magnitude, certain = self._law.decide((prefix << np.uint64(48)) | (more[:, 0] >> np.uint64(16)), self._ends)
        for i in np.flatnonzero(~certain):
            known = (int(prefix[i]) << 128) | (int(more[i, 0]) << 64) | int(more[i, 1])
            magnitude[i] = self._law.refine(int(draws[i]), known, _BITS + 128, 1, int(magnitude[i]), entropy)
        return np.where(negative, -magnitude, magnitude)


assert SATURATED < -_UNDECIDED  # a saturated draw is not taken for an undecided one
