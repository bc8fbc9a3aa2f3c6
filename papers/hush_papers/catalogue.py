"""The papers that have a report, and the writing of the report into a folder."""

from __future__ import annotations

import hashlib
import importlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hush import InvalidParameter
from hush.errors import shown
from hush_papers.item import Context, Item, Paper
from hush_papers.page import REPORT, write

__all__ = ["PAPERS", "make", "paper", "report"]

#: key -> module that defines its PAPER; a module is imported when its paper is needed
PAPERS = {
    "zhao": "hush_papers.zhao.paper",
    "osgt": "hush_papers.osgt.paper",
    "flipped_huber": "hush_papers.flipped_huber.paper",
    "sas": "hush_papers.sas.paper",
    "joint": "hush_papers.joint.paper",
    "newer": "hush_papers.newer.paper",
    "beyond": "hush_papers.beyond",
}
#: the list of the files of a report with their SHA-256 sums, in the format of sha256sum
WRITTEN = "report.sha256"
Made = list[tuple[Paper, list[Item]]]
Progress = Callable[[str], None]


def paper(key: str) -> Paper:
    """The paper with that key."""
    if key not in PAPERS:
        raise InvalidParameter(f"paper must be one of {', '.join(PAPERS)}, got {shown(key)}.")
    made = importlib.import_module(PAPERS[key]).PAPER
    assert isinstance(made, Paper)
    return made


def make(papers: Sequence[Paper], context: Context, *, progress: Progress | None = None) -> Made:
    """Make every item of the papers, one after the other; `progress` gets a line before each item."""
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
    """Make every item of the papers and write the report. Wrong arguments are rejected before the first item is made.

    Guarantees: files are moved into the folder when all of them are written, the report last. Files of an earlier
    report that this one does not contain are removed, unless somebody changed them. A run that ends early leaves no
    new files and no new folders.
    """
    papers = [paper(key) for key in dict.fromkeys(keys or PAPERS)]
    _check(papers, context)
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
        for each in new:  # the innermost first; a folder that is not empty stays, and so do its parents
            if each.is_dir() and not any(each.iterdir()):
                each.rmdir()


def _check(papers: Sequence[Paper], context: Context) -> None:
    """Check that the folder of data sets, if one is given, contains the files that these papers read."""
    if context.data is None:
        return
    if not context.data.is_dir():
        raise InvalidParameter(
            f"data must be a folder of data sets, got {shown(str(context.data))}; leave it out to run without "
            "data sets."
        )
    for each in papers:
        for name in each.files:
            if not (context.data / name).is_file():
                raise InvalidParameter(
                    f"data must contain {name}, which the {each.key} report reads; {shown(str(context.data))} "
                    "has no such file."
                )


def _inside(folder: Path) -> Path:
    """A hidden folder inside the given one. Files are written there first and moved when all are complete."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".hush-papers-", dir=folder))
    except OSError as failure:
        reason = failure.strerror or "no reason given"
        raise InvalidParameter(
            f"out must be a folder that can be written, got {shown(str(folder))} ({reason}); give another folder."
        ) from failure


def _moved(parts: Path, folder: Path) -> Path:
    """Move the files into the folder, the report last: when it is there, all files that it refers to are there."""
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
            f"out must be a folder whose files can be replaced, got {shown(str(folder))} ({failure.strerror})."
        ) from failure
    return folder / REPORT


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _earlier(folder: Path) -> dict[str, str]:
    """Files of an earlier report here: name -> sum. Lines that are not a sum and a bare file name are ignored."""
    if not (folder / WRITTEN).is_file():
        return {}
    pairs = (
        line.split("  ", 1) for line in (folder / WRITTEN).read_text(encoding="utf-8", errors="replace").splitlines()
    )
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2 and Path(pair[1]).name == pair[1]}
