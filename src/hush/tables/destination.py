"""The file that an answer is written to. It is checked and opened before anything is spent: a charge for an answer that
cannot be written would be lost.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hush.errors import InvalidParameter, shown

__all__ = ["must_be_writable", "part_file"]


def must_be_writable(out: str | os.PathLike[str], *, role: str = "path", folder: bool = False) -> None:
    """Reject a file (or, with `folder`, a new folder) that cannot be written. Addresses such as s3://... are not
    checked here: the engine checks them.
    """
    text = os.fspath(out)
    if not isinstance(text, str) or not text:
        raise InvalidParameter(f"{role} must be the name of a file, got {shown(out)}; write 'answer.parquet'.")
    if "://" in text:
        return
    path = Path(text)
    parent = path.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise InvalidParameter(
            f"{role} {text} cannot be written, because {parent} is not a writable folder; nothing was spent."
        )
    if folder and path.exists():
        raise InvalidParameter(
            f"{role} {text} exists already, but Spark writes a new folder; choose another name; nothing was spent."
        )
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InvalidParameter(
            f"{role} {text} cannot be written, because it is no writable file; choose another name; nothing was spent."
        )


@contextmanager
def part_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path`, made before anything is spent and removed if the work fails."""
    # mkstemp makes a new file and never follows a link
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        part.chmod(0o666 & ~_umask())
        yield part
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    """The permission bits that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
