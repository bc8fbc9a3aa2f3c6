"""A table of a PostgreSQL server, opened by an address such as postgresql://user@host/db.

A password in the address is given to the server and to nothing else: labels and errors are made without it.
"""

from __future__ import annotations

import warnings
import weakref
from contextlib import suppress
from typing import Any

from hush.errors import InvalidParameter, Unsupported, needs, shown
from hush.tables.engines.contract import Source
from hush.tables.engines.postgres import must_be_utf8
from hush.tables.expression import ibis, must_have

__all__ = ["open_address"]

#: Tables, views, materialised views, partitioned and foreign tables that the user may read.
TABLES = """
SELECT n.nspname, c.relname, pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2
"""


def open_address(address: str, name: str | None) -> Source:
    """One table of the database at this address."""
    with needs("psycopg", "a PostgreSQL source", extra="postgres"):
        import psycopg
    parts: dict[str, Any] | None = None
    with suppress(psycopg.Error):
        parts = psycopg.conninfo.conninfo_to_dict(address)
    if parts is None:  # raised here, so that the message about the address, with its password, is not kept
        raise InvalidParameter("source is no address of PostgreSQL; write 'postgresql://user@host:5432/database'.")
    parts.setdefault("application_name", "hush")
    parts.setdefault("connect_timeout", "15")

    def connect() -> Any:
        connection, trouble = None, ""
        try:
            connection = psycopg.connect(**parts, autocommit=True)
        except psycopg.Error as failure:
            trouble = reason(failure)
        if connection is None:
            raise InvalidParameter(f"the PostgreSQL server at {place_shown(parts)} cannot be reached: {trouble}.")
        connection.read_only = True
        return connection

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ibis marks this call as experimental
        first = connect()
        backend = ibis().postgres.from_connection(first)
    weakref.finalize(backend, first.close)
    must_be_utf8(backend)
    schema, table = chosen(backend.con.execute(TABLES).fetchall(), name, place_shown(parts))
    place = server_of(backend)  # read now: this connection is closed when its table is forgotten
    label = f"postgresql://{place[0]}:{place[1]}/{place[2]}, table {schema}.{table}"

    def reopen(other: Any) -> Source:
        if server_of(other) != place:
            raise Unsupported(f"a join needs tables of one PostgreSQL database, but one of them is in {label}.")
        return Source(other.table(table, database=schema), other, label, owned=True, again=connect, reopen=reopen)

    return Source(backend.table(table, database=schema), backend, label, owned=True, again=connect, reopen=reopen)


def server_of(backend: Any) -> tuple[Any, ...]:
    """The server, the database and the user of a connection."""
    info = backend.con.info
    return info.host, info.port, info.dbname, info.user


def reason(failure: Exception) -> str:
    """Why a connection failed, in our own words: the driver's message may repeat the address."""
    text = str(failure)
    for sign, words in (
        ("password authentication failed", "the server rejects this user or password"),
        ("no password supplied", "the server asks for a password; set PGPASSWORD or write a file ~/.pgpass"),
        ("does not exist", "the server has no such user or database"),
        ("Connection refused", "no server listens there"),
        ("timeout", "it does not answer in time"),
        ("could not translate host name", "its name is unknown"),
        ("failed to resolve host", "its name is unknown"),
        ("No such file or directory", "there is no such socket"),
    ):
        if sign in text:
            return words
    return "the connection failed"


def place_shown(parts: dict[str, Any]) -> str:
    """The server and the database, without user and password."""
    return f"{parts.get('host') or 'the default host'}, database {shown(parts.get('dbname') or 'of the default name')}"


def chosen(found: list[tuple[str, str, bool]], name: str | None, where: str) -> tuple[str, str]:
    """The schema and the name of the table: "schema.table", or "table" if PostgreSQL finds it without its schema."""
    full = {f"{schema}.{table}": (schema, table) for schema, table, _ in found}
    if name is None:
        if len(full) != 1:
            names = ", ".join(map(repr, list(full)[:20]))
            raise InvalidParameter(f"the database at {where} has {len(full)} tables; choose one with name=: {names}.")
        return next(iter(full.values()))
    short = {table: (schema, table) for schema, table, visible in found if visible}
    if name in short and name not in full:
        return short[name]
    return full[must_have(full, name, "name")]
