"""A digest of a question: equal for equal questions, on whatever file, connection or day they are asked.

It covers all that decides which numbers are measured: the columns of groups, of the unit and of the aggregates, down to
the columns of the source from which they are computed; filters, joins and tables of one row for each person; the
aggregates with their bounds; keys and limits. Of private tables only the name in a policy counts,
not the name of the file and not the contents, so that the file of each month can be asked the same question. Of public
tables in memory the contents count too. Ibis gives tables in memory a new name in every process: this is why
the texts of Ibis cannot be used.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hush.tables.description import QueryDescription, TableDescription
from hush.tables.expression import bind, operations
from hush.tables.root import Root

__all__ = ["question_digest", "rows_digest"]


def question_digest(query: QueryDescription, *, filters: bool = True) -> str:
    """The digest of a query, as text. With filters=False the rows that are kept do not matter."""
    read, table, grouping = _Reader(query.table, filters), query.table, query.grouping
    field = operations().Field
    return _digest(
        [
            read.of(table.relation.op()),
            [table.whose.words, *([] if table.person is None else [read.of(field(table.relation.op(), table.unit))])],
            [[name, read.of(field(table.relation.op(), name))] for name in grouping.names],
            [repr(grouping.keys), grouping.groups, grouping.one_row, grouping.open_limit],
            [[name, read.measure(measure)] for name, measure in query.declared],
            [[measure.name, measure.kind, measure.bounds_text] for measure in query.measures],
            [table.limits.rows, repr(query.ladder), sorted(query.open_rows)],
        ]
    )


def rows_digest(table: TableDescription, columns: Sequence[str] = ()) -> str:
    """The digest of the rows of a table, as text: its sources, everything that was done to them, whose they are, and
    what these columns of them are.
    """
    read, node = _Reader(table, True), table.relation.op()
    names = [*columns, *([] if table.person is None else [table.unit])]
    return _digest([read.of(node), table.whose.words, [read.of(operations().Field(node, name)) for name in names]])


def _digest(thing: Any) -> str:
    return hashlib.sha256(json.dumps(thing).encode("utf-8", "surrogatepass")).hexdigest()


def _contents(root: Root) -> str:
    """The digest of the rows of a public table in memory, which may be a list that decides which rows count."""
    if not root.label.startswith("a frame"):
        return ""
    rows = root.source.relation.to_pyarrow()
    return _digest([rows.schema.to_string(), repr(rows.to_pydict())])


class _Reader:
    """Digests of the nodes of an Ibis tree."""

    def __init__(self, table: TableDescription, filters: bool) -> None:
        self._ops, self._relation, self._filters = operations(), table.relation, filters
        self._known: dict[Any, str] = {}
        self._places: dict[Any, int] = {}  # of tables and references, by their first appearance
        self._names = {
            node: root.called if root.private else f"{root.label} {_contents(root)}"
            for root in table.roots
            for node in root.node.find(self._ops.PhysicalTable)
        }

    def of(self, thing: Any) -> Any:
        """A node as its digest, and everything else as values for JSON."""
        if isinstance(thing, self._ops.Node):
            if thing not in self._known:
                found = self._node(thing)
                self._known[thing] = found if isinstance(found, str) else _digest(found)
            return self._known[thing]
        if isinstance(thing, tuple | list):
            return [self.of(part) for part in thing]
        if isinstance(thing, Mapping):
            return [[self.of(name), self.of(part)] for name, part in thing.items()]
        if isinstance(thing, set | frozenset):
            return sorted(json.dumps(self.of(part)) for part in thing)
        return repr(thing)

    def measure(self, measure: Any) -> list[Any]:
        """An aggregate as it was declared. Its column may be a name, an expression or a function of the table."""
        found: list[Any] = [type(measure).__name__]
        for field in dataclasses.fields(measure):
            given = getattr(measure, field.name)
            expression = given is not None and (field.name == "column" or hasattr(given, "op") or callable(given))
            node = bind(self._relation, given, "an aggregate").op() if expression else given
            found.append([field.name, self.of(node)])
        return found

    def _node(self, node: Any) -> str | list[Any]:
        """What decides the digest of a node. A node that only passes on another one has the digest of that one."""
        ops, word = self._ops, type(node).__name__
        if isinstance(node, ops.Field):
            return self._column(node.rel, node.name)
        if isinstance(node, ops.Alias):
            return str(self.of(node.arg))
        if isinstance(node, ops.Relation):
            return self._rows(node)
        several = isinstance(node, ops.Reduction | ops.Analytic | ops.WindowFunction)  # they depend on which rows exist
        rows = sorted(self.of(relation) for relation in node.relations) if several else []
        return [word, [self.of(part) for part in node.__args__], rows]

    def _column(self, relation: Any, name: str) -> str | list[Any]:
        """A column: what it is computed from, through all steps that only pass it on."""
        ops = self._ops
        if isinstance(relation, ops.Reference):
            return ["reference", self._place(relation), self.of(ops.Field(relation.parent, name))]
        if isinstance(relation, ops.Aggregate):
            return ["of a person", self.of(relation), self.of(relation.values[name])]
        if isinstance(relation, ops.FillNull):
            under = self.of(ops.Field(relation.parent, name))
            return ["filled", under, self.of(relation.replacements)]
        if name in relation.values:
            return str(self.of(relation.values[name]))
        return ["column", self.of(relation), name]

    def _rows(self, relation: Any) -> str | list[Any]:
        """Which rows a relation has. Columns that nothing uses do not matter, and an order does not."""
        ops = self._ops
        if isinstance(relation, ops.PhysicalTable):
            return ["table", self._place(relation), self._names.get(relation, "")]
        if isinstance(relation, ops.Reference):
            return ["reference", self._place(relation), self.of(relation.parent)]
        if isinstance(relation, ops.Project | ops.Sort | ops.DropColumns | ops.FillNull):
            return str(self.of(relation.parent))
        if isinstance(relation, ops.Filter | ops.DropNull) and not self._filters:
            return str(self.of(relation.parent))
        if isinstance(relation, ops.JoinChain):
            return ["join", self.of(relation.first), self.of(relation.rest)]
        if isinstance(relation, ops.Aggregate):
            return ["one row for each", self.of(relation.groups), self.of(relation.parent)]
        return [type(relation).__name__, [self.of(part) for part in relation.__args__]]

    def _place(self, node: Any) -> int:
        return self._places.setdefault(node, len(self._places))
