"""A row expression written as SQL, for `hush answer --where` and `--let`: text to an Ibis column of a table."""

from __future__ import annotations

from typing import Any

from hush.errors import InvalidParameter, nearest, shown
from hush.tables.sql.cell import Cell
from hush.tables.sql.logic import condition
from hush.tables.sql.parse import parsed
from hush.tables.sql.refusal import Refused, allow_only, refuse_clauses
from hush.tables.sql.row import Rows
from hush.tables.sql.scope import matching

__all__ = ["row_condition", "row_expression"]


def row_expression(text: str, table: Any, dialect: str = "duckdb") -> Any:
    """The column of an expression over the values of one row, such as DATE_TRUNC('month', day)."""
    return _rows(table, dialect).of(_node(text, dialect)).column


def row_condition(text: str, table: Any, dialect: str = "duckdb") -> Any:
    """The column of a condition on one row, such as ward IN ('surgery', 'burns') OR age < 18."""
    return condition(_node(text, dialect), _rows(table, dialect))


def _rows(table: Any, dialect: str) -> Rows:
    """The translation of expressions over the columns of a table."""

    untyped = {name: how for root in table.roots for name, how in root.source.untyped.items()}

    def cell(node: Any) -> Cell:
        allow_only(node, "this", what="a column")
        if type(node.this).__name__ != "Identifier":
            raise Refused("name a column", node)
        found = matching(node.name, table.columns)
        if found is None:
            hint = nearest(node.name, table.columns) or "print the table to see its columns"
            raise InvalidParameter(f"there is no column {shown(node.name)}; {hint}.")
        return Cell(table[found], reading=untyped.get(found))

    return Rows(cell, dialect)


def _node(text: str, dialect: str) -> Any:
    """The tree of exactly one expression. The text is never sent to an engine."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(f"an expression must be text such as age >= 18, got {shown(text)}.")
    tree = parsed(f"SELECT {text}\nFROM rows", dialect).tree
    if type(tree).__name__ != "Select":
        raise InvalidParameter(f"{shown(text)} is not one expression.")
    refuse_clauses(tree, {"expressions", "from", "from_", "kind"})
    source = tree.args.get("from") or tree.args.get("from_")
    if len(tree.expressions) != 1 or source is None or source.this.sql() != "rows":
        raise InvalidParameter(
            f"{shown(text)} is not one expression; write one, such as age >= 18 AND ward = 'surgery'."
        )
    return tree.expressions[0]
