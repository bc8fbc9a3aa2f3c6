"""Small fits in which nothing is random: what would get noise is written down, and fixed numbers are answered.

`SOLVERS` and `SOURCES` are all ways to fit. A new solver, or a new source of rows, is one line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import scipy.sparse

from hush import Mechanism, tables
from hush.learn import PCA, ElasticNet, GaussianNB, KMeans, Lasso, LogisticRegression, Ridge
from hush.learn.sum_model import SumModel
from hush.ledger.payment import Draws, Payment
from hush.privacy.sensitivity import Sensitivity

ROWS = 64  # the number of rows that is answered, whatever the true number is; for replaced rows the true number

#: Rows (two features, target): at bounds, far beyond them, zero, and what under- or overflows when it is squared.
HOSTILE = np.array(
    [
        [1.0, 1.0, 2.0],
        [-1.0, -1.0, -2.0],
        [1.0, -1.0, -1e9],
        [1e300, -1e300, 1e9],
        [-7.0, 1e-300, 5e-324],
        [0.0, 0.0, 0.0],
        [0.3, -0.2, 0.7],
    ]
)
BASE = HOSTILE[[6, 3]]

#: name: (estimator, settings)
SOLVERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "whitened": (Ridge, {"solver": "whitened", "passes": 2}),
    "whitened, public scaling": (Ridge, {"solver": "whitened", "passes": 2, "scaling": "public", "winsorise": None}),
    "whitened, logistic": (LogisticRegression, {"solver": "whitened", "passes": 2, "fit_intercept": False}),
    "whitened, lasso": (Lasso, {"solver": "whitened", "passes": 2, "alpha": 0.1}),
    "three classes": (LogisticRegression, {"solver": "whitened", "passes": 2, "classes": (0, 1, 2)}),
    "numbers of two classes": (
        LogisticRegression,
        {"solver": "whitened", "passes": 2, "family": None, "epsilon": 1.0},
    ),
    "numbers of three classes": (
        LogisticRegression,
        {"solver": "whitened", "passes": 2, "family": None, "epsilon": 1.0, "classes": (0, 1, 2)},
    ),
    "mean of the target": (Ridge, {"solver": "whitened", "passes": 2, "family": None, "epsilon": 1.0}),
    "mean of the target alone": (Ridge, {"family": None, "epsilon": 0.1}),
    "intervals": (Ridge, {"solver": "whitened", "passes": 1, "interval_share": 0.3, "epsilon": 40.0}),
    "intervals, logistic": (LogisticRegression, {"solver": "statistics", "interval_share": 0.3, "epsilon": 40.0}),
    "statistics": (Ridge, {"solver": "statistics"}),
    "statistics, lasso": (ElasticNet, {"solver": "statistics", "scaling": "public", "fit_intercept": False}),
    "statistics, logistic": (LogisticRegression, {"solver": "statistics"}),
    "cd": (Ridge, {"solver": "cd", "passes": 2}),
    "cd, lasso": (Lasso, {"solver": "cd", "passes": 2, "scaling": "public", "fit_intercept": False, "clip": 1e-3}),
    "cd, logistic": (LogisticRegression, {"solver": "cd", "passes": 2}),
    "gd": (ElasticNet, {"solver": "gd", "passes": 2, "fit_intercept": False}),
    "gd, logistic": (LogisticRegression, {"solver": "gd", "passes": 2, "winsorise": None}),
    "screening": (Lasso, {"n_features_to_keep": 1, "epsilon": 40.0}),
    "screening, logistic": (LogisticRegression, {"n_features_to_keep": 1, "epsilon": 40.0}),
    "private bounds": (Ridge, {"bounds": "private", "target_bounds": "private", "epsilon": 400.0}),
    "refined bounds": (LogisticRegression, {"refine_bounds": True, "epsilon": 40.0}),
    "components": (PCA, {}),
    "components of short rows": (PCA, {"clip": 0.2}),
    "naive bayes": (GaussianNB, {}),
    "k-means": (KMeans, {"n_clusters": 2, "passes": 2}),
}
#: what has one source and one relation: rows in an array, of which one is replaced
SUM_MODELS = {name for name, (kind, _) in SOLVERS.items() if issubclass(kind, SumModel)}
#: what holds all rows in memory, and what needs rows without weights in an array or a table
HELD = {name for name, (_, given) in SOLVERS.items() if given.get("solver") in ("cd", "gd")}
CHOOSING = {"screening", "screening, logistic", "private bounds", "refined bounds"}


def family(solver: str, relation: str) -> list[np.ndarray]:
    """Small data sets. Replaced rows: any two of them are neighbours. Added rows: the first and any other one."""
    base = BASE if relation == "add-remove" else np.tile(BASE, (ROWS // 2, 1))[1:]
    made = [np.vstack([base, row[None]]) for row in HOSTILE]
    made = [base.copy(), *made] if relation == "add-remove" else made
    kind, given = SOLVERS[solver]
    if kind in (LogisticRegression, GaussianNB):
        ends = (0.0, 1.0)[: len(given.get("classes", (0, 1))) - 1]
        for data in made:
            data[:, -1] = np.searchsorted(ends, data[:, -1])
    return made


def _array(model: Any, data: np.ndarray, rows_of_person: int, **fit: Any) -> Any:
    return model.fit(data[:, :-1], data[:, -1], **fit)


def _sparse(model: Any, data: np.ndarray, rows_of_person: int, **fit: Any) -> Any:
    return model.fit(scipy.sparse.csr_array(data[:, :-1]), data[:, -1], **fit)


def _weighted(model: Any, data: np.ndarray, rows_of_person: int, **fit: Any) -> Any:
    model.set_params(max_weight=1.0)
    return model.fit(data[:, :-1], data[:, -1], sample_weight=0.7 * data[:, 0] + 0.2, **fit)


def _table(model: Any, data: np.ndarray, rows_of_person: int, *columns: str, **fit: Any) -> Any:
    """The last person has twice as many rows as are used; the others have one row each. Weights are far too large."""
    frame = pd.DataFrame(data, columns=["a", "b", "y"]).assign(person=np.arange(len(data)))
    frame["w"] = 1e9 * frame.a  # 1 or 0, after they are limited
    if len(data) > len(BASE):
        own = pd.concat([frame.tail(1)] * rows_of_person + [frame.tail(1).assign(b=math.inf)] * rows_of_person)
        frame = pd.concat([frame.iloc[:-1], own])
    model.set_params(bounds=model.bounds if isinstance(model.bounds, str) else dict.fromkeys("ab", model.bounds))
    opened = tables.table(frame, unit="person", population="people")
    return model.fit(opened, "y", *columns, features=["a", "b"], rows_per_unit=rows_of_person, **fit)


def _weighted_table(model: Any, data: np.ndarray, rows_of_person: int, **fit: Any) -> Any:
    return _table(model.set_params(max_weight=1.0), data, rows_of_person, "w", **fit)


#: name: (how to fit, the relations of neighbours, the rows of one person)
SOURCES: dict[str, tuple[Callable[..., Any], tuple[str, ...], int]] = {
    "array": (_array, ("replace", "add-remove"), 1),
    "sparse": (_sparse, ("replace", "add-remove"), 1),
    "weights": (_weighted, ("replace", "add-remove"), 1),
    "table": (_table, ("add-remove",), 1),
    "table of people with two rows": (_table, ("add-remove",), 2),
    "table of people with weights": (_weighted_table, ("add-remove",), 2),
}


def refused(solver: str, source: str) -> bool:
    """Is it a combination that a fit refuses?"""
    if solver in HELD and (source.startswith("table") or source == "sparse"):
        return True
    return solver in CHOOSING and source in ("sparse", "weights")


def estimator(solver: str, **changed: Any) -> Any:
    """The unfitted estimator of a way to fit; at delta = 0 with Laplace noise."""
    kind, given = SOLVERS[solver]
    settings = {"epsilon": 5.0, "delta": 1e-6, "bounds": (-1.0, 1.0)} | given | changed
    if solver in SUM_MODELS:
        assert settings.pop("neighbours", None) in (None, "replace")
    elif kind is not LogisticRegression:
        settings = {"target_bounds": (-2.0, 2.0)} | settings
    return kind(**{"family": "gaussian" if settings["delta"] else "laplace"} | settings)


class Watched:
    """Everything that gets noise or is chosen by noise, with the bound that was charged for it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Sensitivity, np.ndarray]] = []
        self._numbers = np.random.default_rng(99)

    def add(self, draws: Draws, steps: np.ndarray) -> np.ndarray:
        mechanism: Mechanism = draws.mechanism
        moved = np.array([int(step) for step in np.ravel(steps)], dtype=object)
        if mechanism.noise.discrete:  # the number of rows
            self.seen.append(("number of rows", mechanism.sensitivity_on_lattice, moved))
            return np.full_like(steps, ROWS)
        exact = moved * int(mechanism.step) if mechanism.step >= 1.0 else moved.astype(float) * mechanism.step
        self.seen.append((f"{mechanism.noise!r}", mechanism.sensitivity_on_lattice, exact))
        reach = math.sqrt(mechanism.noise.variance) / mechanism.step
        return np.rint(0.3 * reach * self._numbers.normal(size=np.shape(steps))).astype(np.int64)

    def choose(self, payment: Payment, charge: Any, numbers: np.ndarray, *, entropy: Any = None) -> np.ndarray:
        payment._take(charge, "", charge.times)  # raises if the choice was not paid for
        self.seen.append(("choice", charge.sensitivity, numbers.copy()))
        start = (600, 4000)[len(self.seen) % 2] if numbers.size > 1000 else 0
        return np.arange(start, start + charge.times)


def watch(fit: Callable[[], Any]) -> tuple[Any, list[tuple[str, Sensitivity, np.ndarray]]]:
    """The fitted model, and what would have got noise."""
    watched = Watched()
    with ExitStack() as stack:
        stack.enter_context(patch.object(Draws, "add", lambda draws, steps: watched.add(draws, steps)))
        stack.enter_context(
            patch.object(
                Payment,
                "choose",
                lambda payment, charge, numbers, *, entropy=None: watched.choose(payment, charge, numbers),
            )
        )
        model = fit()
    return model, watched.seen


def public_state(model: Any) -> dict[str, str]:
    """Everything that a fitted estimator shows, but the time."""
    state = {name: repr(value) for name, value in vars(model).items() if name != "receipt_"}
    return state | {"receipt": repr({key: value for key, value in model.receipt_.items() if key != "time"})}
