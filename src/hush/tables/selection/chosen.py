"""What a quantile of a query asks for, and its answer from the released cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from hush.tables.column_law import ColumnLaw
from hush.tables.estimate import Array, Ends, Released
from hush.tables.selection.grid import ValueGrid
from hush.tables.selection.law import levels_of

__all__ = ["Chosen", "ChosenValues"]


@dataclass(frozen=True)
class Chosen:
    """The levels of a quantile in increasing order, its grid, and whether its ends are chosen too."""

    grid: ValueGrid
    fractions: tuple[Fraction, ...]
    intervals: bool
    #: the column of numbers that cells are made from, where they are floats
    number: Any = field(default=None, compare=False)

    @property
    def split(self) -> bool:
        """Are the levels found in halves, with tie bits?"""
        return len(self.fractions) >= 3

    @property
    def choices(self) -> int:
        """Choices in a group, one after the other."""
        return levels_of(len(self.fractions)) + 2 * len(self.fractions) * self.intervals

    @property
    def width(self) -> int:
        """Cells in a group: of the value and of both ends of each level."""
        return 3 * len(self.fractions)

    def names(self, name: str) -> tuple[str, ...]:
        """The released columns."""
        return tuple(column for place in range(len(self.fractions)) for column in names_of(name, place))

    def columns(self, name: str, cells: Sequence[int]) -> dict[str, Any]:
        """The released columns, from the cells of one group after the other."""
        table, grid = [cells[i :: self.width] for i in range(self.width)], self.grid
        found = {}
        for i in range(len(self.fractions)):
            value, low, high = names_of(name, i)
            found[value] = np.array([grid.value(cell) for cell in table[3 * i]], dtype=np.float64)
            found[low] = np.array([grid.value(cell) for cell in table[3 * i + 1]], dtype=np.float64)
            found[high] = np.array([grid.end(cell) for cell in table[3 * i + 2]], dtype=np.float64)
        return found


def names_of(name: str, place: int) -> tuple[str, str, str]:
    """The released columns of a level: its value and the ends of its interval."""
    return f"{name}.{place}", f"{name}.{place}.low", f"{name}.{place}.high"


@dataclass(frozen=True)
class ChosenValues:
    """The answer of a quantile: what was released. `order` has the place of each asked level in the released ones."""

    name: str
    order: tuple[int, ...]
    single: bool
    intervals: bool

    def __call__(self, released: Released) -> Array:
        return self._shaped(released, 0)

    def ends(self, mechanisms: Mapping[str, ColumnLaw], level: float) -> Ends:
        """The ends that were released for the level of the question."""
        return _ChosenEnds(self)

    def planning_point(self, rows: int) -> dict[str, float]:
        """Nothing of a plan depends on values."""
        return {}

    def _shaped(self, released: Released, which: int) -> Array:
        columns = [np.asarray(released[names_of(self.name, place)[which]], dtype=np.float64) for place in self.order]
        return columns[0] if self.single else np.stack(columns, axis=-1)


@dataclass(frozen=True)
class _ChosenEnds:
    values: ChosenValues

    def __call__(self, released: Released) -> tuple[Array, Array]:
        low, high = self.values._shaped(released, 1), self.values._shaped(released, 2)
        if self.values.intervals:
            return low, high
        nothing = np.full_like(low, np.nan)
        return nothing, nothing.copy()
