"""Contribution limits that a policy leaves to a private choice, in Python, in SQL and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.errors import InvalidParameter
from hush.tables.policy import ColumnRule, Policy, TableRule
from hush.tables.sql import statement

KEYS = ["a", "b", "c", "d"]
#: At this epsilon the noise of the search moves a count of people by 1 with a probability below 1e-9.
LARGE = 1000.0


def visits() -> pd.DataFrame:
    """600 people in two wards each, with three rows in each."""
    rows = [(i, KEYS[(i + g) % 4], float(i % 50)) for i in range(600) for g in range(2) for _ in range(3)]
    return pd.DataFrame(rows, columns=["person", "ward", "cost"])


def policy(source: Any = None, **limits: Any) -> Policy:
    columns = {"ward": ColumnRule(values=KEYS), "cost": ColumnRule(low=0, high=50)}
    rule = TableRule(visits() if source is None else source, unit="person", columns=columns, **limits)
    return Policy({"visits": rule})


PRIVATE = {"groups_per_unit": "private", "rows_per_unit": "private"}


def test_a_question_that_leaves_the_limits_out_has_them_chosen() -> None:
    query = policy(**PRIVATE).open("visits").group_by("ward").aggregate(n=tables.count(), cost=tables.mean("cost"))
    assert query.open_limits and query.open_rows == {"n", "cost"}
    made = query.answer(LARGE, 1e-6, ledger=None, family="gaussian")
    assert made.receipt["limits_found"]["groups_per_unit"] == 2
    assert made.receipt["limits_found"]["rows_per_unit"] == 3
    people = policy(**PRIVATE).open("visits").aggregate(n=tables.count_units())
    assert not people.open_limits


def test_numbers_by_hand_are_accepted_and_a_declared_number_is_a_limit_of_the_choice() -> None:
    table = policy(**PRIVATE).open("visits")
    query = table.group_by("ward", groups_per_unit=3).aggregate(n=tables.count(rows_per_unit=2))
    assert not query.open_limits and query.grouping.groups == 3
    limited = policy(groups_per_unit=1, rows_per_unit="private").open("visits")
    asked = limited.group_by("ward", groups_per_unit="private").aggregate(n=tables.count())
    assert asked.grouping.groups == 1 and asked.open_rows == {"n"}


def test_a_statement_has_its_limits_chosen() -> None:
    """Formulas and joint levels need the noise that the found limits imply."""
    text = "SELECT ward, COUNT(*) AS n, AVG(cost) + 1 AS m FROM visits GROUP BY ward"
    plan = statement(text, policy(**PRIVATE)).plan(LARGE, 1e-6, family="gaussian")
    assert "chosen privately" in plan.described()
    for together in (False, True):
        made = plan.answer(together=together)
        assert made.receipt["limits_found"]["rows_per_unit"] == 3
        widths = [high - low for high, low in zip(made["n_high"].tolist(), made["n_low"].tolist(), strict=True)]
        values = visits().groupby("ward").size().reindex(KEYS).tolist()
        assert all(0.0 <= width < 4.0 for width in widths)
        assert all(abs(n - value) < 4.0 for n, value in zip(made["n"].tolist(), values, strict=True))
        assert all(abs(m - 25.5) < 2.0 for m in made["m"].tolist())


def test_intervals_of_all_numbers_use_the_bounds_that_were_found() -> None:
    columns = {"ward": ColumnRule(values=KEYS), "cost": ColumnRule("private", "private")}
    rule = TableRule(visits(), unit="person", columns=columns, groups_per_unit=2, rows_per_unit=3)
    made = hush.sql(
        "SELECT AVG(cost) AS m FROM visits", Policy({"visits": rule}), 5.0, 1e-6, together=True, family="gaussian"
    )
    value, low, high = (float(made[name][0]) for name in ("m", "m_low", "m_high"))
    assert low < value < high and 15.0 < value < 35.0 and high - low < 20.0


def test_what_needs_a_number_says_so(tmp_path: Path) -> None:
    with pytest.raises(hush.HushError, match="need a number for rows_per_unit"):
        hush.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (ward)", policy(**PRIVATE), 1.0, 1e-6)
    with pytest.raises(InvalidParameter, match="needs a number for rows_per_unit"):
        policy(**PRIVATE).open("visits").marginals(["ward"], tables=[("ward",)], keys={"ward": KEYS})
    with pytest.raises(InvalidParameter, match='or "private", got'):
        policy(groups_per_unit="some")


def test_a_policy_file_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visits().to_parquet(tmp_path / "visits.parquet")
    file = tmp_path / "hush.toml"
    file.write_text(policy(str(tmp_path / "visits.parquet"), **PRIVATE).text())
    assert 'groups_per_unit = "private"' in file.read_text()
    words = ["--policy", str(file), "--epsilon", "1000", "--delta", "1e-6"]
    assert main(["answer", "--table", "visits", "--by", "ward", "--count", *words]) == 0
    assert "groups_per_unit 2 and rows_per_unit 3" in " ".join(capsys.readouterr().out.split())
    assert main(["sql", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", *words]) == 0
    assert "found privately" in capsys.readouterr().out
    assert main(["policy", "show", str(file)]) == 0
    assert "groups chosen privately, rows chosen privately" in " ".join(capsys.readouterr().out.split())
