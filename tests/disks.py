"""File systems that refuse: a full one, a quota that is found late, and a read-only one."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: str = "64k") -> Iterator[Path]:
    """A small file system of its own; the test is skipped where nobody may mount one."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("a small file system cannot be mounted here: that needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Write zeros until the file system is full."""
    handle = os.open(folder / "zeros", os.O_CREAT | os.O_WRONLY)
    try:
        while os.write(handle, bytes(4096)):
            pass
    except OSError:
        pass
    finally:
        os.close(handle)


def read_only(folder: Path) -> None:
    """Make a mounted file system read-only."""
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def refuse_to_synchronise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file seem written until it is synchronised, as some network file systems and quotas do."""
    from hush.releasing import destination

    def refused(_: int) -> None:
        raise OSError(errno.EDQUOT, "x")

    monkeypatch.setattr(destination.os, "fsync", refused)
