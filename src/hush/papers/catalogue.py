"""The papers there are reports for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from hush.errors import InvalidParameter
from hush.papers.item import Context, Item, Paper
from hush.papers.page import write

__all__ = ["PAPERS", "paper", "report"]

#: key -> module that holds its PAPER; each is loaded when it is asked for
PAPERS = {
    "zhao": "hush.papers.zhao.paper",
    "osgt": "hush.papers.osgt.paper",
    "flipped_huber": "hush.papers.flipped_huber.paper",
    "sas": "hush.papers.sas.paper",
    "beyond": "hush.papers.beyond",
}


def paper(key: str) -> Paper:
    if key not in PAPERS:
        raise InvalidParameter(f"paper must be one of {', '.join(PAPERS)}, got {key!r}.")
    made = importlib.import_module(PAPERS[key]).PAPER
    assert isinstance(made, Paper)
    return made


def report(keys: Sequence[str], folder: Path, context: Context, *, progress: Callable[[str], None] | None = None) -> Path:
    """Make every item of the papers and write the report; `progress` is told what is being made."""
    done: list[tuple[Paper, list[Item]]] = []
    for key in keys or PAPERS:
        made, items = paper(key), []
        for number, item in enumerate(made.made(context), 1):
            if progress is not None:
                progress(f"{made.key}: {number} of {len(made.items)}: {item.place}")
            items.append(item)
        done.append((made, items))
    return write(done, folder)
