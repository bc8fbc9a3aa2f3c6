"""The papers there are reports for."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hush.errors import InvalidParameter
from hush_papers.draw import ready
from hush_papers.item import Context, Item, Paper
from hush_papers.page import REPORT, write

__all__ = ["PAPERS", "make", "paper", "report"]

#: key -> module that holds its PAPER; each is loaded when it is asked for
PAPERS = {
    "zhao": "hush_papers.zhao.paper",
    "osgt": "hush_papers.osgt.paper",
    "flipped_huber": "hush_papers.flipped_huber.paper",
    "sas": "hush_papers.sas.paper",
    "beyond": "hush_papers.beyond",
}
#: the list of files of a report, with their sums, as sha256sum writes them
WRITTEN = "report.sha256"
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
    """Make every item of the papers and write the report. What is wrong with the request is said before anything is
    made.

    Guarantees: the folder gets its files when all are written, the report last, and files of an earlier report that
    this one has not are removed unless they were changed; a run that ends early leaves nothing behind, neither files
    nor folders.
    """
    papers = [paper(key) for key in dict.fromkeys(keys or PAPERS)]
    _check(papers, context)
    ready()
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    parts: Path | None = None
    try:
        parts = _inside(folder)
        done = make(papers, context, progress=progress)
        write(done, parts, context, progress=progress)
        return _moved(parts, folder)
    finally:
        if parts is not None:
            shutil.rmtree(parts, ignore_errors=True)
        for each in new:  # the innermost first; one that holds something stays, and so do those around it
            if each.is_dir() and not any(each.iterdir()):
                each.rmdir()


def _check(papers: Sequence[Paper], context: Context) -> None:
    """The folder of data sets, if one is given, holds what these papers read."""
    if context.data is None:
        return
    if not context.data.is_dir():
        raise InvalidParameter(
            f"data must be a folder of data sets, got {str(context.data)!r}; leave it out to do without them."
        )
    for each in papers:
        for name in each.files:
            if not (context.data / name).is_file():
                raise InvalidParameter(
                    f"data must hold {name}, which the {each.key} report reads; there is none in {str(context.data)!r}."
                )


def _inside(folder: Path) -> Path:
    """A hidden folder inside the wanted one, from where files are moved once all are there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".hush-papers-", dir=folder))
    except OSError as failure:
        reason = failure.strerror or "no reason given"
        raise InvalidParameter(
            f"out must be a folder that can be written, got {str(folder)!r} ({reason}); name another."
        ) from failure


def _moved(parts: Path, folder: Path) -> Path:
    """Put the files in place, the report last, so that it is there when all that it names is."""
    sums = {file.name: _sum(file) for file in parts.iterdir()}
    (parts / WRITTEN).write_text(
        "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())), encoding="utf-8"
    )
    try:
        for name in sorted(sums.keys() - {REPORT}):
            (parts / name).replace(folder / name)
        for name, digest in _earlier(folder).items():
            if name not in sums and (folder / name).is_file() and _sum(folder / name) == digest:
                (folder / name).unlink()
        for name in (WRITTEN, REPORT):
            (parts / name).replace(folder / name)
    except OSError as failure:
        raise InvalidParameter(
            f"out must be a folder whose files can be replaced, got {str(folder)!r} ({failure.strerror})."
        ) from failure
    return folder / REPORT


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _earlier(folder: Path) -> dict[str, str]:
    """What an earlier report wrote here: name -> sum. Lines that are no plain file name with a sum are passed over."""
    if not (folder / WRITTEN).is_file():
        return {}
    pairs = (
        line.split("  ", 1) for line in (folder / WRITTEN).read_text(encoding="utf-8", errors="replace").splitlines()
    )
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2 and Path(pair[1]).name == pair[1]}
