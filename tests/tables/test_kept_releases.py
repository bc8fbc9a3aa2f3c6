"""A release that was made before: what is shown, who is charged, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import hush
from hush import tables
from hush.cli import main

WARDS = ["burns", "eyes"]
OPTIONS: dict[str, Any] = {"family": "gaussian", "limits_share": 0.0, "times": 12}


def visits(month: int = 1) -> pa.Table:
    random = np.random.default_rng(month)
    return pa.table({"patient": random.integers(0, 200, 500), "ward": random.choice(WARDS, 500)})


def monthly(month: int = 1, *, ward: str | None = None, **options: Any) -> Any:
    table = tables.table(visits(month), unit="patient", population="hospital")
    table = table if ward is None else table.filter(table["ward"] == ward)
    query = table.group_by("ward", keys=WARDS, groups_per_unit=2).aggregate(n=tables.count_units())
    return query.plan(1.0, 1e-6, **(OPTIONS | options))


def words_of(answer: Any) -> str:
    return " ".join(answer.summary().split())


def test_a_release_says_that_the_budget_is_for_all_of_them_and_a_kept_one_says_when_it_was_made() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    first, second = (monthly(month).answer(ledger=ledger) for month in (1, 2))
    assert "for 12 releases together; this is release 1" in words_of(first) and "not read" not in words_of(first)
    assert "for 12 releases together; this is release 2" in words_of(second)
    again = monthly(3).answer(ledger=ledger, release=1)  # by mistake with the table of March
    day = ledger.entries[0].time[:10]
    assert f"release 1 of 12 was made on {day}; the table was not read" in words_of(again)
    assert again["n"].tolist() == first["n"].tolist() and len(ledger.entries) == 2


def test_a_kept_release_is_of_one_file_and_entries_name_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """January's numbers were printed for the file of March, and a year of entries had no label."""
    place = tmp_path / "year.ledger"
    assert main(["ledger", "new", str(place), "--epsilon", "1", "--delta", "1e-6"]) == 0
    asked = ["--unit", "patient", "--count-units", "--epsilon", "1", "--delta", "1e-6", "--family", "gaussian"]
    asked += ["--population", "hospital", "--times", "12", "--series", "visits", "--ledger", str(place)]
    files = [tmp_path / f"2024-0{month}.csv" for month in (1, 2)]
    for month, (file, extra) in enumerate(zip(files, ([], ["--label", "February"]), strict=True), 1):
        pyarrow.csv.write_csv(visits(month), file)
        assert main(["answer", str(file), *asked, *extra]) == 0
    capsys.readouterr()
    assert main(["answer", str(files[1]), *asked, "--release", "1"]) == 2
    told = capsys.readouterr().err
    assert "was made on" in told and "of the file '2024-01.csv'" in told and "this is the file '2024-02.csv'" in told
    assert main(["answer", str(files[0]), *asked, "--release", "2"]) == 2
    assert "with the label 'February'" in capsys.readouterr().err
    assert main(["answer", str(files[0]), *asked, "--release", "1"]) == 0
    with hush.Ledger(place) as ledger:
        assert [entry.label for entry in ledger.entries] == ["2024-01.csv", "February"]
        assert ledger.entries[1].about.endswith("; rows of 2024-02.csv")
    assert main(["report", str(place)]) == 0
    statement = capsys.readouterr().out
    assert "no label" not in statement and "not recorded" not in statement
    assert "release 1 of 12 that were planned together" in " ".join(statement.split())


def test_the_command_line_says_that_the_file_was_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, place = tmp_path / "a.csv", tmp_path / "a.ledger"
    pyarrow.csv.write_csv(visits(), file)
    assert main(["ledger", "new", str(place), "--epsilon", "1", "--delta", "1e-6"]) == 0
    asked = ["answer", str(file), "--unit", "patient", "--count-units", "--epsilon", "1", "--delta", "1e-6"]
    asked += ["--family", "gaussian", "--times", "12", "--release", "1", "--ledger", str(place)]
    assert main(asked) == 0
    assert "was made on" not in capsys.readouterr().out
    assert main(asked) == 0
    assert "; the file was not read" in " ".join(capsys.readouterr().out.split())


def test_a_named_release_is_not_shown_for_other_filters() -> None:
    """A name leaves the filters out of the recognition, but the answer of January is no answer about February."""
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    monthly(ward="eyes", series="wards").answer(ledger=ledger, release=1)
    with pytest.raises(
        hush.InvalidParameter, match=r"release 1 of 12 was made on .* with other filters \(where .*eyes"
    ):
        monthly(ward="burns", series="wards").answer(ledger=ledger, release=1)
    assert monthly(ward="eyes", series="wards").answer(ledger=ledger, release=1).receipt["kept"]
    monthly(ward="burns", series="wards").answer(ledger=ledger, release=2)
    assert len(ledger.entries) == 2


# -- a crash between the charge and the answer ---------------------------------------------------------------


def crashed(ledger: hush.Ledger, plan: Any) -> None:
    """A process that charges release 1 and ends before it keeps the answer."""

    def ends(*_: Any) -> bytes:
        raise KeyboardInterrupt

    ledger.keep_answer = ends  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        plan.answer(ledger=ledger)
    del ledger.keep_answer
    assert len(ledger.entries) == 1


def test_after_a_crash_the_next_release_is_the_one_without_an_answer() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    crashed(ledger, monthly())
    assert monthly().answer(ledger=ledger).receipt["release"] == [1, 12] and len(ledger.entries) == 1
    assert monthly().answer(ledger=ledger).receipt["release"] == [2, 12] and len(ledger.entries) == 2


def test_after_a_crash_other_options_are_refused_in_one_sentence() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    crashed(ledger, monthly())
    with pytest.raises(hush.InvalidParameter, match=r"release 1 of 12 was charged on .* with other noise") as refused:
        monthly(family="laplace").answer(ledger=ledger, release=1)
    assert "ask with the options of that call" in str(refused.value) and len(ledger.entries) == 1
    assert len(monthly().answer(ledger=ledger, release=1)) == 2


# -- several processes at once -------------------------------------------------------------------------------

_CHILD = """
import sys, time
from pathlib import Path
import hush
from test_kept_releases import monthly

place, folder, name = sys.argv[1:]

def wait(text):
    if text == "aggregating in the engine":  # the ledger was asked, and had no answer
        Path(folder, name).touch()
        while not Path(folder, "go").exists():
            time.sleep(0.005)

answer = monthly().answer(ledger=hush.Ledger(place), release=1, progress=wait)
print(answer["n"].tolist(), answer.receipt.get("kept", "fresh")[:7])
"""


@pytest.mark.parametrize("made_before", [False, True])
def test_processes_that_ask_for_sum_model_at_once_pay_once_and_see_one_answer(
    tmp_path: Path, made_before: bool
) -> None:
    """All of them find no answer first. Then all go on at once, or only after this process has made the release."""
    place, names = tmp_path / "year.ledger", ["a", "b"]
    ledger = hush.Ledger(place, epsilon=1.0, delta=1e-6)
    code = [sys.executable, "-c", _CHILD, str(place), str(tmp_path)]
    children = [
        subprocess.Popen(
            [*code, name], cwd=Path(__file__).parent, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for name in names
    ]
    while not all(
        (tmp_path / name).exists() or child.poll() is not None for name, child in zip(names, children, strict=True)
    ):
        time.sleep(0.01)
    own = monthly().answer(ledger=ledger, release=1)["n"].tolist() if made_before else None
    (tmp_path / "go").touch()
    done = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0, 0], [errors.decode() for _, errors in done]
    shown = [out.decode().rsplit(" ", 1) for out, _ in done]
    numbers = {row[0] for row in shown} | ({str(own)} if own else set())
    assert len(numbers) == 1 and len(ledger.entries) == 1
    assert sorted(row[1].strip() for row in shown) == ["fresh"] * (not made_before) + ["release"] * (1 + made_before)
    ledger.verify()
