"""What must not leak before a charge: the engine's words about a row, and a unit whose hash is no number."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _

import hush
from hush import tables
from hush.errors import HushError, InvalidParameter, Unsupported
from hush.tables import count, histogram, mean, table
from hush.tables.aggregation import ORDERS
from hush.tables.engines.contract import FAILURES_SHOWN, WITHHELD, Engine
from hush.tables.keyed_hash import HASHES

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

SECRETS = ("secret", "diagnosis", "HIV", "Jane", "Doe", "unknown", "40000")
SALT = b"0" * 32
#: What is said if the engine fails after the charge, here to no ledger.
FAILED = "the question failed, and the reason is hidden, because it may quote the data; no ledger was charged."
INFINITE = (2**31 - 1, -(2**31 - 1))  # DuckDB's infinity and -infinity, in days


def must_be_silent(error: BaseException) -> None:
    """One sentence that quotes nothing, and no other exception hangs on it."""
    shown = (
        "".join(traceback.format_exception(error, chain=True)) if error.__context__ or error.__cause__ else str(error)
    )
    assert error.__context__ is None and error.__cause__ is None
    assert not [word for word in SECRETS if word in shown]


def days(values: list[int]) -> pa.Array:
    return pa.array(values, pa.int32()).cast(pa.date32())


def failing() -> Any:
    """A table that the engine cannot read to its end: a view that converts text."""
    backend = ibis.duckdb.connect()
    backend.con.register("frame", pa.table({"who": [1, 2], "s": ["1", "secret diagnosis"]}))
    backend.con.execute("CREATE TEMPORARY VIEW seen AS SELECT who, CAST(s AS BIGINT) AS s FROM frame")
    return table(backend.table("seen"), unit="who")


# -- the engine's words --------------------------------------------------------------------------------------


def test_an_engine_that_fails_says_nothing_of_the_data():
    query, told = failing().aggregate(s=tables.sum("s", low=0, high=9)), []
    for ask in (lambda: query.aggregates().to_arrow(), lambda: query.answer(1.0, 1e-6, ledger=None)):
        with pytest.raises(HushError) as caught:
            ask()
        must_be_silent(caught.value)
        told.append(str(caught.value))
    assert told == [WITHHELD, FAILED] and not any(". " in text for text in told)


def test_the_sentence_is_the_same_for_every_failure():
    """Whatever an engine raises, at once or after some batches; hush's own errors and an interruption pass."""

    def engine(failure: BaseException) -> Engine:
        def stream(source: Any, relation: Any, size: int) -> Any:
            yield 1
            raise failure

        return Engine("some", stream)

    for failure in (ValueError("secret"), pa.ArrowInvalid("Jane Doe"), RuntimeError("HIV"), MemoryError("unknown")):
        with pytest.raises(HushError) as caught:
            list(engine(failure).batches(SimpleNamespace(), None, 1))  # type: ignore[arg-type]
        must_be_silent(caught.value)
        assert str(caught.value) == WITHHELD
    for passing in (
        KeyboardInterrupt(),
        Unsupported("ours"),
        ibis.common.exceptions.OperationNotDefinedError("no such word"),
    ):
        with pytest.raises(type(passing)):
            list(engine(passing).batches(SimpleNamespace(), None, 1))  # type: ignore[arg-type]


def test_developers_can_see_what_an_engine_said():
    """`pytest --engine-messages` makes the engine's error the cause of the constant one; it is off everywhere else."""
    query = failing().aggregate(s=tables.sum("s", low=0, high=9))
    assert not FAILURES_SHOWN.get()
    token = FAILURES_SHOWN.set(True)
    try:
        with pytest.raises(HushError) as caught:
            query.aggregates().to_arrow()
    finally:
        FAILURES_SHOWN.reset(token)
    assert str(caught.value) == WITHHELD and "secret diagnosis" in str(caught.value.__cause__)


def test_nothing_in_hush_shows_what_an_engine_said():
    """No command, option or environment variable turns the switch on."""
    home = Path(hush.__file__).parent
    users = {path.name for path in home.rglob("*.py") if "FAILURES_SHOWN" in path.read_text(encoding="utf-8")}
    assert users == {"contract.py"}
    assert (home / "tables/engines/contract.py").read_text(encoding="utf-8").count("FAILURES_SHOWN.") == 1


def test_text_is_not_cast_to_numbers_or_dates():
    """Whether a cast stops would tell of a row; try_cast does not stop. Constants, and casts to text, pass."""
    t = table(pa.table({"who": [1, 2, 3], "s": ["7", "secret diagnosis", "2024-02-03"]}), unit="who")
    for kind in ("int64", "float64", "date", "timestamp", "decimal(9, 2)", "boolean"):
        with pytest.raises(
            Unsupported, match=r"casts text to .*; write \.try_cast\('.*'\), which makes it null\.$"
        ) as caught:
            t.mutate(y=lambda r, kind=kind: r.s.cast(kind))
        must_be_silent(caught.value)
    for use in (
        lambda: t.filter(_.s.cast("int64") > 3),
        lambda: t.aggregate(y=tables.sum(_.s.cast("int64"), low=0, high=9)),
    ):
        with pytest.raises(Unsupported, match="try_cast"):
            use()
    good = t.mutate(y=_.s.try_cast("int64"), z=_.who.cast("string"), d=ibis.literal("2024-01-01").cast("date"))
    assert good.aggregate(y=tables.sum("y", low=0, high=10)).aggregates().to_arrow().num_rows == 1
    days_of = good.mutate(day=_.s.try_cast("date")).filter(_.day > "2024-01-01")
    assert days_of.aggregate(n=count()).aggregates().to_arrow()["n"].to_pylist() == [1]


# -- files ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("csv") / "visits.csv"
    path.write_text(
        "id,age,note\n"
        + "".join(f"{i},{i % 90},fine\n" for i in range(40_000))
        + "40000,unknown,HIV positive Jane Doe\n"
    )
    return path


def test_no_row_decides_how_others_are_read(long_csv):
    """A column of a CSV file is text, until a question says that it holds numbers; other text is null."""
    t = table(long_csv, unit="id")
    assert str(t["age"].type()) == "string"
    number = t.aggregate(m=mean("age", low=0, high=100))
    assert number.aggregates().to_arrow()["m.count"].to_pylist() == [40_000]


def test_a_file_that_changes_below_us(tmp_path):
    """A file of text is read once, when it is opened."""
    path = tmp_path / "visits.csv"
    path.write_text("id,age\n1,2\n")
    query = table(path, unit="id").aggregate(m=mean("age", low=0, high=100))
    path.write_text("id,age\n1,unknown Jane Doe\n2,3\n")
    assert query.aggregates().to_arrow()["m.count"].to_pylist() == [1]


def test_broken_and_empty_files(tmp_path):
    """One sentence each; of a CSV file that cannot be read no line is quoted."""
    (tmp_path / "a.parquet").write_text("secret diagnosis" * 9)
    pyarrow.parquet.write_table(pa.table({"id": [1], "s": ["Jane Doe"]}), tmp_path / "whole.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:-20])
    (tmp_path / "zip.csv.gz").write_text("secret diagnosis")
    for name, kind in (("a.parquet", "Parquet"), ("cut.parquet", "Parquet"), ("zip.csv.gz", "CSV")):
        with pytest.raises(
            InvalidParameter, match=rf"^source '.*{name}' cannot be read as {kind}: .*[^.]\.$"
        ) as caught:
            table(tmp_path / name, unit="id")
        must_be_silent(caught.value)
    for name, text in (("empty.csv", ""), ("lines.csv", "\n\n"), ("empty.tsv", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(InvalidParameter, match=rf"{name}' is empty; .* line of column names\.$") as caught:
            table(tmp_path / name, unit="id")
        must_be_silent(caught.value)
    (tmp_path / "names.csv").write_text("id,age\n")
    assert table(tmp_path / "names.csv", unit="id").aggregate(n=count()).aggregates().to_arrow()["n"].to_pylist() == [0]


# -- units that are no number --------------------------------------------------------------------------------


@settings(max_examples=examples(4, 12), deadline=None)
@given(
    hash=st.sampled_from(HASHES),
    first=st.sampled_from(ORDERS),
    rows=st.lists(
        st.tuples(st.sampled_from([*INFINITE, 0, -5]), st.sampled_from([*INFINITE, 3, None]), st.sampled_from("abc")),
        max_size=12,
    ),
    groups=st.integers(1, 2),
)
def test_infinite_dates_are_bounded_like_any_other(hash, first, rows, groups):
    """As units and as keys, public and private: a unit alone is kept in no more than its groups."""
    options = {"salt": SALT, "hash": hash, "first": first}
    for who in INFINITE:
        own = [row for row in rows if row[0] == who]
        frame = pa.table(
            {
                "id": days([row[0] for row in own]),
                "d": days([row[1] for row in own]),
                "g": pa.array([r[2] for r in own], "string"),
            }
        )
        t = table(frame, unit="id")
        for names, keys in ((("g",), list("abc")), (("g",), "private"), (("d",), "private"), (("d", "g"), "private")):
            shown = [
                {"d": None if row[1] in INFINITE else row[1], "g": row[2]} for row in own
            ]  # such a date is a key without a name
            wanted = len({tuple(row[name] for name in names) for row in shown})
            query = t.group_by(*names, keys=keys, groups_per_unit=groups)
            found = (
                query.aggregate(n=count(), h=histogram("g", categories=list("abc"), rows_per_unit=2))
                .aggregates(**options)
                .to_arrow()
            )
            assert sum(found["n"].to_pylist()) == min(groups, wanted)
            assert sum(sum(found[f"h.{i}"].to_pylist()) for i in range(3)) <= 2 * groups


def test_the_table_that_was_reported():
    frame = pa.table({"id": days([INFINITE[0]] * 3 + [0, 0]), "g": list("abcab")})
    query = table(frame, unit="id").group_by("g", keys=list("abc"), groups_per_unit=1).aggregate(n=count())
    assert sum(query.aggregates(salt=SALT).to_arrow()["n"].to_pylist()) == 2
