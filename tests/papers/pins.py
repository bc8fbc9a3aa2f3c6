"""Shared by the tests of all papers: every number is pinned, and figures can be read."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from hush_papers.catalogue import make
from hush_papers.item import Context, HeatMap, Item, Paper, Regions

Items = Mapping[str, Item]
HEAD = ("item", "what", "published", "verdict", "ours")


def quick_items(paper: Paper) -> dict[str, Item]:
    """The items of a quick run, for writing pins; tests use the report of the fixture `built`."""
    return {item.key: item for _, items in make([paper], Context(None, quick=True)) for item in items}


def numbers(items: Items) -> Iterator[tuple[str, str, str, str, float]]:
    """(item, what, published, verdict, ours) of every comparison, then of every number of every table."""
    for key, item in items.items():
        for c in item.comparisons:
            yield key, c.what, c.published, c.verdict, c.ours
        for number, grid in enumerate(item.grids, 1):
            for line, row in enumerate(grid.rows, 1):
                for head, value in zip(grid.head, row, strict=True):
                    if isinstance(value, int | float) and not math.isnan(value):
                        yield key, f"table {number}, row {line}, {head}", "", "", float(value)


def assert_pinned(
    items: Items, expected: Path, slack: Callable[[str], tuple[float, float]] = lambda what: (1e-6, 0.0)
) -> None:
    """Check that exactly the pinned numbers are there, with the same verdicts, each within its (relative, absolute)
    slack.
    """
    with expected.open(newline="") as file:
        pinned = {(r["item"], r["what"]): r for r in csv.DictReader(file)}
    made = {(key, what): rest for key, what, *rest in numbers(items)}
    assert made.keys() == pinned.keys()
    off = []
    for key, (published, verdict, ours) in made.items():
        row, (relative, absolute) = pinned[key], slack(key[1])
        near = math.isclose(float(ours), float(row["ours"]), rel_tol=relative, abs_tol=absolute)
        if (published, verdict) != (row["published"], row["verdict"]) or not near:
            off.append((key, ours, row["ours"]))
    assert not off, "\n".join(map(str, off))


def assert_readable(items: Items, least: int) -> None:
    """Check that there are at least `least` figures, each with labels, a description, few series and finite numbers
    that its axes can show.
    """
    figures = [figure for item in items.values() for figure in item.figures]
    assert len({f.key for f in figures}) == len(figures) >= least
    for figure in figures:
        assert len(figure.description) > 40 and figure.x and figure.y and len(figure.title) <= 95, figure.key
        if isinstance(figure, Regions):
            assert all(name for row in figure.names for name in row)
            continue
        if isinstance(figure, HeatMap):
            assert np.isfinite(figure.values).all()
            continue
        assert 1 <= len(figure.series) <= 8
        for line in figure.series:
            assert len(line.x) == len(line.y) > 0 and np.isfinite(line.x).all() and np.isfinite(line.y).all(), (
                figure.key,
                line.label,
            )
            assert not figure.log_y or min(line.y) > 0.0, (figure.key, line.label)


def write(items: Items, expected: Path) -> None:
    """Pin the numbers of a quick run; compare them with the errata by hand before a commit."""
    with expected.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        writer.writerows((*row[:-1], f"{row[-1]:.10g}") for row in numbers(items))
