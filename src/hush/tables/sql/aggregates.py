"""Aggregates of a statement as hush's aggregates, with bounds from the policy or from the expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hush.tables import counts, means, quantiles, sums, variances
from hush.tables.expression import ibis
from hush.tables.measure import Measure
from hush.tables.sql.cell import Cell, as_number
from hush.tables.sql.counted import CountValues
from hush.tables.sql.interval import sample_factor, times
from hush.tables.sql.levels import levels_of
from hush.tables.sql.logic import condition
from hush.tables.sql.number import Number, combined, mapped, number_of, released
from hush.tables.sql.private_clause import BOUNDED
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.scope import Scope

__all__ = ["Asked", "Measures", "is_aggregate"]

_NAMES = {"Count": "count", "CountIf": "count_if", "Avg": "avg", "ApproxDistinct": "count"}
#: Aggregates that only wrap another one.
_WRAPPED = ("Filter", "WithinGroup", "Bracket")


@dataclass(frozen=True)
class Asked:
    """What belongs to one aggregate: its filter, and bounds that the statement gives (of a row, or of a total)."""

    keep: Any = None
    row: tuple[float, float] | None = None
    total: tuple[float, float] | None = None


@dataclass
class Measures:
    """The aggregates of a statement, each measured once, however often it is written."""

    scope: Scope
    rows_per_unit: int | None
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
            wished = name or _named(node)
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
        make = _MAKERS.get(kind)
        if make is not None:
            return (make(self, node, asked, name),)
        column, levels, single = levels_of(node)
        return self._quantiles(node, column, levels, asked, name, single)

    def _bounded(self, node: Any, asked: Asked, name: str) -> tuple[Number, ...]:
        """An aggregate with bounds of the statement."""
        inner, low, high = node.expressions
        ends = number_of(low), number_of(high)
        if not ends[0] <= ends[1]:
            raise Refused(f"the lower bound {ends[0]:g} is above the upper bound {ends[1]:g}", node, inner)
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

    def number(self, node: Any, asked: Asked, *, dates: bool = False) -> tuple[Cell, Any, Any]:
        """A column of numbers with its bounds."""
        cell = self.value(node, asked)
        if not (dates and cell.family == "date"):
            cell = as_number(cell, node)
        if cell.private and not cell.bounded:
            return cell, "private", "private"
        if not cell.bounded:
            text = node.sql(dialect=self.scope.dialect)
            raise Refused(
                f"{text} has no bounds; declare low and high of the column in the policy, or write your own limits: "
                f"CLAMP({text}, 0, 100)",
                node,
                _clamped(node),
            )
        low, high = cell.low, cell.high
        return (cell, low, high) if low != high else (cell, min(low, 0), max(high, 0) or 1)

    def rows(self, node: Any) -> int:
        """How many rows of a person count in a group."""
        if self.scope.table.whose.each_row:
            return 1
        if self.rows_per_unit is None:
            raise Refused(
                f"{node.sql()} is about rows, and the policy does not say how many rows of a person count; declare "
                f"rows_per_unit of {self.scope.name}",
                node,
                _people(self.scope),
            )
        return self.rows_per_unit

    def _quantiles(
        self, node: Any, column: Any, levels: list[float], asked: Asked, name: str, single: bool
    ) -> tuple[Number, ...]:
        cell, low, high = self.number(column, asked, dates=True)
        rows, dated = self.rows(node), cell.family == "date"
        if single:
            measure = quantiles.quantile(cell.column, levels[0], low=low, high=high, rows_per_unit=rows)
            return (released(self.add(measure, name), date=dated),)
        made = self.add(quantiles.quantile(cell.column, levels, low=low, high=high, rows_per_unit=rows), name)
        return tuple(released(f"{made}_{quantiles.level_name(level)}", date=dated) for level in levels)


def is_aggregate(node: Any) -> bool:
    """Is the node an aggregate, or one with its FILTER, its bounds or its place in a list?"""
    import sqlglot

    kind = type(node).__name__
    if kind in _WRAPPED:
        return is_aggregate(node.this)
    if kind == "Anonymous":
        return str(node.this).lower() in BOUNDED and len(node.expressions) == 3
    return isinstance(node, sqlglot.exp.AggFunc)


def _named(node: Any) -> str:
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


def _clamped(node: Any) -> Any:
    import sqlglot

    return sqlglot.exp.Anonymous(this="CLAMP", expressions=[node.copy(), *map(sqlglot.exp.Literal.number, (0, 100))])


def _people(scope: Scope) -> Any:
    """COUNT(DISTINCT unit), as a node of a suggestion."""
    import sqlglot

    return sqlglot.exp.Count(this=sqlglot.exp.Distinct(expressions=[sqlglot.exp.column(scope.unit)]))


# -- aggregates by their name --------------------------------------------------------------------------------


def _count(measures: Measures, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this", "big_int", "expressions", "approximate")
    scope, inside = measures.scope, node.this
    if type(inside).__name__ == "Distinct":
        return _distinct(measures, node, asked, name, inside.expressions)
    most = measures.rows(node)
    if asked.total is not None:
        most = min(most, max(1, int(asked.total[1])))
    unit = inside is not None and scope.is_unit(inside)
    if unit or type(inside).__name__ in ("Star", "Literal"):
        measure: Measure = counts.count(rows_per_unit=most)
        if asked.keep is not None:
            measure = CountValues(ibis().cases((asked.keep, ibis().literal(1)), else_=ibis().null("int8")), most)
    else:
        cell = measures.value(inside, asked)
        if cell.bounded and cell.family == "number" and cell.low < cell.high:
            measure = CountValues(as_number(cell).column, most, cell.low, cell.high)
        else:
            measure = CountValues(cell.column, most)
    return released(measures.add(measure, name), counts=True)


def _distinct(measures: Measures, node: Any, asked: Asked, name: str, parts: list[Any]) -> Number:
    scope = measures.scope
    if {part.name.lower() for part in parts if scope.is_unit(part)} != {unit.lower() for unit in scope.units}:
        raise Refused(
            f"{node.sql()} counts values, and one person can add a new value that nobody else has; count people with "
            f"COUNT(DISTINCT {scope.unit}), or group by the column",
            node,
            _people(scope),
        )
    if asked.keep is None:
        return released(measures.add(counts.count_units(), name), counts=True)
    kept = ibis().cases((asked.keep, ibis().literal(1)), else_=ibis().null("int8"))
    return released(measures.add(CountValues(kept, 1), name), counts=True)


def _approximate_distinct(measures: Measures, node: Any, asked: Asked, name: str) -> Number:
    return _distinct(measures, node, asked, name, [node.this])


def _count_if(measures: Measures, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this")
    holds = condition(node.this, measures.scope.rows)
    keep = holds if asked.keep is None else asked.keep & holds
    kept = ibis().cases((keep, ibis().literal(1)), else_=ibis().null("int8"))
    return released(measures.add(CountValues(kept, measures.rows(node)), name), counts=True)


def _no_distinct(node: Any) -> None:
    if type(node.this).__name__ == "Distinct":
        plain = node.copy()
        plain.set("this", node.this.expressions[0].copy())
        raise Refused(f"{node.sql()} compares the values of different people; leave DISTINCT out", node, plain)


def _sum(measures: Measures, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this")
    _no_distinct(node)
    if asked.total is not None:
        cell = as_number(measures.value(node.this, asked), node)
        low, high = _tightened(measures, cell, asked.total, node)
        return released(measures.add(sums.sum(cell.column, low=low, high=high), name))
    cell, low, high = measures.number(node.this, asked)
    return released(measures.add(sums.sum(cell.column, low=low, high=high, rows_per_unit=measures.rows(node)), name))


def _tightened(measures: Measures, cell: Cell, total: tuple[float, float], node: Any) -> tuple[float, float]:
    """Bounds of a person's total: those of the statement, which may not be wider than the policy's."""
    rows = measures.rows_per_unit
    if not cell.bounded or rows is None:
        return total
    low, high = min(0.0, rows * float(cell.low)), max(0.0, rows * float(cell.high))
    if total[0] < low or total[1] > high:
        raise Refused(
            f"the policy allows a person's total from {low:g} to {high:g}, and the statement asks for {total[0]:g} to "
            f"{total[1]:g}; bounds of a statement may only be tighter",
            node.parent,
            node,
        )
    return total


def _mean(measures: Measures, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this")
    _no_distinct(node)
    cell, low, high = measures.number(node.this, asked, dates=True)
    made = means.mean(cell.column, low=low, high=high, rows_per_unit=measures.rows(node))
    return released(measures.add(made, name), date=cell.family == "date")


def _variance(measures: Measures, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this")
    _no_distinct(node)
    cell, low, high = measures.number(node.this, asked)
    rows, kind = measures.rows(node), type(node).__name__
    number = released(measures.add(variances.variance(cell.column, low=low, high=high, rows_per_unit=rows), name))
    if not kind.endswith("Pop"):
        if low == "private":
            raise Refused("the variance of a sample needs declared bounds; write VAR_POP or STDDEV_POP", node)
        counted = measures.add(CountValues(cell.column, rows, low, high), f"{name}_rows")
        factor = Number(frozenset({counted}), lambda found: sample_factor(found[counted]))
        number = combined(number, factor, times)
    return mapped(number, lambda x: np.sqrt(np.maximum(x, 0.0))) if kind.startswith("Stddev") else number


_MAKERS: dict[str, Callable[[Measures, Any, Asked, str], Number]] = {
    "Count": _count,
    "ApproxDistinct": _approximate_distinct,
    "CountIf": _count_if,
    "Sum": _sum,
    "Avg": _mean,
    **dict.fromkeys(("Variance", "VariancePop", "Stddev", "StddevSamp", "StddevPop"), _variance),
}
