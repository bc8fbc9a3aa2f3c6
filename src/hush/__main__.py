"""The process of a command: `hush ...` or `python -m hush ...`.

A command is short, and most of its time is the loading of packages. So its process searches rarely for unused cycles of
objects, loads some packages only in part, and ends without taking every loaded module apart.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from typing import NoReturn

__all__ = ["run"]

#: New objects between two searches for unused cycles. Loading the packages of an answer makes about 300,000, and
#: Python's 700 would search hundreds of times.
_OBJECTS = 500_000


def run() -> NoReturn:
    """Run the command of the command line and end the process with its exit code."""
    gc.set_threshold(_OBJECTS)
    from hush.cli import main
    from hush.cli.deferred import defer

    defer()
    end(main())


def end(code: int) -> NoReturn:
    """End the process: run what is registered for the exit, write what is still to be written, and stop.

    Python would then free all modules one by one, which takes a tenth of a second. If a thread still works, or if the
    output cannot be written, the process ends in Python's way.
    """
    main_thread = threading.main_thread()
    if any(thread is not main_thread and not thread.daemon for thread in threading.enumerate()):
        sys.exit(code)
    import atexit

    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    run()
