"""Classifiers on few rows: the test error of `hush.learn`, divided by that of the majority of the training rows.

"without class counts" is the same fit if it does not release the numbers of rows of the classes
(`hush.learn.class_level`). delta is 1e-6, all other options are defaults. Each cell is the mean over random samples of
the rows, with its standard error; up to 4,000 other rows are the test.

    python bench/learn_few.py --data FOLDER [--trials 60] [--epsilons 0.1,0.3]
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from learn_classes import SETS, ClassSet
from learn_sets import rival_set
from marker import table

from hush.learn import LogisticRegression, planning

DELTA, TEST = 1e-6, 4000
SIZES = (400, 1000, 3000)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("HUSH_DATA"))
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--epsilons", default="0.1,0.3")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for data, sizes in sets(Path(given.data)):
        for size in sizes:
            cells = []
            for epsilon in map(float, given.epsilons.split(",")):
                cells.append("{:.2f} ± {:.2f}".format(*ratio(data, size, epsilon, given.trials)))
                with patch.object(planning, "class_share", lambda *facts: 0.0):
                    cells.append("{:.2f} ± {:.2f}".format(*ratio(data, size, epsilon, given.trials)))
            columns, classes = data.X.shape[1], int(data.y.max()) + 1
            rows.append([f"{data.name} ({columns} columns, {classes} classes)", f"{size:,}", *cells])
            print(*rows[-1], sep=" | ", flush=True)
    heads = [f"epsilon {each}{words}" for each in given.epsilons.split(",") for words in ("", ", without class counts")]
    print(table(["set", "rows", *heads], rows))


if __name__ == "__main__":
    main()
