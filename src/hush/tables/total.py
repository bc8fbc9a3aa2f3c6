"""Users' expressions, made so that no row makes them fail: a value that cannot be computed is null.

An engine that stops a query because of one row reveals, without a charge, that there is such a row. PostgreSQL's
compiler writes total operations by itself (`hush.tables.engines.postgres`). For the other engines each operation of a
user's expression that may fail is marked here, and the engine writes a form of it that gives null (`Engine.tries`). So
one row loses one value, not the whole expression: `(t.a * t.b).fill_null(0)` is 0 where the product does not fit.

Whole numbers of 8, 16 and 32 bits are computed with 64 bits, as Ibis says their results are.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hush.errors import Unsupported
from hush.tables.expression import ibis, operations
from hush.tables.spans import Spans

__all__ = ["engines_below", "total_step", "total_tree", "total_value"]

#: Operations that DuckDB and Spark compute for every row.
TOTAL = {
    *("IsNull", "NotNull", "IsNan", "IsInf", "And", "Or", "Not", "Xor", "IdenticalTo", "InValues", "Between"),
    *("Equals", "NotEquals", "Less", "LessEqual", "Greater", "GreaterEqual", "TextByBytes", "Tried"),
    *("IfElse", "SearchedCase", "SimpleCase", "Coalesce", "NullIf", "Greatest", "Least", "Sign", "TryCast"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "StructField", "HexDigest"),
    *("StringLength", "Lowercase", "Uppercase", "Strip", "LStrip", "RStrip", "StringConcat", "StringContains"),
    *("StartsWith", "EndsWith", "StringReplace", "Reverse", "StringAscii", "StringFind", "StringSQLLike"),
    *("ExtractYear", "ExtractQuarter", "ExtractMonth", "ExtractDay", "ExtractDayOfYear", "ExtractWeekOfYear"),
    *("ExtractHour", "ExtractMinute", "ExtractSecond", "DayOfWeekIndex"),
}
#: Operations whose result may be so long that no engine can hold it, and the argument that decides it.
LONG = {"Repeat": "times", "LPad": "length", "RPad": "length", "ArrayRepeat": "times", "IntegerRange": "stop"}
ROUNDED = ("Ceil", "Floor", "Round")
ARITHMETIC = ("Add", "Subtract", "Multiply", "Negate", "Abs")
#: The longest text that is padded or repeated.
LONGEST = 10_000


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


def engines_below(nodes: Any) -> set[str]:
    """The names of the engines whose tables an expression uses. Tables from memory are DuckDB's."""
    ops = operations()
    relations = {node.rel if isinstance(node, ops.Field) else node for node in nodes}
    tables = [t for found in relations if isinstance(found, ops.Relation) for t in found.find(ops.PhysicalTable)]
    return {getattr(getattr(table, "source", None), "name", "duckdb") for table in tables}


def total_value(value: Any) -> Any:
    """A column's expression (an operation of Ibis) without operations that fail on some rows."""
    from hush.tables.engines import ENGINES
    from hush.tables.expression import inside

    if isinstance(value, operations().Field):
        return value
    names = engines_below(inside(value))
    if not any(ENGINES[name].tries is not None for name in names & set(ENGINES)):
        return value
    spans = Spans()

    def replaced(node: Any, changed: Any) -> Any:
        node = node.__recreate__(changed) if changed else node
        return _total(node, spans)

    return value.replace(replaced, filter=operations().Value)


def total_step(relation: Any) -> Any:
    """A relation whose last step, a projection, a filter or a grouping, has total expressions."""
    ops, node = operations(), relation.op()
    if isinstance(node, ops.Project):
        return ops.Project(node.parent, _all(node.values)).to_expr()
    if isinstance(node, ops.Filter):
        return ops.Filter(node.parent, [total_value(value) for value in node.predicates]).to_expr()
    if isinstance(node, ops.Aggregate):
        return ops.Aggregate(node.parent, node.groups, _all(node.metrics)).to_expr()
    return relation


def total_tree(relation: Any) -> Any:
    """A relation of which every projection and every filter has total expressions."""
    ops = operations()

    def replaced(node: Any, changed: Any) -> Any:
        node = node.__recreate__(changed) if changed else node
        return total_step(node.to_expr()).op() if isinstance(node, ops.Project | ops.Filter) else node

    return relation.op().replace(replaced).to_expr()


def _all(values: Any) -> dict[str, Any]:
    return {name: total_value(value) for name, value in values.items()}


def _total(node: Any, spans: Spans) -> Any:
    """One operation over total arguments."""
    ops, name = operations(), type(node).__name__
    if name == "Tried" and type(node.arg).__name__ == "Tried":
        return node.arg  # it was marked before
    if name in LONG:
        _must_be_short(node, name)
    if name in ARITHMETIC and node.dtype.is_integer():
        node = _widened(node)
        if name in ("Add", "Subtract", "Multiply") and spans.fits(node):
            return node
    elif name in ROUNDED and node.dtype.is_integer() and node.arg.dtype.is_floating():
        return node.copy(arg=_within_int64(node.arg))
    elif _never_fails(node, name, ops):
        return node
    return tried()(node)


def _never_fails(node: Any, name: str, ops: Any) -> bool:
    """Is it defined for every row, or no operation on the values of a row?"""
    kinds = (ops.Field, ops.Literal, ops.Alias, ops.Reduction, ops.Analytic, ops.WindowFunction, ops.SortKey)
    if name in TOTAL or not isinstance(node, ops.Value) or isinstance(node, kinds) or name.startswith("Interval"):
        return True  # what fails in an interval fails in the operation that uses it
    if not any(isinstance(part, ops.Field) for part in _parts(node)):
        return True  # a constant fails for every table or for none
    if name in ARITHMETIC:
        return bool(node.dtype.is_floating())
    return _always_fits(node) if name == "Cast" else False


def _always_fits(node: Any) -> bool:
    """A cast that every value survives."""
    from_, to = node.arg.dtype, node.to
    whole = from_.is_integer() or from_.is_boolean()
    return bool(
        to.is_string() or from_ == to or (whole and (to.is_float64() or (to.is_int64() and not from_.is_uint64())))
    )


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


def _must_be_short(node: Any, name: str) -> None:
    """Reject a length that comes from the data: the engine may run out of memory because of one row."""
    length = getattr(node, LONG[name])
    if not isinstance(length, operations().Literal) or length.value is None or length.value > LONGEST:
        raise Unsupported(
            f"an expression uses {name} with a length from the data, or above {LONGEST}; one row could then need more "
            "memory than there is, and the failure would reveal it, so write a constant length."
        )


def _parts(node: Any) -> Any:
    from hush.tables.expression import inside

    return inside(node)
