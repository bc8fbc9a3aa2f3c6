"""A subquery that is grouped by the unit: one row for each person, with aggregates of that person's rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hush.tables.sql.cell import Cell, as_number
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.scope import Scope

__all__ = ["groups_people", "per_person"]

_CALLS = {"Sum": "sum", "Avg": "mean", "Min": "min", "Max": "max", "Count": "count"}


def groups_people(select: Any, scope: Scope) -> bool:
    """Is the SELECT grouped by the unit and nothing else?"""
    group = select.args.get("group")
    return group is not None and len(group.expressions) == 1 == len(scope.units) and scope.is_unit(group.expressions[0])


def per_person(select: Any, scope: Scope) -> Scope:
    """The rows of people: the unit, and COUNT, SUM, AVG, MIN and MAX of each person's rows."""
    made: dict[str, Any] = {}
    known: dict[str, Cell] = {}
    units: list[str] = []
    for part in select.expressions:
        node, name = part.unalias(), part.alias_or_name
        if scope.is_unit(node):
            units.append(name)
            continue
        if not part.alias or type(node).__name__ not in _CALLS:
            raise Refused("a row for each person may have COUNT, SUM, AVG, MIN and MAX with a name (AS name)", part)
        made[name], known[name] = _aggregate(node, scope)
    if not made:
        raise Refused("a subquery that is grouped by the unit needs an aggregate, such as COUNT(*) AS n", select)
    table = scope.filtered().per_unit(**made)
    columns = {name: replace(cell, column=table[name]) for name, cell in known.items()}
    rule = replace(scope.rule, rows_per_unit=1, groups_per_unit=1)
    return replace(scope.alone(), table=table, rule=rule, columns=columns, units=tuple(units), conditions=(), listed=())


def _aggregate(node: Any, scope: Scope) -> tuple[Any, Cell]:
    """The aggregate as a function of the table, and the bounds of its values."""
    allow_only(node, "this", "big_int")
    kind, inside = type(node).__name__, node.this
    if kind == "Count" and type(inside).__name__ == "Star":
        return (lambda t: t.count()), Cell(None, 0)
    cell = scope.rows.of(inside)
    if kind == "Count":
        return (lambda t: cell.column.count()), Cell(None, 0)
    number = as_number(cell, node)
    low, high = (None, None) if kind == "Sum" else (number.low, number.high)
    call = _CALLS[kind]
    return (lambda t: getattr(number.column, call)()), Cell(None, low, high)
