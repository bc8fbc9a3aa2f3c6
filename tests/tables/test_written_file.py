"""Files of answers: their shape tells nothing of the groups that are not shown."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from hush import tables
from hush.tables import count, count_units, mean


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
