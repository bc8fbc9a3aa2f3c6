"""From a table to private answers: right on average, as noisy as planned, charged once, and nothing for bad
questions.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from effort import thinned
from grid_quantile import grid_quantile

import hush
from hush import BudgetExceeded, InvalidParameter, Ledger

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from hush import tables  # noqa: E402
from hush.tables import count, count_units, histogram, mean, table, variance  # noqa: E402
from hush.tables.sample_table import sample  # noqa: E402

WARDS = ["emergency", "surgery", "internal medicine", "cardiology", "nowhere"]


@pytest.fixture(scope="module")
def visits():
    return tables.table(sample("visits", 20_000), unit="patient_id")


@pytest.fixture(scope="module")
def query(visits):
    return visits.group_by("ward", keys=WARDS, groups_per_unit=2).aggregate(
        n=count(rows_per_unit=2),
        people=count_units(),
        total=hush.tables.sum("cost", low=0, high=20_000),
        stay=mean("stay_days", low=0, high=30),
        spread=variance("stay_days", low=0, high=30),
        ages=histogram("age", edges=[0, 18, 65, 120]),
        median=grid_quantile("stay_days", 0.5, low=0, high=30, bins=31),
    )


@pytest.fixture(scope="module")
def plan(query):
    return query.plan(
        50.0, 1e-6, family="gaussian"
    )  # quick to calibrate; little noise: what the answers are is easy to see


def test_answers_are_near_the_truth(query, plan):
    """Within five half widths of what the same bounded aggregates are without noise; with a fixed salt both keep the
    same rows.
    """
    salt = b"s" * 16
    exact = query.aggregates(salt=salt).to_arrow()
    truth = {name: exact.column(name).to_numpy() for name in exact.column_names if name != "ward"}
    made = dataclasses.replace(plan, options={"salt": salt}).answer(ledger=None)
    for measure in query.measures:
        value, want = measure.answer(truth), None
        names = (
            [measure.name]
            if measure.kind != "histogram"
            else [name for name in made.names if name.startswith(measure.name)]
        )
        for i, name in enumerate(names):
            want = value if measure.kind != "histogram" else value[:, i]
            low, high = made[f"{name}_low"], made[f"{name}_high"]
            room = 5.0 * (high - low) + 1e-9
            populated = np.arange(len(WARDS)) < 4  # an empty group has no mean
            assert (np.abs(made[name] - want)[populated] <= room[populated]).all(), name
            inside = (low <= made[name] + 1e-9) & (made[name] <= high + 1e-9)
            assert inside[populated].all(), name
    assert made.to_arrow().column("ward").to_pylist() == WARDS


def test_noise_is_what_the_plan_says(visits):
    """Variance over many groups against the plan's (4.9 sigma: 1e-6), and not 2/3 or 3/2 of the scale."""
    empty = visits.group_by("visit_id", keys=list(range(-4000, 0)), groups_per_unit=3).aggregate(
        n=count(), total=hush.tables.sum("cost", low=-5, high=7)
    )
    plan = empty.plan(1.0, 1e-6, family="gaussian")
    made = plan.answer(ledger=None)
    for name, bound in (("n", 1.0), ("total", 7.0)):
        ratio = np.mean(made[name] ** 2) / (plan.spent.noise.variance * bound**2)
        assert abs(ratio - 1.0) * math.sqrt(4000 / 2.0) < 4.9
        for factor in (2.0 / 3.0, 1.5):
            assert abs(ratio / factor**2 - 1.0) * math.sqrt(4000 / 2.0) > 4.9


def test_one_charge_for_everything(query):
    """All aggregates are one release, and the ledger holds what the curve of that release is."""
    book = Ledger(None, epsilon=2.0, delta=1e-5)
    made = query.plan(1.0, 1e-6, family="gaussian").answer(ledger=book, label="everything")
    (entry,) = book.entries
    assert entry.label == "everything" and made.receipt["ledger"]["number"] == 1
    assert float(np.asarray(hush.compose(entry.charges).delta(1.0))) <= 1e-6
    assert book.source is not None


def test_private_keys_are_charged_and_small_groups_stay_hidden(visits):
    """A group of one unit is shown with probability at most `chance` by the noise's own tail; none of 20,000 is seen
    here, but for one run in a million."""
    query = visits.group_by("visit_id", keys="private", groups_per_unit=4).aggregate(n=count())
    plan = query.plan(1.0, 1e-11, family="gaussian")
    spent = plan.spent
    made, keys = spent.mechanisms[spent.units], spent.rule.keys
    tail = float(made.noise.sf(spent.threshold - 1.0 - 0.5 * made.step))
    assert tail <= keys.chance * (1.0 + 1e-9) and 4.0 * keys.chance <= 1e-11
    assert 4 * float(made.noise.sf(spent.threshold - 1.0 - 2.0 * made.step)) > 0.9e-11
    book = Ledger(None, epsilon=2.0, delta=1e-5)
    assert len(plan.answer(ledger=book)) == 0  # every visit is a group of one
    assert book.entries[0].extra_delta == 0.0 and book.entries[0].charges[0].keys == keys
    wards = (
        visits.group_by("ward", keys="private", groups_per_unit=2).aggregate(n=count()).answer(1.0, 1e-6, ledger=None)
    )
    assert 5 <= len(wards) <= 12 and "surgery" in wards.to_arrow().column("ward").to_pylist()


def test_private_keys_need_delta(visits):
    with pytest.raises(InvalidParameter, match="delta greater than 0"):
        visits.group_by("ward", keys="private", groups_per_unit=2).aggregate(n=count()).plan(1.0, 0.0)


def test_weights_move_accuracy(query):
    """Twice the weight, half the error of that aggregate against the others; the whole keeps its promise."""
    plain, heavy = (
        query.plan(1.0, 1e-6, family="gaussian"),
        query.plan(1.0, 1e-6, family="gaussian", weights={"people": 2.0}),
    )
    a, b = plain.errors(), heavy.errors()
    assert b["people"] < 0.75 * a["people"] and b["total"] > a["total"]
    assert b["total"] / b["people"] == pytest.approx(2.0 * a["total"] / a["people"], rel=0.1)
    charge = heavy.spent.charge
    noise, bound, times = charge.noise, charge.sensitivity, charge.times
    assert hush.delta(noise, 1.0, bound, times=times) <= 1e-6
    with pytest.raises(InvalidParameter, match="weights names 'nobody'"):
        query.plan(1.0, 1e-6, weights={"nobody": 2.0}, family="gaussian")


def test_a_single_count_is_lattice_laplace_at_its_best(visits):
    """One count of units at epsilon 1: the least variance known, 1.8413, below Laplace (2) and the staircase
    (1.918).
    """
    plan = visits.aggregate(people=count_units()).plan(1.0, 1e-6)
    assert plan.spent.plan.variance == pytest.approx(1.84134, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 6.0])
def test_a_single_count_is_never_noisier_than_the_geometric_law(visits, epsilon):
    """Where epsilon is large the lattice Laplace is far better than any continuous noise."""
    plan = visits.aggregate(people=count_units()).plan(epsilon, 1e-6)
    geometric = 2.0 * math.exp(-epsilon) / (1.0 - math.exp(-epsilon)) ** 2
    assert plan.spent.plan.variance <= geometric * (1.0 + 1e-9)


def test_the_plan_shows_errors_before_anything_is_spent(plan):
    text = repr(plan)
    for word in ("stay", "groups per person", "bounds", "Use "):
        assert word in text
    rows = plan.what_if()
    assert [row["groups_per_unit"] for row in rows] == [1, 2, 4, 5] and rows[1]["error"] == 1.0  # five are listed
    assert rows[0]["error"] < 1.0 < rows[2]["error"]
    errors = plan.errors(rows=10)
    assert errors["stay"] > plan.errors(rows=10_000)["stay"]


def test_what_an_answer_can_become(plan, tmp_path):
    made = plan.answer(ledger=None)
    assert "emergency" in repr(made) and "#" in repr(made) and "none was charged" in repr(made)
    assert "<table>" in made._repr_html_() and len(made) == len(WARDS)
    made.to_parquet(tmp_path / "answer.parquet")
    made.to_csv(tmp_path / "answer.csv")
    import pyarrow.parquet

    back = pyarrow.parquet.read_table(tmp_path / "answer.parquet")
    assert back.column_names == made.to_arrow().column_names
    assert json.loads(back.schema.metadata[b"hush"])["guarantee"]["epsilon"] == 50.0
    assert (tmp_path / "answer.csv").read_text().count("\n") == len(WARDS) + 1
    assert list(made.to_pandas()["ward"]) == WARDS
    with pytest.raises(InvalidParameter, match="no column 'nothing'"):
        made["nothing"]
    json.dumps(dict(made.receipt))


def test_no_budget_no_answer(query):
    small = Ledger(None, epsilon=0.5, delta=1e-6)
    with pytest.raises(BudgetExceeded):
        query.answer(1.0, 1e-6, ledger=small, family="gaussian")
    assert not small.entries


def test_a_ledger_belongs_to_its_table(visits, tmp_path):
    book = Ledger(tmp_path / "visits.ledger", epsilon=5.0, delta=1e-4)
    ask = {"n": count_units()}
    visits.aggregate(**ask).answer(1.0, 1e-6, ledger=book)
    other = tables.table(pa.table({"person": [1, 2, 3]}), unit="person")
    with pytest.raises(hush.HushError, match=r"another|other|protects"):
        other.aggregate(**ask).answer(1.0, 1e-6, ledger=book)
    assert len(book.entries) == 1
    book.close()


def test_an_engine_that_fails_spends_nothing(visits, monkeypatch):
    book = Ledger(None, epsilon=5.0, delta=1e-4)
    query = visits.aggregate(n=count_units())
    stopped = lambda self, beside, **options: (_ for _ in ()).throw(KeyboardInterrupt())  # noqa: E731
    monkeypatch.setattr(type(query), "exact", stopped)
    with pytest.raises(KeyboardInterrupt):
        query.answer(1.0, 1e-6, ledger=book)
    assert not book.entries


def test_an_empty_table_is_answered_with_noise():
    empty = tables.table(pa.table({"who": pa.array([], pa.int64()), "x": pa.array([], pa.float64())}), unit="who")
    made = empty.aggregate(n=count_units(), m=mean("x", low=0, high=1)).answer(1.0, 1e-6, ledger=None)
    assert len(made) == 1 and abs(made["n"][0]) < 60 and 0.0 <= made["m"][0] <= 1.0


def test_bounds_can_be_found_privately(visits):
    """One charge for search and answer; the range holds nearly all values and is not much too wide; the answer is
    right.
    """
    book = Ledger(None, epsilon=4.0, delta=1e-6)
    query = visits.aggregate(n=count_units(), stay=mean("stay_days", low="private", high="private"))
    made = query.plan(4.0, 1e-6, family="laplace").answer(ledger=book)
    (entry,) = book.entries
    assert len(entry.charges) == 3 and made.receipt["guarantee"]["epsilon"] == pytest.approx(4.0)
    low, high = made.receipt["bounds_found"]["stay"]
    stays = sample("visits", 20_000).column("stay_days").to_numpy()
    assert low == 0.0 and np.quantile(stays, 0.98) <= high <= 64.0
    assert made["stay_low"][0] <= made["stay"][0] <= made["stay_high"][0]
    assert made["stay"][0] == pytest.approx(np.clip(stays, low, high).mean(), abs=0.5)


def test_bounds_are_declared_together(visits):
    with pytest.raises(InvalidParameter, match="together"):
        visits.aggregate(m=mean("stay_days", low="private", high=30))
    with pytest.raises(InvalidParameter, match="rows_per_unit"):
        visits.aggregate(m=hush.tables.sum("cost", low="private", high="private"))


def test_a_mean_and_a_variance_share_their_columns(visits):
    """Both add up the same distances and rows: released once, counted once; other rows or bounds are released apart."""
    both = visits.aggregate(m=mean("stay_days", low=0, high=30), v=variance("stay_days", low=0, high=30))
    plan = both.plan(30.0, 1e-6, family="gaussian")
    assert plan.spent.plan.sensitivity.l0 == 3 and plan.spent.shared == {"v.sum": "m.sum", "v.count": "m.count"}
    made = plan.answer(ledger=None)
    released = made.released.to_pydict()
    assert released["v.sum"] == released["m.sum"] and released["v.count"] == released["m.count"]
    stays = sample("visits", 20_000).column("stay_days").to_numpy()
    assert made["m"][0] == pytest.approx(np.clip(stays, 0, 30).mean(), abs=0.3)
    others = [
        variance("stay_days", low=0, high=31),
        variance("stay_days", low=0, high=30, rows_per_unit=2),
        variance("age", low=0, high=30),
    ]
    for other in others:
        apart = visits.aggregate(m=mean("stay_days", low=0, high=30), v=other)
        assert not apart.shared and apart.plan(30.0, 1e-6, family="gaussian").spent.plan.sensitivity.l0 == 5


def test_a_plan_with_bounds_to_find_says_so(visits):
    """The whole budget, and no made-up range."""
    text = repr(
        visits.aggregate(stay=mean("stay_days", low="private", high="private")).plan(2.0, 1e-6, family="laplace")
    )
    assert "(2, 1e-06)" in text and "found privately" in text and "[0.0, 1.0]" not in text


FITTING = [
    (family, *budget)
    for family in ("flipped_huber", "osgt", "staircase", "gaussian")
    for budget in ((0.05, 1e-7), (0.2, 1e-6), (2.0, 1e-5))
]


@pytest.mark.parametrize(("family", "epsilon", "delta"), thinned([*FITTING, (None, 0.05, 1e-7)], 7))
def test_a_plan_fits_a_ledger_of_its_own_budget(visits, family, epsilon, delta):
    """Answers, bounds and limits are several mechanisms: together they keep the pair asked for, and the statement
    agrees.
    """
    by_ward = visits.group_by("ward", keys=["surgery", "burns"], groups_per_unit=1)
    query = by_ward.aggregate(n=count_units(), stay=mean("stay_days", low=0, high=30))
    book = Ledger(None, epsilon=epsilon, delta=delta)
    made = query.plan(epsilon, delta, family=family).answer(ledger=book)
    assert (book.entries[0].epsilon, book.entries[0].delta) == (epsilon, delta)
    assert str(hush.report.statement(made, ledger=book)) and str(hush.report.statement(made))


def test_bounds_to_find_beside_bounds_like_their_stand_in(visits):
    """Until they are found, private bounds stand at [0, 1]; an aggregate declared just so is measured on its own all
    the same.
    """
    for order in (("a", "b"), ("b", "a")):
        asked = {"a": mean("cost", low="private", high="private"), "b": mean("cost", low=0.0, high=1.0)}
        made = (
            visits.aggregate(**{name: asked[name] for name in order})
            .plan(4.0, 1e-6, family="laplace")
            .answer(ledger=None)
        )
        assert len([share for share in made.left_out["shares"] if "outside" in share["what"]]) == 2


def test_a_variance_whose_range_has_no_square_is_refused(visits):
    for low, high in ((0, 1e160), (0, 1e-150), (-1e200, 1e200)):
        with pytest.raises(InvalidParameter, match="float64 holds its square"):
            visits.aggregate(v=variance("cost", low=low, high=high))


def test_an_engine_that_fails_spends_nothing_where_bounds_are_to_be_found(monkeypatch):
    """The whole query runs once with stand-ins before the charge."""
    people = table(pa.table({"who": range(100), "x": [1.0] * 100}), unit="who")
    query = people.aggregate(a=mean("x", low="private", high="private"))
    book = Ledger(None, epsilon=9.0, delta=1e-5)
    stopped = lambda self, beside, **options: (_ for _ in ()).throw(KeyboardInterrupt())  # noqa: E731
    monkeypatch.setattr(type(query), "exact", stopped)
    with pytest.raises(KeyboardInterrupt):
        query.plan(2.0, 1e-6, family="laplace").answer(ledger=book)
    assert not book.entries and book.source is None


def test_a_refused_request_does_not_bind_the_ledger(visits):
    book = Ledger(None, epsilon=0.5, delta=1e-6)
    plan = visits.aggregate(n=count_units()).plan(2.0, 1e-6, family="laplace")
    for options, error in (
        ({}, BudgetExceeded),
        ({"label": "x" * 1001}, InvalidParameter),
        ({"label": 7}, InvalidParameter),
    ):
        with pytest.raises(error):
            plan.answer(ledger=book, **options)
    assert book.source is None and not book.entries


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2
def test_dates_that_no_calendar_shows_are_a_group_without_a_name():
    """DuckDB's infinite dates and years beyond 9999: counted with null, so that an answer can always be shown."""
    import ibis

    backend = ibis.duckdb.connect()
    dates = "CASE i % 3 WHEN 0 THEN 'infinity'::DATE WHEN 1 THEN '20000-01-01'::DATE END"
    backend.raw_sql(f"CREATE TABLE t AS SELECT i AS u, {dates} AS d FROM range(600) r(i)")
    made = (
        table(backend.table("t"), unit="u").group_by("d", keys="private", groups_per_unit=1).aggregate(n=count_units())
    )
    answer = made.plan(2.0, 1e-6, family="laplace").answer(ledger=None)
    assert answer.to_arrow().column("d").to_pylist() == [None] and abs(answer["n"][0] - 600) < 30
    assert repr(answer) and answer._repr_html_()


def test_a_written_answer_touches_no_other_file(visits, tmp_path):
    """A file that happens to have the name of a half-written one stays; a link is not followed; what is no file is
    refused.
    """
    import os

    plan = visits.aggregate(n=count_units()).plan(2.0, 1e-6, family="laplace")
    (tmp_path / "a.parquet.part").write_text("mine")
    (tmp_path / "other").write_text("theirs")
    (tmp_path / "b.parquet.part").symlink_to(tmp_path / "other")
    for name in ("a.parquet", "b.parquet"):
        plan.write(tmp_path / name, ledger=None)
        assert (tmp_path / name).is_file() and not (tmp_path / name).is_symlink()
    assert (tmp_path / "a.parquet.part").read_text() == "mine" and (tmp_path / "other").read_text() == "theirs"
    os.mkfifo(tmp_path / "fifo.parquet")
    with pytest.raises(InvalidParameter, match="cannot be written"):
        plan.write(tmp_path / "fifo.parquet", ledger=None)
    assert len(list(tmp_path.iterdir())) == 6


@pytest.mark.parametrize("epsilon", [20.0, 200.0, 2000.0])
def test_very_large_budgets_are_answered(epsilon):
    """Hardly any noise, on a lattice that still holds the sums: the answer is near the truth."""
    people = table(pa.table({"id": np.arange(100), "x": np.arange(100.0)}), unit="id")
    made = (
        people.aggregate(n=count_units(), m=grid_quantile("x", 0.5, low=0, high=100, bins=101))
        .plan(epsilon, 1e-6, family="laplace")
        .answer(ledger=None)
    )
    assert abs(made["n"][0] - 100) < 20 and abs(made["m"][0] - 50) < 30
