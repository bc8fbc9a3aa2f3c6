"""Principal components: the part of the variance that five private components hold, beside scikit-learn's.

    python bench/learn_components.py [--data FOLDER] [--trials 9] [--epsilons 0.1,1,10] [--clips 1,0.5]

Columns with different units are divided by their public ranges. The table has the median over the trials at delta 1e-6.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import sklearn.decomposition as plain
from learn_classes import DELTA, SETS

from hush.learn import PCA

COMPONENTS = 5


def held(X: np.ndarray, epsilon: float, clip: float, trials: int) -> float:
    """The median part of the variance within the space of the private components."""
    covariance, found = np.cov(X.T), []
    for _ in range(trials):
        model = PCA(epsilon=epsilon, delta=DELTA, bounds=(0, 1), n_components=COMPONENTS, clip=clip).fit(X)
        found.append(np.trace(model.components_ @ covariance @ model.components_.T) / np.trace(covariance))
    return float(np.median(found))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("HUSH_DATA", ".")))
    options.add_argument("--trials", type=int, default=9)
    options.add_argument("--epsilons", default="0.1,1,10")
    options.add_argument("--clips", default="1,0.5")
    given = options.parse_args()
    clips = [float(word) for word in given.clips.split(",")]
    heads = [f"clip={clip:g}" for clip in clips]
    print(f"| set | epsilon | {' | '.join(heads)} | not private |\n|{'---|' * (3 + len(clips))}")
    for name in ("digits", "wine", "relationship"):
        data = SETS[name](given.data)
        ends = np.broadcast_to(np.array(data.bounds, dtype=float), (data.X.shape[1], 2))
        X = (data.X - ends[:, 0]) / (ends[:, 1] - ends[:, 0])
        exact = plain.PCA(COMPONENTS).fit(X).explained_variance_ratio_.sum()
        for epsilon in map(float, given.epsilons.split(",")):
            cells = [f"{held(X, epsilon, clip, given.trials):.3f}" for clip in clips]
            shape = f"{data.X.shape[0]:,} x {data.X.shape[1]}"
            print(f"| {data.name} ({shape}) | {epsilon:g} | {' | '.join(cells)} | {exact:.3f} |", flush=True)


if __name__ == "__main__":
    main()
