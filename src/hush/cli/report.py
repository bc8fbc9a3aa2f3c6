"""`hush report`: the privacy statement of a ledger, for a data protection officer."""

from __future__ import annotations

import argparse
from pathlib import Path

from hush.cli.text import Command, emit
from hush.errors import InvalidParameter, shown

__all__ = ["register"]

_EXAMPLES = """examples:
  hush report census.ledger                            prints Markdown
  hush report census.ledger --out statement.html       writes a page to print or to send
  hush report census.ledger --json                     prints the same facts as JSON
  hush report census.ledger --card census.yaml --fact name="Visits of 2025" --fact curator="Town hospital"
                                                       writes the card for the public registry of deployments

The ledger is only read: no lock is taken, and no file is written next to it."""


def _report(options: argparse.Namespace) -> None:
    from hush.releasing.destination import spare
    from hush.report import statement

    if options.card is not None or options.fact:
        _card(options)
        return
    if options.out is not None:
        spare(Path(options.out), options.file)
    made = statement(options.file)
    place = None if options.out is None else made.save(options.out)
    document = dict(made.facts) | ({"statement": str(place)} if place is not None else {})
    emit(options, document, f"{place} is written." if place is not None else str(made).rstrip("\n"))


def _card(options: argparse.Namespace) -> None:
    """Write the card for the registry."""
    from hush.releasing.destination import spare, write_text
    from hush.report.registry_card import card, missing_facts

    if options.card is None or options.out is not None:
        raise InvalidParameter("--fact belongs to --card FILE, and --card needs no --out.")
    facts = {}
    for pair in options.fact:
        name, sign, value = pair.partition("=")
        if not sign or not value:
            raise InvalidParameter(
                f"--fact takes NAME=VALUE, such as --fact curator='Town hospital', got {shown(pair)}."
            )
        facts[name] = value
    place = Path(options.card)
    spare(place, options.file)
    text = card(options.file, facts)
    write_text(place, text)
    missing = missing_facts(text)
    lines = [f"{place} is written: a card of tier 3 for the public registry of deployments."]
    lines += [f"Fill in: {what}." for what in missing]
    emit(options, {"card": str(place), "missing": missing}, "\n".join(lines))


def register(command: Command) -> None:
    """Add the command."""
    text = "write the privacy statement of a ledger: guarantee, assumptions, proofs, what remains"
    report = command("report", _report, text, _EXAMPLES)
    report.add_argument("file", metavar="FILE", help="a ledger (see `hush ledger new`)")
    report.add_argument("--out", metavar="FILE", help="write the statement to a .html or .md file")
    report.add_argument("--card", metavar="FILE", help="write the card for the public registry of deployments, as YAML")
    text = "what the ledger cannot know, for the card: name, curator, region, use or author"
    report.add_argument("--fact", metavar="NAME=VALUE", action="append", default=[], help=text)
