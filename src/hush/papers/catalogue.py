"""The papers there are reports for."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hush.errors import InvalidParameter
from hush.papers.draw import ready
from hush.papers.item import Context, Item, Paper
from hush.papers.page import REPORT, write

__all__ = ["PAPERS", "make", "paper", "report"]

#: key -> module that holds its PAPER; each is loaded when it is asked for
PAPERS = {
    "zhao": "hush.papers.zhao.paper",
    "osgt": "hush.papers.osgt.paper",
    "flipped_huber": "hush.papers.flipped_huber.paper",
    "sas": "hush.papers.sas.paper",
    "beyond": "hush.papers.beyond",
}
Made = list[tuple[Paper, list[Item]]]
Progress = Callable[[str], None]


def paper(key: str) -> Paper:
    """The paper of that name."""
    if key not in PAPERS:
        raise InvalidParameter(f"paper must be one of {', '.join(PAPERS)}, got {key!r}.")
    made = importlib.import_module(PAPERS[key]).PAPER
    assert isinstance(made, Paper)
    return made


def make(papers: Sequence[Paper], context: Context, *, progress: Progress | None = None) -> Made:
    """Every item of the papers, one after the other; `progress` is told of each before it is made."""
    total, number, done = sum(len(each.items) for each in papers), 0, []
    for each in papers:
        items = []
        for item in each.items:
            number += 1
            if progress is not None:
                progress(f"{number} of {total}: {each.key}: {(item.__doc__ or item.__name__).splitlines()[0]}")
            items.append(item(context))
        done.append((each, items))
    return done


def report(keys: Iterable[str], folder: Path, context: Context, *, progress: Progress | None = None) -> Path:
    """Make every item of the papers and write the report. What is wrong with the request is said before anything is made.

    Guarantees: the folder gets its files when all are written, the report last; a run that ends early leaves nothing behind.
    """
    papers = [paper(key) for key in dict.fromkeys(keys or PAPERS)]
    _check(papers, context)
    ready()
    new = not folder.exists()
    parts = _inside(folder)
    try:
        done = make(papers, context, progress=progress)
        write(done, parts, progress=progress)
        return _moved(parts, folder)
    finally:
        shutil.rmtree(parts, ignore_errors=True)
        if new and not any(folder.iterdir()):
            folder.rmdir()


def _check(papers: Sequence[Paper], context: Context) -> None:
    """The folder of data sets, if one is given, holds what these papers read."""
    if context.data is None:
        return
    if not context.data.is_dir():
        raise InvalidParameter(f"data must be a folder of data sets, got {str(context.data)!r}; leave it out to do without them.")
    for each in papers:
        for name in each.files:
            if not (context.data / name).is_file():
                raise InvalidParameter(f"data must hold {name}, which the {each.key} report reads; there is none in {str(context.data)!r}.")


def _inside(folder: Path) -> Path:
    """A hidden folder inside the wanted one, from where files are moved once all are there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".hush-papers-", dir=folder))
    except OSError as failure:
        reason = failure.strerror or "no reason given"
        raise InvalidParameter(f"out must be a folder that can be written, got {str(folder)!r} ({reason}); name another.") from failure


def _moved(parts: Path, folder: Path) -> Path:
    try:
        for file in sorted(parts.iterdir(), key=lambda file: file.name == REPORT):  # the report is there when all it names is
            file.replace(folder / file.name)
    except OSError as failure:
        raise InvalidParameter(f"out must be a folder whose files can be replaced, got {str(folder)!r} ({failure.strerror}).") from failure
    return folder / REPORT
