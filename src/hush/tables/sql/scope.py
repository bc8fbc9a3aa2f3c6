"""FROM and WHERE: the table of a statement, the columns that can be named, and the rows that are kept.

A subquery or a CTE in FROM may rename, compute and filter rows. All its columns are expressions over the rows of the
table in the policy, and all its conditions are conditions on these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hush.errors import nearest
from hush.tables.policy import ColumnRule, TableRule
from hush.tables.policy.rules import is_private
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.cell import Cell
from hush.tables.sql.logic import condition, conjuncts
from hush.tables.sql.refusal import Refused, allow_only, refuse_clauses
from hush.tables.sql.row import Rows

__all__ = ["Scope", "declared", "matching", "scope_of"]


@dataclass(frozen=True)
class Scope:
    """The rows of one FROM clause: a table of the policy, its visible columns, and the conditions on its rows."""

    name: str  # of the table in the policy
    rule: TableRule
    table: Any  # the hush table
    columns: Mapping[str, Cell]
    units: tuple[str, ...]  # the visible names of the unit
    aliases: tuple[str, ...]
    dialect: str
    conditions: tuple[tuple[Any, str], ...] = ()
    #: columns that a condition restricts to constants of the statement, by their expression
    listed: tuple[tuple[Cell, tuple[Any, ...]], ...] = ()

    @property
    def rows(self) -> Rows:
        """The translation of expressions over these columns."""
        return Rows(self.cell, self.dialect)

    @property
    def unit(self) -> str:
        """The name of the unit to write in a statement."""
        return self.units[0] if self.units else str(self.table.unit)

    def is_unit(self, node: Any) -> bool:
        """Does the node name the unit?"""
        return type(node).__name__ == "Column" and matching(node.name, self.units, quoted=_quoted(node)) is not None

    def cell(self, node: Any) -> Cell:
        """The cell of a column that the statement names."""
        allow_only(node, "this", "table", what="a column")
        if type(node.this).__name__ != "Identifier":
            raise Refused("name a column", node)
        owner = node.args.get("table")
        if owner is not None and matching(owner.name, self.aliases, quoted=bool(owner.quoted)) is None:
            raise Refused(f"{owner.name!r} is not the table of this FROM", node, _unqualified(node))
        if self.is_unit(node):
            raise Refused(
                f"{node.name} identifies people, so it may only be counted: COUNT(DISTINCT {self.unit})", node
            )
        found = matching(node.name, self.columns, quoted=_quoted(node))
        if found is None:
            near = nearest(node.name, self.columns)
            hint = f"{near}?" if near else f"the columns are {', '.join(list(self.columns)[:20])}."
            raise Refused(f"there is no column {node.name!r} that may be asked; {hint}", node, _meant(near))
        return self.columns[found]

    def where(self, node: Any) -> Scope:
        """The rows for which the condition of a WHERE clause holds."""
        if node is None:
            return self
        kept, listed = list(self.conditions), list(self.listed)
        for part in conjuncts(node.this):
            kept.append((condition(part, self.rows), part.sql(dialect=self.dialect)))
            listed += self._listed(part)
        return replace(self, conditions=tuple(kept), listed=tuple(listed))

    def _listed(self, node: Any) -> list[tuple[Cell, tuple[Any, ...]]]:
        """The constants to which `x IN (...)` or `x = constant` restricts a column."""
        if type(node).__name__ == "In" and not node.args.get("negate"):
            parts = node.expressions
        elif type(node).__name__ == "EQ":
            parts = [node.expression]
        else:
            return []
        cell, values = self.rows.of(node.this), [self.rows.of(part) for part in parts]
        if cell.constant or not all(value.constant and value.values for value in values):
            return []
        plain = tuple(dict.fromkeys(value.value for value in values))
        return [(cell, plain)] if cell.family in ("text", "truth") or cell.whole else []

    def filtered(self) -> Any:
        """The hush table with the conditions as filters; its receipt quotes them as the statement has them."""
        if not self.conditions:
            return self.table
        kept = self.table.filter(*(column for column, _ in self.conditions))
        return replace(kept, filters=(*self.table.filters, *(text for _, text in self.conditions)))


def matching(name: str, known: Any, *, quoted: bool = False) -> str | None:
    """The known name that is meant: the same, or the same but for the case of ASCII letters. Letters of other alphabets
    that look alike are other letters.
    """
    names = list(known)
    if name in names:
        return str(name)
    if not name.isascii():
        return None
    close = [other for other in names if other.isascii() and other.lower() == name.lower()]
    return close[0] if len(close) == 1 else None


def _quoted(node: Any) -> bool:
    return bool(node.this.args.get("quoted"))


def _meant(near: str) -> Any:
    """The column that a hint names, as a node of a suggestion; None if there is no hint, or if it names two."""
    import sqlglot

    parts = near.split("'")
    return sqlglot.exp.column(parts[1]) if len(parts) == 3 else None


def _unqualified(node: Any) -> Any:
    copy = node.copy()
    copy.set("table", None)
    return copy


# -- FROM ----------------------------------------------------------------------------------------------------


def scope_of(select: Any, policy: Catalogue, dialect: str, ctes: Mapping[str, Any] | None = None) -> Scope:
    """The rows of a SELECT's FROM and WHERE."""
    from hush.tables.sql.joins import joined

    known = {**(ctes or {}), **_ctes(select, ctes or {})}
    source = select.args.get("from_")
    if source is None:
        raise Refused(f"the statement has no FROM; the tables are {', '.join(policy.people)}", select)
    found = _source(source.this, policy, dialect, known)
    for join in select.args.get("joins") or ():
        found = joined(found, join, policy)
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


def _source(node: Any, policy: Catalogue, dialect: str, ctes: Mapping[str, Any]) -> Scope:
    kind = type(node).__name__
    if kind == "Subquery":
        allow_only(node, "this", "alias", what="a subquery")
        found = _rowwise(node.this, policy, dialect, ctes)
        return replace(found, aliases=(node.alias,) if node.alias else ())
    if kind != "Table":
        raise Refused(f"FROM takes a table of the policy: {', '.join(policy.people)}", node, _first(policy))
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
            _first(policy),
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
        raise Refused(
            f"the policy has no table {node.name!r} that can be asked; its tables are {', '.join(policy.people)}",
            node,
            _first(policy),
        )
    rule, table = policy.rule(name), policy.open(name)
    units = tuple(table.whose.columns)
    hidden = {*units, table.unit}
    asked = [column for column in table.columns if column not in hidden and rule.may_ask(column)]
    columns = {column: declared(table[column], rule.column(column)) for column in asked}
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
    refuse_clauses(select, {"expressions", "from_", "where", "with_", "joins", "group"})
    found = scope_of(select, policy, dialect, ctes)
    if select.args.get("group") is not None:
        from hush.tables.sql.per_person import groups_people, per_person

        if not groups_people(select, found):
            raise Refused(f"a subquery may be grouped by the unit only: GROUP BY {found.unit}", select.args["group"])
        return per_person(select, found)
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
    return replace(found, columns=columns, units=tuple(units))


def _plain_table(node: Any, policy: Catalogue) -> Any:
    """The table of the policy with the name that stands after a schema, as a node of a suggestion."""
    found = matching(node.name, policy.people)
    if found is None:
        return _first(policy)
    made = node.copy()
    made.set("db", None)
    made.set("catalog", None)
    return made


def _first(policy: Catalogue) -> Any:
    """The first table of people, as a node of a suggestion."""
    import sqlglot

    return sqlglot.exp.to_table(policy.people[0], dialect="duckdb") if policy.people else None
