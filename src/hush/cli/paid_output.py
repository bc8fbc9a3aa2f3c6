"""The output of a command that has paid: if it cannot be written or printed, one sentence says where the answer is."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hush.errors import NotWritten
from hush.releasing.destination import must_be_writable, reason

__all__ = ["add_overwrite", "check_output", "paid_output"]


def add_overwrite(output: Any) -> None:
    """Add --overwrite."""
    text = "replace the file of --out or --plot if it exists; without this option the command is refused"
    output.add_argument("--overwrite", action="store_true", help=text)


def check_output(options: argparse.Namespace, *, folder: bool = False) -> None:
    """Reject the files of --out and --plot if they cannot be written, or if they exist and --overwrite is not given:
    before anything is spent.
    """
    fresh = not options.overwrite
    if options.out:
        must_be_writable(options.out, role="--out", folder=folder, fresh=fresh)
    if getattr(options, "plot", None):
        must_be_writable(options.plot, role="--plot", fresh=fresh)


@contextmanager
def paid_output(receipt: Mapping[str, Any], again: str = "") -> Iterator[None]:
    """Write and print an answer that was paid for. An error of the file system becomes a sentence that names the call
    which gives the answer again, for nothing: `again`, or `hush ledger answer` with the entry of the receipt.
    """
    kept = f"`{again}` gives the answer again, for nothing" if again else _kept(receipt)
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        print(f"hush: the output was closed before its end; {kept}.", file=sys.stderr)
        raise
    except NotWritten as failure:
        raise NotWritten(f"{str(failure).rstrip('.')}; {kept}.") from failure
    except OSError as failure:
        raise NotWritten(f"the output cannot be written: {reason(failure)}; {kept}.") from failure


def _kept(receipt: Mapping[str, Any]) -> str:
    """Where the answer is, in words."""
    paid = receipt.get("ledger")
    if not isinstance(paid, Mapping):
        return "no ledger was charged, so the answer is not kept"
    place = shlex.quote(str(paid["ledger"]))
    return f"the answer is kept: `hush ledger answer {place} {paid['number']}` gives it again, for nothing"
