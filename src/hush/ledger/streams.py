"""Streams in a ledger: charged once at the start; every period is measured once, with noise that was paid for.

The ledger's file holds what was published, and a MAC (a hash with a secret key) of each input. It holds no noise, no
count without noise and no seed. The noise of a period is drawn inside the transaction that records it, so only one
process draws it, and it is on disk before anybody sees it. `draw` also keeps the noisy numbers in secret first.
`restore` records them, if a process died before the end of its transaction, or if the ledger is an old copy.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING

from hush.errors import InvalidParameter, LedgerError, shown
from hush.ledger.access import Access
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import IN_MEMORY, Payment
from hush.ledger.series import Turn
from hush.privacy.charge import Budget, Charge
from hush.sampling.witness import must_not_be_watched

if TYPE_CHECKING:
    from hush.ledger.ledger import Ledger
    from hush.ledger.stream_rows import Period, StreamRecord

__all__ = ["Streams"]


class Streams:
    """The streams of a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._store = ledger, ledger._store

    def names(self) -> list[str]:
        """The names of all streams, in the order in which they were charged."""
        from hush.ledger import stream_rows

        with self._store.exclusive(), self._store.file.reading() as connection:
            return stream_rows.names(connection)

    def find(self, name: str) -> StreamRecord | None:
        """The stream of this name; None if there is none."""
        from hush.ledger import stream_rows

        with self._store.exclusive(), self._store.file.reading() as connection:
            return stream_rows.stream(self._store.file, connection, name)

    def periods(self, record: StreamRecord) -> list[Period]:
        """What was published so far."""
        from hush.ledger import stream_rows

        with self._store.exclusive(), self._store.file.reading() as connection:
            return stream_rows.periods(self._store.file, connection, record)[0]

    def identity(self, record: StreamRecord) -> str:
        """A text that tells the streams of all ledgers apart: the name, and the hash of the entry that was charged."""
        query = "SELECT hash FROM entries WHERE number = ?"
        with self._store.exclusive(), self._store.file.reading() as connection:
            return f"{record.name} {connection.execute(query, (record.number,)).fetchone()[0]}"

    def restore(self, record: StreamRecord, made: Period, check: Callable[[list[Period]], None]) -> None:
        """Record the next period as it was drawn before; nothing is done if it is recorded. `check` is given the
        periods before it.
        """
        from hush.ledger import stream_rows

        store = self._store
        if store.path is not None:
            must_not_be_watched(store.path)
        with store.exclusive(), store.file.writing() as connection:
            log, account = store.refreshed(connection)
            known, last = stream_rows.periods(store.file, connection, record)
            if made.number <= len(known):
                return
            check(known)
            stream_rows.append(connection, record, last, made)
        store.keep(log, account)

    def create(
        self,
        name: str,
        plan: str,
        mark: str,
        paid: list[Charge],
        budget: Budget,
        access: Access,
        about: str = "",
    ) -> StreamRecord:
        """Charge the ledger for a new stream and record it. After a crash between the two, a second call with the same
        charges records it and charges nothing more.
        """
        from hush.ledger import stream_rows

        turn = Turn(f"stream {name}", 1, 1)
        payment = access.pay("", paid, budget=budget, turn=turn, about=about)
        if payment.number is None or payment.charges != tuple(paid):
            raise InvalidParameter(
                f"entry {payment.number} of the ledger was charged for another plan of the stream "
                f"{shown(name)}; start it with that plan, or choose another name."
            )
        record = stream_rows.StreamRecord(name, payment.number, plan, mark)
        with self._store.exclusive(), self._store.file.writing() as connection:
            known = stream_rows.stream(self._store.file, connection, name)
            if known is None:
                stream_rows.insert(connection, record)
        text = f"the stream {name}; hush.stream.opened(ledger, {shown(name)}).answer() has what it has published"
        payment.keep(KeptAnswer("stream", text).to_bytes())  # its entry gives no other payment
        return known or record

    def add(
        self,
        record: StreamRecord,
        number: int,
        mac: str,
        *,
        label: str = "",
        new: bool = False,
        freeze: Callable[[list[Period]], None],
        draw: Callable[[Payment], list[int]],
    ) -> Period:
        """Measure a period and record it, or return what is recorded, if the MAC of the input is the same. With `new`
        the period must not be recorded: the caller asked for the next one, and another process was faster.

        `freeze` is given the earlier periods and keeps the input in secret; `draw` returns the noisy numbers. Both are
        called only for a new period, by one process at a time.
        """
        from hush.ledger import stream_rows

        store = self._store
        if store.path is not None:
            must_not_be_watched(store.path)
        with store.exclusive(), store.file.writing() as connection:
            log, account = store.refreshed(connection)
            known, last = stream_rows.periods(store.file, connection, record)
            if new and number <= len(known):
                raise LedgerError("another process added this period before; nothing was published; add it again.")
            if number <= len(known):
                if label and known[number - 1].label != label:
                    raise LedgerError(
                        f"another process added period {number} at the same time, under another name; nothing was "
                        "published; add it again."
                    )
                _must_be_same(known[number - 1], mac)
                return known[number - 1]
            if number > len(known) + 1:
                raise InvalidParameter(f"the next period of the stream is {len(known) + 1}, got period={number}.")
            if label and label in [period.label for period in known]:
                raise InvalidParameter(f"the stream has a period {shown(label)} already, which is not period {number}.")
            freeze(known)
            entry = log.entries[record.number - 1]
            payment = Payment(entry.charges, entry, IN_MEMORY if store.path is None else str(store.path))
            made = stream_rows.Period(number, label, tuple(draw(payment)), mac)
            stream_rows.append(connection, record, last, made)
        store.keep(log, account)
        return made


def _must_be_same(known: Period, mac: str) -> None:
    if not hmac.compare_digest(known.mac, mac):
        raise InvalidParameter(
            f"period {known.number} was published with another input, and a period is measured once; add a late "
            "correction to the count of the period in which it arrives."
        )
