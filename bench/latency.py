"""What a person waits for: the first import, a number asked for the first time in a process, and one asked again."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from record import Benchmark, Line, alternate, duration, main

#: hush loads its names at their first use; the star loads all of them.
IMPORTS = {"ours": "from hush import *", "theirs": "import numpy, scipy.special"}
#: One call after an untimed import, in a process of its own; then the same kind of call, many times, with numbers not
#: asked before.
CALLS = {
    "hush.delta(hush.Laplace(1.0), 0.5)": "hush.delta(hush.Laplace(1.0 + k), 0.5)",
    "hush.epsilon(hush.Gaussian(4.0), 1e-6)": "hush.epsilon(hush.Gaussian(4.0 + k), 1e-6)",
    "hush.gaussian.sigma(1.0, 1e-6)": "hush.gaussian.sigma(1.0 + k, 1e-6)",
    "hush.calibrate(1.0, 1e-6, family='laplace')": "hush.calibrate(1.0 + k, 1e-6, family='laplace')",
    "hush.calibrate(1.0, 1e-6)": "hush.calibrate(1.0 + k, 1e-6)",
}
#: Calibrations over all families, each the first call of its process.
CALIBRATIONS = {
    "one number": "hush.calibrate(1.0, 1e-6)",
    "one number, delta = 0.001": "hush.calibrate(0.1, 1e-3)",
    "one number, mean absolute error": "hush.calibrate(1.0, 1e-6, loss='mae')",
    "20 groups": "hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=20))",
    "20 groups, mean absolute error": "hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=20), loss='mae')",
    "three different bounds": "hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=(1.0, 2.0, 5.0)))",
    "eight different bounds": (
        "hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=(1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0)))"
    ),
    "a count, epsilon = 0.003": "hush.calibrate(0.003, 1e-6, values='integer')",
}
_COLD = """
import time, hush, numpy as np
from hush import *
import scipy.special, scipy.optimize, hush.calibration.one_number
start = time.process_time(); {call}; taken = time.process_time() - start
numbers, turns = np.random.default_rng(1).normal(size=1 << 20), []
for _ in range(5):
    start = time.process_time(); np.fft.fft(numbers); turns.append(time.process_time() - start)
print(taken, min(turns))
"""
#: The question of `make demo`.
DEMO = ["--unit", "patient_id", "--by", "ward", "--count-units", "--mean", "stay_days:0:30", "--groups-per-unit", "8"]
DEMO += ["--keys", "private", "--epsilon", "1", "--delta", "1e-6"]
CAP = ["--epsilon", "100", "--delta", "1e-3"]
#: The columns of the same question, not private and without bounds.
PLAIN = "SELECT ward, COUNT(DISTINCT patient_id), AVG(stay_days) FROM '{}' GROUP BY ward"
#: The files of the question to a CSV file: a ledger protects the people of one file.
_AS_TEXT = {"demo.parquet": "demo.csv", "demo.ledger": "text.ledger"}
#: The same question to a table with a policy.
SQL = "SELECT ward, COUNT(DISTINCT patient_id) AS people, AVG(stay_days) AS stay FROM visits GROUP BY ward"
POLICY = """[tables.visits]
source = "visits.parquet"
unit = "patient_id"
groups_per_unit = 8
rows_per_unit = 1
ledger = "visits.ledger"
[tables.visits.columns]
ward = { values = "private" }
stay_days = { low = 0, high = 30 }
"""
_CODE = """
import time, hush
def call(k):
    return {call}
start = time.perf_counter(); call(0.0); cold = time.perf_counter() - start
times = []
for k in range({warm}):
    start = time.perf_counter(); call(0.001 * (k + 1)); times.append(time.perf_counter() - start)
print(cold, sorted(times)[len(times) // 2])
"""


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def imports(quick: bool) -> Iterator[Line]:
    actions = {name: lambda code=code: _run(code) for name, code in {**IMPORTS, "nothing": "pass"}.items()}
    middle = {name: statistics.median(taken) for name, taken in alternate(actions, 1 if quick else 9).items()}
    bare = middle["nothing"]  # starting Python itself
    ours, theirs = middle["ours"] - bare, middle["theirs"] - bare
    extra = f"{duration(ours)} and {duration(theirs)}; Python itself {duration(bare)}"
    yield Line(
        "from hush import *", "times `import numpy, scipy.special`", ours / theirs, "times", "lower", extra=extra
    )


def _seconds(command: list[str], **given: str) -> tuple[float, float]:
    """The processor time of a process and of its children, without that of other programs; and the time on the wall."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | given
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, env=known)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def _questions(folder: Path, rows: int) -> dict[str, tuple[list[str], dict[str, str]]]:
    """The commands, and the folder of calibrations that each may use; "" for none."""
    for name, many in (("demo", 100_000), ("visits", rows)):
        _seconds(["-m", "hush", "sample", "visits", "--rows", str(many), "--out", str(folder / f"{name}.parquet")])
        _seconds(["-m", "hush", "ledger", "new", str(folder / f"{name}.ledger"), *CAP])
    policy = folder / "hush.toml"
    policy.write_text(POLICY)
    asked = ["-m", "hush", "answer", str(folder / "demo.parquet"), *DEMO, "--ledger", str(folder / "demo.ledger")]
    sql = ["-m", "hush", "sql", SQL, "--policy", str(policy), "--epsilon", "1", "--delta", "1e-6"]
    _run(f"import duckdb; duckdb.sql(\"COPY (FROM '{folder}/demo.parquet') TO '{folder}/demo.csv'\")")
    _seconds(["-m", "hush", "ledger", "new", str(folder / "text.ledger"), *CAP])
    other = {str(folder / name): str(folder / text) for name, text in _AS_TEXT.items()}
    text = [other.get(word, word) for word in asked]
    seen, unseen = {"HUSH_CACHE": str(folder / "calibrations")}, {"HUSH_CACHE": ""}
    return {
        "`hush answer` of `make demo`": (asked, seen),
        "`hush answer` of `make demo`, from CSV": (text, seen),
        f"`hush sql` on {rows:,} rows, noise found before": (sql, seen),
        f"`hush sql` on {rows:,} rows, noise found now": (sql, unseen),
    }


def answer(quick: bool) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        commands = _questions(Path(folder), 100_000 if quick else 1_000_000)
        asked = "`hush answer` of `make demo`"
        plain = {asked: "parquet", f"{asked}, from CSV": "csv"}
        yardstick = "`import ibis, duckdb`"
        commands[yardstick] = (["-c", "import ibis, duckdb"], {})
        for form in plain.values():
            sql = PLAIN.format(Path(folder) / f"demo.{form}")
            commands[form] = (["-c", f"import duckdb; duckdb.sql({sql!r}).fetchall()"], {})
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for turn in range(2 if quick else 10):
            for name, (command, given) in commands.items():
                measured = _seconds(command, **given)
                if turn > 0:  # the first turn compiles Python's files and finds the noise
                    taken[name].append(measured)
    middle = {name: [statistics.median(column) for column in zip(*pairs, strict=True)] for name, pairs in taken.items()}
    theirs, _ = middle.pop(yardstick)
    for name, form in plain.items():
        (ours, wall), (bare, _) = middle[name], middle.pop(form)
        extra = f"{duration(ours)} and {duration(bare)} of processor time; {duration(wall)} until the answer"
        yield Line(f"{name}, beside SQL", "times a process of plain DuckDB", ours / bare, "times", "lower", extra=extra)
    for name, (ours, wall) in middle.items():
        extra = f"{duration(ours)} and {duration(theirs)} of processor time; {duration(wall)} until the answer"
        yield Line(name, f"times {yardstick}", ours / theirs, "times", "lower", extra=extra)


def calls(quick: bool) -> Iterator[Line]:
    for shown, call in CALLS.items():
        code = _CODE.format(call=call, warm=3 if quick else 20 if "calibrate(1.0 + k, 1e-6)" in call else 50)
        runs = [tuple(map(float, _run(code).split())) for _ in range(1 if quick else 5)]
        cold, warm = (statistics.median(column) for column in zip(*runs, strict=True))
        yield Line(
            f"`{shown}`",
            "first call / later calls",
            cold / warm,
            "times",
            "lower",
            extra=f"{duration(cold)} and {duration(warm)}",
        )


def calibrations(quick: bool) -> Iterator[Line]:
    before = os.environ.get("HUSH_CACHE")
    os.environ["HUSH_CACHE"] = ""
    try:
        for name, call in list(CALIBRATIONS.items())[: 1 if quick else None]:
            runs = [tuple(map(float, _run(_COLD.format(call=call)).split())) for _ in range(1 if quick else 5)]
            taken, unit = min(run[0] for run in runs), min(run[1] for run in runs)
            extra = f"{duration(taken)} and {duration(unit)} of processor time"
            yield Line(name, "times one numpy.fft.fft of 2^20 numbers", taken / unit, "times", "lower", extra=extra)
    finally:
        if before is None:
            del os.environ["HUSH_CACHE"]
        else:
            os.environ["HUSH_CACHE"] = before


BENCHMARKS = (
    Benchmark(
        key="latency-import",
        title="Import",
        measures=(
            "Time of the first import of hush with all its public names, minus the start of Python, compared with "
            "importing the two libraries that it needs. `import hush` alone loads no name before its first use."
        ),
        fair=(
            "Both sides start new processes, in turn, with their files in the system's cache. The median time counts. "
            "hush loads scipy.special with the first special function, which no import calls."
        ),
        rows="import",
        minutes=0.3,
        measure=imports,
    ),
    Benchmark(
        key="latency-calls",
        title="First and later calls",
        measures=(
            "Time of the first call in a process after the import, as a multiple of later calls of the same kind "
            "with new numbers."
        ),
        fair=(
            "Each call has its own processes; medians of five processes. Later calls change a parameter every "
            "time, so nothing is cached."
        ),
        rows="call",
        minutes=1.0,
        measure=calls,
    ),
    Benchmark(
        key="latency-calibrations",
        title="First calibrations",
        measures=(
            "Processor time of `hush.calibrate` over all families as the first call of a process, after the imports "
            "and without kept calibrations, as a multiple of one Fourier transform of 2^20 numbers in the same process."
        ),
        fair=(
            "Each calibration has its own five processes, and the least time counts, for both sides. The transform is "
            "a unit of work and not a competitor."
        ),
        rows="request",
        minutes=0.7,
        measure=calibrations,
    ),
    Benchmark(
        key="latency-answer",
        title="A private answer from the shell",
        measures=(
            "Processor time of a whole command: start of Python, imports, noise, queries, ledger, output. It is "
            "compared with starting Python and importing the packages that every such command needs. `hush answer` "
            "asks for a count and a mean by ward of the 100,000 rows of `make demo`. `hush sql` asks 1,000,000 rows in "
            "a Parquet file for the same, once with the noise that an earlier run has found and kept, and once without."
        ),
        fair=(
            "All commands start new processes, in turn, with their files in the system's cache; medians of nine. The "
            "yardstick asks nothing, so hush cannot be below 1. Kept noise is checked again before it is used."
        ),
        rows="command",
        minutes=1.5,
        measure=answer,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
