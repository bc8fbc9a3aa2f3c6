"""The value of an expression in one row: an Ibis column, and what is known of it without looking at the data.

Bounds follow from the bounds that the policy declares, by interval arithmetic. They decide where values are clipped, so
a bound that is too narrow makes an answer less accurate, never less private.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from hush.tables.expression import as_int64, constant, ibis
from hush.tables.reading import as_type
from hush.tables.sql.refusal import Refused

__all__ = ["FAR", "Cell", "as_asked", "as_number", "by_day", "family", "literal", "nothing", "one_type", "span"]

#: The largest absolute value of a 64-bit integer, plus 1.
FAR = 2**63
#: The most values of a list that is derived from bounds, and the most days that it is derived from.
_MOST_VALUES, _MOST_DAYS = 1000, 40_000


@dataclass(frozen=True)
class Cell:
    """A column with its known facts. None: not known."""

    column: Any
    low: Any = None
    high: Any = None
    #: the values that it can have, as a public list to group by; None in it is null
    values: tuple[Any, ...] | None = None
    #: for whole numbers: a number that no absolute value exceeds, by its type alone
    reach: int = FAR
    #: a constant of the statement
    constant: bool = False
    #: for a constant: its Python value
    value: Any = None
    #: its bounds are to be found with a part of the budget
    private: bool = False
    #: by the policy, the groups of this column are to be found privately, whatever the statement lists
    found: bool = False
    #: of a column of a text file whose type nobody declared: how its text is read (`hush.tables.reading`)
    reading: Any = None

    @property
    def family(self) -> str:
        """The kind of values: number, text, truth, date, time, or another."""
        return family(self.column.type())

    @property
    def whole(self) -> bool:
        """Is it a column of whole numbers?"""
        return bool(self.column.type().is_integer())

    @property
    def bounded(self) -> bool:
        """Are both bounds known?"""
        return self.low is not None and self.high is not None

    def plain(self, column: Any) -> Cell:
        """Another column, of which nothing is known."""
        return Cell(column)


def family(kind: Any) -> str:
    """The kind of values of a type. Only values of one kind are compared: otherwise an engine would cast, which may
    fail on a row.
    """
    if kind.is_boolean():
        return "truth"
    if kind.is_numeric():
        return "number"
    if kind.is_string():
        return "text"
    if kind.is_date():
        return "date"
    return "time" if kind.is_timestamp() else "time of day" if kind.is_time() else str(kind)


def literal(value: Any) -> Cell:
    """A constant of the statement."""
    if isinstance(value, bool):
        return Cell(ibis().literal(value), values=(value,), constant=True, value=value)
    if isinstance(value, int) and abs(value) < FAR:
        column = ibis().literal(value, type="int64")
        return Cell(column, value, value, (value,), abs(value), constant=True, value=value)
    if isinstance(value, int | float):
        return Cell(constant(float(value)), float(value), float(value), constant=True, value=float(value))
    bound = value if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime) else None
    return Cell(ibis().literal(value), bound, bound, (value,), constant=True, value=value)


def nothing(kind: str = "null") -> Cell:
    """NULL."""
    return Cell(ibis().null(kind), values=(None,), constant=True)


def is_null(cell: Cell) -> bool:
    """Is it the constant NULL?"""
    return bool(cell.column.type().is_null())


def as_number(cell: Cell, node: Any = None) -> Cell:
    """A column of int64 or float64. Truth values are 0 and 1; decimals become floats, whose arithmetic never fails."""
    kind = cell.column.type()
    if kind.is_null():
        return replace(cell, column=ibis().null("float64"))
    if kind.is_boolean():
        return Cell(cell.column.cast("int64"), 0, 1, (0, 1), 1, cell.constant, cell.value)
    if kind.is_string() and cell.reading is not None:
        return as_asked(cell, "number")
    if not kind.is_numeric():
        raise Refused(f"a number is needed, but {said(node)} is of type {kind}; {_as_a_number(kind, node)}", node)
    if kind.is_integer() and not kind.is_uint64():
        sure = cell.reach if kind.is_int64() else min(cell.reach, 1 << (8 * kind.nbytes))
        return replace(cell, column=cell.column if kind.is_int64() else as_int64(cell.column), reach=sure)
    return cell if kind.is_float64() else replace(cell, column=cell.column.cast("float64"), values=None)


#: The type of a column of a text file beside values of a family.
_WORDS = {"number": "number", "truth": "boolean", "date": "date", "time": "time"}


def as_asked(cell: Cell, word: str) -> Cell:
    """A column of a text file whose type nobody declared, as the values that the statement takes it for."""
    if cell.reading is None or cell.family != "text":
        return cell
    return Cell(as_type(cell.column, word, cell.reading))


def _as_a_number(kind: Any, node: Any) -> str:
    """How a value of another type becomes a number."""
    text = said(node)
    if kind.is_date() or kind.is_timestamp():
        return f"write EXTRACT(YEAR FROM {text}), or DATE_DIFF('day', DATE '2025-01-01', {text})"
    if kind.is_string():
        return f"write TRY_CAST({text} AS DOUBLE) if it holds numbers, or CASE WHEN {text} = 'a' THEN 1 ELSE 0 END"
    return "name a column of numbers"


def said(node: Any) -> str:
    """A part of a statement, to quote."""
    return "this" if node is None else node.sql()


def one_type(cells: Iterable[Cell], node: Any) -> list[Cell]:
    """Cells of one kind, numbers of one type, so that an engine need not cast. NULL fits every kind. Text constants
    beside dates are read as dates here.
    """
    found = list(cells)
    said_by_others = {cell.family for cell in found if not is_null(cell) and cell.reading is None}
    if len(said_by_others) == 1 and (word := _WORDS.get(said_by_others.pop())):
        found = [as_asked(cell, word) for cell in found]
    kinds = {cell.family for cell in found if not is_null(cell)}
    if "text" in kinds and kinds & {"date", "time"}:
        found = [_as_date(cell, "date" in kinds, node) if cell.family == "text" else cell for cell in found]
        kinds = {cell.family for cell in found if not is_null(cell)}
    if kinds == {"date", "time"}:
        found = [replace(c, column=c.column.try_cast("timestamp")) if c.family == "date" else c for c in found]
        kinds = {"time"}
    if len(kinds) > 1:
        raise Refused(
            f"{said(node)} mixes {' and '.join(sorted(kinds))}, and a cast may fail on a row; write TRY_CAST", node
        )
    if kinds == {"number"}:
        found = [as_number(cell, node) for cell in found]
        if any(not cell.whole for cell in found):
            found = [replace(c, column=c.column.cast("float64"), reach=FAR) if c.whole else c for c in found]
    return found


def _as_date(cell: Cell, date: bool, node: Any) -> Cell:
    """A text constant as a date or a time."""
    read = datetime.date.fromisoformat if date else datetime.datetime.fromisoformat
    try:
        if not isinstance(cell.value, str):
            raise ValueError
        return literal(read(cell.value))
    except ValueError as failure:
        raise Refused(
            f"{said(node)} compares a date with text; write a date such as DATE '2025-12-31'", node
        ) from failure


def span(low: Any, high: Any) -> tuple[Any, Any]:
    """Bounds, or none where one of them is not a finite number."""
    ends = (low, high)
    return (low, high) if all(isinstance(end, int) or math.isfinite(end) for end in ends) else (None, None)


def by_day(cell: Cell, column: Any, of: Callable[[datetime.date], Any]) -> Cell:
    """A function of a date, with the public list of its values if the policy declares the first and the last date."""
    days = (cell.low, cell.high)
    if not all(isinstance(day, datetime.date) for day in days) or (days[1] - days[0]).days > _MOST_DAYS:
        return Cell(column)
    number = (days[1] - days[0]).days + 1
    found = dict.fromkeys(of(days[0] + datetime.timedelta(i)) for i in range(number))
    ends = (min(found), max(found)) if found else (None, None)
    ends = ends if not isinstance(ends[0], str) else (None, None)
    return Cell(column, ends[0], ends[1], tuple(found) if len(found) <= _MOST_VALUES else None)
