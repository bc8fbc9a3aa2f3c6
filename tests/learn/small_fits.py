"""Small tables, and estimators with quick settings, for the tests of learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from hush import Budget, Ledger, compose
from hush.learn import LogisticRegression, PrivateSearchCV, Ridge


def rows(count: int = 200):
    numbers = np.random.default_rng(31)
    X = numbers.uniform(-1.0, 1.0, (count, 3))
    return X, X @ [1.0, 0.5, -1.0], (X[:, 0] > 0.0).astype(int)


def ridge(**changed):
    settings = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "bounds": (-1, 1),
        "target_bounds": (-3, 3),
        "solver": "cd",
        "family": "gaussian",
    }
    return Ridge(**(settings | changed))


def logistic(**changed):
    return LogisticRegression(
        **({"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "solver": "cd", "family": "gaussian"} | changed)
    )


def ledger(epsilon: float = 50.0, delta: float = 1e-3, **more) -> Ledger:
    return Ledger(None, epsilon=epsilon, delta=delta, **more)


def search(model=None, grid=None, **changed):
    return PrivateSearchCV(
        model or ridge(), grid or {"alpha": [0.1, 1.0]}, **({"epsilon": 1.0, "delta": 1e-6, "tries": 1.5} | changed)
    )


def must_meet_its_budget(model: Any) -> None:
    """The charges of the receipt, composed anew, are within the budget that was asked for, and use nearly all of it."""
    promise, receipt = model.guarantee_, model.receipt_
    assert promise.holds and (promise.epsilon, promise.delta) == (model.epsilon, model.delta)
    paid, delta = compose(list(receipt.charges)), model.delta - receipt.extra_delta
    assert Budget(model.epsilon, delta).covers(paid) and not Budget(0.9 * model.epsilon, delta).covers(paid)
