"""Statements that say the same in a way that is answered: for the suggestions of refusals."""

from __future__ import annotations

from typing import Any

from hush.tables.sql.aggregates import has_aggregate
from hush.tables.sql.refusal import Refused
from hush.tables.sql.scope import Scope

__all__ = ["refuse_distinct", "with_people"]


def refuse_distinct(select: Any, scope: Scope) -> None:
    """Refuse SELECT DISTINCT, with GROUP BY in its place."""
    if not select.args.get("distinct"):
        return
    if not any(has_aggregate(part) for part in select.expressions):
        raise Refused(
            "SELECT DISTINCT lists the values of all people, and one of them may have a value that nobody else has; "
            "count the people of each value, with GROUP BY",
            select,
            with_people(select, scope),
        )
    raise Refused(
        "SELECT DISTINCT is not needed: an answer has one row for each group of GROUP BY; leave DISTINCT out",
        select,
        _grouped(select),
    )


def _grouped(select: Any) -> Any:
    """The statement without DISTINCT, grouped by its columns that are no aggregates."""
    import sqlglot

    made = select.copy()
    made.set("distinct", None)
    plain = [part.unalias().copy() for part in made.expressions if not has_aggregate(part)]
    if plain and made.args.get("group") is None:
        made.set("group", sqlglot.exp.Group(expressions=plain))
    return made


def with_people(select: Any, scope: Scope) -> Any:
    """The statement with COUNT(DISTINCT unit), grouped by its columns: for a suggestion."""
    import sqlglot

    exp, made = sqlglot.exp, select.copy()
    plain = [
        part
        for part in made.expressions
        if type(part.unalias()).__name__ != "Star" and not scope.is_unit(part.unalias())
    ]
    people = exp.alias_(exp.Count(this=_counted(scope)), "people")
    made.set("expressions", [part.copy() for part in plain] + [people])
    for clause in ("distinct", "having", "order", "limit", "offset", "group"):
        made.set(clause, None)
    if plain:
        made.set("group", exp.Group(expressions=[part.unalias().copy() for part in plain]))
    return made


def _counted(scope: Scope) -> Any:
    import sqlglot

    if not scope.units:
        return sqlglot.exp.Star()
    return sqlglot.exp.Distinct(expressions=[sqlglot.exp.column(unit) for unit in scope.units])
