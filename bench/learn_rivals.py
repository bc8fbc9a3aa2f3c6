"""Test errors of hush.learn beside published methods, on ten data sets and five epsilons, at equal guarantee.

All methods get the same rows, public ranges, splits and penalty (scikit-learn's defaults, on scaled columns), the same
private scaling with 25 % of the budget, and exact Gaussian accounting for one replaced row at delta = 1e-6. The
rivals draw their noise from numpy and use one setting for all data sets. Errors are misclassified fractions, or the
residual divided by the total sum of squares.

- row-clipped GD: full gradients, each row clipped in l2 (Abadi et al. 2016; for least squares Brown et al. 2024).
- whitened GD: one noisy X'X, then gradients clipped in its geometry.
- AdaSSP: noisy X'X and X'y with a ridge that depends on the noise (Wang 2018).
- boosted AdaSSP: one noisy X'X, then noisy X'r of clipped residuals (Tang et al. 2023).
- objective perturbation: a random linear term and a ridge (Redberg, Koskela and Wang 2023, Theorem 3.1, in our reading
  for a replaced row: twice the gradient, and the curvature of two rows).
- diffprivlib, if it is installed: pure epsilon, which is a stronger guarantee.

    python bench/learn_rivals.py --data FOLDER --out FILE.jsonl [--seeds 20] [--sets heart boston] [--dense]
    python bench/learn_rivals.py --read FILE.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet
from learn_methods import DELTA, RIVALS, Array, Random, Scaled
from learn_sets import NAMES, rival_set

import hush.learn

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


def _ours(data: LearningSet, X: Array, y: Array, epsilon: float) -> Any:
    common: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "bounds": data.bounds}
    if data.logistic:
        return hush.learn.LogisticRegression(**common).fit(X, y.astype(int)).decision_function
    return hush.learn.Ridge(target_bounds=data.target_bounds, **common).fit(X, y).predict


def _diffprivlib(data: LearningSet, X: Array, y: Array, epsilon: float) -> Any:
    from diffprivlib import models

    low, high = np.array(data.bounds).T
    unit = lambda rows: np.clip((2.0 * rows - low - high) / (high - low), -1.0, 1.0)  # noqa: E731
    if data.logistic:
        made = models.LogisticRegression(epsilon=epsilon, data_norm=math.sqrt(X.shape[1])).fit(unit(X), y)
        return lambda rows: made.decision_function(unit(rows))
    made = models.LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=data.target_bounds).fit(unit(X), y)
    return lambda rows: made.predict(unit(rows))


def error(data: LearningSet, predicted: Array, truth: Array) -> float:
    if data.logistic:
        return float(np.mean((predicted > 0.0) != (truth > 0.5)))
    return float(np.sum((predicted - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))


def _fits(data: LearningSet, X: Array, y: Array, epsilon: float, random: Random) -> Iterator[tuple[str, Any]]:
    level = (1.0 if y.mean() > 0.5 else -1.0) if data.logistic else float(y.mean())
    yield "no features", lambda rows: np.full(len(rows), level)
    yield "hush", _ours(data, X, y, epsilon)
    for name, (fit, kind) in RIVALS.items():
        if kind in ("both", "classes" if data.logistic else "numbers"):
            made = Scaled(data, X, y, epsilon, random)
            weights = fit(made)
            yield name, lambda rows, made=made, weights=weights: made.predict(rows, weights)
    if "diffprivlib" in sys.modules:
        yield "diffprivlib", _diffprivlib(data, X, y, epsilon)


def dense(rows: int, columns: int, logistic: bool) -> LearningSet:
    """Independent normal columns, all of which matter, and 5,000 rows more for the test."""
    random = np.random.default_rng(1)
    X = random.normal(size=(rows + 5000, columns))
    score = X @ random.normal(size=columns) / math.sqrt(columns)
    y = (2.0 * score + random.logistic(size=len(X)) > 0.0) if logistic else score + random.normal(size=len(X))
    name, bounds = f"{rows} x {columns}{' classes' if logistic else ''}", ((-5.0, 5.0),) * columns
    return LearningSet(name, X, y.astype(float), logistic, bounds, None if logistic else (-10.0, 10.0), ("l2", 0.0))


def measured(data: LearningSet, epsilon: float, seeds: int, test: int) -> dict[str, list[float]]:
    """The errors of every method on the same splits."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(data.y))
        held, kept = order[:test], order[test:]
        for name, predict in _fits(data, data.X[kept], data.y[kept], epsilon, np.random.default_rng([seed, 1])):
            found.setdefault(name, []).append(error(data, predict(data.X[held]), data.y[held]))
    return found


def summary(lines: list[dict[str, Any]]) -> str:
    """hush over the best rival: geometric means at every epsilon, and the cells above 1.10 beyond two errors."""
    shown, cells = ["| epsilon | rival | hush / rival, geometric mean |", "|---|---|---|"], []
    for epsilon in sorted({line["epsilon"] for line in lines}):
        ratios: dict[str, list[float]] = {}
        for line in (line for line in lines if line["epsilon"] == epsilon):
            means = {name: float(np.mean(each)) for name, each in line["errors"].items()}
            for name in means:
                if name != "hush":
                    ratios.setdefault(name, []).append(math.log(means["hush"] / means[name]))
            rivals = {name: value for name, value in means.items() if name not in ("hush", "no features")}
            best = min(rivals, key=rivals.__getitem__)
            off = np.array(line["errors"]["hush"]) - np.array(line["errors"][best])
            spread = float(np.std(off) / math.sqrt(max(len(off) - 1, 1)))
            if means["hush"] - 2.0 * spread > 1.1 * means[best] or means["hush"] > 1.02 * means["no features"]:
                cells.append(
                    f"{line['set']} {epsilon:g}: hush {means['hush']:.4g}, {best} {means[best]:.4g}, "
                    f"no features {means['no features']:.4g}, error of the difference {spread:.2g}"
                )
        shown += [f"| {epsilon:g} | {name} | {math.exp(np.mean(each)):.3f} |" for name, each in ratios.items()]
    return "\n".join([*shown, "", "Cells that miss a bar:", *(cells or ["none"])])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HUSH_DATA"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path, help="write the summary of a file and stop")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--dense", action="store_true", help="the dense tables with 100 and 200 columns at epsilon 1")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.read:
        print(summary([json.loads(line) for line in options.read.read_text().splitlines()]))
        return 0
    try:
        import diffprivlib  # noqa: F401
    except ImportError:
        print("diffprivlib is not installed: left out", file=sys.stderr)
    sizes = [(rows, columns, kind) for rows, columns in ((20_000, 100), (50_000, 200)) for kind in (False, True)]
    chosen = [dense(*size) for size in sizes] if options.dense else None
    with options.out.open("a") as file:
        for data in chosen or (rival_set(name, Path(options.data)) for name in options.sets):
            for epsilon in [1.0] if options.dense else options.epsilons:
                test = 5000 if options.dense else round(0.2 * len(data.y))
                found = measured(data, epsilon, options.seeds, test)
                file.write(json.dumps({"set": data.name, "epsilon": epsilon, "errors": found}) + "\n")
                file.flush()
                print(data.name, epsilon, {k: round(float(np.mean(v)), 4) for k, v in found.items()}, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
