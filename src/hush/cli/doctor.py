"""`hush doctor`: what is installed, what works, and how to repair the rest."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import groupby

from hush.cli.selftest import Check, checks
from hush.cli.text import Command, emit
from hush.releasing.text import text_table

__all__ = ["register"]

_EXAMPLES = """examples:
  hush doctor                            versions, extras, engines, entropy, numerics, ledger: takes seconds
  hush doctor --spark                    also starts Spark, if it is installed
  hush doctor --folder FOLDER            tries the disk where you want to keep ledgers
  hush doctor --json

exit code: 0 if everything that hush needs works, else 1 and one sentence for each problem. A missing extra is not a
problem; its install command is shown. Good entropy is reported as bad with probability at most 1e-9."""

_MARK = {"ok": "ok", "absent": "-", "problem": "FAILS"}


def sentence(check: Check) -> str:
    """A problem and its remedy."""
    return f"{check.area}, {check.name}: {check.detail}; {check.remedy}."


def _row(check: Check) -> tuple[str, str, str]:
    remedy = f"; {check.remedy}" if check.state == "absent" and check.remedy else ""
    return _MARK[check.state], check.name, check.detail + remedy


def _doctor(options: argparse.Namespace) -> int:
    found = list(checks(spark=options.spark, folder=options.folder))
    problems = [sentence(check) for check in found if check.state == "problem"]
    rows = iter(text_table((), map(_row, found), indent=2))
    lines = []
    for area, group in groupby(found, key=lambda check: check.area):
        lines += [area, *(next(rows) for _ in group)]
    absent = sorted(
        {
            check.area.removeprefix("extra ")
            for check in found
            if check.area.startswith("extra ") and check.state == "absent"
        }
    )
    missing = f" Not installed: {', '.join(absent)}." if absent else ""
    lines += ["", *problems] if problems else ["", f"Everything that is installed works.{missing}"]
    document = {"healthy": not problems, "problems": problems, "checks": [asdict(check) for check in found]}
    emit(options, document, "\n".join(lines))
    return int(bool(problems))


def register(command: Command) -> None:
    """Add the command."""
    doctor = command("doctor", _doctor, "check packages, engines, entropy, numerics and disk", _EXAMPLES)
    doctor.add_argument("--spark", action="store_true", help="start Spark and ask it one query")
    doctor.add_argument("--folder", metavar="FOLDER", help="where to try a ledger (default: the temporary folder)")
