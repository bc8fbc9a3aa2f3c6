"""The statement of a ledger."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from hush.errors import HushError
from hush.ledger import Entry, Ledger
from hush.ledger.account import Account, Nonadaptive
from hush.ledger.entry import hush_version
from hush.ledger.listed import Listed
from hush.ledger.people import People
from hush.numerics.rounding import round_down, round_up, rounded_up
from hush.privacy.charge import Budget
from hush.report import caution, check
from hush.report.ledger_budget import (
    WHOLE,
    accounts,
    other_kind,
    pair_in_words,
    promised_account,
    releases_in_words,
    remaining,
    share_in_words,
)
from hush.report.mechanisms import MOST, mechanisms
from hush.report.page import Block, Code, Points, Section, Statement, Table, Terms, Text
from hush.report.wording import Promise

__all__ = ["data_name", "of_ledger", "plain_entry"]

#: Why the statement uses this delta; a pure ledger has no other.
_POINT = {
    "nonadaptive": "it is the delta of the ledger",
    **dict.fromkeys(
        ("adaptive", "filters", "rho", "mu"),
        "the pair is the whole budget of the ledger, because the amount spent may depend on answers",
    ),
    "listed": "the pair is that of the whole list, because answers may decide which of its releases are made",
}


def of_ledger(ledger: Ledger, command: str) -> Statement:
    """The statement of everything that was charged to a ledger; `command` is its file as a shell command names it, ""
    for a ledger in memory.
    """
    view = ledger.view()
    account, cap, entries = view.account, view.cap, view.entries
    rule = account.rule
    promise, lines = _promise(account), _lines(account, entries)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    made = f"Made by hush {hush_version()} on {now}, from the ledger alone; the ledger was only read."
    sections = (
        Section("Summary", _summary(account, promise, entries, view.people)),
        Section("What was published", _published(entries)),
        Section("What remains", (*remaining(account), *accounts(ledger.accounts))),
        Section("What the limits left out", (Text(caution.LEFT_OUT),)),
        Section("What is not covered", (Points(caution.NOT_COVERED),)),
        Section("Assumptions", (Points(_assumptions(account, rule, bool(command))),)),
        Section("How to check this", _checks(command, view.digest)),
        Section("The guarantee in three numbers", _guarantee(account, promise, rule), folded=True),
        Section("Recompute the guarantee", _recomputed(lines, account), folded=True),
        Section("Mechanisms and proofs", (*mechanisms(account.releases), Text(caution.NUMBERS)), folded=True),
        Section("Glossary", (Terms(caution.GLOSSARY),), folded=True),
        Section("Origin", (Text(made),)),
    )
    name = Path(command).name if command else "a ledger in memory"
    facts = {
        "kind": "ledger",
        "hush": hush_version(),
        "time": now,
        "file": name,
        "source": view.source,
        "cap": cap.to_plain(),
        "rule": rule,
        "promise": None if promise is None else promise.facts,
        "spent": _plain(account.spent),
        "left": _plain(account.left),
        "share": account.share,
        "digest": view.digest,
        "entries": [plain_entry(entry) for entry in entries],
        "lines": lines,
    }
    return Statement(f"Privacy statement: {name}", sections, facts, lines)


def _relation(account: Account) -> str:
    return next((charge.neighbours for charge in account.releases), "add-remove")


def _promise(account: Account) -> Promise | None:
    """The guarantee of everything spent; of the whole budget under a filter, whose spending may depend on answers; and
    of the whole list where releases are listed.
    """
    cap = account.cap
    if not account.totals:
        return None
    if account.rule in WHOLE:
        return Promise(cap.epsilon, cap.delta, _relation(account))
    account, curve = promised_account(account), None
    if isinstance(account, Nonadaptive):
        try:
            curve = account.curve
            _ = curve.least_error_sum
        except HushError:  # the guarantee holds without the curve
            curve = None
    return Promise(account.spent.epsilon, cap.delta, _relation(account), curve, round_up(account.extra))


def _lines(account: Account, entries: tuple[Entry, ...]) -> str:
    """Python lines that recompute `spent.epsilon`: a composition if that is the whole rule, else a new ledger with the
    same charges.
    """
    if not account.totals or account.cap.blocks is not None:
        return ""
    account = promised_account(account)
    if isinstance(account, Nonadaptive):
        left = round_down(Fraction(account.cap.delta) - account.extra)
        try:
            if float(account.curve.epsilon(left)) == account.spent.epsilon:
                return check.composed(account.releases, left)
        except HushError:
            pass
    if account.rule == "filters":
        return check.replayed_in_turn(entries, account.cap)
    return check.replayed(account.releases, account.cap, round_up(account.extra))


# -- sections ------------------------------------------------------------------------------------------------


def data_name(source: str | None) -> str:
    """The data of a statement; of a path only the file name, because folders may name people or projects."""
    if not source:
        return "not recorded in the ledger"
    if "; file " in source:  # several files that are joined
        return "; ".join(data_name(part) for part in source.split("; "))
    kind, place = ("file ", source.removeprefix("file ")) if source.startswith("file ") else ("", source)
    path, person = _person(place)
    return f"{kind}{Path(path).name}{person}" if os.path.isabs(path) else f"{kind}{path}{person}"


def _person(label: str) -> tuple[str, str]:
    """The label of a file without that of its unit, and the unit in words."""
    if label.endswith(", each row a unit"):
        words = ", one person is one row (a person with several rows is protected row by row)"
        return label.removesuffix(", each row a unit"), words
    path, comma, columns = label.partition(", units of ")
    if comma:
        words = f", one person is one combination of {columns} (several of them are protected one by one)"
        return path, words
    path, comma, column = label.partition(", unit ")
    return path, f", one person is one value of {column}" if comma else ""


def _summary(
    account: Account, promise: Promise | None, entries: tuple[Entry, ...], people: People | None
) -> tuple[Block, ...]:
    unknown = people is not None and people.name.startswith("population ") and not people.unit
    not_recorded = "; it is not recorded whether persons, parts of persons or rows were protected" if unknown else ""
    rows = [
        ("Data", f"{data_name(None if people is None else people.words)}{not_recorded}"),
        ("Protected", caution.protected(_relation(account))),
        ("Against", caution.AGAINST),
    ]
    if promise is None:
        empty = f"Nothing was published from this ledger. It allows {pair_in_words(account.cap)} in all."
        return (Text(empty, strong=True), Terms(tuple(rows)))
    rows += [
        ("Published", releases_in_words(entries)),
        *([("By", _by(entries))] if any(entry.account for entry in entries) else []),
        ("Guarantee", f"all releases together keep {promise.numbers}."),
        ("Budget", share_in_words(account)),
    ]
    return (Text(promise.main("all of these answers"), strong=True), Text(caution.WORST), Terms(tuple(rows)))


def _by(entries: tuple[Entry, ...]) -> str:
    """The accounts that published, each with its number of releases."""
    counted = Counter(entry.account or "not stated" for entry in entries)
    return ", ".join(f"{name} ({number})" for name, number in counted.items()) + "."


def _guarantee(account: Account, promise: Promise | None, rule: str) -> tuple[Block, ...]:
    whole = Text(
        f"Whatever is charged to this ledger later, everything together stays within {pair_in_words(account.cap)}"
        f"{other_kind(account.cap)}: the ledger refuses more."
    )
    if promise is None:
        return (whole, Text(caution.COMPOSED[rule]))
    return (
        Text("These three numbers describe the same guarantee, for everything in this ledger together."),
        Terms(promise.three_numbers("all of these answers", _POINT.get(rule, ""))),
        Text(promise.sources),
        Text(caution.COMPOSED[rule]),
        whole,
    )


def _published(entries: tuple[Entry, ...]) -> tuple[Block, ...]:
    if not entries:
        return (Text("There are no entries."),)
    shown = entries[-MOST:]
    by = any(e.account for e in shown)
    rows = tuple(
        (
            *(str(e.number), e.time[:16].replace("T", " "), *((e.account or "not stated",) if by else ())),
            *(e.label or "no label", e.about or "not recorded", _claimed(e)),
        )
        for e in shown
    )
    heads = ("no.", "time", *(("by",) if by else ()), "label", "what was asked", "epsilon and delta")
    table = Table("Entries of the ledger, as recorded; times are UTC", heads, rows)
    earlier = len(entries) - len(shown)
    more = Text(f"{earlier} earlier entries are included in the guarantee but not listed here; --json lists them.")
    return (table, more) if earlier else (table,)


def _claimed(entry: Entry) -> str:
    if entry.turn is not None:
        return f"release {entry.turn.release} of {entry.turn.times} that were planned together"
    if entry.epsilon is None or entry.delta is None:
        return "not recorded"
    return f"({rounded_up(entry.epsilon)}, {rounded_up(entry.delta)})"


def _assumptions(account: Account, rule: str, on_disk: bool) -> tuple[str, ...]:
    return (
        caution.compared(_relation(account)),
        "Person: each release defines who is one person. It is a value of the person column of a table, a row of a "
        "training set, a client of a federation, or what the program declared.",
        "Bounds: one person changes an answer by at most what the table of mechanisms states. Tables and models "
        "enforce this by clipping.",
        caution.ADAPTIVE[rule],
        *([caution.blocks(account.cap.blocks)] if account.cap.blocks is not None else []),
        f"Noise: drawn exactly as stated, on a lattice, after the charge was "
        f"{'on disk' if on_disk else 'made (in memory, not on disk)'}. An entry may name a noise in "
        "place of a procedure that is at least as private.",
    )


def _checks(command: str, digest: str) -> tuple[Block, ...]:
    """How to check the file, for everybody who may read it."""
    blocks: list[Block] = []
    if command:
        file = shlex.quote(command)
        chain = (
            "Everybody who may read the ledger file can check it. Each line contains a SHA-256 hash of the line "
            "before, so a changed or removed line is found. The first command checks this, the second prints every "
            "entry, and the third makes this statement again:"
        )
        blocks += [
            Text(chain),
            Code(f"hush ledger verify {file}\nhush ledger show {file} --all\nhush report {file} --json", "sh"),
        ]
    kept = "Write it down elsewhere: it changes if any entry is changed."
    blocks.append(Text(f"Digest of the last line: {digest}. {kept}"))
    return tuple(blocks)


def _recomputed(lines: str, account: Account) -> tuple[Block, ...]:
    """The lines that recompute the epsilon from the mechanisms."""
    if not lines:
        return (Text("There are no lines that recompute this guarantee in one step; `hush ledger verify` does it."),)
    spent, what = repr(promised_account(account).spent.epsilon), "the epsilon that is spent"
    what = "the epsilon of the whole list" if isinstance(account, Listed) else what
    text = f"The composition, from the mechanisms alone. These lines print {spent}, {what}:"
    return (Text(text), Code(lines, "python"))


# -- plain values --------------------------------------------------------------------------------------------


def _plain(amount: Budget) -> dict[str, float]:
    return {"epsilon": amount.epsilon, "delta": amount.delta}


def _said(entry: Entry) -> dict[str, str]:
    """What was asked, by which account, and the version of hush; empty texts in entries that do not say it."""
    return {"about": entry.about, "account": entry.account, "hush": entry.made_by}


def plain_entry(entry: Entry) -> dict[str, Any]:
    """An entry as a dictionary for JSON."""
    parts = [charge.to_plain() for charge in entry.charges]
    row = {"number": entry.number, "time": entry.time, "label": entry.label, "parts": parts, **_said(entry)}
    return row | {"extra_delta": entry.extra_delta, "epsilon": entry.epsilon, "delta": entry.delta}
