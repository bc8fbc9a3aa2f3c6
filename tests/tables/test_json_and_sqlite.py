"""JSON and SQLite files give the same integers as other sources, and no row makes them fail."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tables.compare import found

import hush.tables
from hush.errors import InvalidParameter
from hush.tables import count, sqlite_file, table

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

ROWS = [{"who": i % 40 - 20, "ward": "ABé"[i % 3], "cost": (i * 37 % 1000) / 8} for i in range(500)]


def asked(t: hush.tables.Table) -> Any:
    query = t.group_by("ward", keys=["A", "é", "x"], groups_per_unit=2)
    return found(query.aggregate(n=count(), s=hush.tables.sum("cost", low=0, high=50)))


@pytest.fixture(scope="module")
def expected() -> Any:
    return asked(table(pa.Table.from_pylist(ROWS), unit="who"))


def made(path: Path, rows: list[tuple[Any, ...]], columns: str, name: str = "visits") -> Path:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"CREATE TABLE {name} ({columns})")
        file.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return path


@pytest.mark.parametrize("ending", ["json", "jsonl", "ndjson", "jsonl.gz"])
def test_json(tmp_path, expected, ending):
    lines = "\n".join(map(json.dumps, ROWS)) + "\n"
    text = json.dumps(ROWS) if ending == "json" else lines
    path = tmp_path / f"visits.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    t = table(path, unit="who", types={"who": "whole", "ward": "text", "cost": "number"})
    assert asked(t) == expected and f"visits.{ending}" in t.fingerprint


@pytest.mark.parametrize("ending", ["sqlite", "sqlite3", "db"])
def test_sqlite(tmp_path, expected, monkeypatch, ending):
    """Also in several batches. An ending .db may be either kind of file."""
    monkeypatch.setattr(sqlite_file, "BATCH", 77)
    rows = [tuple(row.values()) for row in ROWS]
    t = table(made(tmp_path / f"v.{ending}", rows, "who INTEGER, ward VARCHAR(5), cost REAL"), unit="who")
    assert asked(t) == expected and "table visits" in t.fingerprint
    with duckdb.connect(str(tmp_path / "d.db")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS who")
    assert table(tmp_path / "d.db", unit="who").columns == ("who",)


def test_values_of_another_kind_are_null(tmp_path):
    """SQLite allows any value in any column: none of them fails, and none is quoted."""
    rows = [
        (1, "2024-02-29", 1, 2.5, "a"),
        ("secret", "secret", 5, "secret", b"\xff"),
        (2**62, None, "secret", 7, 12),
        (3, 17, None, None, None),
    ]
    path = made(tmp_path / "v.sqlite", rows, '"u" BIGINT, day DATE, ok BOOLEAN, x DECIMAL(5, 2), anything')
    t = table(path, unit="u")
    kinds = [str(t[name].type()) for name in t.columns]
    assert kinds == ["int64", "date", "boolean", "float64", "string"]
    days = found(t.group_by("day", keys="private", groups_per_unit=1).aggregate(n=count()))
    assert {str(day): row["n"] for (day,), row in days.items()} == {"2024-02-29": 1, "None": 2}
    kept = found(t.group_by("anything", keys=["a", "12", None], groups_per_unit=1).aggregate(n=count()))
    assert [row["n"] for row in kept.values()] == [1, 1, 1]


def test_the_table_of_a_file(tmp_path):
    path = made(tmp_path / "v.sqlite", [(1,)], "u INTEGER")
    made(path, [(1,)], "u INTEGER", "other")
    with pytest.raises(InvalidParameter, match=r"has 2 tables; choose one with name=: 'other', 'visits'"):
        table(path, unit="u")
    with pytest.raises(InvalidParameter, match="did you mean 'visits'"):
        table(path, unit="u", name="visit")
    path.write_bytes(b"SQLite format 3\x00 and then nothing of it")
    with pytest.raises(InvalidParameter, match="cannot be read as a SQLite file"):
        table(path, unit="u")


def test_an_address_has_no_password_in_labels_and_errors():
    from hush.tables.source_label import file_label, without_password

    assert file_label("https://u:hunter2@host/x.parquet") == "https://u@host/x.parquet"
    assert without_password("s3://bucket/a@b") == "s3://bucket/a@b"
    with pytest.raises(InvalidParameter, match="unknown ending") as caught:
        table("mysql://u:hunter2@host/db", unit="u")
    assert "hunter2" not in str(caught.value)
