"""Window functions over the rows of one person: COUNT(*) OVER (PARTITION BY patient_id).

A window that is partitioned by the unit sees rows of one person only (`hush.tables.ownership`). It becomes a column of
the table (`Table.mutate`) before the rest of the statement is translated. As in SQL, it sees the rows that WHERE keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hush.errors import HushError
from hush.tables.expression import ibis
from hush.tables.sql.cell import Cell, as_number
from hush.tables.sql.logic import condition
from hush.tables.sql.refusal import Refused, allow_only
from hush.tables.sql.scope import Scope

__all__ = ["over_groups", "with_windows"]

_CALLS = {"Sum": "sum", "Avg": "mean", "Min": "min", "Max": "max", "Count": "count"}
_RANKS = {"Rank": "rank", "DenseRank": "dense_rank"}
_FRAMES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("UNBOUNDED", "PRECEDING", "UNBOUNDED", "FOLLOWING"): ("ROWS", "RANGE"),
    ("UNBOUNDED", "PRECEDING", "CURRENT ROW", ""): ("RANGE",),
}


def with_windows(scope: Scope, nodes: Iterable[Any]) -> Scope:
    """The rows with a column for each window in these parts of a statement."""
    found: dict[str, Any] = {}
    for node in nodes:
        for part in node.walk(prune=lambda inner: type(inner).__name__ in ("Subquery", "Select", "Window")):
            if type(part).__name__ == "Window":
                found.setdefault(part.sql(), part)
    if not found:
        return scope
    first = next(iter(found.values()))
    for node in found.values():
        if _uses_aggregates(node):
            raise over_groups(node)
    if scope.table.whose.each_row:
        raise Refused("a window uses several rows, but here each row is a person of its own", first)
    scope = scope.over(scope.filtered())
    cells = {text: _window(node, scope) for text, node in found.items()}
    names, taken = dict[str, str](), {name.casefold() for name in scope.table.relation.columns}
    for text in cells:
        number = len(names) + 1
        while f"window_{number}" in taken:
            number += 1
        taken.add(f"window_{number}")
        names[text] = f"window_{number}"
    try:
        table = scope.table.mutate(**{names[text]: cell.column for text, cell in cells.items()})
    except HushError as failure:
        raise Refused(str(failure), first) from failure
    known = {text: replace(cell, column=table[names[text]]) for text, cell in cells.items()}
    return replace(scope.over(table), windows=known)


def over_groups(node: Any) -> Refused:
    """The error for a window over the groups of an answer, such as SUM(COUNT(*)) OVER ()."""
    return Refused(
        f"{node.sql()} is a window over groups of the answer; ask for the aggregate alone, and rank or add up the "
        "answer afterwards, which costs no privacy: ORDER BY and LIMIT sort the groups, and answer.share(...) and "
        "answer.total(...) in Python, --share and --total of hush answer, give shares and totals with intervals",
        node,
    )


def _uses_aggregates(node: Any) -> bool:
    """Does a window use aggregates of groups, as SUM(COUNT(*)) OVER () and RANK() OVER (ORDER BY COUNT(*)) do?"""
    import sqlglot

    inner = node.this.this if type(node.this).__name__ == "Filter" else node.this
    parts = [*inner.iter_expressions(), *(node.args.get("partition_by") or ()), node.args.get("order")]
    kinds = (sqlglot.exp.AggFunc, sqlglot.exp.Window)
    found = [part.find(*kinds) for part in parts if part is not None]
    return any(isinstance(part, sqlglot.exp.AggFunc) and not _in_window(part, node) for part in found if part)


def _in_window(part: Any, outer: Any) -> bool:
    """Is it the function of a window inside another one?"""
    while part is not outer:
        if type(part).__name__ == "Window":
            return True
        part = part.parent
    return False


def _window(node: Any, scope: Scope) -> Cell:
    """The value of one window, over the rows of a person."""
    allow_only(node, "this", "partition_by", "order", "spec", "over", what="a window")
    groups = _partition(node, scope)
    inner, keep = node.this, None
    if type(inner).__name__ == "Filter":
        allow_only(inner, "this", "expression")
        keep, inner = condition(inner.expression.this, scope.rows), inner.this
    kind, order = type(inner).__name__, _order(node, scope)
    if kind in _RANKS:
        if not order or keep is not None or node.args.get("spec") is not None:
            raise Refused(f"{inner.sql()} takes PARTITION BY {scope.unit} ORDER BY a column, and nothing else", node)
        ranked = getattr(ibis(), _RANKS[kind])().over(group_by=groups, order_by=order)
        return Cell(ranked + 1, 1)  # Ibis counts from 0
    if kind not in _CALLS:
        raise Refused(
            f"{inner.sql()} in a window may depend on the order of equal rows; use COUNT, SUM, AVG, MIN, MAX, RANK or "
            "DENSE_RANK",
            node,
        )
    reduced, known = _reduction(inner, kind, keep, scope)
    frame: dict[str, Any] = {"group_by": groups}
    if _up_to_here(node, order):
        over = ibis().range_window(preceding=None, following=0, order_by=order, **frame)
    else:
        over = ibis().window(**frame)
    return replace(known, column=reduced(scope.table.relation).over(over))


def _partition(node: Any, scope: Scope) -> list[Any]:
    """The columns of PARTITION BY: those of the unit as its key, and others."""
    parts = node.args.get("partition_by") or []
    units = {part.name.lower() for part in parts if scope.is_unit(part)}
    if not scope.units or len(units) < len(scope.units):
        wanted = f"PARTITION BY {', '.join(scope.units)}" if scope.units else "PARTITION BY the unit"
        raise Refused(
            f"a window over rows of several people is not answered; write {wanted}, so that it uses the rows of one "
            "person",
            node,
        )
    others = [scope.rows.of(part).column for part in parts if not scope.is_unit(part)]
    return [scope.table.relation[scope.table.unit], *others]


def _order(node: Any, scope: Scope) -> list[Any]:
    """The columns of ORDER BY in the window."""
    clause = node.args.get("order")
    found = []
    for part in clause.expressions if clause is not None else ():
        allow_only(part, "this", "desc", "nulls_first", what="ORDER BY in a window")
        column, first = scope.rows.of(part.this).column, bool(part.args.get("nulls_first"))
        made = ibis().desc if part.args.get("desc") else ibis().asc
        found.append(made(column, nulls_first=first))
    return found


def _up_to_here(node: Any, order: list[Any]) -> bool:
    """Does the window end with the present row and its equals? That is the rule of SQL for a window with ORDER BY."""
    spec = node.args.get("spec")
    if spec is None:
        return bool(order)
    allow_only(spec, "kind", "start", "start_side", "end", "end_side", what="a window")
    ends = tuple(str(spec.args.get(name) or "").upper() for name in ("start", "start_side", "end", "end_side"))
    if str(spec.args.get("kind")).upper() not in _FRAMES.get(ends, ()) or (ends[2] == "CURRENT ROW" and not order):
        raise Refused(
            f"{spec.sql()} may depend on the order of equal rows; leave it out: the window then ends with the rows "
            "that are equal to the present one",
            node,
        )
    return ends[2] == "CURRENT ROW"


def _reduction(node: Any, kind: str, keep: Any, scope: Scope) -> tuple[Callable[[Any], Any], Cell]:
    """The aggregate as a function of the relation, and what is known of its value."""
    allow_only(node, "this", "big_int")
    inside = node.this
    if kind == "Count" and (type(inside).__name__ == "Star" or scope.is_unit(inside)):
        if keep is None:
            return (lambda relation: relation.count()), Cell(None, 0)
        kept = ibis().cases((keep, ibis().literal(1)), else_=ibis().null("int8"))
        return (lambda relation: kept.count()), Cell(None, 0)
    if type(inside).__name__ == "Distinct":
        raise Refused(f"{node.sql()} with DISTINCT is not answered in a window; leave DISTINCT out", node)
    cell = scope.rows.of(inside)
    if kind in ("Sum", "Avg") or cell.family in ("number", "truth"):
        cell = as_number(cell, node) if kind != "Count" else cell
    column = cell.column
    if keep is not None:
        column = ibis().cases((keep, column), else_=ibis().null(column.type()))
    call = _CALLS[kind]
    if kind == "Count":
        return (lambda relation: column.count()), Cell(None, 0)
    if kind in ("Min", "Max"):
        values = None if cell.values is None else tuple(dict.fromkeys((*cell.values, None)))
        known = replace(cell, column=None, values=values if cell.family == "text" else None, constant=False, value=None)
        return (lambda relation: getattr(column, call)()), known
    known = Cell(None, cell.low, cell.high, private=cell.private) if kind == "Avg" else Cell(None)
    return (lambda relation: getattr(column, call)()), known
