"""Functions of text in row expressions."""

from __future__ import annotations

from typing import Any

from hush.tables.expression import ibis
from hush.tables.sql.cell import Cell
from hush.tables.sql.logic import truth
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.row import Rows, handler

__all__: list[str] = []

#: Places in a text: some engines fail on larger ones.
_LONGEST = 1_000_000


def _text(node: Any, rows: Rows) -> Any:
    cell = rows.of(node)
    if cell.family != "text":
        raise Refused(
            f"text is needed, but {node.sql()} is of type {cell.column.type()}; write CAST(... AS TEXT)", node
        )
    return cell.column


def _constant(node: Any, rows: Rows, what: str, kind: Any) -> Any:
    """The value of a constant argument."""
    value = rows.of(node).value if node is not None else None
    if not isinstance(value, kind) or isinstance(value, bool) or (kind is int and abs(value) > _LONGEST):
        raise Refused(f"{what} must be a constant of the statement", node)
    return value


@handler("Like", "ILike")
def _like(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression", "negate")
    pattern = _constant(node.expression, rows, "the pattern of LIKE", str)
    if "\\" in pattern:
        raise Refused("a pattern of LIKE with a backslash means different things in different engines", node)
    column = _text(node.this, rows)
    found = column.like(pattern) if type(node).__name__ == "Like" else column.ilike(pattern)
    return truth(~found if node.args.get("negate") else found)


@handler("Lower", "Upper", "Length", "Trim")
def _simple(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "binary")
    column, name = _text(node.this, rows), type(node).__name__
    if name == "Length":
        return Cell(column.length(), 0, reach=2**32)
    return Cell({"Lower": column.lower, "Upper": column.upper, "Trim": column.strip}[name]())


@handler("Substring", "Left", "Right")
def _part(node: Any, rows: Rows) -> Cell:
    column, name = _text(node.this, rows), type(node).__name__
    if name != "Substring":
        number = _constant(node.expression, rows, "the number of characters", int)
        if number < 0:
            raise Refused("the number of characters must be 0 or more", node)
        return Cell(column.left(number) if name == "Left" else column.right(number))
    allow_only(node, "this", "start", "length")
    start = _constant(node.args.get("start"), rows, "the first character", int)
    given = node.args.get("length")
    number = _constant(given, rows, "the number of characters", int) if given is not None else None
    if start < 1 or (number is not None and number < 0):
        raise Refused("SUBSTRING counts from 1; write SUBSTRING(x, 1, 3)", node)
    return Cell(column.substr(start - 1, number) if number is not None else column.substr(start - 1))


@handler("DPipe", "Concat")
def _joined(node: Any, rows: Rows) -> Cell:
    if type(node).__name__ == "DPipe":
        allow_only(node, "this", "expression", "safe")
        return Cell(_text(node.this, rows) + _text(node.expression, rows))
    allow_only(node, "expressions", "safe", "coalesce")
    parts = [_text(part, rows) for part in node.expressions]
    if node.args.get("coalesce"):  # in this dialect CONCAT skips nulls
        parts = [ibis().coalesce(part, ibis().literal("")) for part in parts]
    made = parts[0]
    for part in parts[1:]:
        made = made + part
    return Cell(made)


@handler("StartsWith", "EndsWith", "Contains")
def _holds(node: Any, rows: Rows) -> Cell:
    column, name = _text(node.this, rows), type(node).__name__
    wanted = _constant(node.expression, rows, "the text to look for", str)
    call = {"StartsWith": column.startswith, "EndsWith": column.endswith, "Contains": column.contains}[name]
    return truth(call(wanted))


@handler("Replace")
def _replaced(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression", "replacement")
    given = node.args.get("replacement")
    new = _constant(given, rows, "the new text", str) if given is not None else ""
    old = _constant(node.expression, rows, "the old text", str)
    if not old or len(new) > 100:
        raise Refused("REPLACE needs the text to replace, and a short new text", node)
    return Cell(_text(node.this, rows).replace(old, new))
