"""The rows of a ledger file: written, read back, and checked against their chain of hashes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any

from hush.errors import HushError, LedgerError
from hush.ledger.entry import Cap, Entry, chained, entry_from_text, entry_text
from hush.ledger.file import LedgerFile
from hush.ledger.people import People
from hush.ledger.schema import SCHEMA

__all__ = ["Log", "append", "bind", "cap_text", "read"]


#: Names of the modes in ledgers of the first version, and their present names.
_FORMER_MODES = {"planned": "nonadaptive", "interactive": "adaptive"}


@dataclass(frozen=True)
class Log:
    """What was read of a file: its cap, its source, its entries, and the hash of the last entry."""

    cap: Cap
    start: str
    source: str | None = None
    entries: tuple[Entry, ...] = ()
    last: str = ""

    @property
    def people(self) -> People | None:
        """Whom the ledger protects."""
        return None if self.source is None else People.from_text(self.source)

    @property
    def number(self) -> int:
        return len(self.entries)


def cap_text(cap: Cap) -> str:
    """The cap as text."""
    return json.dumps(cap.to_plain(), sort_keys=True, allow_nan=False)


def read(file: LedgerFile, connection: Connection, known: Log | None) -> Log:
    """Read what was added since `known`. Every new entry is checked, and the last known entry must still be there."""
    try:
        start, cap = _cap(file, connection) if known is None else (known.start, known.cap)
        log = Log(cap, start, last=start) if known is None else known
        if known is not None and not _still_there(connection, known):
            raise LedgerError(f"{file} was replaced by another file since it was opened.")
        after, source = _source(file, connection, start)
        rows = connection.execute("SELECT * FROM entries WHERE number > ? ORDER BY number", (log.number,)).fetchall()
        entries, last = list(log.entries), log.last
        for row in rows:
            entries.append(_entry(file, row, len(entries) + 1, last, source if len(entries) >= after else None))
            last = row[-1]
        ever = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
        if (ever[0] if ever else 0) != len(entries) or (source is not None and after > len(entries)):
            raise LedgerError(f"{file} is damaged: entries are missing at its end.")
        return replace(log, source=source, entries=tuple(entries), last=last)
    except (HushError, ValueError, TypeError, KeyError, IndexError, AttributeError) as failure:
        if isinstance(failure, LedgerError):
            raise
        raise LedgerError(f"{file} is damaged: an entry cannot be read ({failure}).") from failure


def _cap(file: LedgerFile, connection: Connection) -> tuple[str, Cap]:
    row = connection.execute("SELECT time, content, hash FROM cap").fetchone()
    if row is None or chained("", SCHEMA, row[0], row[1]) != row[2]:
        raise LedgerError(f"{file} is damaged: its cap was changed or is missing.")
    cap = json.loads(row[1])
    return row[2], Cap.from_plain({**cap, "mode": _FORMER_MODES.get(cap["mode"], cap["mode"])})


def _still_there(connection: Connection, known: Log) -> bool:
    """Is the last entry that was read still the same?"""
    if not known.entries:
        row = connection.execute("SELECT hash FROM cap").fetchone()
    else:
        row = connection.execute("SELECT hash FROM entries WHERE number = ?", (known.number,)).fetchone()
    return row is not None and row[0] == known.last


def _source(file: LedgerFile, connection: Connection, start: str) -> tuple[int, str | None]:
    """The number of entries before the source was recorded, and the source."""
    row = connection.execute("SELECT after, text, hash FROM source").fetchone()
    if row is None:
        return 0, None
    if chained(start, row[0], row[1]) != row[2]:
        raise LedgerError(f"{file} is damaged: the record of its data source was changed.")
    return row[0], row[1]


def _entry(file: LedgerFile, row: Any, number: int, last: str, source: str | None) -> Entry:
    stored, time, label, mechanism, previous, written = row
    if stored != number or previous != last or chained(last, number, time, label, mechanism, source) != written:
        raise LedgerError(f"{file} is damaged: entry {number} was changed, or an earlier entry is missing.")
    return entry_from_text(mechanism, number, time, label)


def append(connection: Connection, log: Log, entry: Entry) -> Log:
    """Write one more entry into the open transaction; returns the new log."""
    text = entry_text(entry)
    written = chained(log.last, entry.number, entry.time, entry.label, text, log.source)
    row = (entry.number, entry.time, entry.label, text, log.last, written)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
    return replace(log, entries=(*log.entries, entry), last=written)


def bind(connection: Connection, log: Log, people: People) -> Log:
    """Write whom the ledger protects into the open transaction; returns the new log."""
    source = people.text
    connection.execute(
        "INSERT INTO source VALUES (1, ?, ?, ?)", (log.number, source, chained(log.start, log.number, source))
    )
    return replace(log, source=source)
