"""Row expressions: a node of the statement's tree becomes an Ibis column. Only the nodes on the list are translated.

Each handler is total: whatever value a row has, the engine gives a value or null, never an error. An error on one
row would show, without a charge, that there is such a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hush.errors import Unsupported
from hush.tables.length import Lengths
from hush.tables.sql.cell import Cell
from hush.tables.sql.refusal import Refused

__all__ = ["Rows", "handler"]

#: The handler of each kind of node, by the name of its class in sqlglot; for other functions, by their name.
_HANDLERS: dict[str, Callable[[Any, Rows], Cell]] = {}
_RANDOM = ("Rand", "Randn", "Uuid", "CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "CurrentUser")
_RANDOM_NAMES = ("now", "today", "random", "setseed", "gen_random_uuid", "nextval", "get_current_time")


def handler(*names: str) -> Callable[[Callable[[Any, Rows], Cell]], Callable[[Any, Rows], Cell]]:
    """Register the handler of these nodes."""

    def register(function: Callable[[Any, Rows], Cell]) -> Callable[[Any, Rows], Cell]:
        for name in names:
            _HANDLERS[name] = function
        return function

    return register


@dataclass(frozen=True)
class Rows:
    """The translation of row expressions over the columns of one FROM clause."""

    #: the cell of a column's node; refuses columns that may not be asked
    column: Callable[[Any], Cell]
    dialect: str = "duckdb"
    #: windows over the rows of one person, which are columns already, by their text
    windows: Mapping[str, Cell] = field(default_factory=dict)
    #: how long and how large the columns are that were translated
    lengths: Lengths = field(default_factory=Lengths, compare=False)

    def of(self, node: Any) -> Cell:
        """The cell of an expression."""
        name = type(node).__name__
        if name == "Column":
            return self.column(node)
        if name == "Window" and (text := node.sql()) in self.windows:
            return self.windows[text]
        if name == "Anonymous":
            name = str(node.this).lower()
        found = _HANDLERS.get(name)
        if found is None:
            raise Refused(_why_not(name, node, self.dialect), node)
        cell = found(node, self)
        try:
            self.lengths.check(cell.column.op())
        except Unsupported as failure:
            raise Refused(str(failure)) from failure
        return cell


def _why_not(name: str, node: Any, dialect: str) -> str:
    """Why a node is refused, in one sentence."""
    text = node.sql()
    if name in _RANDOM or name.lower() in _RANDOM_NAMES:
        return f"{text} changes between runs, so it is not a fact about a row; write a constant"
    if name in ("Subquery", "Select", "Exists", "Any", "All"):
        return "a subquery inside an expression uses other rows; join the table, or write the values"
    if name == "Window":
        return (
            "a window function is not answered here: SQL computes it after WHERE; name it in a subquery, such as "
            "SELECT *, COUNT(*) OVER (PARTITION BY patient_id) AS n"
        )
    if name in ("Placeholder", "Parameter", "SessionParameter"):
        return f"{text} is a parameter; write the value itself"
    if name == "Star":
        return "* is not an expression; name a column"
    import sqlglot

    if isinstance(node, sqlglot.exp.AggFunc):
        return f"{text} is an aggregate, which uses several rows; it may stand in SELECT, HAVING or ORDER BY only"
    if isinstance(node, sqlglot.exp.Func):
        typed = node.sql(dialect=dialect).partition("(")[0]
        word = typed if typed.isidentifier() else name.upper()
        return f"the function {word} is not on the list of functions that hush translates"
    return f"{text} is not an expression that hush translates"
