"""What a ledger holds, as plain values: the cap, and one entry for each release.

A release is a tuple of charges. Everything is written as JSON with the shortest decimals that read back to the same
floats, bit for bit, and every line is bound to the one before it by a SHA-256 hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

from hush.errors import InvalidParameter, Unsupported, non_negative, reject
from hush.privacy.charge import Budget, Charge, charges

__all__ = ["Cap", "Entry", "as_entry", "chained", "entry_from_text", "entry_text", "printable", "text_of"]

#: A label is a line of a receipt, not a place to keep data.
LONGEST_TEXT = 1000


@dataclass(frozen=True)
class Cap(Budget):
    """What a ledger may spend in all, and by which rule; order, divergence and reserve belong to adaptive ledgers
    with a delta.
    """

    mode: str
    order: float | None = None
    divergence: float | None = None
    reserve: float | None = None

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}, {self.mode}"


@dataclass(frozen=True)
class Entry:
    """One release: its charges, the failure probability it adds, and the pair it was calibrated for, where that is
    known.
    """

    number: int
    time: str
    label: str
    charges: tuple[Charge, ...]
    extra_delta: float = 0.0
    epsilon: float | None = None
    delta: float | None = None

    def __str__(self) -> str:
        shown = ", ".join(str(charge) for charge in self.charges)
        return f"{self.number}. {printable(self.label) or 'no label'}: {shown}"


def text_of(name: str, value: Any) -> str:
    """A short text that a file can hold."""
    allowed = f"a text of at most {LONGEST_TEXT} characters"
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise reject(name, value, allowed)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as failure:
        raise reject(name, value, allowed, "without lone surrogates") from failure
    return value


def printable(text: str, longest: int | None = None) -> str:
    """For a terminal: what would move its cursor, colour it or turn its direction is written as an escape; cut to
    `longest` characters.

    >>> printable("a\\x1b[31mb"), printable("twenty counts by age", 12)
    ('a\\\\x1b[31mb', 'twenty co...')
    """
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return plain if longest is None or len(plain) <= longest else plain[: longest - 3] + "..."


# -- how entries are asked for and written -------------------------------------------------------------------


def as_entry(releases: Any, label: Any, extra_delta: Any, epsilon: Any, delta: Any) -> Entry:
    """The entry a caller asks for, not yet numbered."""
    extra = non_negative("extra_delta", extra_delta)
    if extra >= 1.0:
        raise reject("extra_delta", extra_delta, "in [0, 1)")
    if (epsilon is None) != (delta is None):
        raise InvalidParameter(
            "epsilon and delta are given together or not at all: they are the pair the release was calibrated for."
        )
    claimed = None if epsilon is None else Budget.asked(epsilon, delta, zero=True)
    rows = charges(releases)
    for charge in rows:
        charge.to_plain()  # refuses what no file can hold
    pair = (None, None) if claimed is None else (claimed.epsilon, claimed.delta)
    return Entry(0, "", text_of("label", label), rows, extra, *pair)


# -- lines ---------------------------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def entry_text(entry: Entry) -> str:
    """The mechanism of an entry as text, checked to read back as the same one."""
    values: dict[str, Any] = {
        "parts": [charge.to_plain() for charge in entry.charges],
        "extra_delta": entry.extra_delta,
    }
    if entry.epsilon is not None:
        values |= {"epsilon": entry.epsilon, "delta": entry.delta}
    try:
        text = _json(values)
        same = entry_from_text(text, entry.number, entry.time, entry.label) == entry
    except ValueError:
        same = False
    if not same:
        raise Unsupported(
            "this release does not read back from plain values as what it is, so no ledger can vouch for it."
        )
    return text


def entry_from_text(text: str, number: int, time: str, label: str) -> Entry:
    """The entry that `entry_text` wrote."""
    values = json.loads(text)
    parts = tuple(Charge.from_plain(part) for part in values["parts"])
    if not parts:
        raise InvalidParameter("an entry needs charges.")
    extra, epsilon, delta = float(values["extra_delta"]), values.get("epsilon"), values.get("delta")
    if not 0.0 <= extra < 1.0 or not all(value is None or math.isfinite(value) for value in (epsilon, delta)):
        raise InvalidParameter("an entry's numbers must be finite.")
    return Entry(number, time, label, parts, extra, epsilon, delta)


def chained(previous: str, *values: Any) -> str:
    """The hash of a line: SHA-256 of the hash before it and of all that the line says."""
    return hashlib.sha256(_json([previous, *values]).encode("utf-8")).hexdigest()
