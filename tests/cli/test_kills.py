"""`hush answer --out`, killed at twenty points: no charge without an answer, no answer without a charge."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from effort import thinned

import hush
from hush.cli import main
from hush.tables.sample_table import sample

#: The steps of the command in their order: a module, and the function or method in it.
STEPS = (
    "hush.ledger.access:Access.pay",
    "hush.ledger.log:append",
    "hush.ledger.log:bind",
    "hush.tables.exact_aggregates:Aggregates.read",
    "hush.tables.column_noise:Spending.open",
    "hush.ledger.payment:Draws.add",
    "hush.ledger.payment:Payment.keep",
    "hush.ledger.schema:insert_answer",
    "hush.cli.answer:saved",
    "os:replace",
)
#: A process that kills itself before or after the first call of a step.
KILLED = """
import functools, importlib, os, signal, sys
when, step = sys.argv[1:3]
del sys.argv[1:3]
module, _, name = step.partition(":")
holder = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    holder = getattr(holder, part)
usual = getattr(holder, last)

@functools.wraps(usual)
def call(*given, **options):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    made = usual(*given, **options)
    os.kill(os.getpid(), signal.SIGKILL)
    return made

setattr(holder, last, call)
from hush.__main__ import run
run()
"""


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "visits.parquet"
    pyarrow.parquet.write_table(sample("visits", 300), path)
    return path


def killed(step: str, when: str, words: list[str]) -> None:
    """Run the command in a process that is killed; it must have come to the point."""
    known = {**os.environ, "PYTHONPATH": str(Path(hush.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", KILLED, when, step, *words], env=known, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize(("step", "when"), thinned([(step, when) for step in STEPS for when in ("before", "after")], 6))
def test_a_kill_loses_nothing(step, when, visits, tmp_path, capsys):
    """Afterwards the same command gives one answer for one charge, and the file is whole or not there. The budget is
    for one answer, so a second charge would be refused.
    """
    book, out = tmp_path / "v.ledger", tmp_path / "a.csv"
    hush.Ledger(book, epsilon=1.0, delta=1e-6).close()
    asked = f"answer {visits} --unit patient_id --count-units --family gaussian --epsilon 1 --delta 1e-6"
    words = f"{asked} --limits-share 0 --ledger {book} --out {out}".split()
    killed(step, when, words)
    with hush.Ledger(book) as ledger:
        charged = len(ledger.entries)
    assert charged <= 1
    if not out.exists():
        assert main(words) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert out.read_text().count("\n") == 2  # a heading and one group
    assert main(["ledger", "answer", str(book), "1"]) == 0
    assert out.read_text().splitlines()[1].split(",")[0] in capsys.readouterr().out.replace(",", "")
    assert main(words) == 2  # the file is there: nothing is charged
    with hush.Ledger(book) as ledger:
        assert len(ledger.entries) == 1
