"""Exact integer aggregates, before noise: an Ibis expression, and the Arrow batches that an engine makes of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np

from hush.errors import InvalidParameter
from hush.tables.arrow import arrow, chosen_rows, filled, named, named_schema, plain_numbers, whole_table
from hush.tables.contribution import Reach
from hush.tables.engines import engine_of
from hush.tables.engines.contract import Source
from hush.tables.expression import operations
from hush.tables.group import Grouping
from hush.tables.people_piece import PEOPLE

__all__ = ["Aggregates", "must_run"]

BATCH = 65_536  # rows


@dataclass(frozen=True)
class Aggregates:
    """Exact integer aggregates, not yet private: group keys, then one int64 column per name in `columns`."""

    source: Source
    grouping: Grouping
    #: how far one person moves the columns
    sensitivity: Reach
    plan: Any  # the Ibis expression, with internal names: g0 ..., c0 ...
    #: the names of the columns about people, the last ones of the plan, if it has them; then its first column is p
    about: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the grouping columns."""
        return self.grouping.names

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the exact columns."""
        return self.sensitivity.columns

    def batches(self, *, size: int = BATCH) -> Iterator[Any]:
        """Arrow batches, in an order that reveals nothing about the data: public keys as listed, private keys
        sorted.
        """
        return self.read(size=size)[1]

    def read(self, *, size: int = BATCH) -> tuple[dict[str, Any], Iterator[Any]]:
        """The numbers about people, if the plan has them, and then the batches of groups, from one query."""
        run, asked = engine_of(self.source.backend).batches, self.asked
        if self.grouping.keys is not None:
            about, found = self._apart(run(self.source, asked, size), every=True)
            keys = self.grouping.columns() if self.grouping.names else {}
            return about, filled(found, keys, len(self.grouping.keys), self.columns, size)
        about, found = self._apart(run(self.source, asked, size), every=False)
        return about, (named(batch, (*self.keys, *self.columns)) for batch in found)

    @cached_property
    def asked(self) -> Any:
        """The expression that the engine runs: groups that are found privately are sorted."""
        if self.grouping.keys is not None:
            return self.plan
        by = [self.plan[f"g{i}"].asc(nulls_first=False) for i in range(len(self.keys))]
        return self.plan.order_by([self.plan[PEOPLE].desc(), *by] if self.about else by)

    def check(self) -> None:
        """Refuse what can be refused before a row is read."""
        must_run(self.source, self.asked)

    def people(self) -> dict[str, Any]:
        """The numbers about people alone, from a query of their own."""
        if not self.about:
            return {}
        rows = self.plan.filter(self.plan[PEOPLE] == 1)
        return self._apart(engine_of(self.source.backend).batches(self.source, rows, BATCH), every=True)[0]

    def without_people(self) -> Aggregates:
        """The same groups without the numbers about people."""
        if not self.about:
            return self
        rows, names = self.plan.filter(self.plan[PEOPLE] == 0), self.plan.columns
        return replace(self, plan=rows.select(*names[1 : -len(self.about)]), about=())

    def _apart(self, batches: Iterator[Any], *, every: bool) -> tuple[dict[str, Any], Iterator[Any]]:
        """The numbers about people, and the batches without them. The row about people is the first one; with `every`
        it may be any row, so all batches are read first.
        """
        if not self.about:
            return {}, batches
        first = list(batches) if every else list(islice(batches, 1))
        sums = [np.zeros(1, dtype=np.int64) for _ in self.about]
        for batch in first:
            for total, column in zip(sums, batch.columns[-len(self.about) :], strict=True):
                total += plain_numbers(column).sum(dtype=np.int64)
        return dict(zip(self.about, sums, strict=True)), self._groups(chain(first, batches))

    def _groups(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The rows and columns of groups."""
        for batch in batches:
            of_groups = np.flatnonzero(plain_numbers(batch.columns[0]) == 0)
            if of_groups.size:
                table = arrow().Table.from_batches([batch])
                kept = chosen_rows(table.select(table.column_names[1 : -len(self.about)]), of_groups)
                yield from kept.to_batches()

    def empty(self) -> Any:
        """A table of no groups, with the columns and types of `to_arrow()`."""
        if self.grouping.keys is not None:
            keys = self.grouping.columns() if self.keys else {}
            fields = [(name, keys[name].type) for name in self.keys]
            return arrow().schema(fields + [(name, arrow().int64()) for name in self.columns]).empty_table()
        return self._schema().empty_table()

    def to_arrow(self) -> Any:
        """All groups as one Arrow table."""
        return self.whole(self.batches())

    def whole(self, batches: Iterable[Any]) -> Any:
        """Batches of groups as one table."""
        held = list(batches)
        return whole_table(held, held[0].schema if held else self._schema())

    def _schema(self) -> Any:
        fields = list(self.plan.schema().to_pyarrow())
        of_groups = fields[1 : -len(self.about)] if self.about else fields
        return named_schema(of_groups, (*self.keys, *self.columns))


def must_run(source: Source, relation: Any) -> None:
    """Refuse, before a row is read, an expression that the engine cannot run, and columns that have changed since the
    table was opened.
    """
    _must_be_unchanged(source, relation)
    engine_of(source.backend).compile(source.backend, relation)


def _must_be_unchanged(source: Source, relation: Any) -> None:
    """Refuse tables and files whose columns or types have changed since they were opened: what was proved about them
    may not hold. Only schemas are read.
    """
    for node in relation.op().find(operations().DatabaseTable):
        place = tuple(part for part in (node.namespace.catalog, node.namespace.database) if part)
        try:
            with warnings.catch_warnings():  # Ibis 12 reads the schema through a name that DuckDB 2 deprecates
                warnings.simplefilter("ignore", DeprecationWarning)
                same = source.backend.table(str(node.name), database=place or None).schema() == node.schema
        except Exception:  # the engine's words are not shown; raised below
            same = False
        if not same:
            raise InvalidParameter(
                f"the columns of {source.label} have changed since it was opened, or it is gone; open it again; "
                "nothing was spent."
            )
