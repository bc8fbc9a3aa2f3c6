"""Ball arithmetic: numbers as intervals that provably hold them (`arb` of python-flint), at the ambient precision
`flint.ctx.prec`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Ball", "Tail", "flint_module", "normal_tail", "precision"]

Ball = Any  # flint has no types
#: A function of one ball. For a law on a lattice the argument is a whole number of steps.
Tail = Callable[[Any], Ball]


class _Lock:
    """One lock for the process; a forked child, whose other threads are gone, starts with a free one."""

    held = threading.RLock()

    @classmethod
    def renew(cls) -> None:
        cls.held = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Lock.renew)


def flint_module() -> Any:
    """python-flint, loaded at the first use so that `import hush` stays light."""
    import flint

    return flint


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work at this many bits. The precision is one for the whole process, so one thread at a time."""
    with _Lock.held, flint_module().ctx.workprec(bits):
        yield


def normal_tail(x: Ball) -> Ball:
    """P(|Z| > x) for a standard normal Z: sqrt(2/pi) times the integral of e^(-t^2/2) over (x, inf)."""
    return (x / flint_module().arb(2).sqrt()).erfc()
