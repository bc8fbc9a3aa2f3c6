"""Checks of what a user wrote in a query: names of columns and aggregates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hush.errors import InvalidParameter, shown
from hush.tables.expression import ibis, reason_of
from hush.tables.measure import Measure, Prepared
from hush.tables.output import plain_names, with_ends

__all__ = ["as_expression", "check_aggregate", "check_columns", "check_names", "one_aggregate"]


def as_expression(text: str) -> str:
    """The expression to write for a comparison given as text."""
    found = re.match(r"^\s*(\w+)\s*(==|!=|<=|>=|<|>)\s*(\S+)\s*$", text)
    column, sign, value = found.groups() if found else ("mark", ">", "5")
    return f'table.filter(table["{column}"] {sign} {value})'


def check_columns(role: str, columns: Mapping[str, Any], unit: str, others: list[str]) -> None:
    """Reject new columns that would change the unit, or that differ from another column in case only."""
    if unit in columns:
        raise InvalidParameter(
            f"{role} must not change the unit column {shown(unit)}, which identifies the person each row "
            "belongs to; give the new column another name."
        )
    seen = {name.casefold() for name in (unit, *others)}
    for name in columns:
        if name.casefold() in seen:
            raise InvalidParameter(
                f"{role} would add {shown(name)} beside a column that differs in case only; give it another name."
            )
        seen.add(name.casefold())


def check_aggregate(name: str, measure: Any, keys: tuple[str, ...]) -> None:
    """Reject what is no aggregate, and names that clash with keys or with internal columns."""
    if not isinstance(measure, Measure):
        raise InvalidParameter(
            f"the aggregate {shown(name)} must be one of hush.tables' aggregates, got {shown(measure)}; write "
            f"{name}=count()."
        )
    if name in keys:
        raise InvalidParameter(
            f"the aggregate {shown(name)} has the same name as a grouping column; give it another name."
        )
    if "." in name or not name.strip():
        raise InvalidParameter(
            f"the aggregate's name {shown(name)} must not be empty or contain a dot, which marks internal columns."
        )


def check_names(keys: tuple[str, ...], measures: tuple[Prepared, ...]) -> None:
    """Reject answers with two columns that differ only in case or punctuation: some engines treat these as equal."""
    outputs = with_ends(name for measure in measures for name in measure.output_names)
    seen: dict[str, str] = {}
    for name in (*keys, *outputs):
        plain = plain_names([name])[0].casefold()
        if plain in seen:
            raise InvalidParameter(
                f"the answer would have the columns {shown(seen[plain])} and {shown(name)}, which are too much alike; "
                "rename an aggregate."
            )
        seen[plain] = name


def one_aggregate(relation: Any, name: str, value: Any, hint: str) -> Any:
    """One Ibis aggregate of a table's rows, for a table of one row per person."""
    if isinstance(value, Measure):
        raise InvalidParameter(f"per_unit takes Ibis aggregates, but {shown(name)} is one of hush's; {hint}.")
    found: list[Any] = []
    try:
        found = (
            list(relation.bind(value)) if callable(value) or isinstance(value, ibis().Expr | ibis().Deferred) else []
        )
    except Exception as failure:
        raise InvalidParameter(f"{shown(name)} is not an expression over this table: {reason_of(failure)}.") from None
    if len(found) != 1 or not found[0].op().shape.is_scalar():
        raise InvalidParameter(f"per_unit needs one number for each person, but {shown(name)} is no aggregate; {hint}.")
    return found[0]
