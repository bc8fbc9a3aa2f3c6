"""The SQLite file of a ledger. It is created completely or not at all; each append is one durable transaction.

Every operation opens its own connection, and no fork happens during an operation (fork_guard.py). So no connection is
carried through a fork, threads share none, and a file that was moved, replaced or damaged is noticed at its next use.
SQLite runs with a write-ahead log and full synchronisation: COMMIT returns when the entry is on disk. The log is part
of the ledger. SQLite merges it into the file when the last connection closes, or after a crash when the ledger is
opened again.
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

from hush.errors import InvalidParameter, LedgerError, shown
from hush.ledger import fork_guard, schema, sqlite_errors

__all__ = ["PATIENCE", "LedgerFile", "Outcome", "existing"]

#: Seconds to wait for other processes that write to the same ledger.
PATIENCE = 60.0
#: The name of a ledger file that is not finished. It is short, so that the final name may be as long as the file
#: system allows.
_DRAFT = re.compile(r"\.hush-[0-9a-f]{16}")
#: Connections that a child process inherited during a call. They must never be used or closed.
_INHERITED: list[sqlite3.Connection] = []


@dataclass
class Outcome:
    """The result of a transaction: `committed` is True as soon as that is certain."""

    committed: bool = False


class LedgerFile:
    """One ledger file, or a database in memory (path None)."""

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
        """Bytes in the write-ahead log beside the file: not 0 if a process is using the ledger, or one has crashed."""
        try:
            return 0 if self.path is None else os.stat(f"{os.path.realpath(self.path)}-wal").st_size
        except OSError:
            return 0

    def fold_in(self) -> None:
        """Merge what a crash left in the write-ahead log into the file. If other processes use the ledger, the last of
        them does this instead.
        """
        if self.leftover():
            with contextlib.suppress(sqlite3.Error), self._connected() as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # -- creation --------------------------------------------------------------------------------------------

    def create(self, moment: str, content: str) -> bool:
        """Create the file with its cap; False if it exists already. Only a complete file ever gets the name."""
        if self.path is None:
            assert self._memory is not None
            schema.create_tables(self._memory, moment, content)
            return True
        if os.path.lexists(self.path):
            return False
        draft = self.path.with_name(f".hush-{secrets.token_hex(8)}")
        try:
            with fork_guard.call(), contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                schema.create_tables(connection, moment, content)
                # the mode is set last, so that the file itself holds everything; the file also stores the mode
                connection.execute("PRAGMA journal_mode = WAL")
            return self._publish(draft)
        except sqlite3.Error as failure:
            raise self._error(failure, "nothing was created") from failure
        finally:
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{draft}{ending}")

    def _publish(self, draft: Path) -> bool:
        """Give the finished draft its name; False if another process was faster."""
        assert self.path is not None
        try:
            try:
                os.link(draft, self.path)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links: reserve the name, then replace the file by the draft
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
            raise self._error(failure, "nothing was read") from failure

    @contextlib.contextmanager
    def writing(self, result: Outcome | None = None) -> Iterator[sqlite3.Connection]:
        """The only writer. The transaction is committed and on disk when the block ends; if the block raises, nothing
        was written. An interrupt can still arrive after the commit: `result` records that.
        """
        consequence, result = "nothing was spent", result or Outcome()
        try:
            with self._connected() as connection:
                finishing = False
                try:
                    self._begin(connection, "IMMEDIATE")
                    yield connection
                    self._check_process()
                    consequence, finishing = "release nothing: the charge may have been recorded", True
                    connection.execute("COMMIT")
                    result.committed = True
                except BaseException as failure:  # interrupts too: what is not committed is not spent
                    # an interrupt may have come between the end of COMMIT and the next line; SQLite's state decides
                    if finishing and not isinstance(failure, sqlite3.Error) and not connection.in_transaction:
                        result.committed = True
                    self._undo(connection)
                    raise
        except sqlite3.Error as failure:
            raise self._error(failure, consequence) from failure

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
            # mode=rw never creates a new, empty file. The timeout is short, because `_begin` waits in short intervals:
            # every process gets its turn and Ctrl-C works, while the intervals of SQLite grow long.
            connection = sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0.02)
            try:
                yield connection
            finally:
                if self._process != os.getpid():
                    _abandon(connection)
                else:
                    try:
                        connection.close()
                    # after an interrupt, an open connection would keep its locks as long as its traceback exists
                    except BaseException:
                        connection.close()
                        raise

    def _check_process(self) -> None:
        """Is this still the process that opened the connection?"""
        if self._process != os.getpid():
            if self.path is None:
                raise LedgerError("a ledger in memory cannot be used in another process; give it a path.")
            raise LedgerError("this process was forked during a ledger call and cannot finish it; fork between calls.")

    def _undo(self, connection: sqlite3.Connection) -> None:
        if self._process == os.getpid():
            _roll_back(connection)

    def _check_name(self) -> None:
        """Reject a file with several names: SQLite finds its log by name, so each name would have its own budget."""
        assert self.path is not None
        try:
            found = os.stat(self.path)
            if found.st_nlink > 1:
                _remove_drafts(Path(os.path.realpath(self.path)).parent, found)
                found = os.stat(self.path)
        except FileNotFoundError:
            raise LedgerError(f"{self} does not exist any more.") from None
        except OSError as failure:
            raise LedgerError(f"{self} cannot be opened: {failure.strerror or failure}.") from failure
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
            raise LedgerError(
                f"{self} has {found.st_nlink} names (hard links), and each would have a separate budget; remove all "
                f"but one (find them with: find FOLDER -inum {found.st_ino})."
            )

    def _begin(self, connection: sqlite3.Connection, kind: str) -> None:
        """Start a transaction with a consistent view of the file, after waiting up to PATIENCE for other processes;
        then check that the file is a ledger of this version.
        """
        deadline = time.monotonic() + PATIENCE
        _roll_back(connection)  # an interrupt may have left a transaction open in a ledger in memory
        while True:
            try:
                if connection is not self._memory:  # that one keeps its settings from its creation
                    schema.prepare(connection)
                connection.execute(f"BEGIN {kind}")
                owner, version = (
                    connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
                )
                break
            except sqlite3.OperationalError as failure:
                _roll_back(connection)
                # the last user of a file locks it during clean-up, which SQLite's timeout does not always cover
                if not sqlite_errors.is_busy(failure) or time.monotonic() > deadline:
                    raise
            time.sleep(0.001 * (1 + secrets.randbelow(8)))
        if owner != schema.APPLICATION:
            raise LedgerError(f"{self} is not a ledger: the file is empty or belongs to another program.")
        if version not in schema.SCHEMAS:
            raise LedgerError(
                f"{self} has schema version {version}, and this version of hush reads version "
                f"{schema.SCHEMAS[-1]}; use the version of hush that wrote it."
            )

    def _error(self, failure: sqlite3.Error, consequence: str) -> LedgerError:
        return LedgerError(f"{self} {sqlite_errors.meaning(failure, PATIENCE)}; {consequence}.")

    def check_structure(self, connection: sqlite3.Connection) -> None:
        """Reject a damaged database, and one whose tables or triggers were changed."""
        wrong = schema.changed_structure(connection)
        if wrong:
            raise LedgerError(f"{self} is damaged: {wrong}.")


def existing(path: Path) -> LedgerFile:
    """A ledger file that must exist already."""
    if not os.path.exists(path):
        raise InvalidParameter(
            f"there is no ledger at {path}; create one with Ledger({shown(str(path))}, epsilon=1.0, delta=1e-6)."
        )
    return LedgerFile(path)


def _roll_back(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _abandon(connection: sqlite3.Connection) -> None:
    """Never use or close this connection: its locks belong to the parent process."""
    import ctypes

    _INHERITED.append(connection)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))  # otherwise the interpreter would close it at exit


def _remove_drafts(folder: Path, ledger: os.stat_result) -> None:
    """Remove a draft that is the same file as the ledger. A ledger gets its name by a hard link to its draft, so a
    process that died between linking and unlinking leaves a draft that nobody opens any more.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as names:
        for name in names:
            if _DRAFT.fullmatch(name.name) and os.path.samestat(name.stat(follow_symlinks=False), ledger):
                os.unlink(name.path)


def _sync_folder(folder: Path) -> None:
    """Write the new name to disk as well, where the system supports that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
