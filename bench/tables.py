"""What bounding costs on DuckDB: the integer aggregates of hush against contribution-bounded SQL written by hand, alternately, in one run.

    python bench/tables.py [rows]          10 million rows, 1 million units, 1000 groups, at most 5 groups per unit

The yardstick is what one would write without hush: DuckDB's own hash, the fast form of the rank, float sums. Nothing here is asserted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

import hush
import hush.tables
from hush.tables import count, count_units, sum_

GROUPS, PER_UNIT, LOW, HIGH, ROWS_PER_UNIT = 1000, 5, 0, 100, 3


def make(path: Path, rows: int) -> None:
    """A table of (unit, grp, value), spread evenly by a hash of the row number."""
    duckdb.sql(f"""
        COPY (SELECT (hash(range * 2 + 1) % {max(1, rows // 10)})::BIGINT AS unit, (hash(range * 3 + 7) % {GROUPS})::BIGINT AS grp,
                     ((hash(range * 5 + 3) % 15000) / 100.0)::DOUBLE AS value FROM range({rows})) TO '{path}'""")


def by_hand(path: Path) -> str:
    return f"""
        WITH ranked AS (SELECT unit, grp, value, dense_rank() OVER (PARTITION BY unit ORDER BY hash(unit, grp, 4711), grp) - 1 AS place
                        FROM '{path}' WHERE unit IS NOT NULL),
             pairs AS (SELECT unit, grp, least(count(*), {ROWS_PER_UNIT}) AS n, greatest(least(sum(value), {HIGH}), {LOW}) AS s
                       FROM ranked WHERE place < {PER_UNIT} GROUP BY unit, grp)
        SELECT grp, count(*) AS units, sum(n) AS n, sum(s) AS s FROM pairs GROUP BY grp ORDER BY grp"""


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main(rows: int, repeats: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path, rows)
        connection = duckdb.connect()
        table = hush.tables.table(path, unit="unit")
        asked = {"units": count_units(), "n": count(rows_per_unit=ROWS_PER_UNIT), "s": sum_("value", low=LOW, high=HIGH)}
        private = table.group_by("grp", keys="private", groups_per_unit=PER_UNIT).aggregate(**asked)
        public = table.group_by("grp", keys=range(GROUPS), groups_per_unit=PER_UNIT).aggregate(**asked)
        plan = public.plan(1.0, 1e-6, hash="native")
        book = hush.Ledger(Path(folder) / "rows.ledger", epsilon=1e3, delta=1e-2)
        forms: dict[str, Callable[[], object]] = {
            "SQL by hand": lambda: connection.sql(by_hand(path)).to_arrow_table(),
            "private keys, portable hash": lambda: private.aggregates().to_arrow(),
            "private keys, native hash": lambda: private.aggregates(hash="native").to_arrow(),
            "public keys, portable hash": lambda: public.aggregates().to_arrow(),
            "public keys, native hash": lambda: public.aggregates(hash="native").to_arrow(),
            "whole private answer": lambda: plan.answer(ledger=book),
            "plain group-by, no bound": lambda: connection.sql(
                f"SELECT grp, count(*), sum(value) FROM '{path}' GROUP BY grp"
            ).to_arrow_table(),
        }
        times: dict[str, list[float]] = {name: [] for name in forms}
        for _ in range(repeats):
            for name, action in forms.items():
                times[name].append(seconds(action))
        base = times["SQL by hand"]
        print(f"{rows} rows, {max(1, rows // 10)} units, {GROUPS} groups, {PER_UNIT} per unit")
        print("times the SQL by hand of the same round (goals: 1.2 for the aggregates, 1.5 for the whole answer with noise and ledger)")
        for name, taken in times.items():
            ratios = [t / b for t, b in zip(taken, base, strict=True)]
            median, least, most = statistics.median(ratios), min(ratios), max(ratios)
            print(f"  {name:30} {statistics.median(taken):6.2f} s   ratio {median:5.2f}  ({least:.2f} to {most:.2f})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
