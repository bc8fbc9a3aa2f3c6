"""What a question says about columns of text files whose type nobody declared: bounds of numbers mean a number, bounds
of dates a date, and listed keys what they are.

The type follows from the question alone, and so it is public. `hush.tables.reading` says what each text means.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from hush.errors import InvalidParameter, shown
from hush.tables.policy.rules import is_private
from hush.tables.reading import as_type

__all__ = ["of_classes", "of_ends", "of_keys", "of_measures", "with_types"]


def with_types(table: Any, wanted: Mapping[str, str]) -> Any:
    """The table with these types of its columns of text, where nobody declared another type."""
    untyped = {name: how for root in table.roots for name, how in root.source.untyped.items()}
    made = {
        name: as_type(table.relation[name], word, untyped[name])
        for name, word in wanted.items()
        if word != "text" and name in untyped and name in table.columns and table.relation[name].type().is_string()
    }
    return table.derived(lambda: table.relation.mutate(**made), "types") if made else table


def of_measures(aggregates: Mapping[str, Any], grouped: Iterable[str] = ()) -> dict[str, str]:
    """The types of the columns of aggregates. One column has one type in a question."""
    found: dict[str, str] = {}
    text = set(grouped)
    for measure in aggregates.values():
        column = getattr(measure, "column", None)
        word = _of_measure(measure) if isinstance(column, str) else None
        if word is None or not isinstance(column, str):
            continue
        if {word, found.get(column)} == {"date", "time"}:
            found[column] = word = "time"  # bounds of times may be dates
        if found.setdefault(column, word) != word or (column in text and word != "text"):
            raise InvalidParameter(
                f"the question uses the column {shown(column)} as values of two types; declare its type when the "
                f"file is opened, such as types={{{shown(column)}: 'whole'}}."
            )
    return found


def _of_measure(measure: Any) -> str | None:
    """The type of the values of an aggregate; None if it says nothing."""
    for part in ("edges", "categories"):
        if listed := getattr(measure, part, None):
            return of_ends(listed) if part == "edges" else _of_listed(listed)
    if not hasattr(measure, "low"):
        return None
    return of_ends([measure.low, measure.high])


def of_ends(ends: Iterable[Any]) -> str | None:
    """The type of values between these bounds or edges: dates or numbers. Private bounds are those of numbers."""
    known = [end for end in ends if end is not None]
    if any(isinstance(end, datetime.datetime) for end in known):
        return "time"
    if any(isinstance(end, datetime.date) for end in known):
        return "date"
    return "number" if known and all(is_private(end) or not isinstance(end, str) for end in known) else None


def of_keys(names: tuple[str, ...], keys: Any) -> dict[str, str]:
    """The types of the columns of a grouping, by their listed keys; text where groups are found privately."""
    from hush.tables.group import listed_keys

    if keys is None or isinstance(keys, str):
        return {}
    if isinstance(keys, Mapping):
        return {name: _of_listed(keys[name]) for name in names if name in keys}
    listed = listed_keys(names, keys)
    return {name: _of_listed([key[i] for key in listed if len(key) > i]) for i, name in enumerate(names)}


def of_classes(classes: Any) -> str:
    """The type of the target of a fit, by its classes; a number without classes."""
    return "number" if classes is None else _of_listed(classes)


def _of_listed(values: Iterable[Any]) -> str:
    """The type of listed values: truth values, whole numbers, dates or text."""
    known = [value.item() if hasattr(value, "item") else value for value in values if value is not None]
    words = ((bool, "boolean"), (int, "whole"), (float, "number"), (datetime.date, "date"))
    return next((word for kind, word in words if known and all(isinstance(v, kind) for v in known)), "text")
