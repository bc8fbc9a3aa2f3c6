"""The files that hush writes. A file is checked before anything is spent, it appears under its name only when it is
whole, and a full disk, a quota or a missing folder gives one sentence.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hush.errors import InvalidParameter, NotWritten, shown

__all__ = ["must_be_writable", "on_disk", "part_file", "reason", "spare", "write_text"]

#: The first bytes of SQLite files: a database, and a write-ahead log of either byte order.
_DATABASES = (b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


def must_be_writable(
    out: str | os.PathLike[str], *, role: str = "path", folder: bool = False, fresh: bool = False
) -> None:
    """Reject a file (or, with `folder`, a new folder) that cannot be written, and with `fresh` one that exists.
    Addresses such as s3://... are not checked here: the engine checks them.
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
    spare(path)
    if fresh and path.exists():
        raise InvalidParameter(
            f"{role} {text} exists already; choose another name, or add --overwrite to replace it; nothing was spent."
        )


@contextmanager
def part_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file beside `path`, which gets its name at the end of the block. If the block fails, the new file is
    removed, and a file that had the name stays as it was; an error of the file system raises `NotWritten`.
    """
    try:
        place = Path(os.path.realpath(path))  # a link stays a link, and the file behind it is replaced
        if place.exists() and not place.is_file():  # a device or a pipe has no other name
            yield place
            return
        # mkstemp makes a new file and never follows a link
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name[:100]}.", suffix=".part")
        os.close(handle)
        part = Path(name)
        try:
            shutil.copymode(place, part) if place.exists() else part.chmod(0o666 & ~_umask())
            yield part
            on_disk(part)
            os.replace(part, place)
        finally:
            part.unlink(missing_ok=True)
    except NotWritten:
        raise
    except OSError as failure:
        raise NotWritten(f"{os.fspath(path)} cannot be written: {reason(failure)}; choose another file.") from failure


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8; a `NotWritten` is raised if the file system refuses."""
    with part_file(path) as part:
        part.write_text(text, encoding="utf-8")


def reason(failure: OSError) -> str:
    """Why the file system refused, in its own words. Libraries add their own text before it."""
    if failure.errno:
        return os.strerror(failure.errno)
    return "the system gives no reason"  # never its text, which may come from a library that quotes data


def spare(place: Path, *ledgers: str | os.PathLike[str]) -> None:
    """Raise if `place` is one of these ledgers, a file that SQLite keeps for one of them, or any SQLite database."""
    if not place.exists():
        return
    companions = (Path(f"{os.path.realpath(one)}{end}") for one in ledgers for end in ("", "-wal", "-shm", "-journal"))
    if any(other.exists() and place.samefile(other) for other in companions) or _is_database(place):
        raise InvalidParameter(f"{place} is a ledger or another database, and would be lost; choose another file.")


def _is_database(place: Path) -> bool:
    if not place.is_file():
        return False
    try:
        with place.open("rb") as file:
            start = file.read(16)
    except OSError:  # the writer will report the error
        return False
    return start.startswith(_DATABASES)


def on_disk(part: Path) -> None:
    """Wait until the file is on disk: some file systems report a full disk or a quota only then."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    """The permission bits that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
