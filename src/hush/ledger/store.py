"""The store of a ledger: its file, opened and checked, and what was read of it so far."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, LedgerError, as_float, budgets, deltas, reject, shown, warn_if_weak
from hush.ledger import fork_guard
from hush.ledger.account import Account, Nonadaptive, Pure
from hush.ledger.blocks import Blocks
from hush.ledger.entry import Cap, text_of
from hush.ledger.filter import Filter, filter_cap
from hush.ledger.filters import Filters, filters_cap
from hush.ledger.listed import Listed, listed_releases, must_cover_list
from hush.ledger.sub_accounts import caps_of
from hush.ledger.sums import Concentrated, Normal
from hush.privacy.budget import one_budget

if TYPE_CHECKING:  # SQLite is loaded with the first ledger, not with hush
    from sqlite3 import Connection

    from hush.ledger.log import Log

__all__ = ["LedgerStore", "empty_account", "ledger_path", "new_cap", "wanted_cap"]

#: Bytes in the longest file name: 255 on every usual file system, less the endings that SQLite adds ("-journal").
_LONGEST_NAME = 247


class Holders:
    """Which thread of this process has the right to the answer of an entry in hand.

    A ledger does not know the contents of a frame or of an array: the same question of two threads may be about two
    of them. So a right that a living thread has in hand is not given to another one, which pays for its own answer.
    """

    def __init__(self) -> None:
        self._threads: dict[int, threading.Thread] = {}

    def hold(self, number: int) -> None:
        """This thread has the right of an entry in hand."""
        self._threads[number] = threading.current_thread()

    def elsewhere(self, number: int) -> bool:
        """Has another living thread the right of this entry in hand?"""
        thread = self._threads.get(number)
        return thread is not None and thread is not threading.current_thread() and thread.is_alive()

    def free(self) -> None:
        """This thread has failed: any thread may ask the same again."""
        mine = threading.current_thread()
        for number in [number for number, thread in list(self._threads.items()) if thread is mine]:
            del self._threads[number]


#: By the real path of a file: several `Ledger` objects of one process may be open on it.
_HOLDERS: dict[str, Holders] = {}


class LedgerStore:
    """An open ledger file with its log and its account, which are brought up to date before every use.

    `wanted` is the cap of a new ledger, or None to open an existing file. Only one thread at a time uses the store.
    """

    def __init__(self, path: Path | None, wanted: Cap | None, moment: str) -> None:
        from hush.ledger import file, log

        self.closed = False
        self._lock = threading.RLock()
        fork_guard.renewed_after_fork(self)
        self.path = path
        self.holders = Holders() if path is None else _HOLDERS.setdefault(os.path.realpath(path), Holders())
        if wanted is None:
            if path is None:
                raise InvalidParameter("a ledger in memory needs a cap; write Ledger(None, epsilon=1.0, delta=1e-6).")
            self.file = file.existing(path)
        else:
            self.file = file.LedgerFile(path)
            weakref.finalize(self, self.file.close)
            self.file.create(moment, log.cap_text(wanted))
        self._known: tuple[Log, Account] | None = None  # one attribute, so that an interrupt cannot separate the two

    def __str__(self) -> str:
        return str(self.file)

    @property
    def cap(self) -> Cap:
        """The cap; it never changes."""
        known = self._known
        return (known if known is not None else self.read())[0].cap

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Only one thread at a time is inside this block."""
        with self._lock:
            if self.closed:
                raise LedgerError("this ledger is closed; open it again with Ledger(path).")
            yield

    def refreshed(self, connection: Connection) -> tuple[Log, Account]:
        """Log and account, with what other processes have written since the last read."""
        from hush.ledger import log as rows

        known = self._known
        log = rows.read(self.file, connection, known[0] if known else None)
        account, count = (known[1], known[0].number) if known else (empty_account(log.cap), 0)
        return log, account.plus(log.entries[count:]) if log.number > count else account

    def keep(self, log: Log, account: Account) -> None:
        """Remember what the file holds now."""
        self._known = log, account

    def read(self) -> tuple[Log, Account]:
        """Log and account of this moment."""
        with self.exclusive():
            with self.file.reading() as connection:
                known = self.refreshed(connection)
            self._known = known
            return known

    def check_cap(self, wanted: Cap | None, mode: str | None, order: float | None) -> None:
        """Reject an existing ledger whose budget, mode or order differs from what the caller gave."""
        cap = self.cap
        kinds = ["epsilon", "delta", "rho", "mu"]
        more = ("accounts", "blocks", "releases")
        kinds += [name for name in more if wanted is not None and getattr(wanted, name) is not None]
        same = wanted is None or all(getattr(wanted, name) == getattr(cap, name) for name in kinds)
        if not same or mode not in (None, cap.mode) or order not in (None, cap.order):
            raise InvalidParameter(
                f"the ledger {self.path} exists with {cap}, which differs from the arguments; open it with "
                f"Ledger({shown(str(self.path))}), or choose another file."
            )

    def verify(self) -> None:
        """Check everything again: the database, its tables and triggers, every hash, and that the cap covers all
        entries.
        """
        from hush.ledger import log as rows
        from hush.ledger import stream_rows

        with self.exclusive(), self.file.reading() as connection:
            self.file.check_structure(connection)
            log = rows.read(self.file, connection, None)
            stream_rows.check(self.file, connection)
            account = empty_account(log.cap).plus(log.entries)
        if account.settled() is None:
            raise LedgerError(f"{self.file} is damaged: its entries together exceed its cap.")

    def close(self) -> None:
        """End the use of the file through this object; the file remains."""
        if not self.closed:
            self.closed = True
            self.file.close()


def ledger_path(path: str | os.PathLike[str] | None) -> Path | None:
    """The absolute path of a ledger file, checked; None is a ledger in memory."""
    if path is None:
        return None
    allowed, instead = "the name of a file", "write Ledger('budget.ledger', ...), or None for a ledger in memory"
    if not isinstance(path, str | os.PathLike) or str(path) in ("", ":memory:"):
        raise reject("path", path, allowed, instead)
    try:
        place = Path(os.path.abspath(path))
        length = len(os.fsencode(place.name))
    except (TypeError, ValueError) as failure:  # bytes, and characters that no file name can hold
        raise reject("path", path, allowed, instead) from failure
    if "\0" in str(place) or length > _LONGEST_NAME:
        raise reject("path", path, f"the name of a file, of at most {_LONGEST_NAME} bytes and without NUL")
    return place


def new_cap(
    budget: tuple[Any, Any, Any, Any], mode: str | None, order: Any, accounts: Any, blocks: Any, releases: Any
) -> Cap | None:
    """The cap of a new ledger, with everything that belongs to it; None if no budget is given. `budget` has epsilon,
    delta, rho and mu.
    """
    epsilon, delta, rho, mu = budget
    listed = listed_releases(releases)
    odd = epsilon is None or rho is not None or mu is not None or blocks is not None or order is not None
    if listed is not None and (odd or mode == "adaptive"):
        raise InvalidParameter(
            "releases= is for a ledger with epsilon and delta, without blocks, order and mode='adaptive'; write "
            "Ledger(path, epsilon=1.0, delta=1e-6, releases=plans)."
        )
    cap = wanted_cap(epsilon, delta, rho, mu, mode if listed is None else "nonadaptive", order)
    if cap is None:
        return None
    named = blocks and text_of("blocks", blocks)
    made = replace(cap, accounts=caps_of(accounts, mode if listed is None else cap.mode), blocks=named, releases=listed)
    if listed is not None:
        must_cover_list(made)
    return made


def wanted_cap(epsilon: Any, delta: Any, rho: Any, mu: Any, mode: str | None, order: Any) -> Cap | None:
    """The cap of a new ledger, checked; None if no budget is given, to open an existing one."""
    if epsilon is None and delta is None and rho is None and mu is None:
        return None
    kind = one_budget(epsilon, delta, rho, mu, "Ledger(path, epsilon=1.0, delta=1e-6)")
    if kind != "epsilon":
        if mode not in (None, "adaptive") or order is not None:
            raise InvalidParameter(f"a ledger in {kind} is valid for every choice; leave mode and order out.")
        return (
            Cap(rho=rho, mu=mu) if delta is None else Cap(rho=rho, mu=mu, delta=as_float("delta", delta, "in (0, 1)"))
        )
    budget = float(budgets("epsilon", as_float("epsilon", epsilon, "a number greater than 0")))
    share = float(deltas("delta", as_float("delta", delta, "in [0, 1)"), zero=True))
    warn_if_weak(budget, share)
    if mode != "nonadaptive" and share > 0.0:
        return filters_cap(budget, share) if order is None else filter_cap(budget, share, order)
    if order is not None:
        raise reject("order", order, "left out", 'only a ledger with mode="adaptive" and delta > 0 has an order')
    return Cap(budget, share, mode or "adaptive")


def empty_account(cap: Cap) -> Account:
    """An account without entries, with the rule of composition that the cap needs."""
    if cap.blocks is not None:
        return Blocks(cap)
    if cap.releases is not None:
        return Listed(cap)
    if cap.rho is not None:
        return Concentrated(cap)
    if cap.mu is not None:
        return Normal(cap)
    if cap.delta == 0.0:
        return Pure(cap)
    if cap.mode == "nonadaptive":
        return Nonadaptive(cap)
    return Filters(cap) if cap.first is not None else Filter(cap)
