"""The process of a command: `hush ...` or `python -m hush ...`.

A command is short, and most of its time is the loading of packages. So its process searches rarely for unused cycles of
objects, loads some packages only in part, and ends without taking every loaded module apart.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import NoReturn

__all__ = ["End", "run"]

#: New objects between two searches for unused cycles. Loading the packages of an answer makes about 300,000, and
#: Python's 700 would search hundreds of times.
_OBJECTS = 500_000


class End:
    """The end of the process, after all threads and after everything else that is registered for the exit.

    It writes what is still to be written and stops. Python would then free all modules one by one, which takes a tenth
    of a second. If the command has returned no code, or if its output cannot be written, Python ends as usual.
    """

    code: int | None = None

    def __call__(self) -> None:
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except (OSError, ValueError):
            return
        if self.code is not None:
            os._exit(self.code)


def run() -> NoReturn:
    """Run the command of the command line and end the process with its exit code."""
    gc.set_threshold(_OBJECTS)
    end = End()
    atexit.register(end)  # what is registered first runs last
    from hush.cli import main
    from hush.cli.deferred import defer

    defer()
    end.code = main()
    sys.exit(end.code)


if __name__ == "__main__":
    run()
