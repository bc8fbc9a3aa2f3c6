"""What DuckDB makes of the plan: one pass, the window as it stands, and the same integers however it is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tables.compare import SALT, found

import hush.tables
from hush.tables import count, count_units, histogram, mean, quantile, sum_, table
from hush.tables.engine import memory_tables

ASKED = {"n": count(rows_per_unit=2), "units": count_units(), "s": sum_("x", low=0, high=9), "h": histogram("x", edges=range(10))}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    draw = np.random.default_rng(5)
    size = 50_000
    return pa.table({"u": draw.integers(0, 5000, size), "g": draw.integers(0, 300, size), "x": draw.uniform(-1, 11, size)})


def explained(query: hush.tables.Query, **options: Any) -> str:
    """DuckDB's own plan of the query."""
    plan, backend = query.aggregates(salt=SALT, **options).plan, query.table.source.backend
    for name, memory in memory_tables(plan).items():
        backend.con.register(name, memory)
    return "\n".join(row[1] for row in backend.con.sql(f"EXPLAIN {backend.compile(plan)}").fetchall())


@pytest.mark.parametrize("keys", ["private", range(300)], ids=["private", "public"])
@pytest.mark.parametrize("options", [{}, {"hash": "native"}, {"first": "aggregate"}], ids=str)
def test_the_window_is_not_rewritten(rows, keys, options):
    """DuckDB turns some forms of "the first k of each unit" into arg_min, five times slower: ours must stay a window."""
    asked = {name: measure for name, measure in ASKED.items() if name != "h" or "first" not in options}
    plan = explained(table(rows, unit="u").group_by("g", keys=keys, groups_per_unit=5).aggregate(**asked), **options)
    assert "arg_min" not in plan.lower()
    assert plan.count("Window") + plan.count("WINDOW") >= 1


def test_the_rewrite_would_be_seen(rows):
    """The slow form does show up in a plan, so the test above can fail."""
    source = table(rows, unit="u").source
    ranked = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY x) AS r FROM {source.relation.op().name}"
    plan = "\n".join(row[1] for row in source.backend.con.sql(f"EXPLAIN SELECT * FROM ({ranked}) WHERE r <= 5").fetchall())
    assert "arg_min" in plan.lower()


def test_one_pass_over_the_rows(rows):
    """Totals, means, quantiles and histograms of one row per unit share one scan, one ranking and one sample."""
    asked = {**ASKED, "m": mean("x", low=0, high=9), "q": quantile("x", 0.5, low=0, high=9)}
    t = table(rows, unit="u")
    sql = t.source.backend.compile(t.group_by("g", keys="private", groups_per_unit=5).aggregate(**asked).aggregates().plan)
    assert sql.count(t.relation.op().name) == sql.count("DENSE_RANK") == 1


def test_shared_values_are_shared(rows):
    """The same column with the same bounds is quantised and sampled once, however many aggregates use it."""
    t = table(rows, unit="u")
    sql = t.source.backend.compile(
        t.aggregate(a=mean("x", low=0, high=9), b=mean("x", low=0, high=9), c=mean("x", low=0, high=9, rows_per_unit=2)).aggregates().plan
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
    same = again.group_by("g", keys="private", groups_per_unit=3).aggregate(**ASKED, m=mean("x", low=0, high=9, rows_per_unit=2))
    assert found(query) == found(same)


def test_batches_stream_in_order(rows):
    """Private groups come sorted, public ones as listed, in batches no larger than asked; two streams may be open at once."""
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
