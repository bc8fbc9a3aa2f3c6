"""GROUP BY: the columns of the groups, and their public keys where the policy or the statement lists them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hush.tables.expression import is_one_of
from hush.tables.sql.cell import Cell
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.scope import Scope, matching

__all__ = ["Key", "grouped", "keys_of"]

#: More listed groups than this are not built from the lists of several columns: groups are then found privately.
_MOST_GROUPS = 10_000


@dataclass(frozen=True)
class Key:
    """One expression of GROUP BY: its node, its column, and its name in the answer."""

    node: Any
    cell: Cell
    name: str

    @property
    def text(self) -> str:
        """The expression, to be found again in SELECT."""
        return str(self.node.sql())


def keys_of(select: Any, scope: Scope, has_aggregate: Any) -> tuple[Key, ...]:
    """The expressions of GROUP BY: columns, expressions, aliases and places of SELECT, or ALL."""
    group = select.args.get("group")
    if group is None:
        return ()
    allow_only(group, "expressions", "all", what="GROUP BY")
    shown = select.expressions
    if group.args.get("all"):
        nodes = [part for part in shown if not has_aggregate(part)]
    else:
        nodes = [_meant(node, shown, scope) for node in group.expressions]
    found: dict[str, Key] = {}
    for node in nodes:
        plain = node.unalias()
        _must_be_about_groups(plain, scope, node)
        key = Key(plain, scope.rows.of(plain), node.alias or _alias_of(plain, shown) or plain.alias_or_name)
        found.setdefault(key.text, key if key.name else Key(plain, key.cell, f"group_{len(found) + 1}"))
    return tuple(found.values())


def _must_be_about_groups(node: Any, scope: Scope, given: Any) -> None:
    for column in node.find_all(type(node)) if type(node).__name__ == "Column" else ():
        if scope.is_unit(column):
            raise Refused(f"an answer for each {scope.unit} cannot be private; group by another column", given)


def _meant(node: Any, shown: list[Any], scope: Scope) -> Any:
    """The expression that a place (GROUP BY 1) or an alias means."""
    if type(node).__name__ == "Literal" and not node.is_string and str(node.this).isdigit():
        place = int(node.this)
        if not 1 <= place <= len(shown):
            raise Refused(f"GROUP BY {place} names a place that SELECT does not have", node)
        return shown[place - 1]
    if type(node).__name__ == "Column" and not node.args.get("table") and matching(node.name, scope.columns) is None:
        for part in shown:
            if part.alias and matching(node.name, [part.alias]) is not None:
                return part
    return node


def _alias_of(node: Any, shown: list[Any]) -> str:
    """The alias under which SELECT shows the expression."""
    return next((part.alias for part in shown if part.alias and part.unalias().sql() == node.sql()), "")


def grouped(table: Any, keys: tuple[Key, ...], scope: Scope, groups: int) -> tuple[Any, dict[str, str]]:
    """The grouped hush table, and the name of each key's column in it."""
    names: dict[str, str] = {}
    computed: dict[str, Any] = {}
    known = {column.casefold() for column in table.columns}
    for key in keys:
        if key.name in table.columns and key.cell.column.equals(scope.table[key.name]):
            names[key.text] = key.name
            continue
        name, i = key.name, 2
        while name.casefold() in known:
            name, i = f"{key.name}_{i}", i + 1
        known.add(name.casefold())
        names[key.text], computed[name] = name, key.cell.column
    if computed:
        table = table.mutate(**computed)
    lists = {names[key.text]: _values(key.cell, scope) for key in keys}
    public: Mapping[str, Any] = {name: list(values) for name, values in lists.items() if values is not None}
    if len(public) == len(keys) and math.prod(map(len, public.values())) <= _MOST_GROUPS:
        return table.group_by(*names.values(), keys=public, groups_per_unit=groups), names
    for name, values in public.items():
        if None not in values:
            table = table.filter(is_one_of(table[name], values))
    return table.group_by(*names.values(), keys="private", groups_per_unit=groups), names


def _values(cell: Cell, scope: Scope) -> tuple[Any, ...] | None:
    """The public list of a key: of the policy, of the expression, or of a condition such as x IN ('a', 'b')."""
    if cell.found:
        return None
    values = cell.values
    for other, listed in scope.listed:
        if other.column.equals(cell.column):
            known = values
            values = tuple(value for value in listed if known is None or value in known) or values
    return values
