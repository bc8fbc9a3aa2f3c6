"""A year of a hospital on the command line: twelve monthly files, one ledger; killed at any point and resumed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.report import statement

WARDS = ["burns", "cardiology", "children", "emergency", "eyes", "maternity", "oncology", "surgery"]
MONTHS = 12


def visits(month: int) -> pa.Table:
    """The visits of one month, made up. Patients come from one pool, so many of them return."""
    random = np.random.default_rng([2025, month])
    return pa.table({"patient": random.integers(0, 2500, 3000), "ward": random.choice(WARDS, 3000)})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("months")
    made = [folder / f"2025-{month:02}.csv" for month in range(1, MONTHS + 2)]
    for month, path in enumerate(made, 1):
        pyarrow.csv.write_csv(visits(month), path)
    return made


@pytest.fixture
def year(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    place = tmp_path / "year.ledger"
    assert main(["ledger", "new", str(place), "--epsilon", "1", "--delta", "1e-6"]) == 0
    capsys.readouterr()
    return place


def words(file: Path, ledger: Path, *more: str) -> list[str]:
    """One month on the command line: the people of each ward, with Gaussian noise, which calibrates quickly."""
    asked = ["answer", str(file), "--unit", "patient", "--population", "hospital", "--by", "ward"]
    asked += ["--keys", ",".join(WARDS), "--groups-per-unit", "6", "--count-units", "--epsilon", "1", "--delta", "1e-6"]
    return [*asked, "--family", "gaussian", "--times", str(MONTHS), "--ledger", str(ledger), "--json", *more]


def shown(capsys: pytest.CaptureFixture[str]) -> list[float]:
    """The numbers of people that the last command printed."""
    return [row["units"] for row in json.loads(capsys.readouterr().out)["answer"]]


def test_a_year_of_monthly_files_on_one_ledger(
    files: list[Path], year: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = []
    for month, file in enumerate(files[:MONTHS], 1):
        assert main(words(file, year, "--release", str(month), "--label", f"month {month}")) == 0
        answers.append(shown(capsys))
    assert main(words(files[MONTHS], year)) == 2
    refused = capsys.readouterr().err
    assert "all 12 releases of this plan were made, so there is no release 13" in refused
    assert refused.count("\n") == 1
    assert main(words(files[MONTHS], year, "--release", "13")) == 2
    assert "release 13 is beyond the plan" in capsys.readouterr().err
    assert main(words(files[MONTHS], year, "--series", "another year")) == 2  # the budget itself is used up too
    assert "nothing was spent" in capsys.readouterr().err
    assert main(words(files[2], year, "--release", "3")) == 0  # what was made is shown again, for nothing
    assert shown(capsys) == answers[2]
    with hush.Ledger(year) as ledger:
        assert [entry.turn.release for entry in ledger.entries if entry.turn] == list(range(1, MONTHS + 1))
        ledger.verify()
    assert "12 releases" in statement(year).markdown


def test_the_noise_of_a_month_is_a_third_of_the_naive_split() -> None:
    """95 % errors in people: +-238 where the budget is divided by twelve, and at most +-73 where it is composed."""
    asked = (
        tables.table(visits(1), unit="patient", population="hospital")
        .group_by("ward", keys=WARDS, groups_per_unit=6)
        .aggregate(units=tables.count_units())
    )
    naive = asked.plan(1.0 / MONTHS, 1e-6 / MONTHS, family="gaussian", limits_share=0.0).errors()["units"]
    together = asked.plan(1.0, 1e-6, times=MONTHS, family="gaussian")
    assert naive == pytest.approx(238.0, abs=0.5)
    assert together.errors()["units"] <= 73.0
    charges = [charge for entry in together.entries() for charge in entry.charges]
    assert hush.compose(charges).delta(1.0) <= 1e-6


def test_a_copy_in_another_folder_charges_the_same_ledger(
    files: list[Path], year: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "copies").mkdir()
    copy = Path(shutil.copy(files[0], tmp_path / "copies" / files[0].name))
    assert main(words(files[0], year, "--release", "1")) == 0
    first = shown(capsys)
    other = Path(shutil.copy(files[0], tmp_path / "a copy.csv"))
    assert main(words(other, year, "--release", "1")) == 2  # its name says that it is another file
    assert f"of the file '{files[0].name}'" in capsys.readouterr().err
    assert main(words(copy, year, "--release", "1")) == 0
    assert shown(capsys) == first and len(hush.Ledger(year).entries) == 1
    assert main(words(copy, year, "--release", "2")) == 0
    assert len(hush.Ledger(year).entries) == 2 and hush.Ledger(year).source is not None


# -- killed and resumed --------------------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
import hush
from hush.cli import main

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

point, *words = sys.argv[1:]
charged, keep = hush.Ledger.charged, hush.Ledger.keep_answer
if point == "before the charge":
    hush.Ledger.charged = kill
if point == "after the charge":
    hush.Ledger.charged = lambda *a, **k: (charged(*a, **k), kill())
if point == "after the draw":
    hush.Ledger.keep_answer = kill
if point == "after the answer is kept":
    hush.Ledger.keep_answer = lambda *a, **k: (keep(*a, **k), kill())
main(words)
"""
POINTS = ("before the charge", "after the charge", "after the draw", "after the answer is kept")


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_command_is_run_again_and_charged_once(
    files: list[Path], year: Path, capsys: pytest.CaptureFixture[str], point: str
) -> None:
    command = words(files[0], year, "--release", "1")
    code = [sys.executable, "-c", _KILLED, point, *command]
    killed = subprocess.run(code, capture_output=True, text=True, env=os.environ, timeout=300)
    assert killed.returncode == -signal.SIGKILL and killed.stdout == ""
    with hush.Ledger(year) as ledger:
        entries = ledger.entries
        assert len(entries) == (0 if point == POINTS[0] else 1)
        kept = [ledger.kept_answer(entry.turn.series, 1) for entry in entries if entry.turn]
        assert [found is not None for found in kept] == [point == POINTS[3]] * len(entries)
    assert main(command) == 0
    first = shown(capsys)
    assert main(command) == 0
    assert shown(capsys) == first and len(first) == len(WARDS)
    with hush.Ledger(year) as ledger:
        assert len(ledger.entries) == 1
        ledger.verify()
        after = ledger.kept_answer(ledger.entries[0].turn.series, 1)  # type: ignore[union-attr]
        assert after is not None and (point != POINTS[3] or kept == [after])
