"""The statement of one release, one answer or one fit, from its receipt."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hush.errors import HushError
from hush.ledger import Ledger
from hush.ledger.entry import hush_version
from hush.privacy.charge import Charge
from hush.privacy.compose import compose
from hush.releasing.receipt import Receipt
from hush.report import caution
from hush.report.ledger_budget import remaining
from hush.report.ledger_statement import plain_entry
from hush.report.mechanisms import mechanisms
from hush.report.page import Block, Code, Points, Section, Statement, Table, Terms, Text
from hush.report.receipt_case import Case, case_of, charged
from hush.report.receipt_check import entry_of, must_agree, recomputed
from hush.report.snapshot import from_here
from hush.report.wording import Promise

__all__ = ["of_receipt"]

_POINT = "it is the delta that the noise was calibrated for; the statement of a ledger uses the delta of the ledger"


def of_receipt(given: Mapping[str, Any], ledger: Ledger | None) -> Statement:
    """The statement of a receipt; with its ledger, the charge is checked, and the statement shows what remains."""
    receipt = given if isinstance(given, Receipt) else Receipt(given)
    case = case_of(receipt)
    entry = entry_of(case, ledger)
    must_agree(receipt)
    charges, extra = (entry.charges, entry.extra_delta) if entry is not None else (receipt.charges, receipt.extra_delta)
    promise = _promise(case, charges, extra)
    lines, printed = recomputed(case, charges, extra)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    read = "the receipt and the ledger" if ledger else "the receipt"
    sections = (
        Section("Summary", _summary(case, promise)),
        Section("The guarantee in three numbers", _guarantee(case, promise)),
        Section("What was published", (Table("As the receipt states", ("item", "value"), tuple(case.published)),)),
        Section("Assumptions", (Points(tuple(case.assumptions)),)),
        Section("What is not covered", (Points(caution.NOT_COVERED),)),
        Section("Mechanism and proof", _mechanisms(case, charges)),
        Section("What remains", _remains(case, ledger)),
        Section("How to check this", _checks(case, lines, printed)),
        Section("Glossary", (Terms(caution.GLOSSARY),)),
        Section("Origin", (Text(f"Made by hush {hush_version()} on {now}, from {read} alone."),)),
    )
    facts = {
        "kind": receipt.kind,
        "hush": hush_version(),
        "time": now,
        "receipt": dict(receipt),
        "promise": None if promise is None else promise.facts,
        "entry": None if entry is None else plain_entry(entry),
        "lines": lines,
    }
    return Statement(f"Privacy statement: {case.title}", sections, facts, lines)


def _promise(case: Case, charges: tuple[Charge, ...], extra: float) -> Promise | None:
    if not case.guarantee.holds:
        return None
    curve = None
    if charges:
        try:
            curve = compose(charges)
            _ = curve.least_error_sum
        except HushError:  # the guarantee holds without the curve
            curve = None
    guarantee = case.guarantee
    return Promise(guarantee.epsilon, guarantee.delta, guarantee.neighbours, curve, extra)


# -- sections ------------------------------------------------------------------------------------------------


def _summary(case: Case, promise: Promise | None) -> tuple[Block, ...]:
    rows = [("Data", case.data)]
    if promise is None:
        return (Text(f"There is {case.guarantee}.", strong=True), Terms(tuple(rows)))
    rows += [
        ("Protected", caution.protected(case.guarantee.neighbours, case.who)),
        ("Published", f"{case.title}, made {case.receipt['time']}."),
        ("Guarantee", f"{promise.numbers}, for {case.seen} alone."),
        ("Ledger", f"{charged(case.receipt)}."),
    ]
    return (Text(promise.main(case.seen), strong=True), Terms(tuple(rows)))


def _guarantee(case: Case, promise: Promise | None) -> tuple[Block, ...]:
    if promise is None:
        return (Text("There is none: an attacker who sees this may learn about single rows."),)
    alone = (
        f"They are about {case.seen} alone. Other releases about the same data add to the privacy loss; a ledger adds "
        "them up."
    )
    return (
        Text(f"These three numbers describe the same guarantee. {alone}"),
        Terms(promise.three_numbers(case.seen, _POINT)),
        Text(promise.sources),
    )


def _mechanisms(case: Case, charges: tuple[Charge, ...]) -> tuple[Block, ...]:
    if charges:
        return mechanisms(charges)
    if not case.guarantee.holds:
        return (Text("There is none that protects single rows."),)
    return (
        Text(
            "The receipt does not contain every mechanism with its bound. The entry of the ledger does, and the "
            "statement of the ledger names the proofs."
        ),
    )


def _remains(case: Case, ledger: Ledger | None) -> tuple[Block, ...]:
    if ledger is not None:
        return remaining(ledger.view().account)
    if case.receipt.ledger is None:
        return (Text("No ledger was charged, so there is no budget that could remain."),)
    where = f"The charge is {charged(case.receipt)}."
    return (
        Text(f"{where} The statement of the ledger shows what remains; so does this statement if you give ledger=."),
    )


def _checks(case: Case, lines: str, printed: str) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if lines:
        blocks += [Text(f"From the mechanism alone. These lines print {printed}:"), Code(lines, "python")]
    else:
        blocks.append(
            Text(
                "The receipt does not contain every mechanism of the charge. The entry of the ledger does, and the "
                "statement of the ledger contains Python lines that check it."
            )
        )
    entry = case.receipt.ledger
    if entry is not None and entry.get("ledger") and entry["ledger"] != "a ledger in memory":
        file = shlex.quote(from_here(entry["ledger"]))
        blocks += [Text("The charge, in the ledger:"), Code(f"hush ledger verify {file}\nhush report {file}", "sh")]
    return tuple(blocks)
