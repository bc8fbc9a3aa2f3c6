"""Exact integer aggregates, before noise: an Ibis expression, and the Arrow batches that an engine makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hush.tables.arrow import arrow, filled, named, named_schema, whole_table
from hush.tables.contribution import Reach
from hush.tables.engines import engine_of
from hush.tables.engines.contract import Source
from hush.tables.group import Grouping

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
        run = engine_of(self.source.backend).batches
        if self.grouping.keys is not None:
            found = run(self.source, self.plan, size)
            keys = self.grouping.columns() if self.grouping.names else {}
            return filled(found, keys, len(self.grouping.keys), self.columns, size)
        ordered = self.plan.order_by([self.plan[f"g{i}"].asc(nulls_first=False) for i in range(len(self.keys))])
        return (named(batch, (*self.keys, *self.columns)) for batch in run(self.source, ordered, size))

    def empty(self) -> Any:
        """A table of no groups, with the columns and types of `to_arrow()`."""
        if self.grouping.keys is not None:
            keys = self.grouping.columns() if self.keys else {}
            fields = [(name, keys[name].type) for name in self.keys]
            return arrow().schema(fields + [(name, arrow().int64()) for name in self.columns]).empty_table()
        return self._schema().empty_table()

    def to_arrow(self) -> Any:
        """All groups as one Arrow table."""
        batches = list(self.batches())
        return whole_table(batches, batches[0].schema if batches else self._schema())

    def _schema(self) -> Any:
        return named_schema(self.plan.schema().to_pyarrow(), (*self.keys, *self.columns))
