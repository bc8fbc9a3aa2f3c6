"""The name of a source for people and ledgers. It has no password and fits into a ledger."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["described", "file_label", "short", "without_password"]

#: Characters of a source's name. A ledger accepts 1000, and the name of the unit column is added.
LONGEST_LABEL = 900
#: Characters that are kept of a longer name.
KEPT_OF_LABEL = 300


def described(columns: Iterable[str]) -> str:
    """The label of a frame in memory, which has no name: its columns."""
    names = list(map(str, columns))
    return short(f"a frame of {', '.join(names)}", f"{len(names)} columns")


def file_label(path: str) -> str:
    """The label of a file, its full path, or of an address, without a password in it."""
    path = without_password(path)
    return short(path if "://" in path else f"file {Path(path).absolute()}", f"{len(path)} characters")


def without_password(text: str) -> str:
    """Text in which addresses such as https://user:password@host have no password."""
    return re.sub(r"(?<=://)([^/@:\s]*):[^/@\s]*@", r"\1@", text)


def short(label: str, size: str) -> str:
    """A label that a ledger accepts. A long one is shortened to its beginning, its size and a hash of all of it."""
    if len(label) <= LONGEST_LABEL:
        return label
    digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{label[:KEPT_OF_LABEL]}... ({size}, SHA-256 {digest})"
