"""Wide problems and wide bounds: R^2 with screened columns, and test errors with bounds that are too wide.

    python bench/learn_wide.py [--data FOLDER] [--trials 5] [--epsilons 1,3] [--part columns|bounds|lasso]

`columns`: rows of independent normal columns, bounds (-5, 5), of which five matter. The noise of the target is such
that the best R^2 is 0.907. The table has the median R^2 on 2,000 new rows, and how many of the five columns were kept.
A rival has the same rows: ten columns by the exponential mechanism, then least squares from noisy products. It has two
advantages: it knows the true spreads of all columns, and a choice costs it no more than Gaussian noise with the same
Renyi divergences would. *five columns* is least squares on the five columns, without noise.

`bounds`: the data sets of bench/learn_sets.py with declared ranges, with ranges that are 10 and 100 times as wide and
refine_bounds=True, and with bounds="private". The table has the mean test error (the misclassified part, or the
residual over the total sum of squares), and the ratio to the error with the declared ranges with its standard error.

`lasso`: the regressions of bench/learn_sets.py, with default options. The table has the mean test error of `Lasso`, and
in brackets the mean number of coefficients that are not 0, beside the same model without noise.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from learn_sets import rival_set

import hush
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


def screened_then_products(X: np.ndarray, y: np.ndarray, epsilon: float, numbers: np.random.Generator) -> np.ndarray:
    """The weights of the rival; half of mu^2 is for the choice of ten columns and half for their products."""
    kept, limit, half = 10, 3.0, 0.5 / float(hush.gaussian.sigma(epsilon, 1e-6)) ** 2
    spread = float(y.std())
    clipped, target = np.clip(X, -limit, limit), np.clip(y / spread, -limit, limit)
    # one choice with losses in a range of length r costs r^2/4 of mu^2, and one replaced row moves a score by 2 limit^2
    scale = 4.0 * limit**2 / (2.0 * math.sqrt(half / kept))
    scores = np.abs(clipped.T @ target) + numbers.gumbel(scale=scale, size=X.shape[1])
    best = np.argsort(-scores)[:kept]
    rows = np.column_stack([clipped[:, best], target])
    radius = 1.2 * math.sqrt(kept + 1.0)
    rows *= np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]
    noise = numbers.normal(scale=math.sqrt(2.0 / half) * radius**2, size=(kept + 1, kept + 1))
    upper = np.triu(rows.T @ rows + noise)
    products = upper + np.triu(upper, 1).T
    values, vectors = np.linalg.eigh(products[:-1, :-1])
    floor = 2.0 * math.sqrt(kept) * math.sqrt(2.0 / half) * radius**2
    found = vectors @ ((vectors.T @ products[:-1, -1]) / np.maximum(values, floor))
    weights = np.zeros(X.shape[1])
    weights[best] = spread * found
    return weights


def _r_squared(weights: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    return 1.0 - float(np.sum((y - X @ weights) ** 2) / np.sum((y - y.mean()) ** 2))


def _model(name: str, X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """The coefficients of one model of the table of columns."""
    public = {"epsilon": epsilon, "delta": 1e-6, "bounds": (-5, 5), "target_bounds": (-10, 10)}
    if name == "Lasso":
        return Lasso(alpha=0.01, **public).fit(X, y).coef_
    if name == "Ridge, ten columns":
        return Ridge(n_features_to_keep=10, **public).fit(X, y).coef_
    if name == "exponential mechanism, then products":
        return screened_then_products(X, y, epsilon, np.random.default_rng([seed, 7]))
    return np.append(np.linalg.lstsq(X[:, :5], y, rcond=None)[0], np.zeros(X.shape[1] - 5))


def columns(epsilons: list[float], trials: int) -> None:
    """Print the table of screened columns."""
    print("| rows | columns | epsilon | model | R^2 | of five columns |\n|---|---|---|---|---|---|")
    names = ("Lasso", "Ridge, ten columns", "exponential mechanism, then products", "five columns")
    for (rows, width), epsilon in ((shape, epsilon) for shape in SHAPES for epsilon in epsilons):
        for name in names:
            found, kept = [], []
            for seed in range(trials):
                X, y = _sparse(rows, width, seed)
                weights = _model(name, X[:rows], y[:rows], epsilon, seed)
                found.append(_r_squared(weights, X[rows:], y[rows:]))
                kept.append(np.count_nonzero(weights[:5]))
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


def _with_ratio(errors: np.ndarray, first: np.ndarray) -> str:
    """The mean of errors, and its ratio to the mean of the first errors, which are of the same splits."""
    ratio = errors.mean() / first.mean()
    deviation = np.std(errors - ratio * first) / first.mean() / math.sqrt(len(errors))
    return f"{errors.mean():.4g} ({ratio:.2f} ± {deviation:.2f})"


def bounds(folder: Path, epsilons: list[float], trials: int, sets: list[str]) -> None:
    """Print the table of bounds."""
    print(f"| set | epsilon | {' | '.join(name for name, _, _ in BOUNDS)} |\n|{'---|' * (len(BOUNDS) + 2)}")
    for name, epsilon in ((name, epsilon) for name in sets for epsilon in epsilons):
        data = rival_set(name, folder)
        orders = [np.random.default_rng(seed).permutation(len(data.y)) for seed in range(trials)]
        errors = [
            np.array([_error(data, order, epsilon, factor, more) for order in orders]) for _, factor, more in BOUNDS
        ]
        shown = " | ".join(_with_ratio(error, errors[0]) for error in errors)
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
    warnings.filterwarnings("ignore", category=UserWarning)  # the bounds are too wide on purpose
    if given.part in ("columns", "all"):
        columns(epsilons, given.trials)
    if given.part in ("bounds", "all"):
        bounds(given.data, epsilons, given.trials, given.sets.split(","))
    if given.part in ("lasso", "all"):
        lasso(given.data, given.trials)


if __name__ == "__main__":
    main()
