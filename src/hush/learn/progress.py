"""A bar while a fit runs, and one line per pass for those who ask. Only released numbers are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from hush.errors import whole
from hush.learn.descent import Trace

__all__ = ["reporter"]

_WIDTH = 30


def reporter(verbose: int, passes: int, name: str) -> Callable[[int, Trace], None] | None:
    """verbose 0: silence; 1: a bar on standard error; 2: the noisy gradient's length and the move of every pass."""
    level = whole("verbose", int(verbose), 0, "write verbose=1")
    if level == 0:
        return None

    def bar(done: int, trace: Trace) -> None:
        filled = round(_WIDTH * done / passes)
        ending = "\n" if done == passes else ""
        sys.stderr.write(f"\r{name} [{'#' * filled}{'.' * (_WIDTH - filled)}] pass {done} of {passes}{ending}")
        sys.stderr.flush()

    def line(done: int, trace: Trace) -> None:
        gradient, move = np.linalg.norm(trace.gradients[-1]), trace.changes[-1]
        sys.stderr.write(f"{name} pass {done} of {passes}: noisy gradient {gradient:.4g}, move {move:.4g}\n")

    return bar if level == 1 else line
