"""The list of engines, and how each turns an Ibis expression into a stream of Arrow batches.

An engine that Ibis supports (PostgreSQL, BigQuery, Snowflake) needs one line in ENGINES, such as
`Engine("postgres", ibis_batches)`, and one line in `expression.BINARY`: the collation that compares bytes. The tests in
`tests/engines` check that its results equal those of the other engines to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hush.errors import HushError, Unsupported
from hush.tables.expression import operations, translation_error
from hush.tables.interrupt import interruptible
from hush.tables.spark import must_be_ansi, spark_batches, was_cancelled

__all__ = ["ENGINES", "WITHHELD", "Engine", "Source", "duckdb_stopped", "engine_of", "memory_tables"]

#: The only message when an engine fails. The engine's message may quote a row, and no budget was spent to show one.
WITHHELD = (
    "the query failed in the engine, perhaps because a value could not be converted or read; the engine's message is "
    "hidden because it may quote the data; run the expression in the engine to see it."
)


@dataclass(frozen=True)
class Source:
    """The rows of a table: an Ibis relation, its connection, and whether hush opened that connection (`owned`).

    `label` is its name for people and ledgers. `frames` are the tables held in memory, by name: a DuckDB cursor does
    not see frames that were registered on its parent. `reopen` opens the same rows on another connection that hush
    owns, so that two sources can be joined; None if hush cannot do that.
    """

    relation: Any
    backend: Any
    label: str
    owned: bool = False
    frames: Mapping[str, Any] = field(default_factory=dict)
    reopen: Callable[[Any], Source] | None = None


@dataclass(frozen=True)
class Engine:
    """An engine: its name in Ibis, how it streams, its hash function (which must take any number of arguments), a check
    of the connection, and a test of whether an error means that somebody stopped the query.
    """

    name: str
    stream: Callable[[Source, Any, int], Iterator[Any]]
    hash: str | None = None
    check: Callable[[Any], None] = lambda backend: None
    stopped: Callable[[Exception], bool] = lambda failure: False

    def batches(self, source: Source, relation: Any, size: int) -> Iterator[Any]:
        """The rows of an expression as Arrow batches. A failure of the engine raises one constant sentence. A query
        that somebody stopped raises KeyboardInterrupt.

        Both are raised after the handler has ended, so that the engine's message is not kept as their context, where a
        crash reporter would find it. Translation errors pass: Ibis makes them from the expression before it reads any
        data.
        """
        try:
            yield from self.stream(source, relation, size)
            return
        except (HushError, translation_error()):
            raise
        except Exception as failure:
            stopped = self.stopped(failure)
        if stopped:
            raise KeyboardInterrupt
        raise HushError(WITHHELD)


def duckdb_batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through DuckDB's Arrow reader: Ibis 12 calls a reader that DuckDB 2 has removed.

    An open result blocks its connection, so on a connection that hush owns each query has a cursor. A user's connection
    is used directly, because a cursor sees neither its temporary views nor its registered frames. It is free again once
    all batches are read or the query is stopped.
    """
    query = source.backend.compile(relation)
    tables = {**source.frames, **memory_tables(relation)} if source.owned else memory_tables(relation)
    connection = source.backend.con.cursor() if source.owned else source.backend.con
    rows = partial(duckdb_rows, connection, query, tables, size, ours=source.owned)
    yield from interruptible(rows, connection.interrupt)


def duckdb_rows(connection: Any, query: str, tables: Mapping[str, Any], size: int, *, ours: bool) -> Iterator[Any]:
    """The Arrow batches of a query. At the end its tables are unregistered; with `ours` the connection is closed."""
    reader = None
    try:
        if ours:
            connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        answer = connection.sql(query)
        reader = answer.to_arrow_reader(size) if hasattr(answer, "to_arrow_reader") else answer.fetch_arrow_reader(size)
        yield from reader
    finally:
        if reader is not None:
            reader.close()
        for name in tables:
            connection.unregister(name)
        if ours:
            connection.close()


def duckdb_stopped(failure: Exception) -> bool:
    """Did somebody interrupt the query?"""
    import duckdb

    return isinstance(failure, duckdb.InterruptException)


def ibis_batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through Ibis, for an engine without a faster way."""
    yield from source.backend.to_pyarrow_batches(relation, chunk_size=size)


def memory_tables(relation: Any) -> dict[str, Any]:
    """The tables that an expression holds in memory, as Arrow, by their names in the expression."""
    return {node.name: node.data.to_pyarrow(node.schema) for node in relation.op().find(operations().InMemoryTable)}


def stream_spark(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through Spark's local iterator: one partition at a time on the driver."""
    yield from spark_batches(source.backend, relation, memory_tables(relation), size)


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("duckdb", duckdb_batches, hash="hash", stopped=duckdb_stopped),
        Engine("pyspark", stream_spark, hash="xxhash64", check=must_be_ansi, stopped=was_cancelled),
    )
}


def engine_of(backend: Any) -> Engine:
    """The engine behind an Ibis connection."""
    if backend.name not in ENGINES:
        raise Unsupported(f"hush does not support the engine {backend.name!r}; it supports {', '.join(ENGINES)}.")
    return ENGINES[backend.name]
