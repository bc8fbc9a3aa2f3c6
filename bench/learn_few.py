"""Few rows: the test error of `hush.learn`, divided by that of the majority or the mean of the training rows.

"without class counts" is the same fit of a classifier if it does not release the numbers of rows of the classes
(`hush.learn.class_level`). Regressions have no such column; the table says where only the mean of the target was
released (`hush.learn.level`). delta is 1e-6, all other options are defaults. Each cell is the mean over random samples
of the rows, with its standard error; up to 4,000 other rows are the test.

    python bench/learn_few.py --data FOLDER [--part classes|regressions] [--trials 60] [--epsilons 0.1,0.3]
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet
from learn_classes import SETS, ClassSet
from learn_sets import rival_set
from marker import table

from hush.learn import LogisticRegression, Ridge, single_numbers

DELTA, TEST = 1e-6, 4000
SIZES = (400, 1000, 3000)
REGRESSION_SIZES = (300, 400, 800, 1500)
#: a set and the sizes of its samples, if they are not SIZES
TWO = {"adult": SIZES, "wine": SIZES, "pumpkin": (400, 1000, 2000), "houses": SIZES, "heart": (216,)}


def sets(folder: Path) -> Iterator[tuple[ClassSet, tuple[int, ...]]]:
    """Five sets with two classes, one of them with a rare class in addition, and five sets with more classes."""
    for name, sizes in TWO.items():
        found = rival_set(name, folder)
        yield ClassSet(found.name, found.X, found.y.astype(int), found.bounds), sizes
        if name == "adult":  # a quarter of the rows with the second class
            kept = (found.y == 0.0) | (np.random.default_rng(0).uniform(size=len(found.y)) < 0.25)
            yield ClassSet("Adult, rare class", found.X[kept], found.y[kept].astype(int), found.bounds), SIZES
    for name, made in SETS.items():
        yield made(folder), (1000,) if name == "digits" else SIZES


def ratio(data: ClassSet, size: int, epsilon: float, trials: int) -> tuple[float, float]:
    """The mean error over the mean error of the majority, and its standard error."""
    errors, trivial = [], []
    for trial in range(trials):
        order = np.random.default_rng(trial).permutation(len(data.y))
        train, test = order[:size], order[size : size + TEST]
        model = LogisticRegression(
            epsilon=epsilon, delta=DELTA, bounds=data.bounds, classes=tuple(range(int(data.y.max()) + 1))
        ).fit(data.X[train], data.y[train])
        errors.append(np.mean(model.predict(data.X[test]) != data.y[test]))
        trivial.append(np.mean(data.y[test] != np.bincount(data.y[train]).argmax()))
    least = float(np.mean(trivial))
    return float(np.mean(errors)) / least, float(np.std(errors, ddof=1)) / math.sqrt(trials) / least


#: the columns of PUMS and their public ranges
PUMS = {
    "age": (0.0, 100.0),
    "sex": (0.0, 1.0),
    "educ": (1.0, 16.0),
    "married": (0.0, 1.0),
    "income": (0.0, 300_000.0),
}


def pums(folder: Path, target: str) -> LearningSet:
    """One of the columns of PUMS by the other four."""
    with (folder / "PUMS.csv").open() as file:
        lines = list(csv.DictReader(file))
    columns = {name: np.array([float(line[name]) for line in lines]) for name in PUMS}
    features = [name for name in PUMS if name != target]
    X, bounds = np.column_stack([columns[name] for name in features]), tuple(PUMS[name] for name in features)
    return LearningSet(f"PUMS, {target}", X, columns[target], False, bounds, PUMS[target], ("l2", 0.0))


def regressions(folder: Path) -> Iterator[tuple[LearningSet, tuple[int, ...]]]:
    """Seven regressions and the sizes of their samples, with at least 90 rows for the test."""
    for name in ("airfoil", "wine_quality", "california", "boston", "diabetes"):
        yield rival_set(name, folder), REGRESSION_SIZES
    for target in ("income", "educ"):
        yield pums(folder, target), REGRESSION_SIZES


def over_mean(data: LearningSet, size: int, epsilon: float, trials: int) -> tuple[float, float, str]:
    """The mean error over the mean error of the mean, its standard error, and the solver."""
    model = Ridge(epsilon=epsilon, delta=DELTA, bounds=data.bounds, target_bounds=data.target_bounds)
    errors, trivial = [], []
    for trial in range(trials):
        order = np.random.default_rng(trial).permutation(len(data.y))
        train, test = order[:size], order[size : size + TEST]
        truth, level = data.y[test], data.y[train].mean()
        predicted, spread = model.fit(data.X[train], data.y[train]).predict(data.X[test]), np.var(truth)
        errors.append(np.mean((predicted - truth) ** 2) / spread)
        trivial.append(np.mean((level - truth) ** 2) / spread)
    least = float(np.mean(trivial))
    error = float(np.std(errors, ddof=1)) / math.sqrt(trials) / least
    return float(np.mean(errors)) / least, error, model.receipt_["solver"]


def regression_rows(folder: Path, epsilons: list[float], trials: int) -> Iterator[list[str]]:
    """The rows of the table of regressions."""
    for data, sizes in regressions(folder):
        for size in (each for each in sizes if each + 90 <= len(data.y)):
            cells = []
            for epsilon in epsilons:
                ratio, error, solver = over_mean(data, size, epsilon, trials)
                cells.append(f"{ratio:.2f} ± {error:.2f}" + " (mean)" * (solver == "mean"))
            yield [f"{data.name} ({data.X.shape[1]} columns)", f"{size:,}", *cells]


def class_rows(folder: Path, epsilons: list[float], trials: int) -> Iterator[list[str]]:
    """The rows of the table of classifiers."""
    for data, sizes in sets(folder):
        for size in sizes:
            cells = []
            for epsilon in epsilons:
                cells.append("{:.2f} ± {:.2f}".format(*ratio(data, size, epsilon, trials)))
                with patch.object(single_numbers, "class_share", lambda *facts: 0.0):
                    cells.append("{:.2f} ± {:.2f}".format(*ratio(data, size, epsilon, trials)))
            columns, classes = data.X.shape[1], int(data.y.max()) + 1
            yield [f"{data.name} ({columns} columns, {classes} classes)", f"{size:,}", *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HUSH_DATA"))
    parser.add_argument("--part", choices=("classes", "regressions"), default="classes")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--epsilons", help="default: 0.1,0.3 for classes, and 0.1,0.3,1 for regressions")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    classes = given.part == "classes"
    named = (given.epsilons or ("0.1,0.3" if classes else "0.1,0.3,1")).split(",")
    made, rows = class_rows if classes else regression_rows, []
    for row in made(Path(given.data), [float(each) for each in named], given.trials):
        rows.append(row)
        print(*row, sep=" | ", flush=True)
    heads = [f"epsilon {each}{words}" for each in named for words in ("", ", without class counts")[: 1 + classes]]
    print(table(["set", "rows", *heads], rows))


if __name__ == "__main__":
    main()
