"""`RunningStream`: a stream that was charged to a ledger, to which one period after the other is added."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import BudgetExceeded, HushError, InvalidParameter, LedgerError, shown, whole
from hush.ledger.access import Access
from hush.ledger.entry import Entry, text_of
from hush.ledger.ledger import Ledger
from hush.ledger.payment import Payment
from hush.ledger.people import PERSON, People
from hush.ledger.streams import Streams
from hush.stream.answer import StreamAnswer
from hush.stream.plan import StreamPlan, plan_from
from hush.stream.secret import Input, Secret, secret_path, stream_name

if TYPE_CHECKING:
    from hush.ledger.stream_rows import Period, StreamRecord

__all__ = ["RunningStream", "opened", "started"]

_MOST_ROWS = 1 << 40


class RunningStream:
    """A stream in a ledger's file. `add` measures the next period; `answer` has everything that was published.

    The ledger's file holds the plan, the noisy numbers, and a MAC of each input: nothing secret. The secret file
    beside it, with mode 0600, holds the key of the MAC and the counts without noise, because later periods need them.

    Guarantees: every period is measured once, and its noisy numbers are on disk before `add` returns. A process that is
    killed loses and repeats nothing. Everything that the stream ever publishes satisfies the plan's (epsilon, delta)
    together, if people appear as the plan assumes; with `people=` the stream itself makes sure that they do.
    """

    def __init__(self, ledger: Ledger, record: StreamRecord, secret: str | os.PathLike[str] | None) -> None:
        self._ledger, self._record, self._given = ledger, record, secret
        self._streams = Streams(ledger)
        self._secret: Secret | None = None
        self.plan: StreamPlan = plan_from(json.loads(record.plan), self._entry.charges)

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self._record.name

    @property
    def _entry(self) -> Entry:
        return self._ledger.entries[self._record.number - 1]

    @property
    def periods(self) -> int:
        """The number of periods that were published."""
        return len(self._streams.periods(self._record))

    def add(
        self, count: int | None = None, *, people: Iterable[Any] | None = None, period: int | str | None = None
    ) -> StreamAnswer:
        """Measure one more period and return the answer at the end of it.

        `count` is the exact count of the period; the caller makes sure that people appear as the plan assumes. With
        `people`, a list of the persons of the period, the stream counts those who may still appear, and leaves out
        those who came back too early or too often. All lists of a stream have texts, or all have whole numbers. Texts
        are compared as they are spelled, spaces and case included.

        `period` is the number of the period, from 1, or a public text that names it, such as "2026-01-31"; by default
        it is the next one. For a period that was published before, the same input returns the same answer, and another
        input raises: a late correction belongs to the period in which it arrives, and counts as an appearance of that
        person. So a job that names its day can safely be run twice.
        """
        if (count is None) == (people is None):
            raise InvalidParameter("give either the count of the period or the list of its people; write add(412).")
        secret, strategy = self._opened_secret(), self.plan.strategy
        self._restore(secret)
        number, label = self._number(period)
        given = replace(self._counted(count) if people is None else self._listed(people, number), label=label)
        for part, _ in strategy.measured([0] * number):
            strategy.single(part).prepare()

        def freeze(known: list[Period]) -> None:
            self._must_agree(known, given, number)
            secret.freeze(number, given)

        def draw(payment: Payment) -> list[int]:
            counts = [one.count for one in secret.inputs()[:number]]
            drawn = [
                int(payment.noise(strategy.single(part), np.array([exact], dtype=np.int64), part=f"{part} {number}")[0])
                for part, exact in strategy.measured(counts)
            ]
            secret.seal(number, drawn)
            return drawn

        mac = secret.mac(self.name, number, given)
        self._streams.add(self._record, number, mac, label=label, new=period is None, freeze=freeze, draw=draw)
        return self._answer(number)

    def answer(self) -> StreamAnswer:
        """Everything that was published so far. It needs no secret."""
        return self._answer(None)

    def _answer(self, last: int | None) -> StreamAnswer:
        """The answer at the end of a period; None for the last one."""
        periods = self._streams.periods(self._record)[:last]
        noisy, labels = tuple(one.measured for one in periods), tuple(one.label for one in periods)
        place = None if self._ledger.path is None else str(self._ledger.path)
        entry = {"ledger": place, "number": self._record.number, "label": self._entry.label}
        return StreamAnswer(self.plan, noisy, entry, labels)

    # -- checks ----------------------------------------------------------------------------------------------

    def _number(self, period: int | str | None) -> tuple[int, str]:
        """The number of the period and its label."""
        known, label = [one.label for one in self._streams.periods(self._record)], ""
        if isinstance(period, str):
            label = text_of("period", period)
        if label and label in known:
            number = known.index(label) + 1
        elif period is None or label:
            number = len(known) + 1
        else:
            number = whole("period", period, 1, "leave it out for the next period")
        horizon = self.plan.strategy.horizon
        if number > horizon:
            end = f"the stream was planned for {horizon} periods"
            if self.plan.stream.horizon is None:
                end = f"a stream without a known end has at most {horizon} periods"
            raise BudgetExceeded(f"{end}; start a new stream for more.")
        return number, label

    def _counted(self, count: Any) -> Input:
        signed = self.plan.stream.corrections
        least = -_MOST_ROWS if signed else 0
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not least <= count <= _MOST_ROWS:
            hint = "" if signed else "; plan the stream with corrections=True if a count can be negative"
            raise InvalidParameter(f"count must be a whole number from {'-2^40' if signed else '0'} to 2^40{hint}.")
        return Input(int(count))

    def _listed(self, people: Iterable[Any], number: int) -> Input:
        secret, stream = self._opened_secret(), self.plan.stream
        if isinstance(people, str | bytes) or not isinstance(people, Iterable):
            raise InvalidParameter("people must be a list of persons, such as ['p1', 'p2'].")
        texts = {_text(one) for one in people}
        kinds = {_KINDS[text.partition(" ")[0]] for text in texts}
        if len(kinds | ({secret.kind} - {""})) > 1:
            raise InvalidParameter(
                f"people must be {secret.kind or 'texts, or all of them whole numbers'}, as in all lists of this "
                "stream: 7 and '7' would be two persons, and one person would be counted twice; write "
                "people=[str(one) for one in ids] in every period."
            )
        each = {secret.person(text) for text in texts}
        kept = secret.allowed(sorted(each), number, stream.appears, stream.apart)
        return Input(len(kept), secret.listed(each), kept, tuple(sorted(each)), kind="".join(kinds))

    def _opened_secret(self) -> Secret:
        if self._secret is None:
            self._secret = _secret_of(self._ledger, self._record, self._given)
        return self._secret

    def _must_agree(self, known: list[Period], given: Input, number: int) -> None:
        """Reject a secret file that is not the one of the published periods, a change between counts and people, and
        people whose earlier periods another process has changed since they were counted.
        """
        secret, stream = self._opened_secret(), self.plan.stream
        self._must_belong(known)
        inputs = secret.inputs()[: len(known)]
        if inputs and (inputs[0].listed is None) != (given.listed is None):
            raise InvalidParameter("a stream takes either counts or lists of people, as in its first period.")
        if given.kept != secret.allowed(given.everyone, number, stream.appears, stream.apart):
            raise LedgerError("another process added a period at the same time; nothing was published; add it again.")

    def _must_belong(self, known: list[Period]) -> None:
        """Reject a secret file that is not the one of the published periods."""
        secret = self._opened_secret()
        inputs = secret.inputs()
        if len(inputs) > len(known) + 1:  # a crash leaves at most one input that is not published
            raise LedgerError(f"the ledger is an old copy: {secret} holds periods that it does not know.")
        macs = [secret.mac(self.name, place, one) for place, one in enumerate(inputs[: len(known)], 1)]
        if macs != [period.mac for period in known]:
            raise LedgerError(f"{secret} does not belong to the published periods: it is an old copy or was changed.")

    def _restore(self, secret: Secret) -> None:
        """Publish the last period that was drawn, if the ledger lacks it: a process died before the ledger had it, or
        the ledger is an old copy. What was drawn is published as it is.
        """
        from hush.ledger.stream_rows import Period

        inputs = secret.inputs()
        last, number = (inputs[-1], len(inputs)) if inputs else (Input(0), 0)
        if number == self.periods + 1 and last.measured is not None:
            made = Period(number, last.label, last.measured, secret.mac(self.name, number, last))
            self._streams.restore(self._record, made, self._must_belong)

    def __repr__(self) -> str:
        done = f"{self.periods} of {self.plan.strategy.horizon} periods published"
        return f"<RunningStream {shown(self.name)}: {self.plan.stream}; {done}>"


_KINDS = {"str": "texts", "int": "whole numbers"}


def _text(person: Any) -> str:
    """A person as text, with the kind of it: a stream has persons of one kind."""
    value = person.item() if isinstance(person, np.generic) else person
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidParameter(f"a person must be a text or a whole number, got {type(person).__name__}.")
    text = f"str {value}" if isinstance(value, str) else f"int {int(value)}"
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise InvalidParameter("a person is a text with signs that cannot be encoded; clean the column first.")
    return text


#: Secrets of the streams of ledgers in memory, by the name of the stream.
_MEMORY: weakref.WeakKeyDictionary[Ledger, dict[str, Secret]] = weakref.WeakKeyDictionary()


def _secret_of(ledger: Ledger, record: StreamRecord, given: str | os.PathLike[str] | None) -> Secret:
    path = secret_path(ledger.path, record.name, given)
    found = Secret(path) if path is not None else _MEMORY.get(ledger, {}).get(record.name)
    if found is None or found.mark != record.mark:
        raise LedgerError(f"the secret file {path} is that of another stream; give the one of {shown(record.name)}.")
    found.bind(Streams(ledger).identity(record))
    return found


def opened(ledger: Ledger, name: str, *, secret: str | os.PathLike[str] | None = None) -> RunningStream:
    """The stream of this name in a ledger, to be read or continued."""
    _must_be_ledger(ledger)
    record = Streams(ledger).find(stream_name(name))
    if record is None:
        known = ", ".join(Streams(ledger).names())
        raise InvalidParameter(
            f"the ledger has no stream {shown(name)}; " + (f"it has {known}." if known else "it has none.")
        )
    return RunningStream(ledger, record, secret)


def started(
    plan: StreamPlan,
    ledger: Ledger,
    name: str,
    *,
    label: str,
    account: str,
    population: str | None,
    secret: str | os.PathLike[str] | None,
) -> RunningStream:
    """A new stream, charged and recorded; or the stream of this name, if it was asked for in the same way."""
    _must_be_ledger(ledger)
    streams, title, people = Streams(ledger), stream_name(name), _people_of(ledger, population)
    plain = plan.to_plain()
    known = streams.find(title)
    if known is not None:
        # what was asked is compared, not the plan: its floats may differ in the last digit on another machine
        stored = json.loads(known.plan)
        if any(stored[part] != plain[part] for part in ("asked", "budget")):
            raise InvalidParameter(f"the ledger has a stream {shown(title)} with another plan; choose another name.")
        if people is not None:
            ledger.bind(people)  # the first start may have ended before this
        return RunningStream(ledger, known, secret)
    for part in range(len(plan.strategy.parts)):
        plan.strategy.single(part).prepare()
    path = secret_path(ledger.path, title, secret)
    kept = Secret.made(path)
    if path is None:
        _MEMORY.setdefault(ledger, {})[title] = kept
    access = Access(ledger, label=label or f"stream {title}", account=account, people=people)
    text = json.dumps(plain, sort_keys=True, allow_nan=False)
    try:
        record = streams.create(title, text, kept.mark, plan.charges, plan.budget, access, plan.stream.in_words)
    except HushError:
        kept.discard()  # nothing was charged: the file would only be in the way
        raise
    _secret_of(ledger, record, secret)  # from here on it belongs to this stream
    return RunningStream(ledger, record, secret)


def _people_of(ledger: Ledger, population: str | None) -> People | None:
    """The people that a stream is about; it protects persons. A ledger that protects the people of tables needs to be
    told that the stream counts the same people.
    """
    protected = ledger.source
    if population is None:
        if protected is None:
            return None
        given = protected.removeprefix("population ")
        raise InvalidParameter(
            f"the ledger protects {shown(protected)}; if the stream counts these people, write "
            f"population={shown(given)}, else use another ledger. Nothing was spent."
        )
    if not isinstance(population, str) or not 0 < len(population) <= 100:
        raise InvalidParameter(f"population must be a name of at most 100 characters, got {shown(population)}.")
    people = ledger.people if population == protected else People(f"population {population}", PERSON)
    assert people is not None
    ledger.must_protect(people)
    return people


def _must_be_ledger(ledger: Any) -> None:
    if not isinstance(ledger, Ledger):
        raise InvalidParameter(
            f"a stream needs a ledger, because its state is kept there, got {type(ledger).__name__}; write "
            "start(ledger=Ledger('budget.ledger', epsilon=1.0, delta=1e-6), name='visits')."
        )
