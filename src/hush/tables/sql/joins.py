"""JOIN with a public table of the policy, on any key: each row still belongs to one person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.logic import conjuncts
from hush.tables.sql.refusal import Refused
from hush.tables.sql.scope import Scope, declared, matching

__all__ = ["joined"]


def joined(found: Scope, join: Any, policy: Catalogue) -> Scope:
    """The rows of the left table, each with the columns of the public rows that match it."""
    how = _how(join)
    node = join.this
    public = [name for name, rule in policy.tables.items() if rule.public]
    name = matching(node.name, public) if type(node).__name__ == "Table" and not node.args.get("db") else None
    if name is None:
        raise Refused("only a public table of the policy is joined, on a key; ask each table of people by itself", join)
    if found.conditions or not all(_is_column(found, column) for column in found.columns):
        raise Refused("JOIN takes a table of the policy on its left, not a subquery", join)
    other, rule = policy.lookup(name), policy.rule(name)
    pairs = _pairs(join, found, tuple(other.columns), node.alias or name)
    made = found.table.join(other, on=pairs, how=how)
    columns = {column: replace(cell, column=made[column]) for column, cell in found.columns.items()}
    new = [column for column in other.columns if column not in found.table.columns and column in made.columns]
    columns |= {column: declared(made[column], rule.column(column)) for column in new}
    alias = node.alias or name
    # without a partner in a left join, the key of the public table is null; in an inner join both keys are equal
    keys = [right for left, right in pairs.items() if left == right and how == "inner"]
    owned = {known: frozenset(found.columns) for known in found.aliases} | dict(found.owned)
    owned[alias] = frozenset([*new, *keys])
    return replace(found, table=made, columns=columns, aliases=(*found.aliases, alias), owned=owned)


def _is_column(found: Scope, name: str) -> bool:
    """Is it the column of the table with the same name, and not one that a subquery computed under this name?"""
    return name in found.table.columns and bool(found.columns[name].column.equals(found.table[name]))


def _how(join: Any) -> str:
    """inner or left; other joins and conditions are refused."""
    for part, value in join.args.items():
        if value and part not in ("this", "on", "using", "side", "kind"):
            raise Refused(f"JOIN with {part.upper()} is not answered", join)
    side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if (
        side not in ("", "LEFT")
        or kind not in ("", "INNER", "OUTER")
        or not (join.args.get("on") or join.args.get("using"))
    ):
        raise Refused("JOIN is answered as INNER JOIN or LEFT JOIN with ON a = b or USING (a)", join)
    return "left" if side else "inner"


def _pairs(join: Any, found: Scope, others: tuple[str, ...], alias: str) -> dict[str, str]:
    """The columns that must be equal: those of the left table, and those of the public one."""
    using = join.args.get("using") or ()
    parts = [(part, part) for part in using]
    for part in conjuncts(join.args["on"]) if join.args.get("on") is not None else ():
        if type(part).__name__ != "EQ":
            raise Refused("JOIN compares columns with =", join)
        parts.append((part.this, part.expression))
    pairs: dict[str, str] = {}
    for a, b in parts:
        if not using and _table(a) == alias.lower():
            a, b = b, a
        named = using or (type(a).__name__ == type(b).__name__ == "Column" and _table(b) in ("", alias.lower()))
        known = using or not _table(a) or matching(_table(a), found.aliases) is not None
        left, right = matching(a.name, found.columns), matching(b.name, others)
        if not named or not known or left is None or right is None:
            raise Refused(f"JOIN needs a column of {found.name} and one of {alias} that may be asked", join)
        if pairs.setdefault(left, right) != right:
            raise Refused(f"JOIN compares {left} with two columns of {alias}; compare it with one of them", join)
    return pairs


def _table(node: Any) -> str:
    """The table before the name of a column, in small letters; empty if there is none."""
    return str((node.args.get("table") and node.table) or "").lower()
