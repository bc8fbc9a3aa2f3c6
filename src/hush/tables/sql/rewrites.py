"""Parts of a statement that say the same in a way that is answered: for the suggestions of refusals, and for means."""

from __future__ import annotations

from typing import Any

from hush.tables.sql.aggregates import has_aggregate, is_aggregate
from hush.tables.sql.logic import conjuncts
from hush.tables.sql.refusal import Refused
from hush.tables.sql.scope import Scope, matching

__all__ = ["refuse_comma", "refuse_distinct", "refuse_having", "refuse_row_tests"]

#: The names of a row for each person that a condition on other rows becomes.
_MATCHED, _ID, _ROWS = "matched", "matched_id", "matched_rows"


def refuse_distinct(select: Any, scope: Scope) -> None:
    """Refuse SELECT DISTINCT, with GROUP BY in its place."""
    if not select.args.get("distinct"):
        return
    if not any(has_aggregate(part) for part in select.expressions):
        raise Refused(
            "SELECT DISTINCT lists the values of all people, and one of them may have a value that nobody else has; "
            "count the people of each value, with GROUP BY",
            select,
            _with_people(select, scope),
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


def _with_people(select: Any, scope: Scope) -> Any:
    """The values of SELECT DISTINCT as groups, with the number of people of each; None if they are not plain values."""
    import sqlglot

    exp, made = sqlglot.exp, select.copy()
    plain = [part for part in made.expressions if type(part.unalias()).__name__ != "Star"]
    if len(plain) < len(made.expressions) or any(scope.is_unit(part.unalias()) for part in plain):
        return None
    units = [exp.column(unit) for unit in scope.units]
    people = exp.alias_(exp.Count(this=exp.Distinct(expressions=units) if units else exp.Star()), "people")
    made.set("expressions", [*(part.copy() for part in plain), people])
    made.set("distinct", None)
    made.set("group", exp.Group(expressions=[part.unalias().copy() for part in plain]))
    return made


# -- HAVING of a row for each person -------------------------------------------------------------------------


def refuse_having(select: Any) -> None:
    """Refuse HAVING in a subquery, with WHERE outside of it: there each aggregate has its name."""
    having = select.args.get("having")
    if having is None:
        return
    outer: Any = select.parent.parent.parent if type(select.parent).__name__ == "Subquery" else None
    inside = (
        type(outer).__name__ == "Select" and outer.args["from_"].this is select.parent and not outer.args.get("joins")
    )
    raise Refused(
        "HAVING is not answered in a subquery; name its aggregates there (AS name), and write WHERE outside",
        outer if inside else having,
        _where_outside(outer, having.this) if inside else None,
    )


def _where_outside(outer: Any, having: Any) -> Any:
    """The outer statement with the condition of HAVING in its WHERE."""
    import sqlglot

    exp, made = sqlglot.exp, outer.copy()
    inner, condition = made.args["from_"].this.this, having.copy()
    inner.set("having", None)
    names = {part.unalias().sql(): part.alias for part in inner.expressions if part.alias}
    holder = exp.Paren(this=condition)
    for node in [node for node in holder.walk() if is_aggregate(node)]:
        text = node.sql()
        if text not in names:
            names[text] = f"having_{len(names) + 1}"
            inner.append("expressions", exp.alias_(node.copy(), names[text]))
        node.replace(exp.column(names[text]))
    return made.where(holder.this if isinstance(holder.this, exp.Binary) else holder, copy=False)


# -- conditions on other rows of a person --------------------------------------------------------------------


def refuse_row_tests(select: Any, scope: Scope) -> None:
    """Refuse IN (SELECT ...) and EXISTS in WHERE; where they ask for a row of the same person, JOIN says the same."""
    where = select.args.get("where")
    for part in () if where is None else conjuncts(where.this):
        kind = type(part).__name__
        if kind == "In" and part.args.get("query") is not None:
            inner = part.args["query"].unnest()
            unit = inner.expressions[0] if len(inner.expressions) == 1 and scope.is_unit(part.this) else None
        elif kind == "Exists":
            inner, unit = _without_link(part.this.unnest(), scope)
        else:
            continue
        raise Refused(
            "a condition on the rows of another table is not answered in WHERE; join it: JOIN (SELECT unit, COUNT(*) "
            "AS n ... GROUP BY unit) has one row for each person",
            select,
            None if unit is None else _joined(select, part, inner, unit.unalias(), scope),
        )


def _without_link(inner: Any, scope: Scope) -> tuple[Any, Any]:
    """The subquery of EXISTS without its comparison with the unit outside, and the column that it compares."""
    copy = inner.copy()
    where = copy.args.get("where")
    aliases = [node.alias_or_name for node in (copy.args["from_"].this,)] if copy.args.get("from_") else []
    for part in () if where is None else conjuncts(where.this):
        ends = (part.this, part.expression) if type(part).__name__ == "EQ" else ()
        for here, there in (ends, ends[::-1]) if ends else ():
            mine = type(here).__name__ == "Column" and here.table and matching(here.table, aliases) is not None
            theirs = type(there).__name__ == "Column" and there.table and matching(there.table, aliases) is None
            if mine and theirs and scope.is_unit(there):
                _drop(part)
                return copy, here
    return inner, None


def _joined(select: Any, part: Any, inner: Any, unit: Any, scope: Scope) -> Any:
    """The statement with a join of one row for each person in the place of a condition."""
    import sqlglot

    exp, made = sqlglot.exp, select.copy()
    if type(unit).__name__ != "Column" or inner.args.get("group") or not scope.aliases or len(scope.units) != 1:
        return None
    rows = inner.copy()
    for clause in ("distinct", "order"):
        rows.set(clause, None)
    rows.set("expressions", [exp.alias_(unit.copy(), _ID), exp.alias_(exp.Count(this=exp.Star()), _ROWS)])
    rows.set("group", exp.Group(expressions=[unit.copy()]))
    place = next(i for i, node in enumerate(select.walk()) if node is part)
    _drop(next(node for i, node in enumerate(made.walk()) if i == place))
    same = exp.EQ(this=exp.column(scope.units[0], scope.aliases[0]), expression=exp.column(_ID, _MATCHED))
    made.append(
        "joins", exp.Join(this=exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier(_MATCHED))), on=same)
    )
    return made


def refuse_comma(select: Any, join: Any, scope: Scope, alias: str, units: tuple[str, ...]) -> None:
    """Refuse FROM a, b WHERE a.unit = b.unit, with JOIN ... ON a.unit = b.unit in its place."""
    import sqlglot

    where = select.args.get("where")
    if where is None or any(join.args.get(name) for name in ("on", "using", "side", "kind", "method")):
        return
    for number, part in enumerate(conjuncts(where.this)):
        ends = (part.this, part.expression) if type(part).__name__ == "EQ" else ()
        for mine, theirs in (ends, ends[::-1]) if ends else ():
            named = type(theirs).__name__ == "Column" and theirs.table and matching(theirs.table, [alias]) is not None
            if (
                not named
                or matching(theirs.name, units) is None
                or not mine.args.get("table")
                or not scope.is_unit(mine)
            ):
                continue
            made = select.copy()
            _drop(list(conjuncts(made.args["where"].this))[number])
            place = [node is join for node in select.args["joins"]].index(True)
            made.args["joins"][place].replace(sqlglot.exp.Join(this=join.this.copy(), on=part.copy()))
            raise Refused("a join is written with JOIN ... ON, not with a comma", select, made)


def _drop(part: Any) -> None:
    """Leave out one condition of a WHERE clause, whose meaning stands elsewhere."""
    parent = part.parent
    while type(parent).__name__ == "Paren":
        part, parent = parent, parent.parent
    if type(parent).__name__ == "And":
        parent.replace((parent.expression if part is parent.this else parent.this).copy())
    else:
        parent.pop()
