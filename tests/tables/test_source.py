"""Sources: files, globs, folders, databases, frames and Ibis tables all give the same integers."""

from __future__ import annotations

import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from tables.compare import found

import hush.tables
from hush.errors import HushError, InvalidParameter
from hush.tables import count, mean, table

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    draw = np.random.default_rng(3)
    wards = np.array(["A", "B", "é", "O'Hara"])[draw.integers(0, 4, 500)]
    return pa.table({"who": draw.integers(-20, 20, 500), "ward": wards, "cost": np.round(draw.normal(5, 20, 500), 2)})


def asked(t: hush.tables.Table) -> Any:
    return found(
        t.group_by("ward", keys=["A", "é", "O'Hara", "x"], groups_per_unit=2).aggregate(
            n=count(), s=hush.tables.sum("cost", low=0, high=50)
        )
    )


@pytest.fixture(scope="module")
def expected(frame: pa.Table) -> Any:
    result = asked(table(frame, unit="who"))
    assert result[("A",)]["n"] > 5
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, frame: pa.Table) -> Path:
    """The same rows in files of every kind, under a name with a quote in it."""
    path = tmp_path_factory.mktemp("it's")
    connection = duckdb.connect(str(path / "visits.duckdb"))
    connection.register("frame", frame)
    connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    connection.execute("CREATE TABLE other AS SELECT 1 AS a")
    connection.close()
    pyarrow.parquet.write_table(frame, path / "visits.parquet")
    frame.to_pandas().to_csv(path / "visits.csv", index=False)
    frame.to_pandas().to_csv(path / "visits.tsv", index=False, sep="\t")
    frame.to_pandas().to_csv(path / "visits.csv.gz", index=False)
    (path / "parts").mkdir()
    for i in range(3):
        pyarrow.parquet.write_table(frame.slice(i * 200, 200), path / "parts" / f"part-{i}.parquet")
    return path


@pytest.mark.parametrize(
    "name",
    [
        "visits.parquet",
        "visits.csv",
        "visits.tsv",
        "visits.csv.gz",
        "parts",
        "parts/*.parquet",
        "p*/part-[0-9].parquet",
    ],
)
def test_files(folder, expected, name):
    # whose rows count is drawn by the text of a person, so the same people need the same type
    types = {"who": "whole"} if "sv" in name else None
    assert asked(table(str(folder / name), unit="who", types=types)) == expected
    assert asked(table(folder / name, unit="who", types=types)) == expected


def test_databases(folder, expected):
    """A table of a DuckDB file by name; the file is opened for reading only, and the others are listed when none is
    named.
    """
    path = folder / "visits.duckdb"
    assert asked(table(path, unit="who", name="visits")) == expected
    with pytest.raises(InvalidParameter, match="has 2 tables; choose one with name=: 'other', 'visits'"):
        table(path, unit="who")
    with pytest.raises(InvalidParameter, match="did you mean 'visits'"):
        table(path, unit="who", name="visit")
    with pytest.raises(InvalidParameter, match="does not exist"):
        table(folder / "none.duckdb", unit="who")
    (folder / "broken.duckdb").write_text("not a database")
    with pytest.raises(InvalidParameter, match="cannot be opened as a DuckDB file"):
        table(folder / "broken.duckdb", unit="who")


def test_frames(frame, expected):
    """pandas (categories too), polars (lazy too), Arrow tables, batches and readers."""
    pandas = frame.to_pandas()
    for source in (
        pandas,
        pandas.assign(ward=pandas["ward"].astype("category")),
        pandas.set_index("cost").reset_index(),
        pl.from_arrow(frame),
        pl.from_arrow(frame).lazy(),
        frame.to_reader(),
        frame.combine_chunks().to_batches()[0],
        pa.dataset.dataset(frame),
    ):
        assert asked(table(source, unit="who")) == expected


def test_a_frame_keeps_its_index_out(frame):
    indexed = frame.to_pandas().set_index("who")
    with pytest.raises(InvalidParameter, match="unit names the column 'who'"):
        table(indexed, unit="who")


def test_ibis_tables(frame, expected):
    """A user's own connection, with temporary views and registered frames, and a memory table without one; it stays
    usable.
    """
    backend = ibis.duckdb.connect()
    backend.con.register("registered", frame)
    backend.con.execute("CREATE TEMPORARY VIEW seen AS SELECT * FROM registered")
    for name in ("registered", "seen"):
        assert asked(table(backend.table(name), unit="who")) == expected
        assert backend.con.sql("SELECT 1").fetchall() == [(1,)]
    assert asked(table(ibis.memtable(frame), unit="who")) == expected
    with pytest.raises(InvalidParameter, match="source must be an Ibis table"):
        table(backend.table("seen").cost, unit="who")


def test_a_temporary_view_is_not_mistaken_for_a_table_of_its_name(frame, expected):
    """A cursor would see the table behind the view; the user's own connection sees the view."""
    backend = ibis.duckdb.connect()
    backend.con.register("registered", frame)
    backend.con.execute("CREATE TABLE seen AS SELECT * FROM registered LIMIT 1")
    backend.con.execute("CREATE TEMPORARY VIEW seen AS SELECT * FROM registered")
    assert asked(table(backend.table("seen"), unit="who")) == expected


def test_enumerations_are_text():
    """DuckDB orders an enumeration by when its values were made; ours come back sorted as text, and hash as text."""
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TYPE ward AS ENUM ('z', 'm', 'a')")
    backend.con.execute(
        "CREATE TABLE visits AS "
        "SELECT range AS who, CAST(['z', 'm', 'a'][range % 3 + 1] AS ward) AS ward FROM range(30)"
    )
    text = table(pa.table({"who": np.arange(30), "ward": ["z", "m", "a"] * 10}), unit="who")
    results = [
        found(t.group_by("ward", keys="private", groups_per_unit=1).aggregate(n=count()))
        for t in (table(backend.table("visits"), unit="who"), text)
    ]
    assert results[0] == results[1]
    assert list(results[0]) == [("a",), ("m",), ("z",)]


def test_fingerprints(frame, folder):
    """The same source and unit have the same name, whatever the filter; another unit or file has another. No data in
    it.
    """
    t = table(folder / "visits.parquet", unit="who")
    assert (
        t.fingerprint
        == t.filter(t["cost"] > 0).mutate(x=t["cost"]).fingerprint
        == table(str(folder / "visits.parquet"), unit="who").fingerprint
    )
    assert (
        len({t.fingerprint, table(folder / "visits.csv", unit="who").fingerprint, table(frame, unit="who").fingerprint})
        == 3
    )
    assert table(folder / "visits.parquet", unit="ward").fingerprint != t.fingerprint
    assert t.engine == "duckdb"


def test_duckdb_relations(frame, expected):
    """A query of DuckDB's own Python package, run once: also one that joins, and one of the default connection."""
    connection = duckdb.connect()
    connection.register("visits", frame)
    connection.execute("CREATE TABLE names AS SELECT DISTINCT ward AS place, ward FROM visits")
    joined = connection.sql("SELECT v.who, n.ward, v.cost FROM visits v JOIN names n ON v.ward = n.place")
    for relation in (
        connection.sql("SELECT * FROM visits"),
        connection.table("visits"),
        joined,
        duckdb.from_arrow(frame),
    ):
        t = table(relation, unit="who")
        assert asked(t) == expected
        assert t.fingerprint == table(frame, unit="who").fingerprint
    connection.close()
    assert asked(t) == expected, "it is held in memory"


def test_a_duckdb_relation_that_fails_says_nothing_of_the_data():
    relation = duckdb.sql("SELECT range AS who, CAST('Jane Doe' || range AS INT) AS x FROM range(3)")
    with pytest.raises(HushError, match="message is hidden") as caught:
        table(relation, unit="who")
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_every_source_fits_into_a_ledger(tmp_path):
    """Many columns, a long path, a long name of a table: the ledger takes at most 1000 characters. Short names stay
    as they are.
    """
    wide = {"id": np.arange(3)} | {f"some_measurement_number_{i}": np.arange(3) for i in range(60)}
    other = pa.table(wide).rename_columns([*list(wide)[:-1], "another"])
    deep = tmp_path.joinpath(*["a_folder_with_a_name_of_some_length" * 6] * 5)
    deep.mkdir(parents=True)
    pyarrow.parquet.write_table(pa.table(wide), deep / "visits.parquet")
    backend = ibis.duckdb.connect()
    backend.con.register("t" * 2000, pa.table(wide))
    sources = [pa.table(wide), other, deep / "visits.parquet", str(deep / "*.parquet"), backend.table("t" * 2000)]
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(f'CREATE TABLE "{"u" * 2000}" AS SELECT 1 AS id')
    tables = [table(source, unit="id") for source in (*sources, tmp_path / "a.duckdb")]
    for t in tables:
        plan = t.aggregate(n=count()).plan(1.0, 0.0, family="laplace")
        plan.answer(ledger=hush.Ledger(None, epsilon=3.0, delta=1e-5))
        assert len(t.fingerprint) < 500 and "SHA-256" in t.fingerprint
    assert len({t.fingerprint for t in tables}) == len(tables), "two of them have one name"
    assert tables[0].fingerprint == table(pa.table(wide).to_pandas(), unit="id").fingerprint
    assert (
        tables[0].fingerprint.startswith("a frame of id, some_measurement_number_0, ")
        and "61 columns" in tables[0].fingerprint
    )
    fits = pa.table({"id": [1], "c" * 880: [1]})
    assert table(fits, unit="id").fingerprint == f"a frame of id, {'c' * 880}, unit id"


def test_odd_names_and_ids():
    """Column names that need quoting, names of our own inner columns, and ids that are unsigned or UUIDs."""
    ids = [uuid.UUID(int=k) for k in (1, 1, 2, 3)]
    frame = pa.table(
        {
            "we\"ird; `na'me": pa.array([1, 1, 2, 2**64 - 1], pa.uint64()),
            "g0": ["a", "a", "a", "b"],
            "u": [1.0, 2.0, 3.0, 4.0],
            "place": pa.array([1, 2, 1, 2], pa.int8()),
            "k": [str(k) for k in ids],
        }
    )
    for unit in ("we\"ird; `na'me", "k"):
        t = table(frame, unit=unit)
        assert found(t.group_by("g0", keys=["b", "a"], groups_per_unit=1).aggregate(c0=count())) == {
            ("b",): {"c0": 1},
            ("a",): {"c0": 2},
        }
        got = found(
            t.group_by("g0", "place", keys="private", groups_per_unit=9).aggregate(
                s=hush.tables.sum("u", low=0, high=10), u=mean("u", low=0, high=9)
            )
        )
        assert [columns["u.count"] for columns in got.values()] == [2, 1, 1]
    backend = ibis.duckdb.connect()
    backend.con.register("frame", frame)
    backend.con.execute("CREATE TABLE people AS SELECT CAST(k AS UUID) AS who, g0 FROM frame")
    assert found(table(backend.table("people"), unit="who").aggregate(n=count())) == {(): {"n": 3}}


def test_nan_in_pandas_is_no_value():
    frame = pd.DataFrame({"who": [1, 2, 3], "x": [1.0, None, np.nan]})
    query = table(frame, unit="who").aggregate(s=hush.tables.sum("x", low=0, high=10))
    assert query.measures[0].answer({"s": found(query)[()]["s"]}) == 1.0


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.decimal128(5, 2)).cast(pa.decimal256(60, 2)),
        pa.array([1], pa.duration("s")),
        pa.array([b"x"], pa.large_binary()),
        pa.array(["x"], pa.string_view()),
        pa.array([np.float16(1.5)]),
        pa.array([[1]], pa.large_list(pa.int8())),
        pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8())),
        pa.nulls(1),
    ],
    ids=lambda column: str(column.type),
)
def test_a_frame_with_an_odd_column_opens(column):
    """No error of another library, also if nobody asks for the column."""
    query = table(pa.table({"p": [1], "x": column}), unit="p").aggregate(n=count())
    assert query.aggregates().to_arrow().num_rows == 1


@pytest.mark.parametrize(
    "wide", [pa.array([np.float16(1.5)]), pa.array([Decimal("1.5")], pa.decimal256(60, 2))], ids=str
)
def test_numbers_that_duckdb_does_not_have_are_read_as_floats(wide):
    query = table(pa.table({"p": [1], "x": wide}), unit="p").aggregate(
        n=hush.tables.sum("x", low=0, high=3, rows_per_unit=1)
    )
    exact = table(pa.table({"p": [1], "x": [1.5]}), unit="p").aggregate(
        n=hush.tables.sum("x", low=0, high=3, rows_per_unit=1)
    )
    assert query.aggregates().to_arrow().equals(exact.aggregates().to_arrow())
