"""Draws on coarse lattices: one 16-bit word is the index of the draw in a table.

A word consists of a sign and the first 15 bits of V. A row of the table holds the magnitude if no threshold, widened by
its error bound, touches the interval of V that belongs to the row. For a scale of ten steps, one to ten rows in a
thousand are undecided. Their draws take 48 more bits and `Tails.decide`; those that are still uncertain take
`Tails.refine`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hush.sampling.entropy import Bits
from hush.sampling.threshold import SATURATED, Pending, Tails

__all__ = ["Guide"]

_BITS = 15  # bits of V in a word
_UNDECIDED = np.iinfo(np.int64).min
#: With more thresholds than this, too many rows are undecided, and `Panels` is faster.
MOST_THRESHOLDS = 4096


class Guide:
    """The table of one (noise, step)."""

    def __init__(self, law: Tails) -> None:
        self._law = law
        rows = 1 << _BITS
        reach = min(
            float(law.guess(np.array(2.0**-22))) + 2.0, 2.0 * MOST_THRESHOLDS
        )  # one draw in four million is beyond
        below, above = law.ends(np.arange(reach))
        # the exact thresholds decrease; take running minima and maxima so that the widened ones decrease too
        self._ends = below, above = np.minimum.accumulate(below), np.maximum.accumulate(above[::-1])[::-1]
        edges = np.arange(rows + 1) / rows
        most = above.size - np.searchsorted(above[::-1], edges[:-1], side="right")
        least = below.size - np.searchsorted(below[::-1], edges[1:], side="left")
        known = (most == least) & (most < above.size)
        magnitude = np.where(known, most, 0)
        self._table = np.concatenate([np.where(known, magnitude, _UNDECIDED), np.where(known, -magnitude, _UNDECIDED)])

    @property
    def undecided(self) -> float:
        """The fraction of words that the table does not decide."""
        return float(np.mean(self._table == _UNDECIDED))

    def fill(self, out: NDArray[np.int64], entropy: Bits, scratch: NDArray[np.float64]) -> Pending:
        """Write the next draws into `out`, and return the undecided ones for `settle`."""
        words = entropy.words(out.size, np.uint16)[0]
        np.take(self._table, words, out=out, mode="wrap")
        rest = np.flatnonzero(out == _UNDECIDED)
        return rest, words[rest].astype(np.uint64)[:, None]

    def settle(self, draws: NDArray[np.int64], words: NDArray[np.uint64], entropy: Bits) -> NDArray[np.int64]:
        """Return the draws that `fill` left undecided, from their numbers and words."""
        negative, prefix = words[:, 0] >> np.uint64(_BITS), words[:, 0] & np.uint64((1 << _BITS) - 1)
        more = entropy.more(draws, 0)
        magnitude, certain = self._law.decide((prefix << np.uint64(48)) | (more[:, 0] >> np.uint64(16)), self._ends)
        for i in np.flatnonzero(~certain):
            known = (int(prefix[i]) << 128) | (int(more[i, 0]) << 64) | int(more[i, 1])
            magnitude[i] = self._law.refine(int(draws[i]), known, _BITS + 128, 1, int(magnitude[i]), entropy)
        return np.where(negative, -magnitude, magnitude)


assert SATURATED < -_UNDECIDED  # so that the mark for an undecided draw is not a possible draw
