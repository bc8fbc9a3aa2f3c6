"""What the limits leave out: the exact shares are right on every engine, one person moves each by 1 at most, and
intervals hold them.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from effort import thinned
from grid_quantile import grid_quantile
from paid import noisy_columns
from scipy.stats import binom
from tables.reference import keyed_hash

import hush
from hush.tables import count, count_units, histogram, mean, table, variance
from hush.tables.engines.duckdb import sql_of
from hush.tables.left_out import left_out, limits_in_words


def rows_of(seed: int, people: int = 60) -> pa.Table:
    """People with one to nine rows in up to five groups, some without a value, some without a name."""
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), random.integers(1, 10, people))
    names = [None if random.random() < 0.1 else f"g{random.integers(5)}" for _ in who]
    values = [None if random.random() < 0.1 else random.normal(0, 4) for _ in who]
    units = pa.array([None if u == 0 else int(u) for u in who], pa.int64())
    return pa.table({"u": units, "k": pa.array(names, pa.string()), "x": pa.array(values, pa.float64())})


AGGREGATES = {
    "n": count(rows_per_unit=2),
    "people": count_units(),
    "total": hush.tables.sum("x", low=-3, high=5),
    "m": mean("x", low=-2, high=2, rows_per_unit=3),
    "v": variance("x", low=-2, high=2, rows_per_unit=3),
    "h": histogram("x", edges=[-1, 0, 6]),
    "q": grid_quantile("x", 0.5, low=-4, high=4, bins=20),
}


SALT = bytes(range(32))


def kept(who: int, theirs: dict, keys: list[str] | None, groups: int) -> list[list[float | None]]:
    """The values of the groups of a person that count."""

    def order(key: str | None) -> tuple[int, bool, str]:
        part = (key, "text") if keys is None else (keys.index(key), "whole")
        return keyed_hash(SALT, "groups", [(who, "whole"), part]) >> 1, key is None, key or ""

    return [theirs[key] for key in sorted(theirs, key=order)[:groups]]


def by_hand(rows: pa.Table, keys: list[str] | None, groups: int) -> tuple[int, dict[str, float]]:
    """The number of people and the sum of each share, in plain Python."""
    pairs: dict[int, dict[str | None, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.to_pylist():
        if row["u"] is not None and (keys is None or row["k"] in keys):
            pairs[row["u"]][row["k"]].append(row["x"])
    sums: dict[str, float] = defaultdict(float)
    for who, theirs in pairs.items():
        sums["groups"] += len(theirs) > groups
        every = kept(who, theirs, keys, groups)
        has = [[x for x in values if x is not None] for values in every]
        number = max(sum(map(len, has)), 1)
        sums["rows0"] += sum(max(len(values) - 2, 0) for values in every) / sum(map(len, every))
        sums["rows3"] += sum(max(len(values) - 3, 0) for values in has) / number
        for name, low, high in (("values3", -2, 2), ("values5", -1, 6), ("values6", -4, 4)):
            sums[name] += sum(not low <= x <= high for values in has for x in values) / number
        for name in ("rows5", "rows6"):
            sums[name] += sum(max(len(values) - 1, 0) for values in has) / number
        totals = [sum(values) for values in has if values]
        sums["values2"] += sum(not -3 <= total <= 5 for total in totals) / max(len(totals), 1)
    return len(pairs), dict(sums)


def exact_of(query, salt=SALT):
    """What is asked about the limits, and the exact numbers, from one query for them and the answer."""
    made = left_out(query)
    about, _ = query.exact(made.beside, salt=salt, hash="portable", first="rank").read()
    return made, about


@pytest.mark.parametrize(("keys", "groups"), [("private", 2), (["g0", "g1", "g3"], 1)])
def test_shares_are_those_of_the_rows(engine, keys, groups):
    """Against plain Python; a mean and a variance of the same rows are asked about once."""
    rows = rows_of(1)
    made, exact = exact_of(
        engine.table(rows, unit="u").group_by("k", keys=keys, groups_per_unit=groups).aggregate(**AGGREGATES)
    )
    people, sums = by_hand(rows, None if keys == "private" else keys, groups)
    assert exact["people"][0] == people
    shares = {m.name: float(m.answer(exact)[0]) for m in made.query.measures if m.name != "people"}
    assert shares == pytest.approx({name: total / people for name, total in sums.items()}, abs=2e-6)
    assert set(made.words) == set(shares)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2
@pytest.mark.parametrize("seed", thinned(range(12), 4))
def test_one_person_moves_each_by_no_more_than_charged(seed):
    """Remove each of a few people: within the sensitivity that is charged, and the largest move reaches a good part
    of it.
    """
    rows, backend = rows_of(seed, people=25), ibis.duckdb.connect()

    def put(some: pa.Table) -> None:
        backend.con.register("held", some)
        backend.con.execute("CREATE OR REPLACE TABLE visits AS SELECT * FROM held")

    put(rows)
    grouped = table(backend.table("visits"), unit="u").group_by("k", keys="private", groups_per_unit=2)
    query = grouped.aggregate(**AGGREGATES)
    made = left_out(query)
    exact = query.exact(made.beside, salt=SALT, hash="portable", first="rank")
    statement = sql_of(backend, exact.plan)  # the same for all neighbours: to write it takes longer than to run it

    def asked(some: pa.Table) -> dict[str, int]:
        put(some)
        columns = backend.con.sql(statement).to_arrow_table().columns[-len(exact.about) :]
        return {name: pa.compute.sum(column).as_py() for name, column in zip(exact.about, columns, strict=True)}

    all_rows, bounds = asked(rows), made.query.sensitivity.linf
    assert all_rows == {name: int(column[0]) for name, column in exact.read()[0].items()}
    for who in range(1, 6):
        without = asked(rows.filter(pa.compute.not_equal(rows.column("u"), who)))
        for name, bound in bounds.items():
            assert abs(all_rows[name] - without[name]) <= bound, name
    backend.disconnect()


def test_intervals_hold_the_shares(engine):
    """20,000 releases of one table: as few misses as the level allows (false alarm 1e-8 each)."""
    query = (
        engine.table(rows_of(2, 400), unit="u").group_by("k", keys="private", groups_per_unit=2).aggregate(**AGGREGATES)
    )
    made, exact = exact_of(query)
    spent = query.plan(8.0, 1e-6, family="laplace").shares.limits
    released = noisy_columns({name: np.repeat(column, 20_000) for name, column in exact.items()}, spent)
    for measure in made.query.measures:
        truth = measure.answer(exact)
        for level in (0.5, 0.95, 0.999):
            low, high = measure.answer.ends(spent.mechanisms, level)(released)
            assert ((low > truth) | (truth > high)).sum() <= binom.isf(1e-8, 20_000, 1.0 - level), (measure.name, level)


def test_an_answer_says_them_and_they_are_charged():
    """In the print, the page, the receipt and the statement; the ledger's entry has the mechanism; one option
    switches it off.
    """
    query = (
        table(rows_of(3, 500), unit="u")
        .group_by("k", keys="private", groups_per_unit=2)
        .aggregate(m=mean("x", low=-2, high=2))
    )
    book = hush.Ledger(None, epsilon=9.0, delta=1e-5)
    made = query.plan(8.0, 1e-6, family="laplace").answer(ledger=book)
    assert next(share["what"].split(" are ")[0] for share in made.left_out["shares"]) == "of people"
    for text in (repr(made), made._repr_html_(), str(hush.report.statement(made, ledger=book))):
        assert "of people are in more than 2 groups, and count in 2 of them" in text
        assert "noise only" in text or "do not include the effect of the limits" in text
    people = made.left_out["people"]
    assert people[1] <= people[0] <= people[2] and abs(people[0] - 499) < 200
    assert len(book.entries[0].charges) == 2 and book.entries[0].epsilon == 8.0
    assert [part["what"] for part in made.receipt["parts"]] == ["answers", "limits"]
    assert sum(part["epsilon"] for part in made.receipt["parts"]) <= 8.0
    off = query.plan(8.0, 1e-6, family="laplace", limits_share=0)
    assert off.shares.limits is None and off.spent.epsilon == pytest.approx(8.0, rel=1e-12)
    assert off.answer(ledger=None).left_out is None and "left out" not in repr(off.answer(ledger=None))


def test_nothing_is_measured_where_nothing_can_be_left_out():
    """People counted once, in one group or in all listed groups: the whole budget is for the answer."""
    rows = table(rows_of(4), unit="u")
    for query in (
        rows.aggregate(people=count_units()),
        rows.group_by("k", keys=["g0", "g1"], groups_per_unit=2).aggregate(people=count_units()),
    ):
        assert left_out(query) is None and limits_in_words(query) == []
        assert query.plan(1.0, 1e-6, family="laplace").spent.epsilon == pytest.approx(1.0, rel=1e-12)


def test_the_share_is_checked():
    query = table(rows_of(4), unit="u").aggregate(n=count())
    for bad in (-0.1, 0.6, float("nan"), "3%", None):
        with pytest.raises(hush.InvalidParameter, match="limits_share"):
            query.plan(1.0, 1e-6, limits_share=bad)


def test_bounds_that_are_found_are_measured_against():
    """The share of values outside the range that was found, not outside the placeholder."""
    values = np.concatenate([np.full(4000, 3.0), np.full(12, 1e6)])
    query = table(pa.table({"u": np.arange(values.size), "x": values}), unit="u").aggregate(
        m=mean("x", low="private", high="private")
    )
    made = query.plan(8.0, 1e-6, family="laplace").answer(ledger=None, level=0.999_999)  # the rate of false alarms
    clipped = next(share for share in made.left_out["shares"] if "lie outside [2.0, 4.0]" in share["what"])
    assert clipped["low"] <= 12 / 4012 <= clipped["high"] and clipped["high"] < 0.1
    assert dataclasses.is_dataclass(query)
