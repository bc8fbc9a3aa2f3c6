"""Waiting for an engine so that Ctrl-C ends it.

Python raises KeyboardInterrupt in the main thread, and only between two steps of Python. A main thread that is inside
an engine does not see it until the engine returns. So the engine works in a thread, and the caller waits for results.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from queue import Empty, Full, Queue
from typing import Any, TypeVar

__all__ = ["in_thread", "interruptible", "still_working"]

Item = TypeVar("Item")
Produce = Callable[[], Iterator[Item]]
Work = Callable[[], None]
Inherit = Callable[[Work], Work]
Stop = Callable[[], Any]

NAME = "hush query"
#: Seconds between two looks at whether the other side is still there.
POLL = 0.1
#: Seconds that an engine gets to stop. An engine that takes longer is left to its thread, which ends with the process.
PATIENCE = 0.8


def interruptible(produce: Produce[Item], stop: Stop, *, inherit: Inherit = lambda work: work) -> Iterator[Item]:
    """The items of `produce()`, made one ahead in a thread. If the caller is interrupted or goes away, `stop` ends the
    thread's work.

    `stop` is called from the caller's thread, perhaps several times. `inherit` wraps the thread's function, for an
    engine that keeps settings by thread. An exception of `produce` is raised here as it is.
    """
    ready: Queue[tuple[str, Any]] = Queue(maxsize=1)
    gone = threading.Event()

    def hand_over(kind: str, value: Any) -> None:
        while not gone.is_set():
            try:
                return ready.put((kind, value), timeout=POLL)
            except Full:
                continue

    def work() -> None:
        try:
            with closing(produce()) as items:  # type: ignore[type-var]  # a generator, which has close()
                for item in items:
                    hand_over("item", item)
                    if gone.is_set():
                        return
            hand_over("end", None)
        except BaseException as failure:
            hand_over("failure", failure)

    thread = threading.Thread(target=inherit(work), name=NAME, daemon=True)
    thread.start()
    try:
        yield from received(ready, thread)
    finally:
        gone.set()
        end(thread, stop)


def received(ready: Queue[tuple[str, Any]], thread: threading.Thread) -> Iterator[Any]:
    """What the thread hands over. A wait with a time limit can be interrupted on Windows too; one without cannot."""
    while True:
        try:
            kind, value = ready.get(timeout=POLL)
        except Empty:
            if thread.is_alive() or not ready.empty():
                continue
            raise RuntimeError("the thread of a query ended without a word.") from None
        if kind == "item":
            yield value
            continue
        thread.join()  # it has nothing left to do, so nothing must be stopped
        if kind == "failure":
            raise value
        return


def end(thread: threading.Thread, stop: Stop) -> None:
    """Tell the engine to stop, again and again: an engine that has not yet begun its query forgets what it was told."""
    until = time.monotonic() + PATIENCE
    while thread.is_alive() and time.monotonic() < until:
        with suppress(Exception):  # what stands is the interruption
            stop()
        thread.join(POLL)


def in_thread(make: Callable[[], Item], stop: Stop = lambda: None, *, inherit: Inherit = lambda work: work) -> Item:
    """The value of `make()`, made in a thread: see `interruptible`."""

    def produce() -> Iterator[Item]:
        yield make()

    (made,) = interruptible(produce, stop, inherit=inherit)
    return made


def still_working() -> bool:
    """Is there an engine that was told to stop, or that nobody waits for, and goes on?"""
    return any(thread.name == NAME for thread in threading.enumerate())
