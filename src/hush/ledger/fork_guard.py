"""Forks and ledger calls do not overlap.

SQLite keeps its locks in tables of the process. A fork copies the tables but not the locks: a child that is forked
while a thread has a ledger open would rely on locks that nobody holds, and write at the same time as the parent. So a
fork waits until no thread is in a ledger call, and calls wait while a thread forks. Calls never wait for each other
here.

A fork during a ledger call of the same thread (in a signal handler, or in a callback) cannot wait for that call to end.
It proceeds, as does a fork that waited longer than LONGEST, or whose wait was interrupted. The parent continues
normally. In the child, every ledger raises an error from then on: only a new process (spawn, exec) has clean tables.
Nothing blocks forever.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Protocol

from hush.errors import LedgerError

__all__ = ["LONGEST", "call", "renewed_after_fork"]

#: Seconds that a fork waits for ledger calls to end: more than one call takes when it waits for other processes.
LONGEST = 120.0
#: Seconds between looks. The end of a call wakes a waiting fork, but an interrupt may lose that signal.
_NAP = 0.05


class _Call:
    """One ledger call in progress. It disappears when nothing refers to it, however the call ended."""


class _Renewed(Protocol):
    _lock: threading.RLock


class _Gate:
    def __init__(self) -> None:
        self.calls: weakref.WeakKeyDictionary[_Call, int] = weakref.WeakKeyDictionary()  # call: its thread
        self.forking: list[int] = []  # threads that are forking
        self.clean: dict[int, bool] = {}  # thread: was no call in progress when it forked?
        self.usable = True
        self.changed = threading.Condition()  # uses an RLock: a signal handler may run while its thread holds it

    def enter(self, one: _Call) -> None:
        me = threading.get_ident()
        with self.changed:
            # a nested call must not wait for a fork that waits for the outer call of this thread
            while any(thread != me for thread in self.forking) and me not in self.calls.values():
                self.changed.wait(_NAP)
            if not self.usable:
                raise LedgerError(
                    "this process was forked during a ledger call and cannot use ledgers; fork between calls, or start "
                    'the process with multiprocessing\'s "spawn".'
                )
            self.calls[one] = me

    def leave(self, one: _Call) -> None:
        with self.changed:
            self.calls.pop(one, None)
            self.changed.notify_all()

    def before_fork(self) -> None:
        me = threading.get_ident()
        with self.changed:
            self.forking.append(me)
            self.clean[me] = False
            deadline = time.monotonic() + LONGEST
            while self.calls and me not in self.calls.values() and time.monotonic() < deadline:
                self.changed.wait(_NAP)
            self.clean[me] = not self.calls

    def after_fork_in_parent(self) -> None:
        me = threading.get_ident()
        with self.changed:
            if me in self.forking:
                self.forking.remove(me)
            self.changed.notify_all()

    def after_fork_in_child(self) -> None:
        # other threads do not exist here, and their locks stay locked: create everything new
        self.usable = self.usable and self.clean.get(threading.get_ident(), False)
        self.calls, self.forking, self.clean = weakref.WeakKeyDictionary(), [], {}
        self.changed = threading.Condition()
        for owner in list(_RENEWED):
            owner._lock = threading.RLock()


_GATE = _Gate()
_RENEWED: weakref.WeakSet[_Renewed] = weakref.WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_GATE.before_fork, after_in_parent=_GATE.after_fork_in_parent, after_in_child=_GATE.after_fork_in_child
    )


def renewed_after_fork(owner: _Renewed) -> None:
    """Give the owner a new `_lock` in every forked child: the thread that held the old one does not exist there."""
    _RENEWED.add(owner)


@contextlib.contextmanager
def call() -> Iterator[None]:
    """No fork begins inside this block, except by the same thread; its child then cannot use ledgers."""
    one = _Call()
    try:
        _GATE.enter(one)
        yield
    finally:
        try:
            _GATE.leave(one)
        except BaseException:  # an interrupt: try again, so that no later fork waits for a call that has ended
            _GATE.leave(one)
            raise
