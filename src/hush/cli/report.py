"""`hush report`: the privacy statement of a ledger, for a data protection officer."""

from __future__ import annotations

import argparse
from pathlib import Path

from hush.cli.text import Command, emit

__all__ = ["register"]

_EXAMPLES = """examples:
  hush report census.ledger                            prints Markdown
  hush report census.ledger --out statement.html       writes a page to print or to send
  hush report census.ledger --json                     prints the same facts as JSON

The ledger is only read: no lock is taken, and no file is written next to it."""


def _report(options: argparse.Namespace) -> None:
    from hush.report import statement
    from hush.report.snapshot import spare

    if options.out is not None:
        spare(Path(options.out), options.file)
    made = statement(options.file)
    place = None if options.out is None else made.save(options.out)
    document = dict(made.facts) | ({"statement": str(place)} if place is not None else {})
    emit(options, document, f"{place} is written." if place is not None else str(made).rstrip("\n"))


def register(command: Command) -> None:
    """Add the command."""
    text = "write the privacy statement of a ledger: guarantee, assumptions, proofs, what remains"
    report = command("report", _report, text, _EXAMPLES)
    report.add_argument("file", metavar="FILE", help="a ledger (see `hush ledger new`)")
    report.add_argument("--out", metavar="FILE", help="write the statement to a .html or .md file")
