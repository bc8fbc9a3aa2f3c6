"""How often intervals of coefficients hold the true coefficients, on simulated data.

    .venv/bin/python bench/learn_coverage.py [fits per cell] [first case] [last case]

Columns have correlation 0.5 between any two, and means and spreads of their own. The target has an R^2 of 1/2; labels
follow a logistic model whose margin has the standard deviation 1.2. The last cells have other shapes of columns and
residuals, margins with a standard deviation of 8 ("strong"), and other settings. Each cell counts all coefficients and
the intercept. A share is marked with ! if it is below its level by more than 3.1 standard errors, with one observation
for each fit: about one false alarm in 1,000.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hush
import hush.learn
from hush import tables

LEVELS = (0.8, 0.95, 0.99)
LOSSES = ("squared", "logistic")


@dataclass(frozen=True)
class Case:
    """One cell: the data, and the settings of the fit."""

    loss: str
    rows: int
    columns: int
    epsilon: float
    shape: str = "normal"
    people: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> tuple[Any, Any]:
        """The means and the spreads of the columns."""
        return np.linspace(-3.0, 40.0, self.columns), np.geomspace(0.1, 20.0, self.columns)

    def words(self) -> str:
        chosen = [f"{name}={value}" for name, value in self.settings.items()]
        relation = [] if "neighbours" in self.settings else ["person added" if self.people else "row replaced"]
        return ", ".join([self.shape, *relation, *chosen])


def standard_columns(random: np.random.Generator, case: Case) -> Any:
    """Columns with mean 0, spread 1 and correlation 0.5 (0.95 for "collinear")."""
    common = 0.95 if case.shape == "collinear" else 0.5
    made = math.sqrt(common) * random.normal(size=(case.rows, 1))
    made = made + math.sqrt(1.0 - common) * random.normal(size=(case.rows, case.columns))
    if case.shape == "yes or no":
        return 2.0 * (made > 0.0) - 1.0
    if case.shape == "lognormal":
        return (np.exp(0.75 * made) - math.exp(0.75**2 / 2.0)) / 1.15
    return made


def residuals(random: np.random.Generator, case: Case) -> Any:
    if case.shape == "skewed":
        return random.exponential(size=case.rows) - 1.0
    return (
        random.standard_t(4.0, size=case.rows) / math.sqrt(2.0)
        if case.shape == "tails"
        else random.normal(size=case.rows)
    )


def simulated(random: np.random.Generator, case: Case) -> tuple[Any, Any, Any]:
    """Rows, target or labels, and the true coefficients with the intercept last."""
    means, spreads = case.places
    scaled = standard_columns(random, case)
    signs = np.resize([1.0, -0.5, 0.75], case.columns)
    size = 8.0 if case.shape == "strong" else 1.2  # of the margin
    signs *= (1.0 if case.loss == "squared" else size) / math.sqrt(0.5 * float(signs @ signs) + 0.5 * signs.sum() ** 2)
    X, margin, coefficients = means + spreads * scaled, scaled @ signs, signs / spreads
    if not case.settings.get("fit_intercept", True):
        X = X - means
        means = means * 0.0
    constant = 5.0 if case.loss == "squared" and case.settings.get("fit_intercept", True) else 0.0
    true = np.append(coefficients, constant - float(coefficients @ means))
    if case.loss == "squared":
        return X, constant + margin + residuals(random, case), true
    return X, (margin + random.logistic(size=case.rows) > 0.0).astype(int), true


def fitted(X: Any, y: Any, case: Case, epsilon: float) -> Any:
    """The model with intervals: for a replaced row, or from a table for a person who is added or removed."""
    means, spreads = case.places
    means = means * case.settings.get("fit_intercept", True)
    given = [(m - 8.0 * s, m + 8.0 * s) for m, s in zip(means, spreads, strict=True)]
    names = [f"x{place}" for place in range(case.columns)]
    people = case.people and epsilon != math.inf
    settings = {"epsilon": epsilon, "delta": 1e-6, "interval_share": 0.3} | case.settings
    settings["bounds"] = dict(zip(names, given, strict=True)) if people else given
    if case.loss == "squared":
        model: Any = hush.learn.Ridge(target_bounds=(-10, 20), **settings)
    else:
        model = hush.learn.LogisticRegression(**settings)
    if not people:
        return model.fit(X, y)
    import pandas

    frame = pandas.DataFrame(X, columns=names).assign(y=y, person=np.arange(len(y)))
    return model.fit(tables.table(frame, unit="person"), "y")


def covered(case: Case, fits: int) -> tuple[Any, float]:
    """The share of intervals that hold the truth, for each fit and level, and the median ratio of a standard error to
    that without noise.
    """
    random = np.random.default_rng()
    held, errors = np.zeros((fits, len(LEVELS))), []
    for place in range(fits):
        X, y, wanted = simulated(random, case)
        if place == 0:
            plain = fitted(X, y, case, math.inf).standard_errors_
        model = fitted(X, y, case, case.epsilon)
        errors.append(np.median(model.standard_errors_ / plain))
        for index, level in enumerate(LEVELS):
            ends = np.vstack([model.coef_interval(level=level), model.intercept_interval(level=level)])
            inside = (ends[:, 0] <= wanted) & (wanted <= ends[:, 1])
            held[place, index] = inside[: case.columns + case.settings.get("fit_intercept", True)].mean()
    return held, float(np.median(errors))


def shown(held: Any, level: float) -> str:
    """The share of intervals that hold the truth, with a mark if it is too low."""
    error = max(float(held.std(ddof=1)), math.sqrt(level * (1.0 - level) / 11.0)) / math.sqrt(len(held))
    return f"{held.mean():.3f}" + (" !" if held.mean() < level - 3.1 * error else "")


def cases() -> list[Case]:
    """All cells: the grid of the main table, people, and other shapes and settings."""
    grid = itertools.product(LOSSES, (500, 2_000, 20_000), (3, 10), (0.3, 1.0, 3.0, 10.0))
    made = [Case(*each) for each in grid]
    made += [Case(loss, 2_000, 3, epsilon, people=True) for loss in LOSSES for epsilon in (0.3, 1.0, 3.0, 10.0)]
    made += [Case("logistic", rows, 3, epsilon, shape="strong") for rows, epsilon in ((300, 0.1), (2_000, 3.0))]
    shapes = ("yes or no", "lognormal", "collinear")
    made += [Case(loss, 5_000, 4, 3.0, shape=shape) for loss in LOSSES for shape in shapes]
    made += [Case("squared", 5_000, 4, 3.0, shape=shape) for shape in ("skewed", "tails")]
    settings: tuple[dict[str, Any], ...] = ({"fit_intercept": False}, {"delta": 0.0}, {"solver": "cd"})
    for changed in (*settings, {"scaling": "public"}, {"neighbours": "add-remove"}):
        made += [Case(loss, 5_000, 4, 3.0, settings=changed) for loss in LOSSES]
    return made


def main(fits: int, first: int = 0, last: int | None = None) -> None:
    """Print one line for each cell."""
    warnings.simplefilter("ignore", UserWarning)  # of infinite intervals
    print(
        "| loss | rows | columns | epsilon | data and settings | 80 % | 95 % | 99 % | standard error / without noise |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for case in cases()[first:last]:
        where = f"{case.loss} | {case.rows:,} | {case.columns} | {case.epsilon:g} | {case.words()}"
        try:
            held, wide = covered(case, fits)
        except hush.Unsupported:
            print(f"| {where} | refused | refused | refused | |", flush=True)
            continue
        shares = " | ".join(shown(held[:, place], level) for place, level in enumerate(LEVELS))
        print(f"| {where} | {shares} | {wide:.3g} |", flush=True)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]) if len(sys.argv) > 1 else (400,))
