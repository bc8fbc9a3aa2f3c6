"""Ledger: a privacy budget, what was spent from it, and what is left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hush.errors import InvalidParameter, LedgerError, NotPaid, Unsupported, called_like, one_of, whole
from hush.ledger.account import Account, Nonadaptive, keeps
from hush.ledger.blocks import must_have_blocks
from hush.ledger.display import as_card, in_words
from hush.ledger.entry import Cap, Entry, as_entry, moment, text_of
from hush.ledger.kept import KeptAnswer
from hush.ledger.notebook import card
from hush.ledger.payment import IN_MEMORY, Payment
from hush.ledger.people import People, must_be_people
from hush.ledger.refusal import refusal
from hush.ledger.series import (
    Turn,
    WithSeries,
    charged_before,
    kept_answer,
    must_be_whole,
    wait_for,
    without_answer,
)
from hush.ledger.store import LedgerStore, ledger_path, new_cap
from hush.ledger.sub_accounts import must_fit, sub_account
from hush.ledger.view import LedgerView
from hush.privacy.charge import Budget
from hush.privacy.curve import Curve
from hush.sampling.witness import must_not_be_watched

if TYPE_CHECKING:  # SQLite is loaded with the first ledger, not with hush
    from hush.ledger.file import Outcome

__all__ = ["Ledger"]

MODES = ("adaptive", "nonadaptive")


class Ledger(WithSeries):
    """A privacy budget and everything spent from it, in an append-only SQLite file (path None: in memory).

    Ledger(path, epsilon=, delta=) creates the file, or opens it if it exists with the same budget. Ledger(path) opens
    an existing file. Ledger(path, rho=) and Ledger(path, mu=) have a budget of zero-concentrated privacy or of Gaussian
    differential privacy; their epsilon is stated at `delta`, which is 1e-6 if it is left out.
    mode="adaptive" (the default) is always valid: the analyst may choose the next mechanism after seeing answers.
    mode="nonadaptive" fits slightly more and requires that all mechanisms are fixed in advance (docs/sharp_edges.md).
    order= uses one Renyi filter alone. `releases` is a list of plans or charges: only these are accepted, each once, in
    any order. `source` names the data that the ledger protects. `accounts` are sub-accounts with caps of their own:
    {"alice": (1.0, 1e-6)}. `blocks` is a column of time that is a part of the unit: then the budget is for each block.

    Guarantees: all charges, of any number of processes and threads, are together within the (epsilon, delta) of the
    cap. An entry is on disk when `spend` returns, so noise that is drawn afterwards is always accounted for.

    >>> from hush import Gaussian
    >>> ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    >>> ledger.spend([(Gaussian(10.0), 1.0, 1)], label="first count").number
    1
    >>> round(ledger.spent.epsilon, 3), round(ledger.left.epsilon, 3)
    (0.403, 0.4)
    """

    @called_like("Ledger('budget.ledger', epsilon=1.0, delta=1e-6)")
    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        mu: float | None = None,
        mode: str | None = None,
        order: float | None = None,
        source: str | None = None,
        accounts: Mapping[str, tuple[float, float]] | None = None,
        blocks: str | None = None,
        releases: Sequence[Any] | None = None,
    ) -> None:
        if mode is not None:
            one_of("mode", mode, MODES)
        place, wanted = ledger_path(path), new_cap((epsilon, delta, rho, mu), mode, order, accounts, blocks, releases)
        text = None if source is None else text_of("source", source)
        self._store = LedgerStore(place, wanted, moment())
        try:
            self._store.read()
            self._store.file.fold_in()  # after the read, which checks that the file is a ledger
            self._store.check_cap(wanted, mode, order)
            if text is not None:
                self.bind(text)
        except BaseException:
            self.close()
            raise

    # -- properties ------------------------------------------------------------------------------------------

    @property
    def path(self) -> Path | None:
        """The file, or None for a ledger in memory."""
        return self._store.path

    @property
    def cap(self) -> Cap:
        """The most that may be spent in total; it never changes."""
        return self._store.cap

    @property
    def mode(self) -> str:
        """The rule of composition, "nonadaptive" or "adaptive"."""
        return self.cap.mode

    @property
    def source(self) -> str | None:
        """The people or the data that the ledger protects, in words; None until it is bound to them."""
        people = self.people
        return None if people is None else people.words

    @property
    def people(self) -> People | None:
        """Who is protected, and what counts as one of them; None until the ledger is bound to them."""
        return self._store.read()[0].people

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything spent so far, by all processes."""
        return self._store.read()[0].entries

    def view(self) -> LedgerView:
        """A read-only copy of the ledger at this moment: cap, source, entries, account and digest."""
        log, account = self._store.read()
        return LedgerView(log.cap, log.people, log.entries, account, log.last)

    @property
    def spent(self) -> Budget:
        """What was spent, as upper bounds: .epsilon at the cap's delta, .delta at the cap's epsilon. In an adaptive
        ledger they are for exactly these releases, fixed in advance; the guarantee of such a ledger is its cap.
        """
        return self._report().spent

    @property
    def left(self) -> Budget:
        """What can still be spent. .epsilon: a release of this pure epsilon, less 1 %, still fits. .delta: the sum of
        extra_delta that still fits.
        """
        return self._report().left

    @property
    def share(self) -> float:
        """The share of the budget that was spent, from 0 to 1."""
        return self._report().share

    @property
    def accounts(self) -> dict[str, Account]:
        """The sub-accounts by name; each has `cap`, `spent`, `left` and `share`."""
        log = self._store.read()[0]
        return {name: sub_account(log.cap, log.entries, name) for name, *_ in log.cap.accounts or ()}

    def curve(self) -> Curve:
        """The privacy curve of everything spent, with brackets. Only for nonadaptive ledgers with delta > 0."""
        account = self._report()
        if not isinstance(account, Nonadaptive) or not account.totals:
            raise Unsupported(
                "only a nonadaptive ledger with delta > 0 and at least one entry has a curve; use ledger.spent and "
                "ledger.left, which every ledger has."
            )
        return account.curve

    # -- spending --------------------------------------------------------------------------------------------

    def spend(
        self,
        releases: Any,
        *,
        label: str = "",
        extra_delta: float = 0.0,
        epsilon: float | None = None,
        delta: float | None = None,
        turn: Turn | None = None,
        account: str = "",
        block: str = "",
        about: str = "",
        followed_by: Budget | None = None,
    ) -> Payment:
        """Charge one release: a charge, (noise, sensitivity, times), or a list of these; on disk when this returns.

        The returned payment draws the noise that was charged, each release once. extra_delta is a failure probability
        that the charges do not include, such as that of a threshold. epsilon and delta are the pair that the charges
        were calibrated for; they are checked, and stored for display. turn is the place of the release in a series
        that was planned together; each is charged once, and only what `keep_answer` returns may be handed out. account
        names a sub-account, whose cap must cover the release too; block is the block of time that the release is about;
        about says in words what was asked, for the statement. followed_by is the pair of a release whose noise depends
        on the answer of this one: the first release of an adaptive ledger so reserves delta for it.
        Raises `BudgetExceeded` if the release would exceed the cap.

        Guarantees: a `HushError` means that nothing was spent. The one exception is a disk that fails during the
        commit: then the message states that the charge may have been recorded. Exceptions from outside (Ctrl-C, or what
        a signal handler raises) pass through. Before the commit nothing is spent; after it the charge is recorded, and
        a note on the exception states that. After any exception nothing may be released.
        """
        given = (releases, label, extra_delta, epsilon, delta, turn, account, block, about, followed_by)
        asked = as_entry(*given)
        if not keeps(asked.charges, asked.epsilon, asked.delta):
            raise InvalidParameter(
                f"the release does not satisfy epsilon={asked.epsilon:g} and delta={asked.delta:g}, the pair it was "
                "stated to be calibrated for; nothing was spent."
            )
        payment = self.charged(asked)
        if payment.kept is not None:
            raise NotPaid(
                f"release {turn and turn.release} was made before, and its noise is drawn once; read its answer."
            )
        return payment

    def charged(self, asked: Entry, *, people: People | str | None = None) -> Payment:
        """Charge an entry, for `Ledger.spend` and `Access.pay`; with `people`, the ledger protects them from then on.

        A release of a series that was charged before, and a question that was charged and has no answer, are not
        charged again: the payment is that of their entry.
        """
        from hush.ledger.file import Outcome

        if self.path is not None:
            must_not_be_watched(self.path)
        must_have_blocks(self.cap, asked.block)
        result, written = Outcome(), list[Entry]()
        try:
            with self._store.exclusive():
                return self._spent(asked, None if people is None else People.of(people), result, written)
        except BaseException as failure:
            if result.committed and written:  # the file holds the entry; the next call reads it from there
                then = (
                    "the same call gets its one answer, without another charge" if asked.question else "release nothing"
                )
                failure.add_note(
                    f"The charge was recorded: entry {written[0].number} of {self._store} was written before this "
                    f"exception; {then}."
                )
            raise

    def _spent(self, asked: Entry, people: People | None, result: Outcome, written: list[Entry]) -> Payment:
        """Check the entry, write it in one transaction, and return its payment; `written` holds it from then on."""
        from hush.ledger import log as rows

        with self._store.file.writing(result) as connection:
            log, account = self._store.refreshed(connection)
            if people is not None and log.people is not None:
                must_be_people(str(self._store), log.people, people)
            known = charged_before(connection, log.entries, asked, self._store.holders)
            entry = known or replace(asked, number=log.number + 1, time=moment())
            grown = account if known else account.plus([entry])
            settled = grown if known else grown.settled()
            if settled is not None and known is None:
                must_fit(log.cap, log.entries, entry)
                log = rows.append(connection, log, entry)
                written.append(entry)
            if settled is not None and people is not None and log.people is None:
                log = rows.bind(connection, log, people)
        if settled is None:
            raise refusal(account, grown, entry)
        self._store.keep(log, settled)
        kept = None if known is None else kept_answer(self._store, entry.number)
        if kept is not None:
            must_be_whole(kept)
            wait_for(self._store, entry.number)
        if kept is None and (entry.block, entry.account) != (asked.block, asked.account):
            raise InvalidParameter(
                f"this release was charged on {entry.time[:10]} to another block of time or another account, and no "
                "answer of it was kept; ask for it there, or ask for another release. Nothing more was spent."
            )
        place = IN_MEMORY if self.path is None else str(self.path)
        holders = self._store.holders
        if entry.question:
            holders.hold(entry.number)
        return Payment(entry.charges, entry, place, keeper=self.keep_answer, kept=kept, failed=holders.free)

    # -- answers ---------------------------------------------------------------------------------------------

    def answer(self, number: int) -> KeptAnswer:
        """The answer of an entry, as it was kept before it was shown. It is free: `print(ledger.answer(3))`."""
        entries = self._store.read()[0].entries
        if not 1 <= whole("number", number, 1, "write ledger.answer(1)") <= len(entries):
            raise InvalidParameter(f"number is {number}, but {self._store} has {len(entries)} entries.")
        content, entry = kept_answer(self._store, number), entries[number - 1]
        if content is None:
            right = "the call that charged it gets its answer, without another charge"
            why = right if entry.has_right else "its charge was for noise that the caller draws"
            raise InvalidParameter(f"no answer of entry {number} is kept: {why}.")
        return KeptAnswer.from_bytes(content)

    @property
    def unanswered(self) -> tuple[int, ...]:
        """The numbers of the entries whose answer was paid for and is not kept yet: the same calls get them."""
        return without_answer(self._store)

    # -- the data, and the end --------------------------------------------------------------------------------

    def bind(self, source: People | str) -> None:
        """Record whom or which data this ledger protects. The first ones are final; different ones later raise."""
        from hush.ledger import log as rows

        own, store = People.of(source), self._store
        with store.exclusive():
            known = store.read()[0].people
            if known is None:
                with store.file.writing() as connection:
                    log, account = store.refreshed(connection)
                    known = log.people
                    if known is None:
                        log, known = rows.bind(connection, log, own), own
                store.keep(log, account)
        must_be_people(str(self._store), known, own)

    def must_protect(self, source: People | str) -> None:
        """Raise if the ledger is bound to other data or makes another promise to the same people; does not bind it."""
        own, known = People.of(source), self._store.read()[0].people
        if known is not None:
            must_be_people(str(self._store), known, own)

    def verify(self) -> None:
        """Check everything again: SQLite's integrity check, tables and triggers, every hash, and that the cap covers
        all entries. Raises `LedgerError` if something is wrong.
        """
        self._store.verify()

    def close(self) -> None:
        """End spending through this object; the file remains."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        if self.path is None:
            raise LedgerError(
                "a ledger in memory cannot be copied, saved or sent to another process, because a copy would be a "
                "second budget; give it a path; to save a fitted model, write model.set_params(ledger=None) first."
            )
        return Ledger, (self.path,)

    def _report(self) -> Account:
        return self._store.read()[1]

    def __repr__(self) -> str:
        return in_words(self, closed=self._store.closed)

    def _repr_html_(self) -> str:
        return card(repr(self)) if self._store.closed else as_card(self.view())
