"""Users' expressions, made so that no row makes them fail: a value that cannot be computed is null.

An engine that stops a query because of one row reveals that there is such a row. `row_rule` lists the operations that a
row may use, by the types of their arguments, and says for each engine whether it computes them for every row. Where it
does not, the operation is marked here, and the engine writes a form of it that gives null (`Engine.tries`). So one row
loses one value, not the whole expression: `(t.a * t.b).fill_null(0)` is 0 where the product does not fit. `length`
bounds the texts and the operations of an expression.

Whole numbers of 8, 16 and 32 bits are computed with 64 bits, as Ibis says their results are. Constants follow the same
rules as columns: a constant in a branch of CASE fails only if some row takes this branch.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

from hush.errors import Unsupported
from hush.tables.expression import ibis, operations
from hush.tables.length import Lengths
from hush.tables.row_rule import NULL, REFUSED, aligned
from hush.tables.spans import Spans

__all__ = ["engines_below", "must_be_short", "must_be_total", "total_step", "total_tree", "total_value"]

ROUNDED = ("Ceil", "Floor", "Round")
ARITHMETIC = ("Add", "Subtract", "Multiply", "Negate", "Abs")
#: Operations that leave an engine's calendar for some dates (`Engine.usual_dates`), and the arguments that are dates.
MOVED = {
    **dict.fromkeys(("DateTruncate", "TimestampTruncate", "Strftime"), ("arg",)),
    **dict.fromkeys(("DateAdd", "DateSub", "TimestampAdd", "TimestampSub"), ("left",)),
    "DateDelta": ("left", "right"),
}
FIRST, LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)


@cache
def tried() -> Any:
    """The operation that marks another one: where its argument fails, it is null. Ibis has none, so it is added to the
    Ibis compilers here, as `expression.text_by_bytes` is.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler
    from ibis.common.annotations import attribute

    class Tried(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        @attribute
        def dtype(self) -> Any:
            return self.arg.dtype

        @attribute
        def name(self) -> Any:
            return self.arg.name

    SQLGlotCompiler.visit_Tried = _written
    return Tried


def _written(compiler: Any, operation: Any, *, arg: Any) -> Any:
    """The total form in the dialect of the compiler's engine."""
    from hush.tables.engines import ENGINES

    engine = ENGINES.get(compiler.dialect.__name__.lower())
    return arg if engine is None or engine.tries is None else engine.tries(arg)


@cache
def real() -> Any:
    """A constant of float64, written as one. DuckDB and Spark take 0.1 for a decimal, and cast the numbers that meet it
    to decimals, which fails on large ones.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler

    class Real(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        dtype = ibis().dtype("float64")

        @property
        def name(self) -> Any:
            return self.arg.name

    SQLGlotCompiler.visit_Real = _as_double
    return Real


def _as_double(compiler: Any, operation: Any, *, arg: Any) -> Any:
    import sqlglot.expressions as sge

    return compiler.cast(sge.Literal.string(repr(float(operation.arg.value))), operation.dtype)


def engines_below(nodes: Any) -> set[str]:
    """The names of the engines whose tables an expression uses. Tables from memory are DuckDB's."""
    ops = operations()
    relations = {node.rel if isinstance(node, ops.Field) else node for node in nodes}
    tables = [t for found in relations if isinstance(found, ops.Relation) for t in found.find(ops.PhysicalTable)]
    return {getattr(getattr(table, "source", None), "name", "duckdb") for table in tables}


def engines_of(nodes: Any) -> list[Any]:
    """The same as `Engine`s that hush runs."""
    from hush.tables.engines import ENGINES

    return [ENGINES[name] for name in sorted(engines_below(nodes) & set(ENGINES))]


def must_be_short(relation: Any, values: Iterable[Any]) -> None:
    """Refuse columns with too many operations before Ibis makes their names, which are as long as the columns. What is
    no expression over this table is left to the caller.
    """
    from ibis.expr.types.relations import bind

    for value in values:
        try:
            found = [part.op() for part in bind(relation, value)]
        except Exception:
            continue
        for part in found:
            Lengths().check(part)


def must_be_total(nodes: Any, role: str, relation: Any = None) -> None:
    """Refuse operations of a user's expression, over this relation, for which nothing is known that makes them total.
    What hush adds to it is total.
    """
    nodes = list(nodes)
    for engine in engines_of(nodes if relation is None else [relation]):
        for node in nodes:
            _must_have_a_way(engine, aligned(node), role)


def _must_have_a_way(engine: Any, node: Any, role: str) -> str:
    way: str = engine.rule(node)
    if way == REFUSED:
        kinds = [str(part.dtype) for part in node.__children__ if isinstance(part, operations().Value)]
        raise Unsupported(
            f"{role} uses {type(node).__name__} of {' and '.join(kinds[:4]) or 'nothing'}, which hush cannot compute "
            f"on {engine.title} for every possible row; such a failure would reveal that there is such a row, so "
            "compute the column before, in a view or in the file."
        )
    return way


def total_value(value: Any, relation: Any) -> Any:
    """A column's expression (an operation of Ibis) over a relation (likewise), without operations that fail on some
    rows. A constant is made total too: it may be chosen in one row only.
    """
    if isinstance(value, operations().Field):
        return value
    Lengths().check(value)
    engines, spans = engines_of([relation]), Spans()
    if not engines:
        return value

    def made_total(node: Any) -> Any:
        return _total(node, spans, engines)

    def replaced(node: Any, changed: Any) -> Any:
        return made_total(aligned(node.__recreate__(changed) if changed else node, made_total))

    from ibis.common.annotations import ValidationError

    try:
        return value.replace(replaced, filter=operations().Value)
    except ValidationError as failure:
        raise Unsupported(
            f"an expression uses {type(value).__name__} of values that have another type once dates beside times are "
            "times; cast them first, as in .cast('timestamp')."
        ) from failure


def total_step(relation: Any) -> Any:
    """A relation whose last step, a projection, a filter or a grouping, has total expressions."""
    ops, node = operations(), relation.op()
    if isinstance(node, ops.Project):
        return ops.Project(node.parent, _all(node.values, node.parent)).to_expr()
    if isinstance(node, ops.Filter):
        return ops.Filter(node.parent, [total_value(value, node.parent) for value in node.predicates]).to_expr()
    if isinstance(node, ops.Aggregate):
        return ops.Aggregate(node.parent, node.groups, _all(node.metrics, node.parent)).to_expr()
    return relation


def total_tree(relation: Any) -> Any:
    """A relation of which every projection and every filter has total expressions."""
    ops = operations()

    def replaced(node: Any, changed: Any) -> Any:
        node = node.__recreate__(changed) if changed else node
        return total_step(node.to_expr()).op() if isinstance(node, ops.Project | ops.Filter) else node

    return relation.op().replace(replaced).to_expr()


def _all(values: Any, relation: Any) -> dict[str, Any]:
    return {name: total_value(value, relation) for name, value in values.items()}


def _total(node: Any, spans: Spans, engines: Any) -> Any:
    """One operation over total arguments."""
    ops, name = operations(), type(node).__name__
    if not isinstance(node, ops.Value):
        return node
    if name in ("Tried", "Real") and type(node.arg).__name__ == name:
        return node.arg  # it was marked before
    if isinstance(node, ops.Literal) and node.dtype.is_float64() and any(engine.tries for engine in engines):
        return node if node.value is None or not math.isfinite(node.value) else real()(node)
    ways = {_must_have_a_way(engine, node, "an expression") for engine in engines}
    marked = NULL in ways and any(engine.tries is not None for engine in engines)
    if name in MOVED and any(engine.usual_dates for engine in engines):
        node = node.copy(**{date: _usual(getattr(node, date)) for date in MOVED[name]})
    elif _of_weeks(node):
        node = node.copy(arg=_usual(node.arg))
    if not marked:
        return node
    if name in ARITHMETIC and node.dtype.is_integer():
        node = _widened(node)
        if name in ("Add", "Subtract", "Multiply") and spans.fits(node):
            return node
    elif name in ROUNDED and node.dtype.is_integer() and node.arg.dtype.is_floating():
        node = node.copy(arg=_within_int64(node.arg))
    return tried()(node)


def _of_weeks(node: Any) -> bool:
    """Is this the week of a date? DuckDB computes the week of a column's least date when it plans a query, outside of
    every TRY, and fails if the week's Monday, or the year, has no date.
    """
    name = type(node).__name__
    weeks = name in ("ExtractWeekOfYear", "ExtractIsoYear") or (name == "DateTruncate" and node.unit.value == "W")
    return weeks and bool(node.arg.dtype.is_date())


def _usual(node: Any) -> Any:
    """A date or a time of the years 1 to 9999, else null."""
    column = node.to_expr()
    ends = [
        datetime.datetime.combine(day, datetime.time()) if node.dtype.is_timestamp() else day for day in (FIRST, LAST)
    ]
    first, last = (ibis().literal(end, type=node.dtype) for end in ends)
    return ibis().cases(((column >= first) & (column <= last), column), else_=ibis().null(node.dtype)).op()


def _widened(node: Any) -> Any:
    """The same operation on int64: DuckDB adds two short numbers as short ones."""

    def wide(part: Any) -> Any:
        short = (part.dtype.is_integer() and part.dtype.nbytes < 8) or part.dtype.is_boolean()
        return operations().Cast(part, ibis().dtype("int64")) if short else part

    return type(node)(*(wide(part) for part in node.args))


def _within_int64(node: Any) -> Any:
    """A float whose whole part fits int64, else null: Spark would give the largest number instead."""
    column = node.to_expr()
    return ibis().cases((column.abs() < 2.0**63, column), else_=ibis().null(column.type())).op()
