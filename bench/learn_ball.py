"""Test errors of solver="statistics" with the noise that family=None chooses, beside Gaussian (or Laplace) noise.

Every trial has a new split (80 % of the rows for training) and new noise; both noises get the same splits. An error is
the misclassified fraction, or the residual divided by the total sum of squares around the mean. Public ranges and
penalties are those of bench/learn_peers.py; delta = 1/N^2 for N training rows, or 0.

    python bench/learn_ball.py --data FOLDER [--trials 60] [--sets airfoil,california]

It prints a table: the variance of the noise of the sums of products relative to the plain noise, the median errors,
and the fraction of all pairs of trials in which the chosen noise has the larger error. That fraction is 1/2 if both
noises are equally good, with a standard deviation of about 0.41/sqrt(trials).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet, learning_set

from hush.learn import Lasso, LogisticRegression

SETS = "airfoil,houses,california,diabetes"
EPSILONS = (0.5, 1.0, 2.0)


def _trial(
    data: LearningSet, order: np.ndarray, epsilon: float, delta: float, family: str | None
) -> tuple[float, float]:
    """The test error, and the variance of the noise."""
    cut = round(0.8 * len(order))
    train, test = order[:cut], order[cut:]
    X, y, weight = data.X[train], data.y[train], data.penalty[1]
    common = {"epsilon": epsilon, "delta": delta, "bounds": data.bounds, "penalise": "scaled", "solver": "statistics"}
    model = (
        LogisticRegression(C=1.0 / (weight * cut), family=family, **common)
        if data.logistic
        else Lasso(alpha=weight, target_bounds=data.target_bounds, family=family, **common)
    ).fit(X, y)
    found, truth = model.predict(data.X[test]), data.y[test]
    if data.logistic:
        return float(np.mean((found > 0.5) != (truth > 0.5))), model.noise_.variance
    return float(np.sum((found - truth) ** 2) / np.sum((truth - truth.mean()) ** 2)), model.noise_.variance


def _row(data: LearningSet, epsilon: float, delta: float, trials: int) -> str:
    plain = "gaussian" if delta else "laplace"
    orders = [np.random.default_rng(seed).permutation(len(data.y)) for seed in range(trials)]
    before, after = (
        np.array([_trial(data, order, epsilon, delta, family) for order in orders]) for family in (plain, None)
    )
    larger = np.mean(after[:, None, 0] > before[None, :, 0]) + 0.5 * np.mean(after[:, None, 0] == before[None, :, 0])
    size = f"{after[0, 1] / before[0, 1]:.3f} | {np.median(before[:, 0]):.4g} | {np.median(after[:, 0]):.4g}"
    return f"| {data.name} | {data.X.shape[1]} | {epsilon:g} | {'1/N^2' if delta else '0'} | {size} | {larger:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--sets", default=SETS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | features | epsilon | delta | variance, ratio | error, plain noise | error, family=None | larger |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in given.sets.split(","):
        data = learning_set(name, given.data)
        for delta in ((0.8 * len(data.y)) ** -2.0, 0.0):
            for epsilon in EPSILONS:
                print(_row(data, epsilon, delta, given.trials), flush=True)


if __name__ == "__main__":
    main()
