"""DuckDB: the engine of files and frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hush.tables.engines.builtin import hash_of_any_arguments, try_function
from hush.tables.engines.contract import Engine, Source, memory_tables, step_by_step
from hush.tables.interrupt import interruptible

__all__ = ["ENGINE", "sql_of", "was_interrupted"]


def sql_of(backend: Any, relation: Any) -> str:
    """The SQL of an expression."""
    with step_by_step():
        return str(backend.compile(relation))


def batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through DuckDB's Arrow reader: Ibis 12 calls a reader that DuckDB 2 has removed.

    An open result blocks its connection, so on a connection that hush owns each query has a cursor. A user's connection
    is used directly, because a cursor sees neither its temporary views nor its registered frames. It is free again once
    all batches are read or the query is stopped.
    """
    query = sql_of(source.backend, relation)
    tables = {**source.frames, **memory_tables(relation)} if source.owned else memory_tables(relation)
    connection = source.backend.con.cursor() if source.owned else source.backend.con
    rows = partial(rows_of, connection, query, tables, size, ours=source.owned)
    yield from interruptible(rows, connection.interrupt)


def rows_of(connection: Any, query: str, tables: Mapping[str, Any], size: int, *, ours: bool) -> Iterator[Any]:
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


def was_interrupted(failure: Exception) -> bool:
    """Did somebody interrupt the query?"""
    import duckdb

    return isinstance(failure, duckdb.InterruptException)


ENGINE = Engine(
    "duckdb",
    batches,
    binary="binary",
    hash=hash_of_any_arguments("hash"),
    stopped=was_interrupted,
    compile=sql_of,
    reuses=True,
    tries=try_function,
    wide_sums=True,
)
