"""A table of a SQLite file, copied into DuckDB in batches.

SQLite lets each value have its own type. The declared type of a column decides here: a value of another kind becomes
null, and so no row makes the copy fail.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, shown
from hush.tables.arrow import arrow, batch_of
from hush.tables.expression import must_have

__all__ = ["copy_table", "is_sqlite"]

MAGIC = b"SQLite format 3\x00"
BATCH = 50_000  # rows
#: How SQLite reads a column, its Arrow type, and its type in DuckDB.
WHOLE = ("CASE WHEN typeof({0}) = 'integer' THEN {0} END", "int64", "BIGINT")
FLOAT = ("CASE WHEN typeof({0}) IN ('integer', 'real') THEN CAST({0} AS REAL) END", "float64", "DOUBLE")
TEXT = ("CASE WHEN typeof({0}) <> 'blob' THEN CAST({0} AS TEXT) END", "string", "VARCHAR")
#: By the first word that the declared type contains.
KINDS = (
    ("BOOL", (WHOLE[0], "int64", "BOOLEAN")),
    ("DATETIME", (TEXT[0], "string", "TIMESTAMP")),
    ("TIMESTAMP", (TEXT[0], "string", "TIMESTAMP")),
    ("DATE", (TEXT[0], "string", "DATE")),
    ("INT", WHOLE),
    ("CHAR", TEXT),
    ("CLOB", TEXT),
    ("TEXT", TEXT),
    ("REAL", FLOAT),
    ("FLOA", FLOAT),
    ("DOUB", FLOAT),
    ("NUM", FLOAT),
    ("DEC", FLOAT),
)


def is_sqlite(path: str) -> bool:
    """Does the file begin like a SQLite file?"""
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def copy_table(connection: Any, path: str, name: str | None, view: str) -> str:
    """Copy one table of a SQLite file, opened for reading only, to the DuckDB table `view`. Returns its name."""
    trouble = ""
    with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as source:
        source.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            names = [row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
            names = sorted(found for found in names if not found.startswith("sqlite_"))
            if name is None and len(names) != 1:
                listed = ", ".join(map(repr, names))
                raise InvalidParameter(
                    f"source {shown(path)} has {len(names)} tables; choose one with name=: {listed}."
                )
            chosen = names[0] if name is None else must_have(names, name, "name")
            copy(connection, source, chosen, view)
        except sqlite3.Error:
            trouble = f"source {shown(path)} cannot be read as a SQLite file"
    if trouble:  # raised here: the message of SQLite may quote a row
        raise InvalidParameter(f"{trouble}.")
    return chosen


def copy(connection: Any, source: Any, table: str, view: str) -> None:
    """Copy the rows, one batch at a time."""
    quoted = quote(table)
    columns = {row[1]: kind_of(row[2]) for row in source.execute(f"PRAGMA table_info({quoted})")}
    pa = arrow()
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, (_, kind, _) in columns.items()])
    made = ", ".join(f"{quote(name)} {kind}" for name, (_, _, kind) in columns.items())
    connection.execute(f"CREATE TABLE {view} ({made})")
    read = ", ".join(form.format(quote(name)) for name, (form, _, _) in columns.items())
    cast = ", ".join(f"TRY_CAST({quote(name)} AS {kind})" for name, (_, _, kind) in columns.items())
    rows = source.execute(f"SELECT {read} FROM {quoted}")
    while chunk := rows.fetchmany(BATCH):
        connection.register("hush_batch", pa.Table.from_batches([batch_of(chunk, schema)]))
        connection.execute(f"INSERT INTO {view} SELECT {cast} FROM hush_batch")
        connection.unregister("hush_batch")


def kind_of(declared: str) -> tuple[str, str, str]:
    """How a column of this declared type is read. Without a known type it is text."""
    return next((kind for word, kind in KINDS if word in declared.upper()), TEXT)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
