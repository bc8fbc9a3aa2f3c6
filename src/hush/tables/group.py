"""What to group by, and which groups to answer for: a public list of keys, or keys found privately.

A public list fixes the groups of the answer: rows of other groups are dropped before a unit's groups are counted,
groups without rows come back as zeros, and the order is the order listed. With keys="private" the groups come from
the data, each with its number of units, so that the release can withhold small ones.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from hush.errors import InvalidParameter, whole
from hush.tables.arrow import key_table
from hush.tables.bins import checked_value
from hush.tables.expression import compared, ibis, must_have

__all__ = ["Grouping", "grouped", "ungrouped"]

HINT = "write group_by('ward', keys=['A', 'B'], groups_per_unit=2), or keys='private'"
#: What stands in for a null key in the engine, beside a column that says it is null: engines compare nulls in
#: different ways.
STAND_IN = {"int64": 0, "string": "", "bool": False, "date32": datetime.date(1970, 1, 1)}


@dataclass(frozen=True)
class Grouping:
    """Column names and their Arrow types, the public keys (None: private), and the most groups one unit may be in."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...] | None
    groups: int

    @property
    def must_rank(self) -> bool:
        """Can a unit be in more groups than it may? Decided from public knowledge."""
        return self.keys is None or len(self.keys) > self.groups

    def columns(self) -> dict[str, Any]:
        """The public keys as Arrow columns, in the order listed."""
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

        Keys are distinct, so a row meets at most one of them; and if an engine should find two of them equal, the
        bound still holds, because a unit's groups are counted after this.
        """
        assert self.keys is not None
        columns: dict[str, tuple[str, list[Any]]] = {"place": ("int64", list(range(len(self.keys))))}
        conditions = []
        for i, kind in enumerate(self.types):
            values, column = [key[i] for key in self.keys], rows[f"k{i}"]
            if None in values:
                columns[f"null{i}"] = ("bool", [value is None for value in values])
                conditions.append((f"null{i}", column.isnull()))
                column = ibis().coalesce(column, ibis().literal(STAND_IN[kind], type=column.type()))
            columns[f"key{i}"] = (kind, [STAND_IN[kind] if value is None else value for value in values])
            conditions.append((f"key{i}", column))
        listed = ibis().memtable(key_table(columns))
        joined = rows.join(listed, [compared(column) == compared(listed[name]) for name, column in conditions])
        kept = [name for name in rows.columns if not name.startswith("k")]
        return joined.select(*kept, g0=joined["place"])


def ungrouped() -> Grouping:
    """No grouping: one group, public, that every unit is in."""
    return Grouping((), (), ((),), 1)


def grouped(relation: Any, unit: str, names: tuple[str, ...], keys: Any, groups_per_unit: Any) -> Grouping:
    """A grouping checked against its table."""
    if not names:
        raise InvalidParameter(f"group_by needs at least one column; {HINT}, or leave group_by out for one group.")
    for name in names:
        must_have(relation.columns, name, "group_by")
        if name == unit:
            raise InvalidParameter(
                f"group_by names the unit column {name!r}; an answer per unit is an answer about one person, and cannot be private."
            )
    if len(set(names)) < len(names):
        raise InvalidParameter(f"group_by names a column twice: {', '.join(map(repr, names))}.")
    types = tuple(key_type(name, relation[name].type()) for name in names)
    groups = whole("groups_per_unit", groups_per_unit, 1, HINT)
    if isinstance(keys, str):
        if keys != "private":
            raise InvalidParameter(f"keys must be a list of keys or 'private', got {keys!r}; {HINT}.")
        return Grouping(names, types, None, groups)
    listed = checked_keys(listed_keys(names, keys), [relation[name].type() for name in names], names)
    return Grouping(names, types, listed, min(groups, len(listed)))


def key_type(name: str, kind: Any) -> str:
    """The Arrow type of a key column, else one sentence."""
    for fits, word in (
        (kind.is_integer(), "int64"),
        (kind.is_string(), "string"),
        (kind.is_boolean(), "bool"),
        (kind.is_date(), "date32"),
    ):
        if fits and not kind.is_uint64():
            return word
    instead = "its .date(), .year() or .hour()" if kind.is_timestamp() else "a cast to int64 or string, or a bin"
    raise InvalidParameter(
        f"group_by needs whole numbers, text, dates or truth values, but the column {name!r} is of type {kind}; "
        f"make {instead} by mutate() first."
    )


def listed_keys(names: tuple[str, ...], keys: Any) -> list[tuple[Any, ...]]:
    """The keys as tuples: from a list of values, a list of tuples, or a mapping of each column to its values (all
    combinations).
    """
    if isinstance(keys, Mapping):
        if set(keys) != set(names):
            wanted, got = ", ".join(map(repr, names)), ", ".join(map(repr, keys))
            raise InvalidParameter(f"keys must give values for exactly the columns grouped by, {wanted}, got {got}.")
        return list(product(*(list(keys[name]) for name in names)))
    if isinstance(keys, bytes) or not isinstance(keys, Iterable):
        raise InvalidParameter(f"keys must be a list of keys or 'private', got {keys!r}; {HINT}.")
    listed = list(keys)
    if len(names) == 1:
        return [key if isinstance(key, tuple) else (key,) for key in listed]
    for key in listed:
        if not isinstance(key, tuple | list) or len(key) != len(names):
            raise InvalidParameter(
                f"each of keys must be a tuple of {len(names)} values, one per column grouped by, got {key!r}."
            )
    return [tuple(key) for key in listed]


def checked_keys(keys: list[tuple[Any, ...]], kinds: list[Any], names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    """Distinct keys of the columns' types; None stands for null."""
    if not keys:
        raise InvalidParameter(f"keys is empty, so there is nothing to answer; {HINT}.")
    result: dict[tuple[Any, ...], None] = {}
    for key in keys:
        if len(key) != len(names):
            raise InvalidParameter(
                f"each of keys must have {len(names)} values, one per column grouped by, got {key!r}."
            )
        values = zip(key, kinds, names, strict=True)
        plain = tuple(
            None if value is None else checked_value(f"a key of {name!r}", value, kind) for value, kind, name in values
        )
        if plain in result:
            shown = plain[0] if len(plain) == 1 else plain
            raise InvalidParameter(f"keys lists {shown!r} twice; each group must be listed once.")
        result[plain] = None
    return tuple(result)
