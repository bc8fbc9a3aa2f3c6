"""Rows without a column of the person, such as the lines of orders: a key leads to the table that has it.

Each line gets the unit of the person whose orders have its order id. If the orders of this id belong to several people,
or if one of them belongs to nobody, then the line belongs to nobody, and it is in no answer. So privacy does not rest
on the order ids: each line belongs to at most one person, whatever the data are.

Linked tables. Let P be the table with the people (rows p with the key k(p) and the unit w(p), which may be null), and L
the table that is linked to it. hush gives the row l the unit v if there is a row of P with the key k(l), and all of
them carry v. Otherwise l carries null: it belongs to nobody.

Claim. A row of L that is no row of u carries the same unit in D and in D'. A row of u carries u or null. So the rows
that carry another unit v are the same in D and D', and a linked table is a source of (*), whatever the keys are: also
if an order id occurs in the orders of two people.

Proof, by induction from P to L; for a table with a unit column both sentences hold by definition. If l is no row of u,
then no row of u in P has the key k(l). So the rows of P with this key are the same in D and D', and they carry the same
units. Hence l carries the same unit. If l is a row of u, then a row of u in P has the key k(l), and it carries u or
null. So l carries u or null.   QED

(If the lines of a shared order went to one of its people, or to both, then a person who leaves with these lines would
change the rows of the other. Such lines therefore go to nobody.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, called_like
from hush.tables.description import TableDescription
from hush.tables.engines.contract import Source
from hush.tables.expression import as_text, compared
from hush.tables.joining import join_of, moved, pairs_of
from hush.tables.opening import changed
from hush.tables.quantise import Limits
from hush.tables.root import Link, Root
from hush.tables.source import open_source
from hush.tables.unit import KEY

if TYPE_CHECKING:
    from hush.tables.query import Table

__all__ = ["linked", "with_link"]


@called_like("linked('lines.csv', to=orders, on='order_id')")
def linked(
    source: Any,
    *,
    to: Any,
    on: Any,
    name: str | None = None,
    engine: Any = "duckdb",
    max_rows: int = 2**40,
    types: Mapping[str, str] | None = None,
    csv: Mapping[str, Any] | None = None,
) -> Table:
    """A table of people's rows without a column of the person, such as the lines of orders:
    `lines = tables.linked("lines.csv", to=orders, on="order_id")`.

    `to` is the table that has the person, as `tables.table` or `tables.linked` opened it. `on` is the key: a column,
    several columns, or a mapping of this table's columns to those of `to`. Each row belongs to the person whose rows in
    `to` have its key. A row whose key has no person, or several, belongs to nobody and is left out. `orders.join(lines,
    on="order_id")` gives the lines with their orders.
    """
    from hush.tables.query import Table

    if not isinstance(to, TableDescription):
        raise InvalidParameter(
            f"to must be the table of people that the rows belong to, got {type(to).__name__}; write "
            "linked('lines.csv', to=orders, on='order_id')."
        )
    if len(to.roots) != 1 or to.relation.op() != to.source.relation.op():
        raise InvalidParameter(
            "to must be a table as it was opened, without filters, columns or joins: whose a row is must not depend on "
            "the question; link the table first, and then filter or join it."
        )
    keys = [on] if isinstance(on, str) else list(on) if isinstance(on, Iterable) else []
    opened = open_source(source, name=name, engine=engine, types=types, csv=csv, fields=keys)
    return Table(**with_link(opened, to.roots[0], on), limits=Limits(max_rows))


def with_link(opened: Source, parent: Root, on: Any, *, visible: Sequence[str] | None = None) -> dict[str, Any]:
    """What a link says about a table: its rows with the key of their person, as `opening.with_unit` gives it.

    With `visible`, only these columns are kept.
    """
    if parent.unit is None or parent.whose is None or parent.whose.each_row:
        raise InvalidParameter(
            "a link needs a table with a unit of columns: where each row is a person, a key may lead to several people."
        )
    home = parent.source
    lines = moved(Root(opened), home, copy=False).source
    pairs = pairs_of(lines.relation, home.relation, on)
    key = KEY
    while any(column.startswith(key) for column in lines.relation.columns):
        key += "."

    def change(rows: Any, people: Any) -> Any:
        made = _with_person(rows, people, parent.unit, pairs, key)
        return made if visible is None else made.select(*visible, key)

    source = _both(lines, home, change)
    root = Root(
        source,
        key,
        population=parent.population,
        whose=parent.whose,
        through=parent,
        link=Link(tuple(a for a, _ in pairs), tuple(b for _, b in pairs)),
    )
    return {
        "source": source,
        "relation": source.relation,
        "unit": key,
        "declared_unit": parent.whose,
        "roots": (root,),
        "one_row": False,
    }


def _both(lines: Source, home: Source, change: Any) -> Source:
    """The linked rows on the connection of their people, also where both are opened again on another one."""
    again = lines.reopen, home.reopen
    reopen = None if None in again else partial(_again, *again, change)
    made = changed(replace(lines, reopen=None), lambda rows: change(rows, home.relation))
    return replace(made, frames={**home.frames, **lines.frames}, reopen=reopen)


def _again(lines: Any, home: Any, change: Any, backend: Any) -> Source:
    return _both(lines(backend), home(backend), change)


def _with_person(rows: Any, people: Any, unit: Any, pairs: Sequence[tuple[str, str]], key: str) -> Any:
    """The rows, and in the column `key` the only person whose rows have their key; null if there is none."""
    names = [f"{key}{i}" for i in range(len(pairs))]
    kept = people.select(
        **{name: compared(people[b]) for name, (_, b) in zip(names, pairs, strict=True)}, u=_sortable(people[unit])
    )
    grouped = kept.group_by(names).aggregate(
        least=kept["u"].min(), most=kept["u"].max(), known=kept["u"].count(), rows=kept.count()
    )
    alone = (compared(grouped["least"]) == compared(grouped["most"])) & (grouped["known"] == grouped["rows"])
    person = grouped["least"].cast(people[unit].type()) if people[unit].type().is_uuid() else grouped["least"]
    owners = grouped.filter(alone).select(*names, **{key: person})
    on = [(a, name) for name, (a, _) in zip(names, pairs, strict=True)]
    return join_of(rows, owners, on, "left").select(*rows.columns, key)


def _sortable(unit: Any) -> Any:
    """A unit of which the engines find the least and the greatest value: text by its bytes."""
    return compared(as_text(unit) if unit.type().is_uuid() else unit)
