"""A source with the key of its unit: the rows that a table starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hush.errors import InvalidParameter, shown
from hush.tables.engines.contract import Source
from hush.tables.root import Root
from hush.tables.unit import opened_unit

__all__ = ["changed", "with_columns", "with_unit"]


def with_unit(
    opened: Source, unit: Any, *, visible: Sequence[str] | None = None, population: str | None = None
) -> dict[str, Any]:
    """What the unit says about a table: its rows with their key, the column of the key, and who is protected.

    With `visible`, only these columns are kept. The key of a unit that is not among them is kept in a hidden column.
    """
    if population is not None and (not isinstance(population, str) or not 0 < len(population) <= 100):
        raise InvalidParameter(f"population must be a name of at most 100 characters, got {shown(population)}.")
    hide = visible is not None and isinstance(unit, str) and unit not in visible
    _, key, declared = opened_unit(opened.relation, unit, hide=hide, headed=opened.headed)

    def change(relation: Any) -> Any:
        found = opened_unit(relation, unit, hide=hide)[0]
        if visible is None:
            return found
        if declared.each_row and not visible:
            found = found.mutate(**{key: 0})  # a relation needs at least one column
        kept = [*visible, *({key} & set(found.columns) - set(visible))]
        return found if kept == list(found.columns) else found.select(*kept)

    source = changed(opened, change)
    return {
        "source": source,
        "relation": source.relation,
        "unit": key,
        "declared_unit": declared,
        "roots": (Root(source, key, population=population, whose=declared),),
        "one_row": declared.each_row,
    }


def with_columns(opened: Source, columns: Sequence[str]) -> Source:
    """A source with these columns only."""
    return changed(opened, lambda relation: relation.select(*columns))


def changed(opened: Source, change: Callable[[Any], Any]) -> Source:
    """A source with other columns, also where it is opened again on another connection."""
    again = opened.reopen
    reopen = None if again is None else (lambda backend: changed(again(backend), change))
    return replace(opened, relation=change(opened.relation), reopen=reopen)
