"""How many files a call passes through: `python bench/journeys.py` prints files, edges between files, and functions.

Only frames of hush are counted, of calls and not of imports. An edge goes from the file of the nearest hush frame on
the stack to the file that is called.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import hush
from hush import cli, tables

ROOT = str(Path(hush.__file__).parent)


@dataclass
class Journey:
    """What a call passed through."""

    files: set[str] = field(default_factory=set)
    edges: set[tuple[str, str]] = field(default_factory=set)
    functions: set[tuple[str, str, int]] = field(default_factory=set)

    def hook(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name == "<module>" or not code.co_filename.startswith(ROOT):
            return
        here = code.co_filename[len(ROOT) + 1 :]
        self.files.add(here)
        self.functions.add((here, code.co_name, code.co_firstlineno))
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(ROOT):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.edges.add((caller.f_code.co_filename[len(ROOT) + 1 :], here))


def traced(call: Callable[[], object]) -> Journey:
    """The journey of a call; everything that it imports is loaded first, by a call that is not counted."""
    with redirect_stdout(StringIO()):
        call()
        journey = Journey()
        sys.setprofile(journey.hook)
        try:
            call()
        finally:
            sys.setprofile(None)
    return journey


def journeys(folder: Path) -> dict[str, Callable[[], object]]:
    """The calls: an answer by command line, a calibration, a release."""
    import pyarrow.parquet

    file = folder / "visits.parquet"
    pyarrow.parquet.write_table(tables.sample("visits", 2000), file)
    asked = [
        *(
            "answer",
            str(file),
            "--unit",
            "patient_id",
            "--by",
            "ward",
            "--count",
            "1",
            "--mean",
            "stay_days:0:30",
            "--keys",
            "private",
        )
    ]
    budget = [*("--epsilon", "1", "--delta", "1e-6", "--family", "gaussian", "--groups-per-unit", "2")]
    count = iter(range(10))

    def answer() -> None:
        ledger = folder / f"{next(count)}.ledger"
        hush.Ledger(ledger, epsilon=3.0, delta=1e-5).close()
        cli.main([*asked, *budget, "--ledger", str(ledger)])

    bound = hush.Sensitivity(linf=1.0, l0=20)
    plan = hush.calibrate(1.0, 1e-6, bound, family="gaussian")
    return {
        "hush answer": answer,
        "calibrate": lambda: hush.calibrate(1.0, 1e-8, bound),
        "release": lambda: hush.release([3] * 30, plan, ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5)),
    }


def main() -> None:
    """Print one line a journey, and with --files the files of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="list the files of each journey")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, call in journeys(Path(folder)).items():
            found = traced(call)
            print(f"{name:12} {len(found.files):4} files {len(found.edges):5} edges {len(found.functions):5} functions")
            if options.files:
                print("".join(f"    {file}\n" for file in sorted(found.files)), end="")


if __name__ == "__main__":
    main()
