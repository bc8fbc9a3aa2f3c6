"""Columns made from several rows of one person, computed so that they depend on the rows alone.

`hush.tables.ownership` proves that a window or an aggregate uses the rows of one person. Its value must also be a
function of these rows as a multiset: not of their order, of threads or of the engine. Otherwise the presence of one
person could change the order in which the engine adds up the rows of another. So only these functions are accepted:

- `count()`, `count` and `nunique` of a column, `any`, `all`;
- `min`, `max`: text is compared by its bytes, -0.0 is 0.0;
- `sum`, `mean`: added up as whole numbers. Floats and decimals are first rounded to millionths. A row and a sum beyond
  4.6e12 (whole numbers: 4.6e18) in size are clipped. Float addition would depend on the order;
- `rank`, `dense_rank`: rows that are equal in the order get the same rank. `row_number`, `lag` or `first` would choose
  among such rows by chance.

NaN is a missing value, like null. A window covers all rows of its partition, or those up to the present one and its
equals (`ibis.range_window`). Nothing here can fail because of a value.

The engine computes the plain functions first (`stage`), and the user's expression from them after that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hush.errors import Unsupported
from hush.tables.bound import clamped
from hush.tables.expression import as_int64, compared, constant, ibis, inside, operations
from hush.tables.quantise import Grid, quantised, wide_sum

__all__ = ["settled_aggregates", "settled_windows"]

#: The largest row and the largest sum, in steps.
FURTHEST = 2**62
#: Floats are added up as millionths.
MILLIONTHS = Grid(1e6, coarse=False)
KNOWN = "count, nunique, sum, mean, min, max, any, all"
RANKS = ("MinRank", "DenseRank")


@dataclass
class _Stage:
    """The plain functions that the engine computes, by internal names, and what they are used for."""

    taken: frozenset[str]
    role: str
    columns: dict[str, Any] = field(default_factory=dict)

    def add(self, node: Any) -> Any:
        """The name of a new column for a plain function; a function that is there already keeps its name."""
        for name, known in self.columns.items():
            if known == node:
                return name
        number = len(self.columns)
        while f"hush{number}" in self.taken:
            number += 1
        self.taken |= {f"hush{number}"}
        self.columns[f"hush{number}"] = node
        return f"hush{number}"


def settled_windows(relation: Any, role: str) -> Any:
    """A projection with its windows computed in a stage of their own. Without a window it is unchanged."""
    ops, node = operations(), relation.op()
    windows = [part for value in node.values.values() for part in inside(value) if isinstance(part, ops.WindowFunction)]
    if not windows:
        return relation
    parent = node.parent
    stage = _Stage(frozenset(parent.schema.names) | frozenset(node.values), role)
    made = {window: _window(window, stage) for window in dict.fromkeys(windows)}
    first = ops.Project(parent, {**parent.fields, **stage.columns})
    return _finished(first, {}, node.values, {parent: first}, made)


def settled_aggregates(relation: Any, role: str) -> Any:
    """A grouping with its plain functions computed first, and the user's expressions from them."""
    ops, node = operations(), relation.op()
    stage = _Stage(frozenset(node.schema.names), role)
    made = {
        part: _reduced(part, stage, lambda reduction: reduction)
        for value in node.metrics.values()
        for part in inside(value)
        if isinstance(part, ops.Reduction)
    }
    groups = {name: compared(value.to_expr()).op() for name, value in node.groups.items()}
    first = ops.Aggregate(node.parent, groups, stage.columns)
    return _finished(first, {name: ops.Field(first, name) for name in groups}, node.metrics, {}, made)


def _finished(first: Any, kept: dict[str, Any], values: Any, moved: dict[Any, Any], made: dict[Any, Any]) -> Any:
    """The kept columns of the stage, and the user's columns, computed from it."""
    replaced = {**moved, **{part: build(first.to_expr()).op() for part, build in made.items()}}
    new = {name: value.replace(replaced) for name, value in values.items()}
    return operations().Project(first, {**kept, **new}).to_expr()


def _window(window: Any, stage: _Stage) -> Callable[[Any], Any]:
    """How the value of a window is made from the columns of the stage."""
    ops, role = operations(), stage.role
    for part, word in [(part, "groups") for part in window.group_by] + [(key.arg, "orders") for key in window.order_by]:
        if not _comparable(part.dtype) or (word == "groups" and part.dtype.is_floating()):
            raise Unsupported(
                f"{role} {word} a window by values of type {part.dtype}; cast them to int64 or text first."
            )
    groups = [compared(part.to_expr()).op() for part in window.group_by]
    order = [key.copy(arg=_ready(key.arg.to_expr()).op()) for key in window.order_by]
    frame = {"how": "rows", "start": None, "end": None, "group_by": groups}
    if type(window.func).__name__ in RANKS:
        name = stage.add(ops.WindowFunction(window.func, **frame, order_by=order))
        return lambda first: first[name]
    if not isinstance(window.func, ops.Reduction) or isinstance(window.func, ops.CountDistinct):
        raise Unsupported(
            f"{role} uses {type(window.func).__name__} in a window, which may depend on the order of equal rows or "
            f"differs between engines; use rank, dense_rank, {KNOWN.replace('nunique, ', '')}."
        )
    if window.start is not None or window.end is not None:
        ends = [end for end in (window.start, window.end) if end is not None]
        if window.how != "range" or len(ends) != 1 or not all(_is_current_row(end) for end in ends) or not order:
            raise Unsupported(
                f"{role} uses a window of some rows, which may depend on the order of equal rows; use all rows of the "
                "person, or ibis.range_window(preceding=None, following=0, group_by=..., order_by=...)."
            )
        frame |= {"how": "range", "start": window.start, "end": window.end, "order_by": order}
    return _reduced(window.func, stage, lambda reduction: ops.WindowFunction(reduction, **frame))


def _is_current_row(end: Any) -> bool:
    return isinstance(end.value, operations().Literal) and end.value.value == 0


def _reduced(node: Any, stage: _Stage, over: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """How the value of a reduction is made from the columns of the stage. `over` puts a plain function in its
    window.
    """
    ops, kind = operations(), type(node).__name__

    def plain(reduction: Any) -> str:
        return str(stage.add(over(reduction)))

    if kind in ("CountStar", "Any", "All"):
        name = plain(node)
        return lambda first: first[name]
    column = node.arg.to_expr() if kind in ("Count", "CountDistinct", "Min", "Max", "Sum", "Mean") else ibis().null()
    known = column.type()
    if (
        kind == "Count"
        or (kind == "CountDistinct" and _comparable(known))
        or (kind in ("Min", "Max") and _comparable(known) and not known.is_boolean())
    ):
        name = plain(node.copy(arg=_ready(column).op()))
        return lambda first: first[name]
    if kind not in ("Sum", "Mean") or not (known.is_numeric() or known.is_boolean()) or known.is_uint64():
        of = "" if known.is_null() else f" of a column of type {known}"
        raise Unsupported(
            f"{stage.role} uses {kind}{of}, for which hush has no rule that is the same on every engine and in every "
            f"order of the rows; use {KNOWN}."
        )
    whole = column.type().is_integer() or column.type().is_boolean()
    steps = as_int64(column) if whole else quantised(column, MILLIONTHS, -FURTHEST, FURTHEST)
    total = plain(wide_sum(steps).op().copy(where=node.where))
    if kind == "Sum":
        return lambda first: _sum(first[total], whole)
    number = plain(ops.Count(steps, where=node.where))
    return lambda first: _sum(first[total], whole).cast("float64") / _positive(first[number])


def _comparable(kind: Any) -> bool:
    """Do the engines agree which values of this type are equal, and on their order?"""
    return bool(kind.is_numeric() or kind.is_boolean() or kind.is_string() or kind.is_date() or kind.is_timestamp())


def _positive(number: Any) -> Any:
    """The number of values as a divisor: without a value the sum is null."""
    return ibis().greatest(number, 1).cast("float64")


def _sum(total: Any, whole: bool) -> Any:
    """A sum of steps as a number; null where there was no value."""
    inside_limits = clamped(total, -FURTHEST, FURTHEST)
    number = inside_limits if whole else inside_limits.cast("float64") / constant(MILLIONTHS.scale)
    return ibis().cases((total.isnull(), ibis().null(number.type())), else_=number)


def _ready(column: Any) -> Any:
    """A column to compare: text by its bytes, floats without NaN and with one zero."""
    if not column.type().is_floating():
        return compared(column)
    zero, missing = ibis().literal(0.0), ibis().null(column.type())
    return ibis().cases((column.isnull() | column.isnan(), missing), (column == zero, zero), else_=column)
