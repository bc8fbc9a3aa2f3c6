"""A logistic fit over a Parquet file that is larger than memory, beside a plain DuckDB aggregate over the same columns.

    python bench/learn_table.py 10_000_000 20 /tmp/rows.parquet

Writes the file if it does not exist; a path with a star names files that exist. Prints CPU seconds, their ratio, the
largest memory of the process and the size of the temporary file, and appends them to docs/results/learn_table.jsonl,
from which bench/learn_page.py writes a table. Times are CPU times of all threads, because the machine may be shared.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from unittest.mock import patch

import duckdb
from facts import processor

import hush.learn
from hush import tables
from hush.learn.kept_rows import KeptBlocks

STORED = Path(__file__).resolve().parents[1] / "docs" / "results" / "learn_table.jsonl"


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


def of_query(query: str) -> float:
    """CPU seconds of a query."""
    before = seconds()
    duckdb.connect().sql(query).fetchall()
    return seconds() - before


def peak() -> float:
    """The largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(rows: int, columns: int, path: Path) -> None:
    if "*" not in path.name and not path.exists():
        made(path, rows, columns)
    names = [f"x{i}" for i in range(columns)]
    squares = ", ".join(f"sum({name}), sum({name} * {name})" for name in names)
    sums = ", ".join(f"sum({name})" for name in names)
    plain, alone = (of_query(f"SELECT {one}, sum(y) FROM '{path}'") for one in (squares, sums))
    start = peak()
    table = tables.table(str(path), unit=tables.each_row)
    model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-9, bounds=dict.fromkeys(names, (-5.0, 5.0)), C=1e9)
    ends, close = [0], KeptBlocks.close

    def closed(kept: KeptBlocks) -> None:
        ends.append(kept._end)
        close(kept)

    before = seconds()
    with patch.object(KeptBlocks, "close", closed):
        model.fit(table, "y")
    ours = seconds() - before
    truth = [(-1) ** i * (i + 1) / columns for i in range(columns)]
    found = {
        "rows": rows,
        "columns": columns,
        "solver": model.receipt_["solver"],
        "passes": model.receipt_["passes"],
        "fit_cpu_seconds": round(ours, 1),
        "sums_and_squares_cpu_seconds": round(plain, 2),
        "sums_cpu_seconds": round(alone, 2),
        "peak_mib": round(peak()),
        "peak_before_fit_mib": round(start),
        "temporary_file_gb": round(max(ends) / 1e9, 2),
        "largest_error": round(max(abs(a - b) for a, b in zip(model.coef_[0], truth, strict=True)), 4),
        "processor": processor(),
    }
    with STORED.open("a") as file:
        file.write(json.dumps(found) + "\n")
    for name, value in found.items():
        print(name.replace("_", " "), value)
    print("ratio", round(ours / plain), round(ours / alone))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
