"""Principal components and clusters: the part of the variance that five private components hold, and the squared
distances to five private centres, beside scikit-learn's.

    python bench/learn_components.py [--data FOLDER] [--trials 9] [--epsilons 0.1,1,10] [--clips 1,0.5]

Columns with different units are divided by their public ranges. The tables have medians over the trials at delta 1e-6.
Distances are divided by those of scikit-learn's best of ten runs, and `one centre` is the mean of all rows.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import sklearn.cluster
import sklearn.decomposition as plain
from learn_classes import DELTA, SETS, ClassSet

from hush.learn import PCA, KMeans

COMPONENTS = 5


def held(X: np.ndarray, epsilon: float, clip: float, trials: int) -> float:
    """The median part of the variance within the space of the private components."""
    covariance, found = np.cov(X.T), []
    for _ in range(trials):
        model = PCA(epsilon=epsilon, delta=DELTA, bounds=(0, 1), n_components=COMPONENTS, clip=clip).fit(X)
        found.append(np.trace(model.components_ @ covariance @ model.components_.T) / np.trace(covariance))
    return float(np.median(found))


def scaled(name: str, folder: Path) -> tuple[ClassSet, np.ndarray]:
    """A set, and its columns divided by their ranges."""
    data = SETS[name](folder)
    ends = np.broadcast_to(np.array(data.bounds, dtype=float), (data.X.shape[1], 2))
    return data, np.clip((data.X - ends[:, 0]) / (ends[:, 1] - ends[:, 0]), 0.0, 1.0)


def clusters(folder: Path, epsilons: list[float], trials: int) -> None:
    """Print the table of clusters."""
    heads = [f"epsilon {epsilon:g}" for epsilon in epsilons]
    print(f"\n| set | {' | '.join(heads)} | one centre |\n|{'---|' * (2 + len(heads))}")
    for name in ("airport", "wine", "relationship"):
        data, X = scaled(name, folder)
        best = sklearn.cluster.KMeans(COMPONENTS, n_init=10).fit(X).inertia_
        cells = []
        for epsilon in epsilons:
            model = KMeans(epsilon=epsilon, delta=DELTA, bounds=(0, 1), n_clusters=COMPONENTS)
            cells.append(f"{np.median([-model.fit(X).score(X) for _ in range(trials)]) / best:.3f}")
        one = X.var(axis=0).sum() * len(X) / best
        print(f"| {data.name} ({len(X):,} x {X.shape[1]}) | {' | '.join(cells)} | {one:.3f} |", flush=True)


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("HUSH_DATA", ".")))
    options.add_argument("--trials", type=int, default=9)
    options.add_argument("--epsilons", default="0.1,1,10")
    options.add_argument("--clips", default="1,0.5")
    given = options.parse_args()
    clips = [float(word) for word in given.clips.split(",")]
    heads = [f"clip={clip:g}" for clip in clips]
    epsilons = list(map(float, given.epsilons.split(",")))
    print(f"| set | epsilon | {' | '.join(heads)} | not private |\n|{'---|' * (3 + len(clips))}")
    for name in ("digits", "wine", "relationship"):
        data, X = scaled(name, given.data)
        exact = plain.PCA(COMPONENTS).fit(X).explained_variance_ratio_.sum()
        for epsilon in epsilons:
            cells = [f"{held(X, epsilon, clip, given.trials):.3f}" for clip in clips]
            shape = f"{data.X.shape[0]:,} x {data.X.shape[1]}"
            print(f"| {data.name} ({shape}) | {epsilon:g} | {' | '.join(cells)} | {exact:.3f} |", flush=True)
    clusters(given.data, epsilons, given.trials)


if __name__ == "__main__":
    main()
