"""The ledger's SQLite file: created whole or not at all, appended to in one durable transaction, never changed
otherwise.

A connection lives for one operation, and forks keep out of its way (fork_guard.py). So none is ever carried through a
fork, threads share none, and a file that was moved, replaced or damaged in the meantime is noticed the next time it
is touched. Write-ahead log, full synchronous:
COMMIT returns when the line is on disk. The log is part of the ledger: it is folded into the file when the last
connection closes, and after a crash when the ledger is opened again.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hush.errors import InvalidParameter, LedgerError
from hush.ledger import fork_guard
from hush.ledger.entry import chained

__all__ = ["PATIENCE", "Fate", "LedgerFile"]

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
    *(
        f"CREATE TRIGGER {t}_only_once BEFORE INSERT ON {t} WHEN EXISTS (SELECT 1 FROM {t}) {_STOP}"
        for t in ("cap", "source")
    ),
    "CREATE TRIGGER entries_in_turn BEFORE INSERT ON entries "
    f"WHEN NEW.number IS NOT (SELECT 1 + COALESCE(MAX(number), 0) FROM entries) {_STOP}",
)

#: SQLite's words (or its codes) and ours; the first that is found speaks.
_PLAIN = (
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "locked"),
        "is locked by another process for more than {patience:g} seconds",
    ),
    (("SQLITE_NOTADB", "not a database"), "is not a ledger, or damaged at its very start"),
    (("SQLITE_CORRUPT", "malformed", "no such"), "is damaged; restore it from a copy"),
    (("SQLITE_READONLY", "readonly"), "cannot be written: the file or its folder is read-only"),
    (("SQLITE_FULL", "is full"), "cannot be written: the disk is full"),
    (
        ("SQLITE_CANTOPEN", "unable to open"),
        "cannot be opened: check that it is a file, and that its folder exists and may be written to",
    ),
    (("SQLITE_PERM", "SQLITE_AUTH", "denied"), "cannot be opened: permission denied"),
    (("SQLITE_IOERR", "disk I/O"), "cannot be read or written: the disk reports an error, or is full"),
)
_WAITING = ("SQLITE_BUSY", "SQLITE_PROTOCOL")
#: A ledger before it has its name; short, so that the name may be as long as the file system allows.
_DRAFT = re.compile(r"\.hush-[0-9a-f]{16}")
#: Connections that a child inherited in the middle of a call, never to be touched again.
_INHERITED: list[sqlite3.Connection] = []


@dataclass
class Fate:
    """What became of a transaction: committed is True from the moment it is certain."""

    committed: bool = False


def _name_of(failure: BaseException) -> str:
    return str(getattr(failure, "sqlite_errorname", ""))


class LedgerFile:
    """One ledger file, or one in memory (path None)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._process = os.getpid()
        self._memory = (
            None if path is not None else sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        )

    def __str__(self) -> str:
        return "the ledger in memory" if self.path is None else f"the ledger {self.path}"

    def close(self) -> None:
        if self._memory is not None and self._process == os.getpid():
            self._memory.close()

    def leftover(self) -> int:
        """Bytes in the write-ahead log beside the file: a process uses the ledger right now, or one has crashed."""
        try:
            return 0 if self.path is None else os.stat(f"{os.path.realpath(self.path)}-wal").st_size
        except OSError:
            return 0

    def fold_in(self) -> None:
        """Put what a crash left in the write-ahead log into the file itself, unless others are at work: the last of
        them does it then.
        """
        if self.leftover():
            with contextlib.suppress(sqlite3.Error), self._connected() as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- making one ------------------------------------------------------------------------------------------

    def create(self, moment: str, content: str) -> bool:
        """A new file with its cap, complete from the first moment it can be seen; False if there is one already."""
        if self.path is None:
            assert self._memory is not None
            self._fill(self._memory, moment, content)
            return True
        if os.path.lexists(self.path):
            return False
        draft = self.path.with_name(f".hush-{secrets.token_hex(8)}")
        try:
            with fork_guard.call(), contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                self._fill(connection, moment, content)
                connection.execute(
                    "PRAGMA journal_mode = WAL"
                )  # last, so that all of it is in the file itself; the mode is kept there
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
        for statement in (
            *_TABLES,
            *_TRIGGERS,
            f"PRAGMA application_id = {APPLICATION}",
            f"PRAGMA user_version = {SCHEMA}",
        ):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO cap VALUES (1, ?, ?, ?)", (moment, content, chained("", SCHEMA, moment, content))
        )
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

    # -- transactions ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the file."""
        try:
            with self._connected() as connection:
                try:
                    self._begin(connection, "DEFERRED")
                    yield connection
                finally:
                    self._undo(connection)
        except sqlite3.Error as failure:
            raise self._in_plain_words(failure, "nothing was read") from failure

    @contextlib.contextmanager
    def writing(self, fate: Fate | None = None) -> Iterator[sqlite3.Connection]:
        """The one writer; committed and on disk when the block has ended, unless it raises: then nothing was written.

        An interrupt can come after the commit all the same; `fate` tells.
        """
        outcome, fate = "nothing was spent", fate or Fate()
        try:
            with self._connected() as connection:
                finishing = False
                try:
                    self._begin(connection, "IMMEDIATE")
                    yield connection
                    self._check_process()
                    outcome, finishing = "nothing may be released, though the charge may stand", True
                    connection.execute("COMMIT")
                    fate.committed = True
                except BaseException as failure:  # an interrupt too: what is not committed is not spent
                    # it may have come between the end of COMMIT and the next line; the connection knows
                    if finishing and not isinstance(failure, sqlite3.Error) and not connection.in_transaction:
                        fate.committed = True
                    self._undo(connection)
                    raise
        except sqlite3.Error as failure:
            raise self._in_plain_words(failure, outcome) from failure

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            self._check_process()
            with fork_guard.call():
                yield self._memory
            return
        assert self.path is not None
        with fork_guard.call():
            self._check_name()
            self._process = os.getpid()
            # mode=rw never makes a new, empty file; the timeout is short because `_begin` waits better: in short
            # naps, so that everybody
            # gets a turn and Ctrl-C is heard, where SQLite's own naps grow long
            connection = sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0.02)
            try:
                yield connection
            finally:
                if self._process != os.getpid():
                    _abandon(connection)
                else:
                    try:
                        connection.close()
                    except (
                        BaseException
                    ):  # an interrupt: an open connection would keep its locks for as long as its traceback is kept
                        connection.close()
                        raise

    def _check_process(self) -> None:
        """Is this still the process that opened the connection?"""
        if self._process != os.getpid():
            known = self.path is None
            what, instead = (
                ("in memory", "give it a path") if known else ("in the middle of a call", "fork between calls")
            )
            raise LedgerError(f"a ledger {what} cannot follow into another process; {instead}.")

    def _undo(self, connection: sqlite3.Connection) -> None:
        if self._process == os.getpid():
            _roll_back(connection)

    def _check_name(self) -> None:
        """SQLite's log and locks go by the file's name, so a second name would be a second budget."""
        assert self.path is not None
        try:
            found = os.stat(self.path)
            if found.st_nlink > 1:
                _remove_drafts(Path(os.path.realpath(self.path)).parent, found)
                found = os.stat(self.path)
        except FileNotFoundError:
            raise LedgerError(f"{self} is gone.") from None
        except OSError as failure:
            raise LedgerError(f"{self} cannot be opened: {failure.strerror or failure}.") from failure
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
            raise LedgerError(
                f"{self} has {found.st_nlink} names (hard links), and each would count a budget of its own; remove all but one "
                f"(find them with: find FOLDER -inum {found.st_ino})."
            )

    def _begin(self, connection: sqlite3.Connection, kind: str) -> None:
        """Start a transaction and take its view of the file, however long others need, up to PATIENCE; then check
        whose file it is.
        """
        deadline = time.monotonic() + PATIENCE
        _roll_back(connection)  # of a ledger in memory, where an interrupt in the wrong place left a transaction open
        while True:
            try:
                _prepare(connection)
                connection.execute(f"BEGIN {kind}")
                owner, schema = (
                    connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
                )
                break
            except sqlite3.OperationalError as failure:
                _roll_back(connection)
                # the last user of a file locks it while putting it in order, and SQLite's own timeout does not always
                # cover that
                if not _name_of(failure).startswith(_WAITING) or time.monotonic() > deadline:
                    raise
            time.sleep(0.001 * (1 + secrets.randbelow(8)))
        if owner != APPLICATION:
            raise LedgerError(f"{self} is not a ledger: the file is empty or belongs to another program.")
        if schema != SCHEMA:
            raise LedgerError(
                f"{self} has schema version {schema} and this hush knows version {SCHEMA}; use the hush that wrote it."
            )

    def _in_plain_words(self, failure: sqlite3.Error, outcome: str) -> LedgerError:
        """SQLite's error in one sentence of ours."""
        code, text = _name_of(failure), str(failure)
        for words, meaning in _PLAIN:
            if any(code.startswith(word) or word in text for word in words):
                return LedgerError(f"{self} {meaning.format(patience=PATIENCE)}; {outcome}.")
        return LedgerError(f"{self} does not work ({text}); {outcome}.")

    # -- a whole check ---------------------------------------------------------------------------------------

    def check_structure(self, connection: sqlite3.Connection) -> None:
        """SQLite's own integrity check, and tables and triggers as they were made."""
        found = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if found != [("ok",)]:
            raise LedgerError(f"{self} is damaged: {str(found[0][0]).splitlines()[0]}.")
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
        if {row[0] for row in rows} != {*_TABLES, *_TRIGGERS}:
            raise LedgerError(f"{self} is damaged: its tables or the triggers that keep it append-only were changed.")


def existing(path: Path) -> LedgerFile:
    """A file that has to be there."""
    if not os.path.exists(path):
        raise InvalidParameter(
            f"there is no ledger at {path}; create one with Ledger({str(path)!r}, epsilon=1.0, delta=1e-6)."
        )
    return LedgerFile(path)


def _prepare(connection: sqlite3.Connection) -> None:
    for statement in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {statement}")


def _roll_back(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _abandon(connection: sqlite3.Connection) -> None:
    """Never touch this connection again, nor let it be closed: its locks belong to the parent process."""
    import ctypes

    _INHERITED.append(connection)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # else the end of the interpreter would close it


def _remove_drafts(folder: Path, ledger: os.stat_result) -> None:
    """A ledger gets its name by a hard link from its draft. Whoever died between the two steps left the draft: the
    same file under a name that only `create` gives, and that nobody opens any more."""
    with contextlib.suppress(OSError), os.scandir(folder) as names:
        for name in names:
            if _DRAFT.fullmatch(name.name) and os.path.samestat(name.stat(follow_symlinks=False), ledger):
                os.unlink(name.path)


def _sync_folder(folder: Path) -> None:
    """The new name on disk too, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
