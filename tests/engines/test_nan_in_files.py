"""NaN in files: statistics of files leave NaN out, so an engine that trusts them lets one row hide NaN of others."""

from __future__ import annotations

import ibis
import numpy as np
import polars
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

import hush.tables
from hush.errors import Unsupported
from hush.learn import LogisticRegression, Ridge
from hush.tables import count_units
from hush.tables import sum as total_of

HALF = np.repeat([np.nan, 0.5], 500)
FILLED = np.full(1000, np.nan)
#: data and the same with one person more, whose value is the least or largest of all that are not NaN
PAIRS = {
    "larger": (HALF, np.append(HALF, 2.0)),
    "smaller": (HALF, np.append(HALF, -2.0)),
    "NaN": (np.full(1000, 0.5), np.append(np.full(1000, 0.5), np.nan)),
    "first that is not NaN": (FILLED, np.append(FILLED, 0.5)),
}
CONDITIONS = {
    "a > 1": lambda a: a > 1,
    "a >= 1": lambda a: a >= 1,
    "a < 1": lambda a: a < 1,
    "a != 2": lambda a: a != 2,
    "a is NaN": lambda a: a.isnan(),
    "between": lambda a: a.between(-1, 1),
    "two values": lambda a: (a == 2) | (a == 0.5),
}


def _arrow(values):
    people = len(values)
    return pa.table(
        {"a": values, "small": values.astype("f4"), "y": np.arange(people) % 2, "person": np.arange(people)}
    )


def _written(path, values, writer):
    table = _arrow(values)
    if writer == "polars":
        polars.from_arrow(table).write_parquet(path)
    elif writer == "duckdb":
        own = ibis.duckdb.connect()
        own.con.register("rows", table)
        own.con.execute(f"COPY rows TO '{path}' (FORMAT parquet)")
    else:
        pyarrow.parquet.write_table(table, path, row_group_size=100 if writer == "small groups" else None)
    return str(path)


def _opened(path, **options):
    return hush.tables.table(path, unit="person", population="people", **options)


def _answers(table):
    """Answers whose noise is above 1/4 with a probability below e^-40, and the rows of a fit."""
    given = {"epsilon": 200.0, "delta": 0.0, "ledger": None}
    found = {}
    for name, condition in CONDITIONS.items():
        kept = table.filter(condition(table["a"]))
        found[name] = round(float(kept.aggregate(x=count_units()).answer(**given)["x"][0]))
    for column in ("a", "small"):
        summed = table.aggregate(x=total_of(column, low=0, high=1)).answer(**given)["x"][0]
        found[f"sum of {column}"] = round(2.0 * float(summed)) / 2.0
    blocks = table.row_blocks(["a"], "y")
    found["rows of a fit"] = blocks.count()
    found["largest"] = max((float(np.abs(block).max()) for block in blocks.blocks() if block.size), default=0.0)
    assert sum(len(block) for block in blocks.blocks()) == blocks.count()
    return found


@pytest.fixture(scope="module")
def of_frames():
    """The answers from memory, where no statistics of files exist."""
    return {pair: [_answers(_opened(_arrow(values))) for values in both] for pair, both in PAIRS.items()}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("writer", ["pyarrow", "small groups", "polars", "duckdb"])
def test_answers_from_a_file_are_those_from_memory(tmp_path, writer, pair, of_frames):
    for values, expected in zip(PAIRS[pair], of_frames[pair], strict=True):
        path = _written(tmp_path / f"{len(values)}.parquet", values, writer)
        assert _answers(_opened(path)) == expected


@pytest.mark.parametrize("pair", PAIRS)
def test_one_person_more_changes_an_answer_by_one(pair, of_frames):
    before, after = of_frames[pair]
    assert before.keys() == after.keys() and all(
        abs(after[name] - before[name]) <= 1 for name in before if name != "largest"
    )


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark_reads_nan_of_all_parts(tmp_path, spark, of_frames):
    values, expected = PAIRS["larger"][0], of_frames["larger"][0]["a > 1"]
    path = _written(tmp_path / "rows.parquet", values, "pyarrow")
    pyarrow.orc.write_table(_arrow(values), path + ".orc")
    assert expected == 500
    for source in (path, spark.read.parquet(path), spark.read.orc(path + ".orc")):
        spark.conf.set("spark.sql.parquet.filterPushdown", "true")  # somebody switches it on again
        opened = _opened(source, engine=spark) if isinstance(source, str) else _opened(source)
        found = opened.filter(opened["a"] > 1).aggregate(x=count_units()).answer(epsilon=200.0, delta=0.0, ledger=None)
        assert round(float(found["x"][0])) == expected


def test_fits_of_files_with_nan_release_the_integers_of_memory(tmp_path):
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 2000)
    values[7] = np.nan
    path = _written(tmp_path / "rows.parquet", values, "pyarrow")
    given = {"epsilon": 1e5, "delta": 1e-6, "bounds": {"a": (-1, 1)}}
    for model in (Ridge(**given, target_bounds=(-1, 1)), LogisticRegression(**given, solver="whitened")):
        found = [float(model.fit(_opened(source), "y").centre_[0]) for source in (path, _arrow(values))]
        assert found == pytest.approx([np.nanmean(values)] * 2, abs=1e-2)


def _database(path, *statements):
    own = ibis.duckdb.connect(path)
    for statement in statements:
        own.con.execute(statement)
    own.disconnect()
    return str(path)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_views_that_hide_nan_are_refused_and_others_are_read(tmp_path, of_frames):
    path = _written(tmp_path / "p.parquet", PAIRS["larger"][1], "pyarrow")
    expected = of_frames["larger"][1]
    own = ibis.duckdb.connect()
    safe = own.read_parquet(path, table_name="safe", can_have_nan=True)
    assert _answers(_opened(safe)) == expected
    refused = [own.read_parquet(path, table_name="unsafe")]
    for name, text in {
        "pruned": "SELECT * FROM unsafe WHERE a > 7",
        "mixed": "SELECT * FROM safe UNION ALL SELECT * FROM unsafe",
        "of_others": "SELECT y, person FROM unsafe WHERE a > 1",
        "direct": f"SELECT * FROM '{path}'",
    }.items():
        own.con.execute(f"CREATE TEMP VIEW {name} AS {text}")
        refused.append(own.table(name))
    refused.append(own.table("unsafe").filter(own.table("unsafe").a > 1).select("person", "y"))
    for relation in refused:
        with pytest.raises(Unsupported, match="write can_have_nan=true in read_parquet of the view"):
            _opened(relation)
    own.con.execute("CREATE TEMP VIEW above AS SELECT * FROM safe")
    own.con.execute("CREATE TABLE parquet AS SELECT * FROM unsafe")
    assert _answers(_opened(own.table("above"))) == _answers(_opened(own.table("parquet"))) == expected
    assert own.con.execute("SELECT current_setting('explain_output')").fetchall()[0][0].lower() == "physical_only"
    for kind, ending in (
        ("VIEW", f"'{path}'"),
        ("VIEW", f"read_parquet('{path}', can_have_nan = TRUE)"),
        ("TABLE", f"'{path}'"),
    ):
        file = _database(tmp_path / f"{len(ending)}{kind}.duckdb", f"CREATE {kind} v AS SELECT * FROM {ending}")
        if kind == "VIEW" and "can_have_nan" not in ending:
            with pytest.raises(Unsupported, match="DuckDB would let one row hide the NaN of other rows"):
                _opened(file)
        else:
            assert _answers(_opened(file)) == expected
