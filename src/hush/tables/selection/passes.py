"""Counts of rows by cell, from two or three passes over a table.

The first pass counts wide blocks of cells, about 2^16 for all groups together. The next ones count the cells of those
blocks whose rows may be near a quantile. All numbers are whole, so all engines give the same ones. The rows that count
are the same in each pass: the choice of a person's groups and rows depends on one secret number. If the table changes
between two passes their sums differ, and nothing is released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.tables.arrow import plain_numbers
from hush.tables.engines import engine_of
from hush.tables.engines.contract import Source
from hush.tables.expression import as_int64, constant
from hush.tables.selection.field import Counts

__all__ = ["Near", "counts_by_group"]

Whole = NDArray[np.int64]
#: The ranks around which cells are needed, of a group with so many rows: pairs (lowest, highest).
Near = Callable[[int], Sequence[tuple[float, float]]]
#: Stretches of cells of each group, both ends included, in order.
Windows = Mapping[int, Sequence[tuple[int, int]]]
#: Numbers between which the values of some cells lie.
Around = Callable[[int, int], tuple[float, float]]
_NONE = np.empty(0, dtype=np.int64)
_BLOCKS = 16  # of the first pass, as a power of two
_FINER = 14  # powers of two by which blocks of a further pass are narrower
_ROWS = 200_000  # so many rows are counted cell by cell at once
_BATCH = 65_536


@dataclass(frozen=True)
class _Pass:
    """The rows of all groups: a relation with the columns g (the place of the group) and w (the cell)."""

    source: Source
    rows: Any
    size: int
    #: numbers around the values of some cells; None if rows have no column x of numbers
    around: Around | None = None

    def counted(
        self, shift: int, windows: Mapping[int, Sequence[tuple[int, int]]] | None
    ) -> dict[int, tuple[Whole, Whole]]:
        """The blocks of 2^shift cells with rows, and their rows, of each group; within windows of cells if given."""
        rows = self.rows
        if windows is not None:
            if self.around is not None:  # comparing numbers is faster than making their cells
                lowest, highest = (min(s[0][0] for s in windows.values()), max(s[-1][1] for s in windows.values()))
                first, last = self.around(lowest, highest)
                rows = rows if first == -math.inf else rows.filter(rows["x"] >= constant(first))
                rows = rows if last == math.inf else rows.filter(rows["x"] <= constant(last))
            rows = rows.filter(_inside(rows, windows))
        block = as_int64(rows["w"] >> shift) if shift else rows["w"]
        plan = rows.select("g", h=block).group_by("g", "h").aggregate(k=lambda t: t.count())
        batches = list(engine_of(self.source.backend).batches(self.source, plan, _BATCH))
        columns = [
            np.concatenate([plain_numbers(b.column(i)) for b in batches] or [np.empty(0, np.int64)]) for i in range(3)
        ]
        group, cell, count = (column.astype(np.int64) for column in columns)
        order = np.lexsort((cell, group))
        group, cell, count = group[order], cell[order], count[order]
        starts = np.unique(group, return_index=True)[1]
        ends = np.concatenate([starts[1:], [group.size]])[: starts.size]
        return {int(group[a]): (cell[a:b] << shift, count[a:b]) for a, b in zip(starts, ends, strict=True)}

    def cells(self, group: int, low: int, high: int) -> tuple[Whole, Whole]:
        """The cells with rows of one group between two cells, and their rows."""
        return self.counted(0, {group: [(low, high)]}).get(group, (_NONE, _NONE))


def _inside(rows: Any, windows: Windows) -> Any:
    """Is a row in a window of its group?"""
    found = None
    for group, stretches in windows.items():
        near = None
        for low, high in stretches:
            one = (rows["w"] >= low) & (rows["w"] <= high)
            near = one if near is None else near | one
        each = (rows["g"] == group) & near
        found = each if found is None else found | each
    return found


def counts_by_group(
    source: Source, rows: Any, groups: int, size: int, near: Near, around: Around | None = None
) -> list[Counts]:
    """The counts of each group, by single cells near the ranks that `near` asks for, and by blocks elsewhere."""
    run = _Pass(source, rows, size, around)
    shift = max(0, (size - 1).bit_length() - _BLOCKS + (groups - 1).bit_length())
    first, nothing = run.counted(shift, None), (_NONE, _NONE)
    made = [_blocks(size, shift, *first.get(group, nothing)) for group in range(groups)]
    for group, counts in enumerate(made):
        counts.fetch = partial(run.cells, group)
    while shift:
        wanted = {
            group: found for group, counts in enumerate(made) if (found := _stretches(counts, near(counts.total)))
        }
        if not wanted:
            break
        held = sum(_held(made[group], stretches) for group, stretches in wanted.items())
        shift = 0 if held <= _ROWS else max(0, shift - _FINER)
        counted = run.counted(shift, wanted)
        for group, stretches in wanted.items():
            cells, count = counted.get(group, nothing)
            for low, high in stretches:
                start, end = np.searchsorted(cells, low), np.searchsorted(cells, high, side="right")
                finer = _blocks(size, shift, cells[start:end], count[start:end])
                made[group].refined(finer.firsts, finer.widths, finer.rows, low, high)
    return made


def _blocks(size: int, shift: int, firsts: Whole, rows: Whole) -> Counts:
    return Counts(size, firsts, np.minimum(np.int64(1) << shift, size - firsts), rows)


def _stretches(counts: Counts, ranks: Sequence[tuple[float, float]]) -> list[tuple[int, int]]:
    """The stretches of cells that have to be counted more finely, in order; none overlap."""
    found = [counts.open_in(*counts.between(low, high)) for low, high in ranks]
    joined: list[tuple[int, int]] = []
    for low, high in sorted(stretch for stretch in found if stretch is not None):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined


def _held(counts: Counts, stretches: Sequence[tuple[int, int]]) -> int:
    """The rows in some stretches of cells."""
    return sum(
        int(counts.rows[np.searchsorted(counts.firsts, low) : np.searchsorted(counts.firsts, high, side="right")].sum())
        for low, high in stretches
    )
