"""Statements of one release, one answer or one fit, from its receipt."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hush.errors import HushError, InvalidParameter
from hush.ledger import Cap, Entry, Ledger
from hush.ledger.account import Pure
from hush.noise.catalogue import from_plain_values
from hush.numerics.rounding import rounded_up
from hush.privacy.charge import Charge, Guarantee
from hush.privacy.compose import compose
from hush.releasing.receipt import Receipt
from hush.report import caution, check
from hush.report.ledger_statement import mechanisms, plain_entry, remaining
from hush.report.page import Block, Code, Points, Section, Statement, Table, Text
from hush.report.snapshot import from_here
from hush.report.wording import Promise, left_out_lines

__all__ = ["of_receipt"]

_FALSE = "the receipt's mechanism does not keep the epsilon and delta that the receipt states; it was changed."
#: A delta and a part of it are decimals that somebody wrote, each held to one part in 2^53.
_ROUNDING = 1 + Fraction(1, 2**50)


@dataclass(frozen=True)
class _Case:
    """What one kind of receipt says: rows of a table, what it rests on, and how an attacker's view is named."""

    receipt: Receipt
    title: str
    released: list[tuple[str, str]]
    assumptions: list[str]
    seen: str
    chain: tuple[int, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        return self.receipt.guarantee


def of_receipt(given: Mapping[str, Any], ledger: Ledger | None) -> Statement:
    """The statement of what a receipt is of; with its ledger also what remains, and the charge as it was written."""
    receipt = given if isinstance(given, Receipt) else Receipt(given)
    case = _case(receipt)
    entry = _entry(case, ledger)
    _must_agree(receipt)
    charges, extra = (entry.charges, entry.extra_delta) if entry is not None else (receipt.charges, receipt.extra_delta)
    promise = _promise(case, charges, extra)
    lines, said = _lines(case, charges, extra)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    sections = [
        Section("In short", _short(case, promise)),
        Section("What was released", (Table("As the receipt says", ("item", "value"), tuple(case.released)),)),
        Section("What is promised", _promised(case, promise)),
        Section("On what this rests", (Points(tuple(case.assumptions)),)),
        Section("What it does not speak of", (Points(caution.NOT_COVERED),)),
        Section("Mechanism and proof", _mechanisms(case, charges)),
        Section("What remains", _remains(case, ledger)),
        Section("How to check this", _checks(case, lines, said)),
        Section(
            "Origin",
            (
                Text(
                    f"Made by hush {version('hush')} on {now}, from the receipt{' and the ledger' if ledger else ''} alone."
                ),
            ),
        ),
    ]
    facts = {
        "kind": receipt.kind,
        "hush": version("hush"),
        "time": now,
        "receipt": dict(receipt),
        "promise": None if promise is None else promise.facts,
        "entry": None if entry is None else plain_entry(entry),
        "lines": lines,
    }
    return Statement(f"Privacy statement: {case.title}", tuple(sections), facts, lines)


# -- the kinds of receipts -----------------------------------------------------------------------------------


def _case(receipt: Receipt) -> _Case:
    try:
        return {"release": _release, "answer": _answer}.get(receipt.kind, _fit)(receipt)
    except (KeyError, TypeError, AttributeError) as failure:
        raise InvalidParameter(
            "this is not a receipt of hush; write report(release), report(answer) or report(model.receipt_)."
        ) from failure


def _charged(receipt: Receipt) -> str:
    entry = receipt.ledger
    if entry is None:
        return "none was charged: nothing adds this up with other releases"
    where = f" of {Path(entry['ledger']).name}" if entry.get("ledger") else ""
    label = f", {entry['label']!r}" if entry.get("label") else ""
    return f"entry {entry['number']}{where}{label}"


def _release(receipt: Receipt) -> _Case:
    made, count, size = receipt["mechanism"], receipt.guarantee.times, math.prod(receipt["shape"])
    deviation = receipt["error"]["standard_deviation"]
    rows = [
        ("answer", "one number" if not receipt["shape"] else f"{size} numbers"),
        ("made", f"{receipt['time']} by hush {receipt['hush']}"),
        ("ledger", _charged(receipt)),
        (
            "error",
            f"noise and rounding move each number by at most {rounded_up(receipt['error']['half_width95'])} with 95 % probability",
        ),
        ("standard deviation", "infinite" if deviation is None else f"{deviation:.6g}"),
        ("lattice", f"multiples of {made['step']:.6g}" + (", to which values were rounded" if made["rounded"] else "")),
        ("afterwards", ", ".join(receipt["post_processing"]) or "nothing"),
    ]
    notes = [
        caution.neighbours(receipt.guarantee.neighbours),
        "Bound: how far one unit moves the answer was declared by the caller; the table of mechanisms has it, rounding included.",
        caution.ADAPTIVE["one"],
        "Processing afterwards costs no privacy.",
    ]
    if count > 1:
        notes.append(f"The pair is for {count} releases with this noise; this is one of them.")
    return _Case(receipt, "one release", rows, notes, "this answer" if count == 1 else f"{count} such answers")


def _answer(receipt: Receipt) -> _Case:
    given = receipt["guarantee"]
    rows = [
        ("data", receipt["source"]),
        ("query", "; ".join(receipt["bounds"])),
        ("groups", str(receipt.get("groups", "written to a file"))),
        ("made", f"{receipt['time']} by hush {receipt['hush']}, engine {receipt['engine']}"),
        ("ledger", _charged(receipt)),
        ("intervals", f"hold the answer without noise with probability {receipt['level']:g}" + _not_covered(receipt)),
        *(("left out by the limits", line) for line in left_out_lines(receipt)),
        ("noise", f"{from_plain_values(receipt['noise'])}, scaled to each column's bound"),
    ]
    unit = given["unit"]
    notes = [
        caution.neighbours("add-remove", unit),
        f"Unit: all rows with the same {unit}.",
        f"Bounds: one {unit} counts in at most {given['groups_per_unit']} group(s) and moves at most {given['l0']} numbers, "
        f"{given['l0'] // given['groups_per_unit']} in each group: a mean takes two, a sum and a count, and groups that are found "
        "privately take a count of units; what is beyond is left out by a keyed hash inside the engine, and values are clipped. "
        "Columns are divided by their own bound.",
        caution.ADAPTIVE["one"],
        *_paid_beside(receipt),
    ]
    return _Case(receipt, f"one answer about {receipt['source']}", rows, notes, "this answer")


def _paid_beside(receipt: Receipt) -> list[str]:
    """What else the budget paid for: finding groups, finding bounds, measuring what the limits leave out."""
    notes = []
    if receipt["threshold"] is not None:
        notes.append(
            f"Groups were found privately: shown from {receipt['threshold']:.6g} noisy units on; "
            f"{rounded_up(receipt['key_delta'], 3)} of delta pays for that."
        )
    if "bounds_found" in receipt:
        notes.append("Bounds were found privately, from a part of the budget.")
    if "left_out" in receipt:
        notes.append("What the limits left out was measured privately, from a part of the budget.")
    return notes


def _not_covered(receipt: Receipt) -> str:
    """What intervals do not know."""
    return "; they do not cover what the limits do: " + "; ".join(receipt["limits"]) if receipt.get("limits") else ""


def _fit(receipt: Receipt) -> _Case:
    chain = tuple(receipt.get("started_from", ()))
    rows = [("model", f"{receipt.kind} of {receipt['model']}")]
    rows += [
        (name, str(receipt[name]))
        for name in ("rows", "features", "solver", "passes", "scaling", "accounting", "rule", "cost")
        if name in receipt
    ]
    rows += [("ledger", _charged(receipt)), ("made", f"{receipt['time']} by hush {receipt['hush']}")]
    notes = [
        caution.neighbours("replace", "row"),
        *(f"Public: {text}." for text in receipt.get("public", [])),
        "Bounds: rows are clipped to the declared ranges, and their gradients or products to the stated norm, as whole numbers.",
        caution.ADAPTIVE["one"],
    ]
    if chain:
        notes.append(
            f"The promise is of this fit and of those it started from, ledger entries {', '.join(map(str, chain))}, together."
        )
    if "sharp_edge" in receipt:
        notes.append(f"Beware: {receipt['sharp_edge']}.")
    return _Case(receipt, f"{receipt.kind} of {receipt['model']}", rows, notes, "the fitted model", chain)


# -- what they share -----------------------------------------------------------------------------------------


def _entry(case: _Case, ledger: Ledger | None) -> Entry | None:
    """The charge in the ledger; None where it covers something else than the pair."""
    if ledger is None:
        return None
    charged, entries = case.receipt.ledger, ledger.entries
    if charged is None or not 1 <= charged["number"] <= len(entries):
        raise InvalidParameter(
            "this ledger does not hold the charge that the receipt names; give the ledger that was charged, or none."
        )
    entry = entries[charged["number"] - 1]
    if charged.get("label", entry.label) != entry.label or charged.get("time", entry.time) != entry.time:
        raise InvalidParameter(
            "this ledger does not hold the charge that the receipt names; give the ledger that was charged, or none."
        )
    _must_be_charged(case, entry)
    return entry if case.guarantee.times == 1 and not case.chain else None


def _must_agree(receipt: Receipt) -> None:
    """Refuse a receipt whose parts contradict each other."""
    guarantee = receipt.guarantee
    other = any(charge.neighbours != guarantee.neighbours for charge in receipt.charges)
    named = receipt.kind == "release" and [from_plain_values(receipt["mechanism"]["noise"])] != [
        charge.noise for charge in receipt.charges
    ]
    if other or named:
        raise InvalidParameter(_FALSE)


def _must_be_charged(case: _Case, entry: Entry) -> None:
    """Refuse a receipt that promises more than its entry, or names other charges."""
    receipt, guarantee = case.receipt, case.guarantee
    if receipt.charges and {charge.once for charge in receipt.charges} != {charge.once for charge in entry.charges}:
        raise InvalidParameter(_FALSE)
    more = (
        entry.epsilon is not None
        and entry.delta is not None
        and (guarantee.epsilon < entry.epsilon or guarantee.delta < entry.delta)
    )
    if more and guarantee.times == 1:
        raise InvalidParameter(_FALSE)


def _mechanisms(case: _Case, charges: tuple[Charge, ...]) -> tuple[Block, ...]:
    if charges:
        return mechanisms(list(charges))
    if not case.guarantee.holds:
        return (Text("There is none that would protect single rows."),)
    return (
        Text(
            "The receipt does not hold every mechanism with its bound; the charge in the ledger does, and its statement names the proofs."
        ),
    )


def _promise(case: _Case, charges: tuple[Charge, ...], extra: float) -> Promise | None:
    if not case.guarantee.holds:
        return None
    curve = None
    if charges:
        try:
            curve = compose(charges)
            _ = curve.least_error_sum
        except HushError:  # the pair stands without it
            curve = None
    epsilon, delta = case.guarantee.epsilon, case.guarantee.delta
    return Promise(epsilon, delta, case.guarantee.neighbours, curve, extra)


def _short(case: _Case, promise: Promise | None) -> tuple[Block, ...]:
    if promise is None:
        return (Text(f"There is {case.guarantee}.", strong=True),)
    blocks = [Text(sentence, strong=True) for sentence in promise.words(case.seen)]
    note = promise.note("which was asked for; a ledger's page takes the ledger's delta")
    return (*blocks, Text(note)) if note else tuple(blocks)


def _promised(case: _Case, promise: Promise | None) -> tuple[Block, ...]:
    if promise is None:
        return (Text("Nothing: whoever sees this may learn about single rows."),)
    alone = "It is of this alone: what else was released about the same data comes on top, and a ledger adds it up."
    return (Text(f"{case.seen[0].upper()}{case.seen[1:]}: {promise.numbers}."), Text(alone), Text(promise.sources))


def _lines(case: _Case, charges: tuple[Charge, ...], extra: float) -> tuple[str, str]:
    """Python that recomputes the claim, and what it prints, in words."""
    if not charges or not case.guarantee.holds:
        return "", ""
    epsilon, delta = case.guarantee.epsilon, case.guarantee.delta
    if delta == 0.0:
        account = Pure(Cap(epsilon, 0.0, "nonadaptive")).plus([Entry(0, "", "", charges)])
        if not account.covered():
            raise InvalidParameter(_FALSE)
        return check.replayed(
            charges, account.cap, 0.0
        ), f"{account.spent.epsilon!r}, the pure epsilon, at most {epsilon!r}"
    lines, value = check.delta_of(charges, epsilon)
    if value is None:
        return "", ""
    if Fraction(value) + Fraction(extra) > Fraction(delta) * _ROUNDING:
        raise InvalidParameter(_FALSE)
    if value == 0.0:
        more = (
            f"; a failure probability of {extra!r} is added, at most the delta of {delta!r}"
            if extra
            else f" ({delta!r} was allowed)"
        )
        return lines, f"{value!r}, because the noise is pure and needs no delta{more}"
    more = f", to which a failure probability of {extra!r} is added," if extra else ","
    return lines, f"{value!r}{more} at most the delta of {delta!r}"


def _remains(case: _Case, ledger: Ledger | None) -> tuple[Block, ...]:
    if ledger is not None:
        return remaining(ledger.view().account)
    if case.receipt.ledger is None:
        return (Text("No ledger was charged, so no budget says what remains."),)
    return (
        Text(
            f"The ledger knows: {_charged(case.receipt)}. Its own statement says what remains; or give it here as ledger=."
        ),
    )


def _checks(case: _Case, lines: str, said: str) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if lines:
        blocks += [Text(f"From the mechanism alone. These lines print {said}:"), Code(lines, "python")]
    else:
        blocks.append(
            Text(
                "The receipt alone does not hold every mechanism of the charge; the ledger's entry does, and its statement has the lines."
            )
        )
    charged = case.receipt.ledger
    if charged is not None and charged.get("ledger") and charged["ledger"] != "a ledger in memory":
        file = shlex.quote(from_here(charged["ledger"]))
        blocks += [Text("The charge, in the ledger:"), Code(f"hush ledger verify {file}\nhush report {file}", "sh")]
    return tuple(blocks)
