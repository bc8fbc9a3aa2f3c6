"""Text files, compressed ones too, are read once, when they are opened."""

from __future__ import annotations

import duckdb
import pytest

from hush.tables import count, source, table
from hush.tables import sum as total


def write(path, rows, form):
    """Rows of a person, a ward and a cost, by DuckDB."""
    query = f"SELECT i % {rows // 4} AS who, 'ward ' || i % 3 AS ward, i % 7 AS cost FROM range({rows}) t(i)"
    duckdb.sql(f"COPY ({query}) TO '{path}' ({form})")


def answers(t):
    query = t.group_by("ward", keys="private", groups_per_unit=3).aggregate(
        n=count(rows_per_unit=9), cost=total("cost", low=0, high=9)
    )
    return query.aggregates(salt=bytes(32)).to_arrow()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst", "a.tsv.gz", "*.csv.gz", "."])
def test_they_are_read_once(tmp_path, name):
    """The same integers as the plain file, and the questions need the file no more."""
    tabs = ", DELIMITER '\t'" if "tsv" in name else ""
    file = tmp_path / ("a.csv.gz" if name in ("*.csv.gz", ".") else name)
    write(
        file,
        1000,
        f"FORMAT csv, COMPRESSION {'zstd' if name.endswith('zst') else 'gzip' if name != 'a.csv' else 'none'}{tabs}",
    )
    (tmp_path / "plain").mkdir()
    write(tmp_path / "plain" / "a.csv", 1000, "FORMAT csv")
    plain = table(tmp_path / "plain" / "a.csv", unit="who")
    if name == ".":
        (tmp_path / "plain" / "a.csv").rename(tmp_path / "plain" / "a.txt")
        text = tmp_path / "plain" / "a.txt"
        plain = table(
            duckdb.sql(f"SELECT who::TEXT AS who, ward, cost::DOUBLE AS cost FROM read_csv('{text}')"),
            unit="who",
        )
    t = table(tmp_path / name, unit="who")
    file.unlink()
    assert answers(t).equals(answers(t))
    assert answers(t).equals(answers(plain))


@pytest.mark.exhaustive  # the only test that rows are moved to disk; it takes ten seconds
def test_a_file_larger_than_memory(tmp_path, monkeypatch):
    """DuckDB moves rows to disk."""
    path = tmp_path / "large.csv.gz"
    note = "md5(i::text) || md5((i + 1)::text)"
    query = f"SELECT i // 2 AS who, 'ward ' || i % 3 AS ward, {note} AS note FROM range(2000000) t(i)"
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT csv, COMPRESSION gzip)")
    connect = source.own_connection

    def small():
        backend = connect()
        backend.con.execute(
            f"SET memory_limit = '150MB'; SET threads = 1; SET temp_directory = '{tmp_path / 'spilled'}'"
        )
        return backend

    monkeypatch.setattr(source, "own_connection", small)
    t = table(path, unit="who")
    path.unlink()
    moved = t.source.backend.con.sql("SELECT sum(size) FROM duckdb_temporary_files()").fetchall()
    assert (moved[0][0] or 0) > 1_000_000, "rows were moved to disk"
    query = t.aggregate(n=count(rows_per_unit=2))
    assert query.aggregates().to_arrow()["n"].to_pylist() == [2_000_000]
