"""A release of a series belongs to its block, its account, its table and its public lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hush
from hush import tables
from hush.tables.sql import statement

MONTHS = pa.table({"id": [f"p{i}" for i in range(40)] * 2, "month": ["01"] * 40 + ["02"] * 40})


class Stopped(BaseException):
    pass


def stop(text: str) -> None:
    if text == "drawing noise":
        raise Stopped


def monthly(month: str) -> Any:
    table = tables.table(MONTHS, unit=["id", "month"]).in_block("month", month)
    return table.aggregate(n=tables.count_units()).plan(1.0, 0.0, times=2, series="x", limits_share=0.0)


def test_a_release_that_was_charged_to_one_block_is_not_given_for_another() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=0.0, blocks="month")
    with pytest.raises(Stopped):
        monthly("01").answer(ledger=ledger, release=1, progress=stop)
    with pytest.raises(hush.InvalidParameter, match="another block of time or another account"):
        monthly("02").answer(ledger=ledger, release=1)
    assert [entry.block for entry in ledger.entries] == ["01"]
    assert len(monthly("01").answer(ledger=ledger, release=1)["n"]) == 1  # where it was charged it is drawn


def test_a_release_that_one_account_paid_is_not_given_to_another() -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=0.0, accounts={"a": (1.0, 0.0), "b": (0.01, 0.0)})
    plan = tables.table(MONTHS, unit="id").aggregate(n=tables.count_units()).plan(1.0, 0.0, times=2, limits_share=0.0)
    with pytest.raises(Stopped):
        plan.answer(ledger=ledger, release=1, account="a", progress=stop)
    with pytest.raises(hush.InvalidParameter, match="another account"):
        plan.answer(ledger=ledger, release=1, account="b")


def test_a_list_in_memory_is_part_of_the_question() -> None:
    rows = pa.table({"id": [str(i) for i in range(400)], "w": ["x"] * 300 + ["y"] * 100})
    table, ledger = tables.table(rows, unit="id", population="p"), hush.Ledger(None, epsilon=5.0, delta=1e-5)
    found = []
    for word in ("x", "y"):
        listed = table.join(tables.public(pa.table({"w": [word], "keep": [True]})), on="w")
        plan = listed.aggregate(n=tables.count_units()).plan(1.0, 1e-6, times=2, family="gaussian", limits_share=0.0)
        found.append(float(plan.answer(ledger=ledger, release=1)["n"][0]))
    assert found[0] > 200 > found[1] and len(ledger.entries) == 2


def test_two_tables_of_a_policy_are_two_questions(tmp_path: Path) -> None:
    for name, size in (("visits", 300), ("deaths", 20)):
        pq.write_table(pa.table({"id": [str(i) for i in range(size)]}), tmp_path / f"{name}.parquet")
    part = '[tables.{0}]\nsource = "{0}.parquet"\nunit = "id"\npopulation = "town"\nledger = "town.ledger"\n'
    (tmp_path / "hush.toml").write_text(part.format("visits") + part.format("deaths"))
    hush.Ledger(tmp_path / "town.ledger", epsilon=5.0, delta=1e-5).close()
    policy, found = tables.Policy.read(tmp_path / "hush.toml"), []
    for name in ("visits", "deaths"):
        asked = statement(f"SELECT COUNT(DISTINCT id) AS n FROM {name}", policy)
        found.append(float(asked.plan(1.0, 1e-6, times=2, limits_share=0.0).answer(release=1)["n"][0]))
    assert found[0] > 150 > found[1]


def test_a_table_of_a_few_groups_has_a_chart_of_as_many() -> None:
    rows = pa.table({"id": [str(i) for i in range(60)], "g": [str(i % 6) for i in range(60)]})
    query = tables.table(rows, unit="id").group_by("g", keys=[str(i) for i in range(6)], groups_per_unit=1)
    made = query.aggregate(n=tables.count_units()).plan(1.0, 0.0).answer(ledger=None)
    assert "and 3 more groups" in made.text(groups=3)


def test_bounds_that_are_not_found_yet_are_not_stated_in_the_ledger() -> None:
    rows = pa.table({"id": [str(i) for i in range(500)], "c": [float(i % 7) for i in range(500)]})
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    query = tables.table(rows, unit="id").aggregate(m=tables.mean("c", low="private", high="private"))
    query.plan(1.0, 1e-6, family="laplace").answer(ledger=ledger)
    assert "bounds found privately" in ledger.entries[0].about and "[0.0, 1.0]" not in ledger.entries[0].about
