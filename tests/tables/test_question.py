"""The digest of a question: equal for equal questions on other files, and different for different questions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet

import hush
from hush import tables
from hush.tables.planned import series_of
from hush.tables.question import question_digest

PLAN = {"family": "gaussian", "limits_share": 0.0, "times": 12}


def rows(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "patient": random.integers(0, 60, 200),
            "ward": random.choice(["a", "b"], 200),
            "cost": random.uniform(0.0, 100.0, 200),
            "fee": random.uniform(0.0, 100.0, 200),
            "age": random.integers(0, 90, 200),
        }
    )


def opened(seed: int = 1) -> Any:
    return tables.table(rows(seed), unit="patient", population="hospital")


def by_ward(table: Any, **aggregates: Any) -> Any:
    return table.group_by("ward", keys=["a", "b"], groups_per_unit=1).aggregate(**aggregates)


def total(column: Any = "cost", low: float = 0, high: float = 100, **options: Any) -> Any:
    return tables.sum(column, low=low, high=high, **options)


def people(table: Any) -> Any:
    return table.per_unit(n=lambda t: t.count(), most=lambda t: t["cost"].max())


def wards(name: str) -> Any:
    return tables.public(pa.table({"ward": ["a", "b"], name: ["x", "y"]}))


def joined(table: Any, name: str = "kind", how: str = "inner") -> Any:
    made = table.join(wards(name), on="ward", how=how)
    return made.filter(made[name] == "x").aggregate(s=tables.count_units())


#: Questions that differ in one respect each. All of them have the same names and shapes where that is possible.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "sum of cost": lambda t: by_ward(t, s=total()),
    "sum of fee": lambda t: by_ward(t, s=total("fee")),
    "sum of an expression": lambda t: by_ward(t, s=total(t["cost"] * 1)),
    "sum of another expression": lambda t: by_ward(t, s=total(t["cost"] * 2)),
    "mean of cost": lambda t: by_ward(t, s=tables.mean("cost", low=0, high=100)),
    "other bounds": lambda t: by_ward(t, s=total(high=99)),
    "other rows": lambda t: by_ward(t, s=total(rows_per_unit=2)),
    "private bounds": lambda t: by_ward(t, s=tables.sum("cost", low="private", high="private", rows_per_unit=1)),
    "other key order": lambda t: t.group_by("ward", keys=["b", "a"], groups_per_unit=1).aggregate(s=total()),
    "other limit": lambda t: t.group_by("ward", keys=["a", "b"], groups_per_unit=2).aggregate(s=total()),
    "no groups": lambda t: t.aggregate(s=total()),
    "computed cost": lambda t: by_ward(t.mutate(cost=t["fee"] * 1.5), s=total()),
    "computed in another way": lambda t: by_ward(t.mutate(cost=t["fee"] * 2.5), s=total()),
    "computed ward": lambda t: by_ward(t.mutate(ward=ibis.ifelse(t["age"] > 40, "a", "b")), s=total()),
    "computed from 50 on": lambda t: by_ward(t.mutate(ward=ibis.ifelse(t["age"] > 50, "a", "b")), s=total()),
    "the old": lambda t: by_ward(t.filter(t["age"] > 60), s=total()),
    "the very old": lambda t: by_ward(t.filter(t["age"] > 70), s=total()),
    "a hidden filter": lambda t: by_ward(t.mutate(old=t["age"] > 61).filter("old"), s=total()),
    "another hidden filter": lambda t: by_ward(t.mutate(old=t["age"] > 71).filter("old"), s=total()),
    "one row each": lambda t: people(t).aggregate(s=tables.count_units()),
    "visits of a person": lambda t: people(t).aggregate(s=total("n")),
    "largest cost of a person": lambda t: people(t).aggregate(s=total("most")),
    "of the old, one row each": lambda t: people(t.filter(t["age"] > 60)).aggregate(s=total("n")),
    "window": lambda t: t.mutate(k=lambda s: s.count().over(group_by="patient")).aggregate(s=total("k")),
    "window of the old": lambda t: (
        t.filter(t["age"] > 60).mutate(k=lambda s: s.count().over(group_by="patient")).aggregate(s=total("k"))
    ),
    "join": joined,
    "left join": lambda t: joined(t, how="left"),
    "join of another table": lambda t: joined(t, "sort"),
    "histogram": lambda t: t.aggregate(s=tables.histogram("age", edges=[0, 50, 100])),
    "other edges": lambda t: t.aggregate(s=tables.histogram("age", edges=[0, 60, 100])),
    "median": lambda t: t.aggregate(s=tables.quantile("age", 0.5, low=0, high=100)),
    "quartile": lambda t: t.aggregate(s=tables.quantile("age", 0.25, low=0, high=100)),
}


def test_no_two_different_questions_have_the_same_digest() -> None:
    table = opened()
    found = {question_digest(ask(table)): name for name, ask in QUESTIONS.items()}
    assert len(found) == len(QUESTIONS), set(QUESTIONS) - set(found.values())


def test_the_same_question_has_the_same_digest_on_another_table(tmp_path: Path) -> None:
    """Other rows, other files and other connections; a further column that nothing uses changes nothing."""
    file = tmp_path / "february.parquet"
    pyarrow.parquet.write_table(rows(3).append_column("more", pa.array([0] * 200)), file)
    one, two, three = opened(), opened(2), tables.table(file, unit="patient", population="hospital")
    for name, ask in QUESTIONS.items():
        assert question_digest(ask(one)) == question_digest(ask(two)) == question_digest(ask(three)), name


def test_the_digest_is_the_same_in_another_process() -> None:
    code = (
        "from test_question import *\ntable = opened()\nfor q in QUESTIONS.values(): print(question_digest(q(table)))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent, timeout=300
    )
    assert made.returncode == 0, made.stderr
    table = opened()
    assert made.stdout.split() == [question_digest(ask(table)) for ask in QUESTIONS.values()]


def test_a_column_counts_by_what_it_is_computed_from() -> None:
    table = opened()
    named = by_ward(table.mutate(old=table["age"] > 61, unused=table["fee"]).filter("old"), s=total())
    assert question_digest(named) == question_digest(by_ward(table.filter(table["age"] > 61), s=total()))


def test_a_name_leaves_filters_out_and_nothing_else() -> None:
    table = opened()

    def series(name: str, text: str | None) -> str:
        return series_of(QUESTIONS[name](table), 1.0, 1e-6, 12, text)

    assert series("the old", "year") == series("the very old", "year") == series("sum of cost", "year")
    assert series("the old", None) != series("the very old", None)
    assert series("sum of fee", "year") != series("sum of cost", "year") != series("sum of cost", "other year")
    assert series("computed cost", "year") != series("computed in another way", "year")


def test_another_question_never_gets_the_answer_that_was_kept() -> None:
    """The same names and shape, another column: both are charged, and both are answered from their own column."""
    ledger, table = hush.Ledger(None, epsilon=900.0, delta=1e-3), opened()
    for column in ("cost", "fee"):
        plan = by_ward(table, s=total(column, high=1000)).plan(300.0, 1e-6, **PLAN)
        plan.answer(ledger=ledger, release=1)
    assert len(ledger.entries) == 2
    assert len({entry.turn.series for entry in ledger.entries if entry.turn}) == 2
