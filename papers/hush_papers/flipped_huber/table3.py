"""Table III of the flipped Huber paper: private coordinate descent on eight data sets, as published, recomputed, and
with exact accounting.

The paper does not state these settings; they are chosen here (docs/learn_results.md gives the reasons):
epsilon = 1, delta = 1/N^2 for
N training rows; X and y standardised by that part; no intercept; loss r^2/2 or logistic, penalty (weight/2) |w|^2 or
weight |w|_1; Houses labelled as in OpenML 823, wine by colour, California by its raw columns; the grids below. As in
the paper, the best point of the grid by mean error over five trials is reported. The result of fresh trials at that
point is reported too, because the best of many noisy means is better than its expectation.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.learn import Lasso, LogisticRegression
from hush_papers.flipped_huber.learning_data import NAMES, LearningSet, learning_set

__all__ = ["KINDS", "PUBLISHED", "Row", "row", "stored", "stored_run", "table3"]

Array = NDArray[np.float64]

#: (squared error, test error) of the Gaussian and of flipped Huber noise, as printed
PUBLISHED = {
    "houses": ((0.6371e-3, 0.0391), (0.6165e-3, 0.0389)),
    "wine": ((0.2250, 0.0614), (0.1421, 0.0513)),
    "pumpkin": ((0.0255, 0.1224), (0.0189, 0.1152)),
    "heart": ((0.2384, 0.1741), (0.1989, 0.1556)),
    "california": ((0.0479, 0.4532), (0.0465, 0.4298)),
    "boston": ((0.3579, 0.3743), (0.3406, 0.3253)),
    "airfoil": ((0.0206, 0.5161), (0.0190, 0.4558)),
    "diabetes": ((0.2515, 0.5741), (0.1489, 0.4384)),
}
#: name, family (None is the least noise), accounting
KINDS = (
    ("Gaussian, zCDP", "gaussian", "zcdp"),
    ("flipped Huber, zCDP", "flipped_huber", "zcdp"),
    ("Gaussian, exact", "gaussian", "exact"),
    ("flipped Huber, exact", "flipped_huber", "exact"),
    ("auto, exact", None, "exact"),
)
EPSILON, TRIALS, FRESH = 1.0, 5, 40
PASSES, CLIPS, STEPS = (1, 2, 3, 5, 10, 20), (0.05, 0.1, 0.2, 0.4, 0.8, 1.6), (0.1, 0.3, 1.0)
_WIDE = 1e9  # standardised columns are not limited in the paper


@dataclass(frozen=True)
class Row:
    """One data set, one noise and accounting: the best point of the grid and its errors."""

    name: str
    kind: str
    passes: int
    clip: float
    step: float
    family: str
    #: mean over the five trials that chose the point, and over fresh ones
    squared_error: float
    fresh_squared_error: float
    test_error: float
    fresh_test_error: float
    fresh_deviation: float
    exact_error: float


@dataclass(frozen=True)
class _Split:
    X: Array
    y: Array
    X_test: Array
    y_test: Array
    optimum: Array


def _split(data: LearningSet, number: int) -> _Split:
    """80 % of the rows to learn from, 20 % to test on, standardised by the first part, with the non-private optimum."""
    order = np.random.default_rng(number).permutation(len(data.y))  # not private: the same splits for every noise
    train, test = np.split(order, [int(0.8 * len(order))])
    centre, spread = data.X[train].mean(axis=0), data.X[train].std(axis=0)
    X, X_test = (data.X[train] - centre) / spread, (data.X[test] - centre) / spread
    y, y_test = data.y[train], data.y[test]
    if not data.logistic:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    best = _model(data, len(y), epsilon=math.inf).fit(X, y)
    return _Split(X, y, X_test, y_test, np.ravel(best.coef_))


def _model(data: LearningSet, rows: int, **settings: Any) -> LogisticRegression | Lasso:
    common: dict[str, Any] = {
        "delta": 1.0 / rows**2,
        "bounds": (-_WIDE, _WIDE),
        "fit_intercept": False,
        "scaling": "paper",
        "winsorise": None,
        "solver": "cd",
        "penalise": "original",
    }
    weight = data.penalty[1]
    if data.logistic:
        return LogisticRegression(C=1.0 / (weight * rows), **common | settings)
    return Lasso(alpha=weight, target_bounds=(-_WIDE, _WIDE), **common | settings)


def _errors(data: LearningSet, split: _Split, weights: Array) -> tuple[float, float]:
    """Normalised squared error of the weights, and the paper's test error (its footnotes (i) and (ii))."""
    off = float(np.sum((weights - split.optimum) ** 2) / np.sum(split.optimum**2))
    margin = split.X_test @ weights
    if data.logistic:
        return off, float(np.mean((margin > 0.0) != (split.y_test > 0.5)))
    return off, float(np.sum((split.y_test - margin) ** 2) / np.sum(split.y_test**2))


def _trials(data: LearningSet, splits: list[_Split], count: int, **settings: Any) -> tuple[Array, str]:
    """(squared error, test error) of `count` fits on each split, and the family of the noise."""
    found, family = [], ""
    for split in splits:
        model = _model(data, len(split.y), epsilon=EPSILON, **settings)
        for _ in range(count):
            model.fit(split.X, split.y)
            found.append(_errors(data, split, np.ravel(model.coef_)))
        family = type(model.noise_).__name__
    return np.array(found), family


def row(
    data: LearningSet, key: str, kind: tuple[str, str | None, str], splits: list[_Split], *, quick: bool = False
) -> Row:
    """Try the grid, choose its best point, and run fresh trials there."""
    title, family, accounting = kind
    best: tuple[float, float, tuple[int, float, float]] | None = None
    points = product(PASSES, CLIPS, STEPS) if not quick else product((5, 20), (0.2, 0.4), (0.3,))
    for passes, clip, step in points:
        errors, _ = _trials(
            data, splits, TRIALS, passes=passes, clip=clip, step=step, family=family, accounting=accounting
        )
        off, test = errors.mean(axis=0)
        if best is None or off < best[0]:
            best = float(off), float(test), (passes, clip, step)
    assert best is not None
    off, test, (passes, clip, step) = best
    chosen = {"passes": passes, "clip": clip, "step": step, "family": family, "accounting": accounting}
    fresh, drawn = _trials(data, splits, FRESH if not quick else TRIALS, **chosen)
    mean = fresh.mean(axis=0)
    within = fresh[:, 1].reshape(len(splits), -1).std(axis=1).mean()
    exact = float(np.mean([_errors(data, split, split.optimum)[1] for split in splits]))
    return Row(key, title, passes, clip, step, drawn, off, float(mean[0]), test, float(mean[1]), float(within), exact)


def table3(folder: Path, *, names: tuple[str, ...] = NAMES, splits: int = 2, quick: bool = False) -> Iterator[Row]:
    """Every row, data set by data set."""
    for key in names:
        data = learning_set(key, folder)
        parts = [_split(data, number) for number in range(splits)]
        for kind in KINDS:
            yield row(data, key, kind, parts, quick=quick)


def stored() -> Path:
    """The file of the stored run, in the folder of this module."""
    return Path(__file__).with_name("table3.jsonl")


def stored_run() -> list[dict[str, Any]]:
    """The rows of a stored run of `table3`, for all data sets and kinds.

    `python -m hush_papers.flipped_huber.table3 --data FOLDER --out FILE` repeats the run.

    >>> len(stored_run()) == len(PUBLISHED) * len(KINDS)
    True
    """
    return [json.loads(text) for text in stored().read_text(encoding="utf-8").splitlines() if text.strip()]


def main(arguments: list[str] | None = None) -> int:
    """Write each row as a JSON line when it is done, so that a run that is stopped keeps the finished rows."""
    parser = argparse.ArgumentParser(
        prog="python -m hush_papers.flipped_huber.table3", description="Redo Table III of the flipped Huber paper."
    )
    parser.add_argument("--data", default=os.environ.get("HUSH_DATA"), help="folder of the data sets (or HUSH_DATA)")
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines to write")
    parser.add_argument("--sets", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a small grid, to check that the command works")
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("give the folder of the data sets with --data, or set HUSH_DATA")
    with options.out.open("w") as file:
        for made in table3(Path(options.data), names=tuple(options.sets), splits=options.splits, quick=options.quick):
            file.write(json.dumps(asdict(made)) + "\n")
            file.flush()
            print(
                f"{made.name:12} {made.kind:22} {made.squared_error:.4g} (fresh {made.fresh_squared_error:.4g})",
                file=sys.stderr,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
