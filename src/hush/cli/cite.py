"""`hush cite`: BibTeX entries of a noise family, or of hush and all its papers."""

from __future__ import annotations

import argparse

import hush
from hush.cli.text import Command, emit

__all__ = ["register"]

_EXAMPLES = """examples:
  hush cite                      hush and every paper that its privacy proofs use
  hush cite flipped_huber        the papers of one family
  hush cite >> references.bib"""


def _cite(options: argparse.Namespace) -> None:
    made = hush.cite(options.family)
    emit(options, {"family": options.family, "bibtex": str(made)}, made)


def register(command: Command) -> None:
    """Add the command."""
    cite = command("cite", _cite, "print BibTeX for a noise family, or for hush and all its papers", _EXAMPLES)
    cite.add_argument("family", nargs="?", metavar="family", help="a noise family, such as gaussian")
