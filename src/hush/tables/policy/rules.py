"""The facts that a curator declares about tables: `ColumnRule` and `TableRule`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

__all__ = ["PRIVATE", "ROW", "Bound", "ColumnRule", "TableRule", "Via", "is_private"]

#: Bounds or keys that are found with a part of the budget.
PRIVATE: Literal["private"] = "private"
#: The unit of a table whose every row is a person of its own.
ROW: Literal["row"] = "row"

#: One end of the values of a column: a number, a date, "private" (found with a part of the budget) or None (not
#: declared).
Bound = float | int | date | str | None


def is_private(value: Any) -> bool:
    """Is it the word "private"? (A comparison of a column or an array with a word is no truth value.)"""
    return isinstance(value, str) and value == PRIVATE


@dataclass(frozen=True)
class ColumnRule:
    """What the curator declares about one column: one line of `[tables.NAME.columns]`."""

    #: the bounds of the values; both are numbers or dates, both "private", or both None
    low: Bound = None
    high: Bound = None
    #: the public list of values to group by, "private" (groups are found with a part of the budget) or None
    values: tuple[Any, ...] | Literal["private"] | None = None
    #: the type of a column of a CSV or JSON file, a word of `hush.tables.reading.TYPES`; None: what its bounds or its
    #: values are, else text
    type: str | None = None
    #: False: the column is hidden, as if it were not listed
    ask: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.values, list):
            object.__setattr__(self, "values", tuple(self.values))

    @property
    def as_text(self) -> str | None:
        """What a text of this column is read as: the declared type, that of its bounds, or that of its values; None
        where nothing says it.
        """
        if self.type is not None:
            return self.type
        listed = self.values if isinstance(self.values, tuple) else ()
        known = self.low if self.low is not None else next(iter(listed), None)
        if self.low is not None and not isinstance(known, date):
            return "number"
        words = ((bool, "boolean"), (int, "whole"), (date, "date"), (str, "text"))
        return next((word for kind, word in words if isinstance(known, kind)), None)

    @property
    def private_bounds(self) -> bool:
        """Are the bounds found with a part of the budget?"""
        return is_private(self.low)

    @property
    def has_bounds(self) -> bool:
        """Are low and high declared, or "private"?"""
        return self.low is not None


@dataclass(frozen=True)
class Via:
    """The way from a row to its person: `column` of the row equals `key` of another table of the policy, which has the
    person. `{ table = "orders", column = "order_id" }`; `key` is the same as `column` where it is left out.
    """

    table: str
    column: str | tuple[str, ...]
    key: str | tuple[str, ...] | None = None

    @property
    def on(self) -> dict[str, str]:
        """The columns of the rows, and the equal columns of the other table."""
        columns, keys = ((part,) if isinstance(part, str) else tuple(part) for part in (self.column, self.keys))
        return dict(zip(columns, keys, strict=True))

    @property
    def keys(self) -> str | tuple[str, ...]:
        """The column or columns of the other table."""
        return self.column if self.key is None else self.key


@dataclass(frozen=True)
class TableRule:
    """What the curator declares about one table: `[tables.NAME]`."""

    #: a file, a glob, a database URL; in Python also an Ibis table or a frame
    source: Any
    #: the table inside a database
    name: str | None = None
    #: the column or columns that identify the person of a row, or "row": every row is a person of its own; None for a
    #: public table, and where `via` leads to the person
    unit: str | tuple[str, ...] | None = None
    #: the most groups in which one person counts; "private": a part of the budget of each question chooses it
    groups_per_unit: int | Literal["private"] | None = None
    #: the most rows of one person in one group, in the same way
    rows_per_unit: int | Literal["private"] | None = None
    #: what is declared about each column; None: every column may be asked, and nothing is declared about it
    columns: Mapping[str, ColumnRule] | None = None
    #: the ledger that every question is charged to
    ledger: str | None = None
    #: the most that one question may spend
    max_epsilon: float | None = None
    max_delta: float | None = None
    #: a public table, for joins: it has no unit, and its rows are no secret
    public: bool = False
    #: the engine that reads the source; None: DuckDB, or the database of a URL
    engine: str | None = None
    #: how a CSV file is read, in place of the defaults: delimiter, quote, encoding, decimal, dates, names
    csv: Mapping[str, Any] | None = None
    #: the name of the people; tables of one population share one ledger and can be joined
    population: str | None = None
    #: instead of a unit: the table that has the person, and the key that leads to it
    via: Via | None = None

    def __post_init__(self) -> None:
        if isinstance(self.unit, list):
            object.__setattr__(self, "unit", tuple(self.unit))

    @property
    def owners(self) -> tuple[str, ...]:
        """The columns of this table that lead to the person of a row."""
        if self.via is not None:
            return tuple(self.via.on)
        unit = (self.unit,) if isinstance(self.unit, str) else self.unit or ()
        return () if self.unit == ROW else unit

    def keys_of(self, other: TableRule, tables: Mapping[str, TableRule]) -> tuple[str, ...]:
        """The columns of another table by which rows of this one find their person."""
        parent = tables.get(self.via.table) if self.via is not None else None
        return tuple(self.via.on.values()) if self.via and parent and parent.source is other.source else ()

    def may_ask(self, column: str) -> bool:
        """May an analyst use this column?"""
        return self.columns is None or (column in self.columns and self.columns[column].ask)

    def column(self, name: str) -> ColumnRule:
        """What is declared about a column; nothing, where there is no line for it."""
        return (self.columns or {}).get(name, ColumnRule())
