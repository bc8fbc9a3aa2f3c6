"""Spark's own sources: frames, files, and the check that integers cannot overflow silently."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tables.compare import found

from hush import tables
from hush.errors import InvalidParameter, Unsupported
from hush.tables import count, table
from hush.tables.engines import engine_of
from hush.tables.engines.pyspark import find_java, without_vectors

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def frame() -> pa.Table:
    draw = np.random.default_rng(3)
    return pa.table(
        {
            "who": draw.integers(-20, 20, 200),
            "ward": draw.integers(0, 9, 200),
            "cost": np.round(draw.normal(5, 20, 200), 2),
        }
    )


def asked(t):
    return found(
        t.group_by("ward", keys=[1, 2, 5], groups_per_unit=2).aggregate(n=count(), s=tables.sum("cost", low=0, high=50))
    )


def test_frames_and_files_on_spark(spark, frame, tmp_path):
    """A Spark frame, Parquet and CSV give what DuckDB gives; a DuckDB file is refused."""
    expected = asked(table(frame, unit="who"))
    pyarrow.parquet.write_table(frame, tmp_path / "visits.parquet")
    frame.to_pandas().to_csv(tmp_path / "visits.csv", index=False)
    assert asked(table(spark.createDataFrame(frame.to_pylist()), unit="who")) == expected
    for name in ("visits.parquet", "visits.csv"):
        types = {"who": "whole"} if "csv" in name else None
        t = table(tmp_path / name, unit="who", engine=spark, types=types)
        assert asked(t) == expected
        assert t.engine == "pyspark"
        assert name in t.fingerprint
    with pytest.raises(InvalidParameter, match="write a DuckDB table or JSON to Parquet first"):
        table(tmp_path / "visits.duckdb", unit="who", engine=spark)


def test_lines_of_csv_files_are_the_same_on_spark(spark, tmp_path):
    """What a line means is one definition: quotes, bytes and lengths that do not fit leave out the same lines."""
    lines = [b'1,"a,b",2.5', b'2,"x""y",-1e2', b'3,"open,1', b'4,a"b,2', b'5,"a"b,1', b"6,\xff,1", b"7,a", b"8,a,1,2"]
    lines += [b"", "9,\u00e9,1.5".encode(), "9,\ufffd,1".encode(), b"w,x,nan", b"who,ward,cost", b"10,,1 "]
    lines += [b'11,"",0x1', b"12,' ,+1"]
    (tmp_path / "v.csv").write_bytes(b"\n".join([b"who,ward,cost", *lines]) + b"\n")
    found = []
    for engine in ("duckdb", spark):
        t = table(tmp_path / "v.csv", unit="who", types={"cost": "number"}, engine=engine)
        batches = engine_of(t.source.backend).batches(t.source, t.relation, 100)
        found.append(sorted(str(list(row.values())) for batch in batches for row in batch.to_pylist()))
    assert found[0] == found[1] and len(found[0]) == 8


def test_silent_overflow_is_refused(spark, frame):
    """Without ANSI mode Spark wraps integers round: such a session is refused."""
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(Unsupported, match="integers overflow without an error"):
            table(frame, unit="who", engine=spark)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def test_java_is_found_and_named(monkeypatch, tmp_path):
    """JAVA_HOME first, then the path, then the wheel; the origin is told."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert (find_java().home, find_java().origin) == (str(home), "JAVA_HOME")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setattr("shutil.which", lambda name: "/somewhere/java")
    assert find_java().origin == "the java on the path"


def test_the_wheel_starts_without_the_vector_module(tmp_path):
    """The small Java of the wheel lacks a module that Spark 4 names on the command line: that argument, and no other,
    is left out.
    """
    home = tmp_path / "it's a jdk"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    program.chmod(0o755)
    made = Path(without_vectors(home), "bin", "java")
    arguments = ["-Dname=a b", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "$HOME 'x'"]
    shown = subprocess.run([str(made), *arguments], capture_output=True, text=True, check=True).stdout
    assert shown == "<-Dname=a b><--add-modules=java.sql><$HOME 'x'>"
