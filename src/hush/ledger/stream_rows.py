"""The rows of streams in a ledger file: written, read back, and checked against their chain of hashes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from sqlite3 import Connection
from typing import NamedTuple

from hush.errors import LedgerError, shown
from hush.ledger import schema
from hush.ledger.entry import chained
from hush.ledger.file import LedgerFile

__all__ = ["Period", "StreamRecord", "append", "check", "insert", "names", "periods", "stream"]


class StreamRecord(NamedTuple):
    """A stream: its name, the number of its entry, its plan as JSON, and a mark of its key, which tells keys apart."""

    name: str
    number: int
    plan: str
    mark: str


class Period(NamedTuple):
    """One period: its number and its label, the noisy whole numbers that were measured in it, the MAC of its input."""

    number: int
    label: str
    measured: tuple[int, ...]
    mac: str


def names(connection: Connection) -> list[str]:
    """The names of all streams."""
    if schema.version_of(connection) < 3:
        return []
    return [str(row[0]) for row in connection.execute("SELECT name FROM streams ORDER BY number")]


def stream(file: LedgerFile, connection: Connection, name: str) -> StreamRecord | None:
    """The stream of this name; None if there is none."""
    if schema.version_of(connection) < 3:
        return None
    row = connection.execute("SELECT name, number, plan, mark, hash FROM streams WHERE name = ?", (name,)).fetchone()
    if row is None:
        return None
    if chained("", *row[:4]) != row[4]:
        raise LedgerError(f"{file} is damaged: the record of the stream {shown(name)} was changed.")
    return StreamRecord(*row[:4])


def insert(connection: Connection, record: StreamRecord) -> None:
    """Write a new stream into the open transaction."""
    schema.with_streams(connection)
    connection.execute("INSERT INTO streams VALUES (?, ?, ?, ?, ?)", (*record, chained("", *record)))


def periods(file: LedgerFile, connection: Connection, record: StreamRecord) -> tuple[list[Period], str]:
    """All periods of a stream, checked, and the hash of the last one."""
    query = "SELECT period, label, measured, mac, previous, hash FROM periods WHERE stream = ? ORDER BY period"
    found: list[Period] = []
    last = chained("", *record)
    for number, label, text, mac, previous, written in connection.execute(query, (record.name,)):
        same = chained(last, record.name, number, label, text, mac) == written
        if number != len(found) + 1 or previous != last or not same:
            raise LedgerError(f"{file} is damaged: period {number} of the stream {shown(record.name)} was changed.")
        found.append(Period(number, label, tuple(int(value) for value in json.loads(text)), mac))
        last = written
    return found, last


def append(connection: Connection, record: StreamRecord, last: str, made: Period) -> None:
    """Write one more period into the open transaction."""
    text = json.dumps(list(made.measured))
    values = (record.name, made.number, made.label, text, made.mac)
    row: Sequence[object] = (*values, last, chained(last, *values))
    connection.execute("INSERT INTO periods VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def check(file: LedgerFile, connection: Connection) -> None:
    """Check every record of a stream and every period."""
    for name in names(connection):
        record = stream(file, connection, name)
        assert record is not None
        periods(file, connection, record)
