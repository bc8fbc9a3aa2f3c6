"""Counts of rows by cell: what a choice of a quantile reads, as fine as it needs.

The cells are 0, 1, ..., size - 1. A block is a stretch of cells with its number of rows; cells in no block have none.
An engine counts wide blocks first, then the cells of those near a quantile. So a block may be wider than one cell: it
is then open, and only bounds of what lies in it are known. `fetch` counts the cells of open blocks.

Tie bits. A `Field` with J tie bits has 2^J fine cells in each cell, and every row has J random bits that place it in
one of them (docs/maths/quantiles.md). The bits of many rows are not drawn one by one: of E rows in a stretch of fine
cells, the number in its lower half is the number of ones among E random bits. A stretch is halved only where a choice
looks, and the halves are kept, because all choices of a question see the same bits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from hush.errors import HushError
from hush.sampling.entropy import Bits

__all__ = ["TIE_BITS", "Block", "Counts", "Field"]

Whole = NDArray[np.int64]
#: Random bits of a row below its cell, where one question has several quantiles.
TIE_BITS = 30

_FEW = 48  # rows of a stretch whose places are drawn one by one
_AHEAD = 4096  # words of random bits that are drawn at a time

#: (first cell, number of cells, rows, rows before it)
Block = tuple[int, int, int, int]
#: Counts the rows of each cell in a stretch of cells, both ends included: cells with rows, and their rows.
Fetch = Callable[[int, int], tuple[Whole, Whole]]


@dataclass
class Counts:
    """The rows of one group by blocks of cells, in order. Rows may be counted in parts of a row (`hush.tables.selection
    .law`): then `rows` are numbers of such parts.
    """

    size: int
    firsts: Whole
    widths: Whole
    rows: Whole
    fetch: Fetch | None = None
    ends: Whole = field(init=False)

    def __post_init__(self) -> None:
        self.ends = np.cumsum(self.rows, dtype=np.int64)

    @classmethod
    def of_cells(cls, size: int, cells: Whole) -> Counts:
        """The counts of rows whose cells are listed."""
        found, rows = np.unique(np.asarray(cells, dtype=np.int64), return_counts=True)
        return cls(size, found, np.ones_like(found), rows.astype(np.int64))

    @property
    def total(self) -> int:
        """All rows."""
        return int(self.ends[-1]) if self.ends.size else 0

    def between(self, low: float, high: float) -> tuple[int, int]:
        """The blocks with a row whose rank may lie between two ranks: the first of them, and the first after them."""
        start = int(np.searchsorted(self.ends, ceil(max(low, 0.0)), side="left"))
        end = int(np.searchsorted(self.ends - self.rows, floor(min(high, self.total)), side="right"))
        return start, max(start, end)

    def open_in(self, start: int, end: int) -> tuple[int, int] | None:
        """The stretch of cells that holds the open blocks among some blocks; None if there are none."""
        wide = np.flatnonzero(self.widths[start:end] > 1)
        if not wide.size:
            return None
        first, last = start + int(wide[0]), start + int(wide[-1])
        return int(self.firsts[first]), int(self.firsts[last] + self.widths[last] - 1)

    def refined(self, firsts: Whole, widths: Whole, rows: Whole, low: int, high: int) -> None:
        """Put finer blocks in the place of those between two cells, which they have to fill exactly."""
        start = int(np.searchsorted(self.firsts, low, side="left"))
        end = int(np.searchsorted(self.firsts, high, side="right"))
        if int(rows.sum()) != int(self.rows[start:end].sum()):
            raise HushError("the table changed while it was read, so nothing was released; ask again.")
        self.firsts = np.concatenate([self.firsts[:start], firsts, self.firsts[end:]])
        self.widths = np.concatenate([self.widths[:start], widths, self.widths[end:]])
        self.rows = np.concatenate([self.rows[:start], rows, self.rows[end:]])
        self.ends = np.cumsum(self.rows, dtype=np.int64)

    def settled(self, low: float, high: float) -> tuple[int, int]:
        """The same blocks as `between`, none of which is open: those that were are counted now."""
        while (stretch := self.open_in(*self.between(low, high))) is not None:
            assert self.fetch is not None
            cells, rows = self.fetch(*stretch)
            self.refined(cells, np.ones_like(cells), rows, *stretch)
        return self.between(low, high)


class _Coins:
    """Fair random bits, drawn many at a time."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._words: list[int] = []

    def word(self) -> int:
        """64 random bits."""
        if not self._words:
            self._words = self._bits.words(_AHEAD, np.uint64)[0].tolist()
        return self._words.pop()

    def places(self, count: int, size: int) -> list[int]:
        """So many random numbers of `size` bits, in order."""
        return sorted(self.word() >> (64 - size) for _ in range(count))

    def ones(self, count: int) -> int:
        """How many of so many random bits are one."""
        whole, left = divmod(count, 64)
        found = (self.word() >> (64 - left)).bit_count() if left else 0
        for start in range(0, whole, _AHEAD):
            words = self._bits.words(min(_AHEAD, whole - start), np.uint64)[0]
            found += int(np.bitwise_count(words).sum())
        return found


@dataclass
class _Part:
    """A stretch of 2^size fine cells that holds rows: with its halves if it was halved, and the places of its rows if
    there are few.
    """

    rows: int
    size: int
    halves: tuple[_Part, _Part] | None = None
    places: list[int] | None = None

    def settle(self, coins: _Coins) -> None:
        """Give a place to each row, or halve it, once for all."""
        if self.halves is not None or self.places is not None:
            return
        if self.rows <= _FEW or self.size == 0:
            self.places = coins.places(self.rows, self.size) if self.size else [0] * self.rows
            return
        low = coins.ones(self.rows)
        self.halves = _Part(low, self.size - 1), _Part(self.rows - low, self.size - 1)


class Field:
    """Counts by cell, or with random bits by fine cell: each cell has 2^tie_bits of them."""

    def __init__(self, counts: Counts, tie_bits: int = 0, bits: Bits | None = None) -> None:
        self.counts, self.tie_bits = counts, tie_bits
        self._coins = None if bits is None else _Coins(bits)
        self._parts: dict[int, _Part] = {}

    @property
    def size(self) -> int:
        """The number of cells, or of fine cells."""
        return self.counts.size << self.tie_bits

    def rank(self, cell: int) -> int:
        """The number of rows in cells up to this one, itself included."""
        counts, whole = self.counts, cell >> self.tie_bits
        at = int(np.searchsorted(counts.firsts, whole, side="right")) - 1
        if at < 0:
            return 0
        before = int(counts.ends[at] - counts.rows[at])
        if whole >= int(counts.firsts[at] + counts.widths[at]):
            return int(counts.ends[at])
        counts.settled(before, before)  # the block may be open
        at = int(np.searchsorted(counts.firsts, whole, side="right")) - 1
        if at < 0 or int(counts.firsts[at]) != whole:
            return int(counts.ends[at]) if at >= 0 else 0
        return int(counts.ends[at] - counts.rows[at]) + self._within(at, cell & ((1 << self.tie_bits) - 1))

    def _within(self, at: int, place: int) -> int:
        """The rows in the first place + 1 fine cells of a cell."""
        part, found = self._settled(self._part(at)), 0
        while part.halves is not None:
            low, high = part.halves
            if place >> low.size & 1:
                found, part = found + low.rows, self._settled(high)
            else:
                part = self._settled(low)
        assert part.places is not None
        return found + bisect_right(part.places, place & ((1 << part.size) - 1))

    def _part(self, at: int) -> _Part:
        cell = int(self.counts.firsts[at])
        return self._parts.setdefault(cell, _Part(int(self.counts.rows[at]), self.tie_bits))

    def _settled(self, part: _Part) -> _Part:
        if part.size:
            assert self._coins is not None
            part.settle(self._coins)
        elif part.places is None:
            part.places = [0] * part.rows
        return part

    def blocks(self, first: int, last: int, low: float, high: float) -> Iterator[Block]:
        """The blocks with rows in cells first to last, in order. Those whose ranks may lie between `low` and `high` are
        single (fine) cells; others may be joined to wide ones.
        """
        counts, j = self.counts, self.tie_bits
        start, end = counts.settled(low, high)
        begin = int(np.searchsorted(counts.firsts + counts.widths - 1, first >> j, side="left"))
        stop = int(np.searchsorted(counts.firsts, last >> j, side="right"))
        start, end = min(max(start, begin), stop), min(max(end, begin), stop)
        yield from self._joined(begin, start, first, last)
        for at in range(start, end):
            before = int(counts.ends[at] - counts.rows[at])
            if j == 0:
                yield int(counts.firsts[at]), 1, int(counts.rows[at]), before
            else:
                found = self._fine(self._part(at), int(counts.firsts[at]) << j, before, low, high)
                yield from (block for block in found if first <= block[0] <= last)
        yield from self._joined(end, stop, first, last)

    def _joined(self, start: int, end: int, first: int, last: int) -> Iterator[Block]:
        """Some neighbouring blocks as one block within the cells first to last."""
        counts, j = self.counts, self.tie_bits
        if start >= end:
            return
        left = max(int(counts.firsts[start]) << j, first)
        right = min((int(counts.firsts[end - 1] + counts.widths[end - 1]) << j) - 1, last)
        before = self.rank(first - 1) if left == first and first > 0 else int(counts.ends[start] - counts.rows[start])
        after = self.rank(last) if right == last else int(counts.ends[end - 1])
        if after > before:
            yield left, right - left + 1, after - before, before

    def _fine(self, part: _Part, first: int, before: int, low: float, high: float) -> Iterator[Block]:
        """The blocks of a stretch of fine cells."""
        if part.rows == 0:
            return
        untouched = part.halves is None and part.places is None
        if untouched and (before + part.rows < low or before > high):
            yield first, 1 << part.size, part.rows, before
            return
        self._settled(part)
        if part.places is not None:
            for place, equal in groupby(part.places):
                rows = sum(1 for _ in equal)
                yield first + place, 1, rows, before
                before += rows
            return
        assert part.halves is not None
        lower, upper = part.halves
        yield from self._fine(lower, first, before, low, high)
        yield from self._fine(upper, first + (1 << lower.size), before + lower.rows, low, high)
