"""A number may have any type that is a number: a fit works with it, or refuses it before anything is charged."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest

from hush import HushError, Ledger, tables
from hush.learn import PCA, ElasticNet, GaussianNB, KMeans, Lasso, LogisticRegression, PrivateSearchCV, Ridge

TYPES = (np.int64, np.uint8, np.float32, np.float64, np.longdouble, np.array, Fraction, Decimal, np.bool_, bool, str)
NUMBERS = {
    "epsilon": 1.0,
    "delta": 0.0,
    "alpha": 0.0,
    "C": 1.0,
    "l1_ratio": 1.0,
    "max_weight": 1.0,
    "scaling_share": 0.5,
    "interval_share": 0.5,
    "winsorise": 3.0,
    "passes": 3,
    "step": 1.0,
    "clip": 1.0,
    "n_features_to_keep": 1,
    "var_smoothing": 1.0,
    "n_components": 1,
    "n_clusters": 1,
    "max_iter": 2,
    "tries": 2,
}


def _fitted(model, ledger, source):
    numbers = np.random.default_rng(0)
    X = numbers.uniform(0.0, 1.0, (3000, 2))
    y = (X[:, 0] > 0.5).astype(int)
    if source == "table":
        people = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "person": np.arange(3000)})
        table = tables.table(people, unit="person", population="people")
        return model.set_params(ledger=ledger, bounds={"a": (0, 1), "b": (0, 1)}).fit(table, "y")
    return model.set_params(ledger=ledger).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("source", ["array", "add-remove", "table"])
def test_types_of_numbers_work_or_cost_nothing(kind, source):
    models = [Ridge, Lasso, ElasticNet, LogisticRegression]
    models += [] if source != "array" else [GaussianNB, PCA, KMeans]
    for made in models:
        given = {"epsilon": 1.0, "delta": 1e-3, "bounds": (0, 1)}
        given |= {"target_bounds": (0, 1)} if made in (Ridge, Lasso, ElasticNet) else {}
        given |= {"neighbours": "add-remove"} if source == "add-remove" else {}
        for name in NUMBERS.keys() & made(**given).get_params():
            ledger = Ledger(None, epsilon=10.0, delta=0.5)
            try:
                model = made(**given | {name: kind(NUMBERS[name])})
                fitted = _fitted(model, ledger, source)
            except HushError:
                assert not ledger.entries, f"{made.__name__}({name}={kind.__name__}) was charged and then failed"
            else:
                assert json.loads(json.dumps(fitted.receipt_)) and fitted.guarantee_.holds
                assert type(fitted.guarantee_.epsilon) is float and type(fitted.guarantee_.delta) is float


@pytest.mark.parametrize("kind", TYPES[:8], ids=lambda kind: kind.__name__)
def test_types_of_numbers_of_a_search(kind):
    ledger = Ledger(None, epsilon=10.0, delta=0.5)
    model = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(0, 1))
    search = PrivateSearchCV(model, {"C": [0.1, 1.0]}, epsilon=kind(1), delta=kind(0), tries=3, ledger=ledger)
    try:
        fitted = _fitted(search, ledger, "array")
    except HushError:
        assert not ledger.entries
    else:
        assert json.dumps(fitted.receipt_) and type(fitted.guarantee_.epsilon) is float
