"""What DuckDB makes of the plan: one pass, the window as it stands, and the same integers however it is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables.compare import SALT, found

import hush
import hush.tables
from hush import tables
from hush.tables import count, count_units, histogram, mean, quantile, table
from hush.tables.engines.contract import memory_tables
from hush.tables.engines.duckdb import sql_of

ASKED = {
    "n": count(rows_per_unit=2),
    "units": count_units(),
    "s": hush.tables.sum("x", low=0, high=9),
    "h": histogram("x", edges=range(10)),
}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    draw = np.random.default_rng(5)
    size = 50_000
    return pa.table(
        {"u": draw.integers(0, 5000, size), "g": draw.integers(0, 300, size), "x": draw.uniform(-1, 11, size)}
    )


def explained(query: hush.tables.Query, **options: Any) -> str:
    """DuckDB's own plan of the query."""
    plan, backend = query.aggregates(salt=SALT, **options).plan, query.table.source.backend
    for name, memory in memory_tables(plan).items():
        backend.con.register(name, memory)
    return "\n".join(row[1] for row in backend.con.sql(f"EXPLAIN {sql_of(backend, plan)}").fetchall())


@pytest.mark.parametrize("keys", ["private", range(300)], ids=["private", "public"])
@pytest.mark.parametrize("options", [{}, {"hash": "native"}, {"first": "aggregate"}], ids=str)
def test_the_window_is_not_rewritten(rows, keys, options):
    """DuckDB turns some forms of "the first k of each unit" into arg_min, five times slower: ours must stay a
    window.
    """
    asked = {name: measure for name, measure in ASKED.items() if name != "h" or "first" not in options}
    plan = explained(table(rows, unit="u").group_by("g", keys=keys, groups_per_unit=5).aggregate(**asked), **options)
    assert "arg_min" not in plan.lower()
    assert plan.count("Window") + plan.count("WINDOW") >= 1


def test_the_rewrite_would_be_seen(rows):
    """The slow form does show up in a plan, so the test above can fail."""
    source = table(rows, unit="u").source
    ranked = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY x) AS r FROM {source.relation.op().name}"
    plan = "\n".join(
        row[1] for row in source.backend.con.sql(f"EXPLAIN SELECT * FROM ({ranked}) WHERE r <= 5").fetchall()
    )
    assert "arg_min" in plan.lower()


def test_one_pass_over_the_rows(rows):
    """Totals, means, quantiles and histograms of one row per unit share one scan, one ranking and one sample."""
    asked = {**ASKED, "m": mean("x", low=0, high=9), "q": quantile("x", 0.5, low=0, high=9)}
    t = table(rows, unit="u")
    sql = sql_of(
        t.source.backend, t.group_by("g", keys="private", groups_per_unit=5).aggregate(**asked).aggregates().plan
    )
    assert sql.count(t.relation.op().name) == sql.count("DENSE_RANK") == 1


def test_shared_values_are_shared(rows):
    """The same column with the same bounds is quantised and sampled once, however many aggregates use it."""
    t = table(rows, unit="u")
    sql = sql_of(
        t.source.backend,
        t.aggregate(a=mean("x", low=0, high=9), b=mean("x", low=0, high=9), c=mean("x", low=0, high=9, rows_per_unit=2))
        .aggregates()
        .plan,
    )
    assert sql.count("ROW_NUMBER") == 2


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_and_order_of_rows_change_nothing(rows, threads):
    """The same integers from shuffled rows and any number of threads."""
    query = (
        table(rows, unit="u")
        .group_by("g", keys="private", groups_per_unit=3)
        .aggregate(**ASKED, m=mean("x", low=0, high=9, rows_per_unit=2))
    )
    shuffled = rows.take(np.random.default_rng(1).permutation(rows.num_rows))
    again = table(shuffled, unit="u")
    again.source.backend.con.execute(f"SET threads = {threads}")
    same = again.group_by("g", keys="private", groups_per_unit=3).aggregate(
        **ASKED, m=mean("x", low=0, high=9, rows_per_unit=2)
    )
    assert found(query) == found(same)


def test_batches_stream_in_order(rows):
    """Private groups come sorted, public ones as listed, in batches no larger than asked; two streams may be open at
    once.
    """
    t = table(rows, unit="u")
    private = t.group_by("g", keys="private", groups_per_unit=300).aggregate(n=count())
    first, second = private.aggregates(salt=SALT).batches(size=64), private.aggregates(salt=SALT).batches(size=64)
    one = next(first)
    assert one.num_rows <= 64
    keys = one["g"].to_pylist()
    assert sum(batch.num_rows for batch in second) == 300
    for batch in first:
        assert batch.num_rows <= 64
        keys += batch["g"].to_pylist()
    assert keys == sorted(keys) == list(range(300))
    public = t.group_by("g", keys=[7, 3, 999, 5], groups_per_unit=4).aggregate(n=count()).aggregates(salt=SALT)
    assert [batch["g"].to_pylist() for batch in public.batches(size=3)] == [[7, 3, 999], [5]]
    assert public.to_arrow()["n"].to_pylist()[2] == 0
    assert all(str(public.to_arrow().schema.field(name).type) == "int64" for name in public.columns)


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("limits_share", [0.0, 0.03])
def test_what_if_is_what_another_plan_says(family, limits_share):
    """Errors and thresholds of the table are those of plans made with that many groups and the family asked for."""
    visits = tables.table(tables.sample("visits", 2000), unit="patient_id")

    def planned(groups: int):
        query = visits.group_by("ward", keys="private", groups_per_unit=groups).aggregate(people=tables.count_units())
        return query.plan(1.0, 1e-6, family=family, limits_share=limits_share)

    now = planned(2)
    rows = now.what_if()
    assert [row["groups_per_unit"] for row in rows] == [1, 2, 4, 8]
    for row in rows:
        other = planned(row["groups_per_unit"])
        assert row["threshold"] == other.spent.threshold
        assert row["error"] == pytest.approx(np.sqrt(other.spent.plan.variance / now.spent.plan.variance), rel=1e-9)


def test_small_values_under_a_wide_bound_are_not_rounded_away():
    """A million people with 400 each and a bound of 1e9: steps of the grid are 1000, and the sum is right all the
    same.
    """
    people = tables.table(pa.table({"id": np.arange(1_000_000), "x": np.full(1_000_000, 400.0)}), unit="id")
    query = people.aggregate(
        total=tables.sum("x", low=0, high=1e9),
        rows=tables.sum("x", low=0, high=1e9, rows_per_unit=1),
        m=tables.mean("x", low=0, high=1e9),
        v=tables.variance("x", low=0, high=1e9),
    )
    found = query.aggregates().to_arrow()
    exact = {name: found.column(name).to_numpy() for name in found.column_names}
    answers = {measure.name: float(measure.answer(exact)[0]) for measure in query.measures}
    assert answers["total"] == pytest.approx(4e8, abs=1000) and answers["rows"] == pytest.approx(4e8, abs=1000)
    assert answers["m"] == pytest.approx(400.0, abs=0.01)
    assert answers["v"] <= 2.5e17 * 1e-9  # one step of a billion in the widest variance


@pytest.mark.parametrize("place", ["no/such/folder/a.parquet", "", "folder"])
def test_a_place_that_cannot_be_written_is_refused_before_the_charge(place, tmp_path):
    (tmp_path / "folder").mkdir()
    plan = (
        tables.table(tables.sample("visits", 500), unit="patient_id")
        .aggregate(n=tables.count_units())
        .plan(1.0, 1e-6, family="laplace")
    )
    book = hush.Ledger(None, epsilon=5.0, delta=1e-5)
    with pytest.raises(hush.InvalidParameter, match=r"cannot be written|must be the name of a file"):
        plan.write(tmp_path / place if place else "", ledger=book)
    assert not book.entries


def test_a_failure_leaves_no_half_file(tmp_path, monkeypatch):
    plan = (
        tables.table(tables.sample("visits", 500), unit="patient_id")
        .aggregate(n=tables.count_units())
        .plan(1.0, 1e-6, family="laplace")
    )

    def stopped(self, *rest):
        raise KeyboardInterrupt

    monkeypatch.setattr("hush.tables.execution.Request._stream", stopped)
    with pytest.raises(KeyboardInterrupt):
        plan.write(tmp_path / "a.parquet", ledger=None)
    assert not list(tmp_path.iterdir())
