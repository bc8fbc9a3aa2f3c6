"""Warm starts: the guarantee covers all fits that the coefficients depend on."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from learn.small_fits import ledger, logistic, ridge, rows, search

from hush import compose, report
from hush.errors import HushError, Unsupported


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


def test_the_joint_guarantee_of_warm_starts_counts_failures_of_private_labels():
    X, _, y = rows(4000)
    paid = ledger(mode="nonadaptive")
    model = logistic(warm_start=True, ledger=paid, passes=2, classes="private").fit(X, y).fit(X, y)
    whole, extra = model.guarantee_, math.fsum(entry.extra_delta for entry in paid.entries)
    together = compose([charge for entry in paid.entries for charge in entry.charges])
    assert extra > 0.0 and float(together.delta(whole.epsilon)) + extra <= whole.delta
    assert whole.epsilon < 2.0  # composed, and not the sum


def test_a_warm_start_from_an_entry_of_the_same_number_in_another_ledger_is_refused():
    X, y, _ = rows()
    model, other = ridge(warm_start=True, ledger=ledger(), passes=1).fit(X, y), ledger()
    ridge(ledger=other, passes=1).fit(X, y)
    with pytest.raises(Unsupported, match="not charged to this ledger"):
        model.set_params(ledger=other).fit(X, y)
    assert len(other.entries) == 1


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
    assert [entry.step for entry in paid.entries] == ["number of rows", "", "number of rows", ""]
    assert model.receipt_["started_from"] == [1, 2, 3] and 1.9 < model.guarantee_.epsilon <= 2.0
    words = "the fits it started from and their numbers of rows"
    assert words in str(model.guarantee_) and words in str(report.statement(model, ledger=paid))
    with pytest.raises(HushError, match="neighbours"):
        model.set_params(neighbours="replace").fit(X, y)
    assert len(paid.entries) == 4


AUTO = {"solver": "auto", "family": None}


@pytest.mark.parametrize("solver", ["auto", "cd"])
@pytest.mark.parametrize(
    ("first", "second"),
    [((0, 1), (0, 1, 2)), ((0, 1, 2), (0, 1)), ((0, 1, 2), (0, 1, 2, 3)), ((0, 1), (1, 2)), ((0, 1), ("a", "b"))],
)
def test_a_warm_start_needs_the_classes_that_it_had(first, second, solver):
    """Other weights than those of the last fit would be charged, and then fail or have the wrong shape."""
    X, _, _ = rows()
    paid, chosen = ledger(), AUTO if len(first) > 2 or len(second) > 2 else {"solver": solver}
    model = logistic(ledger=paid, warm_start=True, classes=first, **chosen).fit(X, np.resize(first, len(X)))
    before, model.classes = model.coef_.copy(), second
    with pytest.raises(Unsupported, match="warm_start=True starts from a fit with the classes") as failure:
        model.fit(X, np.resize(second, len(X)))
    assert f"classes={first!r}" in str(failure.value)
    assert len(paid.entries) == 1 and np.array_equal(model.coef_, before) and model.classes_.tolist() == list(first)
    model.set_params(warm_start=False).fit(X, np.resize(second, len(X)))
    assert model.classes_.tolist() == list(second) and len(model.coef_) == (1 if len(second) == 2 else len(second))


def test_a_warm_start_keeps_classes_that_were_found():
    """A second search could find others, after the payment."""
    X, _, labels = rows(5000)
    paid, words = ledger(), np.array(["b", "a"])[labels]
    model = logistic(ledger=paid, warm_start=True, classes="private", **AUTO).fit(X, words)
    assert model.receipt_["labels"] is not None
    model.fit(X, np.where(words == "a", "a", "c"))
    assert model.classes_.tolist() == ["a", "b"] and model.receipt_["labels"] is None
    assert model.receipt_["started_from"] == [1]


@pytest.mark.parametrize("changed", [{"coef_": np.zeros(2)}, {"intercept_": np.zeros(2)}, {"coef_": np.zeros((3, 3))}])
def test_a_start_of_another_shape_is_refused_before_payment(changed):
    X, y, _ = rows()
    paid = ledger()
    model = ridge(ledger=paid, warm_start=True, passes=1).fit(X, y)
    for name, value in changed.items():
        setattr(model, name, value)
    with pytest.raises(Unsupported, match="shape"):
        model.fit(X, y)
    assert len(paid.entries) == 1


@pytest.mark.parametrize("more", [{}, {"neighbours": "add-remove"}, {"delta": 0.0}, {"family": "ball"}])
def test_auto_is_whitened_for_a_warm_start(more):
    """A fit from products, and the mean of the target, have no start: what was learned would be lost, or nothing be
    learned.
    """
    X, y, _ = rows(50_000)
    paid = ledger(delta=more.get("delta", 1e-3))
    model = ridge(ledger=paid, warm_start=True, **(AUTO | more)).fit(X, y)
    assert model.receipt_["solver"] == "statistics"
    model.fit(X, y)
    assert model.receipt_["solver"] == "whitened" and model.receipt_["started_from"]
    assert np.abs(model.coef_ - [1.0, 0.5, -1.0]).max() < 0.2
    with pytest.raises(Unsupported, match="write warm_start=False, or solver='whitened'"):
        model.set_params(solver="statistics").fit(X, y)


def test_a_fit_with_much_noise_stays_near_its_start_and_still_learns():
    """With few rows a fit releases the mean of the target alone, which would return the last model at full price."""
    X, y, _ = rows(20_000)
    paid, right = ledger(), np.array([1.0, 0.5, -1.0])
    model = ridge(ledger=paid, warm_start=True, **AUTO).fit(X, y)
    model.set_params(epsilon=0.01).fit(X[:300], y[:300])
    trace = model.trace_["weights"]  # it learned, though the shrinkage may return exactly the start
    assert model.receipt_["solver"] == "whitened" and not np.array_equal(trace[0], trace[-1])
    off = [np.linalg.norm(model.set_params(epsilon=0.1).fit(X[:2000], y[:2000]).coef_ - right) for _ in range(10)]
    assert np.median(off) < 0.7 < np.linalg.norm(right)
    labels = (y > 0.0).astype(int)
    signs = logistic(ledger=paid, warm_start=True, **AUTO).fit(X, labels)
    signs.set_params(epsilon=0.01).fit(X[:300], labels[:300])
    assert signs.score(X, labels) > 0.8
