"""`hush papers`: the four papers' tables and figures, published beside recomputed."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hush.cli.text import Command, emit

__all__ = ["register"]

_EXAMPLES = """examples:
  hush papers --data DATA --out report            every paper; report/report.html opens in any browser, offline
  hush papers zhao osgt --quick --out report      two of them, coarser figures

Items that need real data sets say so when no folder is given (--data, or HUSH_DATA)."""


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """A request to end (SIGTERM) unwinds as an interrupt does, so that nothing is left behind."""
    if threading.current_thread() is not threading.main_thread():  # only there signals can be handled
        yield
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _papers(options: argparse.Namespace) -> None:
    from hush.papers.catalogue import report
    from hush.papers.item import Context

    def progress(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    context = Context(Path(options.data) if options.data else None, options.quick)
    with _ended_cleanly():
        path = report(options.papers, options.out, context, progress=None if options.json else progress)
    emit(options, {"report": str(path), "comparisons": str(path.parent / "comparisons.csv")}, f"{path} is written.")


def register(command: Command) -> None:
    """Add the group's commands."""
    papers = command("papers", _papers, "the four papers, reproduced and audited", _EXAMPLES)
    papers.add_argument("papers", nargs="*", metavar="paper", help="zhao, osgt, flipped_huber, sas, beyond; all of them if none is named")
    papers.add_argument("--data", default=os.environ.get("HUSH_DATA"), help="folder of the data sets (or HUSH_DATA)")
    papers.add_argument("--out", type=Path, default=Path("papers"), help="folder to write into (default: papers)")
    papers.add_argument("--quick", action="store_true", help="coarser figures and fewer trials, under two minutes")
