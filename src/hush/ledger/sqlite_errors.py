"""SQLite's errors as sentences that state what happened to the ledger."""

from __future__ import annotations

import sqlite3

__all__ = ["is_busy", "meaning"]

#: SQLite's error codes (or words of its messages), and our sentence. The first match is used.
_SENTENCES = (
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "locked"),
        "was locked by another process for more than {patience:g} seconds",
    ),
    (("SQLITE_NOTADB", "not a database"), "is not a ledger, or the start of the file is damaged"),
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


def _code(failure: BaseException) -> str:
    return str(getattr(failure, "sqlite_errorname", ""))


def is_busy(failure: sqlite3.Error) -> bool:
    """Does another process hold a lock, so that waiting helps?"""
    return _code(failure).startswith(("SQLITE_BUSY", "SQLITE_PROTOCOL"))


def meaning(failure: sqlite3.Error, patience: float) -> str:
    """What happened to the ledger, as the rest of a sentence that begins with its name."""
    code, text = _code(failure), str(failure)
    for words, sentence in _SENTENCES:
        if any(code.startswith(word) or word in text for word in words):
            return sentence.format(patience=patience)
    return f"does not work ({text})"
