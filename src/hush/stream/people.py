"""The people of one period, read from a table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from hush.errors import InvalidParameter, shown

__all__ = ["people_between"]


def people_between(
    source: Any,
    *,
    unit: str,
    column: str,
    first: Any,
    until: Any = None,
    table: str | None = None,
    types: Mapping[str, str] | None = None,
    csv: Mapping[str, Any] | None = None,
) -> list[str]:
    """The different values of the column `unit` in the rows of one period, as texts.

    `source`, `types` and `csv` are those of `hush.tables.table`; `table` is the table of a database. A row belongs to
    the period if its value of `column` is `first`, or from `first` to before `until`: dates as texts like 2026-01-31,
    or whole numbers. Rows whose unit is null or whose date cannot be read are left out. As for `hush.tables.table`, the
    unit is a column of whole numbers or text. Texts are persons as they are spelled: `7`, `07`, `7.0` and `7 ` in a
    file of text are four persons. Use it with `add(people=...)`.
    """
    from hush.tables.source import open_source

    opened = open_source(source, name=table, types=types, csv=csv, fields=[unit, column])
    try:
        return _found(opened, unit, column, first, until)
    finally:
        if opened.owned:  # a DuckDB file that is attached cannot be opened for writing
            opened.backend.disconnect()


def _found(opened: Any, unit: str, column: str, first: Any, until: Any) -> list[str]:
    """The different persons of the period."""
    from hush.tables.expression import by_bytes, must_have
    from hush.tables.reading import Reading, as_type
    from hush.tables.unit import opened_unit

    relation = opened.relation
    opened_unit(relation, unit, headed=opened.headed)  # raises for columns that do not identify people
    must_have(relation.columns, column, "column")
    when, kind = relation[column], relation[column].type()
    if not (kind.is_integer() or kind.is_date() or kind.is_timestamp() or kind.is_string()):
        raise InvalidParameter(
            f"the column {shown(column)} must hold dates, texts of dates or whole numbers, not {kind}."
        )
    numbers = kind.is_integer() or (kind.is_string() and str(first).isdecimal())
    start, stop = _moment(first, numbers), None if until is None else _moment(until, numbers)
    if stop is not None and not stop > start:
        raise InvalidParameter(f"until must be after first, got {shown(first)} and {shown(until)}.")
    if kind.is_string():
        when = as_type(when, "whole" if numbers else "date", opened.untyped.get(column, Reading()))
    elif not numbers:
        when = when.try_cast("date")
    chosen = when == start if stop is None else (when >= start) & (when < stop)
    # as text and by its bytes: neither its type nor its collation decides how many persons there are
    who = by_bytes(relation[unit])
    found = relation.filter(chosen & relation[unit].notnull()).select(who.name("person")).distinct()
    return [str(one) for one in found.to_pyarrow()["person"].to_pylist() if one is not None]


def _moment(value: Any, numbers: bool) -> Any:
    """The bound of a period, as a whole number or a date."""
    try:
        return int(value) if numbers else date.fromisoformat(str(value))
    except (TypeError, ValueError, OverflowError) as failure:
        form = "a whole number" if numbers else "a date such as 2026-01-31"
        raise InvalidParameter(f"a period of this column begins with {form}, got {shown(value)}.") from failure
