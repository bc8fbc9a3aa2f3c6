"""Constants, comparisons, conditions and CASE of row expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hush.tables.expression import compared, ibis
from hush.tables.sql.cell import FAR, Cell, literal, nothing, one_type
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.row import Rows, handler

__all__ = ["condition", "conjuncts"]

_SIGNS = {"EQ": "__eq__", "NEQ": "__ne__", "LT": "__lt__", "LTE": "__le__", "GT": "__gt__", "GTE": "__ge__"}
_MOST_LISTED = 1000


def condition(node: Any, rows: Rows) -> Any:
    """A column that is true or false."""
    cell = rows.of(node)
    if cell.family != "truth":
        raise Refused(f"a condition is needed, but {node.sql()} is of type {cell.column.type()}", node)
    return cell.column


def conjuncts(node: Any) -> list[Any]:
    """The conditions that are joined by AND."""
    if type(node).__name__ == "Paren":
        return conjuncts(node.this)
    return conjuncts(node.left) + conjuncts(node.right) if type(node).__name__ == "And" else [node]


def truth(column: Any) -> Cell:
    """A condition as a cell: it can be grouped by."""
    return Cell(column, values=(False, True))


@handler("Paren")
def _inside(node: Any, rows: Rows) -> Cell:
    return rows.of(node.this)


@handler("Literal")
def _literal(node: Any, rows: Rows) -> Cell:
    if node.is_string:
        return literal(str(node.this))
    try:
        return literal(int(node.this))
    except ValueError:
        return literal(float(node.this))


@handler("Boolean")
def _boolean(node: Any, rows: Rows) -> Cell:
    return literal(bool(node.this))


@handler("Null")
def _null(node: Any, rows: Rows) -> Cell:
    return nothing()


@handler(*_SIGNS)
def _comparison(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression")
    a, b = one_type([rows.of(node.this), rows.of(node.expression)], node)
    if a.constant and b.constant:
        raise Refused(f"{node.sql()} compares two constants; leave it out", node)
    return truth(getattr(a.column, _SIGNS[type(node).__name__])(b.column))


@handler("And", "Or")
def _joined(node: Any, rows: Rows) -> Cell:
    a, b = condition(node.left, rows), condition(node.right, rows)
    return truth(a & b if type(node).__name__ == "And" else a | b)


@handler("Not")
def _not(node: Any, rows: Rows) -> Cell:
    return truth(~condition(node.this, rows))


@handler("Between")
def _between(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "low", "high", "negate")
    a, low, high = one_type([rows.of(node.this), rows.of(node.args["low"]), rows.of(node.args["high"])], node)
    inside = (a.column >= low.column) & (a.column <= high.column)
    return truth(~inside if node.args.get("negate") else inside)


@handler("In")
def _in(node: Any, rows: Rows) -> Cell:
    if node.args.get("query") is not None:
        raise Refused("IN takes a list of constants, not the rows of another table; join the table", node)
    allow_only(node, "this", "expressions", "negate")
    if not 1 <= len(node.expressions) <= _MOST_LISTED:
        raise Refused(f"IN takes a list of 1 to {_MOST_LISTED} constants, not the rows of another table", node)
    a, *listed = one_type([rows.of(part) for part in (node.this, *node.expressions)], node)
    if not all(cell.constant for cell in listed):
        raise Refused("IN takes a list of constants; write OR for other expressions", node)
    found = compared(a.column).isin([compared(cell.column) for cell in listed])
    return truth(~found if node.args.get("negate") else found)


@handler("Is")
def _is(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression", "negate")
    name, column = type(node.expression).__name__, rows.of(node.this).column
    if name == "Null":
        return truth(column.notnull() if node.args.get("negate") else column.isnull())
    if name != "Boolean" or not column.type().is_boolean():
        raise Refused("IS takes NULL, TRUE or FALSE", node)
    same = (column == bool(node.expression.this)).fill_null(False)
    return truth(~same if node.args.get("negate") else same)


@handler("NullSafeEQ", "NullSafeNEQ")
def _same(node: Any, rows: Rows) -> Cell:
    a, b = one_type([rows.of(node.this), rows.of(node.expression)], node)
    same = a.column.identical_to(b.column)
    return truth(same if type(node).__name__ == "NullSafeEQ" else ~same)


# -- choices -------------------------------------------------------------------------------------------------


def _one_of(cells: list[Cell], node: Any) -> tuple[list[Cell], Cell]:
    """The possible results of a choice in one type, and what is known of the chosen one."""
    found = one_type(cells, node)
    real = [cell for cell in found if cell.values != (None,)]
    bounded = bool(real) and all(cell.bounded for cell in real)
    low, high = (min(c.low for c in real), max(c.high for c in real)) if bounded else (None, None)
    listed = None
    if all(cell.values is not None for cell in found):
        listed = tuple(dict.fromkeys(value for cell in found for value in cell.values or ()))
    return found, Cell(None, low, high, listed, max((cell.reach for cell in found), default=FAR))


@handler("Case")
def _case(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "ifs", "default")
    given = node.args.get("default")
    results = [rows.of(part.args["true"]) for part in node.args["ifs"]] + [rows.of(given) if given else nothing()]
    results, known = _one_of(results, node)
    conditions = []
    for part in node.args["ifs"]:
        if node.this is None:
            conditions.append(condition(part.this, rows))
        else:
            a, b = one_type([rows.of(node.this), rows.of(part.this)], node)
            conditions.append(a.column == b.column)
    branches = [(when, cell.column) for when, cell in zip(conditions, results[:-1], strict=True)]
    return replace(known, column=ibis().cases(*branches, else_=results[-1].column))


@handler("If")
def _if(node: Any, rows: Rows) -> Cell:
    given = node.args.get("false")
    results, known = _one_of([rows.of(node.args["true"]), rows.of(given) if given else nothing()], node)
    chosen = ibis().cases((condition(node.this, rows), results[0].column), else_=results[1].column)
    return replace(known, column=chosen)


@handler("Coalesce")
def _coalesce(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expressions", "is_nvl", "is_null")
    results, known = _one_of([rows.of(part) for part in (node.this, *node.expressions)], node)
    values = known.values
    if values is not None and results[-1].constant:
        values = tuple(value for value in values if value is not None)
    return replace(known, column=ibis().coalesce(*(cell.column for cell in results)), values=values)


@handler("Nullif")
def _nullif(node: Any, rows: Rows) -> Cell:
    a, b = one_type([rows.of(node.this), rows.of(node.expression)], node)
    values = None if a.values is None else tuple(dict.fromkeys((*a.values, None)))
    return replace(a, column=a.column.nullif(b.column), values=values, constant=False)
