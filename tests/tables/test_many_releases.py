"""Several releases that are planned together: joint noise, private bounds, files, and the exact use of the budget."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.ledger.kept import KeptAnswer
from hush.report import statement
from hush.tables.many_releases import pure_epsilons
from hush.tables.planned import unpacked
from hush.tables.query_receipt import bounds_in, plain_bounds

WARDS = ["surgery", "burns", "eyes"]


def visits(month: int) -> pa.Table:
    random = np.random.default_rng(month)
    rows = {"patient": random.integers(0, 400, 900), "ward": random.choice(WARDS, 900)}
    return pa.table(rows | {"cost": random.uniform(10.0, 90.0 * month, 900)})


def asked(month: int, *, groups: int = 1, **aggregates: Any) -> Any:
    table = tables.table(visits(month), unit="patient", population="hospital")
    return table.group_by("ward", keys=WARDS, groups_per_unit=groups).aggregate(**aggregates)


def everything(plan: Any) -> list[Any]:
    """The charges of all releases."""
    return [charge for entry in plan.entries() for charge in entry.charges]


# -- joint noise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("times", "delta"), [(1, 1e-6), (3, 1e-6), (12, 1e-6), (40, 1e-5), (5, 0.0)])
def test_the_pure_epsilon_of_each_release_is_the_largest(times: int, delta: float) -> None:
    """Randomised responses of the first candidate keep the budget, and those of 1 % more do not."""
    found = list(pure_epsilons(1.0, delta, times))
    assert found[-1] == 1.0 / times and found == sorted(found, reverse=True)

    def kept(each: float) -> bool:
        one = hush.Cube(2, 1.0 / each, 2.0**-10), hush.Sensitivity(linf=1.0, dimension=2), times
        return bool(hush.compose([one]).delta(1.0) <= delta)

    if times > 1 and delta > 0.0:
        assert kept(0.998 * found[0]) and not kept(1.01 * found[0])


def test_joint_noise_is_planned_for_several_releases_and_charged_as_planned() -> None:
    measures = {"n": tables.count_units(), "total": tables.sum("cost", low=0, high=100), "m": tables.count()}
    query = asked(1, **measures)
    plan, independent = (query.plan(1.0, 1e-6, times=4, family=family) for family in (None, "gaussian"))
    assert plan.spent.joint is not None and plan.spent.plan.family in ("plateau", "interval")
    assert plan.spent.plan.variance < 0.7 * independent.spent.plan.variance
    assert hush.compose(everything(plan)).delta(1.0) <= 1e-6
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    for number in range(1, 5):
        assert plan.answer(ledger=ledger).receipt["release"] == [number, 4]
    with pytest.raises(hush.BudgetExceeded):
        plan.answer(ledger=ledger)
    with pytest.raises(hush.BudgetExceeded):
        ledger.spend(ledger.entries[0].charges)
    ledger.verify()


# -- the whole budget ----------------------------------------------------------------------------------------


def test_measuring_the_limits_costs_almost_nothing_in_several_releases() -> None:
    """A sum of epsilons would take 3 % of the noise; exact composition takes less than half a percent."""
    query = asked(1, groups=2, n=tables.count_units())
    alone, measured = (query.plan(1.0, 1e-6, times=12, family="gaussian", limits_share=s) for s in (0.0, 0.03))
    ratio = (measured.spent.plan.variance / alone.spent.plan.variance) ** 0.5
    assert 1.0 < ratio < 1.005
    assert hush.compose(everything(measured)).delta(1.0) <= 1e-6


# -- private bounds ------------------------------------------------------------------------------------------


def with_bounds(month: int) -> Any:
    measures = {"total": tables.sum("cost", low="private", high="private", rows_per_unit=1), "n": tables.count_units()}
    return asked(month, **measures).plan(3.0, 1e-6, times=3, family="gaussian")


def test_private_bounds_are_found_once_and_used_by_every_release() -> None:
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-6)
    plan = with_bounds(1)
    assert "the bounds are found privately with release 1, once" in " ".join(plan.described().split())
    assert hush.compose(everything(plan)).delta(3.0) <= 1e-6
    with pytest.raises(hush.InvalidParameter, match="make release 1 first"):
        plan.answer(ledger=ledger, release=2)
    assert not ledger.entries
    answers = [with_bounds(month).answer(ledger=ledger) for month in (1, 2)]
    bounds = [answer.receipt["bounds_found"] for answer in answers]
    assert bounds[0] == bounds[1] and bounds[0]["total"][1] == 128.0
    assert [len(entry.charges) for entry in ledger.entries] == [3, 2]
    assert [part["what"] for part in answers[1].receipt["parts"]] == ["answers", "limits"]
    again = with_bounds(2).answer(ledger=ledger, release=2)
    assert again.to_arrow().equals(answers[1].to_arrow())
    ledger.verify()
    printed: list[Any] = []  # the lines of the statement charge the same plan again
    exec(statement(ledger).lines, {"print": printed.append})
    assert printed == [ledger.spent.epsilon]


def test_two_processes_that_find_bounds_at_once_hand_out_one_answer() -> None:
    """The second process kept its answer first. The first one reads it, with the bounds of the second."""
    ledger, plan = hush.Ledger(None, epsilon=3.0, delta=1e-6), with_bounds(1)
    keep, first = ledger.keep_answer, []

    def slow(number: int, content: bytes) -> bytes:
        ledger.keep_answer = keep  # type: ignore[method-assign]
        held, receipt = KeptAnswer.from_bytes(content), unpacked(content)[2]
        other = {"made from": receipt | {"bounds_found": {"total": [0.0, 1024.0]}}}
        first.append(receipt["bounds_found"]["total"][1])
        return keep(number, replace(held, numbers={**held.numbers, **other}).to_bytes())

    ledger.keep_answer = slow  # type: ignore[method-assign]
    made, again = plan.answer(ledger=ledger), plan.answer(ledger=ledger, release=1)
    assert made.receipt["bounds_found"] == {"total": [0.0, 1024.0]} and first[0] < 1024.0
    assert made.to_arrow().equals(again.to_arrow())


def test_bounds_are_read_back_from_a_receipt() -> None:
    found = {"cost": (0.0, 128.0), "day": (datetime.date(2025, 1, 1), datetime.date(2026, 1, 1)), "none": None}
    assert bounds_in({"bounds_found": plain_bounds(found)}) == found and bounds_in({}) is None


# -- files ---------------------------------------------------------------------------------------------------


def test_a_release_of_a_series_is_written_to_a_file(tmp_path: Path) -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan = asked(1, n=tables.count_units()).plan(1.0, 1e-6, times=2, family="gaussian")
    receipt = plan.write(tmp_path / "a.parquet", ledger=ledger, release=1, label="January")
    assert receipt["release"] == [1, 2] and ledger.entries[0].label == "January"
    plan.write(tmp_path / "b.parquet", ledger=ledger, release=1)
    first, again = (pyarrow.parquet.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert first.equals(again) and len(ledger.entries) == 1
    assert first.equals(plan.answer(ledger=ledger, release=1).to_arrow())


def test_the_command_line_writes_releases_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, ledger, out = tmp_path / "a.parquet", tmp_path / "a.ledger", tmp_path / "out.parquet"
    pyarrow.parquet.write_table(visits(1), file)
    assert main(["ledger", "new", str(ledger), "--epsilon", "3", "--delta", "1e-6"]) == 0
    words = ["answer", str(file), "--unit", "patient", "--by", "ward", "--keys", ",".join(WARDS), "--ledger"]
    words += [str(ledger), "--groups-per-unit", "1", "--count-units", "--epsilon", "3", "--delta", "1e-6"]
    words += ["--times", "3", "--family", "gaussian", "--out", str(out), "--overwrite"]
    assert main([*words, "--sum", "cost:private:1", "--release", "2"]) == 2
    assert "make release 1 first" in capsys.readouterr().err
    assert main(words) == 0 and main([*words, "--overwrite"]) == 0
    assert [entry.turn.release for entry in hush.Ledger(ledger).entries if entry.turn] == [1, 2]
    assert pyarrow.parquet.read_table(out).num_rows == 3


def test_a_kept_release_is_not_shown_with_other_noise() -> None:
    """Its intervals would be those of the new plan, not of the noise that was drawn."""
    rows = pd.DataFrame({"person": range(200), "a": 1.0})
    query = tables.table(rows, unit="person", population="x").aggregate(
        n=tables.count_units(), s=tables.sum("a", low=0, high=10)
    )
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    options: dict[str, Any] = {"times": 12, "family": "gaussian"}
    first = query.plan(1.0, 1e-6, weights={"s": 20.0}, **options).answer(ledger=ledger, release=1)
    with pytest.raises(hush.InvalidParameter, match="made with other noise"):
        query.plan(1.0, 1e-6, weights={"n": 20.0}, **options).answer(ledger=ledger, release=1)
    again = query.plan(1.0, 1e-6, weights={"s": 20.0}, **options).answer(ledger=ledger, release=1)
    assert again["n"].tolist() == first["n"].tolist() and len(ledger.entries) == 1
