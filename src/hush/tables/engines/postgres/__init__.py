"""PostgreSQL: everything heavy runs in the server, in a read-only transaction; a cursor streams the groups.

hush creates nothing in the database: no tables, no views, no functions. The right to read the table is enough.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from hush.errors import Unsupported, needs
from hush.tables.arrow import batch_of
from hush.tables.engines.builtin import call
from hush.tables.engines.contract import Engine, Source
from hush.tables.expression import as_int64, as_text, ibis, operations
from hush.tables.interrupt import interruptible
from hush.tables.keyed_hash import as_whole, is_text
from hush.tables.row_rule import how

__all__ = ["ENGINE"]

#: For one query: nothing is written, texts and times have one form, and the plan is made for all rows.
SETTINGS = (
    "SET TRANSACTION READ ONLY; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; "
    "SET LOCAL standard_conforming_strings = on; SET LOCAL transform_null_equals = off; "
    "SET LOCAL cursor_tuple_fraction = 1; SET LOCAL jit = off"
)
#: The state of a query that was cancelled.
CANCELLED = "57014"


def compiled(backend: Any, relation: Any) -> str:
    """The SQL of an expression, without operations that fail on some rows."""
    from hush.tables.engines.postgres.compiler import compiled as text_of

    return text_of(relation)


def batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through a cursor of the server. An open cursor blocks its connection, so a source that hush opened has a
    connection for each query. A user's connection is used directly: only it sees the user's temporary tables.
    """
    with needs("psycopg", "a PostgreSQL source", extra="postgres"):
        from psycopg.rows import tuple_row
    query, schema = compiled(source.backend, relation), relation.schema().to_pyarrow()
    connection = source.again() if source.again is not None else source.backend.con

    def produce() -> Iterator[Any]:
        try:
            # rolled back at the end: then the settings do not outlive the query in a user's transaction
            with connection.transaction(force_rollback=True):
                connection.execute(SETTINGS)
                with connection.cursor(f"hush_{uuid.uuid4().hex}", row_factory=tuple_row) as cursor:
                    cursor.execute(query, binary=True)
                    while chunk := cursor.fetchmany(size):
                        yield batch_of(chunk, schema)
        finally:
            if source.again is not None:
                connection.close()

    yield from interruptible(produce, connection.cancel)


def was_cancelled(failure: Exception) -> bool:
    """Did somebody cancel the query? A time limit of the server is a failure, not a cancellation."""
    message = str(getattr(getattr(failure, "diag", None), "message_primary", "") or "")
    return getattr(failure, "sqlstate", None) == CANCELLED and "timeout" not in message


def must_be_utf8(backend: Any) -> None:
    """Reject a database in which text may hold bytes that are no characters, or that hashes other bytes."""
    encoding = backend.con.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise Unsupported(f"the PostgreSQL database has the encoding {encoding}, but hush needs UTF8.")
    if backend.con.info.server_version < 130000:
        raise Unsupported("hush needs PostgreSQL 13 or later.")


def seeded_hash(columns: list[Any], key: Any) -> Any:
    """PostgreSQL's seeded hash of one value, with the hash of the values before it as the seed."""
    state = key
    for i, column in enumerate(columns):
        text = is_text(column)
        value = as_text(column) if text else as_whole(column)
        made = call("hashtextextended" if text else "hashint8extended", [value, as_int64(state)], "int64")
        state = ibis().coalesce(made, ibis().literal(i + 1, type="int64"))
    return state


def number_of(digits: Any) -> Any:
    """The last eight hexadecimal digits as a number."""
    return hex_number()(digits).to_expr()


@cache
def hex_number() -> Any:
    """The operation that `number_of` uses: PostgreSQL reads hexadecimal digits as bits."""

    class HexNumber(operations().Unary):  # type: ignore[misc]  # a class of Ibis, which has no types
        dtype = ibis().dtype("int64")

    return HexNumber


ENGINE = Engine(
    "postgres",
    batches,
    binary="C",
    hash=seeded_hash,
    digits=number_of,
    check=lambda source: must_be_utf8(source.backend),
    stopped=was_cancelled,
    rule=partial(how, "postgres"),
    compile=compiled,
    nan_decimals=True,
    reuses=True,
    wide_sums=True,
)
