"""Where an answer is to be written, checked before anything is spent: an answer that cannot be written would be paid
for all the same.
"""

from __future__ import annotations

import os
from pathlib import Path

from hush.errors import InvalidParameter

__all__ = ["must_be_writable"]


def must_be_writable(out: str | os.PathLike[str], *, role: str = "path", folder: bool = False) -> None:
    """Refuse a file (or, with `folder`, a new folder) that cannot be written here. Addresses such as s3://... are
    left to the engine.
    """
    text = os.fspath(out)
    if not isinstance(text, str) or not text:
        raise InvalidParameter(f"{role} must be the name of a file, got {out!r}; write 'answer.parquet'.")
    if "://" in text:
        return
    path = Path(text)
    parent = path.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidParameter(
            f"{role} {text} cannot be written: {parent} is no folder that may be written to; nothing was spent."
        )
    if folder and path.exists():
        raise InvalidParameter(
            f"{role} {text} exists already, and Spark writes a new folder; choose another name; nothing was spent."
        )
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InvalidParameter(f"{role} {text} cannot be written: choose another name; nothing was spent.")
