"""Releases that are planned together, accounts, wished errors and blocks of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.ledger.series import Turn
from hush.report import statement

WARDS = ["surgery", "burns", "eyes"]
OPTIONS = {"family": "gaussian", "limits_share": 0.0}


def month(number: int) -> pa.Table:
    """The visits of one month: made up, and about the same people every month."""
    random = np.random.default_rng(number)
    return pa.table({"patient": random.integers(0, 400, 900), "ward": random.choice(WARDS, 900)})


def query(source: Any) -> Any:
    table = tables.table(source, unit="patient", population="hospital")
    return table.group_by("ward", keys=WARDS, groups_per_unit=2).aggregate(n=tables.count_units())


def words(file: Path, ledger: Path, *more: str) -> list[str]:
    asked = ["answer", str(file), "--unit", "patient", "--population", "hospital", "--by", "ward"]
    asked += ["--keys", ",".join(WARDS), "--groups-per-unit", "2", "--count-units", "--epsilon", "1"]
    return [*asked, "--delta", "1e-6", "--family", "gaussian", "--times", "12", "--ledger", str(ledger), *more]


# -- planned together ----------------------------------------------------------------------------------------


def test_planning_together_beats_the_naive_split_by_more_than_three() -> None:
    asked = query(month(1))
    naive = asked.plan(1.0 / 12.0, 1e-6 / 12.0, **OPTIONS).errors()["n"]
    together = asked.plan(1.0, 1e-6, times=12, **OPTIONS)
    assert naive > 3.1 * together.errors()["n"]
    curve = hush.compose([together.spent.charge.repeated(12)])
    assert 0.99e-6 < curve.delta(1.0) <= 1e-6
    assert "for 12 releases together" in together.described()
    assert hush.Ledger(None, epsilon=1.0, delta=1e-6).plan(asked, times=12, **OPTIONS).errors() == together.errors()


def test_a_plan_uses_what_is_left_of_a_ledger() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend((hush.Laplace(4.0), 1.0))
    plan = ledger.plan(query(month(1)), times=3)
    for number in range(3):
        plan.answer(ledger=ledger, label=str(number))
    with pytest.raises(hush.BudgetExceeded, match="all 3 releases"):
        plan.answer(ledger=ledger)
    assert ledger.share > 0.9


@pytest.mark.parametrize("kind", ["rho", "mu"])
def test_a_year_in_rho_or_mu(kind: str) -> None:
    ledger = hush.Ledger(None, **{kind: 0.3})
    plan = ledger.plan(query(month(1)), times=4, limits_share=0.0)
    for _ in range(4):
        plan.answer(ledger=ledger)
    assert 0.95 < ledger.share <= 1.0


# -- answers that are kept ------------------------------------------------------------------------------------


def test_two_processes_that_draw_at_once_hand_out_one_answer() -> None:
    """The second one finds the answer of the first when it keeps its own."""
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan = query(month(1)).plan(1.0, 1e-6, times=12, **OPTIONS)
    keep, drawn = ledger.keep_answer, []

    def slow(number: int, content: bytes) -> bytes:
        if not drawn:
            drawn.append(content)
            ledger.keep_answer = keep  # type: ignore[method-assign]
            other = plan.answer(ledger=ledger, release=1)
            drawn.append(other["n"].tolist())
        return keep(number, content)

    ledger.keep_answer = slow  # type: ignore[method-assign]
    assert plan.answer(ledger=ledger, release=1)["n"].tolist() == drawn[1]
    assert len(ledger.entries) == 1


def test_a_stored_answer_cannot_be_drawn_again_changed_or_removed(tmp_path: Path) -> None:
    place = tmp_path / "year.ledger"
    plan = query(month(1)).plan(1.0, 1e-6, times=12, **OPTIONS)
    with hush.Ledger(place, epsilon=1.0, delta=1e-6) as ledger:
        answer = plan.answer(ledger=ledger)
        turn = ledger.entries[0].turn
        assert turn is not None and answer.receipt["release"] == [1, 12] and answer.receipt.guarantee.times == 12
        with pytest.raises(hush.NotPaid, match="was made before"):
            ledger.spend(ledger.entries[0].charges, turn=turn)
        assert ledger.keep_answer(1, b"other") == ledger.kept_answer(turn.series, 1)[1]  # type: ignore[index]
        ledger.verify()
    import sqlite3

    with sqlite3.connect(place) as connection:
        for statement_ in ("DELETE FROM answers", "UPDATE answers SET content = x'00'"):
            with pytest.raises(sqlite3.Error, match="append-only"):
                connection.execute(statement_)


# -- bad input -----------------------------------------------------------------------------------------------


def test_bad_plans_are_refused_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = query(month(1))
    with pytest.raises(hush.InvalidParameter, match="times must be"):
        asked.plan(1.0, 1e-6, times=0)
    with pytest.raises(hush.InvalidParameter, match="series= names releases"):
        asked.plan(1.0, 1e-6, series="year")
    with pytest.raises(hush.InvalidParameter, match="release= is for a plan of several"):
        asked.plan(1.0, 1e-6, **OPTIONS).answer(ledger=None, release=1)
    plan = asked.plan(1.0, 1e-6, times=2, **OPTIONS)
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    with pytest.raises(hush.BudgetExceeded, match="release 3 is beyond the plan"):
        plan.answer(ledger=ledger, release=3)
    with pytest.raises(hush.InvalidParameter, match="is not a writable folder"):
        plan.write(tmp_path / "none" / "a.parquet", ledger=ledger)
    with pytest.raises(hush.IncompleteCall, match="write has no argument levl="):
        plan.write(tmp_path / "a.parquet", ledger=ledger, levl=0.9)
    with pytest.raises(hush.BudgetExceeded):
        Turn("a", 13, 12)
    file = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(month(1), file)
    assert main([*words(file, tmp_path / "none.ledger")[:-2]]) == 2
    assert "--times needs --ledger" in capsys.readouterr().err
    assert ledger.entries == ()


def test_names_and_filters_tell_series_apart() -> None:
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    table = tables.table(month(1), unit="patient", population="hospital")
    one, two = (
        table.filter(table["ward"] == ward).aggregate(n=tables.count_units()).plan(1.0, 1e-6, times=2, **OPTIONS)
        for ward in WARDS[:2]
    )
    one.answer(ledger=ledger)
    two.answer(ledger=ledger)
    assert [entry.turn.release for entry in ledger.entries if entry.turn] == [1, 1]
    named = [
        table.filter(table["ward"] == ward)
        .aggregate(n=tables.count_units())
        .plan(0.5, 1e-6, times=2, series="wards", **OPTIONS)
        for ward in WARDS[:2]
    ]
    for plan in named:
        plan.answer(ledger=ledger)
    assert [entry.turn.release for entry in ledger.entries if entry.turn][2:] == [1, 2]


# -- accounts, several queries and wished errors -------------------------------------------------------------


def test_sub_accounts_have_caps_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "a.ledger"
    made = ["ledger", "new", str(place), "--epsilon", "2", "--delta", "1e-5"]
    assert main([*made, "--account", "alice=0.5,1e-6", "--account", "bob=1,1e-6"]) == 0
    with hush.Ledger(place) as ledger:
        ledger.spend((hush.Laplace(2.5), 1.0), account="alice")
        with pytest.raises(hush.BudgetExceeded, match="the account 'alice' does not cover"):
            ledger.spend((hush.Laplace(5.0), 1.0), account="alice")
        ledger.spend((hush.Laplace(5.0), 1.0), account="bob")
        with pytest.raises(hush.InvalidParameter, match="no account 'carol'"):
            ledger.spend((hush.Laplace(5.0), 1.0), account="carol")
        assert ledger.accounts["alice"].spent.epsilon == pytest.approx(0.4, rel=1e-3)
        ledger.verify()
    assert main(["ledger", "show", str(place)]) == 0
    assert "account alice: spent epsilon 0.39" in capsys.readouterr().out
    for wrong in ({}, {"a": 1.0}, {"": (1.0, 1e-6)}, {"a": (-1.0, 1e-6)}):
        with pytest.raises(hush.InvalidParameter):
            hush.Ledger(None, epsilon=1.0, delta=1e-6, accounts=wrong)  # type: ignore[arg-type]


def test_several_queries_share_one_budget() -> None:
    table = tables.table(month(1), unit="patient", population="hospital")
    queries = [query(month(1)), table.aggregate(n=tables.count_units())]
    plans = hush.plan_all(queries, hush.Budget(1.0, 1e-6), weights=[2.0, 1.0])
    charges = [charge for plan in plans for entry in plan.entries() for charge in entry.charges]
    assert 0.9e-6 < hush.compose(charges).delta(1.0) <= 1e-6
    assert plans[0].shares.epsilon == pytest.approx(2.0 * plans[1].shares.epsilon)
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    for plan in hush.plan_all(queries, ledger):
        plan.answer(ledger=ledger)
    for wrong in ([], [1.0], [1.0, -1.0]):
        with pytest.raises(hush.InvalidParameter):
            hush.plan_all(queries, ledger, weights=wrong)
    with pytest.raises(hush.InvalidParameter, match="list of queries"):
        hush.plan_all([], ledger)
    with pytest.raises(hush.InvalidParameter, match="must be a Budget or a Ledger"):
        hush.plan_all(queries, 1.0)  # type: ignore[arg-type]


def test_an_epsilon_for_a_wished_error() -> None:
    asked = query(month(1))
    for wish in (20.0, {"n": 7.0}):
        epsilon = asked.epsilon_for(error=wish, delta=1e-6)
        aim = wish if isinstance(wish, float) else wish["n"]
        assert asked.plan(epsilon, 1e-6, family="gaussian").errors()["n"] <= aim
        assert asked.plan(0.93 * epsilon, 1e-6, family="gaussian").errors()["n"] > aim
    for wrong in (0.0, {"m": 3.0}, {}):
        with pytest.raises(hush.InvalidParameter):
            asked.epsilon_for(error=wrong)


# -- blocks of time ------------------------------------------------------------------------------------------


def blocked(number: str) -> Any:
    random = np.random.default_rng(3)
    rows = {"patient": random.integers(0, 90, 400), "month": random.choice(["01", "02", "03"], 400)}
    table = tables.table(pa.table(rows), unit=["patient", "month"], population="hospital")
    return table.in_block("month", number).aggregate(n=tables.count_units())


def test_each_block_has_the_whole_budget(tmp_path: Path) -> None:
    place = tmp_path / "blocks.ledger"
    ledger = hush.Ledger(place, epsilon=1.0, delta=1e-6, blocks="month")
    for number in ("01", "02", "03"):
        blocked(number).answer(0.8, 1e-6, ledger=ledger, family="laplace", limits_share=0.0)
    with pytest.raises(hush.BudgetExceeded):
        blocked("02").answer(0.8, 1e-6, ledger=ledger, family="laplace", limits_share=0.0)
    ledger.spend((hush.Laplace(10.0), 1.0), label="all blocks")
    with pytest.raises(hush.BudgetExceeded):  # 0.8 and 0.1 are spent in every block
        ledger.spend((hush.Laplace(5.0), 1.0))
    assert 0.89 < ledger.spent.epsilon <= 0.91 and ledger.left.epsilon < 0.11
    assert [entry.block for entry in ledger.entries] == ["01", "02", "03", ""]
    ledger.verify()
    text = statement(place).markdown
    assert "A person over several of them is not: the epsilons add up" in text
    again = hush.Ledger(place)
    assert again.cap.blocks == "month" and again.spent == ledger.spent


def test_a_block_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, place = tmp_path / "visits.parquet", tmp_path / "blocks.ledger"
    pyarrow.parquet.write_table(pa.table({"patient": [1, 1, 2], "month": [1, 2, 2]}), file)
    assert main(["ledger", "new", str(place), "--epsilon", "1", "--delta", "0", "--blocks", "month"]) == 0
    asked = ["answer", str(file), "--unit", "patient,month", "--count-units", "--epsilon", "0.9", "--pure"]
    asked += ["--ledger", str(place), "--block"]
    for number in ("1", "2"):
        assert main([*asked, f"month={number}"]) == 0
    assert [entry.block for entry in hush.Ledger(place).entries] == ["1", "2"]
    capsys.readouterr()
    for wrong, words in {"month=2": "costs epsilon", "month": "--block needs column=value", "day=1": "'day'"}.items():
        assert main([*asked, wrong]) == 2
        assert words in capsys.readouterr().err
    assert hush.Ledger(place).spent.epsilon == pytest.approx(0.9)


def test_a_block_must_be_a_part_of_the_unit_and_come_first() -> None:
    rows = pa.table({"patient": [1, 2], "month": ["01", "02"]})
    by_person = tables.table(rows, unit="patient")
    with pytest.raises(hush.InvalidParameter, match="not one of several columns of the unit"):
        by_person.in_block("month", "01")
    by_month = tables.table(rows, unit=["patient", "month"])
    for changed in (by_month.mutate(other=by_month["month"]), by_month.filter(by_month["month"] == "02")):
        with pytest.raises(hush.InvalidParameter, match="choose the block first"):
            changed.in_block("month", "01")
    with pytest.raises(hush.InvalidParameter, match="has no blocks"):
        hush.Ledger(None, epsilon=1.0, delta=0.0).spend((hush.Laplace(2.0), 1.0), block="01")
    with pytest.raises(hush.InvalidParameter, match="blocks of the ledger are of 'day'"):
        blocked("01").answer(0.5, 0.0, ledger=hush.Ledger(None, epsilon=1.0, delta=0.0, blocks="day"))
