"""The statement of a ledger."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hush.errors import HushError
from hush.ledger import Cap, Entry, Ledger
from hush.ledger.account import Account, Nonadaptive, Pure
from hush.ledger.filter import Filter
from hush.numerics.rounding import round_down, round_up, rounded_down, rounded_up
from hush.privacy.charge import Budget, Charge
from hush.privacy.theorem import words
from hush.report import caution, check, proof
from hush.report.page import Block, Code, Meter, Points, Section, Statement, Table, Text
from hush.report.wording import Promise

__all__ = ["mechanisms", "of_ledger", "remaining"]

#: A page is for reading; the ledger itself, and the JSON, have every entry.
_MOST = 200
#: Why the page takes this point of the curve; a pure ledger has no other.
_POINT = {
    "nonadaptive": "at the ledger's delta, whatever pair each answer was asked for at",
    "adaptive": "the ledger's whole budget, however little of it is spent",
}


def of_ledger(ledger: Ledger, command: str) -> Statement:
    """The statement of everything charged to a ledger; `command` is its file as a command can name it, "" if it has
    none.
    """
    view = ledger.view()
    account = view.account
    rule = _rule(account)
    promise, lines = _promise(account), _lines(account)
    cap, entries, now = view.cap, view.entries, datetime.now(UTC).isoformat(timespec="seconds")
    sections = (
        Section("In short", _short(account, promise, rule)),
        Section("What was released", _released(entries, view.source)),
        Section("What is promised", _promised(account, promise, rule)),
        Section("On what this rests", (Points(_assumptions(account, rule, promise, bool(command))),)),
        Section("What it does not speak of", (Points(caution.NOT_COVERED),)),
        Section("Mechanisms and proofs", mechanisms(account.releases)),
        Section("What remains", remaining(account)),
        Section("How to check this", _checks(command, view.digest, lines, account)),
        Section(
            "Origin",
            (Text(f"Made by hush {version('hush')} on {now}, from the ledger alone; the ledger was only read."),),
        ),
    )
    name = Path(command).name if command else "a ledger in memory"
    facts = {
        "kind": "ledger",
        "hush": version("hush"),
        "time": now,
        "file": name,
        "source": view.source,
        "cap": _plain_cap(cap),
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


def _rule(account: Account) -> str:
    return "pure" if isinstance(account, Pure) else "adaptive" if isinstance(account, Filter) else "nonadaptive"


def _relation(account: Account) -> str:
    return next((charge.neighbours for charge in account.releases), "add-remove")


def _promise(account: Account) -> Promise | None:
    """What holds for everything spent; the whole cap under a filter, whose spending may depend on the answers."""
    cap = account.cap
    if not account.totals:
        return None
    if isinstance(account, Filter):
        return Promise(cap.epsilon, cap.delta, _relation(account))
    curve = None
    if isinstance(account, Nonadaptive):
        try:
            curve = account.curve
            _ = curve.least_error_sum
        except HushError:  # the pair stands without it
            curve = None
    return Promise(account.spent.epsilon, cap.delta, _relation(account), curve, round_up(account.extra))


def _lines(account: Account) -> str:
    """Python that recomputes `spent.epsilon`: composition itself where that is the whole rule, else a new ledger with
    the same charges.
    """
    if not account.totals:
        return ""
    if isinstance(account, Nonadaptive):
        room = round_down(Fraction(account.cap.delta) - account.extra)
        try:
            if float(account.curve.epsilon(room)) == account.spent.epsilon:
                return check.composed(account.releases, room)
        except HushError:
            pass
    return check.replayed(account.releases, account.cap, round_up(account.extra))


# -- sections ------------------------------------------------------------------------------------------------


def _short(account: Account, promise: Promise | None, rule: str) -> tuple[Block, ...]:
    if promise is None:
        return (Text(f"Nothing was released from this ledger. It allows {_pair(account.cap)} in all.", strong=True),)
    blocks = [Text(sentence, strong=True) for sentence in promise.words("all of these answers")]
    note = promise.note(_POINT.get(rule, ""))
    return (*blocks, Text(note)) if note else tuple(blocks)


def _pair(cap: Cap) -> str:
    """A promise, so rounded up."""
    return f"(epsilon, delta) = ({rounded_up(cap.epsilon)}, {rounded_up(cap.delta)})"


def _released(entries: tuple[Entry, ...], source: str | None) -> tuple[Block, ...]:
    blocks: list[Block] = [Text(f"Data: {source}" if source else "The ledger does not say which data it protects.")]
    if not entries:
        return (*blocks, Text("There are no entries."))
    shown = entries[-_MOST:]
    rows = tuple(
        (str(e.number), e.time[:19].replace("T", " "), e.label or "no label", _noises(e), _claimed(e)) for e in shown
    )
    blocks.append(
        Table(
            "Entries of the ledger, as recorded; times are UTC",
            ("no.", "time", "label", "noise", "calibrated for"),
            rows,
        )
    )
    if len(shown) < len(entries):
        blocks.append(
            Text(f"{len(entries) - len(shown)} earlier entries are counted here and not listed; --json lists them.")
        )
    return tuple(blocks)


def _noises(entry: Entry) -> str:
    parts = [proof.named(charge) + (f" x {charge.times}" if charge.times > 1 else "") for charge in entry.charges]
    shown = ", ".join(parts[:6]) + (f", and {len(parts) - 6} more" if len(parts) > 6 else "")
    return shown + (f"; failure probability {rounded_up(entry.extra_delta, 3)}" if entry.extra_delta else "")


def _claimed(entry: Entry) -> str:
    return (
        "not recorded"
        if entry.epsilon is None or entry.delta is None
        else f"({rounded_up(entry.epsilon)}, {rounded_up(entry.delta)})"
    )


def _promised(account: Account, promise: Promise | None, rule: str) -> tuple[Block, ...]:
    cap = account.cap
    whole = Text(
        f"Whatever is still charged to this ledger, all of it together stays within {_pair(cap)}: the ledger refuses more."
    )
    if promise is None:
        return (whole, Text(caution.COMPOSED[rule]))
    return (
        Text(f"All entries together keep {promise.numbers}."),
        Text(caution.COMPOSED[rule]),
        whole,
        Text(promise.sources),
    )


def _assumptions(account: Account, rule: str, promise: Promise | None, kept: bool) -> tuple[str, ...]:
    relation = promise.neighbours if promise is not None else "add-remove"
    return (
        caution.neighbours(relation),
        "Unit: whatever the releases counted as one: the unit column of a table, a row of a training set, a client of a federation, or "
        "what the caller of release() meant.",
        "Bounds: one unit moves an answer by no more than the table of mechanisms says. Tables and models clip to that by themselves.",
        "Numbers that move, of a table: the groups in which a unit may count, times the numbers behind one group's answers. A mean "
        "has two, a sum and a count, and groups that are found privately need a count of units. Each is divided by its own bound.",
        caution.ADAPTIVE[rule],
        f"Noise: drawn exactly as stated, on a lattice, after the charge was {'on disk' if kept else 'made (in memory, not on disk)'}; "
        "a noise may stand for a procedure that is at least as private.",
    )


def mechanisms(releases: list[Charge]) -> tuple[Block, ...]:
    """Every mechanism with its sensitivity, its paper and the theorem behind its curve."""
    if not releases:
        return (Text("None was used."),)
    proofs: dict[str, int] = {}  # one text for all that share it
    rows = []
    for charge in releases[:_MOST]:
        number = proofs.setdefault(words(charge), len(proofs) + 1)
        moves = proof.moves(charge.sensitivity)
        rows.append((proof.named(charge), str(charge.times), moves, proof.paper(charge), f"proof {number}"))
    heads = ("noise", "times", "one unit moves", "described in", "privacy by")
    blocks: list[Block] = [Table("Mechanisms, equal ones counted together", heads, tuple(rows))]
    if len(releases) > _MOST:
        blocks.append(Text(f"{len(releases) - _MOST} more are not listed; --json lists them."))
    return (*blocks, Points(tuple(f"Proof {number}, {text}." for text, number in proofs.items())))


def remaining(account: Account) -> tuple[Block, ...]:
    """What is spent and what is left."""
    cap, spent, left = account.cap, account.spent, account.left
    text = f"{100.0 * account.share:.1f} % of the budget is spent: epsilon {rounded_up(spent.epsilon)} of {rounded_down(cap.epsilon)}"
    text += f" at delta {rounded_down(cap.delta)}."
    blocks: list[Block] = [Meter(account.share, text)]
    more = f"A further release with a pure epsilon of at most {rounded_down(left.epsilon)} (less 1 %) still fits"
    if cap.delta:  # a filter keeps a reserve for failure probabilities; elsewhere both come out of the same room
        together = "and with it" if isinstance(account, Filter) else "or, instead,"
        more += f", {together} failure probabilities of {rounded_down(left.delta, 3)}"
    blocks.append(
        Text(
            f"{more}. Composition is not addition: several small releases may fit together where one large one does not."
        )
    )
    if isinstance(account, Filter):
        blocks.append(
            Text("Under this ledger's rule the first release pays once for turning divergences into epsilon and delta.")
        )
    return tuple(blocks)


def _checks(command: str, digest: str, lines: str, account: Account) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if command:
        file = shlex.quote(command)
        blocks += [
            Text("The ledger itself: every line is bound to the one before by a SHA-256 hash, and all are read again."),
            Code(f"hush ledger verify {file}\nhush ledger show {file} --all\nhush report {file} --json", "sh"),
        ]
    blocks.append(Text(f"Digest of the last line, which any change of an entry would change: {digest}"))
    if lines:
        blocks += [
            Text(
                f"The composition, from the mechanisms alone. These lines print {account.spent.epsilon!r}, the epsilon spent:"
            ),
            Code(lines, "python"),
        ]
    return tuple(blocks)


# -- plain values --------------------------------------------------------------------------------------------


def _plain(amount: Budget) -> dict[str, float]:
    return {"epsilon": amount.epsilon, "delta": amount.delta}


def _plain_cap(cap: Cap) -> dict[str, Any]:
    known = {
        "epsilon": cap.epsilon,
        "delta": cap.delta,
        "mode": cap.mode,
        "order": cap.order,
        "divergence": cap.divergence,
        "reserve": cap.reserve,
    }
    return {name: value for name, value in known.items() if value is not None}


def plain_entry(entry: Entry) -> dict[str, Any]:
    """An entry as plain values."""
    parts = [charge.to_plain() for charge in entry.charges]
    row = {"number": entry.number, "time": entry.time, "label": entry.label, "parts": parts}
    return row | {"extra_delta": entry.extra_delta, "epsilon": entry.epsilon, "delta": entry.delta}
