"""Statement: sections of text, lists, tables and code, as Markdown and as one HTML page."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from hush.errors import reject
from hush.ledger.entry import printable
from hush.releasing.destination import spare, write_text
from hush.report.render import render

__all__ = ["Block", "Code", "Meter", "Points", "Section", "Statement", "Table", "Terms", "Text"]

_LONGEST = 6000  # characters of code that a page shows


@dataclass(frozen=True)
class Text:
    """A paragraph; `strong` marks the main result."""

    kind: ClassVar = "text"
    text: str
    strong: bool = False

    def markdown(self) -> str:
        return f"**{_plain(self.text)}**" if self.strong else _plain(self.text)


@dataclass(frozen=True)
class Points:
    """A list."""

    kind: ClassVar = "points"
    items: tuple[str, ...]

    def markdown(self) -> str:
        return "\n".join(f"- {_plain(item)}" for item in self.items)


@dataclass(frozen=True)
class Terms:
    """Names, each with a text."""

    kind: ClassVar = "terms"
    rows: tuple[tuple[str, str], ...]

    def markdown(self) -> str:
        return "\n".join(f"- **{_plain(name)}**: {_plain(text)}" for name, text in self.rows)


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first cell of a row is its name."""

    kind: ClassVar = "table"
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        lines = [_cells(self.heads), "| " + " | ".join(["---"] * len(self.heads)) + " |", *map(_cells, self.rows)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Code:
    """Lines to run."""

    kind: ClassVar = "code"
    text: str
    language: str

    @property
    def shown(self) -> str:
        """The lines, or a note where they are too long for a page: a noise of a thousand steps."""
        if len(self.text) <= _LONGEST:
            return self.text.rstrip()
        where = "`statement.lines` in Python, or `hush report FILE --json`, contains them"
        return f"# {len(self.text)} characters, too long for a page: {where}"

    def markdown(self) -> str:
        fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", self.text))]))
        return f"{fence}{self.language}\n{self.shown}\n{fence}"


@dataclass(frozen=True)
class Meter:
    """A share of a whole, as a bar with a text."""

    kind: ClassVar = "meter"
    share: float
    text: str

    @property
    def percent(self) -> str:
        return f"{min(max(100.0 * self.share, 0.0), 100.0):.1f}"

    def markdown(self) -> str:
        return _plain(self.text)


Block = Text | Points | Terms | Table | Code | Meter


@dataclass(frozen=True)
class Section:
    """Blocks under one heading. `folded`: a page shows the heading only, until the reader opens it."""

    heading: str
    blocks: tuple[Block, ...]
    folded: bool = False


@dataclass(frozen=True)
class Statement:
    """A privacy statement: what was published, the guarantee, its assumptions, what remains and how to check it.

    `html` is a page that needs no other file, `markdown` (and `str`) a text, `facts` the same content as plain values
    for JSON, `lines` the Python lines that recompute the claim. All content comes from the ledger or the receipt: no
    true value is in it.
    """

    title: str
    sections: tuple[Section, ...]
    facts: Mapping[str, Any] = field(repr=False)
    lines: str = field(default="", repr=False)

    @cached_property
    def markdown(self) -> str:
        """The statement as Markdown."""
        parts = [f"# {_plain(self.title)}"]
        for section in self.sections:
            parts += [f"## {_plain(section.heading)}", *(block.markdown() for block in section.blocks)]
        return "\n\n".join(parts) + "\n"

    @cached_property
    def html(self) -> str:
        """The statement as one HTML page that needs no other file."""
        return render("statement.html", title=self.title, sections=self.sections)

    def __str__(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        return f"<Statement: {printable(self.title)}>"

    def _repr_html_(self) -> str:
        return render("notebook.html", title=self.title, sections=self.sections)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the statement to a .html or .md file and return its path. A ledger is never overwritten."""
        if not isinstance(path, str | os.PathLike) or Path(os.fspath(path)).suffix.lower() not in (".html", ".md"):
            raise reject("path", path, "a file name that ends in .html or .md", "write 'statement.html'")
        place = Path(path)
        spare(place)
        write_text(place, self.html if place.suffix.lower() == ".html" else self.markdown)
        return place


def _cells(row: tuple[str, ...]) -> str:
    return f"| {' | '.join(_plain(cell) for cell in row)} |"


#: Characters that have a meaning in Markdown, or in HTML inside it.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def _plain(text: str) -> str:
    """The text for Markdown, on one line: special characters are escaped, and it does not start a list."""
    shown = _SPECIAL.sub(r"\\\1", printable(text))
    return re.sub(r"^(\d*)([.)+=-])(?=\s|$)", r"\1\\\2", shown)
