"""Text is compared by its bytes on every engine, whatever collation a column or a session has.

A collation in which 'flu' equals 'fLu' would put both into one group. The key of the group would be the spelling of one
person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pyarrow as pa
import pytest
from tables.compare import SALT, found

import hush.tables
from hush.tables import count, count_units, histogram, mean
from hush.tables.expression import by_bytes

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

SPELLINGS = ["flu", "fLu", "flú", "FLU", "flu ", None]
NAMES = [f"{letter}{i}" for i in range(20) for letter in ("a", "A", "á")]
ROWS = [
    {"name": NAMES[i % len(NAMES)], "ill": SPELLINGS[i // 5 % 6], "ward": ("N", "n")[i % 2], "x": float(i % 9)}
    for i in range(600)
]
FRAME = pa.Table.from_pylist(ROWS)
COLUMNS = ("name", "ill", "ward")

Open = Callable[[str], hush.tables.Table]


def on_duckdb(kind: str) -> hush.tables.Table:
    """The rows in a user's DuckDB: `kind` is the collation of the columns, or SET and the session's."""
    backend = ibis.duckdb.connect()
    backend.raw_sql("SET threads = 4")
    text = f"VARCHAR COLLATE {kind}"
    if kind.startswith("SET "):
        text = "VARCHAR"
        backend.raw_sql(f"SET default_collation = '{kind.removeprefix('SET ')}'")
    backend.con.register("rows", FRAME)
    backend.raw_sql(f"CREATE TABLE visits ({', '.join(f'{name} {text}' for name in COLUMNS)}, x DOUBLE)")
    backend.raw_sql("INSERT INTO visits SELECT * FROM rows")
    merged = len(backend.con.sql("SELECT DISTINCT name FROM visits").fetchall())
    assert merged < len(NAMES), "the collation does nothing, so the test would show nothing"
    return hush.tables.table(backend.table("visits"), unit="name")


def on_spark(session: Any, collation: str) -> hush.tables.Table:
    frame = session.createDataFrame(FRAME)
    for name in COLUMNS:
        frame = frame.withColumn(name, frame[name].cast(f"string collate {collation}"))
    assert frame.select("name").distinct().count() < len(NAMES)
    return hush.tables.table(frame, unit="name")


QUERIES: dict[str, Callable[[hush.tables.Table], hush.tables.Query]] = {
    "one group, by unit": lambda t: t.aggregate(n=count(rows_per_unit=9), people=count_units()),
    "private keys": lambda t: t.group_by("ill", "ward", keys="private", groups_per_unit=3).aggregate(
        n=count(rows_per_unit=4), m=mean("x", low=0, high=9, rows_per_unit=2)
    ),
    "public keys": lambda t: t.group_by("ill", keys=["FLU", "flú", None, "Flu"], groups_per_unit=2).aggregate(
        n=count(rows_per_unit=4)
    ),
    "two columns of public keys": lambda t: t.group_by(
        "ill", "ward", keys=[("flu", "n"), ("fLu", "N"), ("FLU", "n")], groups_per_unit=2
    ).aggregate(n=count(rows_per_unit=4)),
    "categories": lambda t: t.group_by("ward", keys=["n"], groups_per_unit=1).aggregate(
        h=histogram("ill", categories=["fLu", "flú", "none"], rows_per_unit=5)
    ),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What the same rows give without a collation."""
    plain = hush.tables.table(FRAME, unit="name")
    results = {name: found(ask(plain)) for name, ask in QUERIES.items()}
    assert results["one group, by unit"][()]["people"] == len(NAMES)
    assert len(results["private keys"]) == 2 * len(SPELLINGS)
    return results


COLLATIONS = ["NOCASE", "NOACCENT", "NOCASE.NOACCENT", "ICU_NOACCENT", "SET nocase", "SET nocase.noaccent"]


@pytest.mark.parametrize("collation", COLLATIONS)
def test_duckdb(expected, collation):
    t = on_duckdb(collation)
    for name, ask in QUERIES.items():
        made = found(ask(t))
        assert made == expected[name], name
        assert list(made) == list(expected[name]), f"{name}: in another order"


@pytest.mark.parametrize(
    "options", [{"first": "aggregate"}, {"hash": "native"}, {"hash": "native", "first": "aggregate"}]
)
def test_every_way_of_working(options):
    """The order of the work and the engine's own hash: the same groups and integers with a collation as without."""

    def ask(t: hush.tables.Table) -> hush.tables.Query:
        return t.group_by("ill", keys="private", groups_per_unit=2).aggregate(n=count(), people=count_units())

    assert found(ask(on_duckdb("NOCASE")), **options) == found(ask(hush.tables.table(FRAME, unit="name")), **options)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_pyspark(spark, expected):
    t = on_spark(spark, "UTF8_LCASE")
    for name, ask in QUERIES.items():
        assert found(ask(t)) == expected[name], name


def test_the_name_of_a_group_is_not_one_persons_spelling():
    """49 people write 'flu' and one writes 'fLu', whoever it is: what is shown is always 'flu'."""
    backend = ibis.duckdb.connect()
    backend.raw_sql("SET threads = 1")
    backend.raw_sql("CREATE TABLE t (u BIGINT, k VARCHAR COLLATE NOCASE)")
    backend.raw_sql("INSERT INTO t SELECT i, 'flu' FROM range(1, 51) r(i)")
    query = hush.tables.table(backend.table("t"), unit="u").group_by("k", keys="private", groups_per_unit=1)
    exact = query.aggregate(n=count_units())
    for victim in (1, 17, 50):
        backend.raw_sql(f"UPDATE t SET k = CASE WHEN u = {victim} THEN 'fLu' ELSE 'flu' END")
        assert found(exact) == {("fLu",): {"n": 1}, ("flu",): {"n": 49}}
        rows = backend.con.execute(backend.compile(exact.aggregates(salt=SALT).plan)).fetchall()
        assert sorted(rows) == [("fLu", 1), ("flu", 49)], "the plan compiles with the user's own connection"


def test_an_engine_that_is_not_supported_gets_no_sql_for_it():
    t = hush.tables.table(FRAME, unit="name")
    with pytest.raises(ibis.common.exceptions.TranslationError, match="has no collation for"):
        ibis.to_sql(by_bytes(t["ill"]), dialect="sqlite")
