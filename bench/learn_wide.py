"""Wide problems and wide bounds: R^2 with screened columns, and test errors with bounds that are too wide.

    python bench/learn_wide.py [--data FOLDER] [--trials 5] [--epsilons 1,3] [--part columns|bounds|lasso]

`columns`: rows of independent normal columns, bounds (-5, 5), of which five matter. The noise of the target is such
that the best R^2 is 0.907. The table has the median R^2 on 2,000 new rows, and how many of the five columns were kept.

`bounds`: the data sets of bench/learn_sets.py with declared ranges, with ranges that are 10 and 100 times as wide and
refine_bounds=True, and with bounds="private". The table has the median test error (the misclassified part, or the
residual over the total sum of squares), and below it the ratio to the error with the declared ranges.

`lasso`: the regressions of bench/learn_sets.py, with default options. The table has the mean test error of `Lasso`, and
in brackets the mean number of coefficients that are not 0, beside the same model without noise.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from learn_sets import rival_set

from hush.learn import Lasso, LogisticRegression, Ridge

SETS = "wine,wine_quality,california,houses"
LASSO = (("diabetes", 0.1), ("boston", 0.01), ("airfoil", 0.01), ("wine_quality", 0.01), ("california", 0.01))
SHAPES = ((2_000, 1_000), (20_000, 1_000), (2_000, 100))
BOUNDS: tuple[tuple[str, float, dict[str, Any]], ...] = (
    ("declared", 1.0, {}),
    ("10 times", 10.0, {}),
    ("declared, refined", 1.0, {"refine_bounds": True}),
    ("10 times, refined", 10.0, {"refine_bounds": True}),
    ("100 times, refined", 100.0, {"refine_bounds": True}),
    ('"private"', 0.0, {}),
)


def _sparse(rows: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(seed)
    X = numbers.normal(size=(rows + 2_000, columns))
    weights = numbers.choice([-1.0, 1.0], 5) * numbers.uniform(0.5, 1.5, 5)
    noise = np.sqrt(float(weights @ weights) * 0.093 / 0.907)
    return X, X[:, :5] @ weights + noise * numbers.normal(size=len(X))


def columns(epsilons: list[float], trials: int) -> None:
    """Print the table of screened columns."""
    print("| rows | columns | epsilon | model | R^2 | of five columns |\n|---|---|---|---|---|---|")
    for (rows, width), epsilon in ((shape, epsilon) for shape in SHAPES for epsilon in epsilons):
        public = {"epsilon": epsilon, "delta": 1e-6, "bounds": (-5, 5), "target_bounds": (-10, 10)}
        for name in ("Lasso", "Ridge"):
            found, kept = [], []
            for seed in range(trials):
                X, y = _sparse(rows, width, seed)
                model = Lasso(alpha=0.01, **public) if name == "Lasso" else Ridge(n_features_to_keep=10, **public)
                model.fit(X[:rows], y[:rows])
                found.append(model.score(X[rows:], y[rows:]))
                kept.append(np.count_nonzero(model.kept_features_ < 5))
            print(
                f"| {rows} | {width} | {epsilon:g} | {name} | {np.median(found):.3f} | {np.mean(kept):.1f} |",
                flush=True,
            )


def _widened(bounds: Any, factor: float) -> Any:
    if factor == 0.0:
        return "private"
    pairs = np.array(bounds, dtype=float).reshape(-1, 2)
    middle, half = pairs.mean(axis=1), 0.5 * factor * (pairs[:, 1] - pairs[:, 0])
    return np.stack([middle - half, middle + half], axis=1)


def _error(data: Any, order: np.ndarray, epsilon: float, factor: float, more: dict[str, Any]) -> float:
    cut = round(0.8 * len(order))
    train, test = order[:cut], order[cut:]
    public = {"epsilon": epsilon, "delta": 1e-6, "bounds": _widened(data.bounds, factor)} | more
    if data.logistic:
        model, y = LogisticRegression(**public), data.y.astype(int)
    else:
        model, y = Ridge(target_bounds=_widened(data.target_bounds, factor), **public), data.y
    return 1.0 - float(model.fit(data.X[train], y[train]).score(data.X[test], y[test]))


def bounds(folder: Path, epsilons: list[float], trials: int, sets: list[str]) -> None:
    """Print the table of bounds."""
    print(f"| set | epsilon | {' | '.join(name for name, _, _ in BOUNDS)} |\n|{'---|' * (len(BOUNDS) + 2)}")
    for name, epsilon in ((name, epsilon) for name in sets for epsilon in epsilons):
        data = rival_set(name, folder)
        orders = [np.random.default_rng(seed).permutation(len(data.y)) for seed in range(trials)]
        errors = [
            float(np.median([_error(data, order, epsilon, factor, more) for order in orders]))
            for _, factor, more in BOUNDS
        ]
        shown = " | ".join(f"{error:.4g} ({error / errors[0]:.2f})" for error in errors)
        print(f"| {data.name} ({len(data.y)} x {data.X.shape[1]}) | {epsilon:g} | {shown} |", flush=True)


def lasso(folder: Path, trials: int) -> None:
    """Print the table of `Lasso` on real sets."""
    epsilons = (float("inf"), 0.1, 0.3, 1.0, 3.0, 10.0)
    print(f"| set | alpha | not private | {' | '.join(f'{e:g}' for e in epsilons[1:])} |\n|{'---|' * 8}")
    for name, alpha in LASSO:
        data, shown = rival_set(name, folder), []
        for epsilon in epsilons:
            found = []
            for seed in range(trials):
                order = np.random.default_rng(seed).permutation(len(data.y))
                test, train = np.split(order, [round(0.2 * len(order))])
                public = {"delta": 1e-6, "bounds": data.bounds, "target_bounds": data.target_bounds}
                model = Lasso(epsilon=epsilon, alpha=alpha, **public).fit(data.X[train], data.y[train])
                found.append((1.0 - model.score(data.X[test], data.y[test]), np.count_nonzero(model.coef_)))
            error, kept = np.mean(found, axis=0)
            shown.append(f"{error:.3f} ({kept:.1f})")
        print(f"| {data.name} ({len(data.y)} x {data.X.shape[1]}) | {alpha:g} | {' | '.join(shown)} |", flush=True)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("HUSH_DATA", ".")))
    options.add_argument("--trials", type=int, default=5)
    options.add_argument("--epsilons", default="1,3")
    options.add_argument("--sets", default=SETS)
    options.add_argument("--part", choices=("columns", "bounds", "lasso", "all"), default="all")
    given = options.parse_args()
    epsilons = [float(word) for word in given.epsilons.split(",")]
    warnings.filterwarnings("ignore", message=".*spreads wide")
    if given.part in ("columns", "all"):
        columns(epsilons, given.trials)
    if given.part in ("bounds", "all"):
        bounds(given.data, epsilons, given.trials, given.sets.split(","))
    if given.part in ("lasso", "all"):
        lasso(given.data, given.trials)


if __name__ == "__main__":
    main()
