"""The bin of each row of a histogram: a whole number from 0, or null if the row is in no bin."""

from __future__ import annotations

import bisect
import datetime
import math
from functools import cache
from itertools import pairwise
from typing import Any

from hush.errors import InvalidParameter, places_of_equals, shown, type_and_size
from hush.tables.expression import compared, constant, ibis, operations
from hush.tables.quantise import EPOCH, as_number

__all__ = ["category_index", "checked_categories", "checked_edges", "checked_value", "edge_index", "in_bin", "place"]


def checked_edges(name: str, edges: tuple[Any, ...], kind: Any, most: int) -> list[float]:
    """The edges as increasing numbers. The outer ones may be infinite."""
    if not 2 <= len(edges) <= most + 1:
        raise InvalidParameter(f"edges of {shown(name)} must be 2 to {most + 1} numbers, got {len(edges)}.")
    result = []
    for edge in edges:
        if kind.is_date() and isinstance(edge, datetime.date) and not isinstance(edge, datetime.datetime):
            result.append(float((edge - EPOCH).days))
        elif (
            not kind.is_date() and isinstance(edge, int | float) and not isinstance(edge, bool) and not math.isnan(edge)
        ):
            result.append(float(edge))
        else:
            allowed = "dates" if kind.is_date() else "numbers"
            raise InvalidParameter(
                f"edges of {shown(name)} must be {allowed} for a column of type {kind}, got {type_and_size(edge)}."
            )
    if any(a >= b for a, b in pairwise(result)):
        raise InvalidParameter(f"edges of {shown(name)} must increase, got {type_and_size(edges)}.")
    return result


def place(x: float, edges: list[float]) -> int | None:
    """The bin of x, computed in Python as the engines do."""
    if math.isnan(x) or not edges[0] <= x <= edges[-1]:
        return None
    return min(bisect.bisect_right(edges, x), len(edges) - 1) - 1


def edge_index(column: Any, edges: list[float]) -> Any:
    """The bin of each row, by bisection: about log2(bins) comparisons for each row."""
    x, missing = as_number(column)
    outside = missing
    if math.isfinite(edges[0]):
        outside = outside | (x < constant(edges[0]))
    if math.isfinite(edges[-1]):
        outside = outside | (x > constant(edges[-1]))
    found = bin_operations()[0](x, tuple(edges)).to_expr()
    return ibis().cases((outside, ibis().null("int64")), else_=found)


def in_bin(index: Any, count: Any, number: int) -> Any:
    """The count of a row where its bin is this one, else 0 (also where it is null)."""
    return bin_operations()[1](index, count, number).to_expr()


@cache
def bin_operations() -> tuple[Any, Any]:
    """The operations of `edge_index` and `in_bin`, added to the Ibis compilers as `expression.text_by_bytes` is. Each
    is one node. A search for bounds has 870 bins, and Ibis goes through all nodes several times.
    """
    from ibis.backends.sql.compilers.base import SQLGlotCompiler
    from ibis.common.annotations import Argument
    from ibis.common.patterns import InstanceOf

    class Bisection(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        edges = Argument(InstanceOf(tuple))
        dtype = ibis().dtype("int64")

    class InBin(operations().Binary):  # type: ignore[misc]  # a class of Ibis, which has no types
        number = Argument(InstanceOf(int))
        dtype = ibis().dtype("int64")

    SQLGlotCompiler.visit_Bisection = bisected
    SQLGlotCompiler.visit_InBin = counted_in_bin
    return Bisection, InBin


def bisected(compiler: Any, operation: Any, *, arg: Any, edges: tuple[float, ...]) -> Any:
    """CASE WHEN arg < edge THEN ... ELSE ... END, as deep as it takes. The edges are text that is cast: see
    `expression.constant`.
    """
    import sqlglot.expressions as sge

    number, whole = ibis().dtype("float64"), ibis().dtype("int64")
    value = arg if isinstance(arg, sge.Column | sge.Cast) else sge.Paren(this=arg)

    def search(first: int, last: int) -> Any:
        """The bin, one of first ... last."""
        if first == last:
            return compiler.cast(sge.convert(first), whole)
        middle = (first + last + 1) // 2
        below = sge.LT(this=value, expression=compiler.cast(sge.convert(repr(edges[middle])), number))
        return sge.Case(ifs=[sge.If(this=below, true=search(first, middle - 1))], default=search(middle, last))

    return search(0, len(edges) - 2)


def counted_in_bin(compiler: Any, operation: Any, *, left: Any, right: Any, number: int) -> Any:
    """CASE WHEN left = number THEN right ELSE 0 END."""
    import sqlglot.expressions as sge

    zero = compiler.cast(sge.convert(0), ibis().dtype("int64"))
    same = sge.EQ(this=left, expression=sge.convert(number))
    return sge.Case(ifs=[sge.If(this=same, true=right)], default=zero)


def checked_value(role: str, value: Any, kind: Any) -> Any:
    """A public value, checked to be of a column's type: a whole number, text, a truth value or a date."""
    wanted = (
        (kind.is_boolean(), bool, "True or False"),
        (kind.is_integer(), int, "a whole number"),
        (kind.is_string(), str, "text"),
        (kind.is_date(), datetime.date, "a date"),
    )
    for fits, python, word in wanted:
        if fits:
            if python is int and hasattr(value, "__index__") and not isinstance(value, bool):
                value = value.__index__()
            if (
                not isinstance(value, python)
                or (python is int and isinstance(value, bool))
                or isinstance(value, datetime.datetime)
            ):
                raise InvalidParameter(
                    f"{role} must be {word} for a column of type {kind}, got {type_and_size(value)}."
                )
            if python is int and not kind.bounds.lower <= value <= kind.bounds.upper:
                raise InvalidParameter(f"{role} must fit a column of type {kind}.")
            return value
    raise InvalidParameter(
        f"{role} needs a column of whole numbers, text, dates or truth values, got one of type {kind}; "
        "cast or bin it first."
    )


def checked_categories(name: str, categories: tuple[Any, ...], kind: Any, most: int) -> tuple[Any, ...]:
    """The categories, checked to be distinct values of the column's type."""
    values = tuple(checked_value(f"a category of {shown(name)}", value, kind) for value in categories)
    if not 1 <= len(values) <= most:
        raise InvalidParameter(f"categories of {shown(name)} must be 1 to {most} values, got {len(values)}.")
    if len(set(values)) < len(values):
        raise InvalidParameter(f"categories of {shown(name)} lists a value twice, at {places_of_equals(values)}.")
    return values


def category_index(column: Any, values: tuple[Any, ...]) -> Any:
    """The place of each row's value in the list."""
    kind, column = column.type(), compared(column)
    listed = [compared(ibis().literal(value, type=kind)) for value in values]
    branches = [(column == value, ibis().literal(i, type="int64")) for i, value in enumerate(listed)]
    return ibis().cases(*branches, else_=ibis().null("int64"))
