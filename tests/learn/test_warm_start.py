"""Warm starts: the guarantee covers all fits that the coefficients depend on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from learn.small_fits import ledger, ridge, rows, search

from hush import compose, report
from hush.errors import HushError


def test_a_warm_start_promises_for_all_fits_it_comes_from():
    X, y, _ = rows()
    paid = ledger(mode="nonadaptive")
    model = ridge(warm_start=True, ledger=paid, passes=2)
    model.fit(X, y)
    assert model.guarantee_.epsilon == 1.0 and model.receipt_["started_from"] == []
    model.set_params(epsilon=2.0, delta=1e-7).fit(X, y)
    whole = model.guarantee_
    assert model.receipt_["started_from"] == [1] and whole.delta == pytest.approx(1.1e-6) and 2.0 < whole.epsilon < 3.0
    together = compose([charge for entry in paid.entries for charge in entry.charges])
    assert float(together.delta(whole.epsilon)) <= whole.delta < float(together.delta(whole.epsilon * 0.999))
    assert "this fit and the fits it started from (ledger entry 1) together" in str(whole)
    assert model.receipt_.guarantee == whole
    assert model.receipt_["this_fit"] == {"epsilon": 2.0, "delta": 1e-7}
    model.fit(X, y)
    assert model.receipt_["started_from"] == [1, 2] and model.guarantee_.epsilon > whole.epsilon
    model.set_params(warm_start=False).fit(X, y)
    assert model.receipt_["started_from"] == [] and model.guarantee_.epsilon == 2.0


def test_warm_starts_without_a_plan_add_up():
    """In an adaptive ledger budgets may depend on earlier answers: the sum holds in any case. So it does with
    delta = 0.
    """
    X, y, _ = rows()
    model = ridge(warm_start=True, ledger=ledger(mode="adaptive"), passes=2).fit(X, y).fit(X, y)
    assert model.guarantee_.epsilon == 2.0 and model.guarantee_.delta == 2e-6
    model = ridge(warm_start=True, ledger=ledger(delta=0.0), delta=0.0, family="laplace", passes=2).fit(X, y).fit(X, y)
    assert 1.99 < model.guarantee_.epsilon <= 2.0 and model.guarantee_.delta == 0.0


def test_a_warm_start_from_a_search_counts_the_search():
    X, y, _ = rows()
    paid = ledger()
    best = search(ledger=paid).fit(X, y).best_estimator_
    best.set_params(warm_start=True, ledger=paid, epsilon=1.0).fit(X, y)
    assert (
        best.receipt_["started_from"] == [1] and 1.2 < best.guarantee_.epsilon <= 2.0 and best.guarantee_.delta == 2e-6
    )


def test_a_warm_start_needs_the_columns_that_it_had():
    X, y, _ = rows()
    paid = ledger()
    model = ridge(ledger=paid, warm_start=True, passes=1).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="features"):
        model.fit(X[:, :2], y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = ridge(ledger=paid, warm_start=True, passes=1).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        named.fit(frame[["c", "b", "a"]], y)
    assert len(paid.entries) == 2 and np.array_equal(model.coef_, before) and model.n_features_in_ == 3


def test_a_warm_start_with_hidden_numbers_of_rows_counts_all_of_them():
    X, y, _ = rows()
    paid = ledger()
    model = ridge(ledger=paid, warm_start=True, passes=1, neighbours="add-remove").fit(X, y)
    assert model.receipt_["started_from"] == [1] and model.guarantee_.epsilon <= 1.0
    model.fit(X, y)
    assert [entry.label.split()[0] for entry in paid.entries] == ["number", "fit", "number", "fit"]
    assert model.receipt_["started_from"] == [1, 2, 3] and 1.9 < model.guarantee_.epsilon <= 2.0
    words = "the fits it started from and their numbers of rows"
    assert words in str(model.guarantee_) and words in str(report.statement(model, ledger=paid))
    with pytest.raises(HushError, match="neighbours"):
        model.set_params(neighbours="replace").fit(X, y)
    assert len(paid.entries) == 4
