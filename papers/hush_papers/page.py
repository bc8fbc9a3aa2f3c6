"""The report: one HTML file that needs no other file, and the CSV and PNG files that belong to it."""

from __future__ import annotations

import base64
import csv
import html
from collections.abc import Callable, Iterable
from pathlib import Path

from hush.report.render import style_sheet
from hush_papers.draw import picture
from hush_papers.html_table import comparison_table, function_table, grid_table, verdict_text, verdict_words
from hush_papers.item import VERDICTS, Context, Item, Paper, Picture
from hush_papers.overview import Made, marked, overview, shares

__all__ = ["REPORT", "write"]

REPORT = "report.html"
_TITLE = "Four papers, reproduced and audited"

#: What the report needs in addition to the style sheet of hush.
_STYLE = """
main { max-width: 74rem; }
th.number, td.number, th.said, td.said { text-align: right; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody th { min-width: 13rem; font-weight: 400; } td.why { min-width: 16rem; } td.what { min-width: 10rem; }
td.said { min-width: 6rem; max-width: 16rem; } td code { font-size: 0.82em; }
.confirmed { color: #007a55; } .corrected { color: #b34700; } .not { color: #a1006b; }
@media (prefers-color-scheme: dark) {
  .confirmed { color: #4fd1a5; } .corrected { color: #ffa366; } .not { color: #ff8ad1; }
}
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; background: #fff; }
.items { columns: 2 20rem; column-gap: 2.5rem; margin-top: 0; } .items li { break-inside: avoid; margin: 0 0 0.3rem; }
:target { background: #e69f0033; }
.filter { position: sticky; top: 0; z-index: 1; background: var(--paper); border-bottom: 1px solid var(--line); }
.filter fieldset { border: 0; margin: 0; padding: 0.5rem 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; }
.filter legend { float: left; padding: 0; font-weight: 600; } .filter input { margin: 0 0.3rem 0 0; }
html { scroll-padding-top: 6rem; }
@media print { .filter { display: none; } }
"""
#: The filter by verdict needs no script. A browser that does not know :has() shows everything.
_FILTER = "".join(
    f'main:has(#show-{word}:checked) [data-verdicts]:not([data-verdicts~="{word}"]) {{ display: none; }}\n'
    for word in map(verdict_words, ([verdict] for verdict in VERDICTS))
)


def write(
    papers: Iterable[tuple[Paper, list[Item]]],
    folder: Path,
    context: Context,
    *,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write report.html, comparisons.csv and the files of the figures into the folder; return the report's path.

    Every figure has a CSV file, and in a full run a PNG file: drawing it takes as long as drawing it for the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = list(papers)
    body = [overview(made, context)]
    for paper, items in made:
        if progress is not None:
            progress(f"drawing {sum(len(item.figures) for item in items)} figures: {paper.key}")
        body.append(f'<section aria-labelledby="{paper.key}"><h2 id="{paper.key}">{html.escape(paper.title)}</h2>')
        body.append(f"<p>{html.escape(paper.citation)}</p>")
        body += [_item(item, folder, png=not context.quick) for item in items]
        body.append("</section>")
    body.append(_functions(made))
    _write_comparisons(made, folder / "comparisons.csv")
    path = folder / REPORT
    path.write_text(_page("".join(body)), encoding="utf-8")
    return path


def _page(body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{_TITLE}</title><link rel="icon" href="data:,"><style>{style_sheet()}{_STYLE}{_FILTER}</style></head>'
        f"<body><main><h1>{_TITLE}</h1>{body}</main></body></html>\n"
    )


def _item(item: Item, folder: Path, *, png: bool) -> str:
    heading = f"{html.escape(item.place)}: {html.escape(item.title)}"
    parts = [f'<article{marked(item)} aria-labelledby="{item.key}"><h3 id="{item.key}">{heading}</h3>']
    if item.verdict:
        parts.append(f"<p>Verdict: {verdict_text(item.verdict)}{shares(item)}</p>")
    parts += [f"<p>{html.escape(part)}</p>" for part in item.text.split("\n\n") if part]
    parts += [_figure(figure, folder, png=png) for figure in item.figures]
    parts += [grid_table(grid) for grid in item.grids]
    if item.comparisons:
        parts.append(comparison_table(item))
    return "".join(parts) + "</article>"


def _figure(figure: Picture, folder: Path, *, png: bool) -> str:
    encoded = base64.b64encode(picture(figure, folder, png=png).encode()).decode()
    alt = html.escape(figure.description, quote=True)
    return (
        f'<figure><img src="data:image/svg+xml;base64,{encoded}" alt="{alt}">'
        f"<figcaption>{html.escape(figure.title)}</figcaption></figure>"
    )


def _functions(made: Made) -> str:
    names = sorted({c.function for _, items in made for item in items for c in item.comparisons}, key=str.lower)
    return (
        f'<section aria-labelledby="functions"><h2 id="functions">Functions used</h2>{function_table(names)}</section>'
    )


def _write_comparisons(made: Made, path: Path) -> None:
    head = ("paper", "item", "quantity", "published", "ours", "relative difference", "verdict", "why", "function")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for paper, items in made:
            for item in items:
                for c in item.comparisons:
                    numbers = (repr(c.ours), repr(c.difference))
                    writer.writerow((paper.key, item.key, c.what, c.published, *numbers, c.verdict, c.why, c.function))
