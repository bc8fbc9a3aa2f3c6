"""CAST in row expressions: a value that does not fit is null, and every engine gives the same value.

Text is cast only if it has one plain form (`hush.tables.plain_form`). A float becomes the nearest whole number, and of
two equally near ones the even one.
"""

from __future__ import annotations

import datetime
from typing import Any

from hush.errors import shown
from hush.tables.expression import ibis, operations
from hush.tables.plain_form import plain_form
from hush.tables.sql.cell import FAR, Cell, literal
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.row import Rows, handler

__all__ = ["FITS", "as_date", "whole_part"]

#: Types of a cast, by sqlglot's name, and the type in the engine.
_TYPES = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "int64"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL", "BIGDECIMAL"), "float64"),
    **dict.fromkeys(("VARCHAR", "TEXT", "CHAR", "NVARCHAR"), "string"),
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMPNTZ"), "timestamp"),
}
#: The kinds of values that are cast to each type.
_FROM = {
    "int64": ("number", "text", "truth"),
    "float64": ("number", "text", "truth"),
    "string": ("number", "text", "truth", "date", "time"),
    "boolean": ("number", "text", "truth"),
    "date": ("text", "date", "time"),
    "timestamp": ("text", "date", "time"),
}
#: Floats below this size have a whole part that fits 64 bits.
FITS = 9.0e18


def whole_part(column: Any) -> Any:
    """The largest whole number that is not above a float; null where it does not fit 64 bits."""
    return ibis().cases((column.abs() < FITS, column.floor()), else_=ibis().null("int64"))


def as_date(column: Any) -> Any:
    """An explicit cast to a date: Spark gives a time where Ibis takes the column for a date."""
    return operations().Cast(column, ibis().dtype("date")).to_expr()


@handler("Cast", "TryCast")
def _cast(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "to", "safe")
    name = node.to.this.name if hasattr(node.to.this, "name") else str(node.to.this)
    if name not in _TYPES:
        raise Refused(
            f"a cast to {node.to.sql()} is not translated; use BIGINT, DOUBLE, VARCHAR, BOOLEAN or DATE", node
        )
    cell, kind = rows.of(node.this), _TYPES[name]
    if cell.constant and isinstance(cell.value, str) and kind in ("date", "timestamp"):
        return _dated(cell.value, kind, node)
    if cell.column.type().is_null():
        return Cell(ibis().null(kind), values=(None,), constant=True)
    if cell.family not in _FROM[kind]:
        raise Refused(f"a value of type {cell.column.type()} is not cast to {name}", node)
    if kind == "string" and cell.family == "number" and not cell.whole:
        raise Refused(
            "the text of a number with a fraction differs between engines; cast a whole number, CAST(... AS BIGINT)",
            node,
        )
    same = {"string": "text", "boolean": "truth", "date": "date", "timestamp": "time"}.get(kind)
    return cell if cell.family == same else _known_after(cell, _made(cell, kind), kind)


def _made(cell: Cell, kind: str) -> Any:
    """The cast column."""
    column = cell.column
    if cell.family == "text":
        return plain_form(column, kind)
    if cell.family == "number" and kind == "boolean":
        return column != 0
    if cell.family == "number" and kind == "int64" and not cell.whole:
        return _nearest(column.cast("float64"))
    return column.try_cast(kind)


def _nearest(column: Any) -> Any:
    """The nearest whole number of a float, the even one of two."""
    below = whole_part(column)
    rest = column - below.cast("float64")
    up = (rest > 0.5) | ((rest == 0.5) & (below % 2 != 0))
    return ibis().cases((up, below + 1), else_=below)


def _known_after(cell: Cell, column: Any, kind: str) -> Cell:
    """What is still known after a cast."""
    ends = (cell.low, cell.high) if kind in ("int64", "float64") and cell.family == "number" else (None, None)
    if kind == "int64" and ends != (None, None):
        ends = (None if ends[0] is None else round(ends[0])), (None if ends[1] is None else round(ends[1]))
    values = cell.values if kind == "int64" and cell.whole else (False, True) if kind == "boolean" else None
    return Cell(column, ends[0], ends[1], values, cell.reach if cell.whole else FAR)


def _dated(text: str, kind: str, node: Any) -> Cell:
    read = datetime.date.fromisoformat if kind == "date" else datetime.datetime.fromisoformat
    try:
        return literal(read(text))
    except ValueError as failure:
        raise Refused(f"{shown(text)} is not a {kind}; write DATE '2025-12-31'", node) from failure
