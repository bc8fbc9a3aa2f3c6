"""The contents of a ledger: the cap, and one entry for each release.

An entry has a tuple of charges. Everything is stored as JSON, with the shortest decimals that read back to the same
floats, exact to the last bit. Every entry contains the SHA-256 hash of the entry before it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, Unsupported, non_negative, reject
from hush.ledger.series import Turn
from hush.privacy.charge import Budget, Charge, charges
from hush.sampling.witness import now

__all__ = [
    "Cap",
    "Entry",
    "as_entry",
    "chained",
    "entry_from_text",
    "entry_in_words",
    "entry_text",
    "hush_version",
    "moment",
    "printable",
    "text_of",
]

#: Characters. A label is one line of a receipt, not a place to store data.
LONGEST_TEXT = 1000


@dataclass(frozen=True)
class Cap(Budget):
    """The most that a ledger may spend, and its rule of composition. order, divergence and reserve belong to the Renyi
    filter of an adaptive ledger; first and renyi are the parts of delta of its filters; equal is the largest number of
    equal releases for which the first one may have been calibrated.
    """

    mode: str = "adaptive"
    _: KW_ONLY
    order: float | None = None
    divergence: float | None = None
    reserve: float | None = None
    first: float | None = None
    renyi: float | None = None
    equal: int | None = None
    #: The sub-accounts, each with its epsilon and its delta.
    accounts: tuple[tuple[str, float, float], ...] | None = None
    #: The column of time that the blocks are of; None if there are none.
    blocks: str | None = None
    #: The releases that are accepted, each once, by their charges; None if every release is.
    releases: tuple[tuple[Charge, ...], ...] | None = None

    def __str__(self) -> str:
        return f"{self.words}, {self.mode}"

    def to_plain(self) -> dict[str, Any]:
        """The cap as values for JSON; what is None is left out."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.releases is not None:
            plain["releases"] = [[charge.to_plain() for charge in release] for release in self.releases]
        return {name: value for name, value in plain.items() if value is not None}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Cap:
        """The cap that `to_plain` wrote."""
        known = dict(values)
        if known.get("accounts") is not None:
            known["accounts"] = tuple((str(name), float(e), float(d)) for name, e, d in known["accounts"])
        if known.get("releases") is not None:
            listed = known["releases"]
            known["releases"] = tuple(tuple(Charge.from_plain(part) for part in release) for release in listed)
        return cls(**known)


@dataclass(frozen=True)
class Entry:
    """One release: its charges, the failure probability that it adds, and the pair (epsilon, delta) that it was
    calibrated for, if that is known.
    """

    number: int
    time: str
    label: str
    charges: tuple[Charge, ...]
    _: KW_ONLY
    extra_delta: float = 0.0
    epsilon: float | None = None
    delta: float | None = None
    turn: Turn | None = None
    #: The pair of a release that follows and depends on the answer of this one; None if none was stated.
    followed_by: Budget | None = None
    #: The sub-account that is charged; empty for none.
    account: str = ""
    #: The block of time that the release is about; empty for all of them.
    block: str = ""
    #: The digest of the question that the entry pays one answer to; empty: the charge gives no right to be used again.
    question: str = ""
    #: The step of that question, if it has several entries; empty for the last one.
    step: str = ""
    #: What was asked, in words; empty if the caller did not say.
    about: str = field(default="", compare=False)
    #: The version of hush that wrote the entry; empty in ledgers of older versions.
    made_by: str = field(default="", compare=False)

    @property
    def has_right(self) -> bool:
        """Does the charge give the right to one answer, which the same call gets if the first one fails?"""
        return bool(self.question) or self.turn is not None

    @property
    def planned(self) -> list[Entry]:
        """This release and those that were planned to follow it."""
        return [self] if self.turn is None else [self, *[self.next_one] * (self.turn.times - 1)]

    @property
    def next_one(self) -> Entry:
        """A release that follows this one in its plan: an equal one, unless the plan states other charges for it."""
        return self if self.turn is None or not self.turn.later else replace(self, charges=self.turn.later)

    def __str__(self) -> str:
        shown = ", ".join(str(charge) for charge in self.charges)
        return f"{self.number}. {printable(self.label) or 'no label'}: {shown}"


def text_of(name: str, value: Any) -> str:
    """A text of at most LONGEST_TEXT characters that can be stored as UTF-8."""
    allowed = f"a text of at most {LONGEST_TEXT} characters"
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise reject(name, value, allowed)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as failure:
        raise reject(name, value, allowed, "remove the lone surrogates, which UTF-8 cannot store") from failure
    return value


def printable(text: str, longest: int | None = None) -> str:
    """The text for a terminal, cut to `longest` characters. Characters that move the cursor, change the colour or the
    direction are written as escapes.

    >>> printable("a\\x1b[31mb"), printable("twenty counts by age", 12)
    ('a\\\\x1b[31mb', 'twenty co...')
    """
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return plain if longest is None or len(plain) <= longest else plain[: longest - 3] + "..."


# -- from callers --------------------------------------------------------------------------------------------


def as_entry(
    releases: Any,
    label: Any,
    extra_delta: Any,
    epsilon: Any,
    delta: Any,
    turn: Turn | None = None,
    account: str = "",
    block: str = "",
    about: str = "",
    followed_by: Budget | None = None,
) -> Entry:
    """The entry for the arguments of a caller, without a number yet."""
    extra = non_negative("extra_delta", extra_delta)
    if extra >= 1.0:
        raise reject("extra_delta", extra_delta, "in [0, 1)")
    if (epsilon is None) != (delta is None):
        raise InvalidParameter(
            "give both epsilon and delta, or neither: they are the pair that the release was calibrated for."
        )
    claimed = None if epsilon is None else Budget.asked(epsilon, delta, zero=True)
    if followed_by is not None and not isinstance(followed_by, Budget):
        raise reject("followed_by", followed_by, "a Budget, or None", "write followed_by=hush.Budget(0.97, 1e-6)")
    followed_by = followed_by and Budget.asked(followed_by.epsilon, followed_by.delta, zero=True)
    rows = charges(releases)
    for charge in rows:
        charge.to_plain()  # raises if the charge cannot be stored
    made = Entry(0, "", text_of("label", label), rows, extra_delta=extra, turn=turn)
    made = replace(made, account=text_of("account", account), block=text_of("block", block), followed_by=followed_by)
    made = replace(made, about=text_of("about", about), made_by=hush_version())
    return made if claimed is None else replace(made, epsilon=claimed.epsilon, delta=claimed.delta)


# -- in the file ---------------------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _names(entry: Entry) -> tuple[tuple[str, str], ...]:
    names = ("account", "block", "question", "step", "about")
    return (*((name, getattr(entry, name)) for name in names), ("hush", entry.made_by))


def entry_text(entry: Entry) -> str:
    """The charges and numbers of an entry as JSON, checked to read back as the same entry."""
    values: dict[str, Any] = {
        "parts": [charge.to_plain() for charge in entry.charges],
        "extra_delta": entry.extra_delta,
    }
    if entry.epsilon is not None:
        values |= {"epsilon": entry.epsilon, "delta": entry.delta}
    if entry.turn is not None:
        values |= {"turn": entry.turn.to_plain()}
    if entry.followed_by is not None:
        values |= {"followed_by": [entry.followed_by.epsilon, entry.followed_by.delta]}
    values |= {name: text for name, text in _names(entry) if text}
    try:
        text = _json(values)
        same = entry_from_text(text, entry.number, entry.time, entry.label) == entry
    except ValueError:
        same = False
    if not same:
        raise Unsupported("this release cannot be stored: it does not read back from JSON as the same release.")
    return text


def entry_from_text(text: str, number: int, time: str, label: str) -> Entry:
    """The entry that `entry_text` wrote."""
    values = json.loads(text)
    parts = tuple(Charge.from_plain(part) for part in values["parts"])
    if not parts:
        raise InvalidParameter("an entry needs at least one charge.")
    extra, epsilon, delta = float(values["extra_delta"]), values.get("epsilon"), values.get("delta")
    if not 0.0 <= extra < 1.0 or not all(value is None or math.isfinite(value) for value in (epsilon, delta)):
        raise InvalidParameter("the numbers of an entry must be finite.")
    turn = None if values.get("turn") is None else Turn.from_plain(values["turn"])
    made = Entry(number, time, label, parts, extra_delta=extra, epsilon=epsilon, delta=delta, turn=turn)
    texts = ("account", "block", "question", "step", "about", "hush")
    named = {name: text_of(name, values.get(name, "")) for name in texts}
    after = values.get("followed_by")
    made = replace(made, account=named["account"], block=named["block"], question=named["question"], step=named["step"])
    made = made if after is None else replace(made, followed_by=Budget.asked(*map(float, after), zero=True))
    return replace(made, about=named["about"], made_by=named["hush"])


def entry_in_words(paid: Mapping[str, Any] | None) -> str:
    """The entry that paid for a release. The file is named without its folders, because these words are published."""
    return "none was charged" if paid is None else f"entry {paid['number']} of {Path(paid['ledger']).name}"


@cache
def hush_version() -> str:
    """The version of hush, from its metadata; reading them takes a millisecond, so it happens once."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hush")
    except PackageNotFoundError:  # a copy of the source that was not installed
        return ""


def moment() -> str:
    """The present time, as text."""
    return now().isoformat(timespec="microseconds")


def chained(previous: str, *values: Any) -> str:
    """The hash of a row: SHA-256 of the previous hash and of all values of the row."""
    return hashlib.sha256(_json([previous, *values]).encode("utf-8")).hexdigest()
