"""Whose row is it? The proof that each row of a derived table belongs to one person.

The bound of `hush.tables.bound` needs one fact about the table that is aggregated:

    (*)  the rows that carry the unit u are a function of the source rows of u and of public tables.

Then a person who is added or removed changes only the rows that carry this person's unit. `must_be_owned` proves (*)
over the Ibis tree, from the sources upwards. Each node gets an `Owner`: the columns that hold the unit of the row.

- A source with a unit: its rows carry their own unit.
- A public table has no owner: it is the same in both neighbouring data sets.
- Project: each new column is a function of one row, or a window whose partition contains a column that holds the unit.
  All rows of such a partition carry the same unit, so the window is a function of rows of one person. At least one
  column that holds the unit must remain.
- Filter: the condition is a function of one row.
- Aggregate: the groups contain a column that holds the unit, so the rows of a group carry the same unit.
- Join with a public table: the result rows of u are pairs of a row of u and a public row. A left join adds rows of u
  without a partner.
- Join with another owned table: the conditions contain the equality of two columns that hold the unit, so both rows of
  a pair belong to the same person. A left join keeps the unit of the left side only: the other one may be null.

By induction (*) holds for the root of the tree. Everything that is not in this list is rejected. Rows with a null unit
belong to nobody: they are never equal to another row's unit in a join, they form their own partition in a window, and
they are dropped before the aggregates.

Two units are equal if the engine finds them equal. Text is compared by its bytes (`expression.by_bytes`): under a
collation such as NOCASE a partition could hold the rows of two people.

Neighbouring data sets. D' is D without the rows of one person u in all tables. A row of a table with a unit column is
a row of u if it carries u. A row of a linked table, such as a line of an order (`hush.tables.linking`), is a row of u
if its key occurs in a row of u of the table that it is linked to: who leaves takes along the orders and their lines.

`hush.tables.linking` proves that a linked table is a source of (*), whatever its keys are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hush.errors import Unsupported, shown
from hush.tables.expression import inside, must_be_rowwise, operations
from hush.tables.root import Root

__all__ = ["Owner", "must_be_owned"]

ALSO = ", or a window that is grouped by the unit"


@dataclass(frozen=True)
class Owner:
    """The columns that hold the unit of each row, and whether a unit has at most one row."""

    columns: frozenset[str]
    one_row: bool = False


def must_be_owned(relation: Any, roots: Iterable[Root], unit: str, role: str) -> Owner:
    """The owner of a relation's rows, of which `unit` holds the unit. A relation for which the proof fails is
    rejected.
    """
    found = _Proof({root.node: root for root in roots}, role).of(relation.op())
    if isinstance(found, Root):
        raise Unsupported(f"{role} has rows of no person; start from a table with a unit.")
    if unit not in found.columns:
        raise lost(role, unit)
    return found


def lost(role: str, unit: str) -> Unsupported:
    """The error for rows that no longer say whose they are."""
    return Unsupported(
        f"{role} loses the unit column {shown(unit)}: each row must say which person it belongs to, because "
        "hush bounds the contribution of each person separately."
    )


def unit_behind(node: Any) -> Any:
    """The column behind a comparison by bytes, which changes no value."""
    ops = operations()
    while type(node).__name__ == "TextByBytes" or (
        isinstance(node, ops.Cast) and node.to.is_string() and node.arg.dtype.is_string()
    ):
        node = node.arg
    return node


@dataclass(frozen=True)
class _Proof:
    """The proof over one tree."""

    roots: dict[Any, Root]
    role: str

    def of(self, node: Any) -> Owner | Root:
        """The owner of a relation's rows, or the source of rows without one."""
        if node in self.roots:
            root = self.roots[node]
            return root if root.unit is None else Owner(frozenset({root.unit}))
        rules = {
            "Project": self._project,
            "Filter": self._filter,
            "Aggregate": self._aggregate,
            "JoinChain": self._joined,
            "JoinReference": lambda reference: self.of(reference.parent),
        }
        name = type(node).__name__
        if name not in rules:
            raise Unsupported(
                f"{self.role} uses {name}, for which hush cannot prove that each row belongs to one person; save it as "
                "a table first, then its rows are the data."
            )
        return rules[name](node)

    def _owner(self, node: Any) -> Owner:
        found = self.of(node)
        if isinstance(found, Root):
            raise Unsupported(f"{self.role} changes the table {found.label}, which has no unit; join it as it is.")
        return found

    def _kept(self, owner: Owner, values: Any, parent: Any) -> frozenset[str]:
        """The new columns that hold the unit."""
        ops = operations()
        behind = {name: unit_behind(value) for name, value in values.items()}
        kept = {
            name
            for name, value in behind.items()
            if isinstance(value, ops.Field) and value.rel == parent and value.name in owner.columns
        }
        if not kept:
            raise lost(self.role, min(owner.columns))
        return frozenset(kept)

    def _project(self, node: Any) -> Owner:
        owner = self._owner(node.parent)
        for value in node.values.values():
            self._check(value, owner, node.parent)
        return Owner(self._kept(owner, node.values, node.parent), owner.one_row)

    def _filter(self, node: Any) -> Owner:
        for predicate in node.predicates:
            must_be_rowwise(inside(predicate), self.role)
        return self._owner(node.parent)

    def _aggregate(self, node: Any) -> Owner:
        owner, ops = self._owner(node.parent), operations()
        kept = self._kept(owner, node.groups, node.parent)
        for value in node.groups.values():
            must_be_rowwise(inside(value), self.role)
        for value in node.metrics.values():
            self._rowwise_but(value, ops.Reduction, node.parent)
        return Owner(kept, one_row=len(kept) == len(node.groups))

    def _check(self, value: Any, owner: Owner, parent: Any) -> None:
        """A column is a function of one row and of windows within the rows of one person."""
        ops = operations()
        for window in [node for node in inside(value) if isinstance(node, ops.WindowFunction)]:
            columns = [unit_behind(part) for part in window.group_by]
            if not any(isinstance(c, ops.Field) and c.rel == parent and c.name in owner.columns for c in columns):
                raise Unsupported(
                    f"{self.role} uses {type(window.func).__name__} over rows of several people, which uses several "
                    f"rows; an expression may only use the values of one row{ALSO}: write "
                    f".over(group_by={shown(min(owner.columns))}), because hush bounds the contribution of each person "
                    "separately."
                )
            self._rowwise_but(window.func, ops.Reduction | ops.Analytic, parent, within=True)
            for part in (*window.group_by, *window.order_by):
                must_be_rowwise(inside(part), self.role)
        must_be_rowwise(self._outside(value, ops.WindowFunction), self.role, but=ALSO)

    def _rowwise_but(self, value: Any, kinds: Any, parent: Any, *, within: bool = False) -> None:
        """Row by row, but for operations of these kinds over this relation, which are not nested."""
        for node in [node for node in inside(value) if isinstance(node, kinds)]:
            over = [child for child in node.__children__ if isinstance(child, operations().Relation)]
            if any(relation != parent for relation in over):
                raise Unsupported(f"{self.role} uses {type(node).__name__} of another table.")
            for child in node.__children__:
                if child not in over:
                    must_be_rowwise(inside(child), self.role)
        if not within:
            must_be_rowwise(self._outside(value, kinds), self.role)

    def _outside(self, value: Any, kinds: Any) -> list[Any]:
        """The nodes of a column that are not inside an operation of these kinds."""
        ops, found, waiting = operations(), dict[Any, None](), [value]
        while waiting:
            node = waiting.pop()
            if node not in found and not isinstance(node, kinds):
                found[node] = None
                waiting += [child for child in node.__children__ if not isinstance(child, ops.Relation)]
        return list(found)

    def _joined(self, node: Any) -> Owner:
        """A chain of joins: the first table has a unit, and each link keeps it."""
        owners = {node.first: self._owner(node.first)}
        one_row = owners[node.first].one_row
        for link in node.rest:
            other = self.of(link.table)
            if link.how not in ("inner", "left"):
                raise Unsupported(f"{self.role} uses a join of the kind {shown(link.how)}; use 'inner' or 'left'.")
            for predicate in link.predicates:
                must_be_rowwise(inside(predicate), self.role)
            if isinstance(other, Root):
                one_row = False
                continue
            if not any(self._same_unit(predicate, owners, link.table, other) for predicate in link.predicates):
                raise Unsupported(
                    f"{self.role} joins rows of different people: both tables have a unit, so the join must be on the "
                    f"unit, {shown(min(owners[node.first].columns))} and {shown(min(other.columns))}."
                )
            one_row = one_row and other.one_row
            if link.how == "inner":
                owners[link.table] = other
        ops = operations()
        kept = {
            name
            for name, value in node.values.items()
            if isinstance(value, ops.Field) and value.rel in owners and value.name in owners[value.rel].columns
        }
        for value in node.values.values():
            must_be_rowwise(inside(value), self.role)
        if not kept:
            raise lost(self.role, min(owners[node.first].columns))
        return Owner(frozenset(kept), one_row)

    def _same_unit(self, predicate: Any, owners: dict[Any, Owner], table: Any, other: Owner) -> bool:
        """Does the condition say that the units of both rows are equal?"""
        if (pair := _equal_columns(predicate)) is None:
            return False
        left, right = pair
        known = left.rel in owners and left.name in owners[left.rel].columns
        return known and right.rel == table and right.name in other.columns


def _equal_columns(predicate: Any) -> tuple[Any, Any] | None:
    """The two columns of which a condition says that they are equal."""
    ops = operations()
    if not isinstance(predicate, ops.Equals):
        return None
    left, right = unit_behind(predicate.left), unit_behind(predicate.right)
    return (left, right) if isinstance(left, ops.Field) and isinstance(right, ops.Field) else None
