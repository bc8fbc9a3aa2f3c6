"""Aggregates of a statement as hush's aggregates, with bounds from the policy or from the expression."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hush.tables import quantiles
from hush.tables.expression import ibis
from hush.tables.measure import Measure
from hush.tables.quantise import shown_as
from hush.tables.sql.cell import Cell, as_number
from hush.tables.sql.levels import levels_of
from hush.tables.sql.logic import condition
from hush.tables.sql.makers import MAKERS, Asked
from hush.tables.sql.number import Number, number_of, released
from hush.tables.sql.private_clause import BOUNDED
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.scope import Scope

__all__ = ["Measures", "has_aggregate", "is_aggregate", "named"]

_NAMES = {"Count": "count", "CountIf": "count_if", "Avg": "avg", "ApproxDistinct": "count"}
#: Aggregates that only wrap another one.
_WRAPPED = ("Filter", "WithinGroup", "Bracket")


@dataclass
class Measures:
    """The aggregates of a statement, each measured once, however often it is written."""

    scope: Scope
    rows_per_unit: Any
    made: dict[str, Measure] = field(default_factory=dict)
    #: names of the answer's columns that are taken, such as those of the groups
    taken: set[str] = field(default_factory=set)
    numbers: dict[str, tuple[Number, ...]] = field(default_factory=dict)

    def of(self, node: Any, name: str = "") -> Number | None:
        """The number of an aggregate's node; None if the node is no aggregate."""
        if not is_aggregate(node):
            return None
        found = self.several(node, name)
        if len(found) > 1:
            raise Refused(f"{node.sql()} gives a list; it must stand alone in SELECT, or take one level", node)
        return found[0]

    def several(self, node: Any, name: str = "") -> tuple[Number, ...]:
        """The numbers of an aggregate's node: one, or one for each level of a list of quantiles."""
        text = node.sql()
        if text not in self.numbers:
            wished = name or named(node)
            self.numbers[text] = self._translated(node, Asked(), wished)
        return self.numbers[text]

    def add(self, measure: Measure, name: str) -> str:
        """Add an aggregate under a name that is not taken; the same aggregate is not added twice."""
        for known, other in self.made.items():
            if _same(other, measure):
                return known
        free, i = name, 2
        while free.lower() in {word.lower() for word in (*self.made, *self.taken)}:
            free, i = f"{name}_{i}", i + 1
        self.made[free] = measure
        return free

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _translated(self, node: Any, asked: Asked, name: str) -> tuple[Number, ...]:
        kind = type(node).__name__
        if kind == "Paren":
            return self._translated(node.this, asked, name)
        if kind == "Filter":
            allow_only(node, "this", "expression")
            keep = condition(node.expression.this, self.scope.rows)
            return self._translated(node.this, replace(asked, keep=keep), name)
        if kind == "Anonymous":
            return self._bounded(node, asked, name)
        make = MAKERS.get(kind)
        if make is not None:
            return (make(self, node, asked, name),)
        column, levels, single = levels_of(node)
        return self._quantiles(node, column, levels, asked, name, single)

    def _bounded(self, node: Any, asked: Asked, name: str) -> tuple[Number, ...]:
        """An aggregate with bounds of the statement."""
        inner, low, high = node.expressions
        ends = number_of(low), number_of(high)
        if not ends[0] <= ends[1]:
            raise Refused(f"the lower bound {ends[0]:g} is above the upper bound {ends[1]:g}", node)
        if BOUNDED[str(node.this).lower()] == "row" or type(inner).__name__ not in ("Sum", "Count"):
            return self._translated(inner, replace(asked, row=ends), name)
        return self._translated(inner, replace(asked, total=ends), name)

    def value(self, node: Any, asked: Asked) -> Cell:
        """The values of an aggregate, only of the rows that its FILTER keeps."""
        cell = self.scope.rows.of(node)
        if asked.keep is not None:
            kept = ibis().cases((asked.keep, cell.column), else_=ibis().null(cell.column.type()))
            cell = replace(cell, column=kept, constant=False)
        if asked.row is not None:
            low, high = asked.row
            ends = (
                (low if cell.low is None else max(low, cell.low)),
                (high if cell.high is None else min(high, cell.high)),
            )
            cell = replace(cell, low=ends[0], high=ends[1], private=False)
        return cell

    def number(self, node: Any, asked: Asked, *, also: tuple[str, ...] = ()) -> tuple[Cell, Any, Any]:
        """A column of numbers, or of the kinds `also`, with its bounds."""
        cell = self.value(node, asked)
        if cell.family not in also:
            cell = as_number(cell, node)
        if cell.private and not cell.bounded:
            return cell, "private", "private"
        if not cell.bounded:
            text = node.sql(dialect=self.scope.dialect)
            raise Refused(
                f"{text} has no bounds; declare low and high of the column in the policy, or write your own limits: "
                f"CLAMP({text}, low, high) with two numbers",
                node,
            )
        low, high = cell.low, cell.high
        return (cell, low, high) if low != high else (cell, min(low, 0), max(high, 0) or 1)

    def rows(self, node: Any) -> Any:
        """How many rows of a person count in a group; "private" if that is to be chosen."""
        if self.scope.table.whose.each_row:
            return 1
        if self.rows_per_unit is None:
            raise Refused(
                f"{node.sql()} uses rows, and the policy does not state how many rows of one person count in a group; "
                f"declare rows_per_unit of {self.scope.name}",
                node,
            )
        return self.rows_per_unit

    def _quantiles(
        self, node: Any, column: Any, levels: list[float], asked: Asked, name: str, single: bool
    ) -> tuple[Number, ...]:
        ends = any(level in (0.0, 1.0) for level in levels)
        cell, low, high = self.number(column, asked, also=("date",) if ends else ("date", "time"))
        rows, kind = self.rows(node), shown_as(cell.column.type())
        if single:
            measure = quantiles.quantile(cell.column, levels[0], low=low, high=high, rows_per_unit=rows)
            return (released(self.add(measure, name), shown_as=kind),)
        found: dict[float, Number] = {}
        inner, outer = [q for q in levels if 0.0 < q < 1.0], [q for q in levels if q in (0.0, 1.0)]
        for part, stem in (inner, name), (outer, f"{name}_ends" if inner else name):
            if part:
                measure = quantiles.quantile(cell.column, part, low=low, high=high, rows_per_unit=rows)
                made = self.add(measure, stem)
                labels = {q: "" if stem == name else f"{name}_{quantiles.level_name(q)}" for q in part}
                numbers = {q: released(f"{made}_{quantiles.level_name(q)}", shown_as=kind) for q in part}
                found |= {q: replace(number, label=labels[q]) for q, number in numbers.items()}
        return tuple(found[q] for q in levels)


def is_aggregate(node: Any) -> bool:
    """Is the node an aggregate, or one with its FILTER, its bounds or its place in a list?"""
    import sqlglot

    kind = type(node).__name__
    if kind in _WRAPPED:
        return is_aggregate(node.this)
    if kind == "Anonymous":
        return str(node.this).lower() in BOUNDED and len(node.expressions) == 3
    return isinstance(node, sqlglot.exp.AggFunc)


def has_aggregate(node: Any) -> bool:
    """Is there an aggregate in the node, outside of windows?"""
    inner = node.walk(prune=lambda part: type(part).__name__ == "Window")
    return any(is_aggregate(part) for part in inner)


def named(node: Any) -> str:
    """A name for the answer of an aggregate that the statement does not name: avg_stay_days."""
    import sqlglot

    inner = node.find(sqlglot.exp.AggFunc) or node
    word = _NAMES.get(type(inner).__name__, inner.key)
    column = inner.find(sqlglot.exp.Column)
    return f"{word}_{column.name}" if column is not None else word


def _same(a: Measure, b: Measure) -> bool:
    """Are two aggregates the same? Ibis columns compare by `equals`."""
    if type(a) is not type(b):
        return False
    mine, yours = dict(vars(a)), dict(vars(b))
    first, second = mine.pop("column", None), yours.pop("column", None)
    same_column = first is second or (first is not None and second is not None and bool(first.equals(second)))
    return same_column and mine == yours
