"""The process of a command: `hush ...` or `python -m hush ...`.

A command is short, and most of its time is the loading of packages. So its process searches rarely for unused cycles of
objects, loads some packages only in part, and ends without taking every loaded module apart.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, cast

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


class _Lossy(io.FileIO):
    """A file that ignores what it cannot write: messages on a full disk must not end a command."""

    def write(self, content: Any) -> int:
        with contextlib.suppress(OSError):
            return super().write(content)
        return len(content)


def _messages() -> None:
    """Let standard error lose what it cannot write."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        raw = _Lossy(sys.stderr.fileno(), "w", closefd=False)
        options: dict[str, Any] = {"errors": "backslashreplace", "line_buffering": True, "write_through": True}
        sys.stderr = io.TextIOWrapper(cast("Any", raw), encoding=sys.stderr.encoding, **options)


def _stopped(*_: Any) -> NoReturn:
    """End the process after Ctrl-C while packages are loaded: nothing has begun."""
    os.write(2, b"hush: stopped; nothing was released.\n")
    os._exit(130)


@contextlib.contextmanager
def _loading() -> Iterator[None]:
    """Ctrl-C ends the process at once in this block. A process that ignores it goes on ignoring it."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _stopped)
    yield
    signal.signal(signal.SIGINT, usual)


def run() -> NoReturn:
    """Run the command of the command line and end the process with its exit code."""
    gc.set_threshold(_OBJECTS)
    end = End()
    atexit.register(end)  # what is registered first runs last
    _messages()
    with _loading():
        from hush.cli import main, parser, run_command
        from hush.cli.deferred import defer

        defer()
        options = parser(sys.argv[1]).parse_args() if sys.argv[1:] else None
    end.code = main() if options is None else run_command(options, whole_process=True)
    sys.exit(end.code)


if __name__ == "__main__":
    run()
