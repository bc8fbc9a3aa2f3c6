"""The people of one period, read from a table."""

from __future__ import annotations

from datetime import date
from typing import Any

from hush.errors import InvalidParameter, shown

__all__ = ["people_between"]


def people_between(
    source: Any, *, unit: str, column: str, first: Any, until: Any = None, table: str | None = None
) -> list[Any]:
    """The different values of the column `unit` in the rows of one period.

    `source` is a file or a frame, as for `hush.tables.table`; `table` is the table of a database. A row belongs to the
    period if its value of `column` is `first`, or from `first` to before `until`: dates as texts like 2026-01-31, or
    whole numbers. Rows whose unit is null or whose date cannot be read are left out. Persons are always texts, so that
    a column with whole numbers in one file and texts in the next names the same people. Use it with `add(people=...)`.
    """
    from hush.tables.source import open_source

    relation = open_source(source, name=table).relation
    for name in (unit, column):
        if name not in relation.columns:
            raise InvalidParameter(f"the table has no column {shown(name)}; it has {', '.join(relation.columns)}.")
    when, kind = relation[column], relation[column].type()
    if not (kind.is_integer() or kind.is_date() or kind.is_timestamp() or kind.is_string()):
        raise InvalidParameter(
            f"the column {shown(column)} must hold dates, texts of dates or whole numbers, not {kind}."
        )
    numbers = kind.is_integer()
    start, stop = _moment(first, numbers), None if until is None else _moment(until, numbers)
    if stop is not None and not stop > start:
        raise InvalidParameter(f"until must be after first, got {shown(first)} and {shown(until)}.")
    when = when if numbers else when.try_cast("date")
    chosen = when == start if stop is None else (when >= start) & (when < stop)
    # always as text: the type of a column of a file may differ from period to period
    who = relation[unit].cast("string")
    found = relation.filter(chosen).select(who.name("person")).distinct().to_pyarrow()["person"].to_pylist()
    return [one for one in found if one is not None]


def _moment(value: Any, numbers: bool) -> Any:
    """The bound of a period, as a whole number or a date."""
    try:
        return int(value) if numbers else date.fromisoformat(str(value))
    except (TypeError, ValueError, OverflowError):
        form = "a whole number" if numbers else "a date such as 2026-01-31"
        raise InvalidParameter(f"a period of this column begins with {form}, got {shown(value)}.") from None
