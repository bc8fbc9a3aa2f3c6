"""Joins: with a public table on any key, and with another table of people on the unit of both.

`hush.tables.ownership` proves that every row of the result still belongs to one person. Here the two tables are brought
to one connection and joined on equal keys. Text keys are compared by their bytes. Floats are not keys: engines differ
in which of them are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hush.errors import InvalidParameter, Unsupported, called_like, one_of, shown
from hush.tables.arrow import arrow
from hush.tables.description import TableDescription
from hush.tables.engines import engine_of
from hush.tables.engines.contract import Source
from hush.tables.engines.pyspark import same_session, view_of
from hush.tables.expression import compared, ibis, must_have, operations
from hush.tables.ownership import must_be_owned
from hush.tables.policy.limits import combined
from hush.tables.quantise import Limits
from hush.tables.root import Root
from hush.tables.source import open_source
from hush.tables.unit import KEY

__all__ = ["SideTable", "is_along_a_link", "join_of", "joined", "moved", "pairs_of", "public"]

HINT = "write table.join(tables.public('wards.csv'), on='ward')"
#: The kinds of keys, and the Arrow types of the columns of a public table that is held in memory.
KINDS = ("integer", "string", "date", "boolean", "uuid")
IN_MEMORY = {"integer": "int64", "string": "string", "date": "date32", "boolean": "bool", "floating": "float64"}


@dataclass(frozen=True, repr=False)
class SideTable:
    """A public table, to be joined with a table of people."""

    root: Root

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.root.source.relation.columns)

    def __repr__(self) -> str:
        return f"SideTable({self.root.words}, columns={list(self.columns)})"


@called_like("public('wards.csv')")
def public(
    source: Any,
    *,
    name: str | None = None,
    engine: Any = "duckdb",
    types: Mapping[str, str] | None = None,
    csv: Mapping[str, Any] | None = None,
) -> SideTable:
    """A table that holds nothing about the people to be protected:
    `visits.join(tables.public("wards.csv"), on="ward")`.

    You declare that its rows may be known to anyone, and do not depend on who is in the private tables. It is opened
    like a `table`. If it is on another connection than the table it is joined with, it is read into memory.
    """
    return SideTable(Root(open_source(source, name=name, engine=engine, types=types, csv=csv)))


def joined(left: TableDescription, other: Any, on: Any, how: str, suffix: str) -> dict[str, Any]:
    """What changes in the description of the left table."""
    if not isinstance(other, TableDescription | SideTable):
        raise InvalidParameter(
            f"join needs a table that states whose rows it has, got {type(other).__name__}; write tables.public(...) "
            "for a public table, tables.table(..., unit=...) for rows of people, or tables.linked(..., to=..., on=...) "
            "for rows of people that are found by a key."
        )
    one_of("how", how, ("inner", "left"))
    if left.whose.each_row or (isinstance(other, TableDescription) and other.whose.each_row):
        raise InvalidParameter(
            "join needs a unit of columns: where each row is a person, a join could give one person several rows."
        )
    roots = other.roots if isinstance(other, TableDescription) else (other.root,)
    relation = other.relation if isinstance(other, TableDescription) else other.root.source.relation
    here = [moved(root, left.source, copy=not root.private) for root in roots]
    relation = relation.op().replace({root.node: new.node for root, new in zip(roots, here, strict=True)}).to_expr()
    every = _agreeing([*left.roots, *here])
    pairs = pairs_of(left.relation, relation, on)
    _must_not_name(left, other, pairs)
    if isinstance(other, TableDescription) and is_along_a_link(left, other, pairs):
        pairs = [*pairs_of(left.relation, relation, {left.unit: other.unit}), *pairs]
    made = join_of(left.relation, relation, pairs, how, suffix)
    frames = {name: frame for root in every for name, frame in root.source.frames.items()}
    changes = {
        "relation": made,
        "source": replace(left.source, frames=frames, reopen=None),
        "roots": every,
        "steps": (*left.steps, _words(other, pairs, how)),
        "one_row": must_be_owned(made, every, left.unit, "join").one_row,
    }
    if isinstance(other, TableDescription):
        changes |= {
            "filters": (*left.filters, *other.filters),
            "limits": Limits(max(left.limits.rows, other.limits.rows)),
            "rule": combined(left.rule, other.rule),
        }
    return changes


def is_along_a_link(left: TableDescription, other: TableDescription, pairs: list[tuple[str, str]]) -> bool:
    """Is it a join on the key by which one of the tables is linked to its people? Then the units are compared too: the
    rows of one key belong to one person, so this leaves out no pair of rows with a person.
    """
    sides = zip((left, other), zip(*pairs, strict=True), strict=True)
    return (left.unit, other.unit) not in pairs and any(
        root.link is not None and set(root.link.columns) <= set(names) for table, names in sides for root in table.roots
    )


def _must_not_name(left: TableDescription, other: TableDescription | SideTable, pairs: list[tuple[str, str]]) -> None:
    """Reject hidden keys of units as keys of a join, unless both tables are joined on their units."""
    theirs = other.hidden if isinstance(other, TableDescription) else frozenset()
    unit = other.unit if isinstance(other, TableDescription) else None
    for a, b in pairs:
        if (a in left.hidden or b in theirs) and (a, b) != (left.unit, unit):
            raise InvalidParameter("on uses the key of the unit, which a question cannot use.")


def join_of(left: Any, right: Any, pairs: Sequence[tuple[str, str]], how: str, suffix: str = "_right") -> Any:
    """The join as an Ibis relation. A key of the same name on both sides is one column."""
    ops = operations()
    first, second = ops.JoinReference(left.op(), 0), ops.JoinReference(right.op(), 1)
    ends = [[compared(ops.Field(*end).to_expr()) for end in ((first, a), (second, b))] for a, b in pairs]
    link = ops.JoinLink(how, second, [(one == other).op() for one, other in ends])
    values = {name: ops.Field(first, name) for name in left.columns}
    taken = {name.casefold() for name in left.columns}
    for name in right.columns:
        if (name, name) in pairs:
            continue
        new = name if name.casefold() not in taken else f"{name}{suffix}"
        if new.casefold() in taken:
            raise InvalidParameter(f"join would give two columns the name {shown(new)}; choose another suffix=.")
        taken.add(new.casefold())
        values[new] = ops.Field(second, name)
    chain = ops.JoinChain(first, [link], values)
    return ops.Project(chain, chain.fields).to_expr()


def pairs_of(left: Any, right: Any, on: Any) -> list[tuple[str, str]]:
    """The key columns of both sides, checked."""
    if isinstance(on, Mapping):
        pairs = list(on.items())
    elif isinstance(on, str):
        pairs = [(on, on)]
    elif isinstance(on, list | tuple):
        pairs = [(name, name) for name in on]
    else:
        raise InvalidParameter(f"on must be a column, a list of columns or a mapping, got {shown(on)}; {HINT}.")
    if not pairs:
        raise InvalidParameter(f"on names no column; {HINT}.")
    for place, (a, b) in enumerate(pairs, 1):
        must_have(left.columns, a, "on", 0 if isinstance(on, str) else place)
        must_have(right.columns, b, "on (of the other table)", 0 if isinstance(on, str) else place)
        kinds = [left[a].type(), right[b].type()]
        words = [next((kind for kind in KINDS if getattr(found, f"is_{kind}")()), None) for found in kinds]
        if None in words or words[0] != words[1]:
            raise InvalidParameter(
                f"on joins {shown(a)} of type {kinds[0]} and {shown(b)} of type {kinds[1]}; both must be whole "
                "numbers, or both "
                "text, dates, truth values or UUIDs; cast one of them in the source, or declare types= of a CSV file "
                "(floats are not keys, because engines differ in which of them are equal)."
            )
    return pairs


def _agreeing(roots: Sequence[Root]) -> tuple[Root, ...]:
    """The distinct sources. A table or a file that is declared in two ways is rejected."""
    kept: dict[Any, Root] = {}
    for root in [root for given in roots for root in given.ways]:
        for other in kept.values():
            differ = (other.declared, other.link) != (root.declared, root.link)
            if differ and (_tables(other) & _tables(root) or (other.label == root.label and _is_path(root.label))):
                raise InvalidParameter(
                    f"join uses one source in two ways, {shown(other.words)} and {shown(root.words)}; its rows "
                    "must belong to the same people in both."
                )
        kept[root.node] = root
    return tuple({root.node: root for root in roots}.values())


def _tables(root: Root) -> set[Any]:
    """The tables of an engine whose rows a source holds; not those that only tell whose rows they are."""
    ops = operations()
    owners = {under for link in root.node.find(ops.Aggregate) for under in link.find(ops.PhysicalTable)}
    return set(root.node.find(ops.PhysicalTable)) - (owners if root.link is not None else set())


def _is_path(label: str) -> bool:
    """Does a label name its rows? Frames have no name, and tables of two databases may share one."""
    return label.startswith("file ") or "://" in label


def moved(root: Root, home: Source, *, copy: bool) -> Root:
    """The same rows on the connection of another source. With `copy` they may be read into memory: they are public."""
    source = root.source
    if source.backend is home.backend:
        return root
    if home.owned and source.reopen is not None and source.backend.name == home.backend.name:
        new = source.reopen(home.backend)
        if new.relation.schema() != source.relation.schema():
            raise InvalidParameter(f"the columns of {root.label} have changed since it was opened; open it again.")
        return replace(root, source=new)
    if same_session(source.backend, home.backend):
        tables = source.relation.op().find(operations().DatabaseTable)
        op = source.relation.op().replace({table: table.copy(source=home.backend) for table in tables})
        return replace(root, source=replace(source, relation=op.to_expr(), backend=home.backend))
    if copy:
        return replace(root, source=_in_memory(source, home))
    raise Unsupported(
        f"join needs both tables on one connection, but {home.label} and {root.label} are on different ones; open both "
        "as files or frames, or both from the same Ibis connection or Spark session."
    )


def _in_memory(source: Source, home: Source) -> Source:
    """A public table as part of the query."""
    columns = {}
    for name in source.relation.columns:
        kind = source.relation[name].type()
        word = next((word for word in IN_MEMORY if getattr(kind, f"is_{word}")()), None)
        if word is None or kind.is_uint64():
            raise InvalidParameter(
                f"the public table {source.label} has the column {shown(name)} of type {kind}, which cannot be "
                "brought to another connection; cast it to whole numbers, float64, text or dates, or leave it out."
            )
        columns[name] = IN_MEMORY[word]
    batches = list(engine_of(source.backend).batches(source, source.relation, 65_536))
    pa = arrow()
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
    held = pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
    on_spark = home.backend.name == "pyspark"
    return Source(view_of(home.backend, held) if on_spark else ibis().memtable(held), home.backend, source.label)


def _words(other: TableDescription | SideTable, pairs: Sequence[tuple[str, str]], how: str) -> str:
    """The join in words."""
    keys = ", ".join(
        "the person" if a.startswith(KEY) or b.startswith(KEY) else a if a == b else f"{a} = {b}" for a, b in pairs
    )
    kind = "left-joined" if how == "left" else "joined"
    if isinstance(other, SideTable):
        what = f"the public table {other.root.label}"
    else:
        what = f"the rows of the same person in {other.source.label}"
        more = [*([other.roots[0].whose_words] if other.roots[0].link is not None else []), *other.steps]
        if more:
            what += f" ({'; '.join(more)})"
    return f"{kind} with {what} on {keys}"
