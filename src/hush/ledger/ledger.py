"""Ledger: spend, refuse, report."""

from __future__ import annotations

import contextlib
import html
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hush.errors import (
    HushError,
    InvalidParameter,
    LedgerError,
    Unsupported,
    as_float,
    budgets,
    called_like,
    deltas,
    one_of,
    reject,
)
from hush.ledger import fork_guard
from hush.ledger.account import Account, Nonadaptive, Pure
from hush.ledger.entry import Cap, Entry, as_entry, text_of
from hush.ledger.filter import Filter, filter_cap
from hush.ledger.payment import Payment
from hush.ledger.refusal import refusal
from hush.ledger.view import LedgerView
from hush.privacy.charge import Budget, Charge
from hush.privacy.curve import Curve

if TYPE_CHECKING:  # SQLite is loaded with the first ledger, not with hush
    from sqlite3 import Connection

    from hush.ledger.file import LedgerFile
    from hush.ledger.log import Log

__all__ = ["Ledger"]

MODES = ("nonadaptive", "adaptive")
#: Bytes in the longest name of a file: 255 on every usual file system, less what SQLite hangs on ("-journal").
_LONGEST_NAME = 247


class Ledger:
    """A privacy budget and everything spent from it, in an append-only SQLite file (path None: in memory).

    Ledger(path, epsilon=, delta=) creates the file, or opens it if it is there with the same cap and mode;
    Ledger(path) opens it.
    mode "nonadaptive" composes tightly and asks that the mechanisms are fixed in advance; "adaptive" is a Renyi filter
    and lets the analyst choose the next mechanism after seeing answers (docs/sharp_edges.md). `source` is a text that
    says what data the ledger protects.

    Guarantees: whatever was spent, by any number of processes and threads, is together (epsilon, delta) of the cap;
    an entry is on disk when `spend` returns, so that noise drawn afterwards is paid for, whatever happens next.

    >>> from hush import Gaussian
    >>> ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    >>> ledger.spend([(Gaussian(10.0), 1.0, 1)], label="first count").number
    1
    >>> round(ledger.spent.epsilon, 3), round(ledger.left.epsilon, 3)
    (0.397, 0.603)
    """

    @called_like("Ledger('budget.ledger', epsilon=1.0, delta=1e-6)")
    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mode: str = "nonadaptive",
        order: float | None = None,
        source: str | None = None,
    ) -> None:
        self._closed = True  # until it is open
        self._lock = threading.RLock()
        fork_guard.renewed_after_fork(self)
        self._path = _path(path)
        one_of("mode", mode, MODES)
        text = None if source is None else text_of("source", source)
        wanted = _cap(epsilon, delta, mode, order)
        self._file = self._opened(wanted)
        self._closed = False
        self._known: tuple[Log, Account] | None = None  # one name, so that an interrupt cannot come between the two
        try:
            self._read()
            self._file.fold_in()  # now that it is known to be a ledger
            self._check_cap(wanted, mode, order)
            if text is not None:
                self.bind(text)
        except BaseException:
            self.close()
            raise

    def _opened(self, wanted: Cap | None) -> LedgerFile:
        from hush.ledger import file, log

        if wanted is None:
            if self._path is None:
                raise InvalidParameter("a ledger in memory needs a cap; write Ledger(None, epsilon=1.0, delta=1e-6).")
            return file.existing(self._path)
        found = file.LedgerFile(self._path)
        weakref.finalize(self, found.close)
        found.create(_now(), log.cap_text(wanted))
        return found

    def _check_cap(self, wanted: Cap | None, mode: str, order: float | None) -> None:
        """A ledger that was there already has to be the one that was asked for."""
        cap = self.cap
        same = wanted is None or (wanted.epsilon, wanted.delta, wanted.mode) == (cap.epsilon, cap.delta, cap.mode)
        same = (
            same and (wanted is not None or mode in ("nonadaptive", cap.mode)) and (order is None or order == cap.order)
        )
        if not same:
            raise InvalidParameter(
                f"the ledger {self._path} exists with {cap}, which is not what was asked for; open it with Ledger({str(self._path)!r}), "
                "or choose another file."
            )

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._path

    @property
    def cap(self) -> Cap:
        """What may be spent in all; it never changes."""
        assert self._known is not None
        return self._known[0].cap

    @property
    def mode(self) -> str:
        """How charges add up, "nonadaptive" or "adaptive"."""
        return self.cap.mode

    @property
    def source(self) -> str | None:
        """What the ledger protects, once that was said."""
        return self._read()[0].source

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything spent so far, by all processes."""
        return self._read()[0].entries

    def view(self) -> LedgerView:
        """Everything the ledger holds now, read-only: cap, source, entries, account and digest of one moment."""
        log, account = self._read()
        return LedgerView(log.cap, log.source, log.entries, account, log.last)

    @property
    def spent(self) -> Budget:
        """What is gone, as upper bounds: .epsilon at the cap's delta, .delta at the cap's epsilon."""
        return self._report().spent

    @property
    def left(self) -> Budget:
        """.epsilon: a release of this pure epsilon, less 1 %, still fits. .delta: what extra_delta charges may still
        take.
        """
        return self._report().left

    @property
    def share(self) -> float:
        """How much of the budget is gone, from 0 to 1."""
        return self._report().share

    def curve(self) -> Curve:
        """The privacy curve of everything spent, with brackets; for nonadaptive ledgers only."""
        account = self._report()
        if not isinstance(account, Nonadaptive) or not account.totals:
            raise Unsupported(
                "only a nonadaptive ledger with a delta and an entry has a curve; spent and left speak for every ledger."
            )
        return account.curve

    # -- what it does ----------------------------------------------------------------------------------------

    def spend(
        self,
        releases: Any,
        *,
        label: str = "",
        extra_delta: float = 0.0,
        epsilon: float | None = None,
        delta: float | None = None,
    ) -> Payment:
        """Charge one release: a charge, (noise, sensitivity, times), or a list of these. On disk when this returns.

        The payment draws the noise that was charged, each release once. extra_delta is a probability of failure that
        the charges do not show (a threshold). epsilon and delta are the pair that the charges were calibrated for,
        kept for display and checked against them. `BudgetExceeded` if the cap would be passed.

        Guarantees: a `HushError` means that nothing was spent, but for a failing disk at the very end, where its
        message says that the charge may stand. What comes from outside (Ctrl-C, or whatever a signal handler raises)
        passes through: before the commit nothing is spent; after it the charge stands, and a note on the exception
        says so. In no case may anything be released after an exception.
        """
        from hush.ledger import log as lines
        from hush.ledger.file import Fate

        asked, fate, entry = as_entry(releases, label, extra_delta, epsilon, delta), Fate(), None
        try:
            with self._exclusive():
                if not _keeps(asked.charges, asked.epsilon, asked.delta):
                    raise InvalidParameter(
                        f"the release does not keep the epsilon {asked.epsilon:g} and delta {asked.delta:g} it was said to be calibrated "
                        "for; nothing was spent."
                    )
                with self._file.writing(fate) as connection:
                    log, account = self._refreshed(connection)
                    numbered = replace(asked, number=log.number + 1, time=_now())
                    grown = account.plus([numbered])
                    settled = grown.settled()
                    if settled is not None:
                        log, entry = lines.append(connection, log, numbered), numbered
                if settled is None or entry is None:
                    raise refusal(account, grown, numbered)
                self._known = log, settled
                return Payment(
                    entry.charges, entry, str(self._path) if self._path is not None else "a ledger in memory"
                )
        except BaseException as failure:
            if fate.committed and entry is not None:  # the file has it; the next call reads it from there
                failure.add_note(
                    f"The charge stands: entry {entry.number} of {self._file} was written before this came; release nothing."
                )
            raise

    def bind(self, source: str) -> None:
        """Say what data this ledger protects. The first text stays; another one later is refused."""
        from hush.ledger import log as lines

        text = text_of("source", source)
        with self._exclusive():
            known = self._read()[0].source
            if known is None:
                with self._file.writing() as connection:
                    log, account = self._refreshed(connection)
                    known = log.source
                    if known is None:
                        log, known = lines.bind(connection, log, text), text
                self._known = log, account
        self._must_be(known, text)

    def must_protect(self, source: str) -> None:
        """Refuse data that this ledger could not be bound to, without binding it."""
        text = text_of("source", source)
        with self._exclusive():
            known = self._read()[0].source
        if known is not None:
            self._must_be(known, text)

    def _must_be(self, known: str, text: str) -> None:
        if known != text:
            same = "if this is the same data under another name or unit, open it by the name it had"
            raise InvalidParameter(
                f"{self._file} protects {known!r}, not {text!r}; every data set needs a ledger of its own; {same}."
            )

    def verify(self) -> None:
        """Read everything again: SQLite's integrity check, tables and triggers, every hash, and the composition of
        all entries.
        """
        from hush.ledger import log as lines

        with self._exclusive(), self._file.reading() as connection:
            self._file.check_structure(connection)
            log = lines.read(self._file, connection, None)
            account = _account(log.cap).plus(log.entries)
        if account.settled() is None:
            raise LedgerError(f"{self._file} is damaged: its entries together pass its cap.")

    def close(self) -> None:
        """No more spending through this object; the file stays."""
        if not self._closed:
            self._closed = True
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        if self._path is None:
            raise LedgerError("a ledger in memory cannot follow into another process; give it a path.")
        return Ledger, (self._path,)

    # -- how it does it --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One thread at a time."""
        with self._lock:
            if self._closed:
                raise LedgerError("this ledger is closed; open it again with Ledger(path).")
            yield

    def _refreshed(self, connection: Connection) -> tuple[Log, Account]:
        """Log and account with what other processes have written since."""
        from hush.ledger import log as lines

        known = self._known
        log = lines.read(self._file, connection, known[0] if known else None)
        account, count = (known[1], known[0].number) if known else (_account(log.cap), 0)
        return log, account.plus(log.entries[count:]) if log.number > count else account

    def _read(self) -> tuple[Log, Account]:
        with self._exclusive():
            with self._file.reading() as connection:
                known = self._refreshed(connection)
            self._known = known
            return known

    def _report(self) -> Account:
        with self._exclusive():
            return self._read()[1]

    # -- how it looks ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        place = "in memory" if self._path is None else str(self._path)
        if self._closed:
            return f"<Ledger {place}, closed>"
        try:
            account, count = self._report(), len(self.entries)
        except HushError as failure:
            return f"<Ledger {place}: {failure}>"
        return f"<Ledger {place}: {self.cap}, {count} entries, spent {account.spent.epsilon:.4g}, left {account.left.epsilon:.4g}>"

    def _repr_html_(self) -> str:
        if self._closed:
            return f"<p>{html.escape(repr(self))}</p>"
        account, entries = self._report(), self.entries
        shown = ((e.number, e.label, ", ".join(str(charge) for charge in e.charges)) for e in entries[-20:])
        rows = "".join(
            f"<tr><td>{number}</td><td>{html.escape(a)}</td><td>{html.escape(b)}</td></tr>" for number, a, b in shown
        )
        bar = f'<progress max="1" value="{account.share:.4f}" style="width:20em"></progress>'
        text = f"{self.cap}: spent epsilon {account.spent.epsilon:.4g}, left {account.left.epsilon:.4g}, {len(entries)} entries"
        return f"<div><p>{html.escape(text)}</p>{bar}<table>{rows}</table></div>"


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or str(path) in ("", ":memory:"):
        raise reject("path", path, "the name of a file", "or None for a ledger in memory")
    try:
        place = Path(os.path.abspath(path))
        length = len(os.fsencode(place.name))
    except (TypeError, ValueError) as failure:  # bytes, and characters that no file name can hold
        raise reject("path", path, "the name of a file", "or None for a ledger in memory") from failure
    if "\0" in str(place) or length > _LONGEST_NAME:
        raise reject("path", path, f"the name of a file, of at most {_LONGEST_NAME} bytes and without NUL")
    return place


def _cap(epsilon: Any, delta: Any, mode: str, order: Any) -> Cap | None:
    """The cap that was asked for; None if the ledger is only to be opened."""
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise InvalidParameter(
            "a new ledger needs both epsilon and delta; write Ledger(path, epsilon=1.0, delta=1e-6)."
        )
    budget = float(budgets("epsilon", as_float("epsilon", epsilon, "a number greater than 0")))
    share = float(deltas("delta", as_float("delta", delta, "in [0, 1)"), zero=True))
    if mode == "adaptive" and share > 0.0:
        return filter_cap(budget, share, order)
    if order is not None:
        raise reject("order", order, "left out here", "only an adaptive ledger with a delta has an order")
    return Cap(budget, share, mode)


def _account(cap: Cap) -> Account:
    """An empty account under the cap's rule."""
    if cap.delta == 0.0:
        return Pure(cap)
    return Filter(cap) if cap.mode == "adaptive" else Nonadaptive(cap)


@lru_cache(maxsize=64)
def _keeps(releases: tuple[Charge, ...], epsilon: float | None, delta: float | None) -> bool:
    """Do the releases keep the pair that they are said to be calibrated for?"""
    if epsilon is None or delta is None:
        return True
    return _account(Cap(epsilon, delta, "nonadaptive")).plus([Entry(0, "", "", releases)]).covered()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
