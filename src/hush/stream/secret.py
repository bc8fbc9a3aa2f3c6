"""The secret file of a stream: its key, and the counts of its periods before noise.

It is as confidential as the data. Only its owner may read it (mode 0600). It is not the ledger, which can be shown to
others: without this file the stream can be read, but not continued.

What was measured in a period is written here before the ledger shows it, and never changed after that (`seal`). So a
process that dies in between, or a ledger that is replaced by a copy of yesterday, does not make a second draw: what was
drawn is published again.

The file belongs to one stream of one ledger, which is written into it (`bind`).

With lists of people it also holds a keyed hash of each person and the periods in which the person was counted. The
rules about people are then kept from what was counted before, not from a table that may have changed since.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, LedgerError, shown

__all__ = ["Input", "Secret", "secret_path", "stream_name"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TABLES = (
    "CREATE TABLE key (one INTEGER PRIMARY KEY CHECK (one = 1), key BLOB NOT NULL)",
    "CREATE TABLE owner (one INTEGER PRIMARY KEY CHECK (one = 1), stream TEXT NOT NULL)",
    "CREATE TABLE inputs (period INTEGER PRIMARY KEY, count INTEGER NOT NULL, people BLOB, label TEXT NOT NULL, "
    "measured TEXT)",
    "CREATE TABLE kind (one INTEGER PRIMARY KEY CHECK (one = 1), kind TEXT NOT NULL)",
    "CREATE TABLE people (person BLOB NOT NULL, period INTEGER NOT NULL, PRIMARY KEY (person, period)) WITHOUT ROWID",
)


@dataclass(frozen=True)
class Input:
    """What is counted in a period: a number; with lists of people also keyed hashes of the list and of the counted.
    `measured` has the noisy numbers, if they were drawn.
    """

    count: int
    listed: bytes | None = None
    kept: tuple[bytes, ...] = ()
    everyone: tuple[bytes, ...] = ()
    #: what the persons of the list are, "texts" or "whole numbers"; empty for a count or an empty list
    kind: str = ""
    label: str = ""
    measured: tuple[int, ...] | None = None


def stream_name(name: Any) -> str:
    """The name of a stream, checked: it is a part of a file name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidParameter(
            f"the name of a stream has 1 to 64 letters, digits, - or _, got {shown(name)}; write name='visits'."
        )
    return name


def secret_path(ledger: Path | None, name: str, given: str | os.PathLike[str] | None) -> Path | None:
    """Where the secret file is: beside the ledger unless a path is given; None for a ledger in memory."""
    if given is not None:
        return Path(os.path.abspath(given))
    return None if ledger is None else ledger.with_name(f"{ledger.name}-{name}.secret")


class Secret:
    """The secret of one stream, in a file or (path None) in memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        #: was the file made by this object?
        self.fresh = False
        self._memory = None if path is not None else sqlite3.connect(":memory:", isolation_level=None)
        if self._memory is not None:
            _fill(self._memory)
        self.key = self._read_key()

    @classmethod
    def made(cls, path: Path | None) -> Secret:
        """A new secret; one that exists already is used if it belongs to no stream yet."""
        fresh = path is not None and not os.path.lexists(path)
        if path is not None and fresh:
            _create(path)
        found = cls(path)
        found.fresh = fresh
        if found.owner is not None or found.inputs():
            raise InvalidParameter(f"the secret file {path} belongs to another stream; give another path or name.")
        return found

    @property
    def owner(self) -> str | None:
        """The stream and the ledger that the secret belongs to; None if it belongs to none yet."""
        with self._connected() as connection:
            row = connection.execute("SELECT stream FROM owner").fetchone()
        return None if row is None else str(row[0])

    def bind(self, owner: str) -> None:
        """Write down the stream and the ledger, once; raises if the secret belongs to others."""
        with self._connected() as connection:
            connection.execute("INSERT OR IGNORE INTO owner VALUES (1, ?)", (owner,))
        if self.owner != owner:
            raise LedgerError(f"{self} is that of another stream or of another ledger; each stream has its own.")

    @property
    def kind(self) -> str:
        """What the persons of all lists are, "texts" or "whole numbers"; empty before the first list."""
        with self._connected() as connection:
            row = connection.execute("SELECT kind FROM kind").fetchone()
        return "" if row is None else str(row[0])

    @property
    def mark(self) -> str:
        """A text that tells keys apart and says nothing else about them."""
        return self._mac(b"mark").hex()

    def mac(self, name: str, period: int, given: Input) -> str:
        """The keyed hash of the input of a period."""
        listed = b"" if given.listed is None else given.listed
        return self._mac(f"input {name} {period} {given.count} ".encode() + listed).hex()

    def person(self, text: str) -> bytes:
        """The keyed hash of a person."""
        return self._mac(b"person " + text.encode())[:16]

    def listed(self, people: Iterable[bytes]) -> bytes:
        """The keyed hash of a list of people, whatever its order."""
        return self._mac(b"people " + b"".join(sorted(people)))

    def inputs(self) -> list[Input]:
        """The inputs of all periods, in order; the last one may not be published yet."""
        with self._connected() as connection:
            query = "SELECT period, count, people, label, measured FROM inputs ORDER BY period"
            rows = connection.execute(query).fetchall()
        if [row[0] for row in rows] != list(range(1, len(rows) + 1)):
            raise LedgerError(f"{self} is damaged: a period is missing.")
        return [
            Input(int(count), people, label=label, measured=None if drawn is None else tuple(json.loads(drawn)))
            for _, count, people, label, drawn in rows
        ]

    def freeze(self, period: int, given: Input) -> None:
        """Write the input of a period, on disk when this returns. An input of the same period is replaced, unless its
        noise was drawn.
        """
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            drawn = "SELECT 1 FROM inputs WHERE period >= ? AND measured IS NOT NULL"
            if connection.execute(drawn, (period,)).fetchone() is not None:
                connection.execute("ROLLBACK")
                raise LedgerError("another process added a period at the same time; add it again.")
            for table in ("inputs", "people"):
                connection.execute(f"DELETE FROM {table} WHERE period >= ?", (period,))
            row = (period, given.count, given.listed, given.label)
            connection.execute("INSERT INTO inputs VALUES (?, ?, ?, ?, NULL)", row)
            if given.kind:
                connection.execute("INSERT OR IGNORE INTO kind VALUES (1, ?)", (given.kind,))
            connection.executemany("INSERT INTO people VALUES (?, ?)", [(one, period) for one in given.kept])
            connection.execute("COMMIT")

    def seal(self, period: int, measured: Sequence[int]) -> None:
        """Write what was measured in a period, on disk when this returns: it is never drawn again."""
        with self._connected() as connection:
            changed = connection.execute(
                "UPDATE inputs SET measured = ? WHERE period = ? AND measured IS NULL",
                (json.dumps([int(value) for value in measured]), period),
            ).rowcount
        if changed != 1:  # a copy of the ledger drew it first: only that draw may be published
            raise LedgerError(
                f"another process drew period {period} at the same time; look at the stream before you add it again."
            )

    def discard(self) -> None:
        """Remove the file, if this object made it and it belongs to no stream."""
        if self.path is not None and self.fresh and self.owner is None and not self.inputs():
            self.path.unlink(missing_ok=True)

    def allowed(self, people: Sequence[bytes], period: int, appears: int, apart: int) -> tuple[bytes, ...]:
        """Those of these people who may be counted in this period: fewer than `appears` times before, and last at least
        `apart` periods ago.
        """
        query = "SELECT COUNT(*), MAX(period) FROM people WHERE person = ? AND period < ?"
        kept = []
        with self._connected() as connection:
            for one in dict.fromkeys(people):
                times, last = connection.execute(query, (one, period)).fetchone()
                if times < appears and (last is None or period - last >= apart):
                    kept.append(one)
        return tuple(kept)

    def _mac(self, message: bytes) -> bytes:
        return hmac.new(self.key, message, hashlib.sha256).digest()

    def _read_key(self) -> bytes:
        with self._connected() as connection:
            row = connection.execute("SELECT key FROM key").fetchone()
        if row is None:
            raise LedgerError(f"{self} is damaged: it has no key.")
        return bytes(row[0])

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            yield self._memory
            return
        assert self.path is not None
        _must_be_private(self.path)
        try:
            uri = f"{self.path.as_uri()}?mode=rw"
            with contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=60.0)) as connection:
                _prepare(connection)
                yield connection
        except sqlite3.Error as failure:
            raise LedgerError(f"{self} cannot be used: {failure}; nothing was published.") from failure

    def __str__(self) -> str:
        return "the secret of the stream" if self.path is None else f"the secret file {self.path}"


def _prepare(connection: sqlite3.Connection) -> None:
    for statement in ("synchronous = EXTRA", "fullfsync = ON", "secure_delete = ON", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {statement}")


def _fill(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute("INSERT INTO key VALUES (1, ?)", (secrets.token_bytes(32),))
    connection.execute("COMMIT")


def _create(path: Path) -> None:
    """Make the file, complete or not at all, readable by its owner only."""
    draft = path.with_name(f".hush-{secrets.token_hex(8)}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            _prepare(connection)
            _fill(connection)
        with contextlib.suppress(FileExistsError):  # another process was faster; its key is used
            os.link(draft, path)
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except (OSError, sqlite3.Error) as failure:
        raise LedgerError(f"the secret file {path} cannot be created: {failure}; nothing was spent.") from failure
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _must_be_private(path: Path) -> None:
    """Reject a file that is missing, or that others can read."""
    try:
        found = os.stat(path)
    except OSError as failure:
        raise LedgerError(
            f"the secret file {path} cannot be read ({failure.strerror}); without it the stream cannot be continued."
        ) from failure
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        raise LedgerError(f"other users can read the secret file {path}; write `chmod 600 {path}`.")
