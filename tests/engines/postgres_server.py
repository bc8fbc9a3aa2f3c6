"""A private PostgreSQL server for the tests: its own folder, a Unix socket, no port."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

PROGRAMS = Path("/usr/lib/postgresql")
TYPES = {
    "int64": "bigint",
    "int32": "integer",
    "int16": "smallint",
    "int8": "smallint",
    "string": "text",
    "large_string": "text",
    "bool": "boolean",
    "date32[day]": "date",
    "double": "double precision",
    "float": "real",
    "timestamp[us]": "timestamp",
}
#: No disk is waited for, and the server is small.
SETTINGS = (
    "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off "
    "-c shared_buffers=32MB -c max_connections=40"
)


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, the newest version; None if PostgreSQL is not installed."""
    found = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3].partition(".")[0]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as the user that the package has made."""
    return {"user": "postgres", "group": "postgres"} if os.name != "nt" and os.geteuid() == 0 else {}


@contextmanager
def running(where: Path) -> Iterator[str]:
    """A server while the block runs; the address of its database."""
    folder = Path(tempfile.mkdtemp(prefix="hush-pg-"))  # short: a socket's path has at most 107 characters
    if user():
        shutil.chown(folder, "postgres", "postgres")
    data, options = str(folder / "data"), {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, **user()}
    make = [where / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"]
    subprocess.run(make, **options)
    settings = f"{SETTINGS} -k {folder}"
    subprocess.run([where / "pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", settings, "start"], **options)
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        subprocess.run([where / "pg_ctl", "-D", data, "-m", "immediate", "stop"], **{**options, "check": False})
        shutil.rmtree(folder, ignore_errors=True)


def kind_of(column: pa.Field) -> str:
    if pa.types.is_decimal(column.type):
        return f"numeric({column.type.precision}, {column.type.scale})"
    return TYPES[str(column.type)]


def load(connection: Any, name: str, rows: pa.Table) -> None:
    """A table with the rows, by COPY."""
    columns = ", ".join(f'"{column.name}" {kind_of(column)}' for column in rows.schema)
    connection.execute(f'CREATE TABLE "{name}" ({columns})')
    with connection.cursor() as cursor, cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
        for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            copy.write_row(row)
