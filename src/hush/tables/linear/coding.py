"""The cell of each row as one whole number, and the exact number of rows in each cell.

Every column has a public list of values, or public edges. A row outside of them is left out, by its own values alone.
Of the other rows of a person, at most r are kept, so one person moves the counts of all cells by at most r in all: see
`hush.tables.bound`, with one group and histograms of at most r rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.tables.arrow import plain_numbers
from hush.tables.bins import edge_index
from hush.tables.bound import keep_rows
from hush.tables.description import TableDescription
from hush.tables.engines import engine_of
from hush.tables.exact_aggregates import BATCH
from hush.tables.expression import compared, ibis
from hush.tables.keyed_hash import Keyed, fresh_salt
from hush.tables.quantise import within_years

__all__ = ["CodedColumn", "cells_of", "counted_cells"]

Whole = NDArray[np.int64]
_MOST_CELLS = 1 << 62


@dataclass(frozen=True)
class CodedColumn:
    """A column with its public values, or with the public edges of its bins."""

    name: str
    values: tuple[Any, ...] = ()
    edges: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """The number of values or bins."""
        return len(self.values) or len(self.edges) - 1

    def code(self, relation: Any) -> Any:
        """The place of each row's value, null where it has none."""
        if self.edges:
            return edge_index(relation[self.name], list(self.edges))
        raw = relation[self.name]
        column, kind = within_years(compared(raw)), raw.type()
        branches = []
        for place, value in enumerate(self.values):
            same = raw.isnull() if value is None else column == compared(ibis().literal(value, type=kind))
            branches.append((same, ibis().literal(place, type="int64")))
        return ibis().cases(*branches, else_=ibis().null("int64"))


def counted_cells(
    table: TableDescription, columns: tuple[CodedColumn, ...], rows: int, *, salt: bytes | None = None
) -> Any:
    """The expression that the engine runs for `cells_of`: the code of each cell that has rows, and their number."""
    cells = 1
    for column in columns:
        cells *= column.size
    if cells > _MOST_CELLS:
        raise Unsupported("these columns have more than 2^62 cells together; ask for fewer columns at a time.")
    return _counted(table, columns, rows, salt)


def cells_of(table: TableDescription, columns: tuple[CodedColumn, ...], counted: Any) -> tuple[Whole, Whole]:
    """The cells that have rows, one line of places for each, and the exact number of rows of each. They are not
    private.
    """
    sizes = [column.size for column in columns]
    found = engine_of(table.source.backend).batches(table.source, counted, BATCH)
    codes, counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for batch in found:
        codes.append(np.asarray(plain_numbers(batch.column(0)), dtype=np.int64))
        counts.append(np.asarray(plain_numbers(batch.column(1)), dtype=np.int64))
    left, places = np.concatenate(codes), []
    for size in reversed(sizes):
        places.append(left % size)
        left = left // size
    return np.stack(places[::-1], axis=1), np.concatenate(counts)


def _counted(table: TableDescription, columns: tuple[CodedColumn, ...], rows: int, salt: bytes | None) -> Any:
    """The expression: the code of a cell and its number of rows."""
    relation, person = table.relation, table.person
    code: Any = ibis().literal(0, type="int64")
    for column in columns:  # a null code of one column makes the whole code null
        code = code * column.size + column.code(relation)
    own = {} if person is None else {"u": compared(relation[person])}
    kept = relation.select(**own, v=code)
    kept = kept.filter(kept["v"].notnull())
    if own:
        kept = kept.filter(kept["u"].notnull())
    if own and not table.one_row:
        engine = engine_of(table.source.backend)
        way = "portable" if engine.hash is None else "native"
        keyed = Keyed(fresh_salt() if salt is None else salt, way, engine.hash, engine.digits)
        placed = kept.mutate(t=keyed.of([kept["u"]], "rows", nulls=False))
        placed = keep_rows(placed, [], "v", rows, keyed, "w")
        kept = placed.filter(placed["w"].notnull()).select(v=lambda one: one["w"])
    return kept.group_by("v").aggregate(n=kept.count())
