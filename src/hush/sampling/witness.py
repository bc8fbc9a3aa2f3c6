"""What an audit by replay puts between a payment and its noise.

A witness sees every exact input of a payment's noise, and decides which numbers are released in its place. It exists
only inside `watched_by`, which `hush.audit.replay` alone opens, and only for payments that no ledger file has charged.

Guarantees: noise that a payment draws never comes from recorded bits. A second run gets the numbers that the first run
released, which tell nothing about the second data. `must_not_be_watched` keeps the ledgers of real data out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported

__all__ = [
    "Steps",
    "Witness",
    "cells",
    "cells_of",
    "must_not_be_watched",
    "now",
    "secret_bytes",
    "watched_by",
    "witness",
]

Steps = NDArray[np.int64]


class Witness(Protocol):
    """What is asked in place of randomness while a function is audited by replay."""

    def secret(self, size: int) -> bytes:
        """Secret bytes that are not noise on data, such as the salt that decides which rows of a person count."""

    def now(self) -> datetime:
        """The time that receipts and ledgers state."""

    def paid(self, charges: tuple[Any, ...]) -> None:
        """A payment was made for these charges."""

    def noisy(self, mechanism: Any, steps: Steps, cells: Any, fresh: Callable[[Steps], Steps]) -> Steps:
        """The numbers to release for these exact steps; `fresh` draws them as always. `cells` names the groups that the
        steps are of, if their number may depend on the data.
        """

    def chosen(self, charge: Any, numbers: Steps, fresh: Callable[[Steps], Steps]) -> Steps:
        """The places to release for a choice among these numbers."""

    def drew(self, noise: Any, shape: Any, step: float) -> None:
        """`draw` was called."""

    def refuse(self, failure: Exception) -> None:
        """This failure ends the audit, even if the function catches it."""


_PRESENT: ContextVar[Witness | None] = ContextVar("hush replay", default=None)
_CELLS: ContextVar[Any] = ContextVar("hush replay: cells", default=None)


def witness() -> Witness | None:
    """The witness of this call; None outside of an audit by replay."""
    return _PRESENT.get()


@contextmanager
def watched_by(present: Witness) -> Iterator[None]:
    """Let a witness decide what payments release and which secret bytes are used."""
    outer = _PRESENT.get()
    if outer is not None:
        failure = Unsupported("an audit by replay cannot run inside another one; call hush.audit.replay once.")
        outer.refuse(failure)
        raise failure
    token = _PRESENT.set(present)
    try:
        yield
    finally:
        _PRESENT.reset(token)


@contextmanager
def cells_of(names: Any) -> Iterator[None]:
    """State which groups the numbers are of that get noise inside, for a witness."""
    if _PRESENT.get() is None:
        yield
        return
    token = _CELLS.set(names)
    try:
        yield
    finally:
        _CELLS.reset(token)


def cells() -> Any:
    """The groups that `cells_of` stated; None outside of it."""
    return _CELLS.get()


def must_not_be_watched(place: Any) -> None:
    """Reject a ledger file inside of an audit by replay: what it charges must be released with fresh noise."""
    present = _PRESENT.get()
    if present is not None:
        failure = Unsupported(
            f"hush.audit.replay runs a function several times on made-up data, and does not charge the ledger {place}; "
            "write ledger=None, or ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6) inside of the function."
        )
        present.refuse(failure)
        raise failure


def now() -> datetime:
    """The time for receipts and ledgers, or the one that a witness recorded."""
    present = _PRESENT.get()
    return datetime.now(UTC) if present is None else present.now()


def secret_bytes(size: int) -> bytes:
    """Secret bytes from the operating system, or those that a witness recorded."""
    present = _PRESENT.get()
    return os.urandom(size) if present is None else present.secret(size)
