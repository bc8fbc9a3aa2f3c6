"""`hush ledger new|show|answer|verify`: a privacy budget on disk, and the answers that it has paid for."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from hush.cli.paid_output import add_overwrite, check_output
from hush.cli.text import Command, emit, number, subcommands, table
from hush.errors import InvalidParameter, LedgerError, shown
from hush.ledger import Entry, Ledger
from hush.ledger.entry import printable
from hush.ledger.listed import listed_releases
from hush.numerics.rounding import rounded_up
from hush.privacy.charge import Charge
from hush.releasing.destination import write_text

__all__ = ["listed_in_json", "opened", "register"]

_BAR = 40  # characters of the bar
_LAST = 10  # entries that are shown without --all
_LABEL = 40  # characters of a label that are shown
_WIDEST = 72  # characters of a mechanism that are shown


def _bar(share: float) -> str:
    """A bar of the spent share: full only if everything is spent, empty only if nothing is."""
    filled = min(max(round(share * _BAR), int(share > 0.0)), _BAR - int(share < 1.0))
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {100.0 * share:.1f} % spent"


def _row(entry: Entry) -> dict[str, Any]:
    parts = [
        {"noise": str(one.noise), "sensitivity": str(one.sensitivity), "times": one.times, "rate": one.rate}
        | ({"fixed": True} if one.fixed else {})
        for one in entry.charges
    ]
    row: dict[str, Any] = {"number": entry.number, "time": entry.time, "label": entry.label, "parts": parts}
    row |= {"extra_delta": entry.extra_delta, "epsilon": entry.epsilon, "delta": entry.delta}
    return row | ({"step": entry.step} if entry.step else {}) | {"hush": entry.made_by}


def _mechanism(entry: Entry) -> str:
    from hush.report.proof import named  # here, because hush.report is slow to load and other commands open ledgers too

    parts = [named(charge) + (f" x {charge.times}" if charge.times > 1 else "") for charge in entry.charges]
    return ", ".join(parts) + (f", extra delta {entry.extra_delta:g}" if entry.extra_delta else "")


def _pair(entry: Entry) -> str:
    return "" if entry.epsilon is None else f"({entry.epsilon:.6g}, {entry.delta:.6g})"


def opened(path: str) -> Ledger:
    """Open an existing ledger."""
    if not os.path.exists(path):
        raise InvalidParameter(
            f"there is no ledger {path}; make one with `hush ledger new {path} --epsilon E --delta D`."
        )
    return Ledger(path)


def _new(options: argparse.Namespace) -> None:
    if os.path.lexists(options.file):
        raise InvalidParameter(
            f"{options.file} already exists; show it with `hush ledger show {options.file}`, or choose another name."
        )
    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    delta = 0.0 if options.pure else options.delta
    if delta is None and options.rho is None and options.mu is None:
        raise InvalidParameter(
            "--epsilon needs --delta (for example 1e-6), or --pure for delta = 0; or give --rho or --mu."
        )
    with Ledger(
        options.file,
        epsilon=options.epsilon,
        delta=delta,
        rho=options.rho,
        mu=options.mu,
        mode=options.mode,
        order=options.order,
        source=options.source,
        accounts=_accounts(options.account),
        blocks=options.blocks,
        releases=_releases(options.releases),
    ) as ledger:
        text = f"{options.file}: a new ledger, {ledger.cap}"
        text += f", order {ledger.cap.order:g}" if options.order is not None else ""
        text += f", for each value of {printable(options.blocks)}" if options.blocks else ""
        emit(options, {"file": options.file, "cap": ledger.cap.to_plain()}, text)


def _releases(files: list[str]) -> list[Any] | None:
    """The releases of plans that a command printed with --plan --json, one file for each plan."""
    found: list[Any] = []
    for file in files:
        try:
            listed = json.loads(Path(file).read_text(encoding="utf-8"))["releases"]
            found += [tuple(Charge.from_plain(part) for part in release) for release in listed]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
            raise InvalidParameter(
                f"--releases {file} is not a plan; write one with `hush answer ... --plan --json > plan.json`."
            ) from failure
    return found if files else None


def listed_in_json(plan: Any) -> dict[str, Any]:
    """The charges of each release of a plan, as `hush ledger new --releases` reads them. Where limits are chosen
    privately they are not known yet.
    """
    try:
        found = listed_releases([plan])
    except InvalidParameter:
        return {}
    return {"releases": [[part.to_plain() for part in release] for release in found or ()]}


def _accounts(texts: list[str]) -> dict[str, tuple[float, float]] | None:
    """The sub-accounts of --account, each written as name=epsilon,delta."""
    found = {}
    for text in texts:
        name, sign, pair = text.rpartition("=")
        parts = pair.split(",")
        try:
            if not sign or len(parts) != 2:
                raise argparse.ArgumentTypeError("two numbers are needed")
            found[name] = (number(parts[0]), number(parts[1]))
        except argparse.ArgumentTypeError as failure:
            raise InvalidParameter(
                f"--account needs name=epsilon,delta, such as alice=1,1e-6, got {shown(text)}."
            ) from failure
    return found or None


def _show(options: argparse.Namespace) -> None:
    from hush.report.snapshot import reading

    with reading(options.file) as ledger:  # a copy: it works in a read-only folder, and waits for no other process
        spent, left = ledger.spent, ledger.left
        document = {
            "file": options.file,
            "cap": ledger.cap.to_plain(),
            "source": ledger.source,
            "unanswered": list(ledger.unanswered),
            "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
            "left": {"epsilon": left.epsilon, "delta": left.delta},
            "share": ledger.share,
            "accounts": {name: {"spent": a.spent.epsilon, "share": a.share} for name, a in ledger.accounts.items()},
            "blocks": {name: {"spent": a.spent.epsilon, "share": a.share} for name, a in ledger.view().blocks.items()},
            "entries": [_row(entry) for entry in ledger.entries],
        }
        text = "\n".join([*_state(options.file, ledger), *_last(ledger.entries, every=options.all)])
    emit(options, document, text)


def _state(file: str, ledger: Ledger) -> list[str]:
    """The budget, what is spent of it and what is left."""
    cap, spent, left = ledger.cap, ledger.spent, ledger.left
    lines = [f"{file}: {cap}" + (f", protects {printable(ledger.source)}" if ledger.source else "")]
    lines.append(f"spent  epsilon {rounded_up(spent.epsilon)} at delta {cap.delta:g} (rounded up)")
    more = "for one more release with delta 0; several small ones may add up to more"
    spare = f"; extra delta {left.delta:.3g}" if cap.delta else ""
    lines.append(f"left   epsilon {left.epsilon:.6g} ({more}){spare}")
    if cap.kind != "epsilon":
        lines.append(f"rule   {cap.kind} adds up to at most {cap.rho or cap.mu:g}; epsilon is what that implies")
    elif cap.order is not None and cap.first is None:
        price = cap.epsilon - (cap.divergence or 0.0)
        lines.append(
            f"rule   Renyi filter of order {cap.order:g}; the conversion to epsilon and delta costs {price:.6g}, once"
        )
    elif cap.releases is not None:
        count, number = len(cap.releases), len(cap.releases) - len(ledger.entries)
        lines.append(f"rule   {count} listed release{'s' * (count > 1)}, each once, in any order; left: {number}")
    if ledger.mode == "adaptive" and ledger.entries and cap.delta:
        words = "the guarantee is the whole budget, because a question may depend on earlier answers"
        alone = "what is spent would be the cost of these releases if they had been fixed in advance"
        lines.append(f"note   {words}; {alone}; the bar counts in the unit in which the ledger adds up, not in epsilon")
    lines += _blocks(ledger)
    for name, account in ledger.accounts.items():
        used = f"epsilon {rounded_up(account.spent.epsilon)} of {account.cap.epsilon:g} at delta {account.cap.delta:g}"
        lines.append(f"account {printable(name)}: spent {used}, {100.0 * account.share:.1f} %")
    return [*lines, *_unanswered(ledger), _bar(ledger.share)]


def _unanswered(ledger: Ledger) -> list[str]:
    """Which entries were paid for and have no answer yet."""
    numbers = ledger.unanswered
    if not numbers:
        return []
    several, listed = len(numbers) > 1, ", ".join(map(str, numbers[-_LAST:]))
    which = f"entries {listed} have" if several else f"entry {listed} has"
    calls = "the calls that charged them get" if several else "the call that charged it gets"
    return [f"note   {which} no answer yet: {calls} one, and nothing more is charged"]


def _blocks(ledger: Ledger) -> list[str]:
    """What is spent of each block of time. `spent` and `left` of such a ledger are those of its fullest block."""
    if ledger.cap.blocks is None:
        return []
    blocks = ledger.view().blocks
    column = printable(ledger.cap.blocks)
    lines = [f"rule   the budget is for each value of {column}; spent and left are those of the fullest one"]
    for name, account in list(blocks.items())[-_LAST:]:
        used = f"epsilon {rounded_up(account.spent.epsilon)}, {100.0 * account.share:.1f} %"
        lines.append(f"block  {column} {printable(name)}: spent {used}")
    more = len(blocks) - _LAST
    return [*lines, f"       ({more} earlier blocks; --json shows them)"] if more > 0 else lines


def _last(entries: tuple[Entry, ...], *, every: bool) -> list[str]:
    """A table of the last ten entries, or of every entry."""
    chosen = entries if every else entries[-_LAST:]
    if not chosen:
        return []
    rows = [
        {
            "number": e.number,
            "time": e.time[:19],
            "label": printable(f"{e.label}: {e.step}" if e.step else e.label, _LABEL),
            "what": printable(_mechanism(e), _WIDEST),
            "pair": _pair(e),
        }
        for e in chosen
    ]
    columns = {"number": "no.", "time": "time (UTC)", "label": "label", "what": "mechanism"}
    columns |= {"pair": "calibrated for"} if any(row["pair"] for row in rows) else {}
    lines = [table(rows, columns, left=5)]
    if any(len(_mechanism(e)) > _WIDEST for e in chosen):
        lines.append("(... : the mechanism is longer; --json shows it in full)")
    more = len(entries) - len(chosen)
    return [*lines, f"({more} earlier entries; --all shows them)"] if more else lines


def _answer(options: argparse.Namespace) -> None:
    """Print an answer that was paid for, or write it to a file."""
    from hush.cli.output_options import document, must_be_format, saved

    must_be_format(options.out)
    check_output(options)
    with opened(options.file) as ledger:
        kept = ledger.answer(options.number)
    made, plain = None, {"kind": kept.kind, "text": kept.text, "numbers": kept.numbers, "receipt": kept.receipt}
    if kept.kind == "answer":
        from hush.tables.answer import Answer

        made = Answer.from_kept(kept)
    text = json.dumps(plain, default=str, indent=2) if made is None else document(made, [], [])
    if options.out and made is not None:
        print(saved(options.out, made, [], []))
    elif options.out:
        if Path(options.out).suffix != ".json":
            raise InvalidParameter(
                f"--out must end in .json, because the answer of this entry is no table but a {kept.kind}, got "
                f"{shown(options.out)}."
            )
        write_text(options.out, text)
        print(f"written to {options.out}")
    else:
        print(text if options.json else kept.text)


def _verify(options: argparse.Namespace) -> None:
    wal = f"{os.path.realpath(options.file)}-wal"
    found = os.path.exists(wal) and os.path.getsize(wal) > 0  # checked first: opening the ledger merges the log
    from hush.report.snapshot import reading

    try:
        with opened(options.file) as ledger:
            ledger.verify()
            count = len(ledger.entries)
    except LedgerError:  # in a read-only folder a copy is verified; one that is damaged is refused again
        with reading(options.file) as ledger:
            count = len(ledger.entries)
    entries = f"{count} {'entry' if count == 1 else 'entries'}"
    text = f"{options.file}: sound; {entries}, every hash is correct, the total is within the budget"
    if found:
        text += (
            f"\n{options.file}-wal contained further charges: a process is using the ledger, or one has crashed. These "
            "charges are included above. SQLite merges them into the file when no process uses it. A copy of the "
            "ledger that was taken without its -wal file lacks them."
        )
    emit(options, {"file": options.file, "entries": count, "sound": True, "wal_found": found}, text)


_EXAMPLES = {
    "ledger": """examples:
  hush ledger new census.ledger --epsilon 1 --delta 1e-6
  hush ledger new registry.ledger --rho 0.1
  hush ledger show census.ledger
  hush ledger answer census.ledger 3
  hush ledger verify census.ledger""",
    "new": """examples:
  hush ledger new census.ledger --epsilon 1 --delta 1e-6                    questions may depend on earlier answers
  hush ledger new strict.ledger --epsilon 1 --delta 0                       pure mechanisms only
  hush ledger new registry.ledger --rho 0.1                                 zero-concentrated privacy (zCDP)
  hush ledger new normal.ledger --mu 0.5                                    Gaussian differential privacy (GDP)
  hush ledger new listed.ledger --epsilon 1 --delta 1e-6 --releases plan.json  these releases only, in any order
  hush ledger new fixed.ledger --epsilon 1 --delta 1e-6 --mode nonadaptive  all noise is fixed in advance""",
    "show": """examples:
  hush ledger show census.ledger
  hush ledger show census.ledger --json""",
    "answer": """examples:
  hush ledger answer census.ledger 3                    the answer of entry 3, as it was printed; it is free
  hush ledger answer census.ledger 3 --out wards.csv""",
    "verify": """examples:
  hush ledger verify census.ledger        exit code 2 and one sentence if there is a problem""",
}


def register(command: Command) -> None:
    """Add `hush ledger` and its four commands."""
    ledger = command(
        "ledger",
        None,
        "make, show or verify a privacy budget on disk, and print its answers again",
        _EXAMPLES["ledger"],
    )
    sub = subcommands(ledger, "ledger_command", "new|show|answer|verify", _EXAMPLES)

    new = sub("new", _new, "make a ledger")
    new.add_argument("--epsilon", type=number, metavar="E", help="the total epsilon that may be spent")
    new.add_argument("--delta", type=number, metavar="D", help="the total delta; 0 for pure mechanisms only")
    new.add_argument("--pure", action="store_true", help="delta = 0")
    new.add_argument("--rho", type=number, metavar="R", help="the total rho (zCDP), in place of epsilon")
    new.add_argument("--mu", type=number, metavar="M", help="the total mu (GDP), in place of epsilon")
    mode = "adaptive (default, always valid) or nonadaptive; see docs/sharp_edges.md"
    new.add_argument("--mode", metavar="MODE", help=mode)
    new.add_argument("--order", type=number, metavar="A", help="use one Renyi filter of this order alone")
    under = "a sub-account with a cap of its own, such as alice=1,1e-6 (repeatable)"
    new.add_argument("--account", action="append", default=[], metavar="NAME=E,D", help=under)
    parts = "a column of time that is part of the unit; the budget is then for each of its values"
    new.add_argument("--blocks", metavar="COLUMN", help=parts)
    listed = "accept only the releases of this plan, each once (repeatable): `hush answer ... --plan --json > FILE`"
    new.add_argument("--releases", action="append", default=[], metavar="FILE", help=listed)
    new.add_argument(
        "--source", metavar="TEXT", help="the data that it protects; a release about other data is rejected"
    )
    show = sub("show", _show, "show what is spent, what is left and the last entries")
    show.add_argument("--all", action="store_true", help="show every entry")
    again = sub("answer", _answer, "print the answer of an entry again, or write it to a file; it is free")
    again.add_argument("number", type=int, metavar="NUMBER", help="the number of the entry; see `hush ledger show`")
    again.add_argument("--out", metavar="FILE", help="a .csv, .parquet, .xlsx, .md, .tex, .html or .json file")
    add_overwrite(again)
    sub("verify", _verify, "read every entry and check hashes and budget")
