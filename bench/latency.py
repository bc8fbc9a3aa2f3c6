"""What a person waits for: the first import, a number asked for the first time in a process, and one asked again."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
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
#: The question of `make demo`.
DEMO = ["--unit", "patient_id", "--by", "ward", "--count-units", "--mean", "stay_days:0:30", "--groups-per-unit", "8"]
DEMO += ["--keys", "private", "--epsilon", "1", "--delta", "1e-6"]
CAP = ["--epsilon", "100", "--delta", "1e-3"]
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
    yield Line("import hush", "times `import numpy, scipy.special`", ours / theirs, "times", "lower", extra=extra)


def _seconds(command: list[str]) -> float:
    """The processor time of a process and of its children, without that of other programs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def answer(quick: bool) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        rows, ledger = str(Path(folder) / "visits.parquet"), str(Path(folder) / "visits.ledger")
        for words in (["sample", "visits", "--rows", "100000", "--out", rows], ["ledger", "new", ledger, *CAP]):
            _seconds(["-m", "hush", *words])
        actions = {"ours": ["-m", "hush", "answer", rows, *DEMO, "--ledger", ledger], "duckdb": ["-c", "import duckdb"]}
        taken: dict[str, list[float]] = {name: [] for name in actions}
        for turn in range(2 if quick else 10):
            for name, command in actions.items():
                seconds = _seconds(command)
                if turn > 0:  # the first turn compiles Python's files
                    taken[name].append(seconds)
    ours, theirs = (statistics.median(taken[name]) for name in ("ours", "duckdb"))
    extra = f"{duration(ours)} and {duration(theirs)} of processor time"
    yield Line("`hush answer` of `make demo`", "times `import duckdb`", ours / theirs, "times", "lower", extra=extra)


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
        key="latency-answer",
        title="A private answer from the shell",
        measures=(
            "Processor time of the whole command `hush answer` on the 100,000 rows of `make demo`: start of Python, "
            "imports, noise, two queries, ledger, output. It is compared with starting Python and importing duckdb."
        ),
        fair=(
            "Both sides start new processes, in turn, with their files in the system's cache; medians of nine. "
            "The other side asks nothing, so hush cannot be below 1. No calibration of an earlier run is used."
        ),
        rows="command",
        minutes=0.4,
        measure=answer,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
