"""Test errors of hush.learn beside published methods, on ten data sets and five epsilons, at equal guarantee.

All methods get the same rows, public ranges, splits and penalty (scikit-learn's defaults, on scaled columns), the same
private scaling with 25 % of the budget, and exact Gaussian accounting for one replaced row at delta = 1e-6. The rivals
draw their noise from numpy; `bench/learn_methods.py` says how their settings were chosen. hush has its default options.
Errors are misclassified fractions, or the residual divided by the total sum of squares.

- row-clipped GD: full gradients, each row clipped in l2 (Abadi et al. 2016; for least squares Brown et al. 2024).
- whitened GD: one noisy X'X, then gradients clipped in its geometry.
- AdaSSP: noisy X'X and X'y with a ridge that depends on the noise (Wang 2018).
- boosted AdaSSP: one noisy X'X, then noisy X'r of clipped residuals (Tang et al. 2023).
- objective perturbation: a random linear term and a ridge (Kifer et al. 2012; Redberg, Koskela and Wang 2023).
- diffprivlib and OpenDP, if `bench/environment.py` has installed them: pure epsilon, which is a stronger guarantee.
  OpenDP has one column only: `--part one` compares it with hush at delta = 0 on three single columns.

The constants of hush and of the rivals were chosen on these ten sets, on other splits. `--part unseen` has eleven tasks
that had no part in it (`bench/learn_unseen.py`).

    python bench/learn_rivals.py --data FOLDER --out FILE.jsonl [--seeds 20] [--part sets|unseen|one|dense]
    python bench/learn_rivals.py --data FOLDER --out FILE.jsonl --ours [--part unseen] [--sets heart adult]
    python bench/learn_rivals.py --read FILE.jsonl

A run replaces the file. The second form measures hush again, on the splits of the file, and keeps what the file has of
the rivals. The third form writes the tables of docs/learn_results.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet
from learn_libraries import Library, diffprivlib, opendp
from learn_methods import DELTA, EPSILONS, LONG, Array, Scaled, rivals, row_clipped
from learn_sets import NAMES, rival_set
from learn_tables import summary
from learn_unseen import NAMES as UNSEEN
from learn_unseen import unseen_set

import hush.learn

#: a set and one of its columns: median income, thickness of the layer, body mass index
ONE_COLUMN = (("california", 7), ("airfoil", 4), ("diabetes", 2))
SMALL = 2_000  # rows; the errors of smaller sets differ more between splits, and more with the noise
FITS = 5  # of hush on each split of a small set; the error of the split is their mean
DENSE = ((20_000, 100), (50_000, 200))
#: Test rows of the dense tables. The excess over the model without noise is about 0.003: with 5,000 test rows a split
#: would not measure it.
DENSE_TEST = 100_000


def _ours(data: LearningSet, X: Array, y: Array, epsilon: float, delta: float = DELTA) -> Any:
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": data.bounds}
    if data.logistic:
        return hush.learn.LogisticRegression(**common).fit(X, y.astype(int)).decision_function
    return hush.learn.Ridge(target_bounds=data.target_bounds, **common).fit(X, y).predict


def error(data: LearningSet, predicted: Array, truth: Array) -> float:
    if data.logistic:
        return float(np.mean((predicted > 0.0) != (truth > 0.5)))
    return float(np.sum((predicted - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))


def _predictions(
    data: LearningSet, X: Array, y: Array, test: Array, epsilon: float, seed: int, library: Library | None, part: str
) -> Iterator[tuple[str, Array | None]]:
    level = (1.0 if y.mean() > 0.5 else -1.0) if data.logistic else float(y.mean())
    yield "no features", np.full(len(test), level)
    methods = {} if part == "one" else rivals(logistic=data.logistic, epsilon=epsilon)
    if part == "dense":
        yield "not private", _ours(data, X, y, math.inf)(test)
        methods["row-clipped GD, 10 steps"] = row_clipped(10, 0.5, LONG)
    for place, (name, fit) in enumerate(methods.items()):
        made = Scaled(data, X, y, epsilon, np.random.default_rng([seed, 1, place]))
        yield name, made.predict(test, fit(made))
    if library is not None:
        yield library.name, library.predictions(data, X, y, test, epsilon)


def dense(rows: int, columns: int, logistic: bool) -> LearningSet:
    """Independent normal columns, all of which matter, and the rows of the test."""
    random = np.random.default_rng(1)
    X = random.normal(size=(rows + DENSE_TEST, columns))
    score = X @ random.normal(size=columns) / math.sqrt(columns)
    y = (2.0 * score + random.logistic(size=len(X)) > 0.0) if logistic else score + random.normal(size=len(X))
    name, bounds = f"{rows} x {columns}{' classes' if logistic else ''}", ((-5.0, 5.0),) * columns
    return LearningSet(name, X, y.astype(float), logistic, bounds, None if logistic else (-10.0, 10.0), ("l2", 0.0))


def measured(
    data: LearningSet, epsilon: float, seeds: int, test: int, library: Library | None = None, part: str = "sets"
) -> dict[str, list[float]]:
    """The errors of every method on the same splits; a library that failed has none."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(data.y))
        held, kept = order[:test], order[test:]
        found.setdefault("hush", []).append(_error_of_ours(data, kept, held, epsilon, part))
        made = _predictions(data, data.X[kept], data.y[kept], data.X[held], epsilon, seed, library, part)
        for name, predicted in made:
            if predicted is not None:
                found.setdefault(name, []).append(round(error(data, predicted, data.y[held]), 6))
    return found


def ours_again(file: Path, folder: Path, names: list[str], part: str) -> None:
    """Measure hush again for some sets of a file, on the same splits."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for data in _chosen(part, folder, names):
        for line in (each for each in lines if each["set"] == data.name):
            found = []
            for seed in range(len(line["errors"]["hush"])):
                held, kept = np.split(np.random.default_rng(seed).permutation(len(data.y)), [_test_rows(data, part)])
                found.append(_error_of_ours(data, kept, held, line["epsilon"], part))
            before, line["errors"]["hush"] = np.mean(line["errors"]["hush"]), found
            print(data.name, line["epsilon"], f"{before:.4f} -> {np.mean(found):.4f}", flush=True)
            file.write_text("".join(json.dumps(each) + "\n" for each in lines))


def _error_of_ours(data: LearningSet, kept: Array, held: Array, epsilon: float, part: str) -> float:
    """The error of hush on one split, as the mean of several fits if the set is small."""
    fits, delta = FITS if len(data.y) < SMALL else 1, 0.0 if part == "one" else DELTA
    models = (_ours(data, data.X[kept], data.y[kept], epsilon, delta) for _ in range(fits))
    return round(float(np.mean([error(data, model(data.X[held]), data.y[held]) for model in models])), 6)


def _test_rows(data: LearningSet, part: str) -> int:
    return DENSE_TEST if part == "dense" else round(0.2 * len(data.y))


def _chosen(part: str, folder: Path, names: list[str]) -> Iterator[LearningSet]:
    if part == "dense":
        yield from (dense(*shape, kind) for shape in DENSE for kind in (False, True))
    elif part == "one":
        for name, place in ONE_COLUMN:
            data = rival_set(name, folder)
            title = f"{data.name}, column {place + 1}"
            yield replace(data, name=title, X=data.X[:, [place]], bounds=(data.bounds[place],))
    else:
        yield from (unseen_set(name, folder) if name in UNSEEN else rival_set(name, folder) for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HUSH_DATA"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ours", action="store_true", help="measure hush again in the file --out")
    parser.add_argument("--read", type=Path, help="write the tables of a file and stop")
    parser.add_argument("--seeds", type=int, default=20, help="splits of a set; five times as many below 2,000 rows")
    parser.add_argument("--sets", nargs="*", choices=(*NAMES, *UNSEEN), help="default: all of the part")
    parser.add_argument("--epsilons", nargs="*", type=float)
    parser.add_argument("--part", choices=("sets", "unseen", "one", "dense"), default="sets")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    part = options.part
    names = options.sets or list(UNSEEN if part == "unseen" else NAMES)
    if options.read:
        print(summary([json.loads(line) for line in options.read.read_text().splitlines()]))
        return 0
    if options.ours:
        ours_again(options.out, Path(options.data), names, part)
        return 0
    usual = (1.0,) if part == "dense" else (0.1, 1.0, 10.0) if part == "one" else EPSILONS
    with opendp() if part == "one" else diffprivlib() as library, options.out.open("w") as file:
        if library is None:
            print("OpenDP" if part == "one" else "diffprivlib", "is not installed: left out", flush=True)
        for data in _chosen(part, Path(options.data), names):
            for epsilon in options.epsilons or usual:
                test = _test_rows(data, part)
                seeds = options.seeds * (5 if len(data.y) < SMALL else 1)
                found = measured(data, epsilon, seeds, test, None if part == "dense" else library, part)
                line = {"set": data.name, "logistic": data.logistic, "epsilon": epsilon, "errors": found}
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(data.name, epsilon, {k: round(float(np.mean(v)), 4) for k, v in found.items()}, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
