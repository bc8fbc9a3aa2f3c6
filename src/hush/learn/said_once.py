"""Warnings that name the user's line, and come once for each call of the user.

A call such as `cross_val_score(model, X, y)` fits many times. So the outermost function of scikit-learn on the stack
keeps the kinds of warnings that it has caused, among its local names: they end with the call.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from types import FrameType

__all__ = ["callers", "say", "top_of"]

_FRAMES = 200  # callers that are looked at
#: Packages whose lines are not the user's.
_INSIDE = ("hush", "sklearn", "joblib", "contextlib", "threading", "concurrent", "multiprocessing", "runpy")
_SAID = "kinds of warnings of hush"
#: The kinds that a worker of joblib has caused, which has no frame of the user.
_BY_WORKER: set[str] = set()


def callers() -> Iterator[FrameType]:
    """The frames on the stack, from the function that reads this iterator up."""
    frame = inspect.currentframe()
    for _ in range(_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is None:
            return
        yield frame


def top_of(frame: FrameType) -> str:
    """The package of a frame. The first frame of a worker of joblib has the name __main__."""
    if "loky" in frame.f_code.co_filename:
        return "joblib"
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def say(text: str, kind: str) -> None:
    """Warn at the user's line; a kind that the same call of scikit-learn has already caused is left out."""
    level, outer, worker = 0, None, True
    for frame in callers():
        level += 1
        if top_of(frame) not in _INSIDE:
            worker = False
            break
        if top_of(frame) == "sklearn":
            outer = frame
    if outer is not None:
        said = _BY_WORKER if worker else outer.f_locals.setdefault(_SAID, set())
        if kind in said:
            return
        said.add(kind)
    warnings.warn(text, UserWarning, stacklevel=level)
