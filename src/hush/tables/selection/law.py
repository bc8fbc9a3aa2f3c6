"""The law of a choice of a quantile, and of several choices that make several quantiles and their intervals.

For a cell with L rows below it and E rows in it, the depth at a target A is

    depth = min(A - L, L + E - A),    A = q n for the quantile q of n rows,

so it is 0 or more exactly at a quantile, and else minus the number of rows by which the cell misses it. A cell is
chosen with probability proportional to e^(rate depth). The rate comes from the charge: one person moves every depth by
at most `move`, up or down, so the losses of a choice lie in an interval of length 2 rate move. docs/maths/quantiles.md
has the theorems T1 to T8 and their proofs; their numbers are named here.

Rows may count in parts: with `unit` parts in a row all ranks are numbers of parts. A person has at most `most` rows.
All depths are fractions, so no float decides anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hush.numerics.rounding import CLOSED_FORM, up
from hush.sampling.choice import Draw, Runs
from hush.sampling.entropy import Bits
from hush.tables.selection.field import TIE_BITS, Block, Counts, Field

__all__ = [
    "Listed",
    "Shape",
    "Stretch",
    "ends_of",
    "level_of",
    "levels_of",
    "move_of",
    "quantile_cells",
    "reach_of",
    "runs_of",
    "shift_of",
    "split_cells",
]

_FAR = 45.0  # what is not looked at first has probability below e^-45 or so
_SHIFT = 2**40  # parts of a row: a shift of a target is a multiple of one of them, rounded up


def level_of(q: float | str | Fraction) -> Fraction:
    """A level as the fraction that its decimal text states: 0.9 is 9/10."""
    return q if isinstance(q, Fraction) else Fraction(repr(q) if isinstance(q, float) else q)


def move_of(q: Fraction, most: int = 1, neighbours: str = "add-remove", *, parts: bool = False) -> Fraction:
    """How far one person with at most `most` rows moves a depth, up or down (theorems T1 and T2).

    `parts` states that a replaced person may leave one group or part and enter another.
    """
    added = most * max(q, 1 - q)
    if neighbours == "add-remove":
        return added
    return 2 * added if parts else Fraction(most)


def levels_of(count: int, *, tied: bool = True) -> int:
    """How many choices one after the other `count` quantiles of one column need (theorem T5)."""
    return math.ceil(math.log2(count + 1)) if tied and count >= 3 else count


def reach_of(cells: int, rate: float) -> float:
    """The depth below which cells are not looked at first: together they are less likely than 3e-20."""
    return (math.log(cells) + _FAR) / rate


def shift_of(cells: int, rate: float, miss: float) -> Fraction:
    """By how many rows the targets of an interval's ends are moved (T8): log(2 (cells + 1)/miss)/rate, rounded up."""
    return Fraction(math.ceil(up(math.log(2.0 * (cells + 1) / miss) / rate, CLOSED_FORM) * _SHIFT), _SHIFT)


@dataclass(frozen=True)
class Shape:
    """What a choice is made for: the rate per row of one whole move, the rows of a person and the parts in a row.

    `rate` is 1/scale of the charge, whose scores one person moves by at most 1.
    """

    rate: float
    most: int = 1
    unit: int = 1

    def move(self, q: Fraction) -> Fraction:
        """How far one person moves a depth at this level, in parts."""
        return move_of(q, self.most) * self.unit

    def reach(self, q: Fraction, cells: int) -> float:
        """How far a choice looks at first, in parts."""
        return reach_of(cells, self.rate) * float(self.move(q))

    def shift(self, q: Fraction, cells: int, miss: float) -> Fraction:
        """The shift of the targets of an interval's ends, in parts."""
        return shift_of(cells, self.rate / float(move_of(q, self.most)), miss) * self.unit


@dataclass(frozen=True)
class Stretch:
    """Cells to choose from: first to last. Rows in the first one do not count with `after` (it was chosen before)."""

    first: int
    last: int
    before: int = 0  # rows below them
    after: bool = False


def runs_of(field: Field, target: Fraction, reach: float, cells: Stretch, *, beyond: bool = False) -> Listed:
    """The runs of a choice at a target. `beyond` adds one cell below all values and one above them (theorem T8)."""
    listed = Listed(field, target, cells)
    if beyond:
        top = target.numerator - target.denominator * field.counts.total
        listed.add(-1, 1, -target.numerator)
        listed.add(field.size, 1, top)
    listed.scan(cells.first, cells.last, cells.before, reach, skip=cells.after)
    return listed


class Listed:
    """Runs with the first cell of each, and what was not looked at."""

    def __init__(self, field: Field, target: Fraction, cells: Stretch) -> None:
        self.field, self.target, self.cells = field, target, cells
        self.firsts: list[int] = []
        self.scores: list[int] = []
        self.widths: list[int] = []
        self.rest: list[tuple[int, Block]] = []

    def add(self, first: int, width: int, score: int) -> None:
        self.firsts.append(first)
        self.scores.append(score)
        self.widths.append(width)

    def score(self, before: int, rows: int) -> int:
        """The depth of a cell, times the target's denominator. For several cells together: at most that of each."""
        top, below = self.target.numerator, self.target.denominator
        return min(top - below * before, below * (before + rows) - top)

    def scan(self, first: int, last: int, before: int, reach: float, *, skip: bool = False) -> None:
        """List the cells from first to last, with `before` rows below them. With `skip` rows of the first do not
        count.
        """
        low, high = float(self.target) - reach, float(self.target) + reach
        at = first
        for start, width, rows, rank in self.field.blocks(first + skip, last, low, high):
            if start > at:
                self.add(at, start - at, self.score(before, 0))
            if width == 1:
                self.add(start, 1, self.score(rank, rows))
            else:
                self.rest.append((self.score(rank, rows), (start, width, rows, rank)))
            at, before = start + width, rank + rows
        if at <= last:
            self.add(at, last - at + 1, self.score(before, 0))

    def runs(self) -> Runs:
        """As they are drawn from."""
        rest = [(score, block[1]) for score, block in self.rest]
        return Runs(list(self.scores), list(self.widths), rest, self.more if rest else None)

    def more(self) -> Runs:
        """These runs, and then those of all other cells."""
        rest, self.rest = self.rest, []
        for _, (start, width, _, rank) in rest:
            self.scan(start, start + width - 1, rank, math.inf)
        return self.runs()

    def cell(self, drawn: tuple[int, int]) -> int:
        """The cell that was drawn."""
        return self.firsts[drawn[0]] + drawn[1]


def _chosen(
    field: Field, target: Fraction, q: Fraction, shape: Shape, draw: Draw, cells: Stretch, *, beyond: bool = False
) -> int:
    """One choice. Scores are depths times the target's denominator, so moves are too."""
    listed = runs_of(field, target, shape.reach(q, field.size), cells, beyond=beyond)
    return listed.cell(draw(listed.runs(), shape.move(q) * target.denominator))


def quantile_cells(
    counts: Counts, levels: Sequence[Fraction], shape: Shape, draw: Draw, bits: Bits | None = None
) -> list[int]:
    """The cells of the quantiles at some levels, which increase, in an order that does not fall.

    With bits for ties, three or more levels are split (theorem T5); else each level is a choice by itself. The number
    of choices, one after the other, is `levels_of`.
    """
    if len(levels) < 3 or bits is None:
        field, whole = Field(counts), Stretch(0, counts.size - 1)
        return sorted(_chosen(field, q * counts.total, q, shape, draw, whole) for q in levels)
    field = Field(counts, TIE_BITS, bits)
    return [cell >> field.tie_bits for cell in split_cells(field, levels, shape, draw)]


def split_cells(field: Field, levels: Sequence[Fraction], shape: Shape, draw: Draw) -> list[int]:
    """The fine cells of the levels: the middle one from all rows, then those of both parts."""

    def part(wanted: Sequence[Fraction], low: Fraction, high: Fraction, cells: Stretch, rows: int) -> list[int]:
        if not wanted:
            return []
        middle = len(wanted) // 2
        q = (wanted[middle] - low) / (high - low)
        found = _chosen(field, cells.before + q * rows, q, shape, draw, cells)
        rank = field.rank(found)
        rank = cells.before if cells.after and found == cells.first else rank  # its rows belong to the part before
        left, right = replace(cells, last=found), Stretch(found, cells.last, rank, after=True)
        below = part(wanted[:middle], low, wanted[middle], left, rank - cells.before)
        above = part(wanted[middle + 1 :], wanted[middle], high, right, cells.before + rows - rank)
        return [*below, found, *above]

    return part(levels, Fraction(0), Fraction(1), Stretch(0, field.size - 1), field.counts.total)


def ends_of(counts: Counts, q: Fraction, shape: Shape, draw: Draw, miss: float) -> tuple[int, int]:
    """The cells of an interval that holds every q-quantile with probability 1 - miss (theorem T8): two choices. The
    cells -1 and size lie below and above all values.
    """
    field, whole = Field(counts), Stretch(0, counts.size - 1)
    shift, middle = shape.shift(q, counts.size, miss), q * counts.total
    low, high = (_chosen(field, middle + way * shift, q, shape, draw, whole, beyond=True) for way in (-1, 1))
    return min(low, high), max(low, high)
