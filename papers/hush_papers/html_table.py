"""Tables of the report as HTML: published beside recomputed numbers, other tables, and the index of functions."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

from hush_papers.item import Comparison, Grid, Item
from hush_papers.reference import Reference, reference

__all__ = ["comparison_table", "finding_table", "function_table", "grid_table", "verdict_text", "verdict_words"]

#: heads of the table of comparisons, each with the class that aligns it with its column
_HEADS = (
    ("quantity", ""),
    ("published", "said"),
    ("ours", "number"),
    ("relative difference", "number"),
    ("verdict", ""),
    ("why", ""),
    ("function", ""),
)


def verdict_text(verdict: str) -> str:
    """The verdict in bold, in its colour."""
    return f'<strong class="{verdict.split()[0]}">{verdict}</strong>'


def verdict_words(verdicts: Iterable[str]) -> str:
    """The first word of each verdict, once: the names that the filter and the style sheet use."""
    return " ".join(dict.fromkeys(verdict.split()[0] for verdict in verdicts))


def finding_table(rows: Iterable[tuple[Item, str, str]]) -> str:
    """One row for each item that is not confirmed: its link, its tally, and the first comparison of its worst
    verdict.
    """
    heads = [("item", ""), ("verdicts", ""), ("quantity", ""), ("published", "said"), ("ours", "number"), ("why", "")]
    return _table(
        "Findings", "One comparison of each item that is not confirmed", heads, (_finding(*row) for row in rows)
    )


def _finding(item: Item, link: str, tally: str) -> str:
    c = next(c for c in item.comparisons if c.verdict == item.verdict)
    words = verdict_words(c.verdict for c in item.comparisons)
    return (
        f'<tr data-verdicts="{words}"><th scope="row">{link}</th><td>{tally}</td><td class="what">{html.escape(c.what)}'
        f'</td><td class="said">{html.escape(c.published)}</td><td class="number">{_number(c.ours)}</td>'
        f'<td class="why">{html.escape(c.why)}</td></tr>'
    )


def comparison_table(item: Item) -> str:
    """The comparisons of an item, one row each."""
    label = f"{item.place}, {item.title}, comparisons"
    return _table(label, f"{item.place}, published beside recomputed", _HEADS, map(_comparison, item.comparisons))


def grid_table(grid: Grid) -> str:
    """Any other table. A column that holds only numbers is aligned to the right, and so is its head."""
    columns = zip(*grid.rows, strict=True)
    classes = ["number" if all(isinstance(v, int | float) for v in column) else "" for column in columns]
    heads = list(zip(map(str, grid.head), classes or [""] * len(grid.head), strict=True))
    return _table(grid.caption, grid.caption, heads, (_row(row, classes) for row in grid.rows))


def function_table(names: Iterable[str]) -> str:
    """The index of functions, to which every comparison links."""
    heads = [(name, "") for name in ("function", "what it gives", "source", "reference page")]
    return _table(
        "Functions used", "Every function named in the tables above", heads, (_function(reference(n)) for n in names)
    )


def _table(label: str, caption: str, heads: Sequence[tuple[str, str]], rows: Iterable[str]) -> str:
    """A table in a box that scrolls sideways, also by keyboard."""
    head = "".join(f'<th scope="col"{_class(kind)}>{html.escape(name)}</th>' for name, kind in heads)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(label, quote=True)}"><table>'
        f"<caption>{html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table></div>"
    )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _comparison(c: Comparison) -> str:
    numbers = f'<td class="number">{_number(c.ours)}</td><td class="number">{_number(c.difference, digits=2)}</td>'
    why = f'<td class="why">{html.escape(c.why)}</td>' if c.why else "<td></td>"
    return (
        f'<tr data-verdicts="{verdict_words([c.verdict])}"><th scope="row">{html.escape(c.what)}</th>'
        f'<td class="said">{html.escape(c.published)}</td>{numbers}'
        f"<td>{verdict_text(c.verdict)}</td>{why}"
        f'<td><a href="#{reference(c.function).anchor}"><code>{_breakable(c.function)}</code></a></td></tr>'
    )


def _row(row: Sequence[Any], classes: Sequence[str]) -> str:
    cells = (f"<td{_class(kind)}>{_cell(value)}</td>" for value, kind in zip(row, classes, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _cell(value: Any) -> str:
    return _number(value) if isinstance(value, int | float) else html.escape(str(value))


def _number(value: float, *, digits: int = 6) -> str:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:.{digits}g}"


def _function(found: Reference) -> str:
    page = f"<code>{_breakable(f'docs/{found.page}')}</code>" if found.page else ""
    return (
        f'<tr id="{found.anchor}"><th scope="row"><code>{_breakable(found.name)}</code></th>'
        f'<td class="why">{html.escape(found.line)}</td><td><code>{_breakable(found.source)}</code></td>'
        f"<td>{page}</td></tr>"
    )


def _breakable(name: str) -> str:
    """A dotted name or a path, with places where a line may break after each part."""
    return html.escape(name).replace(".", ".<wbr>").replace("/", "/<wbr>")
