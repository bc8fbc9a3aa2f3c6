"""The rule: whatever is shown is a function of released numbers and of public facts.

Every way out is taken on pairs of tables that differ in the rows of one person. The released noisy numbers are fixed:
a group of twenty people or more is released with the same numbers on both tables, a smaller one is always below the
threshold. Then everything that comes out has to be the same to the byte: tables, types, pieces of columns, files,
pages, charts, receipts, ledger entries, warnings, log lines, error texts.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import re
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.ipc
import pyarrow.parquet
import pytest
from effort import examples, thorough
from grid_quantile import grid_quantile

import hush
import hush.tables.aggregation
import hush.tables.execution
import hush.tables.expression
from hush.ledger.payment import Draws
from hush.tables import count, count_units, histogram, mean, quantile, variance
from hush.tables.column_noise import Spending
from hush.tables.private_bounds import NUMBERS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

SHOWN = 20  # people from which on a group is released above the threshold
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
AGGREGATES: dict[str, Callable[[], dict[str, Any]]] = {
    "declared bounds": lambda: {
        "n": count(rows_per_unit=2),
        "people": count_units(),
        "total": hush.tables.sum("x", low=-5, high=5),
        "rows": hush.tables.sum("x", low=-5, high=5, rows_per_unit=2),
        "m": mean("x", low=-5, high=5),
        "v": variance("x", low=-5, high=5),
        "h": histogram("x", edges=[-5, 0, 5]),
        "c": histogram("k", categories=["flu", "other"]),
        "q": grid_quantile("x", 0.5, low=-5, high=5, bins=12),
        "quartiles": grid_quantile("x", [0.0, 0.25, 0.75], low=-5, high=5, bins=12),  # with the counts of q
        "between": quantile("x", [0.5], edges=[-5, 0, 5]),  # with the bins of h
        "derived": hush.tables.sum("x", low=-5, high=5, rows_per_unit=1),  # from the columns of m
        "again": count_units(),  # the column that decides which groups are shown
    },
    "private bounds": lambda: {
        "m": mean("x", low="private", high="private"),
        "q": grid_quantile("x", [0.1, 0.9], low="private", high="private", bins=12),
    },
    "people": lambda: {"people": count_units()},
    "mean": lambda: {"m": mean("x", low=-5, high=5)},
}


# -- neighbours ----------------------------------------------------------------------------------------------


def base() -> list[tuple[int, str | None, float | None]]:
    """Forty people with the flu, thirty in a group without a name, and a few alone in theirs."""
    rows: list[tuple[int, str | None, float | None]] = [(i, "flu", float(i % 5)) for i in range(40)]
    rows += [(100 + i, None, 1.5) for i in range(30)]
    return rows + [(200 + i, f"rare {i}", 0.0) for i in range(5)]


#: The rows of one more person: alone in a group, among others, with values and names of every kind.
PERSONS: dict[str, list[tuple[int, str | None, float | None]]] = {
    "alone, first in order": [(-1, "", 0.5)],
    "alone, a long name": [(999, "z" * 5000, 0.5)],
    "alone, a name that terminals obey": [(999, "\x1b[31m\n=cmd()", 0.5)],
    "another spelling": [(-1, "fLu", 0.5)],
    "huge values": [(999, "flu", 1e300), (999, None, -1e300), (999, "flu", -1e300)],
    "no values": [(999, "flu", None), (999, "flu", float("nan")), (999, None, float("inf")), (999, "flu", -0.0)],
    "many rows in many groups": [(999, f"group {i % 50}", float(i)) for i in range(300)],
}
#: All of them as one person, where there is time for one.
PERSONS["all of these"] = [(999, key, value) for rows in list(PERSONS.values()) for _, key, value in rows]


def rows_of(rows: list[tuple[int, str | None, float | None]]) -> pa.Table:
    units, keys, values = zip(*rows, strict=True)
    return pa.table(
        {"u": pa.array(units, pa.int64()), "k": pa.array(keys, pa.string()), "x": pa.array(values, pa.float64())}
    )


# -- released numbers that are the same on both sides --------------------------------------------------------


def fixed(plan: Any) -> Any:
    """The plan with mechanisms whose released numbers do not depend on the data, but for whether a group has SHOWN
    people.

    The classes are made inside a function, so that executors are sent them whole.
    """

    class Fixed(Draws):
        def _released(self, steps: Any) -> Any:
            return np.full(steps.shape, round(1000.0 / self.mechanism.step), dtype=np.int64)

        def add(self, steps: Any) -> Any:
            return self._released(steps)

        def add_from(self, bits: Any, steps: Any) -> Any:
            return self._released(steps)

    class Deciding(Fixed):
        """Of the number of people in a group found privately."""

        def _released(self, steps: Any) -> Any:
            high = super()._released(steps)
            return np.where(steps * self.mechanism.step >= SHOWN, high, -high)

    class Magnitudes(Fixed):
        """A column with values from 1 to 8."""

        def _released(self, steps: Any) -> Any:
            places = np.arange(len(NUMBERS) - 1)[: steps.shape[0], None]
            clear = (places >= NUMBERS.index(1.0)) & (places < NUMBERS.index(8.0))
            return np.where(clear, super()._released(steps), 0)

    class FixedSpending(Spending):
        def open(self, payment: Any, what: str) -> dict[str, Draws]:
            made: dict[str, Draws] = {}
            for name, old in super().open(payment, what).items():
                kind = (
                    Deciding
                    if name == self.units
                    else Magnitudes
                    if len(self.reach.parts[0].columns) == len(NUMBERS) - 1
                    else Fixed
                )
                # the deciding column by itself: columns of one mechanism are drawn for in one call
                made[name] = kind(dataclasses.replace(old.mechanism) if name == self.units else old.mechanism)
            return made

    def made(spent: Spending | None) -> Any:
        if spent is None:
            return None
        known = {field.name: getattr(spent, field.name) for field in dataclasses.fields(Spending)}
        if spent.rule is not None:  # fixed numbers are far from the exact ones, and a cut would hide them
            known["rule"] = dataclasses.replace(spent.rule, keys=dataclasses.replace(spent.rule.keys, cut=None))
        return FixedSpending(**known)

    shares = dataclasses.replace(plan.shares, bounds=made(plan.shares.bounds), limits=made(plan.shares.limits))
    return dataclasses.replace(plan, spent=made(plan.spent), shares=shares)


def asked(table: Any, keys: str, kind: str) -> Any:
    aggregates = AGGREGATES[kind]()
    if keys == "ungrouped":
        return table.aggregate(**aggregates)
    listed = "private" if keys == "private" else ["flu", None, "nobody has it"]
    return table.group_by("k", keys=listed, groups_per_unit=2).aggregate(**aggregates)


@pytest.fixture
def still(monkeypatch):
    """Time stands still, and bounds that are found stay the planned noise's own: magnitudes are released as constants
    too.
    """

    monkeypatch.setattr("hush.releasing.receipt.now", lambda: WHEN)
    monkeypatch.setattr("hush.ledger.ledger.moment", lambda: "then")


# -- every way out -------------------------------------------------------------------------------------------


def in_memory(plan: Any, folder: Path) -> dict[str, Any]:
    """Everything an answer in memory shows."""
    book = hush.Ledger(None, epsilon=9.0, delta=1e-5)
    answer = plan.answer(ledger=book, label="asked")
    out: dict[str, Any] = {
        "table": arrow_bytes(answer.to_arrow()),
        "released": arrow_bytes(answer.released),
        "printed": repr(answer),
        "page": answer._repr_html_(),
        "receipt": json.dumps(answer.receipt, default=str),
        "numpy": {name: (answer[name].dtype.str, answer[name].tobytes()) for name in answer.names},
        "pandas": [str(kind) for kind in answer.to_pandas().dtypes],
        "polars": str(answer.to_polars().schema),
        "entries": [repr(entry) for entry in book.entries],
        "ledger page": book._repr_html_(),
        "left": repr(book.left),
        "statement": re.sub(r"\d{4}-\d\d-\d\dT[\d:+.]+", "then", str(hush.report.statement(answer, ledger=book))),
        "chart": chart_of(answer),
    }
    for name, write in (("csv", answer.to_csv), ("parquet", answer.to_parquet)):
        write(folder / name)
        out[name] = (folder / name).read_bytes()
    return out


def chart_of(answer: Any) -> str:
    from hush import report

    return json.dumps(report.release_chart(answer).to_dict(), default=str) if len(answer) else ""


def streamed(plan: Any, folder: Path) -> dict[str, Any]:
    """Everything a written answer shows: the file (on executors a folder of them), and the receipt."""
    path = folder / "written.parquet"
    receipt = plan.write(path, ledger=None)
    out: dict[str, Any] = {"receipt": json.dumps(receipt, default=str)}
    if path.is_file():
        return out | {"file": path.read_bytes()}
    files = sorted(path.glob("*.parquet"))
    for i, file in enumerate(files):  # a name that Spark draws at random says nothing
        read = pyarrow.parquet.ParquetFile(file)
        out[f"file {i}"] = (arrow_bytes(read.read()), read.num_row_groups, file.stat().st_size)
    return out | {
        "note": (path / "_hush_receipt.json").read_text(),
        "names": sorted(p.name[:5] for p in path.iterdir()),
    }


def arrow_bytes(table: Any) -> bytes:
    """A table with its types and the pieces it is held in."""
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def outputs(make: Callable[[Path], dict[str, Any]], folder: Path, caplog: Any) -> dict[str, Any]:
    """What comes out, and what is said besides."""
    folder.mkdir(parents=True)
    caplog.clear()
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.DEBUG, logger="hush"):
        warnings.simplefilter("always")
        try:
            out = make(folder)
        except hush.HushError as failure:
            out = {"error": f"{type(failure).__name__}: {failure}"}
    ours = [str(w.message) for w in warned if "hush" in str(w.filename)]
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("hush")]
    return out | {"warnings": ours, "log": logged}


def assert_alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    assert one.keys() == other.keys()
    differing = [name for name in one if one[name] != other[name]]
    assert not differing, (
        f"{differing} differ between neighbours: {str(one[differing[0]])[:300]} / {str(other[differing[0]])[:300]}"
    )


def taken(table: Any, keys: str, kind: str, folder: Path, caplog: Any, ways: Any) -> dict[str, dict[str, Any]]:
    """Every way out of one table."""
    plan = fixed(asked(table, keys, kind).plan(2.0, 1e-6, family="laplace"))
    return {way.__name__: outputs(lambda f, way=way: way(plan, f), folder / way.__name__, caplog) for way in ways}


def assert_only_released_shows(
    opened: Callable[[Any], Any], keys: str, kind: str, persons: list[str], folder: Path, caplog: Any, ways: Any
) -> None:
    """Take every way out of a table without and with one more person, and compare."""
    without = taken(opened(base()), keys, kind, folder / "without", caplog, ways)
    assert all("error" not in out for out in without.values()), without
    for i, person in enumerate(persons):
        one_more = taken(opened([*base(), *PERSONS[person]]), keys, kind, folder / str(i), caplog, ways)
        for way, out in without.items():
            assert_alike(out, one_more[way])


def on_duckdb(rows: Any) -> Any:
    return hush.tables.table(rows_of(rows), unit="u")


FEW = ["alone, first in order", "many rows in many groups"]


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ("private", "declared bounds"),
        ("private", "private bounds"),
        ("listed", "declared bounds"),
        ("ungrouped", "declared bounds"),
    ],
)
def test_only_released_numbers_show(engine, keys, kind, tmp_path, caplog, still):
    """Every aggregate, in memory and written, on every engine."""
    every = (engine.name, keys, kind) == ("duckdb", "private", "declared bounds")
    one = kind == "private bounds" or engine.name == "postgres"
    persons = list(PERSONS)[-examples(2, len(PERSONS)) :] if every else FEW[:1] if one else FEW[-examples(1, 2) :]
    # listed keys are answered in memory in the same way on every engine, once their integers are there
    kept = ("private", "listed") if engine.name == "duckdb" or thorough() else ("private",)
    ways = (in_memory, streamed) if kind == "declared bounds" and keys in kept else (streamed,)
    same = {"name": "neighbours"} if engine.name == "postgres" else {}  # its name is in the receipt
    assert_only_released_shows(
        lambda rows: engine.table(rows_of(rows), unit="u", **same), keys, kind, persons, tmp_path, caplog, ways
    )


def test_batches_of_hidden_groups_do_not_show(tmp_path, caplog, still):
    """65,536 groups fill a batch of the engine: one hidden group more moves a shown one to the next batch."""
    hidden = [(1000 + i, f"hidden {i:06}", 0.5) for i in range(65_536 - 2)]
    found = []
    for side, more in (("without", []), ("with", [(-1, "", 0.5)])):
        rows = [*base()[:70], *hidden, *more]
        query = hush.tables.table(rows_of(rows), unit="u").group_by("k", keys="private", groups_per_unit=1)
        asked_for = query.aggregate(
            m=mean("x", low=-5, high=5),
            v=variance("x", low=-5, high=5),
            q=grid_quantile("x", 0.5, low=-5, high=5, bins=12),
        )
        plan = fixed(asked_for.plan(2.0, 1e-6, family="laplace"))
        ways = (in_memory, streamed)
        found.append(
            [
                outputs(lambda f, way=way, plan=plan: way(plan, f), tmp_path / side / way.__name__, caplog)
                for way in ways
            ]
        )
    for one, other in zip(*found, strict=True):
        assert_alike(one, other)


# -- the rule can tell: each break, put back, is noticed -----------------------------------------------------


def test_intervals_that_depend_on_the_batch_are_noticed(tmp_path, caplog, still, monkeypatch):
    """As when the number of simulated copies was chosen by how many groups a batch of the engine has."""
    honest = hush.tables.execution.Request._answers

    def by_batch(self: Any, recipe: Any, exact: Any, draws: Any) -> Any:
        table = honest(self, recipe, exact, draws)
        place = table.column_names.index("m_low")
        moved = (
            pa.compute.add(table.column("m_low"), 1e-9 * exact.num_rows) if table.num_rows else table.column("m_low")
        )
        return table.set_column(place, "m_low", moved)

    monkeypatch.setattr(hush.tables.execution.Request, "_answers", by_batch)
    with pytest.raises(AssertionError, match="differ between neighbours"):
        assert_only_released_shows(on_duckdb, "private", "mean", FEW[:1], tmp_path, caplog, (streamed,))


@pytest.mark.parametrize("setting", ["column", "connection"])
def test_names_under_a_collation(setting, tmp_path, caplog, still, monkeypatch):
    """One person's spelling never names a group; where text is compared by the collation instead of by bytes, it
    does, and that is noticed.
    """
    import ibis

    def relation(rows: Any) -> Any:
        backend = ibis.duckdb.connect()
        backend.raw_sql("SET threads = 1")
        if setting == "connection":
            backend.raw_sql("SET default_collation = 'nocase'")
        backend.raw_sql(
            f"CREATE TABLE t (u BIGINT, k VARCHAR{' COLLATE NOCASE' if setting == 'column' else ''}, x DOUBLE)"
        )
        backend.con.executemany("INSERT INTO t VALUES (?, ?, ?)", [list(row) for row in rows])
        return hush.tables.table(backend.table("t"), unit="u")

    assert_only_released_shows(
        relation, "private", "mean", ["another spelling"], tmp_path, caplog, (in_memory, streamed)
    )
    monkeypatch.setattr(hush.tables.aggregation, "compared", hush.tables.expression.as_text)

    def names(speller: int | None) -> list[str]:
        table = relation([(u, "fLu" if u == speller else k, x) for u, k, x in base()])
        sql = backend_of(table).compile(asked(table, "private", "people").aggregates(salt=b"s" * 32).plan)
        return sorted(str(row[0]) for row in backend_of(table).con.execute(sql).fetchall())

    plain = names(None)
    assert any(names(u) != plain for u in range(40)), "no spelling shows, though text was not compared by bytes"


def backend_of(table: Any) -> Any:
    return table.source.backend
