"""Ball arithmetic with python-flint: a number is an interval (`arb`) that provably contains the exact value.

Every computation uses the precision that is currently set in `flint.ctx.prec`; `precision(bits)` sets it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

__all__ = ["Ball", "Tail", "flint_module", "normal_tail", "precision"]

Ball = Any  # python-flint has no type annotations
#: A function of one ball, x -> P(|X| > x). For a law on a lattice the argument is a whole number of steps.
Tail = Callable[[Any], Ball]


class _Lock:
    """The lock of the process. A forked child gets a new one, because the thread that held it does not exist there."""

    held = threading.RLock()

    @classmethod
    def renew(cls) -> None:
        cls.held = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Lock.renew)


class _Flint:
    """The names of python-flint. Each is imported at its first use, from the module that defines it, because the whole
    package takes twice as long to load as the part that is used.
    """

    def __getattr__(self, name: str) -> Any:
        home = "flint.pyflint" if name == "ctx" else f"flint.types.{name}"
        try:
            found = getattr(import_module(home), name)
        except ImportError:
            found = getattr(import_module("flint"), name)
        setattr(self, name, found)  # so that this is called once for each name
        return found


_FLINT = _Flint()


def flint_module() -> Any:
    """Return python-flint. It is imported at the first use, to keep `import hush` fast."""
    return _FLINT


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set the working precision in bits inside a `with` block.

    flint has one precision for the whole process, so only one thread at a time may be inside such a block.
    """
    with _Lock.held, flint_module().ctx.workprec(bits):
        yield


def normal_tail(x: Ball) -> Ball:
    """P(|Z| > x) for a standard normal Z: sqrt(2/pi) times the integral of e^(-t^2/2) over (x, inf)."""
    return (x / flint_module().arb(2).sqrt()).erfc()
