"""The top of the report: what kind of run it is, the findings, verdicts by paper, the filter and the contents."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import hush
from hush_papers.html_table import finding_table, grid_table, verdict_text, verdict_words
from hush_papers.item import CONFIRMED, VERDICTS, Context, Grid, Item, Paper

__all__ = ["Made", "counts", "marked", "overview", "shares"]

#: papers with their items
Made = Sequence[tuple[Paper, list[Item]]]

_READING = (
    "Each of our numbers links to the function that computed it. Items that read a stored run say so, and say how to "
    "repeat that run. What is published is a number as printed, a formula or condition, or, in quotation marks, the "
    "words of the source. An item's verdict is the worst among its comparisons."
)


def counts(items: Iterable[Item]) -> tuple[int, ...]:
    """Numbers of items, comparisons, distinct printed numbers, and comparisons of each verdict."""
    listed = list(items)
    made = [c for item in listed for c in item.comparisons]
    distinct = {c.printed for c in made} - {None}
    verdicts = [c.verdict for c in made]
    return (len(listed), len(made), len(distinct), *(verdicts.count(verdict) for verdict in VERDICTS))


def shares(item: Item) -> str:
    """How many comparisons have which verdict, if they differ; otherwise empty."""
    _, total, _, *verdicts = counts([item])
    if total in verdicts:
        return ""
    some = ", ".join(f"{number} {verdict}" for number, verdict in zip(verdicts, VERDICTS, strict=True) if number)
    return f", the worst among its {total} comparisons ({some})"


def overview(made: Made, context: Context) -> str:
    """Everything above the first paper."""
    return f"<p>{_run(context)}</p>{_filter(made)}{_findings(made)}<p>{_READING}</p>{_verdicts(made)}{_contents(made)}"


def _run(context: Context) -> str:
    kind = "a quick run: coarser figures and fewer trials" if context.quick else "a full run"
    data = "with the data sets" if context.data is not None else "without data sets: items that need them say so"
    return f"Made by hush {hush.__version__}; {kind}; {data}."


def _verdicts(made: Made) -> str:
    counted = [counts(items) for _, items in made]
    rows = [(paper.title, *line) for (paper, _), line in zip(made, counted, strict=True)]
    rows.append(("all", *map(sum, zip(*counted, strict=True))))
    head = ("paper", "items", "comparisons", "distinct printed numbers", *VERDICTS)
    return grid_table(Grid("Verdicts by paper", head, tuple(rows)))


def _findings(made: Made) -> str:
    """The items that are not confirmed, each with the first comparison of its worst verdict."""
    compared = [(paper, item) for paper, items in made for item in items if item.verdict]
    found = [(paper, item) for paper, item in compared if item.verdict != CONFIRMED]
    if not found:
        return ""
    one = len(found) == 1
    intro = (
        f"{len(found)} of {len(compared)} items with comparisons {'has' if one else 'have'} at least one that is not "
        "confirmed. The table shows one such comparison of each; the item has all of them."
    )
    rows = [(item, f"{html.escape(paper.key)}, {_link(item)}", _tally(item)) for paper, item in found]
    return (
        f'<section aria-labelledby="findings"><h2 id="findings">Findings</h2><p>{intro}</p>{finding_table(rows)}'
        "</section>"
    )


def _filter(made: Made) -> str:
    """A choice of verdicts that works without scripts: the style sheet hides what does not have the chosen verdict."""
    items = [item for _, each in made for item in each]
    choices = [("all", "everything", len(items))]
    for verdict in VERDICTS:
        number = sum(any(c.verdict == verdict for c in item.comparisons) for item in items)
        choices.append((verdict_words([verdict]), verdict, number))
    labels = "".join(
        f'<label><input type="radio" name="verdict" id="show-{word}"{" checked" * (word == "all")}> {text} ({number}'
        f"{' items' * (word == 'all')})</label>"
        for word, text, number in choices
    )
    return f'<form class="filter"><fieldset><legend>Show</legend>{labels}</fieldset></form>'


def _tally(item: Item) -> str:
    _, total, _, _, *others = counts([item])
    parts = [
        f"{number} {verdict_text(verdict)}" for number, verdict in zip(others, VERDICTS[1:], strict=True) if number
    ]
    return f"{' and '.join(parts)} of {total}"


def _contents(made: Made) -> str:
    """Every item, by paper, with its verdict."""
    parts = []
    for paper, items in made:
        entries = "".join(f"<li{marked(item)}>{_link(item)}{_short(item)}</li>" for item in items)
        parts.append(f'<p><a href="#{paper.key}">{html.escape(paper.title)}</a></p><ul class="items">{entries}</ul>')
    parts.append('<p><a href="#functions">Functions used</a></p>')
    return f'<nav aria-labelledby="contents"><h2 id="contents">Contents</h2>{"".join(parts)}</nav>'


def marked(item: Item) -> str:
    """The attribute that the filter reads: the verdicts that occur among the comparisons of an item."""
    return f' data-verdicts="{verdict_words(c.verdict for c in item.comparisons) or "none"}"'


def _short(item: Item) -> str:
    return f": {verdict_text(item.verdict)}" if item.verdict else ""


def _link(item: Item) -> str:
    return f'<a href="#{item.key}">{html.escape(item.place)}: {html.escape(item.title)}</a>'
