"""Wait for an engine in such a way that Ctrl-C stops it.

Python raises KeyboardInterrupt in the main thread, and only between two steps of Python. A main thread that is inside
an engine does not get it until the engine returns. So the engine runs in a thread, and the caller waits for results.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from queue import Empty, Full, Queue
from typing import Any, TypeVar

__all__ = ["PATIENCE", "POLL", "in_thread", "interruptible", "still_working"]

Item = TypeVar("Item")
Produce = Callable[[], Iterator[Item]]
Work = Callable[[], None]
Inherit = Callable[[Work], Work]
Stop = Callable[[], Any]

NAME = "hush query"
#: Seconds between two checks that the other side still runs.
POLL = 0.1
#: Seconds that an engine gets to stop. After that its thread continues, and ends with the process.
PATIENCE = 0.8


def interruptible(produce: Produce[Item], stop: Stop, *, inherit: Inherit = lambda work: work) -> Iterator[Item]:
    """The items of `produce()`, made in a thread, one item ahead. If the caller is interrupted or ends early, `stop`
    ends the thread's work.

    `stop` is called from the caller's thread, perhaps several times. `inherit` wraps the thread's function, for an
    engine that stores settings per thread. An exception of `produce` is raised here unchanged.
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
    """The items that the thread hands over. On Windows only a wait with a time limit can be interrupted."""
    while True:
        try:
            kind, value = ready.get(timeout=POLL)
        except Empty:
            if thread.is_alive() or not ready.empty():
                continue
            raise RuntimeError("the thread of a query ended without a result or an error.") from None
        if kind == "item":
            yield value
            continue
        thread.join()  # its work is done, so it need not be stopped
        if kind == "failure":
            raise value
        return


def end(thread: threading.Thread, stop: Stop) -> None:
    """Ask the engine to stop, repeatedly: an engine that has not yet begun its query ignores the request."""
    until = time.monotonic() + PATIENCE
    while thread.is_alive() and time.monotonic() < until:
        with suppress(Exception):  # the caller gets the interruption, not this error
            stop()
        thread.join(POLL)


def in_thread(make: Callable[[], Item], stop: Stop = lambda: None, *, inherit: Inherit = lambda work: work) -> Item:
    """The value of `make()`, made in a thread: see `interruptible`."""

    def produce() -> Iterator[Item]:
        yield make()

    (made,) = interruptible(produce, stop, inherit=inherit)
    return made


def still_working() -> bool:
    """Is an engine still running that nobody waits for?"""
    return any(thread.name == NAME for thread in threading.enumerate())
