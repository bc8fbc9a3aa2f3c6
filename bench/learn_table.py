"""A logistic fit over a Parquet file that is larger than memory, beside a plain DuckDB aggregate over the same columns.

    python bench/learn_table.py 10_000_000 20 /tmp/rows.parquet

Writes the file if it does not exist; a path with a star names files that exist. Prints CPU seconds, their ratio, and
the largest memory of the process. Times are CPU times of all threads, because the machine may be shared.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import duckdb

import hush.learn
from hush import tables


def made(path: Path, rows: int, columns: int) -> None:
    """Rows with normal columns and labels of a logistic model."""
    normal = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"
    features = ", ".join(f"({normal})::FLOAT AS x{i}" for i in range(columns))
    score = " + ".join(f"{(-1) ** i * (i + 1) / columns} * x{i}" for i in range(columns))
    query = f"SELECT *, (random() < 1 / (1 + exp(-({score}))))::INT AS y FROM (SELECT {features} FROM range({rows}))"
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def seconds() -> float:
    """CPU seconds of this process."""
    used = os.times()
    return used.user + used.system


def main(rows: int, columns: int, path: Path) -> None:
    if "*" not in path.name and not path.exists():
        made(path, rows, columns)
    names = [f"x{i}" for i in range(columns)]
    before = seconds()
    aggregates = ", ".join(f"sum({name}), sum({name} * {name})" for name in names)
    duckdb.connect().sql(f"SELECT {aggregates}, sum(y) FROM '{path}'").fetchall()
    plain = seconds() - before
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table = tables.table(str(path), unit=tables.each_row)
    model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-9, bounds=dict.fromkeys(names, (-5.0, 5.0)), C=1e9)
    before = seconds()
    model.fit(table, "y")
    ours = seconds() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    truth = [(-1) ** i * (i + 1) / columns for i in range(columns)]
    print(f"rows {rows:,}, columns {columns}, solver {model.receipt_['solver']}, passes {model.receipt_['passes']}")
    print(f"fit {ours:.1f} s, aggregate {plain:.2f} s, ratio {ours / plain:.0f} (CPU)")
    print(f"largest memory {memory:.0f} MiB, before the fit {start:.0f} MiB")
    print(f"largest error of a coefficient {max(abs(a - b) for a, b in zip(model.coef_[0], truth, strict=True)):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
