"""`hush doctor`: what is installed, what works, and what to do about the rest."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import groupby

from hush.cli.selftest import Check, checks
from hush.cli.text import Command, emit

__all__ = ["register"]

_EXAMPLES = """examples:
  hush doctor                            versions, extras, engines, entropy, numerics, ledger: seconds
  hush doctor --spark                    starts Spark too, if it is installed
  hush doctor --folder FOLDER            tries the disk where ledgers are to be kept
  hush doctor --json

exit code: 0 if everything that hush needs works, 1 with a sentence for each problem if not. A missing extra is no problem: its install
command is shown. Good entropy is called bad with probability at most 1e-9."""

_MARK = {"ok": "ok", "absent": "-", "problem": "FAILS"}


def sentence(check: Check) -> str:
    """A problem, and what to do about it."""
    return f"{check.area}, {check.name}: {check.detail}; {check.remedy}."


def _line(check: Check) -> str:
    line = f"  {_MARK[check.state].ljust(6)}{check.name.ljust(20)}{check.detail}"
    return line + (f"; {check.remedy}" if check.state == "absent" and check.remedy else "")


def _doctor(options: argparse.Namespace) -> int:
    found = list(checks(spark=options.spark, folder=options.folder))
    problems = [sentence(check) for check in found if check.state == "problem"]
    lines = []
    for area, group in groupby(found, key=lambda check: check.area):
        lines += [area, *map(_line, group)]
    lines += ["", *problems] if problems else ["", "Everything that hush needs works."]
    emit(
        options,
        {"healthy": not problems, "problems": problems, "checks": [asdict(check) for check in found]},
        "\n".join(lines),
    )
    return int(bool(problems))


def register(command: Command) -> None:
    """Add the command."""
    doctor = command(
        "doctor", _doctor, "what is installed, which engines work, self-tests of entropy and numerics", _EXAMPLES
    )
    doctor.add_argument("--spark", action="store_true", help="start Spark and ask it something")
    doctor.add_argument(
        "--folder", metavar="FOLDER", help="where ledgers are to be kept (default: the temporary folder)"
    )
