"""Read a ledger without touching it: no lock, no write, no new file, no permission but to read.

SQLite creates files next to a database when it reads one with a write-ahead log. Therefore the file and its log are
copied, and the copy is opened. A copy is used only if two readings in a row agree. Between the end of the first and
the start of the second, both files then were as copied. A crash could have left this state, and from such a state
SQLite recovers the last commit.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hush.errors import InvalidParameter, LedgerError, reject
from hush.ledger import Ledger

__all__ = ["from_here", "reading"]

_TRIES = 40  # readings
_LARGEST = 1 << 30  # bytes: a larger file is not a ledger


@contextmanager
def reading(ledger: Ledger | str | os.PathLike[str]) -> Iterator[Ledger]:
    """Yields an open ledger unchanged, and a file as a copy of its last commit.

    Guarantees: the file, its folder and its locks are not changed. Missing, damaged or unreadable files raise
    `InvalidParameter` or `LedgerError` with one sentence that names the file as it was given.
    """
    if isinstance(ledger, Ledger):
        yield ledger
        return
    if (
        not isinstance(ledger, str | os.PathLike)
        or isinstance(os.fspath(ledger), bytes)
        or "\0" in str(ledger)
        or not str(ledger)
    ):
        raise reject("ledger", ledger, "a Ledger or the name of its file", "write 'census.ledger'")
    given = Path(ledger)
    content, log = _bytes(given)
    with tempfile.TemporaryDirectory(prefix="hush-") as folder:
        copy = Path(folder) / (given.name or "ledger")
        copy.write_bytes(content)
        if log:
            copy.with_name(copy.name + "-wal").write_bytes(log)
        try:
            with Ledger(copy) as found:
                found.verify()
                yield found
        except LedgerError as failure:
            raise LedgerError(str(failure).replace(str(copy), str(given))) from failure


def from_here(path: str | os.PathLike[str]) -> str:
    """The path of a file for a command: relative to the current folder if the file is below it, else the name alone,
    for a command in the folder of the file. It is never absolute, because folders may name people or projects.
    """
    full, here = Path(path), Path.cwd()
    if not full.is_absolute():
        return str(full)
    return str(full.relative_to(here)) if full.is_relative_to(here) else full.name


def _bytes(path: Path) -> tuple[bytes, bytes]:
    """The file and its write-ahead log at one moment in time."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise LedgerError(f"the ledger {path} is not a file; give the file of the ledger.")
        if found.st_nlink > 1:  # the log is found by the file name: another name may have other charges
            raise LedgerError(
                f"the ledger {path} has {found.st_nlink} names (hard links), and each may have other charges; remove "
                "all but one."
            )
        if found.st_size > _LARGEST:
            raise LedgerError(f"the ledger {path} is too large for a ledger; give the file of the ledger.")
        log = Path(f"{os.path.realpath(path)}-wal")
        before: tuple[bytes, bytes] | None = None
        for _ in range(_TRIES):
            now = path.read_bytes(), log.read_bytes() if log.exists() else b""
            if now == before:
                return now
            before = now
            time.sleep(0.001)
    except FileNotFoundError:
        raise InvalidParameter(
            f"there is no ledger {path}; make one with `hush ledger new {path} --epsilon E --delta D`."
        ) from None
    except OSError as failure:
        raise LedgerError(f"the ledger {path} cannot be read: {failure.strerror or failure}.") from failure
    raise LedgerError(f"the ledger {path} is being written to all the time; try again later.")
