"""Mistakes of a policy that only its source shows: columns that do not exist, bounds of the wrong kind, a unit that
identifies nobody. The schema is read, the rows are not.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

from hush.errors import InvalidParameter, nearest, shown
from hush.tables.bins import checked_value
from hush.tables.bounded_value import value_kind
from hush.tables.group import key_type
from hush.tables.policy.mistakes import Mistake
from hush.tables.policy.rules import ROW, ColumnRule, TableRule, is_private
from hush.tables.quantise import as_bound
from hush.tables.unit import opened_unit

__all__ = ["mistakes_in_schema"]


def mistakes_in_schema(place: str, rule: TableRule, relation: Any) -> Iterator[Mistake]:
    """The mistakes of one table, by the columns of its source."""
    known = list(relation.columns)
    if rule.unit == ROW and ROW in known:
        yield Mistake(
            f"{place}.unit",
            'the source has a column "row"; write unit = ["row"] for it, or rename it if each row is a person.',
        )
    elif rule.unit is not None and rule.unit != ROW:
        yield from _in_unit(place, rule.unit, relation)
    for name, column in (rule.columns or {}).items():
        where = f"{place}.columns.{name}"
        if name in known:
            yield from _in_column(where, name, column, relation[name])
        else:
            hint = nearest(name, known)
            more = f"{hint}?" if hint else "compare it with the names in the source."
            yield Mistake(where, f"the source has no such column; {more}")


def _in_unit(place: str, unit: Any, relation: Any) -> Iterator[Mistake]:
    try:
        opened_unit(relation, unit)
    except InvalidParameter as failure:
        yield Mistake(f"{place}.unit", str(failure))


def _in_column(place: str, name: str, rule: ColumnRule, column: Any) -> Iterator[Mistake]:
    """Bounds and values that do not fit the type of the column."""
    kind = column.type()
    if rule.has_bounds:
        yield from _in_bounds(place, name, rule, column)
    if rule.values is None:
        return
    try:
        key_type(name, kind)
        for value in () if is_private(rule.values) else rule.values:
            checked_value("it", value, kind)
    except InvalidParameter as failure:
        yield Mistake(f"{place}.values", str(failure))


def _in_bounds(place: str, name: str, rule: ColumnRule, column: Any) -> Iterator[Mistake]:
    """Bounds of a column that has no values to clip, and bounds of another type than the values."""
    kind = column.type()
    if kind.is_timestamp() and isinstance(rule.low, datetime.date):
        return  # the days of the times
    try:
        value_kind(name, column, dates=True)
    except InvalidParameter as failure:
        yield Mistake(f"{place}.low", str(failure))
        return
    for side in () if rule.private_bounds else ("low", "high"):
        bound = getattr(rule, side)
        try:
            as_bound(f"{side} of {shown(name)}", bound, kind, "write a number")
        except InvalidParameter as failure:
            wanted = "a date such as 2024-01-31" if kind.is_date() else "a number"
            other = kind.is_date() != isinstance(bound, datetime.date)
            text = f"must be {wanted}, because the column is of type {kind}, got {bound}." if other else str(failure)
            yield Mistake(f"{place}.{side}", text)
