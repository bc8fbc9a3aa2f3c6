"""Arithmetic of row expressions that never fails, and the bounds of its results.

Whole numbers are added and multiplied as 64-bit integers where their types show that the result fits. Otherwise they
are computed as floats, and a result beyond 9e18 is null. Division by zero is null. Floats give infinity or NaN,
which aggregates treat as missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hush.tables.expression import ibis
from hush.tables.sql.casts import FITS, whole_part
from hush.tables.sql.cell import FAR, Cell, as_number, literal, one_type, span
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.row import Rows, handler

__all__: list[str] = []


def _floats(cell: Cell) -> Any:
    return cell.column.cast("float64") if cell.whole else cell.column


def _computed(a: Cell, b: Cell, apply: Callable[[Any, Any], Any], reach: int, ends: tuple[Any, Any]) -> Cell:
    """Two numbers combined: as integers where no result is beyond `reach` < 2^63, otherwise as floats."""
    low, high = ends
    if a.whole and b.whole:
        if reach < FAR:
            return Cell(apply(a.column, b.column), low, high, reach=reach)
        return Cell(whole_part(apply(_floats(a), _floats(b))), low, high)
    return Cell(apply(_floats(a), _floats(b)), low, high)


def _ends(a: Cell, b: Cell, apply: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """The bounds of a result that is monotone in each of its numbers: the extremes at the corners."""
    if not (a.bounded and b.bounded):
        return None, None
    corners = [apply(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return span(min(corners), max(corners))


def _two(node: Any, rows: Rows) -> tuple[Cell, Cell]:
    return as_number(rows.of(node.this), node), as_number(rows.of(node.expression), node)


@handler("Add", "Sub")
def _sum(node: Any, rows: Rows) -> Cell:
    from hush.tables.sql.dates import shifted

    allow_only(node, "this", "expression")
    sign = 1 if type(node).__name__ == "Add" else -1
    moved = shifted(node, rows, sign)
    if moved is not None:
        return moved
    a, b = _two(node, rows)
    return _computed(a, b, lambda x, y: x + sign * y if sign < 0 else x + y, a.reach + b.reach, _added(a, b, sign))


def _added(a: Cell, b: Cell, sign: int) -> tuple[Any, Any]:
    return _ends(a, b, lambda x, y: x + sign * y)


@handler("Mul")
def _product(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression")
    a, b = _two(node, rows)
    return _computed(a, b, lambda x, y: x * y, a.reach * b.reach, _ends(a, b, lambda x, y: x * y))


@handler("Div", "SafeDivide")
def _quotient(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "expression", "typed", "safe")
    a, b = _two(node, rows)
    away = b.bounded and (b.low > 0 or b.high < 0)
    ends = _ends(a, b, lambda x, y: x / y) if away else (None, None)
    divided = _floats(a) / _floats(b).nullif(0.0)
    if node.args.get("typed") and a.whole and b.whole:
        whole = [None if end is None else math.trunc(end) for end in ends]
        return Cell(_towards_zero(divided), whole[0], whole[1])
    return Cell(divided, *ends)


def _towards_zero(column: Any) -> Any:
    """The whole part of a float; null where it does not fit 64 bits."""
    small = column.abs() < FITS
    return ibis().cases((small & (column < 0), column.ceil()), (small, column.floor()), else_=ibis().null("int64"))


@handler("IntDiv")
def _whole_quotient(node: Any, rows: Rows) -> Cell:
    a, b = _two(node, rows)
    if not (a.whole and b.whole):
        raise Refused("whole division needs whole numbers; write FLOOR(a / b)", node)
    return Cell(_towards_zero(_floats(a) / _floats(b).nullif(0.0)))


@handler("Mod")
def _remainder(node: Any, rows: Rows) -> Cell:
    a, b = _two(node, rows)
    size = abs(b.value) if b.constant and isinstance(b.value, int) else 0
    if a.whole and size > 1:
        least = 0 if a.low is not None and a.low >= 0 else 1 - size
        values = tuple(range(least, size)) if size <= 100 else None
        return Cell(a.column % b.column, least, size - 1, values, reach=size)
    left = _floats(a) % _floats(b).nullif(0.0)
    return Cell(whole_part(left) if a.whole and b.whole else left)


@handler("Neg")
def _negative(node: Any, rows: Rows) -> Cell:
    a = as_number(rows.of(node.this), node)
    if a.constant and a.value is not None:
        return literal(-a.value)
    ends = (-a.high, -a.low) if a.bounded else (None, None)
    if not a.whole:
        return Cell(-a.column, *ends)
    return Cell(-a.column, ends[0], ends[1], reach=a.reach) if a.reach < FAR else Cell(whole_part(-_floats(a)), *ends)


@handler("Abs")
def _absolute(node: Any, rows: Rows) -> Cell:
    a = as_number(rows.of(node.this), node)
    ends: tuple[Any, Any] = (0, None)
    if a.bounded:
        ends = (0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high)), max(abs(a.low), abs(a.high)))
    if not a.whole or a.reach < FAR:
        return Cell(a.column.abs(), ends[0], ends[1], reach=a.reach)
    return Cell(whole_part(_floats(a).abs()), *ends)


@handler("Floor", "Ceil", "Round", "Trunc")
def _rounded(node: Any, rows: Rows) -> Cell:
    allow_only(node, "this", "decimals")
    a, name = as_number(rows.of(node.this), node), type(node).__name__
    digits = rows.of(node.args["decimals"]).value if node.args.get("decimals") else 0
    if not isinstance(digits, int) or not 0 <= digits <= 15 or (digits and name != "Round"):
        raise Refused("rounding takes a number of digits from 0 to 15", node)
    if a.whole:
        return a
    if digits:
        return replace(a, column=a.column.round(digits), constant=False)
    if name == "Trunc":
        return Cell(_towards_zero(a.column), *_whole_ends(a, math.trunc))
    made = getattr(a.column, name.lower())()
    near: Callable[[Any], int] = {"Floor": math.floor, "Ceil": math.ceil}.get(name, lambda x: math.floor(x + 0.5))
    column = ibis().cases((a.column.abs() < FITS, made), else_=ibis().null("int64"))
    return Cell(column, *_whole_ends(a, near))


def _whole_ends(a: Cell, near: Callable[[Any], int]) -> tuple[Any, Any]:
    return (None if a.low is None else near(a.low)), (None if a.high is None else near(a.high))


@handler("Sqrt", "Ln", "Exp")
def _function(node: Any, rows: Rows) -> Cell:
    a, name = as_number(rows.of(node.this), node), type(node).__name__
    of = {"Sqrt": math.sqrt, "Ln": math.log, "Exp": math.exp}[name]
    column = _floats(a)
    if name != "Exp":  # some engines fail outside the domain; a null there is safe on all of them
        column = ibis().cases((column > 0.0 if name == "Ln" else column >= 0.0, column), else_=ibis().null("float64"))
    try:
        ends = (of(a.low), of(a.high)) if a.bounded else (None, None)
    except (ValueError, OverflowError):
        ends = (None, None)
    return Cell(getattr(column, name.lower())(), *ends)


@handler("Pow")
def _power(node: Any, rows: Rows) -> Cell:
    a, b = _two(node, rows)
    if not (b.constant and isinstance(b.value, int) and 1 <= b.value <= 4):
        raise Refused("POWER takes a whole exponent from 1 to 4; write x * x, or SQRT(x)", node)
    made = a
    for _ in range(b.value - 1):
        made = _computed(made, a, lambda x, y: x * y, made.reach * a.reach, (None, None))
    ends = (None, None)
    if a.bounded:
        corners = [a.low**b.value, a.high**b.value] + ([0] if a.low < 0 < a.high else [])
        ends = span(min(corners), max(corners))
    return replace(made, low=ends[0], high=ends[1], values=None, constant=False)


@handler("Greatest", "Least")
def _extreme(node: Any, rows: Rows) -> Cell:
    cells = one_type([rows.of(part) for part in (node.this, *node.expressions)], node)
    most = type(node).__name__ == "Greatest"
    pick, apply = (max, ibis().greatest) if most else (min, ibis().least)
    lows, highs = [c.low for c in cells], [c.high for c in cells]
    sure, open_end = (lows, highs) if most else (highs, lows)
    known = [end for end in sure if end is not None]
    near, far = (pick(known) if known else None), (None if None in open_end else pick(open_end))
    column = apply(*(cell.column for cell in cells))
    if rows.dialect == "bigquery":  # there, one null makes the result null
        some = [cell.column.isnull() for cell in cells if not cell.constant]
        for missing in some:
            column = ibis().cases((missing, ibis().null(column.type())), else_=column)
    return Cell(column, *((near, far) if most else (far, near)), reach=max(cell.reach for cell in cells))


@handler("clamp", "clip")
def _clamp(node: Any, rows: Rows) -> Cell:
    if len(node.expressions) != 3:
        raise Refused("write CLAMP(x, low, high)", node)
    a, low, high = one_type([rows.of(part) for part in node.expressions], node)
    if not (low.constant and high.constant) or low.value is None or high.value is None or low.value > high.value:
        raise Refused("CLAMP takes two constants, low and high; write CLAMP(x, 0, 100)", node)
    inside = ibis().least(ibis().greatest(a.column, low.column), high.column)
    column = ibis().cases((a.column.isnull(), ibis().null(a.column.type())), else_=inside)
    ends = (low.value if a.low is None else max(a.low, low.value), high.value)
    reach = max(cell.reach for cell in (a, low, high))  # a value below `low` becomes `low`
    return Cell(column, ends[0], high.value if a.high is None else min(a.high, high.value), reach=reach)
