"""Units of several columns and of each row: equal keys are equal values, the bound holds for whole units, and plans,
receipts, ledgers and statements say who is protected.
"""

from __future__ import annotations

import datetime
import pickle
from functools import cache
from typing import Any

import ibis
import pyarrow as pa
import pytest
from effort import examples
from grid_quantile import grid_quantile
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.errors import IncompleteCall, InvalidParameter, Unsupported
from hush.tables import count, count_units, each_row, histogram, mean, table, variance
from hush.tables import sum as total
from hush.tables.engines.contract import memory_tables
from hush.tables.engines.duckdb import relation_of, sql_of

SALT = bytes(32)
DAY = datetime.date(2024, 1, 31)
text = st.text(alphabet="1:2a é", max_size=4)
parts = st.tuples(
    st.none() | text, st.none() | st.integers(-12, 12), st.none() | st.dates(DAY, DAY.replace(day=1, month=3))
)


def frame(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows of (name, number, day, group, value)."""
    kinds = {"name": pa.string(), "number": pa.int64(), "day": pa.date32(), "g": pa.string(), "x": pa.float64()}
    columns = zip(*rows, strict=True) if rows else ([] for _ in kinds)
    return pa.table({n: pa.array(list(c), k) for (n, k), c in zip(kinds.items(), columns, strict=True)})


@settings(max_examples=40, deadline=None)
@given(st.lists(parts, min_size=1, max_size=25))
def test_the_key_is_injective_and_null_with_any_part(keys: list[tuple[Any, ...]]) -> None:
    """Two rows have the same key if and only if all parts are equal; one missing part makes it null."""
    made = table(frame([(*key, "a", 0.0) for key in keys]), unit=["name", "number", "day"])
    found = made.source.backend.to_pyarrow(made.relation.select(made.unit, "name", "number", "day")).to_pylist()
    by_key: dict[str, set[Any]] = {}
    for row in found:
        values = (row["name"], row["number"], row["day"])
        assert (row[made.unit] is None) == (None in values)
        by_key.setdefault(row[made.unit], set()).add(values)
    by_key.pop(None, None)
    assert all(len(values) == 1 for values in by_key.values())
    assert len(by_key) == len({key for key in keys if None not in key})


def test_a_key_without_lengths_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain concatenation takes ("1", 11) and ("11", 1) for one unit: then the number of units is wrong."""
    from hush.tables import unit as module

    rows = frame([("1", 11, DAY, "x", 1.0), ("11", 1, DAY, "x", 1.0)])
    counted = []
    for joined in (module._joined, lambda relation, names: relation[names[0]] + relation[names[1]].cast("string")):
        monkeypatch.setattr(module, "_joined", joined)
        query = table(rows, unit=["name", "number"]).aggregate(n=count_units())
        counted.append(query.aggregates().to_arrow().to_pylist()[0]["n"])
    assert counted == [2, 1]


MEASURES = {
    "n": count(),
    "units": count_units(),
    "whole": total("x", low=-3, high=5),
    "rows": total("x", low=1, high=4, rows_per_unit=1),
    "m": mean("x", low=-1, high=4),
    "v": variance("x", low=0, high=3),
    "bins": histogram("x", edges=[-1, 0, 1, 2, 5]),
    "q": grid_quantile("x", 0.5, low=0, high=4, bins=8),
}
values = st.sampled_from([None, float("nan"), float("inf"), -2.5, 0.0, 1.5, 3.0, 1e300])
rows_of = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "a:", "1"]),
        st.sampled_from([None, 1, 11]),
        st.just(DAY),
        st.sampled_from([None, "x", "y", "z"]),
        values,
    ),
    min_size=1,
    max_size=14,
)


@cache
def prepared(unit: Any, keys: Any) -> tuple[Any, Any]:
    """A connection where the query is compiled once, over a table of rows that is filled again and again."""
    backend = ibis.duckdb.connect(threads=1)
    backend.con.register("empty", frame([]))
    backend.con.execute("CREATE TABLE filled AS SELECT * FROM empty")
    # a prepared plan must not rest on the statistics of rows that are gone
    backend.con.execute("SET disabled_optimizers = 'statistics_propagation,compressed_materialization'")
    made = table(relation_of(backend, "filled"), unit=unit)
    query = made.group_by("g", keys=keys, groups_per_unit=1 if unit is each_row else 2).aggregate(**MEASURES)
    plan = query.aggregates(salt=SALT).plan
    for name, rows in memory_tables(plan).items():
        backend.con.register(name, rows)
    backend.con.execute(f"PREPARE asked AS {sql_of(backend, plan)}")
    return backend.con, query


def integers(rows: list[tuple[Any, ...]], unit: Any, keys: Any) -> tuple[dict[Any, dict[str, int]], Any]:
    """The exact integers of a query by group, and its reach."""
    connection, query = prepared(unit, keys)
    connection.execute("DELETE FROM filled")
    if rows:
        connection.executemany("INSERT INTO filled VALUES (?, ?, ?, ?, ?)", rows)
    names, found = query.sensitivity.columns, {}
    for row in connection.execute("EXECUTE asked").fetchall():
        group = row[0] if keys == "private" else keys[row[0]]
        found[group] = dict(zip(names, row[len(row) - len(names) :], strict=True))
    return found, query.sensitivity


@pytest.mark.parametrize("unit", [("name", "number"), each_row], ids=["two columns", "each row"])
def test_the_prepared_query_is_the_one_that_is_answered(unit: Any) -> None:
    """The integers of the tests below are those of the public way."""
    rows = [(name, 1, DAY, group, 1.5) for name in ("a", "b") for group in ("x", "y")]
    public = table(frame(rows), unit=unit).group_by("g", keys="private", groups_per_unit=1 if unit is each_row else 2)
    found = public.aggregate(**MEASURES).aggregates(salt=SALT).to_arrow().to_pylist()
    assert integers(rows, unit, "private")[0] == {row.pop("g"): row for row in found}


@pytest.mark.parametrize("keys", [("x", None, "y"), "private"])
@pytest.mark.parametrize("unit", [("name", "number"), each_row], ids=["two columns", "each row"])
@settings(max_examples=examples(10, 25), deadline=None)
@given(rows=rows_of, data=st.data())
def test_one_unit_moves_no_more_than_declared(unit: Any, keys: Any, rows: list[Any], data: Any) -> None:
    """All rows of one combination are removed, or one row: the integers move within the reach."""
    gone = data.draw(st.sampled_from(rows))
    if unit is each_row:
        left = list(rows)
        left.remove(gone)
    else:
        left = [row for row in rows if row[:2] != gone[:2]]
    (with_it, reach), (without, _) = integers(rows, unit, keys), integers(left, unit, keys)
    moved = 0
    for group in with_it.keys() | without.keys():
        here, there = (side.get(group, dict.fromkeys(reach.columns, 0)) for side in (with_it, without))
        steps = {name: abs(here[name] - there[name]) for name in reach.columns}
        moved += any(steps.values())
        assert all(steps[name] <= reach.linf[name] for name in steps)
        for part in reach.parts:
            assert sum(steps[name] for name in part.columns) <= part.l1
            assert sum(steps[name] > 0 for name in part.columns) <= part.coordinates
    assert moved <= reach.groups == (1 if unit is each_row else 2)


@settings(max_examples=examples(10, 25), deadline=None)
@given(rows=rows_of)
def test_each_row_counts_every_row(rows: list[Any]) -> None:
    """With each row a person nothing is dropped: counts are counts of rows, and sums are sums of clipped rows."""
    found, _ = integers(rows, each_row, "private")
    grid = 2**20
    for group in {row[3] for row in rows}:
        inside = [row[4] for row in rows if row[3] == group]
        valued = [x for x in inside if x is not None and x == x]
        got = found[group]
        assert got["n"] == got["units"] == len(inside) and got["m.count"] == len(valued)
        assert sum(got[f"bins.{i}"] for i in range(4)) == len([x for x in valued if -1 <= x <= 5])
        query = table(frame(rows), unit=each_row).aggregate(s=total("x", low=-3, high=5))
        step = query.measures[0].answer.grid.step
        clipped = sum(min(max(x, -3.0), 5.0) for x in valued)
        assert abs(got["whole"] * step - clipped) <= step / 2 + len(valued) * 8.0 / grid


def test_each_row_has_the_noise_of_one_row() -> None:
    rows = frame([("a", 1, DAY, "x", 1.0)] * 5)
    plan = (
        table(rows, unit=each_row).group_by("g", keys="private").aggregate(n=count()).plan(1, 1e-6, family="gaussian")
    )
    assert plan.query.sensitivity.groups == 1 and plan.query.sensitivity.l0 == 1
    for wrong in ({"groups_per_unit": 2}, {"groups_per_unit": 0}):
        with pytest.raises(InvalidParameter, match="groups_per_unit"):
            table(rows, unit=each_row).group_by("g", keys="private", **wrong)
    with pytest.raises(InvalidParameter, match="'n' is 1 where each row is a person, got 2"):
        table(rows, unit=each_row).aggregate(n=count(rows_per_unit=2))


def test_plan_receipt_ledger_and_statement_say_who_is_protected(tmp_path: Any) -> None:
    rows = frame([("a", i, DAY, "x", 1.0) for i in range(50)])
    said = {
        ("name", "number"): ("name and number", "is protected for each value of number"),
        each_row: ("row", "protected row by row"),
    }
    for i, (unit, (words, beyond)) in enumerate(said.items()):
        query = table(rows, unit=unit).aggregate(n=count())
        plan = query.plan(1, 1e-6, family="gaussian")
        assert f"for each {words}, at most 1 group" in repr(plan) and beyond in " ".join(repr(plan).split())
        with hush.Ledger(tmp_path / f"{i}.ledger", epsilon=3, delta=1e-5) as ledger:
            answer = plan.answer(ledger=ledger)
            assert ledger.source == query.table.fingerprint and words.split()[-1] in str(ledger.source)
            account = str(hush.report.statement(ledger))
        assert answer.receipt["guarantee"]["unit"] == words and beyond in answer.receipt["not_protected"]
        assert "not covered" in repr(answer)
        statement = " ".join(str(hush.report.statement(answer)).split())
        assert "Not covered: " in statement and beyond in statement
        assert ("row by row" if unit is each_row else "one combination of name and number") in " ".join(account.split())


def test_a_unit_of_one_column_is_said_as_before() -> None:
    rows = frame([("a", 1, DAY, "x", 1.0)])
    one, listed = table(rows, unit="name"), table(rows, unit=["name"])
    assert one.fingerprint == listed.fingerprint == "a frame of name, number, day, g, x, unit name"
    assert one.unit == listed.unit == "name" and one.columns == listed.columns == ("name", "number", "day", "g", "x")
    receipt = one.aggregate(n=count()).answer(1, 1e-6, ledger=None, family="gaussian").receipt
    assert "not_protected" not in receipt


def test_the_parts_of_a_unit_stay_columns() -> None:
    """A part may be grouped by and replaced: the key was made before."""
    rows = frame([("a", i % 3, DAY, "x", 1.0) for i in range(9)])
    made = table(rows, unit=["name", "number"])
    assert made.columns == ("name", "number", "day", "g", "x")
    changed = made.mutate(number=made["number"] * 0).group_by("number", keys=[0], groups_per_unit=1)
    assert changed.aggregate(n=count_units()).aggregates().to_arrow().to_pylist() == [{"number": 0, "n": 3}]


@pytest.mark.parametrize("unit", [("name", "number"), each_row], ids=["two columns", "each row"])
def test_the_key_is_out_of_reach(unit: Any) -> None:
    made = table(frame([("a", 1, DAY, "x", 1.0)]), unit=unit)
    assert made.unit not in made.columns
    key = made.unit
    tries = [
        lambda: made[key],
        lambda: made.filter(lambda t: t[key] == "1"),
        lambda: made.filter(lambda t: t[key].isin(["1"]) | (t["x"] > 0)),
        lambda: made.mutate(y=lambda t: t[key].length()),
        lambda: made.mutate(**{key: made["g"]}),
        lambda: made.group_by(key, keys="private", groups_per_unit=1),
        lambda: made.aggregate(h=histogram(key, categories=["1"])),
        lambda: made.aggregate(h=histogram(lambda t: t[key], categories=["1"])),
        lambda: made.aggregate(s=total(lambda t: t[key].length(), low=0, high=1)),
    ]
    for attempt in tries:
        with pytest.raises(InvalidParameter):
            attempt()


def test_bad_units_have_one_sentence() -> None:
    rows = frame([("a", 1, DAY, "x", 1.0)])
    for unit, words in (
        (3, "unit must be a column, several columns or each_row"),
        ([], "unit is an empty list"),
        (["name", "name"], "names a column twice"),
        (["name", "nmber"], "did you mean 'number'"),
        (["name", "x"], "'x' is of type float64"),
        ("row", "hush.tables.each_row"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            table(rows, unit=unit)
    with pytest.raises(IncompleteCall, match="table is missing unit"):
        table(rows)
    assert pickle.loads(pickle.dumps(each_row)) is each_row


def test_an_aggregate_without_a_rule_for_one_row_is_refused() -> None:
    """A reduction that `one_row` does not know must not be computed in another way than was proved."""
    from hush.tables.unit import one_row

    made = table(frame([("a", 1, DAY, "x", 1.0)]), unit=each_row)
    with pytest.raises(Unsupported, match="StandardDev"):
        one_row(made.relation["x"].std())
    with pytest.raises(Unsupported, match="Sum"):
        one_row(made.relation["x"].sum(where=made.relation["x"] > 0))
