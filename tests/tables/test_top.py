"""The largest groups of a public list: which noise finds them, what is published, charged and refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import tables
from hush.report import statement

FILMS = list(range(40))


def ratings(people: int = 600, seen: int = 12) -> pa.Table:
    """Film i is seen by the people whose number is a multiple of i + 1, and by nobody from film 30 on."""
    rows = [(u, film) for u in range(people) for film in range(30) if u % (film + 1) == 0]
    users, films = zip(*rows, strict=True)
    return pa.table({"user": users, "film": films})


@pytest.fixture(scope="module")
def table() -> tables.Table:
    return tables.table(ratings(), unit="user")


def test_names_are_found_without_a_limit_on_groups(table) -> None:
    plan = table.group_by("film", keys=FILMS).top(3).plan(4.0, 1e-6)
    assert plan.way == "selection" and "no limit on the groups of a user" in plan.why
    ledger = hush.Ledger(None, epsilon=10.0, delta=1e-5)
    answer = plan.answer(ledger=ledger, label="films")
    assert answer["film"].tolist() == [0, 1, 2]  # of 600, 300 and 200 people: the noise is of a few
    assert answer.names == () and answer.to_arrow().column_names == ["film"]
    assert answer.receipt["top"] == {"k": 3, "way": "selection"}
    (charge,) = answer.receipt.charges
    assert charge.times == 3 and ledger.entries[0].charges == (charge,)
    assert hush.compose([charge]).delta(4.0) <= 1e-6
    text = repr(answer)
    assert "names only" in text and "intervals" not in text and "any number of groups" in text
    assert "any number of groups" in str(statement(answer.receipt))


def test_counts_cost_the_other_half_of_the_budget(table) -> None:
    plan = table.group_by("film", keys=FILMS).top(3, counts=True).plan(4.0, 1e-6)
    assert plan.way == "selection"
    ledger = hush.Ledger(None, epsilon=4.0, delta=1e-6)
    answer = plan.answer(ledger=ledger)
    assert answer["film"].tolist() == [0, 1, 2]
    assert (np.abs(answer["people"] - [600, 300, 200]) < 60).all()
    assert (answer["people_low"] <= answer["people_high"]).all()
    chosen, counted = answer.receipt.charges
    assert hush.compose([chosen]).delta(2.0) <= 0.5e-6 and hush.compose([counted]).delta(2.0) <= 0.5e-6
    with pytest.raises(hush.BudgetExceeded):
        plan.answer(ledger=ledger)


def test_noisy_counts_are_used_where_they_have_less_noise(table) -> None:
    grouped = table.group_by("film", keys=FILMS, groups_per_unit=1)
    plan = grouped.top(10).plan(1.0, 1e-6)
    assert plan.way == "counts" and plan.deviation == plan.deviations[1] < plan.deviations[0]
    answer = plan.answer(ledger=None)
    assert len(answer) == 10 and answer.names == ("people",)
    assert answer.receipt["top"]["way"] == "counts"
    assert (np.diff(answer["people"]) <= 0).all()
    assert "too high on average" in repr(answer)
    assert grouped.top(10).plan(1.0, 1e-6, family="selection").way == "selection"
    assert grouped.top(1).plan(1.0, 0.0).deviations[0] == pytest.approx(math.pi / math.sqrt(6.0))


def test_fewer_people_are_lost_than_by_noisy_counts() -> None:
    """Where everybody is in many groups, choices find the largest groups and counts with a limit do not: they keep one
    group of each person, and the largest differ by less than their noise.
    """
    rows = [(u, film) for u in range(400) for film in range(20) if film < 5 or u % 4 == 0]
    users, films = zip(*rows, strict=True)
    opened = tables.table(pa.table({"user": users, "film": films}), unit="user")
    found = opened.group_by("film", keys=list(range(20))).top(5).answer(1.0, 1e-6, ledger=None)
    assert sorted(found["film"].tolist()) == [0, 1, 2, 3, 4]  # 400 people against 100, with a deviation of 5.5


def test_a_plan_reads_no_data_and_depends_on_public_facts_only(table) -> None:
    other = tables.table(ratings(people=60), unit="user")
    plans = [repr(one.group_by("film", keys=FILMS).top(4).plan(1.0, 1e-6)) for one in (table, other)]
    assert plans[0] == plans[1]


def test_top_of_an_answer_costs_nothing(table) -> None:
    query = table.group_by("film", keys="private", groups_per_unit=12).aggregate(
        n=tables.count_units(), rows=tables.count()
    )
    answer = query.answer(2.0, 1e-5, ledger=None, family="gaussian")
    top = answer.top(2)
    assert len(top) == 2 and (np.diff(top["n"]) <= 0).all()
    assert top["n"][0] == answer["n"].max()
    assert answer.top(3, by="rows")["rows"][0] == answer["rows"].max()
    assert top.receipt.charges == answer.receipt.charges
    assert "2 groups with the largest noisy n" in top.receipt["post_processing"][0]
    assert len(answer.top(1000)) == len(answer)
    with pytest.raises(hush.InvalidParameter, match="no column 'x'"):
        answer.top(2, by="x")
    with pytest.raises(hush.InvalidParameter, match="call it on the answer itself"):
        top.top(1)


def test_bad_input_gets_one_sentence(table) -> None:
    grouped = table.group_by("film", keys=FILMS)
    with pytest.raises(hush.InvalidParameter, match="only 40 groups are listed"):
        grouped.top(41)
    with pytest.raises(hush.InvalidParameter, match="k must be a whole number"):
        grouped.top(0)
    with pytest.raises(hush.InvalidParameter, match="True or False"):
        grouped.top(3, counts="yes")
    with pytest.raises(hush.InvalidParameter, match="top needs a public list of keys"):
        table.group_by("film", keys="private", groups_per_unit=3).top(3)
    with pytest.raises(hush.IncompleteCall, match="missing groups_per_unit"):
        grouped.aggregate(n=tables.count())
    with pytest.raises(hush.IncompleteCall, match="missing groups_per_unit"):
        table.group_by("film", keys="private")
    with pytest.raises(hush.HushError):
        grouped.top(3).plan(-1.0, 1e-6)


def test_each_row_is_a_person() -> None:
    rows = pa.table({"film": [0] * 200 + [1] * 50 + [2] * 3})
    opened = tables.table(rows, unit=tables.each_row)
    answer = opened.group_by("film", keys=[0, 1, 2]).top(2).answer(1.0, 1e-6, ledger=None)
    assert answer["film"].tolist() == [0, 1]


def test_payments_are_for_one_choice(table) -> None:
    plan = table.group_by("film", keys=FILMS).top(2).plan(1.0, 1e-6)
    payment, numbers = hush.unaccounted(plan.charges), np.arange(40)
    assert len(payment.choose(plan.charge, numbers)) == 2
    with pytest.raises(hush.NotPaid):
        payment.choose(plan.charge, numbers)
    with pytest.raises(hush.InvalidParameter):
        hush.unaccounted(plan.charges).choose(plan.charge, np.arange(39))


def test_the_command_line(tmp_path, capsys) -> None:
    import pyarrow.parquet

    from hush.cli import main

    path = tmp_path / "ratings.parquet"
    pyarrow.parquet.write_table(ratings(), path)
    keys = ",".join(map(str, FILMS))
    asked = ["answer", str(path), "--unit", "user", "--by", "film", "--keys", keys, "--top", "3", "--epsilon", "4"]
    assert main([*asked, "--pure", "--json"]) in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert [row["film"] for row in found["answer"]] == [0, 1, 2] and found["receipt"]["top"]["k"] == 3
    assert main([*asked, "--pure", "--plan"]) in (0, None)
    assert "names only" in capsys.readouterr().out
    assert main([*asked, "--pure", "--share", "people"]) == 2
    assert "leave them out" in capsys.readouterr().err
    private = [*asked, "--count-units", "--delta", "1e-6", "--family", "gaussian", "--groups-per-unit", "12", "--json"]
    private[private.index(keys)] = "private"
    assert main(private) in (0, None)
    rows = json.loads(capsys.readouterr().out)["answer"]
    assert len(rows) == 3 and rows[0]["units"] >= rows[1]["units"] >= rows[2]["units"]
