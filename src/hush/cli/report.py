"""`hush report`: a ledger's statement for a data protection officer."""

from __future__ import annotations

import argparse
from pathlib import Path

from hush.cli.text import Command, emit

__all__ = ["register"]

_EXAMPLES = """examples:
  hush report census.ledger                            Markdown, on the screen
  hush report census.ledger --out statement.html       a page to print or to send
  hush report census.ledger --json                     the same as plain values

The ledger is only read: no lock is taken, and nothing is written beside it."""


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
    report = command(
        "report", _report, "a ledger's privacy statement: promise, assumptions, proofs, what remains", _EXAMPLES
    )
    report.add_argument("file", metavar="FILE", help="a ledger (see `hush ledger new`)")
    report.add_argument("--out", metavar="FILE", help="write the page to a .html or .md file")
