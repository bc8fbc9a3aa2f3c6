"""FROM: the tables, subqueries and CTEs of a statement as rows.

A subquery or a CTE in FROM may rename, compute and filter rows, and may have windows over the rows of one person. All
its columns are expressions over the rows of a table of the policy, and all its conditions are conditions on these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hush.errors import nearest, shown
from hush.tables.policy import ColumnRule
from hush.tables.policy.rules import is_private
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.cell import Cell
from hush.tables.sql.per_person import groups_people, per_person
from hush.tables.sql.refusal import Refused, allow_only, refuse_clauses
from hush.tables.sql.rewrites import refuse_having, refuse_row_tests
from hush.tables.sql.scope import Scope, matching
from hush.tables.sql.windows import with_windows

__all__ = ["declared", "scope_of", "source_of"]


def scope_of(select: Any, policy: Catalogue, dialect: str, ctes: Mapping[str, Any] | None = None) -> Scope:
    """The rows of a SELECT's FROM and WHERE."""
    from hush.tables.sql.joins import joined

    known = {**(ctes or {}), **_ctes(select, ctes or {})}
    source = select.args.get("from_")
    if source is None:
        raise Refused(f"the statement has no FROM; the tables are {', '.join(policy.people)}", select)
    found = source_of(source.this, policy, dialect, known)
    for join in select.args.get("joins") or ():
        found = joined(found, join, policy, known)
    refuse_row_tests(select, found)
    return found.where(select.args.get("where"))


def _ctes(select: Any, outer: Mapping[str, Any]) -> dict[str, Any]:
    """The named subqueries of WITH, each with those before it."""
    clause = select.args.get("with_")
    if clause is None:
        return {}
    allow_only(clause, "expressions", what="WITH")
    found: dict[str, Any] = {}
    for cte in clause.expressions:
        allow_only(cte, "this", "alias", what="WITH")
        if cte.args["alias"].args.get("columns"):
            raise Refused("WITH name(columns) is not translated; name the columns inside", cte.args["alias"])
        found[cte.alias] = (cte.this, {**outer, **found})
    return found


def source_of(node: Any, policy: Catalogue, dialect: str, ctes: Mapping[str, Any]) -> Scope:
    """The rows of a table, a subquery or a CTE in FROM or JOIN."""
    kind = type(node).__name__
    if kind == "Subquery":
        allow_only(node, "this", "alias", what="a subquery")
        found = _rowwise(node.this, policy, dialect, ctes)
        return replace(found, aliases=(node.alias,) if node.alias else ())
    if kind != "Table":
        raise Refused(f"FROM takes a table of the policy: {', '.join(policy.people)}", node)
    if node.args.get("db") is not None and type(node.this).__name__ == "Identifier":
        raise Refused(
            f"{node.sql()} names a schema; the policy's tables have none: {', '.join(policy.people)}",
            node,
            _plain_table(node, policy),
        )
    allow_only(node, "this", "alias", what="a table")
    if type(node.this).__name__ != "Identifier":
        raise Refused(
            f"{node.this.sql()} reads outside the policy; its tables are {', '.join(policy.people)}",
            node,
        )
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise Refused("an alias with a list of columns is not translated", alias)
    inner = matching(node.name, ctes)
    if inner is not None:
        select, before = ctes[inner]
        found = _rowwise(select, policy, dialect, before)
        return replace(found, aliases=(node.alias or inner,))
    return _opened(node, policy, dialect)


def _opened(node: Any, policy: Catalogue, dialect: str) -> Scope:
    """A table of the policy."""
    name = matching(node.name, policy.tables, quoted=bool(node.this.quoted))
    if name is None or policy.rule(name).public:
        near, known = nearest(node.name, policy.people), f"its tables are {', '.join(policy.people)}"
        raise Refused(
            f"the policy has no table {shown(node.name)} that can be asked; {f'{near}?' if near else known}",
            node,
            _renamed(node, near),
        )
    rule, table = policy.rule(name), policy.open(name)
    units = tuple(table.whose.columns)
    hidden = {*units, table.unit}
    asked = [column for column in table.columns if column not in hidden and rule.may_ask(column)]
    untyped = {name: how for root in table.roots for name, how in root.source.untyped.items()}
    columns = {
        column: replace(declared(table[column], rule.column(column)), reading=untyped.get(column)) for column in asked
    }
    return Scope(name, rule, table, columns, units, (node.alias or name,), dialect)


def declared(column: Any, rule: ColumnRule) -> Cell:
    """A column with what the policy declares about it."""
    values = rule.values if isinstance(rule.values, tuple) else None
    if values is None and column.type().is_boolean():
        values = (False, True)
    found = is_private(rule.values)
    if rule.private_bounds:
        return Cell(column, values=values, private=True, found=found)
    return Cell(column, rule.low, rule.high, values, found=found)


def _rowwise(select: Any, policy: Catalogue, dialect: str, ctes: Mapping[str, Any]) -> Scope:
    """A subquery that renames, computes and filters rows."""
    import sqlglot

    if not isinstance(select, sqlglot.exp.Select):
        raise Refused("a subquery in FROM must be a SELECT over rows", select)
    refuse_clauses(select, {"expressions", "from_", "where", "with_", "joins", "group", "qualify", "having"})
    refuse_having(select)
    found = scope_of(select, policy, dialect, ctes)
    kept = select.args.get("qualify")
    if select.args.get("group") is not None:
        if kept is not None:
            raise Refused("QUALIFY with GROUP BY is not answered", kept)
        if not groups_people(select, found):
            raise Refused(f"a subquery may be grouped by the unit only: GROUP BY {found.unit}", select.args["group"])
        return per_person(select, found)
    found = with_windows(found, [*select.expressions, *([kept] if kept is not None else [])]).where(kept)
    columns: dict[str, Cell] = {}
    units: list[str] = []
    for part in select.expressions:
        if type(part).__name__ == "Star":
            allow_only(part, what="*")
            columns |= found.columns
            units += found.units
            continue
        if found.is_unit(part.unalias()):
            units.append(part.alias_or_name)
            continue
        if not part.alias_or_name:
            raise Refused("a computed column of a subquery needs a name; write AS name", part)
        columns[part.alias_or_name] = found.rows.of(part.unalias())
    shown = tuple(dict.fromkeys(units))
    shown = shown if len(shown) >= len(found.units) else ()  # a part of the unit identifies nobody
    return replace(found.alone(), columns=columns, units=shown)


def _renamed(node: Any, near: str) -> Any:
    """The table that a hint names; None if there is no hint, or if it names two."""
    import sqlglot

    parts, made = near.split("'"), node.copy()
    made.set("this", sqlglot.to_identifier(parts[1]) if len(parts) == 3 else None)
    return made if len(parts) == 3 else None


def _plain_table(node: Any, policy: Catalogue) -> Any:
    """The table of the policy with the name that stands after a schema, as a node of a suggestion."""
    found = matching(node.name, policy.people)
    if found is None:
        return None
    made = node.copy()
    made.set("db", None)
    made.set("catalog", None)
    return made
