"""Noise by group name: a task that runs twice draws the same noise, whatever else is in its batch; answers are
written, not collected.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from grid_quantile import grid_quantile

import hush
from hush import tables
from hush.ledger import unaccounted
from hush.tables import count, histogram, mean, variance
from hush.tables.distributed import group_names, noise_in_batches
from hush.tables.output import Recipe
from hush.tables.sample_table import sample


def asked(table):
    return table.group_by("ward", keys="private", groups_per_unit=2).aggregate(
        n=count(),
        total=hush.tables.sum("cost", low=0, high=20_000),
        stay=mean("stay_days", low=0, high=30),
        spread=variance("stay_days", low=0, high=30),
        ages=histogram("age", edges=[0, 18, 65, 120]),
        median=grid_quantile("stay_days", 0.5, low=0, high=30, bins=31),
    )


@pytest.fixture(scope="module")
def batch():
    query = asked(tables.table(sample("visits", 5000), unit="patient_id"))
    aggregates = query.aggregates()
    return (
        query,
        query.plan(20.0, 1e-6, family="gaussian").spent,
        pa.Table.from_batches(list(aggregates.batches())).combine_chunks().to_batches()[0],
    )


def values(made):
    table = pa.Table.from_batches(list(made))
    return {
        row["ward"]: (row["n"], row["total"], row["stay"], row["spread"], row["median"]) for row in table.to_pylist()
    }


def test_a_repetition_draws_the_same_noise(batch):
    """The same secret and key, in another order and another company; another secret, other noise."""
    query, spent, rows = batch
    recipe = Recipe.of(query, spent, 0.95)
    draws = spent.open(unaccounted(spent.charge), "answers")
    work = noise_in_batches(("ward",), spent, draws, recipe, bytes(64))
    once, again = values(work(iter([rows]))), values(work(iter([rows])))
    assert once == again and len(once) >= 5
    order = np.random.default_rng(1).permutation(rows.num_rows)
    apart = values(work(iter([rows.take(pa.array(order[:4])), rows.take(pa.array(order[4:]))])))
    assert apart == once
    other = values(noise_in_batches(("ward",), spent, draws, recipe, bytes([1] * 64))(iter([rows])))
    assert all(other[ward] != once[ward] for ward in set(other) & set(once))


def test_names_tell_groups_apart():
    """Text, numbers, nulls and several columns; and the secret matters."""
    columns = [pa.array(["a", "a", "b", None, "null"]), pa.array([1, 2, 1, 1, 1])]
    names = group_names(columns, bytes(64))
    assert len({tuple(row) for row in names.tolist()}) == 5
    assert not np.array_equal(names, group_names(columns, bytes([7] * 64)))
    split = group_names([pa.array(['a", "b', "a"]), pa.array(["c", 'b", "c'])], bytes(64))
    assert split[0].tolist() != split[1].tolist()


def test_the_recipe_holds_nothing_of_the_table(batch):
    """It is sent to executors: no expression, no connection, small."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    query, spent, _ = batch
    sent = cloudpickle.dumps(Recipe.of(query, spent, 0.95))
    assert b"ibis" not in sent and len(sent) < 100_000


def test_answers_are_written_wherever_the_groups_are(engine, tmp_path):
    """The same question to both engines: near each other, charged once, the receipt beside the answer."""
    import pyarrow.parquet

    query = asked(engine.table(sample("visits", 5000), unit="patient_id"))
    book, path = hush.Ledger(None, epsilon=100.0, delta=1e-4), tmp_path / "answer.parquet"
    receipt = query.plan(50.0, 1e-6, family="gaussian").write(path, ledger=book, label="by ward")
    table = pyarrow.parquet.read_table(path)
    assert len(book.entries) == 1 and receipt["ledger"]["label"] == "by ward"
    rows = {row["ward"]: row for row in table.to_pylist()}
    exact = {row["ward"]: row for row in query.aggregates().to_arrow().to_pylist()}
    assert {"surgery", "emergency"} <= set(rows) <= set(exact)
    for ward, row in rows.items():
        assert abs(row["n"] - exact[ward]["n"]) < 60 and row["n_low"] <= row["n_high"]
    if path.is_dir():
        assert json.loads((path / "_hush_receipt.json").read_text())["guarantee"]["epsilon"] == 50.0
    else:
        assert json.loads(table.schema.metadata[b"hush"])["guarantee"]["epsilon"] == 50.0
