"""`hush cite`: BibTeX for a family, or for everything."""

from __future__ import annotations

import argparse

import hush
from hush.cli.text import Command, emit

__all__ = ["register"]

_EXAMPLES = """examples:
  hush cite                      hush itself and every paper that its privacy rests on
  hush cite flipped_huber        what one family rests on
  hush cite >> references.bib"""


def _cite(options: argparse.Namespace) -> None:
    made = hush.cite(options.family)
    emit(options, {"family": options.family, "bibtex": str(made)}, made)


def register(command: Command) -> None:
    """Add the command."""
    cite = command("cite", _cite, "BibTeX for a noise family, or for hush and all its papers", _EXAMPLES)
    cite.add_argument("family", nargs="?", metavar="family", help="a family of the catalogue, such as gaussian")
