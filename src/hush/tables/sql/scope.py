"""The rows of a statement: a table, the columns that can be named, and the conditions on its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hush.errors import nearest, shown
from hush.tables.policy import TableRule
from hush.tables.sql.cell import Cell
from hush.tables.sql.logic import condition, conjuncts
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.row import Rows

__all__ = ["Scope", "matching"]


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
    #: windows over the rows of one person, by the text of the statement
    windows: Mapping[str, Cell] = field(default_factory=dict)
    #: after a join: the columns of each table by its alias, and the names that more than one table has
    qualified: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    #: after a join: the alias and the unit of another table of the same people, and whether each row has one
    also: tuple[tuple[str, str, bool], ...] = ()

    @property
    def rows(self) -> Rows:
        """The translation of expressions over these columns."""
        return Rows(self.cell, self.dialect, self.windows)

    @property
    def unit(self) -> str:
        """The name of the unit to write in a statement."""
        return self.units[0] if self.units else str(self.table.unit)

    def is_unit(self, node: Any) -> bool:
        """Does the node name the unit, of each row?"""
        if type(node).__name__ != "Column":
            return False
        owner, quoted = node.args.get("table"), _quoted(node)
        for alias, name, always in self.also:
            if owner is not None and matching(owner.name, [alias], quoted=bool(owner.quoted)) is not None:
                return always and matching(node.name, [name], quoted=quoted) is not None
        others = [name for _, name, always in self.also if always and owner is None]
        return matching(node.name, dict.fromkeys((*self.units, *others)), quoted=quoted) is not None

    def cell(self, node: Any) -> Cell:
        """The cell of a column that the statement names."""
        allow_only(node, "this", "table", what="a column")
        if type(node.this).__name__ != "Identifier":
            raise Refused("name a column", node)
        owner = node.args.get("table")
        if owner is not None and matching(owner.name, self.aliases, quoted=bool(owner.quoted)) is None:
            raise Refused(f"{shown(owner.name)} is not the table of this FROM", node, _unqualified(node, self.aliases))
        if self.is_unit(node):
            raise Refused(
                f"{node.name} identifies people, so it may only be counted: COUNT(DISTINCT {self.unit})", node
            )
        known = self.columns
        if owner is not None:
            alias = matching(owner.name, self.qualified, quoted=bool(owner.quoted))
            known = self.columns if alias is None else self.qualified[alias]
        elif matching(node.name, self.ambiguous, quoted=_quoted(node)) is not None:
            places = [alias for alias, names in self.qualified.items() if matching(node.name, names) is not None]
            hint = " or ".join(f"{alias}.{node.name}" for alias in places)
            raise Refused(f"several tables have a column {node.name}; write {hint}", node)
        found = matching(node.name, known, quoted=_quoted(node))
        if found is None:
            near = nearest(node.name, known)
            hint = f"{near}?" if near else f"the columns are {', '.join(list(known)[:20])}."
            if known is not self.columns and owner is not None:
                raise Refused(f"{shown(node.name)} is not a column of {owner.name} that may be asked; {hint}", node)
            raise Refused(f"there is no column {shown(node.name)} that may be asked; {hint}", node, _meant(near))
        return known[found]

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

    def over(self, table: Any) -> Scope:
        """The same columns over a table that was made from this one's filtered rows. No conditions are left."""
        return self._moved(table, lambda column: table.relation.bind(column)[0])

    def over_columns(self, table: Any) -> Scope:
        """The same columns over another table that has columns of the same names."""
        return self._moved(table, lambda column: table[column.get_name()])

    def _moved(self, table: Any, move: Callable[[Any], Any]) -> Scope:
        def moved(cell: Cell) -> Cell:
            return replace(cell, column=move(cell.column))

        return replace(
            self,
            table=table,
            columns={name: moved(cell) for name, cell in self.columns.items()},
            qualified={alias: {n: moved(c) for n, c in cells.items()} for alias, cells in self.qualified.items()},
            listed=tuple((moved(cell), values) for cell, values in self.listed),
            windows={text: moved(cell) for text, cell in self.windows.items()},
            conditions=(),
        )

    def alone(self) -> Scope:
        """The same rows for the outside of a subquery, which knows nothing of its joins and windows."""
        return replace(self, windows={}, qualified={}, ambiguous=frozenset(), also=())

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


def _unqualified(node: Any, aliases: tuple[str, ...]) -> Any:
    """The column without the name of its table, where only one table can be meant."""
    if len(aliases) != 1:
        return None
    copy = node.copy()
    copy.set("table", None)
    return copy
