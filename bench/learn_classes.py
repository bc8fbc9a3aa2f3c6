"""Three and more classes: one joint fit beside one fit for each class (one against the rest) at the same total budget.

    python bench/learn_classes.py [--data FOLDER] [--trials 9] [--epsilons 0.1,0.3,1,3,10] [--sets wine,education,...]

The table has the mean test error (the misclassified part) over random splits of 80 % and 20 %, with its standard error.
One against the rest fits C models of two classes. Each has Gaussian noise and 1/C of mu^2, where mu-Gaussian privacy is
(epsilon, delta)-private, so the C fits together meet exactly (epsilon, delta). delta is 1e-6. `majority` predicts the
most frequent class of the training rows without noise, and `not private` is scikit-learn's model on scaled columns.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from learn_sets import rival_set
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.naive_bayes import GaussianNB as PlainBayes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hush
from hush.learn import GaussianNB, LogisticRegression

DELTA = 1e-6
METHODS = ("joint", "one against the rest", "majority", "not private")
#: more methods that can be named: GaussianNB of hush and of scikit-learn
NAIVE = ("naive Bayes", "naive Bayes, not private")


@dataclass(frozen=True)
class ClassSet:
    """Rows, the places of their classes, and public ranges."""

    name: str
    X: np.ndarray
    y: np.ndarray
    bounds: object


def _wine(folder: Path) -> ClassSet:
    """The quality of wine: low (up to 5), middle (6) or high."""
    found = rival_set("wine_quality", folder)
    return ClassSet("Wine quality", found.X, np.digitize(found.y, (5.5, 6.5)), found.bounds)


def _education(folder: Path) -> ClassSet:
    """The level of education of German patients from seven numbers about them."""
    columns = {
        "docvis": (0, 50),
        "age": (18, 70),
        "outwork": (0, 1),
        "female": (0, 1),
        "married": (0, 1),
        "kids": (0, 1),
        "hhninc": (0, 100),
    }
    with (folder / "rwm5yr.csv").open() as file:
        rows = list(csv.DictReader(file))
    X = np.array([[float(row[name]) for name in columns] for row in rows])
    return ClassSet("Education", X, np.array([int(row["edlevel"]) - 1 for row in rows]), list(columns.values()))


def _airports(folder: Path) -> ClassSet:
    """The airport of a flight that leaves New York: 50,000 flights of 2013."""
    columns = {"month": (1, 12), "sched_dep_time": (0, 2400), "dep_delay": (-60, 600), "air_time": (0, 700)}
    columns |= {"distance": (0, 5000)}
    with gzip.open(folder / "nycflights13_flights.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if all(row[name] not in ("", "NA") for name in columns)][:50_000]
    X = np.array([[float(row[name]) for name in columns] for row in rows])
    names = ("EWR", "JFK", "LGA")
    return ClassSet("Airport", X, np.array([names.index(row["origin"]) for row in rows]), list(columns.values()))


def _relationship(folder: Path) -> ClassSet:
    """The place in the household of adults, six values, from the other columns of Adult."""
    found = rival_set("adult", folder)
    own = slice(27, 33)  # the indicators of the relationship
    kept = [place for place in range(found.X.shape[1]) if not own.start <= place < own.stop]
    bounds = [found.bounds[place] for place in kept]
    return ClassSet("Relationship", found.X[:, kept], found.X[:, own].argmax(axis=1), bounds)


def _digits(folder: Path) -> ClassSet:
    X, y = load_digits(return_X_y=True)
    return ClassSet("Digits", X, y, (0, 16))


SETS = {
    "wine": _wine,
    "education": _education,
    "airport": _airports,
    "relationship": _relationship,
    "digits": _digits,
}


def each_epsilon(epsilon: float, classes: int) -> float:
    """The epsilon at DELTA of one of several equal Gaussian releases that meet (epsilon, DELTA) together."""
    sigma = float(hush.gaussian.sigma(epsilon, DELTA))
    return float(hush.epsilon(hush.Gaussian(sigma * math.sqrt(classes)), DELTA))


def _one_against_the_rest(data: ClassSet, train: np.ndarray, test: np.ndarray, epsilon: float) -> np.ndarray:
    classes = int(data.y.max()) + 1
    settings = {"epsilon": each_epsilon(epsilon, classes), "delta": DELTA, "bounds": data.bounds, "family": "gaussian"}
    settings["solver"] = "whitened"
    scores = []
    for one in range(classes):
        model = LogisticRegression(**settings).fit(data.X[train], (data.y[train] == one).astype(int))
        scores.append(model.decision_function(data.X[test]))
    return np.argmax(scores, axis=0)


def predicted(method: str, data: ClassSet, train: np.ndarray, test: np.ndarray, epsilon: float) -> np.ndarray:
    """The classes of the test rows by one method."""
    X, y = data.X[train], data.y[train]
    if method == "joint":
        model = LogisticRegression(
            epsilon=epsilon, delta=DELTA, bounds=data.bounds, classes=tuple(range(int(data.y.max()) + 1))
        )
        return model.fit(X, y).predict(data.X[test])
    if method == "naive Bayes":
        named = {"bounds": data.bounds, "classes": tuple(range(int(data.y.max()) + 1))}
        return GaussianNB(epsilon=epsilon, delta=DELTA, **named).fit(X, y).predict(data.X[test])
    if method == "naive Bayes, not private":
        return PlainBayes().fit(X, y).predict(data.X[test])
    if method == "one against the rest":
        return _one_against_the_rest(data, train, test, epsilon)
    if method == "majority":
        return np.full(len(test), np.bincount(y).argmax())
    return make_pipeline(StandardScaler(), Plain(max_iter=2000)).fit(X, y).predict(data.X[test])


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("HUSH_DATA", ".")))
    options.add_argument("--trials", type=int, default=9)
    options.add_argument("--epsilons", default="0.1,0.3,1,3,10")
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--methods", default=";".join(METHODS))
    given = options.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    methods = given.methods.split(";")
    print(f"| set | epsilon | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 2)}")
    for name in given.sets.split(","):
        data = SETS[name](given.data)
        orders = [np.random.default_rng(seed).permutation(len(data.y)) for seed in range(given.trials)]
        cut, kept = round(0.8 * len(data.y)), {}
        for epsilon in map(float, given.epsilons.split(",")):
            cells = []
            for method in methods:
                if method not in kept:
                    errors = [
                        np.mean(predicted(method, data, order[:cut], order[cut:], epsilon) != data.y[order[cut:]])
                        for order in orders
                    ]
                    cell = f"{np.mean(errors):.3f} ± {np.std(errors, ddof=1) / math.sqrt(len(errors)):.3f}"
                    if method == "majority" or method.endswith("not private"):
                        kept[method] = cell
                cells.append(kept.get(method, cell))
            shape = f"{len(data.y):,} x {data.X.shape[1]}, {int(data.y.max()) + 1} classes"
            print(f"| {data.name} ({shape}) | {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
