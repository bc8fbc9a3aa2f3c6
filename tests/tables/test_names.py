"""Names of aggregates and columns: two that an engine could take for one are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hush import InvalidParameter, tables
from hush.tables import count, count_units, histogram


def people(**columns):
    return tables.table(pa.table(columns), unit="id")


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
