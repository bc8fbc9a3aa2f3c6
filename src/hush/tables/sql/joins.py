"""JOIN: with a public table of the policy on any key, with another table of the same people on the unit of both, or on
the key by which one table is linked to its people.

Each row of the result belongs to one person (`hush.tables.ownership`). The rules of both tables count: the bounds and
values of their columns, and the smaller limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hush.errors import InvalidParameter
from hush.tables.expression import operations
from hush.tables.joining import is_along_a_link
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.cell import Cell
from hush.tables.sql.from_clause import declared, source_of
from hush.tables.sql.logic import conjuncts
from hush.tables.sql.refusal import Refused
from hush.tables.sql.rewrites import refuse_comma
from hush.tables.sql.scope import Scope, matching

__all__ = ["joined"]


@dataclass(frozen=True)
class _Side:
    """The right side of a join: a table, its alias, its cells and their columns in the table."""

    table: Any
    alias: str
    cells: Mapping[str, Cell]
    names: Mapping[str, str]
    #: the rows of a table of people
    people: Scope | None = None


def joined(found: Scope, join: Any, policy: Catalogue, ctes: Mapping[str, Any]) -> Scope:
    """The rows of the left table, each with the columns of the rows that match it."""
    node = join.this
    public = [name for name, rule in policy.tables.items() if rule.public]
    name = matching(node.name, public) if type(node).__name__ == "Table" and not node.args.get("db") else None
    if name is not None and matching(node.name, ctes) is None:
        other, rule = policy.lookup(name), policy.rule(name)
        cells = {column: declared(other.root.source.relation[column], rule.column(column)) for column in other.columns}
        side = _Side(other, node.alias or name, cells, {column: column for column in cells})
    else:
        right, names = _settled(source_of(node, policy, found.dialect, ctes))
        if not right.aliases:
            raise Refused("a subquery in JOIN needs a name; write AS name", join)
        side = _Side(right.table, right.aliases[0], right.columns, names, right)
    if matching(side.alias, found.aliases) is not None:
        raise Refused(f"two tables of FROM are called {side.alias}; write AS and another name", join)
    refuse_comma(join.parent, join, found, side.alias, side.people.units if side.people is not None else ())
    how = _how(join, found, side)
    left, names = _settled(found)
    pairs = _pairs(join, left, names, side)
    suffix = _suffix(left.table, side)
    try:
        made = left.table.join(side.table, on=pairs, how=how, suffix=suffix)
    except InvalidParameter as failure:
        raise Refused(str(failure), join) from failure
    return _result(left, names, side, made, pairs, how, suffix)


def _result(
    left: Scope, names: Mapping[str, str], side: _Side, made: Any, pairs: Mapping[str, str], how: str, suffix: str
) -> Scope:
    """The columns of both sides over the joined table."""
    taken = {name.casefold() for name in left.table.relation.columns}
    merged = {b for a, b in pairs.items() if a == b}
    theirs: dict[str, Cell] = {}
    for name, cell in side.cells.items():
        column = side.names[name]
        if column in merged and how == "left":
            continue  # the joined table has one column for both keys, and it is never null
        new = column if column in merged or column.casefold() not in taken else f"{column}{suffix}"
        theirs[name] = replace(cell, column=made[new])
    moved = left.over_columns(made)
    known = {name.casefold(): name for name in moved.columns}
    same = {known[name.casefold()] for name in theirs if name.casefold() in known}
    using = {name for name in same if pairs.get(names[name]) in merged}
    doubtful = moved.ambiguous | (same - using)
    columns = {name: cell for name, cell in {**theirs, **moved.columns}.items() if name not in doubtful}
    qualified = moved.qualified or dict.fromkeys(moved.aliases, moved.columns)
    found = replace(
        moved,
        columns=columns,
        qualified={**qualified, side.alias: theirs},
        ambiguous=frozenset(doubtful),
        aliases=(*left.aliases, side.alias),
    )
    return found if side.people is None else _of_both(found, side, made, how)


def _of_both(found: Scope, side: _Side, made: Any, how: str) -> Scope:
    """The joined rows of two tables of people, with the limits of both."""
    right = side.people
    assert right is not None
    rule = made.rule if not made.one_row else replace(made.rule, rows_per_unit=1, groups_per_unit=1)
    also = tuple((side.alias, unit, how == "inner") for unit in right.units)
    name = found.name if found.rule.ledger is not None or right.rule.ledger is None else right.name
    return replace(found, name=name, rule=rule, also=(*found.also, *also))


def _settled(scope: Scope) -> tuple[Scope, dict[str, str]]:
    """The scope with every cell as a column of its filtered table, and the names of these columns."""
    found = scope.over(scope.filtered())
    relation, field = found.table.relation.op(), operations().Field
    cells = [cell for group in (found.columns, *found.qualified.values()) for cell in group.values()]
    taken, made = {name.casefold() for name in found.table.relation.columns}, dict[Any, str]()
    for cell in cells:
        op = cell.column.op()
        if op in made or (isinstance(op, field) and op.rel == relation):
            continue
        number = len(made) + 1
        while f"computed_{number}" in taken:
            number += 1
        taken.add(f"computed_{number}")
        made[op] = f"computed_{number}"
    if made:
        table = found.table.mutate(**{name: op.to_expr() for op, name in made.items()})

        def moved(cell: Cell) -> Cell:
            op = cell.column.op()
            return replace(cell, column=table[made.get(op, op.name)])

        columns = {name: moved(cell) for name, cell in found.columns.items()}
        qualified = {alias: {n: moved(c) for n, c in group.items()} for alias, group in found.qualified.items()}
        found = replace(found, table=table, columns=columns, qualified=qualified)
    found = replace(found, listed=(), windows={})
    return found, {name: cell.column.op().name for name, cell in found.columns.items()}


def _how(join: Any, found: Scope, side: _Side) -> str:
    """inner or left; other joins and conditions are refused."""
    for part, value in join.args.items():
        if value and part not in ("this", "on", "using", "side", "kind"):
            raise Refused(f"JOIN with {part.upper()} is not answered", join)
    way, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
    if (
        way not in ("", "LEFT")
        or kind not in ("", "INNER", "OUTER")
        or not (join.args.get("on") or join.args.get("using"))
    ):
        sentence = "JOIN is answered as INNER JOIN or LEFT JOIN with ON a = b or USING (a)"
        raise Refused(sentence, join)
    return "left" if way else "inner"


def _pairs(join: Any, left: Scope, names: Mapping[str, str], side: _Side) -> dict[str, str]:
    """The columns that must be equal, of the left table and of the right one. Units are compared as their keys."""
    using = join.args.get("using") or ()
    parts = [(part, part) for part in using] if using else _compared(join, left, names, side)
    pairs: dict[str, str] = {}
    units: list[tuple[str, str]] = []
    right = side.people
    for a, b in parts:
        if not using and matching(str(a.args.get("table") and a.table), [side.alias]) is not None:
            a, b = b, a
        if not using and b.args.get("table") and matching(b.table, [side.alias]) is None:
            sentence = f"JOIN compares a column of {left.name} with one of {side.alias}"
            raise Refused(sentence, join)
        if right is not None and (unit := _units(a, b, left, right, bool(using))) is not None:
            units.append(unit)
            continue
        yours = matching(b.name, side.names)
        if yours is None or left.is_unit(a) or (using and matching(a.name, names) is None):
            sentence = f"JOIN needs a column of {left.name} and one of {side.alias} that may be asked"
            raise Refused(sentence, join)
        mine = names[str(matching(a.name, names))] if using else left.cell(a).column.op().name
        if pairs.setdefault(mine, side.names[yours]) != side.names[yours]:
            raise Refused(f"JOIN compares {a.name} with two columns of {side.alias}; compare it with one of them", join)
    if right is None:
        return pairs
    if not units and is_along_a_link(left.table, right.table, list(pairs.items())):
        return pairs  # the join compares the units too
    if not left.units or [(*left.units,), (*right.units,)] != [tuple(u) for u in zip(*units, strict=True)]:
        mine, yours = ", ".join(left.units) or "the unit", ", ".join(right.units) or "the unit"
        sentence = (
            f"{left.aliases[0]} and {side.alias} are tables of people, so a row may only be joined with rows of the "
            f"same person: join them on the unit of both, {mine} and {yours}"
        )
        raise Refused(sentence, join)
    _must_be_of_one_kind(join, left, right)
    return {left.table.unit: right.table.unit, **pairs}


def _compared(join: Any, left: Scope, names: Mapping[str, str], side: _Side) -> list[tuple[Any, Any]]:
    """The two columns of each comparison of ON."""
    parts = []
    for part in conjuncts(join.args["on"]):
        if type(part).__name__ != "EQ" or {type(end).__name__ for end in (part.this, part.expression)} != {"Column"}:
            raise Refused("JOIN compares columns with =", join)
        _must_be_clear(join, (part.this, part.expression), left, names, side)
        parts.append((part.this, part.expression))
    return parts


def _must_be_clear(join: Any, ends: Any, left: Scope, names: Mapping[str, str], side: _Side) -> None:
    """Refuse a column without its table where both tables have it."""
    theirs = [*side.names, *(side.people.units if side.people is not None else ())]
    for end in ends:
        mine = end.args.get("table") is None and matching(end.name, dict.fromkeys((*names, *left.units)))
        if mine and matching(end.name, dict.fromkeys(theirs)) is not None:
            hint = f"{left.aliases[0] if left.aliases else left.name}.{end.name} or {side.alias}.{end.name}"
            made = (
                _on_units(join, left, side)
                if _compares_units(ends, left, side) and join.args["on"] is end.parent
                else None
            )
            raise Refused(f"several tables have a column {end.name}; write {hint}", join, made)


def _must_be_of_one_kind(join: Any, left: Scope, right: Scope) -> None:
    """Refuse units that no engine can compare without a cast."""
    kinds = [side.table.relation[side.table.unit].type() for side in (left, right)]
    if kinds[0].is_integer() != kinds[1].is_integer() or (not kinds[0].is_integer() and kinds[0] != kinds[1]):
        raise Refused(
            f"{left.unit} is of type {kinds[0]} and {right.unit} of type {kinds[1]}, so they cannot be equal; cast one "
            "of them in the source",
            join,
        )


def _units(a: Any, b: Any, left: Scope, right: Scope, using: bool) -> tuple[str, str] | None:
    """The names of two unit columns that are compared; None if they are not both of a unit."""
    if not using and not left.is_unit(a):
        return None
    mine, yours = matching(a.name, left.units), matching(b.name, right.units)
    if mine is None and left.is_unit(a):  # the unit of a table that was joined before
        mine = left.units[0] if len(left.units) == 1 else None
    return None if mine is None or yours is None else (mine, yours)


def _compares_units(ends: Any, left: Scope, side: _Side) -> bool:
    """Does ON say `unit = unit`, with the same column of both tables and no table before it?"""
    names = [end.name for end in ends if end.args.get("table") is None]
    units = side.people.units if side.people is not None else ()
    return len(names) == 2 and all(
        len(known) == 1 == len({matching(n, known) for n in names} - {None}) for known in (left.units, units)
    )


def _on_units(join: Any, left: Scope, side: _Side) -> Any:
    """The join on the units, with the table before each of them; None if there is none."""
    import sqlglot

    right, exp = side.people, sqlglot.exp
    if right is None or not left.units or len(left.units) != len(right.units):
        return None
    made = exp.Join(this=join.this.copy())
    if str(join.args.get("side") or "").upper() == "LEFT":
        made.set("side", "LEFT")
    pairs = zip(left.units, right.units, strict=True)
    made.set(
        "on",
        exp.and_(
            *(exp.EQ(this=exp.column(a, left.aliases[0]), expression=exp.column(b, side.alias)) for a, b in pairs)
        ),
    )
    return made if left.aliases else None


def _suffix(table: Any, side: _Side) -> str:
    """An ending for names of the right table that the left one has, which makes no name twice."""
    theirs = side.people.table.relation.columns if side.people is not None else side.table.columns
    taken, ending, number = {name.casefold() for name in (*table.relation.columns, *theirs)}, "_right", 2
    while any(f"{name}{ending}".casefold() in taken for name in theirs):
        ending, number = f"_right{number}", number + 1
    return ending
