"""Joins and tables of one row per person, as a user writes them: sources, names, refusals, plans, ledgers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from ibis import _

import hush
from hush import tables
from hush.errors import InvalidParameter, Unsupported

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

VISITS = pa.table({"id": [1, 1, 2, 3], "ward": ["A", "B", "A", None], "cost": [0.1, 0.2, 5.0, 7.0]})
WARDS = pa.table({"ward": ["A", "A", "C"], "cost": [10, 20, 30]})
HOMES = pa.table({"person": [1, 2, 9], "town": ["Bonn", "Ulm", "Ulm"]})


@pytest.fixture(scope="module")
def visits() -> tables.Table:
    return tables.table(VISITS, unit="id")


def rows_of(table: tables.Table) -> list[dict[str, Any]]:
    """The rows of a derived table, in order."""
    source = table.source
    connection = source.backend.con.cursor() if source.owned else source.backend.con
    for name, frame in source.frames.items() if source.owned else ():
        connection.register(name, frame)
    found = connection.execute(source.backend.compile(table.relation)).fetchall()
    return sorted((dict(zip(table.columns, row, strict=True)) for row in found), key=str)


def test_files_frames_and_databases_are_joined(tmp_path: Path, visits):
    """Each on its own connection before the join; two tables of one database too."""
    pyarrow.parquet.write_table(VISITS, tmp_path / "visits.parquet")
    pyarrow.csv.write_csv(WARDS, tmp_path / "wards.csv")
    database = ibis.duckdb.connect(tmp_path / "all.duckdb")
    database.con.register("frame", HOMES)
    database.con.execute("CREATE TABLE homes AS FROM frame; CREATE TABLE people AS SELECT person, 1 AS one FROM frame")
    database.disconnect()
    wards = tables.public(str(tmp_path / "wards.csv"), types={"cost": "whole"})
    homes = tables.table(str(tmp_path / "all.duckdb"), unit="person", name="homes")
    people = tables.table(tmp_path / "all.duckdb", unit="person", name="people")
    expected = [
        {"id": 1, "ward": "A", "cost": 0.1, "cost_right": 10, "town": "Bonn", "one": 1},
        {"id": 1, "ward": "A", "cost": 0.1, "cost_right": 20, "town": "Bonn", "one": 1},
        {"id": 2, "ward": "A", "cost": 5.0, "cost_right": 10, "town": "Ulm", "one": 1},
        {"id": 2, "ward": "A", "cost": 5.0, "cost_right": 20, "town": "Ulm", "one": 1},
    ]
    for left in (visits, tables.table(str(tmp_path / "visits.parquet"), unit="id")):
        right = homes.join(people, on="person")
        made = left.join(wards, on="ward").join(right, on={"id": "person"})
        found = [{name: row[name] for name in expected[0]} for row in rows_of(made)]
        assert found == expected
        assert made.aggregate(n=tables.count(rows_per_unit=9)).aggregates().to_arrow()["n"].to_pylist() == [4]
    assert "all.duckdb, table homes, unit person" in made.fingerprint
    assert "wards" not in made.fingerprint


def test_a_left_join_keeps_the_rows(visits):
    homes = tables.table(HOMES, unit="person")
    made = rows_of(visits.join(homes, on={"id": "person"}, how="left"))
    assert [(row["id"], row["person"], row["town"]) for row in made] == [
        (1, 1, "Bonn"),
        (1, 1, "Bonn"),
        (2, 2, "Ulm"),
        (3, None, None),
    ]


def test_sums_of_floats_do_not_depend_on_the_order():
    """As whole millionths: 0.1 + 0.2 is 0.3, and huge values do not swallow small ones."""
    xs = [1e300, 0.1, -1e300, 0.2, float("nan"), None, float("inf"), float("-inf")]
    for order in (xs, xs[::-1]):
        table = tables.table(pa.table({"u": [1] * len(xs), "x": pa.array(order, pa.float64())}), unit="u")
        (row,) = rows_of(table.per_unit(s=_.x.sum(), m=_.x.mean(), n=_.x.count(), low=_.x.min()))
        assert (row["s"], row["m"], row["n"], row["low"]) == (0.3, 0.3 / 6, 6, float("-inf"))


def test_text_is_compared_by_its_bytes():
    """Under a collation that ignores case, the spellings of a unit are different people, in windows and joins too."""
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE t (u VARCHAR COLLATE NOCASE, g VARCHAR COLLATE NOCASE, x INTEGER)")
    backend.con.execute("INSERT INTO t VALUES ('ann', 'a', 1), ('Ann', 'A', 2), ('ann', 'B', 4)")
    table = tables.table(backend.table("t"), unit="u")
    assert [row["n"] for row in rows_of(table.mutate(n=_.x.sum().over(group_by="u")))] == [2, 5, 5]
    assert [(row["n"], row["g"]) for row in rows_of(table.per_unit(n=_.count(), g=_.g.min()))] == [(1, "A"), (2, "B")]
    assert len(rows_of(table.join(table.per_unit(n=_.count()), on="u"))) == 3
    with_capital = table.join(tables.public(pa.table({"g": ["A"]})), on="g")
    assert with_capital.aggregate(n=tables.count(rows_per_unit=9)).aggregates().to_arrow()["n"].to_pylist() == [1]


def test_one_row_per_person_needs_less_noise(visits):
    """One group, one row: less noise than the same limits on the visits, and nothing that limits could leave out."""
    people = visits.per_unit(n=_.count(), ward=_.ward.min())

    def asked(table: tables.Table) -> tables.Query:
        grouped = table.group_by("ward", keys=["A", "B"], groups_per_unit=2)
        return grouped.aggregate(rows=tables.count(rows_per_unit=3))

    mine, theirs = asked(people).plan(1.0, 0.0, family="laplace"), asked(visits).plan(1.0, 0.0, family="laplace")
    assert mine.query.sensitivity.groups == 1 and mine.query.sensitivity.linf == {"rows": 1}
    assert 6 * mine.errors()["rows"] < theirs.errors()["rows"] * 1.1
    assert "left_out" not in mine.answer(ledger=None).receipt
    assert [row["groups_per_unit"] for row in mine.what_if()] == [1]
    joined = people.join(tables.public(WARDS), on="ward")
    assert not joined.one_row and asked(joined).sensitivity.groups == 2


def test_a_count_has_a_value_in_every_row(visits):
    """So a mean of it shares its count with the number of people."""
    people = visits.per_unit(n=_.count(), s=_.cost.sum())
    query = people.aggregate(people=tables.count_units(), n=tables.mean("n", low=0, high=9))
    assert query.shared == {"n.count": "people"}
    assert people.aggregate(people=tables.count_units(), s=tables.mean("s", low=0, high=9)).shared == {}


def test_plans_and_receipts_say_whose_rows(visits):
    made = visits.join(tables.public(WARDS), on="ward", how="left").per_unit(n=_.count())
    plan = made.aggregate(n=tables.mean("n", low=0, high=9)).plan(1.0, 1e-6, family="laplace")
    text = (
        "each row belongs to the id of a frame of id, ward, cost; left-joined with the public table a frame of ward, "
        "cost on ward; one row for each id: n"
    )
    assert text in " ".join(str(plan).split())
    assert plan.answer(ledger=None).receipt["belongs"] == text
    assert "whose rows" not in str(visits.aggregate(n=tables.count()).plan(1.0, 1e-6, family="laplace"))


def test_a_ledger_protects_all_private_tables(visits):
    """The order of a join does not matter; a table alone is another data set, unless both have one population."""
    homes = tables.table(HOMES, unit="person")
    one, other = visits.join(homes, on={"id": "person"}), homes.join(visits, on={"person": "id"})
    assert one.fingerprint == other.fingerprint != visits.fingerprint
    ledger = hush.Ledger(None, epsilon=9.0, delta=1e-5)
    for table in (one, other, one.per_unit(n=_.count())):
        table.aggregate(n=tables.count()).answer(1.0, 0.0, ledger=ledger, family="laplace")
    with pytest.raises(InvalidParameter, match=r"give every table the same population= .* use a separate ledger"):
        visits.aggregate(n=tables.count()).answer(1.0, 0.0, ledger=ledger, family="laplace")
    named = [tables.table(VISITS, unit="id", population="p"), tables.table(HOMES, unit="person", population="p")]
    lines = tables.linked(pa.table({"ward": ["A"], "price": [1]}), to=named[0], on="ward")
    every = [*named, named[0].join(named[1], on={"id": "person"}), named[0].join(lines, on="ward"), lines]
    assert {table.fingerprint for table in every} == {"population p"}
    with pytest.raises(InvalidParameter, match=r"^population must be a name"):
        tables.table(VISITS, unit="id", population="")


REFUSED = {
    "no table": (lambda v: v.join("wards.csv", on="ward"), "join needs a table that states whose rows it has, got str"),
    "a float key": (
        lambda v: v.join(tables.public(VISITS), on="cost"),
        "on joins 'cost' of type float64 .*floats are not keys",
    ),
    "two kinds": (lambda v: v.join(tables.public(WARDS), on={"id": "ward"}), "on joins 'id' of type int64 and 'ward'"),
    "no column": (lambda v: v.join(tables.public(WARDS), on="wart"), "did you mean 'ward'"),
    "no key": (lambda v: v.join(tables.public(WARDS), on=[]), "on names no column"),
    "no word": (lambda v: v.join(tables.public(WARDS), on=3), "on must be a column"),
    "outer": (lambda v: v.join(tables.public(WARDS), on="ward", how="outer"), "how must be one of inner, left"),
    "two names": (lambda v: v.join(tables.public(WARDS), on="ward", suffix=""), "two columns the name 'cost'"),
    "other people": (lambda v: v.join(v, on="ward"), "join joins rows of different people"),
    "a link to nobody": (
        lambda v: tables.linked(WARDS, to=tables.public(WARDS), on="ward"),
        "to must be the table",
    ),
    "a link to some rows": (
        lambda v: tables.linked(WARDS, to=v.filter(_.id > 1), on="ward"),
        "to must be a table as",
    ),
    "a link to rows": (
        lambda v: tables.linked(WARDS, to=tables.table(VISITS, unit=tables.each_row), on="ward"),
        "a link needs a table with a unit of columns",
    ),
    "a link by two kinds": (lambda v: tables.linked(WARDS, to=v, on={"ward": "id"}), "on joins 'ward' of type string"),
    "a link by no column": (lambda v: tables.linked(WARDS, to=v, on="wart"), "did you mean 'ward'"),
    "nothing": (lambda v: v.per_unit(), "per_unit needs at least one column"),
    "hush's own": (lambda v: v.per_unit(n=tables.count()), "'n' is one of hush's"),
    "a column": (lambda v: v.per_unit(n=_.cost), "'n' is no aggregate"),
    "a text": (lambda v: v.per_unit(n="cost"), "'n' is no aggregate"),
    "the unit": (lambda v: v.per_unit(id=_.count()), "per_unit must not change the unit column"),
    "the case": (lambda v: v.per_unit(ID=_.count()), "differs in case only"),
    "by chance": (lambda v: v.per_unit(n=_.ward.first()), "per_unit uses First, for which hush has no rule"),
    "a row number": (
        lambda v: v.mutate(n=ibis.row_number().over(group_by="id", order_by="cost")),
        "mutate uses RowNumber in a window, which may depend on the order of equal rows",
    ),
    "some rows": (
        lambda v: v.mutate(n=_.cost.cumsum(group_by="id", order_by="ward")),
        "mutate uses a window of some rows",
    ),
    "float groups": (
        lambda v: v.mutate(n=_.count().over(group_by=["id", "cost"])),
        "groups a window by values of type float64",
    ),
    "two windows": (
        lambda v: v.mutate(n=lambda t: (t.cost - t.cost.mean().over(group_by="id")).sum().over(group_by="id")),
        "WindowFunction, which uses several rows",
    ),
    "a filter": (lambda v: v.filter(lambda t: t.count().over(group_by="id") > 1), "add it with mutate first"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_one_sentence(visits, name):
    make, words = REFUSED[name]
    with pytest.raises((InvalidParameter, Unsupported), match=words) as caught:
        make(visits)
    assert str(caught.value).count(". ") == 0 and "\n" not in str(caught.value)


def test_a_source_is_declared_in_one_way(tmp_path: Path):
    """A table cannot be public and private, or have two units, in one question."""
    pyarrow.parquet.write_table(VISITS, tmp_path / "v.parquet")
    path, backend = str(tmp_path / "v.parquet"), ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE v (a BIGINT, b BIGINT)")
    frames = tables.table(path, unit="id")
    held = backend.table("v")
    for make in (
        lambda: frames.join(tables.public(path), on="id"),
        lambda: frames.join(tables.linked(path, to=frames, on="id"), on="id"),
        lambda: tables.linked(HOMES, to=frames, on={"person": "id"}).join(tables.public(path), on={"person": "id"}),
        lambda: frames.join(tables.table(path, unit="ward"), on={"id": "ward"}),
        lambda: tables.table(held, unit="a").join(tables.table(held.filter(_.a > 0), unit="b"), on={"a": "b"}),
    ):
        with pytest.raises(InvalidParameter, match=r"join uses one source in two ways|on joins 'id' of type"):
            make()


def test_two_connections_are_refused(visits):
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE homes (person BIGINT)")
    homes = tables.table(backend.table("homes"), unit="person")
    for make in (
        lambda: visits.join(homes, on={"id": "person"}),
        lambda: homes.join(visits, on={"person": "id"}),
        lambda: tables.linked(VISITS, to=homes, on={"id": "person"}),
    ):
        with pytest.raises(Unsupported, match=r"^join needs both tables on one connection, but .* and .*\.$"):
            make()
