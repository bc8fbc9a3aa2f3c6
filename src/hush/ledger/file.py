"""The ledger's SQLite file: created whole or not at all, appended to in one durable transaction, never changed otherwise.

A connection lives for one operation. So none is ever carried through a fork, threads share none, and a file that was moved, replaced or
damaged in the meantime is noticed the next time it is touched. Write-ahead log, full synchronous: COMMIT returns when the line is on disk.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from hush.errors import InvalidParameter, LedgerError
from hush.ledger.entry import chained

__all__ = ["PATIENCE", "LedgerFile"]

#: Seconds to wait for other processes that write to the same ledger.
PATIENCE = 60.0
#: "hush" in ASCII: says whose file this is, in SQLite's header.
APPLICATION = 0x68757368
SCHEMA = 1

_TABLES = (
    "CREATE TABLE cap (one INTEGER PRIMARY KEY CHECK (one = 1), time TEXT NOT NULL, content TEXT NOT NULL, hash TEXT NOT NULL)",
    # AUTOINCREMENT keeps the largest number ever given, so that lines missing at the end are noticed
    "CREATE TABLE entries (number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, label TEXT NOT NULL, mechanism TEXT NOT NULL, "
    "previous TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE source (one INTEGER PRIMARY KEY CHECK (one = 1), after INTEGER NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL)",
)
_STOP = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
_CHANGES = tuple((table, change) for table in ("cap", "entries", "source") for change in ("UPDATE", "DELETE"))
_TRIGGERS = (
    *(f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} {_STOP}" for table, change in _CHANGES),
    # INSERT OR REPLACE would delete without asking the triggers above
    *(f"CREATE TRIGGER {t}_only_once BEFORE INSERT ON {t} WHEN EXISTS (SELECT 1 FROM {t}) {_STOP}" for t in ("cap", "source")),
    "CREATE TRIGGER entries_in_turn BEFORE INSERT ON entries "
    f"WHEN NEW.number IS NOT (SELECT 1 + COALESCE(MAX(number), 0) FROM entries) {_STOP}",
)

#: SQLite's words (or its codes) and ours; the first that is found speaks.
_PLAIN = (
    (("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "locked"), "is locked by another process for more than {patience:g} seconds"),
    (("SQLITE_NOTADB", "not a database"), "is not a ledger, or damaged at its very start"),
    (("SQLITE_CORRUPT", "malformed", "no such"), "is damaged; restore it from a copy"),
    (("SQLITE_READONLY", "readonly"), "cannot be written: the file or its folder is read-only"),
    (("SQLITE_FULL", "is full"), "cannot be written: the disk is full"),
    (("SQLITE_CANTOPEN", "unable to open"), "cannot be opened: check that it is a file, and that its folder exists and may be written to"),
    (("SQLITE_PERM", "SQLITE_AUTH", "denied"), "cannot be opened: permission denied"),
    (("SQLITE_IOERR", "disk I/O"), "cannot be read or written: the disk reports an error, or is full"),
)
_WAITING = ("SQLITE_BUSY", "SQLITE_PROTOCOL")


def _name_of(failure: BaseException) -> str:
    return str(getattr(failure, "sqlite_errorname", ""))


class LedgerFile:
    """One ledger file, or one in memory (path None)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._process = os.getpid()
        self._memory = None if path is not None else sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def __str__(self) -> str:
        return "the ledger in memory" if self.path is None else f"the ledger {self.path}"

    def close(self) -> None:
        if self._memory is not None and self._process == os.getpid():
            self._memory.close()

    # -- making one ----------------------------------------------------------------------------------------------------------------

    def create(self, moment: str, content: str) -> bool:
        """A new file with its cap, complete from the first moment it can be seen; False if there is one already."""
        if self.path is None:
            assert self._memory is not None
            self._fill(self._memory, moment, content)
            return True
        if os.path.lexists(self.path):
            return False
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                self._fill(connection, moment, content)
                connection.execute("PRAGMA journal_mode = WAL")  # last, so that all of it is in the file itself; the mode is kept there
            return self._publish(draft)
        except sqlite3.Error as failure:
            raise self._in_plain_words(failure, "nothing was created") from failure
        finally:
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{draft}{ending}")

    def _fill(self, connection: sqlite3.Connection, moment: str, content: str) -> None:
        _prepare(connection)
        connection.execute("BEGIN IMMEDIATE")
        for statement in (*_TABLES, *_TRIGGERS, f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {SCHEMA}"):
            connection.execute(statement)
        connection.execute("INSERT INTO cap VALUES (1, ?, ?, ?)", (moment, content, chained("", SCHEMA, moment, content)))
        connection.execute("COMMIT")

    def _publish(self, draft: Path) -> bool:
        """The finished draft under its name, unless somebody was faster."""
        assert self.path is not None
        try:
            try:
                os.link(draft, self.path)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links: claim the name, then put the draft in its place
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                os.replace(draft, self.path)
            _sync_folder(self.path.parent)
        except FileExistsError:
            return False
        except OSError as failure:
            raise LedgerError(f"{self} cannot be created: {failure.strerror or failure}.") from failure
        return True

    # -- transactions --------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        try:
            with self._connected() as connection:
                self._begin(connection, "DEFERRED")
                try:
                    yield connection
                finally:
                    _roll_back(connection)
        except sqlite3.Error as failure:
            raise self._in_plain_words(failure, "nothing was read") from failure

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one writer; committed and on disk when the block has ended, unless it raises: then nothing was written."""
        outcome = "nothing was spent"
        try:
            with self._connected() as connection:
                self._begin(connection, "IMMEDIATE")
                try:
                    yield connection
                    outcome = "nothing may be released, though the charge may stand"
                    connection.execute("COMMIT")
                except BaseException:  # an interrupt too: what is not committed is not spent
                    _roll_back(connection)
                    raise
        except sqlite3.Error as failure:
            raise self._in_plain_words(failure, outcome) from failure

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            if self._process != os.getpid():
                raise LedgerError("a ledger in memory cannot follow into another process; give it a path.")
            yield self._memory
            return
        assert self.path is not None
        if not os.path.exists(self.path):
            raise LedgerError(f"{self} is gone.")
        # mode=rw never makes a new, empty file; the timeout is short because `_begin` waits better: in short naps, so that everybody gets a
        # turn and Ctrl-C is heard, where SQLite's own naps grow long
        connection = sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0.02)
        try:
            yield connection
        finally:
            connection.close()

    def _begin(self, connection: sqlite3.Connection, kind: str) -> None:
        """Start a transaction and take its view of the file, however long others need, up to PATIENCE; then check whose file it is."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                _prepare(connection)
                connection.execute(f"BEGIN {kind}")
                owner, schema = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
                break
            except sqlite3.OperationalError as failure:
                _roll_back(connection)
                # the last user of a file locks it while putting it in order, and SQLite's own timeout does not always cover that
                if not _name_of(failure).startswith(_WAITING) or time.monotonic() > deadline:
                    raise
            time.sleep(0.001 * (1 + secrets.randbelow(8)))
        if owner != APPLICATION:
            raise LedgerError(f"{self} is not a ledger: the file is empty or belongs to another program.")
        if schema != SCHEMA:
            raise LedgerError(f"{self} has schema version {schema} and this hush knows version {SCHEMA}; use the hush that wrote it.")

    def _in_plain_words(self, failure: sqlite3.Error, outcome: str) -> LedgerError:
        """SQLite's error in one sentence of ours."""
        code, text = _name_of(failure), str(failure)
        for words, meaning in _PLAIN:
            if any(code.startswith(word) or word in text for word in words):
                return LedgerError(f"{self} {meaning.format(patience=PATIENCE)}; {outcome}.")
        return LedgerError(f"{self} does not work ({text}); {outcome}.")

    # -- a whole check -------------------------------------------------------------------------------------------------------------

    def check_structure(self, connection: sqlite3.Connection) -> None:
        """SQLite's own integrity check, and tables and triggers as they were made."""
        found = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if found != [("ok",)]:
            raise LedgerError(f"{self} is damaged: {str(found[0][0]).splitlines()[0]}.")
        rows = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'").fetchall()
        if {row[0] for row in rows} != {*_TABLES, *_TRIGGERS}:
            raise LedgerError(f"{self} is damaged: its tables or the triggers that keep it append-only were changed.")


def existing(path: Path) -> LedgerFile:
    """A file that has to be there."""
    if not os.path.exists(path):
        raise InvalidParameter(f"there is no ledger at {path}; create one with Ledger({str(path)!r}, epsilon=1.0, delta=1e-6).")
    return LedgerFile(path)


def _prepare(connection: sqlite3.Connection) -> None:
    for statement in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {statement}")


def _roll_back(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _sync_folder(folder: Path) -> None:
    """The new name on disk too, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
