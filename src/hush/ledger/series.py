"""A series of releases that were planned together: which of them were made, and their answers.

Every release of a series is charged when it is made, once. Its answer is kept in the ledger, which holds released
numbers only. If a process ends between the charge and the answer, the next call for the same release draws the noise
that was paid for: nobody has seen a draw of it, because an answer is handed out only after it is kept. If two processes
draw at the same time, the first answer that is kept is the answer of both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.errors import BudgetExceeded, HushError, InvalidParameter, LedgerError, NotPaid, whole
from hush.ledger.kept import MARK, KeptAnswer
from hush.privacy.charge import Budget, Charge

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hush.ledger.account import Account
    from hush.ledger.entry import Entry
    from hush.ledger.store import Holders, LedgerStore

__all__ = [
    "Turn",
    "WithSeries",
    "charged_before",
    "kept_answer",
    "made_so_far",
    "must_be_whole",
    "showing",
    "wait_for",
    "without_answer",
]

#: Bytes of the largest answer that a ledger keeps.
_LARGEST = 1 << 29
#: The kind of what is kept in the place of a larger answer, and more bytes than it has.
_GIVEN, _SHORT = "given once", 4096
#: Halvings of the range in which the largest epsilon that fits is searched.
_TRIES = 12


@dataclass(frozen=True)
class Turn:
    """One release of a series: the name of the series, the number of the release, and how many were planned.

    `later` are the charges of each release after the first, where they differ from those of the first.
    """

    series: str
    release: int
    times: int
    later: tuple[Charge, ...] = ()

    def __post_init__(self) -> None:
        whole("times", self.times, 1)
        whole("release", self.release, 1)
        if self.release > self.times:
            raise BudgetExceeded(
                f"release {self.release} is beyond the plan, which has {self.times} releases; make a new plan for "
                "more. Nothing was spent."
            )

    def to_plain(self) -> dict[str, Any]:
        """The turn as values for JSON."""
        plain: dict[str, Any] = {"series": self.series, "release": self.release, "times": self.times}
        return plain | ({"later": [charge.to_plain() for charge in self.later]} if self.later else {})

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Turn:
        """The turn that `to_plain` wrote."""
        later = tuple(Charge.from_plain(part) for part in values.get("later", ()))
        return cls(str(values["series"]), int(values["release"]), int(values["times"]), later)


#: The answers that the command of this context has to show; None outside of a command.
_WAITING: ContextVar[list[tuple[LedgerStore, int]] | None] = ContextVar("waiting", default=None)


@contextmanager
def showing() -> Iterator[None]:
    """Answers that are kept in this block wait until its end: if it fails or is killed, they were not shown, and the
    same question gets them again for nothing.
    """
    from hush.ledger import schema

    token = _WAITING.set([])
    try:
        yield
        for store, number in _WAITING.get() or ():  # the ledgers are closed, and their files are there
            with suppress(LedgerError), store.file.writing() as connection:
                schema.mark_output(connection, number, "shown")
    finally:
        _WAITING.reset(token)


def wait_for(store: LedgerStore, number: int) -> None:
    """The answer of this entry is shown by the command of this context, if there is one."""
    waits = _WAITING.get()
    if waits is not None and (store, number) not in waits:
        waits.append((store, number))


def _done(connection: Connection) -> set[int]:
    """The numbers of the entries whose answers are kept, but for those that wait to be shown."""
    from hush.ledger import schema

    return schema.answered(connection) - schema.waiting(connection)


def made_so_far(entries: tuple[Entry, ...], series: str) -> dict[int, Entry]:
    """The entries of a series, by the number of the release."""
    return {entry.turn.release: entry for entry in entries if entry.turn is not None and entry.turn.series == series}


def charged_before(connection: Connection, entries: tuple[Entry, ...], asked: Entry, holders: Holders) -> Entry | None:
    """The entry that pays for `asked` already: the same release of its series, or the newest entry of the same question
    and the same charges that has no answer, and that no other thread has in hand; None if it must be charged.

    If the question has several steps, an earlier step counts although it is answered, as long as no last step after it
    has an answer: the run that it belongs to is not finished.
    """

    if asked.turn is not None:
        return made_so_far(entries, asked.turn.series).get(asked.turn.release)
    run = _free(entries, asked.question, holders)
    return _unfinished([entry for entry in run if _same_step(entry, asked)], run, _done(connection))


def _free(entries: tuple[Entry, ...], question: str, holders: Holders) -> list[Entry]:
    """The entries of a question that no other thread has in hand; none without a question."""
    mine = (entry for entry in entries if question and entry.question == question)
    return [entry for entry in mine if not holders.elsewhere(entry.number)]


def _unfinished(steps: Sequence[Entry], run: Sequence[Entry], done: set[int]) -> Entry | None:
    """The newest entry of a step that is not answered, or that is while no last step after it is."""
    ends = [entry.number for entry in run if not entry.step and entry.number in done]
    for entry in reversed(steps):
        last = max(ends, default=0) if entry.step else entry.number
        if entry.number not in done or last < entry.number:
            return entry
    return None


def _same_step(entry: Entry, asked: Entry) -> bool:
    """Are these the same step of a question, for the same noise and the same price?"""
    names = ("step", "charges", "extra_delta", "epsilon", "delta", "account", "block", "followed_by", "turn")
    return all(getattr(entry, name) == getattr(asked, name) for name in names)


class WithSeries:
    """What a ledger does for releases that were planned together."""

    _store: LedgerStore

    def kept_answer(self, series: str, release: int) -> tuple[Entry, bytes] | None:
        """The entry and the answer of a release of a series, if it was made; None if not."""
        entry = made_so_far(self._store.read()[0].entries, series).get(release)
        content = None if entry is None else kept_answer(self._store, entry.number)
        return None if entry is None or content is None else (entry, must_be_whole(content))

    def keep_answer(self, number: int, content: bytes) -> bytes:
        """Keep the answer of an entry, unless one is kept already; returns the one that is kept."""
        return _keep_answer(self._store, number, content)

    def owed(self, question: str, step: str) -> Entry | None:
        """The newest entry of this step of a question, if the question has no answer yet; None if there is none."""

        run = _free(self._store.read()[0].entries, question, self._store.holders)
        steps = [entry for entry in run if entry.step == step]
        if not steps:
            return None
        with self._store.exclusive(), self._store.file.reading() as connection:
            return _unfinished(steps, run, _done(connection))

    def next_release(self, series: str, times: int) -> int:
        """The number of the first release of a series that has no answer: it was not made, or the process that charged
        it ended before it kept the answer. Raises if all of them have one.
        """

        made = made_so_far(self._store.read()[0].entries, series)
        with self._store.exclusive(), self._store.file.reading() as connection:
            answered = _done(connection)
        done = {release for release, entry in made.items() if entry.number in answered}
        free = next((number for number in range(1, times + 1) if number not in done), None)
        if free is None:
            raise BudgetExceeded(
                f"all {times} releases of this plan were made, so there is no release {times + 1}; make a new plan for "
                "more. Nothing was spent."
            )
        return free

    def must_cover(
        self, releases: Sequence[tuple[Any, Budget, float]], *, block: str = "", followed_by: Budget | None = None
    ) -> None:
        """Raise `BudgetExceeded` if the ledger does not cover these releases together; nothing is spent.

        Each item has the charges of one entry, the pair that they were calibrated for, and its extra_delta. The first
        one states `followed_by`, as in `Ledger.spend`.
        """
        from hush.ledger.refusal import refusal

        missing = self._uncovered(releases, block, followed_by)
        if missing is not None:
            raise refusal(*missing)

    def would_cover(
        self, releases: Sequence[tuple[Any, Budget, float]], *, block: str = "", followed_by: Budget | None = None
    ) -> bool:
        """Would `must_cover` accept these releases? The words of a refusal, which take long, are not made."""
        return self._uncovered(releases, block, followed_by) is None

    def _uncovered(
        self, releases: Sequence[tuple[Any, Budget, float]], block: str, followed_by: Budget | None
    ) -> tuple[Account, Account, Entry] | None:
        """The first release that the ledger does not cover: the account before and after it, and its entry."""
        from hush.ledger.entry import as_entry, moment

        log, account = self._store.read()
        for place, (charges, budget, extra) in enumerate(releases, log.number + 1):
            after = followed_by if place == log.number + 1 else None
            asked = as_entry(charges, "", extra, budget.epsilon, budget.delta, None, "", block, "", after)
            entry = replace(asked, number=place, time=moment())
            grown = account.plus([entry])
            settled = grown.settled()
            if settled is None:
                return account, grown, entry
            account = settled
        return None

    def plan(self, query: Any, *, times: int = 1, **options: Any) -> Any:
        """The plan of `times` releases of a query that uses all that is left; `options` are those of `query.plan`. In
        a new ledger the whole budget is calibrated for them. Later, the largest epsilon is searched with which all of
        them fit, with Gaussian noise unless `family` is given.
        """
        return _planned_within(self._store.read()[1], query, times, options)


def _planned_within(account: Account, query: Any, times: int, options: Mapping[str, Any]) -> Any:
    """The plan of `times` releases of a query that uses what an account leaves."""
    from hush.ledger.listed import must_have_no_list

    cap, many = account.cap, whole("times", times, 1, "write ledger.plan(query, times=12)")
    must_have_no_list(cap)

    planned = getattr(query, "planned", query.plan)  # a policy allows or refuses what is found

    def fitting(epsilon: float, given: Mapping[str, Any]) -> Any:
        try:
            plan = planned(epsilon, cap.delta, times=many, **given)
            return plan if account.plus(plan.entries()).settled() is not None else None
        except HushError:
            return None

    if not account.totals and cap.kind == "epsilon":
        return query.plan(cap.epsilon, cap.delta, times=many, **options)
    given = {"family": "laplace" if cap.delta == 0.0 else "gaussian", **options}
    low, high, best = 0.0, cap.epsilon, None
    for _ in range(_TRIES):
        middle = 0.5 * (low + high)
        found = fitting(middle, given)
        best, low, high = (found, middle, high) if found is not None else (best, low, middle)
    if best is None:
        raise BudgetExceeded(
            f"what is left of the ledger's budget, {cap}, does not cover {many} releases of this query; nothing was "
            "spent."
        )
    best.query.table.access(None).allow(Budget(best.shares.epsilon, best.shares.delta))
    return best


def kept_answer(store: LedgerStore, number: int) -> bytes | None:
    """The answer of an entry as it was kept; None if none was."""
    from hush.ledger import schema

    with store.exclusive(), store.file.reading() as connection:
        found = schema.answer_of(connection, number)
    return None if found is None else _checked(store, *found)


def without_answer(store: LedgerStore) -> tuple[int, ...]:
    """The numbers of the entries that give the right to an answer which is not kept yet."""
    from hush.ledger import schema

    entries = store.read()[0].entries
    with store.exclusive(), store.file.reading() as connection:
        done = schema.answered(connection)
    return tuple(entry.number for entry in entries if entry.has_right and entry.number not in done)


def _keep_answer(store: LedgerStore, number: int, content: bytes) -> bytes:
    """Keep the answer of an entry, unless one is kept already; returns the one that is kept.

    An answer that is too large is returned all the same, and its entry is marked as answered.
    """
    from hush.ledger import schema

    own = content if len(content) <= _LARGEST else _too_large(number)
    with store.exclusive(), store.file.writing() as connection:
        log, account = store.refreshed(connection)
        if not 1 <= number <= log.number:
            raise InvalidParameter(f"the ledger has no entry {number}.")
        schema.with_answers(connection)
        found = schema.answer_of(connection, number)
        first = found is None
        if found is None:
            found = own, _digest(own)
            schema.insert_answer(connection, number, *found)
            if _WAITING.get() is not None and own is content:
                schema.mark_output(connection, number, "waits")
    store.keep(log, account)
    if own is not content and first:
        return content  # shown now, by this call alone
    wait_for(store, number)
    return must_be_whole(_checked(store, *found))


def _too_large(number: int) -> bytes:
    """What is kept in the place of an answer that is too large: that it was given out."""
    text = f"the answer of entry {number} is larger than the {_LARGEST} bytes that a ledger keeps; it was given once."
    return KeptAnswer(_GIVEN, text).to_bytes()


def must_be_whole(content: bytes) -> bytes:
    """The content of a kept answer; raises if the answer was too large to keep, and was given out."""
    made = KeptAnswer.from_bytes(content) if len(content) < _SHORT and content.startswith(MARK) else None
    if made is not None and made.kind == _GIVEN:
        raise NotPaid(f"{made.text[:-1]}, and its noise is drawn once; make a new plan.")
    return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _checked(store: LedgerStore, content: bytes, digest: str) -> bytes:
    if _digest(content) != digest:
        raise LedgerError(f"{store} is damaged: an answer that it keeps was changed.")
    return content
