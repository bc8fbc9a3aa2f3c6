"""Which groups exist: exact weights, neighbours, plans, answers, the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.tables.which.query import KeysPlan

GROUPS, DELTA = 4, 1e-4
SALT = b"a salt of thirty-two bytes......"


def pairs_of(people: int) -> list[tuple[int, str]]:
    """Person i has i % 8 + 1 groups, of twenty."""
    return [
        (person, f"g{(person * 7 + 3 * place) % 20}") for person in range(people) for place in range(person % 8 + 1)
    ]


def table_of(pairs: list[tuple[int, str]]) -> tables.Table:
    rows = pa.table({"person": [person for person, _ in pairs], "group": [group for _, group in pairs]})
    return tables.table(rows, unit="person")


@pytest.fixture(scope="module")
def plan() -> KeysPlan:
    query = table_of(pairs_of(1500)).group_by("group", keys="private", groups_per_unit=GROUPS).keys()
    return query.plan(1.0, DELTA)


def exact(plan: KeysPlan, table: tables.Table, **options: Any) -> dict[str, int]:
    query = replace(plan.query, table=table)
    found = query.aggregates(salt=SALT, hash="portable", **options).to_arrow().to_pydict()
    return dict(zip(found["group"], found[".units"], strict=True))


@pytest.mark.parametrize("first", ["rank", "aggregate"])
def test_a_person_moves_each_group_by_the_weight(plan: KeysPlan, first: str) -> None:
    """Neighbours: one person more moves as many groups as this person has, each by the weight for that number."""
    weights = {d: next(w for most, w in plan.spent.ladder if d <= most) for d in range(1, GROUPS + 1)}
    assert weights[1] > weights[GROUPS]
    before = exact(plan, table_of(pairs_of(80)), first=first)
    for groups in range(1, 9):
        more = [*pairs_of(80), *((1000, f"g{place}") for place in range(groups))]
        after = exact(plan, table_of(more), first=first)
        moved = {group: after.get(group, 0) - before.get(group, 0) for group in after}
        kept = min(groups, GROUPS)
        assert sorted(moved.values(), reverse=True)[:kept] == [weights[kept]] * kept
        assert sum(map(bool, moved.values())) == kept


def test_a_table_of_one_row_a_person_has_the_weight_of_one_group(plan: KeysPlan) -> None:
    rows = pa.table({"group": ["a", "a", "b"]})
    query = tables.table(rows, unit=tables.each_row).group_by("group", keys="private", groups_per_unit=1).keys()
    found = replace(query, ladder=plan.spent.ladder).aggregates(salt=SALT).to_arrow().to_pydict()
    weight = plan.spent.ladder[0][1]
    assert found == {"group": ["a", "b"], ".units": [2 * weight, weight]}


def test_an_answer_holds_keys_alone(plan: KeysPlan) -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=DELTA)
    answer = plan.answer(ledger=ledger, label="which")
    assert answer.to_arrow().schema.names == ["group"]
    assert sorted(answer["group"].tolist()) == sorted({group for _, group in pairs_of(1500)})  # far above the threshold
    assert ledger.spent.epsilon <= 1.0 and ledger.spent.delta <= DELTA
    receipt = answer.receipt
    assert receipt["aggregates"] == {} and receipt["weights"] == [list(rung) for rung in plan.spent.ladder]
    assert receipt["noise"]["family"] == "bump" and receipt["keys"]["rungs"]
    text = f"{answer}"
    assert "sum of weights" in text and "intervals" not in text
    page = hush.report.statement(answer, ledger=ledger).markdown
    assert "sum of its people's weights" in page and "noise intervals" not in page
    assert plan.shares.epsilon == 1.0 and plan.entries()[0].charges[0] == plan.spent.charge


def test_a_plan_says_what_is_shown(plan: KeysPlan) -> None:
    text = repr(plan)
    assert "without any number" in text and "a person adds" in text
    sizes = [plan.size_shown(groups) for groups in range(1, GROUPS + 1)]
    assert sizes == sorted(sizes) and sizes[0] < 0.7 * sizes[-1] < 60.0
    assert plan.errors() == {} and plan.what_if() == []
    assert "without any number" in plan._repr_html_()
    with pytest.raises(hush.InvalidParameter, match="from 1 to 4"):
        plan.size_shown(5)


def test_few_groups_use_the_best_rule() -> None:
    query = table_of(pairs_of(10)).group_by("group", keys="private", groups_per_unit=1).keys()
    made = query.plan(1.0, 1e-6)
    assert made.spent.plan.family == "optimal_rule" and made.size_shown(1) < 15.5
    answer = query.answer(1.0, 1e-6, ledger=None)
    assert len(answer) == 0 and "no group reached the threshold" in f"{answer}"


def test_bad_questions_get_one_sentence() -> None:
    table = table_of(pairs_of(10))
    with pytest.raises(hush.InvalidParameter, match="finds groups in the data"):
        table.group_by("group", keys=["g1"], groups_per_unit=1).keys()
    with pytest.raises(hush.Unsupported, match="declared limit"):
        table.group_by("group", keys="private", groups_per_unit="private").keys()
    with pytest.raises(hush.InvalidParameter, match="delta greater than 0"):
        table.group_by("group", keys="private", groups_per_unit=1).keys().plan(1.0, 0.0)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pa.table({"person": np.arange(400), "group": [f"g{i % 4}" for i in range(400)]})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
    asked = ["answer", str(tmp_path / "rows.parquet"), "--unit", "person", "--by", "group", "--keys", "private"]
    asked += ["--groups-per-unit", "1", "--epsilon", "1", "--delta", "1e-6", "--which-groups"]
    assert main([*asked, "--out", str(tmp_path / "keys.csv")]) == 0
    assert (tmp_path / "keys.csv").read_text().replace('"', "").split() == ["group", "g0", "g1", "g2", "g3"]
    assert main([*asked, "--plan"]) == 0
    assert "without any number" in capsys.readouterr().out
    for more, words in (
        (["--count-units"], "publishes no number"),
        (["--family", "gaussian"], "does not go with --family"),
        (["--times", "3"], "does not go with --times"),
    ):
        assert main([*asked, *more]) != 0
        assert words in capsys.readouterr().err
    assert main([*asked[:6], "--which-groups", "--epsilon", "1", "--delta", "1e-6"]) != 0
    assert "--keys private" in capsys.readouterr().err
