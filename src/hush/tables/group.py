"""The columns to group by, and the groups of the answer: a public list of keys, or keys found privately.

A public list fixes the groups of the answer. Rows of other groups are dropped before a person's groups are counted,
groups without rows are answered as zeros, and the order is that of the list. With keys="private" the groups come from
the data, each with its number of people, so that small groups can be withheld.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hush.errors import InvalidParameter, places_of_equals, shown, type_and_size, whole
from hush.tables.arrow import key_table
from hush.tables.bins import checked_value
from hush.tables.expression import compared, ibis, must_have

__all__ = ["Grouping", "grouped", "ungrouped"]

HINT = "write group_by('ward', keys=['A', 'B'], groups_per_unit=2), or keys='private'"
#: The value that replaces a null key in the engine, beside a column that marks it as null: engines compare nulls
#: differently.
STAND_IN = {"int64": 0, "string": "", "bool": False, "date32": datetime.date(1970, 1, 1)}


@dataclass(frozen=True)
class Grouping:
    """Column names and their Arrow types, the public keys (None: private), and the most groups of one person."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...] | None
    groups: int
    #: is it proved that a person has at most one row, and so at most one group?
    one_row: bool = False
    #: True: the limit is still to be chosen privately; `groups` is the largest that may be chosen
    open_limit: bool = False
    #: True: no limit was stated, which is enough for `top` only; `groups` is the number of listed groups
    no_limit: bool = False

    @property
    def must_rank(self) -> bool:
        """Can a person be in more groups than the limit? This depends on public facts only."""
        return not self.one_row and (self.keys is None or len(self.keys) > self.groups)

    def of_one_row(self) -> Grouping:
        """The same groups of a table in which a person has at most one row."""
        return replace(self, groups=1, one_row=True, open_limit=False, no_limit=False)

    def limited(self, groups: int) -> Grouping:
        """The same groups with a limit that was chosen."""
        return replace(self, groups=groups, open_limit=False, no_limit=False)

    def without_limit(self) -> Grouping:
        """The same groups where no limit was stated."""
        return replace(self, no_limit=True)

    def with_open_limit(self) -> Grouping:
        """The same groups with a limit to be chosen, at most the present one. Of one group nothing can be chosen."""
        return replace(self, open_limit=self.groups > 1)

    def columns(self) -> dict[str, Any]:
        """The public keys as Arrow columns, in the order of the list."""
        assert self.keys is not None
        table = key_table(
            {
                name: (kind, [key[i] for key in self.keys])
                for i, (name, kind) in enumerate(zip(self.names, self.types, strict=True))
            }
        )
        return dict(zip(table.column_names, table.columns, strict=True))

    def place(self, rows: Any) -> Any:
        """The rows of listed groups, with the place of their key as `g0` instead of the columns k0, k1, ...

        Keys are distinct, so a row has at most one of them. Even if an engine found two keys equal, the bound would
        hold, because a person's groups are counted after this step.
        """
        listed, conditions = self._listed(rows, [f"k{i}" for i in range(len(self.types))])
        joined = rows.join(listed, conditions)
        kept = [name for name in rows.columns if not name.startswith("k")]
        return joined.select(*kept, g0=joined["place"])

    def others(self, rows: Any) -> Any:
        """The rows of all other groups than those of the list; `rows` has the columns of the grouping."""
        listed, conditions = self._listed(rows, self.names)
        return rows.anti_join(listed, conditions)

    def _listed(self, rows: Any, names: Sequence[str]) -> tuple[Any, list[Any]]:
        """The list as a table, and the conditions under which a row belongs to one of its keys."""
        assert self.keys is not None
        columns: dict[str, tuple[str, list[Any]]] = {"place": ("int64", list(range(len(self.keys))))}
        conditions = []
        for i, kind in enumerate(self.types):
            values, column = [key[i] for key in self.keys], rows[names[i]]
            if None in values:
                columns[f"null{i}"] = ("bool", [value is None for value in values])
                conditions.append((f"null{i}", column.isnull()))
                column = ibis().coalesce(column, ibis().literal(STAND_IN[kind], type=column.type()))
            columns[f"key{i}"] = (kind, [STAND_IN[kind] if value is None else value for value in values])
            conditions.append((f"key{i}", column))
        listed = ibis().memtable(key_table(columns))
        return listed, [compared(column) == compared(listed[name]) for name, column in conditions]


def ungrouped() -> Grouping:
    """No grouping: one public group with all rows."""
    return Grouping((), (), ((),), 1)


def grouped(relation: Any, unit: str | None, names: tuple[str, ...], keys: Any, groups_per_unit: Any) -> Grouping:
    """A grouping checked against its table. `unit` is the column that identifies a person; None: each row does."""
    if not names:
        raise InvalidParameter(f"group_by needs at least one column; {HINT}, or leave group_by out for one group.")
    for name in names:
        must_have(relation.columns, name, "group_by")
        if name == unit:
            raise InvalidParameter(
                f"group_by names the unit column {shown(name)}, but an answer for each person cannot be private; "
                "group by another column."
            )
    if len(set(names)) < len(names):
        raise InvalidParameter(f"group_by names a column twice, at {places_of_equals(names)}.")
    types = tuple(key_type(name, relation[name].type()) for name in names)
    groups = whole("groups_per_unit", groups_per_unit, 1, HINT)
    if unit is None and groups > 1:
        raise InvalidParameter(
            f"groups_per_unit is 1 where each row is a person, because a row is in one group; got {groups}."
        )
    if isinstance(keys, str):
        if keys != "private":
            raise InvalidParameter(f"keys must be a list of keys or 'private', got {shown(keys)}; {HINT}.")
        return Grouping(names, types, None, groups)
    listed = checked_keys(listed_keys(names, keys), [relation[name].type() for name in names], names)
    return Grouping(names, types, listed, min(groups, len(listed)))


def key_type(name: str, kind: Any) -> str:
    """The Arrow type of a key column. Other types are refused."""
    for fits, word in (
        (kind.is_integer(), "int64"),
        (kind.is_string(), "string"),
        (kind.is_boolean(), "bool"),
        (kind.is_date(), "date32"),
    ):
        if fits and not kind.is_uint64():
            return word
    instead = (
        "compute its .date(), .year() or .hour()" if kind.is_timestamp() else "cast it to int64 or text, or bin it"
    )
    raise InvalidParameter(
        f"group_by needs whole numbers, text, dates or truth values, but the column {shown(name)} is of type {kind}; "
        f"first {instead}, with mutate()."
    )


def listed_keys(names: tuple[str, ...], keys: Any) -> list[tuple[Any, ...]]:
    """The keys as tuples: from a list of values, a list of tuples, or a mapping of each column to its values (all
    combinations).
    """
    if isinstance(keys, Mapping):
        if set(keys) != set(names):
            wanted = ", ".join(map(shown, names))
            raise InvalidParameter(f"keys must give values for exactly the grouping columns, {wanted}.")
        return list(product(*(list(keys[name]) for name in names)))
    if isinstance(keys, bytes) or not isinstance(keys, Iterable):
        raise InvalidParameter(f"keys must be a list of keys or 'private', got {shown(keys)}; {HINT}.")
    listed = list(keys)
    if len(names) == 1:
        return [key if isinstance(key, tuple) else (key,) for key in listed]
    for key in listed:
        if not isinstance(key, tuple | list) or len(key) != len(names):
            raise InvalidParameter(
                f"each of keys must be a tuple of {len(names)} values, one per grouping column, "
                f"got {type_and_size(key)}."
            )
    return [tuple(key) for key in listed]


def checked_keys(keys: list[tuple[Any, ...]], kinds: list[Any], names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """The keys, checked to be distinct and of the columns' types; None is null."""
    if not keys:
        raise InvalidParameter(f"keys is empty, but an answer needs at least one group; {HINT}.")
    result: dict[tuple[Any, ...], None] = {}
    for key in keys:
        if len(key) != len(names):
            raise InvalidParameter(
                f"each of keys must have {len(names)} values, one per grouping column, got {type_and_size(key)}."
            )
        values = zip(key, kinds, names, strict=True)
        plain = tuple(
            None if value is None else checked_value(f"a key of {shown(name)}", value, kind)
            for value, kind, name in values
        )
        if plain in result:
            raise InvalidParameter(
                f"keys lists a group twice, at {places_of_equals(keys)}; each group must be listed once."
            )
        result[plain] = None
    return tuple(result)
