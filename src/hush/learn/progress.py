"""Progress of a fit on standard error: a bar, or one line per pass. Only released numbers are shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import numpy as np

from hush.errors import InvalidParameter, reject, whole
from hush.learn.descent import Trace

__all__ = ["announce", "level", "reporter"]

_WIDTH = 30


def level(name: str, verbose: object) -> int:
    """The verbosity 0, 1 or 2; False and True are read as 0 and 1."""
    try:
        found = whole(name, int(verbose) if isinstance(verbose, bool | np.bool_) else verbose, 0)
    except InvalidParameter:
        found = -1
    if found not in (0, 1, 2):
        raise reject(name, verbose, "0, 1 or 2", f"write {name}=1 for a progress bar")
    return found


def announce(text: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def reporter(verbose: int, passes: int | None, name: str) -> Iterator[Callable[[int, Trace], None] | None]:
    """The function to call after every pass: None for verbose 0, a bar for 1, a line with the noisy gradient for 2.

    If `passes` is None, their number is not known and the bar shows only a count. The bar's line is always ended, also
    if the fit fails.
    """
    kind, of, shown = level("verbose", verbose), "" if passes is None else f" of {passes}", False

    def bar(done: int, trace: Trace) -> None:
        nonlocal shown
        filled = "" if passes is None else f"[{'#' * round(_WIDTH * done / passes):.<{_WIDTH}}] "
        sys.stderr.write(f"\r{name} {filled}pass {done}{of}")
        sys.stderr.flush()
        shown = True

    def line(done: int, trace: Trace) -> None:
        gradient, move = np.linalg.norm(trace.gradients[-1]), trace.changes[-1]
        sys.stderr.write(f"{name} pass {done}{of}: noisy gradient {gradient:.4g}, move {move:.4g}\n")

    try:
        yield (None, bar, line)[kind]
    finally:
        if shown:
            sys.stderr.write("\n")
