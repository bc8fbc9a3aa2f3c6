"""Exact integer aggregates, before noise: an Ibis expression, and the Arrow batches that an engine makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from hush.tables.arrow import arrow, chosen_rows, filled, named, named_schema, plain_numbers, whole_table
from hush.tables.contribution import Reach
from hush.tables.engines import engine_of
from hush.tables.engines.contract import Source
from hush.tables.group import Grouping
from hush.tables.people_piece import PEOPLE

__all__ = ["Aggregates"]

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
        run, plan = engine_of(self.source.backend).batches, self.plan
        if self.grouping.keys is not None:
            about, found = self._apart(run(self.source, plan, size), every=True)
            keys = self.grouping.columns() if self.grouping.names else {}
            return about, filled(found, keys, len(self.grouping.keys), self.columns, size)
        by = [plan[f"g{i}"].asc(nulls_first=False) for i in range(len(self.keys))]
        ordered = plan.order_by([plan[PEOPLE].desc(), *by] if self.about else by)
        about, found = self._apart(run(self.source, ordered, size), every=False)
        return about, (named(batch, (*self.keys, *self.columns)) for batch in found)

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
