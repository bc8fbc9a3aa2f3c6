"""What bounding costs on DuckDB: hush's aggregates and whole answers against bounded SQL written by hand; and how
cost grows.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
from record import Action, Benchmark, Line, alternate, duration, growth, main

import hush
import hush.tables
from hush.tables import count, count_units

GROUPS, PER_UNIT, LOW, HIGH, ROWS_PER_UNIT = 1000, 5, 0, 100, 3


def make(path: Path, rows: int, *, units: int, groups: int = GROUPS, text: bool = False) -> None:
    """A table of (unit, grp, value), spread evenly by a hash of the row number. With `text` the groups have names."""
    group = f"(hash(range * 3 + 7) % {groups})"
    group = f"'group number ' || {group}::VARCHAR" if text else f"{group}::BIGINT"
    duckdb.sql(f"""
        COPY (SELECT (hash(range * 2 + 1) % {units})::BIGINT AS unit, {group} AS grp,
                     ((hash(range * 5 + 3) % 15000) / 100.0)::DOUBLE AS value FROM range({rows})) TO '{path}'""")


def by_hand(path: Path) -> str:
    """What one would write without hush: DuckDB's own hash, the fast form of the rank, float sums."""
    return f"""
        WITH ranked AS (SELECT unit, grp, value,
                               dense_rank() OVER (PARTITION BY unit ORDER BY hash(unit, grp, 4711), grp) - 1 AS place
                        FROM '{path}' WHERE unit IS NOT NULL),
             pairs AS (SELECT unit, grp, least(count(*), {ROWS_PER_UNIT}) AS n,
                              greatest(least(sum(value), {HIGH}), {LOW}) AS s
                       FROM ranked WHERE place < {PER_UNIT} GROUP BY unit, grp)
        SELECT grp, count(*) AS units, sum(n) AS n, sum(s) AS s FROM pairs GROUP BY grp ORDER BY grp"""


def question(path: Path, keys: object) -> hush.tables.Query:
    """Three aggregates of every group."""
    asked = {
        "units": count_units(),
        "n": count(rows_per_unit=ROWS_PER_UNIT),
        "s": hush.tables.sum("value", low=LOW, high=HIGH),
    }
    return hush.tables.table(path, unit="unit").group_by("grp", keys=keys, groups_per_unit=PER_UNIT).aggregate(**asked)


def forms(path: Path, book: hush.Ledger) -> dict[str, Action]:
    """Every way to the aggregates that is compared."""
    connection = duckdb.connect()
    private, public = question(path, "private"), question(path, range(GROUPS))
    plan, bare = public.plan(1.0, 1e-6), public.plan(1.0, 1e-6, hash="native", limits_share=0.0)
    plain = f"SELECT grp, count(*), sum(value) FROM '{path}' GROUP BY grp"
    return {
        "SQL by hand": lambda: connection.sql(by_hand(path)).to_arrow_table(),
        "aggregates, private keys, portable hash": lambda: private.aggregates(hash="portable").to_arrow(),
        "aggregates, private keys, native hash": lambda: private.aggregates(hash="native").to_arrow(),
        "aggregates, public keys, portable hash": lambda: public.aggregates(hash="portable").to_arrow(),
        "aggregates, public keys, native hash": lambda: public.aggregates(hash="native").to_arrow(),
        "whole private answer, default options": lambda: plan.answer(ledger=book),
        "whole private answer, native hash, limits not measured": lambda: bare.answer(ledger=book),
        "plain group-by, no bound, not private": lambda: connection.sql(plain).to_arrow_table(),
    }


def against_sql(quick: bool) -> Iterator[Line]:
    rows, rounds = (50_000, 1) if quick else (10_000_000, 5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows, units=rows // 10)
        book = hush.Ledger(Path(folder) / "rows.ledger", epsilon=1e3, delta=1e-2)
        times = alternate(forms(path, book), rounds)
        book.close()
    yield from _beside_sql(times)


def _beside_sql(times: dict[str, list[float]]) -> Iterator[Line]:
    """Each way as a multiple of the SQL by hand of the same round."""
    hand = times.pop("SQL by hand")
    for name, taken in times.items():
        ratios = [mine / theirs for mine, theirs in zip(taken, hand, strict=True)]  # of the same round
        mine, theirs = duration(statistics.median(taken)), duration(statistics.median(hand))
        extra = f"{min(ratios):.2f} to {max(ratios):.2f}; {mine} and {theirs}"
        yield Line(name, "times SQL by hand", statistics.median(ratios), "times", "lower", extra=extra)


def text_groups(quick: bool) -> Iterator[Line]:
    rows, rounds = (50_000, 1) if quick else (3_000_000, 5)
    with tempfile.TemporaryDirectory() as folder:
        path, connection = Path(folder) / "rows.parquet", duckdb.connect()
        make(path, rows, units=rows // 10, text=True)
        book = hush.Ledger(None, epsilon=1e4, delta=1e-1)
        names = [f"group number {i}" for i in range(GROUPS)]
        private, public = (question(path, keys).plan(1.0, 1e-6) for keys in ("private", names))
        ways: dict[str, Action] = {
            "SQL by hand": lambda: connection.sql(by_hand(path)).to_arrow_table(),
            "whole private answer, private keys, default options": lambda: private.answer(ledger=book),
            "whole private answer, listed keys, default options": lambda: public.answer(ledger=book),
        }
        yield from _beside_sql(alternate(ways, rounds))


def _growing(quick: bool, name: str, sizes: tuple[int, ...], shape: Callable[[int], dict[str, int]]) -> Iterator[Line]:
    """The whole answer and the SQL by hand over tables of growing size."""
    columns: dict[str, list[float]] = {"whole private answer": [], "SQL by hand": []}
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect()
        for size in sizes:
            path, made = Path(folder) / f"{size}.parquet", shape(size)
            make(path, made["rows"], units=made["units"], groups=made["groups"])
            plan = question(path, range(made["groups"])).plan(1.0, 1e-6)
            book = hush.Ledger(None, epsilon=1e4, delta=1e-1)  # a ledger protects one table
            pair: dict[str, Action] = {
                "whole private answer": lambda plan=plan, book=book: plan.answer(ledger=book),
                "SQL by hand": lambda path=path: connection.sql(by_hand(path)).to_arrow_table(),
            }
            for column, taken in alternate(pair, 1 if quick else 3).items():
                columns[column].append(statistics.median(taken))
            path.unlink()
    for column, taken in columns.items():
        known = dict(zip(sizes, taken, strict=True))
        yield from growth(column, name, sizes, known.__getitem__)


def growth_rows(quick: bool) -> Iterator[Line]:
    sizes = (1000, 10_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000)
    yield from _growing(quick, "rows", sizes, lambda rows: {"rows": rows, "units": rows // 10, "groups": 100})


def growth_units(quick: bool) -> Iterator[Line]:
    sizes = (100, 1000) if quick else (1000, 10_000, 100_000, 1_000_000)
    rows = 10_000 if quick else 1_000_000
    yield from _growing(quick, "units", sizes, lambda units: {"rows": rows, "units": units, "groups": 100})


def growth_groups(quick: bool) -> Iterator[Line]:
    sizes = (10, 100) if quick else (10, 100, 1000, 10_000, 100_000)
    rows = 10_000 if quick else 1_000_000
    yield from _growing(quick, "groups", sizes, lambda groups: {"rows": rows, "units": rows // 10, "groups": groups})


_GROWTH = (
    "Both columns alternate in one process over the same file. Cells are medians as multiples of the "
    "first row. The noise was calibrated before."
)

BENCHMARKS = (
    Benchmark(
        key="tables",
        title="Private group-by on DuckDB",
        measures=(
            "10 million rows, 1 million people, 1000 groups, at most 5 groups per person: two counts and a sum, "
            "as multiples of the time of hand-written SQL with the same bounds."
        ),
        fair=(
            "The SQL is what one would write without hush, in its fastest form, and it also limits the "
            "contribution of a person. Both read the same file in the same process, in turn. Each ratio is of two "
            "times of the same round, and the median and the range of the ratios are shown. hush sums integers, and "
            "the whole answer includes ledger and exact noise."
        ),
        rows="form",
        minutes=1.7,  # the whole answer reads the rows once
        measure=against_sql,
    ),
    Benchmark(
        key="tables-text",
        title="Private group-by with text groups on DuckDB",
        measures=(
            "3 million rows, 300 thousand people, 1000 groups with names, at most 5 groups per person: two counts and "
            "a sum, as multiples of the time of hand-written SQL with the same bounds."
        ),
        fair=(
            "The SQL is the same as for groups with numbers. Both read the same file in the same process, in turn. The "
            "whole answer includes ledger, exact noise and the measurement of what the limits leave out."
        ),
        rows="form",
        minutes=0.3,
        measure=text_groups,
    ),
    Benchmark(
        key="growth-tables-rows",
        title="Growth: tables with rows",
        measures=("Time of the whole private answer over 10 thousand to 10 million rows, ten per person, 100 groups."),
        fair=_GROWTH,
        rows="rows",
        minutes=0.7,
        measure=growth_rows,
    ),
    Benchmark(
        key="growth-tables-units",
        title="Growth: tables with people",
        measures=(
            "Time of the whole private answer over a million rows of a thousand to a million people, 100 groups."
        ),
        fair=_GROWTH,
        rows="people",
        minutes=0.3,
        measure=growth_units,
    ),
    Benchmark(
        key="growth-tables-groups",
        title="Growth: tables with groups",
        measures=("Time of the whole private answer over a million rows of 100,000 people in 10 to 100,000 groups."),
        fair=_GROWTH,
        rows="groups",
        minutes=0.5,
        measure=growth_groups,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
