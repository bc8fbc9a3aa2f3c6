"""Test errors for both relations of neighbours: one replaced row, and one row more or less.

    python bench/learn_neighbours.py [--data FOLDER] [--trials 9] [--epsilons 0.1,0.3,1]

The data sets of bench/learn_sets.py with their declared ranges, delta = 1e-6 and default options. The table has the
median over splits of the test error (the misclassified part, or the residual over the total sum of squares): for a
replaced row, for a row more or less (the number of rows is released with 3 % of epsilon), and for the latter with a
declared number of rows.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from learn_sets import rival_set

from hush.learn import LogisticRegression, Ridge

SETS = "wine,houses,heart,wine_quality,california,airfoil"
WAYS = (("replace", False), ("add-remove", False), ("add-remove", True))


def _error(data: Any, order: np.ndarray, epsilon: float, neighbours: str, *, declared: bool) -> float:
    cut = round(0.8 * len(order))
    train, test = order[:cut], order[cut:]
    public = {"epsilon": epsilon, "delta": 1e-6, "bounds": data.bounds, "neighbours": neighbours}
    if data.logistic:
        model, y = LogisticRegression(**public), data.y.astype(int)
    else:
        model, y = Ridge(target_bounds=data.target_bounds, **public), data.y
    model.fit(data.X[train], y[train], n_rows=cut if declared else None)
    return 1.0 - float(model.score(data.X[test], y[test]))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("HUSH_DATA", ".")))
    options.add_argument("--trials", type=int, default=9)
    options.add_argument("--epsilons", default="0.1,0.3,1")
    options.add_argument("--sets", default=SETS)
    given = options.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    print("| set | epsilon | replaced row | row more or less | number of rows declared |\n|---|---|---|---|---|")
    for name in given.sets.split(","):
        data = rival_set(name, given.data)
        orders = [np.random.default_rng(seed).permutation(len(data.y)) for seed in range(given.trials)]
        for epsilon in map(float, given.epsilons.split(",")):
            errors = [
                float(np.median([_error(data, order, epsilon, neighbours, declared=declared) for order in orders]))
                for neighbours, declared in WAYS
            ]
            shown = " | ".join(f"{error:.3g}" for error in errors)
            print(f"| {data.name} ({len(data.y)} x {data.X.shape[1]}) | {epsilon:g} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
