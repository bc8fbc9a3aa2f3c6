"""What a ledger holds, as plain values: the cap, and one entry for each release.

A release is a tuple of parts. A part is what `hush.compose` takes: (noise, sensitivity, times), or (subsampled, times). Everything is
written as JSON with the shortest decimals that read back to the same floats, bit for bit, and every line is bound to the one before it by
a SHA-256 hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hush.errors import InvalidParameter, Unsupported, as_float, budgets, deltas, non_negative, reject, whole
from hush.noise.catalogue import EVERY, from_plain_values, plain_values
from hush.noise.contract import Law
from hush.privacy.exchange import Imported
from hush.privacy.subsampling import Subsampled
from hush.sensitivity import Sensitivity

__all__ = ["Amount", "Cap", "Entry", "Part", "as_entry", "as_parts", "chained", "entry_from_text", "entry_text", "printable", "text_of"]

Part = tuple[Any, ...]

#: A label is a line of a receipt, not a place to keep data.
LONGEST_TEXT = 1000


@dataclass(frozen=True)
class Amount:
    """Two readings of one quantity of privacy: epsilon at the cap's delta, and delta at the cap's epsilon. float() gives the epsilon."""

    epsilon: float
    delta: float

    def __float__(self) -> float:
        return self.epsilon


@dataclass(frozen=True)
class Cap:
    """What a ledger may spend in all, and by which rule; order, divergence and reserve belong to interactive ledgers with a delta."""

    epsilon: float
    delta: float
    mode: str
    order: float | None = None
    divergence: float | None = None
    reserve: float | None = None

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}, {self.mode}"


@dataclass(frozen=True)
class Entry:
    """One release: its parts, the failure probability it adds, and the pair it was calibrated for, where that is known."""

    number: int
    time: str
    label: str
    parts: tuple[Part, ...]
    extra_delta: float = 0.0
    epsilon: float | None = None
    delta: float | None = None

    def __str__(self) -> str:
        shown = ", ".join(f"{part[0]}" + (f" x {part[-1]}" if part[-1] > 1 else "") for part in self.parts)
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
    """For a terminal: what would move its cursor, colour it or turn its direction is written as an escape; cut to `longest` characters.

    >>> printable("a\\x1b[31mb"), printable("twenty counts by age", 12)
    ('a\\\\x1b[31mb', 'twenty co...')
    """
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return plain if longest is None or len(plain) <= longest else plain[: longest - 3] + "..."


# -- parts ----------------------------------------------------------------------------------------------------------------------------


def as_parts(value: Any) -> tuple[Part, ...]:
    """One part or a list of parts, checked: (noise, sensitivity, times) with a default of 1 for the last two, or (subsampled, times)."""
    starts = isinstance(value, tuple) and value and isinstance(value[0], Law | Subsampled | Imported)
    try:
        rows = [value] if starts or isinstance(value, Law | Subsampled | Imported) else list(value)
    except TypeError as failure:
        raise reject("parts", value, "a list of releases", "write [(Gaussian(1.0), 1.0, 1)]") from failure
    if not rows:
        raise InvalidParameter("parts must hold at least one release; write [(Gaussian(1.0), 1.0, 1)].")
    return tuple(_part(row) for row in rows)


def _part(row: Any) -> Part:
    items = tuple(row) if isinstance(row, tuple | list) else (row,)
    first = items[0] if items else None
    if isinstance(first, Imported):
        raise Unsupported("an imported loss distribution cannot be written into a ledger; spend the noise itself, or a Subsampled one.")
    if isinstance(first, Subsampled):
        if len(items) > 2:
            raise InvalidParameter("a subsampled release is (subsampled, times): its sensitivity is already inside.")
        return first, whole("times", items[1] if len(items) == 2 else 1)
    if not isinstance(first, Law):
        raise reject("noise", first, "a noise family", "write for example [(Gaussian(1.0), 1.0, 1)]")
    if not any(row.type is type(first) for row in EVERY):
        raise Unsupported(f"{type(first).__name__} is not in the catalogue, so a ledger cannot write it down; add it there.")
    if len(items) > 3:
        raise InvalidParameter(f"a release is (noise, sensitivity, times), got {len(items)} items; write (Gaussian(1.0), 1.0, 1).")
    return first, Sensitivity.of(items[1] if len(items) > 1 else 1.0), whole("times", items[2] if len(items) > 2 else 1)


def as_entry(parts: Any, label: Any, extra_delta: Any, epsilon: Any, delta: Any) -> Entry:
    """The entry a caller asks for, not yet numbered."""
    extra = non_negative("extra_delta", extra_delta)
    if extra >= 1.0:
        raise reject("extra_delta", extra_delta, "in [0, 1)")
    if (epsilon is None) != (delta is None):
        raise InvalidParameter("epsilon and delta are given together or not at all: they are the pair the release was calibrated for.")
    claimed = None if epsilon is None else float(budgets("epsilon", as_float("epsilon", epsilon, "a number"), zero=True))
    share = None if delta is None else float(deltas("delta", as_float("delta", delta, "in [0, 1)"), zero=True))
    return Entry(0, "", text_of("label", label), as_parts(parts), extra, claimed, share)


def _plain_part(part: Part) -> dict[str, Any]:
    if isinstance(part[0], Subsampled):
        one = part[0].whole
        return {"noise": plain_values(one.noise), "rate": part[0].rate, "sensitivity": {"linf": one.shift, "l0": 1}, "times": part[1]}
    noise, bound, times = part
    known = {name: value for name, value in asdict(bound).items() if value is not None}
    return {"noise": plain_values(noise), "sensitivity": known, "times": times}


def _part_from(values: Mapping[str, Any]) -> Part:
    noise, bound, times = from_plain_values(values["noise"]), Sensitivity(**values["sensitivity"]), whole("times", values["times"])
    return (Subsampled(noise, values["rate"], bound), times) if "rate" in values else (noise, bound, times)


# -- lines ----------------------------------------------------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def entry_text(entry: Entry) -> str:
    """The mechanism of an entry as text, checked to read back as the same one."""
    values: dict[str, Any] = {"parts": [_plain_part(part) for part in entry.parts], "extra_delta": entry.extra_delta}
    if entry.epsilon is not None:
        values |= {"epsilon": entry.epsilon, "delta": entry.delta}
    try:
        text = _json(values)
        same = entry_from_text(text, entry.number, entry.time, entry.label) == entry
    except ValueError:
        same = False
    if not same:
        raise Unsupported("this release does not read back from plain values as what it is, so no ledger can vouch for it.")
    return text


def entry_from_text(text: str, number: int, time: str, label: str) -> Entry:
    """The entry that `entry_text` wrote."""
    values = json.loads(text)
    parts = tuple(_part_from(part) for part in values["parts"])
    if not parts:
        raise InvalidParameter("an entry needs parts.")
    extra, epsilon, delta = float(values["extra_delta"]), values.get("epsilon"), values.get("delta")
    if not 0.0 <= extra < 1.0 or not all(value is None or math.isfinite(value) for value in (epsilon, delta)):
        raise InvalidParameter("an entry's numbers must be finite.")
    return Entry(number, time, label, parts, extra, epsilon, delta)


def chained(previous: str, *values: Any) -> str:
    """The hash of a line: SHA-256 of the hash before it and of all that the line says."""
    return hashlib.sha256(_json([previous, *values]).encode("utf-8")).hexdigest()
