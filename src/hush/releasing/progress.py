"""Progress on standard error, with the seconds since the start. It is drawn on a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["counting", "working"]

#: Seconds before the first line is drawn.
_SOON = 0.4
_WIDTH = 30  # columns of the bar that is printed where standard error is not a terminal


def _silent(text: str) -> None:
    """Show nothing."""


def _bar(*columns: Any, transient: bool) -> Any:
    """A live line at the bottom of the terminal; `transient` lines are removed at the end."""
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    # standard output is left alone: it may be a pipe while standard error is a terminal
    return Progress(
        *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=transient, redirect_stdout=False
    )


@contextmanager
def working(text: str = "", *, otherwise: Callable[[str], None] = _silent) -> Iterator[Callable[[str], None]]:
    """Show what the program is doing, and for how long; yields a function that replaces the text.

    otherwise: receives each text where standard error is not a terminal (default: nothing is shown).
    """
    if not sys.stderr.isatty():
        yield otherwise
        return
    line = _LateLine(text)
    timer = threading.Timer(_SOON, line.begin)
    timer.daemon = True
    timer.start()
    try:
        yield line.show
    finally:
        timer.cancel()
        line.end()


class _LateLine:
    """A live line that begins after a moment, so that quick work does not wait for a display that nobody can read."""

    def __init__(self, text: str) -> None:
        self.text, self.since, self.live, self.over = text, time.monotonic(), None, False
        self.lock = threading.Lock()

    def begin(self) -> None:
        from rich.progress import SpinnerColumn, TextColumn

        with self.lock:
            if self.over:
                return
            live = _bar(SpinnerColumn(), TextColumn("{task.description}", markup=False), transient=True)
            live.add_task(self.text, total=None)
            live.tasks[0].start_time = live.get_time() - (time.monotonic() - self.since)
            live.start()
            self.live = live

    def show(self, text: str) -> None:
        with self.lock:
            self.text = text
            if self.live is not None:
                self.live.update(self.live.task_ids[0], description=text)

    def end(self) -> None:
        with self.lock:
            self.over = True
            if self.live is not None:
                self.live.stop()


@contextmanager
def counting(name: str, total: int | None, *, noun: str = "", keep: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar of `total` steps; yields a function that takes the number of steps that are done.

    total: None where the number of steps is not known, which gives a counter without a bar. noun: the name of one
    step. keep: the last state stays, and the bar is printed also where standard error is not a terminal.
    """
    of, unit = "" if total is None else f" of {total:,}", f"{noun} " if noun else ""
    if sys.stderr.isatty():
        from rich.progress import BarColumn, TextColumn

        columns = [TextColumn(name, markup=False), *([] if total is None else [BarColumn(_WIDTH)])]
        with _bar(*columns, TextColumn("{task.description}", markup=False), transient=not keep) as live:
            task = live.add_task("", total=total)
            yield lambda done: live.update(task, completed=done, description=f"{unit}{done:,}{of}")
        return
    if not keep:
        yield lambda done: None
        return
    shown = False

    def show(done: int) -> None:
        nonlocal shown
        filled = "" if total is None else f"[{'#' * round(_WIDTH * done / total):.<{_WIDTH}}] "
        sys.stderr.write(f"\r{name} {filled}{unit}{done:,}{of}")
        sys.stderr.flush()
        shown = True

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\n")
