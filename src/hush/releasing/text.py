"""Plain text for people: aligned tables, and paragraphs of a fixed width."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence

__all__ = ["fact_lines", "text_table", "wrapped"]

_GAP = 2  # columns of space between two cells
_UNLIMITED = 1_000_000  # columns: a table is never wrapped, so that its text does not depend on the terminal
_WIDTH = 100  # columns of a paragraph where standard output is not a terminal


def text_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = (), indent: int = 0
) -> list[str]:
    """The lines of a table without borders or colours: one line of headings, then one line for each row.

    heads: () for a table without headings. right: the numbers of the right-aligned columns. indent: spaces before
    each line.

    >>> text_table(["name", "count"], [["a", "1"], ["long name", "20"]], right={1})
    ['name       count', 'a              1', 'long name     20']
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    body = [list(row) for row in rows]
    count = len(heads) or max((len(row) for row in body), default=0)
    table = Table(box=None, show_header=bool(heads), pad_edge=False, padding=(0, _GAP, 0, 0))
    for number in range(count):
        head = Text(heads[number]) if heads else ""
        table.add_column(head, justify="right" if number in right else "left", no_wrap=True)
    for row in body:
        table.add_row(*map(Text, row))
    made = io.StringIO()
    Console(file=made, width=_UNLIMITED, color_system=None, force_terminal=False, legacy_windows=False).print(table)
    return [" " * indent + line.rstrip() for line in made.getvalue().split("\n")[:-1]] if count else []


def wrapped(text: str, *, hang: int = 0) -> list[str]:
    """The lines of a paragraph, as wide as the terminal, or 100 columns where standard output is not a terminal.

    hang: spaces before each line but the first.
    """
    wide = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    return textwrap.wrap(
        text, max(wide, hang + 30), subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
    )


def fact_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of named facts, each name in a column of its own."""
    return [line for name, text in facts for line in wrapped(f"{name + ':':11}{text}", hang=11)]
