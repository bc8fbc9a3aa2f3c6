"""One block of time of a table whose units hold one block each."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, shown
from hush.tables.expression import is_one_of

__all__ = ["WithBlocks"]


class WithBlocks:
    """What a table of units with a time in them can do."""

    def in_block(self, column: str, value: Any) -> Any:
        """The rows of one block of time, such as in_block("month", "2025-01").

        The column must be one of several columns of the unit, so that every unit belongs to one block. A ledger with
        blocks="month" then charges that block alone. Blocks come first: filter and compute columns afterwards.
        """
        table: Any = self
        if column not in table.whose.columns or len(table.whose.columns) < 2:
            raise InvalidParameter(
                f"{shown(column)} is not one of several columns of the unit, so a unit may be in several blocks; write "
                f"table(..., unit=['person', {shown(column)}])."
            )
        if table.relation.op() != table.source.relation.op():
            raise InvalidParameter("choose the block first: write table.in_block(...) before filter, mutate and join.")
        value = _one_spelling(column, table[column].type(), value)
        kept = table.filter(is_one_of(table[column], [value]))
        words = f"{column} == {shown(value)}" if isinstance(value, str) else f"{column} == {value}"
        return replace(kept, filters=(*table.filters, words), block=(column, str(value)))


def _one_spelling(column: str, kind: Any, value: Any) -> Any:
    """The value of a block in the only form that is accepted for its column. Equal values must have equal names: the
    ledger keeps a budget for each name.
    """
    if kind.is_string() and isinstance(value, str):
        return str.__str__(value)  # a class of the caller may print itself under another name
    if kind.is_integer() and isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int.__index__(value) if isinstance(value, int) else int(value)
    if kind.is_date() and isinstance(value, date) and not isinstance(value, datetime):
        return date.fromordinal(date.toordinal(value))
    if kind.is_date() and isinstance(value, str):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(value)
    forms = "a text, a whole number or a date such as 2025-01-31, like the column"
    raise InvalidParameter(
        f"the block of {shown(column)} must be {forms}, which holds {kind}; got {type(value).__name__}."
    )
