"""The command `hush-papers`: tables and figures of the papers, published beside recomputed."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hush import HushError
from hush.releasing.progress import working
from hush_papers.catalogue import report
from hush_papers.item import Context

__all__ = ["main"]

_EXAMPLES = """examples:
  hush-papers --data DATA --out report            all papers; report/report.html opens in any browser, offline
  hush-papers zhao osgt --quick --out report      two papers, coarser figures

One item needs a data set. Without a folder of data sets (--data, or HUSH_DATA) the report says so there."""


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that a run stopped by it cleans up as after Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():  # signal handlers can be set in the main thread only
        yield
        return

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _silent(text: str) -> None:
    """Show no progress."""


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    whole = argparse.ArgumentParser(
        prog="hush-papers",
        description="Recompute the tables and figures of the four papers and compare them with the printed numbers.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument(
        "papers", nargs="*", metavar="paper", help="zhao, osgt, flipped_huber, sas, joint, newer, beyond (default: all)"
    )
    whole.add_argument(
        "--data", default=os.environ.get("HUSH_DATA"), help="folder of the data sets (default: HUSH_DATA)"
    )
    whole.add_argument("--out", type=Path, default=Path("report"), help="folder to write into (default: report)")
    whole.add_argument(
        "--quick", action="store_true", help="coarser figures without PNG files, fewer trials; under a minute"
    )
    whole.add_argument("--json", action="store_true", help="print the paths of the written files as JSON")
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    options = parser().parse_args(arguments)
    context = Context(Path(options.data) if options.data else None, options.quick)
    try:
        with _ended_cleanly(), working(otherwise=_silent if options.json else _progress) as show:
            path = report(options.papers, options.out, context, progress=show)
    except HushError as failure:
        print(f"hush-papers: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hush-papers: stopped; nothing was written.", file=sys.stderr)
        return 130
    written = {"report": str(path), "comparisons": str(path.parent / "comparisons.csv")}
    print(json.dumps(written) if options.json else f"{path} is written.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
