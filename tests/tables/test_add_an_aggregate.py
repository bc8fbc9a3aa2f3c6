"""The aggregate of docs/add_an_aggregate.md works in plans, answers, receipts and intervals, and within its bounds."""

from __future__ import annotations

import dataclasses
import re

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from paid import noisy_columns
from scipy.stats import binom
from tables.added import PAGE, share

import hush
from hush import InvalidParameter, tables
from hush.tables.estimate import Scaled
from hush.tables.measure import Prepared, Total, number_of_rows

RISK = 1e-8  # of a false alarm, for each comparison
ROOT = PAGE.parents[1]


@pytest.fixture(scope="module")
def people() -> tables.Table:
    """600 people with 1 to 4 rows each in three groups; the condition is null in one row of ten."""
    random = np.random.default_rng(5)
    who = np.repeat(np.arange(600), random.integers(1, 5, 600))
    old = pa.array(random.random(who.size) < 0.3, mask=random.random(who.size) < 0.1)
    rows = {"who": who, "g": random.choice(["a", "b", "c"], who.size), "old": old, "x": random.random(who.size)}
    return tables.table(pa.table(rows), unit="who")


def asked(people, **more):
    return people.group_by("g", keys=["a", "b", "c"], groups_per_unit=2).aggregate(
        s=share()("old", rows_per_unit=2), **more
    )


def test_its_sensitivity_and_noise_are_those_of_two_columns(people):
    reach = asked(people, m=tables.mean("x", low=0, high=1)).sensitivity
    assert reach.linf["s.sum"] == reach.linf["s.count"] == 2 and reach.l0 == 2 * 4


def test_one_person_moves_it_by_no_more_than_declared_and_someone_by_as_much(people):
    """Every tenth person is removed, one at a time, under one salt."""
    query, salt, most = asked(people), bytes(32), dict.fromkeys(("s.sum", "s.count"), 0)
    before = query.aggregates(salt=salt).to_arrow()
    for who in range(0, 600, 10):
        after = asked(people.filter(people["who"] != who)).aggregates(salt=salt).to_arrow()
        for name in most:
            gaps = np.abs(before[name].to_numpy() - after[name].to_numpy())
            assert (gaps > 0).sum() <= query.sensitivity.groups
            most[name] = max(most[name], int(gaps.max()))
    assert most == {name: query.sensitivity.linf[name] for name in most}


def test_the_plan_states_its_error_and_bounds(people):
    plan = asked(people).plan(1.0, 1e-6, family="laplace")
    text = repr(plan)
    assert "s: at most 2 rows per person and group" in text and f"+-{plan.errors()['s']:.4g}" in text
    assert plan.errors(4000)["s"] < plan.errors(1000)["s"] < 0.2


def test_the_answer_is_near_the_truth_and_inside_its_interval(people):
    query = asked(people)
    exact = query.aggregates(salt=bytes(32)).to_arrow()
    truth = 0.5 + 0.5 * exact["s.sum"].to_numpy() / exact["s.count"].to_numpy()
    plan = dataclasses.replace(query.plan(50.0, 1e-6, family="laplace"), options={"salt": bytes(32)})
    made = plan.answer(ledger=None, level=0.999_999)
    low, high = made["s_low"], made["s_high"]
    assert ((low <= made["s"]) & (made["s"] <= high)).all() and ((low <= truth) & (truth <= high)).all()
    assert (high - low < 0.2).all()
    assert "s uses at most 2 rows of a person in a group" in " ".join(repr(made).split())


def test_the_receipt_names_it_and_the_ledger_is_charged(people):
    book = hush.Ledger(None, epsilon=2.0, delta=1e-5)
    made = asked(people).plan(1.0, 1e-6, family="laplace").answer(ledger=book, label="shares")
    assert made.receipt["aggregates"] == {"s": "share"} and len(book.entries) == 1
    assert made.receipt["bounds"] == ["s: at most 2 rows per person and group"]
    assert set(made.receipt["columns"]) == {"s.sum", "s.count"}
    assert [line for line in made.left_out["shares"] if "not used for s" in line["what"]]


def test_it_works_with_private_keys_weights_and_files(people, tmp_path):
    query = people.group_by("g", keys="private", groups_per_unit=2).aggregate(
        s=share()(people["x"] < 0.5), n=tables.count()
    )
    plan = query.plan(50.0, 1e-6, family="laplace", weights={"s": 4.0})
    assert plan.spent.mechanisms["s.sum"].noise.variance < plan.spent.mechanisms["n"].noise.variance
    plan.write(tmp_path / "o.parquet", ledger=None)
    found = pyarrow.parquet.read_table(tmp_path / "o.parquet")
    assert found.column("g").to_pylist() == ["a", "b", "c"] and {"s", "s_low", "s_high"} <= set(found.column_names)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_hold_the_truth_as_often_as_they_say(people, level):
    """20,000 releases of each group: no more misses than the level allows; noise of 3/2 the scale is noticed."""
    query = asked(people)
    exact = query.aggregates().to_arrow()
    (measure,) = query.measures
    columns = {name: exact[name].to_numpy() for name in query.sensitivity.columns}
    truth = np.repeat(measure.answer(columns), 20_000)
    quiet, loud = (query.plan(e, 0.0, family="laplace", limits_share=0.0).spent for e in (3.0, 2.0))
    for drawn, honest in ((quiet, True), (loud, False)):
        released = noisy_columns({name: np.repeat(column, 20_000) for name, column in columns.items()}, drawn)
        low, high = measure.interval(released, quiet.mechanisms, level)
        misses = int(((low > truth + 1e-12) | (truth - 1e-12 > high)).sum())
        assert (misses <= binom.isf(RISK, truth.size, 1.0 - level)) == honest


def test_it_rejects_what_is_no_condition(people):
    with pytest.raises(InvalidParameter, match="'s' needs a condition that is true or false, got one of type float64"):
        people.aggregate(s=share()("x"))
    with pytest.raises(hush.Unsupported, match="uses several rows"):
        people.aggregate(s=share()(ibis._.x > ibis._.x.mean()))
    with pytest.raises(TypeError, match=r"write share\(table\['age'\] >= 65\)"):
        share()()


def test_the_page_names_files_and_fields_that_exist():
    """Except the files of the new aggregate."""
    text = PAGE.read_text()
    for name in set(re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", text)):
        assert name.endswith(("shares.py", "test_share.py")) or (ROOT / name).exists(), name
    fields = text.split("| field of `Prepared` |")[1].split("\n\n")[0]
    named = {
        word for row in re.findall(r"^\| (`[^|]+) \|", fields, flags=re.MULTILINE) for word in re.findall(r"\w+", row)
    }
    assert named <= set(Prepared.__dataclass_fields__) and len(named) >= 9


def test_no_module_compares_the_kind_of_an_aggregate():
    """An aggregate is one file: other modules ask a prepared aggregate, they do not switch on its name."""
    for path in (ROOT / "src" / "hush" / "tables").glob("*.py"):
        for line in path.read_text().splitlines():
            assert not re.search(r"\.kind\s*(==|!=|in\b|not in\b)", line), f"{path.name}: {line.strip()}"
            assert not re.search(r"(startswith\(\"\.\"\)|endswith\(\"\.)", line), f"{path.name}: {line.strip()}"


def test_a_wrong_description_of_an_aggregate_is_refused():
    """Private keys may only use a total of 0 or 1 per person, and bins need a limit on rows."""
    with pytest.raises(InvalidParameter, match="has counts_people=True"):
        Prepared("n", "x", Scaled("n"), totals=(Total("n", 0, 2, number_of_rows),), counts_people=True)
    with pytest.raises(InvalidParameter, match="needs a limit on the rows of a person"):
        Prepared("h", "x", Scaled("h"), bins=3)


def test_only_the_same_column_is_shared(people):
    """Shared if both totals allow it, and rows, bounds, value and sum are the same; then noise is drawn once."""
    mean, variance = tables.mean("x", low=0, high=1), tables.variance("x", low=0, high=1)
    assert people.aggregate(m=mean, v=variance, w=variance).shared == {
        "v.sum": "m.sum",
        "v.count": "m.count",
        "w.sum": "m.sum",
        "w.square": "v.square",
        "w.count": "m.count",
    }
    others = [
        tables.mean("x", low=0, high=2),
        tables.mean("x", low=0, high=1, rows_per_unit=2),
        tables.mean(people["x"] * 1.0, low=0, high=1),
        tables.sum("x", low=0, high=1, rows_per_unit=2),
        share()("old"),
    ]
    for other in others:
        assert people.aggregate(m=mean, o=other).shared == {}
    assert people.aggregate(a=share()("old"), b=share()("old")).shared == {}  # the page does not allow it
