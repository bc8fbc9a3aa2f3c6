"""Each aggregate of SQL as an aggregate of hush: COUNT, SUM, AVG, VARIANCE and similar ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from hush.tables import counts, means, sums, variances
from hush.tables.expression import ibis
from hush.tables.measure import Measure
from hush.tables.policy.rules import is_private
from hush.tables.sql.cell import Cell, as_number
from hush.tables.sql.counted import CountValues
from hush.tables.sql.interval import sample_factor, times
from hush.tables.sql.logic import condition
from hush.tables.sql.number import Number, combined, mapped, released
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.scope import Scope

__all__ = ["MAKERS", "Asked", "Measuring", "people"]


@dataclass(frozen=True)
class Asked:
    """What belongs to one aggregate: its filter, and bounds that the statement gives (of a row, or of a total)."""

    keep: Any = None
    row: tuple[float, float] | None = None
    total: tuple[float, float] | None = None


class Measuring(Protocol):
    """What an aggregate needs of its statement (`hush.tables.sql.aggregates.Measures`)."""

    scope: Scope
    rows_per_unit: int | None

    def add(self, measure: Measure, name: str) -> str:
        """Add an aggregate; returns its name in the answer."""

    def value(self, node: Any, asked: Asked) -> Cell:
        """The values of an aggregate."""

    def number(self, node: Any, asked: Asked, *, also: tuple[str, ...] = ()) -> tuple[Cell, Any, Any]:
        """A column of numbers with its bounds."""

    def rows(self, node: Any) -> int:
        """How many rows of a person count in a group."""


def people(scope: Scope) -> Any:
    """COUNT(DISTINCT unit), as a node of a suggestion; COUNT(*) where no column names the unit."""
    import sqlglot

    exp = sqlglot.exp
    units = [exp.column(unit) for unit in scope.units]
    return exp.Count(this=exp.Distinct(expressions=units) if units else exp.Star())


def _count(measures: Measuring, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this", "big_int", "expressions", "approximate")
    scope, inside = measures.scope, node.this
    if type(inside).__name__ == "Distinct":
        return _distinct(measures, node, asked, name, inside.expressions)
    most = measures.rows(node)
    if asked.total is not None:
        total = max(1, int(asked.total[1]))
        most = total if is_private(most) else min(most, total)
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


def _distinct(measures: Measuring, node: Any, asked: Asked, name: str, parts: list[Any]) -> Number:
    scope = measures.scope
    case = _people_where(parts, scope)
    if case is not None:
        holds = condition(case.this, scope.rows)
        asked = replace(asked, keep=holds if asked.keep is None else asked.keep & holds)
        parts = [case.args["true"]]
    units = {part.name.lower() for part in parts if scope.is_unit(part)}
    if not scope.units or len(units) != len(scope.units) or not all(map(scope.is_unit, parts)):
        raise Refused(
            f"{node.sql()} counts values, and one person can add a new value that nobody else has; count people with "
            f"{people(scope).sql()}, or group by the column",
            node,
        )
    if asked.keep is None:
        return released(measures.add(counts.count_units(), name), counts=True)
    kept = ibis().cases((asked.keep, ibis().literal(1)), else_=ibis().null("int8"))
    return released(measures.add(CountValues(kept, 1), name), counts=True)


def _people_where(parts: list[Any], scope: Scope) -> Any:
    """The branch of CASE WHEN c THEN unit END, which counts the people with c; None if the parts are no such thing."""
    import sqlglot

    exp, case = sqlglot.exp, parts[0] if len(parts) == 1 else None
    if isinstance(case, exp.Case) and case.this is None and len(case.args["ifs"]) == 1:
        branch, default = case.args["ifs"][0], case.args.get("default")
    elif isinstance(case, exp.If):
        branch, default = case, case.args.get("false")
    else:
        return None
    return branch if scope.is_unit(branch.args["true"]) and isinstance(default, exp.Null | None) else None


def _approximate_distinct(measures: Measuring, node: Any, asked: Asked, name: str) -> Number:
    return _distinct(measures, node, asked, name, [node.this])


def _count_if(measures: Measuring, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this", "zero_on_all_null")
    holds = condition(node.this, measures.scope.rows)
    keep = holds if asked.keep is None else asked.keep & holds
    kept = ibis().cases((keep, ibis().literal(1)), else_=ibis().null("int8"))
    return released(measures.add(CountValues(kept, measures.rows(node)), name), counts=True)


def _no_distinct(node: Any) -> None:
    if type(node.this).__name__ == "Distinct":
        raise Refused(f"{node.sql()} compares the values of different people; ask it without DISTINCT", node)


def _sum(measures: Measuring, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this")
    _no_distinct(node)
    if asked.total is not None:
        cell = as_number(measures.value(node.this, asked), node)
        low, high = _tightened(measures, cell, asked.total, node)
        return released(measures.add(sums.sum(cell.column, low=low, high=high), name))
    cell, low, high = measures.number(node.this, asked)
    return released(measures.add(sums.sum(cell.column, low=low, high=high, rows_per_unit=measures.rows(node)), name))


def _tightened(measures: Measuring, cell: Cell, total: tuple[float, float], node: Any) -> tuple[float, float]:
    """Bounds of a person's total: those of the statement, which may not be wider than the policy's."""
    rows = measures.rows_per_unit
    if not cell.bounded or rows is None or is_private(rows):
        return total
    low, high = min(0.0, rows * float(cell.low)), max(0.0, rows * float(cell.high))
    if total[0] < low or total[1] > high:
        raise Refused(
            f"the policy allows a person's total from {low:g} to {high:g}, and the statement asks for {total[0]:g} to "
            f"{total[1]:g}; bounds of a statement may only be tighter",
            node.parent,
        )
    return total


def _mean(measures: Measuring, node: Any, asked: Asked, name: str) -> Number:
    allow_only(node, "this")
    _no_distinct(node)
    cell, low, high = measures.number(node.this, asked, also=("date",))
    made = means.mean(cell.column, low=low, high=high, rows_per_unit=measures.rows(node))
    return released(measures.add(made, name), shown_as="date" if cell.family == "date" else "")


def _variance(measures: Measuring, node: Any, asked: Asked, name: str) -> Number:
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


MAKERS: dict[str, Callable[[Measuring, Any, Asked, str], Number]] = {
    "Count": _count,
    "ApproxDistinct": _approximate_distinct,
    "CountIf": _count_if,
    "Sum": _sum,
    "Avg": _mean,
    **dict.fromkeys(("Variance", "VariancePop", "Stddev", "StddevSamp", "StddevPop"), _variance),
}
