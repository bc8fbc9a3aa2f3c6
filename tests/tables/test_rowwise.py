"""Expressions that look beyond their own row would break the proof of the bound: they are refused, and row-wise ones
pass.
"""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.operations as ops
import pytest
from ibis import _

import hush.tables
from hush.errors import InvalidParameter, Unsupported
from hush.tables import count, mean

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2


@pytest.fixture(scope="module")
def connection() -> Any:
    backend = ibis.duckdb.connect()
    backend.con.execute(
        "CREATE TABLE visits (who BIGINT, ward VARCHAR, age INTEGER, cost DOUBLE, day DATE, tags VARCHAR[])"
    )
    backend.con.execute("CREATE TABLE wards (ward VARCHAR, floor INTEGER)")
    backend.con.execute(
        "INSERT INTO visits VALUES (1, 'A', 30, 2.5, DATE '2024-01-01', ['x']), (2, 'B', 50, 1.5, NULL, NULL)"
    )
    return backend


@pytest.fixture(scope="module")
def raw(connection: Any) -> Any:
    return connection.table("visits")


@pytest.fixture(scope="module")
def visits(raw: Any) -> hush.tables.Table:
    return hush.tables.table(raw, unit="who")


@ibis.udf.scalar.builtin(name="random")
def hidden() -> float: ...


@ibis.udf.scalar.python
def doubled(x: float) -> float:
    return 2 * x


ACROSS_ROWS = {
    "mean": lambda t: t.age > t.age.mean(),
    "window": lambda t: t.age > t.age.mean().over(group_by="ward"),
    "lag": lambda t: t.age.lag() > 0,
    "row number": lambda t: ibis.row_number() < 10,
    "rank": lambda t: t.age.rank() < 10,
    "cumulative": lambda t: t.cost.cumsum() < 10,
    "quantile": lambda t: t.age < t.age.quantile(0.9),
    "row id": lambda t: t.rowid() < 10,
    "random": lambda t: ibis.random() < 0.5,
    "uuid": lambda t: ibis.uuid().cast("string") > "8",
    "now": lambda t: t.day.cast("timestamp") < ibis.now(),
    "today": lambda t: t.day < ibis.today(),
    "builtin udf": lambda t: hidden() < 0.5,
    "python udf": lambda t: doubled(t.cost) < 0.5,
    "unnest": lambda t: t.tags.unnest() == "x",
    "top": lambda t: t.ward.isin(t.ward.topk(1).ward),
}


@pytest.mark.parametrize("name", ACROSS_ROWS)
def test_filters_and_columns_across_rows_are_refused(visits, name):
    """As a filter, as a computed column, and inside an aggregate: one sentence, naming the operation."""
    for use in (
        lambda: visits.filter(ACROSS_ROWS[name]),
        lambda: visits.mutate(new=ACROSS_ROWS[name]),
        lambda: visits.aggregate(s=hush.tables.sum(ACROSS_ROWS[name], low=0, high=1)),
    ):
        pattern = (
            r"^(filter|mutate|the column of 's') uses \w+.*, which .*the values of one row.*, because .*separately\.$"
        )
        with pytest.raises(Unsupported, match=pattern) as caught:
            use()
        assert str(caught.value).count(". ") == 0


def test_other_tables_are_refused(visits, connection):
    wards = connection.table("wards")
    with pytest.raises(Unsupported, match="InSubquery"):
        visits.filter(visits["ward"].isin(wards.ward))
    with pytest.raises(Unsupported, match="Subquery"):
        visits.filter(visits["age"] > wards.floor.max())
    with pytest.raises(Unsupported, match="Subquery"):
        visits.filter(lambda t: (wards.ward == t.ward).any())
    with pytest.raises(InvalidParameter, match="filter is not an expression over this table"):
        visits.filter(wards.floor > 1)


SOURCES = {
    "aggregate": lambda t, w: t.group_by("who").agg(n=_.count()),
    "join": lambda t, w: t.join(w, "ward"),
    "limit": lambda t, w: t.limit(1),
    "distinct": lambda t, w: t.distinct(),
    "sample": lambda t, w: t.sample(0.5),
    "window": lambda t, w: t.mutate(n=_.age.sum().over(group_by="ward")),
    "union distinct": lambda t, w: t.union(t, distinct=True),
    "intersection": lambda t, w: t.intersect(t),
    "unnest": lambda t, w: t.unnest("tags"),
    "sql": lambda t, w: ops.SQLQueryResult("SELECT * FROM visits LIMIT 1", t.schema(), t.get_backend()).to_expr(),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources_made_across_rows_are_refused(raw, connection, name):
    """An Ibis table whose rows depend on other rows is no source: the neighbours would not be what they seem."""
    with pytest.raises(Unsupported, match=r"^source uses"):
        hush.tables.table(SOURCES[name](raw, connection.table("wards")), unit="who")


def test_rowwise_expressions_pass(visits, raw):
    """Arithmetic, text, dates, cases, casts, lists of values, arrays: each of one row."""
    kept = visits.filter(
        _.age.between(0, 120), visits["ward"].isin(["A", "B"]) | _.ward.isnull(), lambda t: ~t.ward.like("%z%")
    )
    made = kept.mutate(
        decade=_.age // 10,
        year=_.day.year(),
        short=_.ward.upper().substr(0, 1),
        kind=ibis.cases((_.age < 18, "child"), else_="adult"),
        tag=_.tags.length().fill_null(0),
        band=_.age.bucket([0, 18, 65]),
        log=(_.cost.clip(1, 100)).ln(),
    )
    n = made.group_by("kind", keys=["child", "adult"], groups_per_unit=1).aggregate(
        n=count(), m=mean(_.cost * 2, low=0, high=9)
    )
    assert n.aggregates().to_arrow()["n"].to_pylist() == [0, 2]
    rowwise = raw.filter(_.age > 0).mutate(old=_.age > 40).drop("tags").rename(id="who").order_by("age")
    assert hush.tables.table(rowwise, unit="id").aggregate(n=count()).aggregates().to_arrow()["n"].to_pylist() == [2]
    both = raw.select("who", "age").union(raw.select("who", "age"))
    assert hush.tables.table(both, unit="who").aggregate(n=count(rows_per_unit=9)).aggregates().to_arrow()[
        "n"
    ].to_pylist() == [4]


def test_the_unit_cannot_be_changed(visits):
    with pytest.raises(InvalidParameter, match=r"^mutate must not change the unit column 'who'"):
        visits.mutate(who=_.age)
    assert visits.mutate(other=_.who).unit == "who"
