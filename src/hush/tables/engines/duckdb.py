"""DuckDB: the engine of files and frames.

DuckDB skips parts of a Parquet file by the least and the largest value of each column, which the file states without
NaN, and by default it concludes that there is no NaN. So one row could decide how the NaN of all other rows are read.
`PARQUET_OPTIONS` forbids this conclusion in the files that hush opens, and `check` refuses views that allow it.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hush.errors import Unsupported
from hush.tables.engines.builtin import hash_of_any_arguments, try_function
from hush.tables.engines.contract import Engine, Source, memory_tables, step_by_step
from hush.tables.expression import operations
from hush.tables.interrupt import interruptible
from hush.tables.row_rule import how

__all__ = ["ENGINE", "PARQUET_OPTIONS", "relation_of", "sql_of", "was_interrupted"]

#: What `read_parquet` needs so that NaN are read as they are.
PARQUET_OPTIONS = "can_have_nan=true"
_ALLOWED = re.compile(r"\bcan_have_nan\b\W*\btrue\b", re.IGNORECASE)
#: The last expression that was written as SQL in this thread, and its SQL.
_LAST = threading.local()
#: Operators that skip parts of files by their least and largest values.
_SKIPPING = re.compile("PARQUET|DELTA|ICEBERG|DUCKLAKE")


def sql_of(backend: Any, relation: Any) -> str:
    """The SQL of an expression. The last one is remembered: it is checked before the charge, and run after it."""
    if getattr(_LAST, "relation", None) is not relation:
        with step_by_step():
            _LAST.relation, _LAST.sql = relation, str(backend.compile(relation))
    return str(_LAST.sql)


def relation_of(backend: Any, name: str) -> Any:
    """A table or view of DuckDB as an Ibis relation."""
    with warnings.catch_warnings():
        # Ibis 12 reads the schema through a name that DuckDB 2 deprecates
        warnings.simplefilter("ignore", DeprecationWarning)
        return backend.table(name)


def batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through DuckDB's Arrow reader: Ibis 12 calls a reader that DuckDB 2 has removed.

    An open result blocks its connection, so on a connection that hush owns each query has a cursor. A user's connection
    is used directly, because a cursor sees neither its temporary views nor its registered frames. It is free again once
    all batches are read or the query is stopped.
    """
    query = sql_of(source.backend, relation)
    _LAST.relation = None
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


def must_see_nan(source: Source) -> None:
    """Refuse views of Parquet files, unless all of them were written with `PARQUET_OPTIONS`.

    Only views and plans are read here, no rows. The types of a view's columns do not matter: it may have a condition on
    another column.
    """
    connection = source.backend.con
    for node in source.relation.op().find(operations().DatabaseTable):
        views = dict(connection.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall())
        text = " ".join(views[name] for name in _below(str(node.name), views))
        if _skipping_scans(connection, sql_of(source.backend, node.to_expr())) > len(_ALLOWED.findall(text)):
            raise Unsupported(
                "source is a view of Parquet files, and DuckDB would let one row hide the NaN of other rows; open the "
                "files themselves, as in table('visits.parquet', unit=...), or write "
                f"{PARQUET_OPTIONS} in read_parquet of the view, or write CREATE TABLE instead of CREATE VIEW."
            )


def _below(name: str, views: Mapping[str, str]) -> set[str]:
    """The views that a view is made of, by their names in the SQL, with itself."""
    found, waiting = set[str](), {name} & views.keys()
    while waiting:
        found |= waiting
        words = set(re.findall(r"\w+", " ".join(views[one] for one in waiting)))
        waiting = (words & views.keys()) - found
    return found


def _skipping_scans(connection: Any, query: str) -> int:
    """How many operators of the plan skip parts of files. The plan is that before any optimisation."""
    ((before,),) = connection.execute("SELECT current_setting('explain_output')").fetchall()
    try:
        connection.execute("SET explain_output = 'all'")
        plans = dict(connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall())
    finally:
        connection.execute(f"SET explain_output = '{before}'")
    count, waiting = 0, list(json.loads(plans["logical_plan"]))
    while waiting:
        node = waiting.pop()
        count += _SKIPPING.search(node["name"]) is not None
        waiting += node["children"]
    return count


def was_interrupted(failure: Exception) -> bool:
    """Did somebody interrupt the query?"""
    import duckdb

    return isinstance(failure, duckdb.InterruptException)


ENGINE = Engine(
    "duckdb",
    batches,
    binary="binary",
    hash=hash_of_any_arguments("hash"),
    check=must_see_nan,
    stopped=was_interrupted,
    compile=sql_of,
    reuses=True,
    rule=partial(how, "duckdb"),
    tries=try_function,
    wide_sums=True,
)
