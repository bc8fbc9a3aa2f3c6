"""Statement: one page, as Markdown and as HTML that needs nothing else."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, reject
from hush.ledger.entry import printable
from hush.report.snapshot import spare

__all__ = ["Code", "Meter", "Points", "Section", "Statement", "Table", "Text"]


#: Characters of code on a page.
_LONGEST = 6000


@dataclass(frozen=True)
class Text:
    """A paragraph; a strong one is what a hurried reader should take away."""

    text: str
    strong: bool = False

    def html(self) -> str:
        return f'<p class="main">{_escaped(self.text)}</p>' if self.strong else f"<p>{_escaped(self.text)}</p>"

    def markdown(self) -> str:
        return f"**{_plain(self.text)}**" if self.strong else _plain(self.text)


@dataclass(frozen=True)
class Points:
    """A list."""

    items: tuple[str, ...]

    def html(self) -> str:
        return f"<ul>{''.join(f'<li>{_escaped(item)}</li>' for item in self.items)}</ul>"

    def markdown(self) -> str:
        return "\n".join(f"- {_plain(item)}" for item in self.items)


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first cell of a row is its name."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def html(self) -> str:
        heads = "".join(f'<th scope="col">{_escaped(head)}</th>' for head in self.heads)
        body = "".join(
            f'<tr><th scope="row">{_escaped(row[0])}</th>{"".join(f"<td>{_escaped(cell)}</td>" for cell in row[1:])}</tr>'
            for row in self.rows
        )
        caption = f"<caption>{_escaped(self.caption)}</caption>"
        frame = f'<div class="scroll" role="region" tabindex="0" aria-label="{_escaped(self.caption)}">'
        return f"{frame}<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"

    def markdown(self) -> str:
        lines = [self.heads, ["---"] * len(self.heads), *self.rows]
        return "\n".join(
            f"| {' | '.join(_plain(cell) if i != 1 else cell for cell in line)} |" for i, line in enumerate(lines)
        )


@dataclass(frozen=True)
class Code:
    """Lines for a computer."""

    text: str
    language: str

    @property
    def shown(self) -> str:
        """What a page can hold: a noise of a thousand steps is left to `Statement.lines` and to the JSON."""
        if len(self.text) <= _LONGEST:
            return self.text.rstrip()
        return f"# {len(self.text)} characters, too long for a page: `statement.lines` in Python, or `hush report FILE --json`, has them"

    def html(self) -> str:
        return f'<pre tabindex="0"><code>{_escaped(self.shown, lines=True)}</code></pre>'

    def markdown(self) -> str:
        fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", self.text))]))
        return f"{fence}{self.language}\n{self.shown}\n{fence}"


@dataclass(frozen=True)
class Meter:
    """A share of a whole, as a bar."""

    share: float
    text: str

    def html(self) -> str:
        width = min(max(100.0 * self.share, 0.0), 100.0)
        bar = f'<div class="meter" role="img" aria-label="{_escaped(self.text)}"><span style="width:{width:.1f}%"></span></div>'
        return f"{bar}<p>{_escaped(self.text)}</p>"

    def markdown(self) -> str:
        return _plain(self.text)


Block = Text | Points | Table | Code | Meter


@dataclass(frozen=True)
class Section:
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Statement:
    """What was released, what is promised, on which conditions, what remains and how to check it.

    `html` is a page of its own, `markdown` (and `str`) a text, `facts` the same as plain values for JSON, `lines` the
    Python that recomputes the claim. It says nothing that the ledger or the receipt does not say: no true value is in
    it.
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
        """The statement as one HTML page that stands alone."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>{_escaped(self.title)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>'
            f"<body><main><h1>{_escaped(self.title)}</h1>{self._body('h2')}</main></body></html>\n"
        )

    def _body(self, level: str) -> str:
        parts = []
        for number, section in enumerate(self.sections, 1):
            blocks = "".join(block.html() for block in section.blocks)
            heading = f'<{level} id="part-{number}">{_escaped(section.heading)}</{level}>'
            parts.append(f'<section aria-labelledby="part-{number}">{heading}{blocks}</section>')
        return "".join(parts)

    def __str__(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        return f"<Statement: {printable(self.title)}>"

    def _repr_html_(self) -> str:
        return f"<article><h3>{_escaped(self.title)}</h3>{self._body('h4')}</article>"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file that ends in .html or .md, and return its path. A ledger is never written over."""
        if not isinstance(path, str | os.PathLike) or Path(os.fspath(path)).suffix.lower() not in (".html", ".md"):
            raise reject("path", path, "a file name that ends in .html or .md", "write 'statement.html'")
        place = Path(path)
        spare(place)
        try:
            place.write_text(self.html if place.suffix.lower() == ".html" else self.markdown, encoding="utf-8")
        except OSError as failure:
            raise InvalidParameter(
                f"{place} cannot be written: {failure.strerror or failure}; choose another file."
            ) from failure
        return place


def _escaped(text: str, *, lines: bool = False) -> str:
    """Text for HTML; what would turn the direction of writing or hide is spelled out."""
    shown = "\n".join(printable(line) for line in text.split("\n")) if lines else printable(text)
    return html.escape(shown, quote=True)


#: What Markdown, or HTML inside it, would take for its own.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!])")


def _plain(text: str) -> str:
    """Text for Markdown, on one line: every special character a plain one, and no start of a list."""
    shown = _SPECIAL.sub(r"\\\1", printable(text))
    return re.sub(r"^(\d*)([.)+=-])(?=\s|$)", r"\1\\\2", shown)


_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #ffffff; --quiet: #565656; --line: #c4c4c4; --shade: #f3f5f7; --mark: #0b6a9f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --paper: #16191c; --quiet: #b8b8b8; --line: #4a4f55; --shade: #22272c; --mark: #6cbcea; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 1.6rem 0 0.5rem; padding-top: 0.6rem; border-top: 1px solid var(--line); }
p, ul { margin: 0.5rem 0; overflow-wrap: anywhere; }
li { margin: 0.25rem 0; }
p.main { background: var(--shade); border-left: 4px solid var(--mark); padding: 0.6rem 0.8rem; font-size: 1.06rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.88rem; margin: 0.5rem 0; }
caption { text-align: left; color: var(--quiet); padding: 0.2rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 0.3rem 0.6rem 0.3rem 0; text-align: left; vertical-align: top; }
tbody th { font-weight: 600; }
pre { background: var(--shade); border: 1px solid var(--line); padding: 0.7rem; overflow-x: auto; font-size: 0.82rem; line-height: 1.45; }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
.meter { height: 1rem; border: 1px solid var(--quiet); background: var(--shade); print-color-adjust: exact; }
.meter span { display: block; height: 100%; background: var(--mark); }
@media print {
  :root { --ink: #000; --paper: #fff; --quiet: #333; --line: #999; --shade: #fff; --mark: #000; }
  @page { margin: 13mm; }
  body { font: 9pt/1.35 Georgia, "Times New Roman", serif; } main { max-width: none; padding: 0; } table, pre { font-size: 8pt; }
  h1 { font-size: 15pt; margin: 0 0 6pt; } h2 { font-size: 11pt; margin: 8pt 0 3pt; padding-top: 3pt; }
  p, ul, table { margin: 3pt 0; } li { margin: 1pt 0; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; } .scroll { overflow: visible; }
  h2 { break-after: avoid; } tr, li, pre { break-inside: avoid; }
}
"""
