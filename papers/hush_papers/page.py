"""The report: one HTML file that needs nothing else, and the CSV and PNG files behind it."""

from __future__ import annotations

import base64
import csv
import html
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import hush
from hush_papers.draw import picture
from hush_papers.item import VERDICTS, Comparison, Context, Grid, Item, Paper
from hush_papers.reference import Reference, reference

__all__ = ["REPORT", "counts", "write"]

REPORT = "report.html"

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; margin: 1rem 0; width: 100%; font-size: 0.88rem; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { border-bottom: 1px solid #8886; padding: 0.25rem 0.5rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tbody th { min-width: 15rem; } td.why { min-width: 16rem; } td.said { text-align: right; min-width: 8rem; max-width: 16rem; }
.confirmed { color: #007a55; } .corrected { color: #b34700; } .not { color: #a1006b; }
@media (prefers-color-scheme: dark) { .confirmed { color: #4fd1a5; } .corrected { color: #ffa366; } .not { color: #ff8ad1; } }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; background: #fff; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 2px solid #0072b2; }
:target { background: #e69f0033; }
"""


def write(
    papers: Iterable[tuple[Paper, list[Item]]],
    folder: Path,
    context: Context,
    *,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write report.html, comparisons.csv and the figures' files into the folder; return the report's path."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(papers)
    body = [_summary(made)]
    for paper, items in made:
        if progress is not None:
            progress(f"drawing {sum(len(item.figures) for item in items)} figures: {paper.key}")
        body.append(f'<section aria-labelledby="{paper.key}"><h2 id="{paper.key}">{html.escape(paper.title)}</h2>')
        body.append(f"<p>{html.escape(paper.citation)}</p>")
        body += [_item(item, folder) for item in items]
        body.append("</section>")
    body.append(_functions(made))
    _comparisons(made, folder / "comparisons.csv")
    path = folder / REPORT
    path.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>Four papers, reproduced and audited</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head><body><main>'
        f"<h1>Four papers, reproduced and audited</h1><p>{_run(context)}</p><p>{_READING}</p>{''.join(body)}</main></body></html>\n",
        encoding="utf-8",
    )
    return path


_READING = (
    "Our number is made with the function named beside it, to which a link leads; where that function reads a stored run, the item says "
    "so, "
    "and how to make it anew. What is published is a number as printed, a formula or condition, or, in quotation marks, the source's own "
    "words. An item has the gravest verdict of its comparisons."
)


def _run(context: Context) -> str:
    """What kind of run this is."""
    kind = "a quick run: coarser figures and fewer trials" if context.quick else "a full run"
    data = "with the data sets" if context.data is not None else "without data sets: items that need them say so"
    return f"Made by hush {hush.__version__}; {kind}; {data}."


def counts(items: Iterable[Item]) -> tuple[int, ...]:
    """Of one paper: items, comparisons, distinct printed numbers among them, and comparisons of each verdict."""
    listed = list(items)
    made = [c for item in listed for c in item.comparisons]
    distinct = {c.printed for c in made} - {None}
    verdicts = [c.verdict for c in made]
    return (len(listed), len(made), len(distinct), *(verdicts.count(verdict) for verdict in VERDICTS))


def _summary(made: list[tuple[Paper, list[Item]]]) -> str:
    counted = [counts(items) for _, items in made]
    rows = [(paper.title, *line) for (paper, _), line in zip(made, counted, strict=True)]
    rows.append(("all", *map(sum, zip(*counted, strict=True))))
    links = "".join(f'<li><a href="#{paper.key}">{html.escape(paper.title)}</a></li>' for paper, _ in made)
    links += '<li><a href="#functions">Functions used</a></li>'
    grid = Grid(
        "Verdicts by paper", ("paper", "items", "comparisons", "distinct printed numbers", *VERDICTS), tuple(rows)
    )
    return f"<nav aria-label='Papers'><ul>{links}</ul></nav>{_grid(grid)}"


def _item(item: Item, folder: Path) -> str:
    parts = [
        f'<article aria-labelledby="{item.key}"><h3 id="{item.key}">{html.escape(item.place)}: {html.escape(item.title)}</h3>'
    ]
    if item.verdict:
        parts.append(f"<p>Verdict: {_verdict(item.verdict)}{_shares(item)}</p>")
    parts += [f"<p>{html.escape(part)}</p>" for part in item.text.split("\n\n") if part]
    for figure in item.figures:
        encoded = base64.b64encode(picture(figure, folder).encode()).decode()
        alt = html.escape(figure.description, quote=True)
        parts.append(
            f'<figure><img src="data:image/svg+xml;base64,{encoded}" alt="{alt}"><figcaption>{html.escape(figure.title)}'
        )
        parts.append("</figcaption></figure>")
    parts += [_grid(grid) for grid in item.grids]
    if item.comparisons:
        parts.append(_compared(item))
    return "".join(parts) + "</article>"


def _shares(item: Item) -> str:
    """How many comparisons have which verdict, where they differ."""
    _, total, _, *verdicts = counts([item])
    if total in verdicts:
        return ""
    some = ", ".join(f"{number} {verdict}" for number, verdict in zip(verdicts, VERDICTS, strict=True) if number)
    return f", the gravest of its {total} comparisons ({some})"


def _verdict(verdict: str) -> str:
    return f'<strong class="{verdict.split()[0]}">{verdict}</strong>'


def _compared(item: Item) -> str:
    head = ("quantity", "published", "ours", "relative difference", "verdict", "why", "function")
    cells = "".join(f'<th scope="col">{name}</th>' for name in head)
    rows = "".join(_row(comparison) for comparison in item.comparisons)
    caption = f"<caption>{html.escape(item.place)}, published beside recomputed</caption>"
    return _table(
        f"{item.place}, {item.title}, comparisons", f"{caption}<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody>"
    )


def _table(label: str, inside: str) -> str:
    """A table that scrolls in its own box, by keyboard too."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{html.escape(label, quote=True)}"><table>{inside}</table></div>'


def _row(c: Comparison) -> str:
    numbers = "".join(f'<td class="number">{text}</td>' for text in (_number(c.ours), _number(c.difference)))
    why = f'<td class="why">{html.escape(c.why)}</td>' if c.why else "<td></td>"
    return (
        f'<tr><th scope="row">{html.escape(c.what)}</th><td class="said">{html.escape(c.published)}</td>{numbers}'
        f"<td>{_verdict(c.verdict)}</td>{why}"
        f'<td><a href="#{reference(c.function).anchor}"><code>{_broken(c.function)}</code></a></td></tr>'
    )


def _grid(grid: Grid) -> str:
    head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in grid.head)
    rows = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in grid.rows)
    caption = f"<caption>{html.escape(grid.caption)}</caption>"
    return _table(grid.caption, f"{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>")


def _functions(made: list[tuple[Paper, list[Item]]]) -> str:
    """The index that every function cell links to."""
    names = sorted({c.function for _, items in made for item in items for c in item.comparisons}, key=str.lower)
    rows = "".join(_function(reference(name)) for name in names)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("function", "what it gives", "source", "reference page"))
    inside = f"<caption>Every function named in the tables above</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return f'<section aria-labelledby="functions"><h2 id="functions">Functions used</h2>{_table("Functions used", inside)}</section>'


def _function(found: Reference) -> str:
    page = f"<code>{_broken(f'docs/{found.page}')}</code>" if found.page else ""
    return (
        f'<tr id="{found.anchor}"><th scope="row"><code>{_broken(found.name)}</code></th><td class="why">{html.escape(found.line)}</td>'
        f"<td><code>{_broken(found.source)}</code></td><td>{page}</td></tr>"
    )


def _broken(name: str) -> str:
    """A dotted name or a path that may be broken after its parts."""
    return html.escape(name).replace(".", ".<wbr>").replace("/", "/<wbr>")


def _cell(value: Any) -> str:
    if isinstance(value, int | float):
        return f'<td class="number">{_number(value)}</td>'
    return f"<td>{html.escape(str(value))}</td>"


def _number(value: float) -> str:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:.6g}"


def _comparisons(made: list[tuple[Paper, list[Item]]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["paper", "item", "quantity", "published", "ours", "relative difference", "verdict", "why", "function"]
        )
        for paper, items in made:
            for item in items:
                for c in item.comparisons:
                    row = [
                        paper.key,
                        item.key,
                        c.what,
                        c.published,
                        repr(c.ours),
                        repr(c.difference),
                        c.verdict,
                        c.why,
                        c.function,
                    ]
                    writer.writerow(row)
