"""The engines: one table. Each says how an Ibis expression becomes a stream of Arrow batches.

Adding one that Ibis speaks to (PostgreSQL, BigQuery, Snowflake) is one line in ENGINES: `Engine("postgres", ibis_batches)`, and the tests
of `tests/engines` show whether it agrees to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hush.errors import HushError, Unsupported
from hush.tables.expression import operations, translation_error
from hush.tables.spark import must_be_ansi, spark_batches

__all__ = ["ENGINES", "WITHHELD", "Engine", "Source", "engine_of", "memory_tables"]

#: All that is said when an engine fails: its own message may quote a row, and nothing has been charged for showing one.
WITHHELD = (
    "the engine stopped while it ran the query, as on a value that it could not convert or read; its message is withheld because it may "
    "quote the data; run the expression yourself in the engine to see it."
)


@dataclass(frozen=True)
class Source:
    """Rows to ask about: an Ibis relation, the connection it lives on, and whether that connection is ours alone.

    `label` names it to people and to ledgers. `frames` are the tables held in memory, by name: a DuckDB cursor does not see what was
    registered on its parent.
    """

    relation: Any
    backend: Any
    label: str
    owned: bool = False
    frames: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Engine:
    """An engine as Ibis names it, how it streams, its own hash function if it takes any number of arguments, and what to check first."""

    name: str
    stream: Callable[[Source, Any, int], Iterator[Any]]
    hash: str | None = None
    check: Callable[[Any], None] = lambda backend: None

    def batches(self, source: Source, relation: Any, size: int) -> Iterator[Any]:
        """The rows of an expression as Arrow batches. A failure of the engine becomes one constant sentence.

        It is raised after the handler has ended, so that the engine's message is not even kept as its context, where a crash reporter
        would find it. Errors of translation pass: Ibis makes them from the expression before any data are read.
        """
        stopped = False
        try:
            yield from self.stream(source, relation, size)
        except (HushError, translation_error()):
            raise
        except Exception:
            stopped = True
        if stopped:
            raise HushError(WITHHELD) from None


def duckdb_batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Through DuckDB's own Arrow reader: Ibis 12 asks DuckDB 2 for one that is gone.

    An open result blocks its connection, so on a connection of ours each query has a cursor. A user's connection is used as it is,
    because a cursor sees neither its temporary views nor its registered frames; it is free again once the batches are drained.
    """
    connection = source.backend.con.cursor() if source.owned else source.backend.con
    tables = {**source.frames, **memory_tables(relation)} if source.owned else memory_tables(relation)
    reader = None
    try:
        if source.owned:
            connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        answer = connection.sql(source.backend.compile(relation))
        reader = answer.to_arrow_reader(size) if hasattr(answer, "to_arrow_reader") else answer.fetch_arrow_reader(size)
        yield from reader
    finally:
        if reader is not None:
            reader.close()
        for name in tables:
            connection.unregister(name)
        if source.owned:
            connection.close()


def ibis_batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Through Ibis itself: the way for an engine without a better one."""
    yield from source.backend.to_pyarrow_batches(relation, chunk_size=size)


def memory_tables(relation: Any) -> dict[str, Any]:
    """The tables an expression holds in memory, as Arrow, by the names it knows them by."""
    return {node.name: node.data.to_pyarrow(node.schema) for node in relation.op().find(operations().InMemoryTable)}


def stream_spark(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Through Spark's local iterator: one partition at a time on the driver."""
    yield from spark_batches(source.backend, relation, memory_tables(relation), size)


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("duckdb", duckdb_batches, hash="hash"),
        Engine("pyspark", stream_spark, hash="xxhash64", check=must_be_ansi),
    )
}


def engine_of(backend: Any) -> Engine:
    """The engine behind an Ibis connection."""
    if backend.name not in ENGINES:
        raise Unsupported(f"hush does not know the engine {backend.name!r}; it knows {', '.join(ENGINES)}.")
    return ENGINES[backend.name]
