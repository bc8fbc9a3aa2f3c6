"""Progress of a fit on standard error. Only released numbers are shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hush.errors import InvalidParameter, reject, whole
from hush.learn.descent import Trace
from hush.releasing.progress import counting

if TYPE_CHECKING:
    from hush.learn.training import Plan

__all__ = ["announce", "known_passes", "level", "reporter"]


def level(name: str, verbose: object) -> int:
    """The verbosity as 0, 1 or 2; False and True are accepted for 0 and 1."""
    try:
        found = whole(name, int(verbose) if isinstance(verbose, bool | np.bool_) else verbose, 0)
    except InvalidParameter:
        found = -1
    if found not in (0, 1, 2):
        raise reject(name, verbose, "0, 1 or 2", f"write {name}=1 for a progress bar")
    return found


def known_passes(made: Plan) -> int | None:
    """The number of passes; None without noise, where the descent stops when no weight moves."""
    if made.setting.solver in ("statistics", "mean"):
        return 1
    return made.setting.passes if made.request.private else None


def announce(text: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def reporter(verbose: int, passes: int | None, name: str) -> Iterator[Callable[[int, Trace], None] | None]:
    """Yields a function to call after each pass, or None.

    verbose: 0 shows nothing; 1 shows a progress bar; 2 prints, for each pass, the length of the noisy gradient and
    the distance that the weights moved. passes: None where the number of passes is not known.
    """
    kind = level("verbose", verbose)
    if kind == 1:
        with counting(name, passes, noun="pass", keep=True) as show:
            yield lambda done, trace: show(done)
    elif kind == 2:
        of = "" if passes is None else f" of {passes}"

        def line(done: int, trace: Trace) -> None:
            gradient, move = np.linalg.norm(trace.gradients[-1]), trace.changes[-1]
            announce(f"{name} pass {done}{of}: noisy gradient {gradient:.4g}, move {move:.4g}")

        yield line
    else:
        yield None
