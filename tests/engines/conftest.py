"""Every engine through one fixture: `engine.table(rows, unit=...)` opens the same rows on each of them."""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from engines.postgres_server import load, programs, running
from tables.messy import arrow_of, as_read, messy

import hush.tables
from hush.errors import HushError
from hush.tables.engines.pyspark import find_java
from hush.tables.source import open_source


class OnDuckDB:
    name = "duckdb"

    def table(self, rows: pa.Table, *, unit: str, **options: Any) -> hush.tables.Table:
        return hush.tables.table(rows, unit=unit, **options)

    def source(self, rows: pa.Table) -> dict[str, Any]:
        """The source of a policy's table."""
        return {"source": rows}


class OnSpark:
    name = "pyspark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def table(self, rows: pa.Table, *, unit: str, **options: Any) -> hush.tables.Table:
        return hush.tables.table(rows, unit=unit, engine=self.session, **options)

    def source(self, rows: pa.Table) -> dict[str, Any]:
        return {"source": open_source(rows, engine=self.session).relation}


class OnPostgres:
    """Rows are copied to a table by its owner. hush reads it as a role that may only read."""

    name = "postgres"
    number = itertools.count()

    def __init__(self, server: Any) -> None:
        self.server = server

    def table(self, rows: pa.Table, *, unit: str, name: str = "", **options: Any) -> hush.tables.Table:
        """A table of a new name, or in the place of the table `name`."""
        self.server.owner.execute(f'DROP TABLE IF EXISTS "{name}"') if name else None
        name = name or f"rows{next(self.number)}"
        load(self.server.owner, name, rows)
        return hush.tables.table(self.server.address, name=f"public.{name}", unit=unit, **options)

    def source(self, rows: pa.Table) -> dict[str, Any]:
        name = f"rows{next(self.number)}"
        load(self.server.owner, name, rows)
        return {"source": self.server.address, "name": f"public.{name}"}

    def side(self, make: Any, rows: pa.Table) -> Any:
        """A table without a unit."""
        name = f"side{next(self.number)}"
        load(self.server.owner, name, rows)
        return make(self.server.address, name=f"public.{name}")


class Server:
    """A running server: its owner's connection, and the address for a role that may only read."""

    def __init__(self, address: str) -> None:
        import psycopg

        self.owner = psycopg.connect(address, autocommit=True)
        self.owner.execute("CREATE ROLE reader LOGIN")
        self.owner.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader")
        self.address = address.replace("postgres@", "reader@")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for the whole run."""
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: pip install 'hush[postgres]'")
    where = programs()
    if where is None:
        pytest.skip("PostgreSQL's server is not installed: apt-get install postgresql")
    with running(where) as address:
        server = Server(address)
        yield server
        server.owner.close()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One small, silent session for the whole run."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install 'hush[spark]'")
    try:
        java = find_java()
    except HushError as failure:
        pytest.skip(str(failure))
    if java.home:
        os.environ["JAVA_HOME"] = java.home
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # no name look-ups: there may be no network
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # executors need the packages that this Python has
    # short-lived sessions gain from a quick compiler and a simple collector; both must be said before Java starts
    options = "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell"
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", options)
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.enabled": "true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]").appName("hush tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


ON_SPARK = (
    # Spark's own client leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
)


ON_POSTGRES = (
    # a table that is forgotten leaves its connection to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
)


@pytest.fixture(
    scope="session",
    params=["duckdb", pytest.param("pyspark", marks=ON_SPARK), pytest.param("postgres", marks=ON_POSTGRES)],
)
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "duckdb":
        return OnDuckDB()
    if request.param == "pyspark":
        return OnSpark(request.getfixturevalue("spark"))
    return OnPostgres(request.getfixturevalue("postgres"))


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    return as_read(messy())


@pytest.fixture(scope="session")
def visits(engine: Any) -> hush.tables.Table:
    """The messy rows on an engine, by numbered unit."""
    return engine.table(arrow_of(messy()), unit="who")


@pytest.fixture(scope="session")
def named_visits(engine: Any) -> hush.tables.Table:
    """The same rows, by a unit that is text."""
    return engine.table(arrow_of(messy()), unit="name")
