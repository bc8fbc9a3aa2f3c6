"""Text for people: aligned tables, paragraphs of a fixed width, and tables for notebooks."""

from __future__ import annotations

import html
import io
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence

__all__ = ["fact_lines", "html_table", "text_table", "wrapped"]

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
    body = [list(row) for row in rows]
    count = len(heads) or max((len(row) for row in body), default=0)
    lines = [list(heads), *body] if heads else body
    if all(len(line) == count and all(map(_is_simple, line)) for line in lines):
        return _simple_table(lines, right, indent) if count else []
    return _wide_table(heads, body, count, right, indent)


def _is_simple(cell: str) -> bool:
    """Does each character of this text take one column of a terminal, and is there no space around the text?"""
    return cell.isascii() and cell.isprintable() and cell == cell.strip()


def _simple_table(lines: Sequence[Sequence[str]], right: Collection[int], indent: int) -> list[str]:
    """The lines of a table whose characters take one column each."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    signs = [">" if number in right else "<" for number in range(len(widths))]
    form = (" " * _GAP).join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=True))
    return [" " * indent + form.format(*line).rstrip() for line in lines]


def _wide_table(
    heads: Sequence[str], body: Sequence[Sequence[str]], count: int, right: Collection[int], indent: int
) -> list[str]:
    """The lines of a table by rich, which knows the width of every character."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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
    return [line for name, text in facts for line in wrapped(f"{name + ':':<10} {text}", hang=11)]


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], facts: Iterable[tuple[str, str]] = ()) -> str:
    """An HTML table for a notebook: rows under headings, then named facts. All text is escaped.

    >>> html_table(["a"], [["1 < 2"]], [("ledger", "none")])
    '<table><tr><th>a</th></tr><tr><td>1 &lt; 2</td></tr><tr><th>ledger</th><td>none</td></tr></table>'
    """
    across = "" if len(heads) <= 2 else f" colspan={len(heads) - 1}"
    lines = ["".join(f"<th>{html.escape(head)}</th>" for head in heads)] if heads else []
    lines += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    lines += [f"<th>{html.escape(name)}</th><td{across}>{html.escape(text)}</td>" for name, text in facts]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
