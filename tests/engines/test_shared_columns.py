"""Columns that hush takes for equal are equal, to the last integer: on every engine, for rows of every kind."""

from __future__ import annotations

import datetime
from typing import Any

import ibis
import pytest
from effort import thinned
from grid_quantile import grid_quantile
from tables.compare import found

from hush import tables
from hush.tables import count, count_units, histogram, mean, quantile, variance
from hush.tables.known_values import never_missing
from hush.tables.measure import number_of_rows

EDGES = [-5, 0, 1, 14, 30]
ASKED = {
    "n": count(),
    "people": count_units(),
    "n2": count(rows_per_unit=2),
    "m": mean("stay", low=-3, high=30, rows_per_unit=2),
    "v": variance("stay", low=-3, high=30, rows_per_unit=2),
    "s": tables.sum("stay", low=-3, high=30, rows_per_unit=2),
    "total": tables.sum("stay", low=0, high=90),
    "again": tables.sum("stay", low=0, high=90),
    "code": mean("code", low=-9, high=9, rows_per_unit=2),
    "h": histogram("stay", edges=EDGES, rows_per_unit=3),
    "b": quantile("stay", [0.5, 0.9], edges=EDGES, rows_per_unit=3),
    "q": grid_quantile("stay", 0.5, low=0, high=30, bins=20),
    "qs": grid_quantile("stay", [0.1, 0.9], low=0, high=30, bins=20),
    "d": histogram("day", edges=[datetime.date(1968, 2, 29), datetime.date(1971, 1, 1)]),
    "e": quantile("day", 0.5, edges=[datetime.date(1968, 2, 29), datetime.date(1971, 1, 1)]),
}


def asked(visits: Any, kept: list[str], keys: Any) -> Any:
    """The aggregates over the rows that have a value in each of these columns."""
    some = visits.filter(*(visits[name].notnull() for name in kept)) if kept else visits
    return some.group_by("urgent", keys=keys, groups_per_unit=2).aggregate(**ASKED)


@pytest.mark.parametrize("kept", thinned([[], ["stay"], ["stay", "code"]], 2))
@pytest.mark.parametrize("keys", ["private", [True, False, None]])
def test_shared_columns_hold_the_same_integers(engine, visits, kept, keys):
    query = asked(visits, kept, keys)
    shared = query.shared
    assert {"people", "v.sum", "v.count", "s.sum", "s.count", "again", "b.0", "qs.3", "e.0"} <= shared.keys()
    assert ("m.count" in shared) == ("stay" in kept) and ("code.count" in shared) == (len(kept) == 2)
    for group, columns in found(query).items():
        assert {name: columns[name] for name in shared} == {name: columns[first] for name, first in shared.items()}, (
            group
        )


def test_a_column_that_is_not_shared_differs(engine, visits):
    """With nulls the number of values is not the number of rows: the table shows it, and the columns stay apart."""
    query = visits.aggregate(n=count(rows_per_unit=50), m=mean("stay", low=0, high=30, rows_per_unit=50))
    columns = found(query)[()]
    assert columns["m.count"] < columns["n"] and query.shared == {}


CONDITIONS = {
    "stay, not null": ("stay", lambda t: [t["stay"].notnull()], True),
    "stay, compared": ("stay", lambda t: [t["stay"] >= 0], True),
    "stay, from the right": ("stay", lambda t: [ibis.literal(3) < t["stay"]], True),
    "stay, with another column": ("stay", lambda t: [t["stay"] != t["floor"]], True),
    "stay, between": ("stay", lambda t: [t["stay"].between(0, 30)], True),
    "stay, and": ("stay", lambda t: [(t["stay"] == 3) & (t["floor"] > 0)], True),
    "stay, or": ("stay", lambda t: [(t["stay"] == 3) | (t["floor"] > 0)], False),
    "stay, another column": ("stay", lambda t: [t["floor"].notnull()], False),
    "stay, null": ("stay", lambda t: [t["stay"].isnull()], False),
    "stay, or null": ("stay", lambda t: [t["stay"].notnull() | t["stay"].isnull()], False),
    "urgent, not null": ("urgent", lambda t: [t["urgent"].notnull()], True),
    "fee, compared": ("fee", lambda t: [t["fee"] > 0], True),
    "cost, not null": ("cost", lambda t: [t["cost"].notnull()], False),
    "cost, not NaN": ("cost", lambda t: [~t["cost"].isnan()], False),
    "cost, neither": ("cost", lambda t: [t["cost"].notnull(), ~t["cost"].isnan()], True),
    "cost, from below": ("cost", lambda t: [t["cost"] > -1.0], False),
    "cost, at most": ("cost", lambda t: [t["cost"] <= 100.0], True),
    "cost, below, from the right": ("cost", lambda t: [ibis.literal(100.0) > t["cost"]], True),
    "cost, at most NaN": ("cost", lambda t: [t["cost"] <= float("nan")], False),
    "cost, between": ("cost", lambda t: [t["cost"].between(-1.0, 100.0)], True),
    "score, below": ("score", lambda t: [t["score"] < 1.0], True),
    "day, not null": ("day", lambda t: [t["day"].notnull()], False),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_column_that_is_known_to_have_values_has_them(engine, visits, name):
    """What the filters tell is true of the rows: as many values as rows. What they do not tell is not claimed."""
    column, conditions, expected = CONDITIONS[name]
    kept = visits.filter(*conditions(visits))
    later = kept.mutate(other=kept["floor"]).filter(kept["who"].notnull())
    for table in (kept, later):
        assert never_missing(table.relation[column]) == expected
    if not expected:
        return
    query = later.aggregate(n=count(rows_per_unit=5), m=mean(column, low=-3, high=30, rows_per_unit=5))
    assert query.shared == {"m.count": "n"}
    (total,) = [t for t in query.measures[1].totals if t.name == "m.count"]
    assert total.sum_over is number_of_rows
    ((_, columns),) = found(query).items()
    computed = later.mutate(value=ibis.coalesce(later[column], later[column]))  # of which nothing is known
    assert not never_missing(computed.relation["value"])
    values = found(computed.aggregate(m=mean("value", low=-3, high=30, rows_per_unit=5)))
    assert values[()]["m.count"] == columns["m.count"] == columns["n"] > 0


def test_renamed_and_computed_columns(engine, visits):
    """A renamed column is followed; a computed one is not, whatever it is computed from."""
    kept = visits.filter(visits["stay"].notnull())
    more = kept.mutate(same=kept["stay"], half=kept["stay"] / 0, tried=kept["ward"].try_cast("int64"))
    known = {name for name in ("same", "half", "tried", "stay") if never_missing(more.relation[name])}
    assert known == {"same", "stay"}
