"""Columns that have a value in every row, as far as public facts tell: the schema and the filters of a query.

Where a column has a value in every row, the number of its values is the number of rows. So a count and the means of
such columns use one noisy count (`hush.tables.sharing`). If a source breaks its own schema, means are less accurate;
the privacy of the answer does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hush.tables.engines import ENGINES
from hush.tables.expression import operations

__all__ = ["never_missing"]


def never_missing(column: Any) -> bool:
    """Does the column have a value in every row? Null is no value, and NaN is none. False means: it is not known.

    A column is followed through filters, renamed columns and tables of one row per person to its table, or to a count,
    which always has a value. Dates are never known: an infinite date has no value either.
    """
    kind = column.type()
    if not (kind.is_numeric() or kind.is_boolean()):
        return False
    facts, schema_allows_null = _followed(column.op())
    ruled_out = [_ruled_out(node, predicate) for node, predicate in facts]
    some = not schema_allows_null or any(null for null, _ in ruled_out)
    return some and (not kind.is_floating() or any(nan for _, nan in ruled_out))


def _followed(node: Any) -> tuple[list[tuple[Any, Any]], bool]:
    """The conditions of the filters on the way to the table, each with the column as that filter sees it; and whether
    the table allows null there.
    """
    ops, facts = operations(), list[tuple[Any, Any]]()
    while isinstance(node, ops.Field):
        relation, name = node.rel, node.name
        if isinstance(relation, ops.PhysicalTable):
            return facts, bool(relation.schema[name].nullable or _may_be_nan(relation, name))
        if isinstance(relation, ops.Project | ops.Aggregate):
            node = relation.values[name]
            continue
        if not isinstance(relation, ops.Filter | ops.Sort | ops.DropColumns):
            break
        node = ops.Field(relation.parent, name)
        if isinstance(relation, ops.Filter):
            facts += [(node, part) for predicate in relation.predicates for part in _parts(predicate)]
    counted = node.func if isinstance(node, ops.WindowFunction) else node
    return facts, not isinstance(counted, ops.CountStar | ops.Count | ops.CountDistinct)


def _may_be_nan(relation: Any, name: str) -> bool:
    """Is it a decimal column of an engine whose decimals may be NaN?"""
    engine = ENGINES.get(getattr(getattr(relation, "source", None), "name", ""))
    return bool(relation.schema[name].is_decimal() and engine is not None and engine.nan_decimals)


def _parts(predicate: Any) -> Iterator[Any]:
    """The conditions that a predicate joins by "and"."""
    if isinstance(predicate, operations().And):
        yield from _parts(predicate.left)
        yield from _parts(predicate.right)
    else:
        yield predicate


def _ruled_out(column: Any, predicate: Any) -> tuple[bool, bool]:
    """Does a row that satisfies the predicate have a column that is not null? One that is not NaN?

    A comparison with null is null, and a filter keeps only what is true. In an engine NaN is larger than all numbers,
    or every comparison with it is false: in both cases it is not below a number.
    """
    ops = operations()
    if isinstance(predicate, ops.NotNull):
        return predicate.arg == column, False
    if isinstance(predicate, ops.Not):
        return False, isinstance(predicate.arg, ops.IsNan) and predicate.arg.arg == column
    if isinstance(predicate, ops.Between):
        return predicate.arg == column, predicate.arg == column and _is_number(predicate.upper_bound)
    if isinstance(predicate, ops.Less | ops.LessEqual):
        return column in (predicate.left, predicate.right), predicate.left == column and _is_number(predicate.right)
    if isinstance(predicate, ops.Greater | ops.GreaterEqual):
        return column in (predicate.left, predicate.right), predicate.right == column and _is_number(predicate.left)
    if isinstance(predicate, ops.Equals | ops.NotEquals):
        return column in (predicate.left, predicate.right), False
    return False, False


def _is_number(node: Any) -> bool:
    """Is it a constant that is not NaN, or one that an engine is told to take for a float (`hush.tables.total`)?"""
    node = node.arg if type(node).__name__ == "Real" else node
    constant = isinstance(node, operations().Literal) and isinstance(node.value, int | float)
    return constant and not math.isnan(node.value)
