"""The lock around the precision of ball arithmetic, with threads and forks."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest

from hush import Asinh
from hush.numerics.ball import precision
from hush.sampling.exact import draw


def _in_child(connection):
    connection.send(int(draw(Asinh(1.0, 10.0), 5).size))
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_a_thread_works_can_draw():
    """Another thread holds the lock of the precision at the fork; the child gets a new lock."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with precision(100):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    here, there = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(there,))
    child.start()
    try:
        assert here.poll(60) and here.recv() == 5
    finally:
        done.set()
        thread.join()
        child.kill()
        child.join()
