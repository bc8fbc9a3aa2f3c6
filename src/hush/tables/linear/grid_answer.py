"""`GridAnswer`: private counts of the cells of a grid of columns, asked by edges and values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.releasing.error_bars import Total
from hush.releasing.receipt import Receipt
from hush.tables.arrow import arrow
from hush.tables.linear.coding import CodedColumn

if TYPE_CHECKING:
    from hush.workload.box_answer import BoxesAnswer

__all__ = ["GridAnswer"]

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GridAnswer:
    """Private counts of the cells of a grid: bins between edges of some columns, values of others."""

    counts: BoxesAnswer
    columns: tuple[CodedColumn, ...]

    @property
    def receipt(self) -> Receipt:
        """What was released, and what it guarantees."""
        return self.counts.receipt

    @property
    def total(self) -> int:
        """The number of rows that count."""
        return self.counts.total

    @property
    def histogram(self) -> Whole:
        """The count of each cell, in whole numbers, with an axis for each column."""
        return self.counts.histogram

    def box(self, *, level: float = 0.95, non_negative: bool = False, **given: Any) -> Total:
        """The number of rows in a box, with an interval: box(age=(20, 40), sex="F"). A column with edges takes two of
        its edges, another column one of its values. A column that is not named counts with all its values.
        """
        known = {column.name: column for column in self.columns}
        places: dict[str, Any] = {}
        for name, one in given.items():
            if name not in known:
                raise InvalidParameter(f"{shown(name)} is not one of the columns {list(known)}.")
            places[name] = _place(known[name], one)
        return self.counts.box(level=level, non_negative=non_negative, **places)

    def to_arrow(self) -> Any:
        """A table with a row for each cell: the edges or the value of each column, and the count."""
        labels = [list(pairwise(c.edges)) if c.edges else list(c.values) for c in self.columns]
        cells = list(product(*labels))
        found: dict[str, Any] = {}
        for axis, column in enumerate(self.columns):
            own = [cell[axis] for cell in cells]
            if column.edges:
                found |= {f"{column.name}_from": [a for a, _ in own], f"{column.name}_to": [b for _, b in own]}
            else:
                found[column.name] = own
        return arrow().table(found | {"count": np.ravel(self.histogram)})

    def __repr__(self) -> str:
        return repr(self.counts)


def _place(column: CodedColumn, given: Any) -> Any:
    """The bins of a range, or the place of a value."""
    if not column.edges:
        if given not in column.values:
            raise InvalidParameter(f"{shown(given)} is not a listed value of {shown(column.name)}.")
        return column.values.index(given)
    if not isinstance(given, tuple) or len(given) != 2 or any(end not in column.edges for end in given):
        raise InvalidParameter(f"{shown(column.name)} needs a pair of its edges, such as (20, 40), got {shown(given)}.")
    return column.edges.index(given[0]), column.edges.index(given[1])
