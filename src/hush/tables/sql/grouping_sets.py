"""GROUP BY ROLLUP, CUBE and GROUPING SETS with COUNT(*): several contingency tables from one plan.

All counts of such a statement are answered together, with noise that is chosen for all of them, and they agree to the
last integer. A column that a row of the answer does not group by is null there, as in SQL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import shown
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.arrow import arrow, key_table
from hush.tables.asking import Answerable, Asking
from hush.tables.linear.table_plan import TableWorkload, TableWorkloadPlan
from hush.tables.policy.rules import is_private
from hush.tables.sql.aggregates import has_aggregate
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.from_clause import scope_of
from hush.tables.sql.keys import Key, grouped, keys_of
from hush.tables.sql.refusal import Refused, refuse_clauses

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["OfStatement", "SetsPlan", "SetsQuestion", "has_grouping_sets", "sets_question"]

#: The names of the nodes, and of the arguments of GROUP BY in which some versions of sqlglot keep them.
_KINDS = {"GroupingSets": "grouping_sets", "Cube": "cube", "Rollup": "rollup"}
_CLAUSES = {"expressions", "from_", "joins", "where", "group", "with_"}
_MOST_COLUMNS = 12


def has_grouping_sets(select: Any) -> bool:
    """Does GROUP BY name several lists of columns?"""
    group = select.args.get("group")
    if group is None:
        return False
    beside = any(group.args.get(kind) for kind in _KINDS.values())
    return beside or any(type(node).__name__ in _KINDS for node in group.expressions)


@dataclass(frozen=True)
class SetsQuestion:
    """The tables of a statement, and what its answer shows."""

    name: str  # of the table in the policy
    query: TableWorkload
    #: the columns of the answer: (name, column of the table); an empty column is the count
    shown: tuple[tuple[str, str], ...]
    sets: tuple[tuple[str, ...], ...]
    types: Mapping[str, str]
    notes: tuple[str, ...] = ()


def sets_question(select: Any, policy: Catalogue, dialect: str, options: Mapping[str, Any]) -> SetsQuestion:
    """The tables that the statement asks for. Nothing runs and nothing is spent."""
    refuse_clauses(select, _CLAUSES)
    if options.get("max_groups_contributed") or options.get("max_rows_contributed"):
        raise Refused("ROLLUP, CUBE and GROUPING SETS use the limits of the policy; leave the options out", select)
    sets = _sets(select)
    plain = select.copy()
    plain.set("group", _plain_group([node for nodes in sets for node in nodes]))
    scope = scope_of(plain, policy, dialect)
    keys = keys_of(plain, scope, has_aggregate)
    if len(keys) > _MOST_COLUMNS or not keys:
        raise Refused(f"ROLLUP, CUBE and GROUPING SETS are answered for 1 to {_MOST_COLUMNS} columns", select)
    table, names = grouped(scope.filtered(), keys, scope, 1)
    grouping = table.grouping
    if grouping.keys is None:
        raise Refused(
            "ROLLUP, CUBE and GROUPING SETS need a public list of values for every column; declare them in the policy",
            select,
        )
    values = {name: list(dict.fromkeys(key[i] for key in grouping.keys)) for i, name in enumerate(grouping.names)}
    asked = [tuple(dict.fromkeys(_column(node, keys, names, select) for node in nodes)) for nodes in sets]
    unique = tuple(dict.fromkeys(asked))
    rows = _most_rows(select, scope)
    asked_for = table.table.marginals(list(grouping.names), tables=list(unique), keys=values)
    query = replace(asked_for, rows_per_unit=rows)  # the policy allows so many in all groups together
    types = dict(zip(grouping.names, grouping.types, strict=True))
    return SetsQuestion(scope.name, query, _shown(select, keys, names), unique, types)


def _most_rows(select: Any, scope: Any) -> int:
    """How many rows of a person count in the whole table: as many as in GROUP BY, in all groups together."""
    if scope.table.whose.each_row:
        return 1
    rule = scope.rule
    for name, most in (("rows_per_unit", rule.rows_per_unit or 1), ("groups_per_unit", rule.groups_per_unit)):
        if most is None or is_private(most):
            raise Refused(f"ROLLUP, CUBE and GROUPING SETS need a number for {name} of the policy", select)
    return int((rule.rows_per_unit or 1) * rule.groups_per_unit)


def _plain_group(nodes: list[Any]) -> Any:
    import sqlglot

    return sqlglot.exp.Group(expressions=[node.copy() for node in nodes])


def _sets(select: Any) -> list[tuple[Any, ...]]:
    """The lists of columns: those of each kind, joined with every list of the others and with the plain columns."""
    group = select.args["group"]
    plain = [node for node in group.expressions if type(node).__name__ not in _KINDS]
    several = [node for node in group.expressions if type(node).__name__ in _KINDS]
    several += [node for kind in _KINDS.values() for node in group.args.get(kind) or []]
    choices: list[list[tuple[Any, ...]]] = []
    for node in several:
        listed = list(node.expressions)
        if not listed:  # GROUP BY a, b WITH ROLLUP
            listed, plain = plain, []
        choices.append(_lists(_KINDS[type(node).__name__], listed))
    choices.insert(0, [tuple(plain)])
    return [tuple(node for part in chosen for node in part) for chosen in product(*choices)]


def _lists(kind: str, nodes: list[Any]) -> list[tuple[Any, ...]]:
    parts = [_members(node) for node in nodes]
    if kind == "grouping_sets":
        return parts
    if kind == "rollup":
        return [tuple(n for part in parts[:size] for n in part) for size in range(len(parts), -1, -1)]
    if len(parts) > _MOST_COLUMNS:
        raise Refused(f"CUBE is answered for at most {_MOST_COLUMNS} columns")
    return [
        tuple(n for part in chosen for n in part)
        for size in range(len(parts), -1, -1)
        for chosen in combinations(parts, size)
    ]


def _members(node: Any) -> tuple[Any, ...]:
    """The columns of a list in parentheses, or the one column."""
    if type(node).__name__ == "Tuple":
        return tuple(node.expressions)
    if type(node).__name__ == "Paren":
        return (node.this,)
    return (node,)


def _column(node: Any, keys: tuple[Key, ...], names: Mapping[str, str], select: Any) -> str:
    """The table's column of a node of GROUP BY."""
    for key in keys:
        if node.sql() == key.text or node.name == key.name:
            return names[key.text]
    raise Refused(f"{node.sql()} is not a column that can be grouped by here", select)


def _shown(select: Any, keys: tuple[Key, ...], names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The columns of SELECT: grouped columns and COUNT(*)."""
    found = []
    for part in select.expressions:
        node = part.unalias()
        key = next((key for key in keys if node.sql() == key.text), None)
        if key is not None:
            found.append((part.alias or key.name, names[key.text]))
        elif type(node).__name__ == "Count" and type(node.this).__name__ == "Star":
            found.append((part.alias or "count", ""))
        else:
            raise Refused("ROLLUP, CUBE and GROUPING SETS are answered for their columns and COUNT(*)", part)
    if not any(column == "" for _, column in found):
        raise Refused("the statement has no aggregate, and rows of people are not shown; name COUNT(*)", select)
    if len({name.lower() for name, _ in found}) < len(found):
        raise Refused("two columns of the answer have the same name; give one another name", select)
    return tuple(found)


class OfStatement(Answerable):
    """The plan of a statement. The policy names the ledger, so it may be left out."""

    def answer(self, *, ledger: Ledger | None = None, **options: Any) -> Answer:
        """Run the query, spend the budget and answer. Without `ledger`, the policy's ledger is charged. `options` are
        those of the answer of a query's plan: label, level, together, progress, release and account.
        """
        return super().answer(ledger=ledger, **options)

    def write(self, path: str | os.PathLike[str], *, ledger: Ledger | None = None, **options: Any) -> Receipt:
        """The same, written to a Parquet file; returns the receipt."""
        return super().write(path, ledger=ledger, **options)


@dataclass(frozen=True)
class SetsPlan(OfStatement):
    """The plan of such a statement. Nothing is spent."""

    statement: Any
    plan: TableWorkloadPlan

    def answered(self, asked: Asking) -> Answer:
        if asked.together:
            raise Refused("intervals of ROLLUP, CUBE and GROUPING SETS hold for each count; leave together out")
        asked.must_be_one_release()
        question, parsed, level = self.statement.question, self.statement.parsed, asked.level
        label = asked.label or parsed.text[:200]

        def shown(released: Any) -> Answer:
            table = _table(question, released, level)
            about = {"statement": parsed.text, "dialect": parsed.dialect, "level": level, "groups": table.num_rows}
            counts = tuple(name for name, column in question.shown if not column)
            return Answer(table, released.receipt | about, table.select(list(counts)), counts)

        with self.statement.charged(asked.ledger) as ledger:
            found: Answer = self.plan.finished(ledger, label, asked.account, shown)
        return found

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words."""
        return f"statement: {' '.join(self.statement.parsed.text.split())}\n{shown(self.plan)}\nnothing was spent"

    def __repr__(self) -> str:
        return self.described()


def _table(question: SetsQuestion, released: Any, level: float) -> Any:
    """One row for each cell of each table; columns that a table lacks are null."""
    columns: dict[str, list[Any]] = {name: [] for name in question.types}
    counts, lows, highs = [], [], []
    for names in question.sets:
        low, high = released.interval(*names, level=level)
        cells = list(product(*(released.values[name] for name in names)))
        for name in columns:
            place = names.index(name) if name in names else None
            columns[name] += [None if place is None else cell[place] for cell in cells]
        counts.append(np.ravel(released.table(*names)))
        lows.append(np.ravel(low))
        highs.append(np.ravel(high))
    keys = key_table({name: (question.types[name], values) for name, values in columns.items()})
    found: dict[str, Any] = {}
    for name, column in question.shown:
        if column:
            found[name] = keys.column(column)
        else:
            ends = {f"{name}_low": np.concatenate(lows), f"{name}_high": np.concatenate(highs)}
            found |= {name: np.concatenate(counts), **ends}
    return arrow().table(found)
