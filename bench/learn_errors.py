"""Errors of private models on eight data sets at equal guarantee: a small version of bench/learn_peers.py for the
one-go run.
"""

from __future__ import annotations

import math
import os
import statistics
import warnings
from collections.abc import Iterator
from pathlib import Path

import environment
from record import Benchmark, Line, Note, main

EPSILON, SPLITS = 1.0, 3


def _best(found: dict[str, dict[str, float]], kind: str) -> str | None:
    """The step length of a rival that is best over all sets, in hindsight and in its favour."""
    names = sorted({name for errors in found.values() for name in errors if name.startswith(kind)})
    return min(
        names, key=lambda name: sum(math.log(max(errors[name], 1e-4)) for errors in found.values()), default=None
    )


def measure(quick: bool) -> Iterator[Line | Note]:
    folder = os.environ.get("HUSH_DATA")
    if not folder or not Path(folder).is_dir():
        yield Note("No folder of data sets is named by HUSH_DATA: nothing was measured.")
        return
    import learn_peers
    from hush_papers.flipped_huber.learning_data import NAMES, learning_set

    warnings.simplefilter("ignore")
    peer, found = environment.diffprivlib_python(), {}
    if peer is None:
        yield Note("diffprivlib is not installed here and was left out.")
    for key in ("heart",) if quick else NAMES:
        data = learning_set(key, Path(folder))
        made = learn_peers.errors(data, EPSILON, 1 if quick else SPLITS, solvers=False, rivals=not quick, peer=peer)
        found[key] = {name: statistics.median(each) for name, each in made.items()}
        print(f"  {key}: all methods trained", flush=True)
    columns = {"not private": "not private", "no features": "no features", "diffprivlib": "diffprivlib"}
    columns |= {name: kind for kind in ("noisy GD", "noisy SGD") if (name := _best(found, kind)) is not None}
    for key, errors in found.items():
        yield Line(key, "hush: error", errors["hush"], "error", "lower")
        for name, shown in columns.items():
            if name in errors:
                better = "neither" if name == "not private" else "higher"
                yield Line(key, f"{shown} / hush", errors[name] / errors["hush"], "times", better)


BENCHMARKS = (
    Benchmark(
        key="learn-errors",
        title="Errors of private models",
        measures=(
            "Test errors (misclassified share, or residual over total sum of squares) at epsilon = 1 and delta = "
            "1/N^2 on the eight data sets of the flipped Huber paper: the median of hush over three splits, and "
            "the errors of others as multiples of it. The larger study is in [learn_results.md](learn_results.md)."
        ),
        fair=(
            "Same rows, public ranges, penalty and splits. Nothing is tuned on the data, except for noisy GD and "
            "SGD, which are written here and get the step length that is best in hindsight. diffprivlib gives the "
            "stronger delta = 0, because it has no other mechanism; noisy SGD gives the weaker guarantee of one "
            "row added or removed. Three splits show factors, not percentages."
        ),
        rows="data set",
        minutes=6.0,
        measure=measure,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
