"""What a review found in answers over tables, kept so that it stays mended."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from hush import InvalidParameter, tables
from hush.tables import count, count_units, histogram, mean, quantile


def people(**columns):
    return tables.table(pa.table(columns), unit="id")


def test_a_file_is_written_whoever_is_there(tmp_path):
    """With private keys nobody, one person and three give the same kind of file: none of their groups is shown."""
    table = people(id=[1, 2, 3], w=["a", "b", "a"], x=[1.0, 2.0, 6.0])
    seen = set()
    for i, cut in enumerate((0.0, 5.5, 1000.0)):
        query = (
            table.filter(table["x"] > cut)
            .group_by("w", keys="private", groups_per_unit=2)
            .aggregate(n=count(), m=mean("x", low=0, high=9))
        )
        path = tmp_path / f"{i}.parquet"
        query.plan(1.0, 1e-9, family="laplace").write(path, ledger=None)
        file = pyarrow.parquet.ParquetFile(path)
        seen.add((file.metadata.num_rows, file.metadata.num_row_groups, str(file.schema_arrow.remove_metadata())))
    assert len(seen) == 1 and next(iter(seen))[0] == 0


@pytest.mark.parametrize("n", [65_535, 65_536, 65_537])
def test_row_groups_tell_nothing_of_hidden_groups(tmp_path, n):
    """However many groups there were before the threshold, no row group speaks of them.

    A group of one person is shown with a chance of at most delta, so that 65,537 of them raise a false alarm less
    than once in a million.
    """
    table = people(id=np.arange(n), k=np.arange(n))
    table.group_by("k", keys="private", groups_per_unit=1).aggregate(n=count_units()).plan(
        1.0, 1e-12, family="laplace"
    ).write(tmp_path / "o.parquet", ledger=None)
    file = pyarrow.parquet.ParquetFile(tmp_path / "o.parquet").metadata
    assert file.num_rows == 0 and file.num_row_groups == 1


def test_shown_groups_come_in_row_groups_of_one_size(tmp_path):
    keys = list(range(70_000))
    table = people(id=np.arange(10), k=np.arange(10))
    table.group_by("k", keys=keys, groups_per_unit=1).aggregate(n=count_units()).plan(1.0, 0.0, family="laplace").write(
        tmp_path / "o.parquet", ledger=None
    )
    file = pyarrow.parquet.ParquetFile(tmp_path / "o.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)] == [
        65_536,
        70_000 - 65_536,
    ]
    assert file.read().column("k").to_pylist() == keys


CLASHES = [
    {"n": count(), "n_low": tables.sum("x", low=0, high=10)},
    {"n": count(), "N": count_units()},
    {"m.count": count()},
    {".units": count()},
    {"": count()},
    {"a": histogram("x", edges=[0, 1, 2]), "a_0_1_": count()},
]


@pytest.mark.parametrize("aggregates", CLASHES, ids=[" ".join(c) or "empty" for c in CLASHES])
def test_names_that_would_meet_are_refused(aggregates):
    with pytest.raises(InvalidParameter, match=r"alike|dot|another name"):
        people(id=[1], x=[1.0]).aggregate(**aggregates)


def test_keys_and_answers_do_not_meet():
    table = people(id=[1], n_low=["a"], x=[1.0])
    with pytest.raises(InvalidParameter, match="alike"):
        table.group_by("n_low", keys=["a"], groups_per_unit=1).aggregate(n=count())


def test_a_computed_column_is_not_taken_for_one_of_another_case():
    """DuckDB does not tell X from x: it answered for the old column."""
    table = people(id=[1], x=[1.0])
    for name in ("X", "ID"):
        with pytest.raises(InvalidParameter, match="differs in case only"):
            table.mutate(**{name: table["x"] * 0 + 100})
    assert table.mutate(x=table["x"] * 2).columns == ("id", "x")


def test_what_is_charged_covers_whatever_bounds_are_found():
    """The number of a quantile's bins follows its bounds; how many of them a unit reaches is fixed before."""
    table = people(id=np.arange(50), x=np.arange(50.0))
    query = table.aggregate(q=quantile("x", 0.5, low="private", high="private", bins=10, rows_per_unit=9))
    charged = query.plan(1.0, 1e-6, family="laplace").spent.plan.sensitivity.l0
    for bounds in ((0.0, 1.0), (0.0, 4.0), (-7.0, 512.0)):
        assert query.with_bounds({"q": bounds}).sensitivity.l0 <= charged


@pytest.mark.parametrize("epsilon", [20.0, 200.0, 2000.0])
def test_budgets_beyond_reason_are_answered(epsilon):
    """Hardly any noise, and a lattice that still has room: the answer is the truth."""
    table = people(id=np.arange(100), x=np.arange(100.0))
    made = (
        table.aggregate(n=count_units(), m=quantile("x", 0.5, low=0, high=100, bins=101))
        .plan(epsilon, 1e-6, family="laplace")
        .answer(ledger=None)
    )
    assert abs(made["n"][0] - 100) < 20 and abs(made["m"][0] - 50) < 30
