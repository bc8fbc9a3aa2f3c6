"""Counts by cell for quantiles: the same whole numbers on every engine, equal to those of the rows."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from hush.tables import median
from hush.tables.aggregation import limited_values
from hush.tables.keyed_hash import Keyed
from hush.tables.selection.passes import counts_by_group

SALT = b"0123456789abcdef0123456789abcdef"
ASKED: dict[str, Any] = {
    "stay": {"low": 0, "high": 30},
    "cost": {"low": -10.5, "high": 333.0},
    "score": {"low": 0, "high": 1},
    "day": {"low": datetime.date(1968, 1, 1), "high": datetime.date(1971, 1, 1)},
    "at": {"low": datetime.datetime(1969, 12, 31, 6), "high": datetime.date(1970, 12, 31)},
    "zoned": {"low": datetime.datetime(1969, 12, 31, 6), "high": datetime.date(1970, 12, 31)},
    "code": {"low": -(2**60), "high": 2**60},
}


def everything(total: int) -> list[tuple[float, float]]:
    return [(-1.0, float(total) + 1.0)]


@pytest.mark.parametrize("column", ASKED)
def test_cells_are_those_of_the_rows(engine, visits, rows, column):
    """Rows of a person in a group are limited to two, by the same hash on every engine."""
    keys = ["A", "é", "nowhere", None]
    kind = {"at": "timestamp", "zoned": "timestamp('UTC')"}.get(column)
    at = {} if kind is None else {column: visits["day"].cast(kind)}
    asked = visits.mutate(**at).group_by("ward", keys=keys, groups_per_unit=2)
    query = asked.aggregate(m=median(column, **ASKED[column], rows_per_unit=2))
    measure = query.shown[0]
    keyed = Keyed(SALT, "portable")
    relation = limited_values(query.table.relation, query.table.person, query.grouping, measure, keyed)
    grid = measure.chosen.grid
    around = None if measure.chosen.number is None else grid.around
    found = counts_by_group(query.table.source, relation, len(keys), grid.size, everything, around)
    plain = relation.to_pyarrow() if engine.name == "duckdb" else None
    totals = [counts.total for counts in found]
    assert sum(totals) > 0 and totals[2] == 0
    for counts in found:
        assert (counts.widths == 1).all() and (np.diff(counts.firsts) > 0).all()
        assert counts.firsts.size == 0 or 0 <= counts.firsts[0] <= counts.firsts[-1] < grid.size
    key = f"quantile cells of {column}"
    listed = [list(zip(c.firsts.tolist(), c.rows.tolist(), strict=True)) for c in found]
    assert KNOWN.setdefault(key, listed) == listed  # the first engine that ran has set it
    if plain is not None:
        for place, counts in enumerate(found):
            cells = [w for g, w in zip(*(plain.column(n).to_pylist() for n in "gw"), strict=True) if g == place]
            assert Counter(cells) == Counter(dict(zip(counts.firsts.tolist(), counts.rows.tolist(), strict=True)))


#: The counts of the first engine of this run, by the column.
KNOWN: dict[str, Any] = {}


def test_a_median_is_near_that_of_the_rows(engine, visits, rows):
    answer = visits.aggregate(m=median("stay", low=0, high=30)).answer(100.0, 0.0, ledger=None)
    assert 0 <= answer["m_low"][0] <= answer["m"][0] <= answer["m_high"][0] <= 30
    assert math.isfinite(answer["m"][0])
