"""Test errors of private models at equal (epsilon, delta) on the eight data sets of the flipped Huber paper.

All methods get the same rows, public ranges, penalty and splits; delta = 1/N^2 for N training rows. None is tuned on
the data. hush uses its closed-form settings. diffprivlib uses its defaults on columns that are scaled to [-1, 1] by
the public ranges; it has the stronger guarantee delta = 0, because it has no other mechanism. Noisy SGD and noisy
gradient descent use hush's private scaling (25 % of the budget), exact accounting, per-example clipping at 1 and one
step length for all data sets, the best of three in hindsight.
Neighbours are data sets with one replaced row. The accounting of noisy SGD by sampling is for one row added or
removed: a weaker guarantee, which halves its noise. Errors are misclassified fractions, or the residual divided by the
total sum of squares around the mean.

    python bench/learn_peers.py --data FOLDER --out FILE.jsonl [--peer PYTHON]

PYTHON is an interpreter with diffprivlib.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from hush_papers.flipped_huber.learning_data import NAMES, LearningSet, learning_set

import hush
from hush.learn import Lasso, LogisticRegression
from hush.learn.budget import allot
from hush.learn.means_and_spreads import MomentSums, moments_wish, private_scaling
from hush.learn.paid import Paid
from hush.learn.scaling import Span
from hush.ledger import unaccounted

EPSILONS = (0.1, 0.5, 1.0, 3.0)
SHARE, RATE, STEPS = 0.25, 0.1, 200  # of the budget for scaling; SGD: sampling rate and number of steps (20 passes)
LENGTHS = (0.1, 0.3, 1.0)

_PEER = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from diffprivlib.models import LinearRegression, LogisticRegression
d = np.load(sys.argv[1])
eps = float(d["epsilon"])
if d["logistic"]:
    model = LogisticRegression(epsilon=eps, data_norm=float(np.sqrt(d["X"].shape[1])), C=float(d["C"]), max_iter=1000)
else:
    model = LinearRegression(epsilon=eps, bounds_X=(-1.0, 1.0), bounds_y=tuple(d["target"]))
print(" ".join(repr(float(v)) for v in model.fit(d["X"], d["y"]).predict(d["X_test"])))
"""


def _error(data: LearningSet, predicted: np.ndarray, truth: np.ndarray) -> float:
    if data.logistic:
        return float(np.mean((predicted > 0.5) != (truth > 0.5)))
    return float(np.sum((predicted - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))


def _hush(
    data: LearningSet, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, epsilon: float, delta: float, **options: object
) -> np.ndarray:
    weight = data.penalty[1]
    common = {"epsilon": epsilon, "delta": delta, "bounds": data.bounds, "penalise": "scaled", **options}
    if data.logistic:
        return LogisticRegression(C=1.0 / (weight * len(y)), **common).fit(X, y).predict(X_test)
    return Lasso(alpha=weight, target_bounds=data.target_bounds, **common).fit(X, y).predict(X_test)


def _peer(
    python: str, data: LearningSet, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, epsilon: float
) -> np.ndarray | None:
    low, high = np.array(data.bounds).T
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.npz")
        np.savez(
            path,
            X=np.clip((X - middle) / half, -1.0, 1.0),
            y=y,
            X_test=np.clip((X_test - middle) / half, -1.0, 1.0),
            epsilon=epsilon,
            logistic=data.logistic,
            C=1.0 / (data.penalty[1] * len(y)),
            target=data.target_bounds or (0.0, 1.0),
        )
        shown = subprocess.run([python, "-c", _PEER, path], capture_output=True, text=True, check=False)
    return np.array([float(word) for word in shown.stdout.split()]) if shown.returncode == 0 else None


@cache
def _sgd_sigma(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Noise of one clipped sum, for 75 % of mu^2 in the sense of the Gaussian beside it: the rest pays for the
    scaling.
    """
    scaling = hush.Gaussian(float(hush.gaussian.sigma(epsilon, delta)) / math.sqrt(SHARE))

    def fits(sigma: float) -> bool:
        step = hush.subsample(hush.Gaussian(sigma), rate, times=steps)
        return hush.compose([(scaling, 1.0, 1), step]).delta(epsilon) <= delta

    low, high = 0.2, 1.0
    while not fits(high):
        low, high = high, 2.0 * high
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _noisy_gradients(
    data: LearningSet,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    epsilon: float,
    delta: float,
    rate: float,
    steps: int,
    length: float,
) -> np.ndarray:
    """Per-example clipping at 1 in l2 and Gaussian noise, on Poisson samples of the rows or on all."""
    random = np.random.default_rng()
    low, high = np.array([*data.bounds, *([data.target_bounds] if data.target_bounds else [])]).T
    span = Span(low, high)
    part = allot(
        epsilon,
        delta,
        (moments_wish(len(low), SHARE), moments_wish(len(low), 1.0 - SHARE)),
        family="gaussian",
        accounting="exact",
    )[0]
    columns = np.column_stack([X, y]) if data.target_bounds else X
    moments = MomentSums(span)
    moments.add(columns)
    scaling = private_scaling(moments.total, len(y), span, part, Paid(unaccounted(part.charge))).limited(3.0)
    own, of_target = scaling[: X.shape[1]], scaling[X.shape[1] :]

    def scaled(rows: np.ndarray) -> np.ndarray:
        block = np.ascontiguousarray(rows.T)
        own.apply(block)
        return np.vstack([block, np.ones(block.shape[1])]).T

    features, target = scaled(X), y.astype(float)
    if data.target_bounds:
        block = y[None].astype(float)  # a copy: scaling is done in place
        of_target.apply(block)
        target = block[0]
    reach = 1.0 if rate < 1.0 else 2.0  # a row added or removed; a row exchanged
    sigma, weights = reach * _sgd_sigma(epsilon, delta, rate, steps), np.zeros(features.shape[1])
    shrink = data.penalty[1] if data.penalty[0] == "l2" else 0.0
    threshold = data.penalty[1] if data.penalty[0] == "l1" else 0.0
    for _ in range(steps):
        chosen = random.random(len(target)) < rate if rate < 1.0 else slice(None)
        rows, margin = features[chosen], features[chosen] @ weights
        slope = (1.0 / (1.0 + np.exp(-margin)) if data.logistic else margin) - target[chosen]
        norm = np.abs(slope) * np.linalg.norm(rows, axis=1)
        total = (slope / np.maximum(norm, 1.0)) @ rows + random.normal(scale=sigma, size=weights.size)
        moved = weights - length * (total / (rate * len(target)) + shrink * np.append(weights[:-1], 0.0))
        weights = np.append(np.sign(moved[:-1]) * np.maximum(np.abs(moved[:-1]) - length * threshold, 0.0), moved[-1])
    margin = scaled(X_test) @ weights
    return (margin > 0.0).astype(float) if data.logistic else of_target.centre[0] + of_target.spread[0] * margin


def _predictions(
    data: LearningSet,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    epsilon: float,
    *,
    solvers: bool,
    rivals: bool,
    peer: str | None,
) -> Iterator[tuple[str, np.ndarray | None]]:
    """What every method says of the test rows."""
    delta = 1.0 / len(y) ** 2
    yield "no features", np.full(len(X_test), np.median(y) if data.logistic else y.mean())
    yield "not private", _hush(data, X, y, X_test, math.inf, delta)
    yield "hush", _hush(data, X, y, X_test, epsilon, delta)
    for solver in ("cd", "gd", "statistics") if solvers else ():
        yield f"hush, {solver}", _hush(data, X, y, X_test, epsilon, delta, solver=solver)
    for length in LENGTHS if rivals else ():
        yield f"noisy SGD {length}", _noisy_gradients(data, X, y, X_test, epsilon, delta, RATE, STEPS, length)
        yield f"noisy GD {length}", _noisy_gradients(data, X, y, X_test, epsilon, delta, 1.0, 40, length)
    if peer:
        yield "diffprivlib", _peer(peer, data, X, y, X_test, epsilon)


def errors(
    data: LearningSet,
    epsilon: float,
    splits: int,
    *,
    solvers: bool = True,
    rivals: bool = True,
    peer: str | None = None,
) -> dict[str, list[float]]:
    """Test errors of every method over random splits; a fit that failed has none."""
    found: dict[str, list[float]] = {}
    for number in range(splits):
        order = np.random.default_rng(number).permutation(len(data.y))
        train, test = np.split(order, [int(0.8 * len(order))])
        made = _predictions(
            data, data.X[train], data.y[train], data.X[test], epsilon, solvers=solvers, rivals=rivals, peer=peer
        )
        for name, predicted in made:
            if predicted is not None:
                found.setdefault(name, []).append(_error(data, predicted, data.y[test]))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HUSH_DATA"), required="HUSH_DATA" not in os.environ)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--peer", help="interpreter with diffprivlib")
    parser.add_argument("--sets", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--ours", action="store_true", help="measure hush's own columns only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with options.out.open("w") as file:
        for key in options.sets:
            data = learning_set(key, Path(options.data))
            for epsilon in EPSILONS:
                found = errors(
                    data, epsilon, options.splits, rivals=not options.ours, peer=None if options.ours else options.peer
                )
                for name, each in found.items():
                    line = {
                        "set": key,
                        "epsilon": epsilon,
                        "method": name,
                        "mean": float(np.mean(each)),
                        "median": float(np.median(each)),
                    }
                    file.write(json.dumps({**line, "deviation": float(np.std(each)), "runs": len(each)}) + "\n")
                file.flush()
                medians = {name: round(float(np.median(each)), 4) for name, each in found.items()}
                print(key, epsilon, medians, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
