"""Requests that are rejected before the charge, and fits that fail: nothing is spent and nothing changes."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from learn.small_fits import ledger, logistic, ridge, rows, search

from hush.errors import HushError, InvalidParameter, Unsupported
from hush.learn import PCA, Lasso, LogisticRegression, Ridge, training
from hush.learn.moment_solver import products_wish
from hush.learn.most_numbers import must_be_few
from hush.sampling.entropy import DeterministicTestEntropy


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (DeterministicTestEntropy(1), Unsupported),
        (42, InvalidParameter),
        ("x", InvalidParameter),
        (np.random.default_rng(), InvalidParameter),
    ],
)
def test_entropy_that_is_not_secure_is_refused_before_the_charge(given, error):
    X, _, labels = rows()
    paid = ledger()
    models = [ridge(entropy=given, ledger=paid), ridge(entropy=given), logistic(entropy=given, ledger=paid)]
    for model in [*models, logistic(entropy=given, classes="private"), search(entropy=given, ledger=paid)]:
        with pytest.raises(error, match="entropy"):
            model.fit(X, labels)
        assert not hasattr(model, "guarantee_")
    assert paid.entries == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fit_intercept": "no"}, "fit_intercept must be True or False"),
        ({"fit_intercept": 2}, "fit_intercept must be True or False"),
        ({"fit_intercept": None}, "fit_intercept must be True or False"),
        ({"passes": 10**9}, "noisy numbers"),
        ({"passes": 1_250_001}, "noisy numbers"),
        ({"verbose": 3}, "verbose must be 0, 1 or 2"),
        ({"verbose": "loud"}, "verbose must be 0, 1 or 2"),
        ({"verbose": None}, "verbose must be 0, 1 or 2"),
        ({"verbose": 1.5}, "verbose must be 0, 1 or 2"),
        ({"solver": "statistics", "passes": 3}, "has no passes"),
        ({"solver": "statistics", "step": 0.5}, "has no step"),
        ({"solver": "statistics", "clip": 0.5}, "has no clip"),
        ({"delta": 0.0}, "gaussian noise has no pure epsilon"),
    ],
)
def test_refused_in_one_sentence_and_for_nothing(changed, words):
    X, y, _ = rows(50)
    paid = ledger()
    model = ridge(ledger=paid, **changed)
    with pytest.raises(HushError, match=words) as failure:
        model.fit(X, y)
    assert str(failure.value).endswith(".") and "\n" not in str(failure.value)
    assert paid.entries == () and not hasattr(model, "coef_") and not hasattr(model, "n_features_in_")


def test_fit_intercept_may_be_numpys():
    X, y, _ = rows(50)
    assert ridge(fit_intercept=np.bool_(False), passes=1).fit(X, y).intercept_ == 0.0


def test_dates_are_no_targets_of_a_regression():
    X, y, _ = rows(50)
    paid = ledger()
    for given in (y.astype("datetime64[s]"), (1e6 * y).astype("timedelta64[s]"), np.array(["1.5"] * 50)):
        with pytest.raises(ValueError, match="y must hold numbers"):
            ridge(ledger=paid).fit(X, given)
        with pytest.raises(ValueError, match="y must hold numbers"):
            search(ledger=paid).fit(X, given)
    assert paid.entries == ()


@pytest.mark.parametrize("make", [ridge, logistic])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(make, monkeypatch):
    X, y, labels = rows()
    y = y if make is ridge else labels
    fresh, used = make(), make().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    before = dict(vars(used))

    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    for model in (fresh, used):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2], y)
    assert vars(used) == before and list(used.feature_names_in_) == ["a", "b", "c"] and used.predict is not None
    assert not hasattr(fresh, "n_features_in_")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.array(["0.5"] * 49 + ["secret-4711"]), "finite real numbers"),
        (np.array([0.5] * 49 + [47.11 + 1j]), "finite real numbers"),
        (np.array([0.5] * 49 + [np.nan]), "finite real numbers"),
        (np.ones((50, 2)), "one number for each of the 50 rows"),
        (np.ones(49), "one number for each of the 50 rows"),
    ],
)
def test_an_error_about_weights_quotes_no_weight(bad, words):
    X, y, _ = rows(50)
    with pytest.raises(InvalidParameter, match=words) as failure:
        ridge(max_weight=1.0).fit(X, y, sample_weight=bad)
    assert "47" not in str(failure.value) and failure.value.__context__ is None


def test_weights_that_are_all_zero_are_no_error():
    """Or else one row with another weight would decide whether there is an error."""
    X, y, _ = rows(50)
    for given in (np.zeros(50), -np.ones(50), 0):
        assert np.isfinite(ridge(max_weight=1.0).fit(X, y, sample_weight=given).coef_).all()


def test_a_search_needs_declared_bounds_of_the_target():
    X, y, _ = rows(50)
    paid = ledger()
    with pytest.raises(Unsupported, match="target_bounds='private'"):
        search(ridge(target_bounds="private"), ledger=paid).fit(X, y)
    assert paid.entries == ()


@pytest.mark.filterwarnings("ignore:delta=1e-06 is larger than 1/N for N = 1,000,000,000,000,000 rows")
def test_a_declared_number_of_rows_has_a_largest_value():
    """Beyond it the numbers of a fit overflow, after the charge too. At the largest value every solver works."""
    X, y, labels = rows(50)
    paid = ledger()
    for model, target in (
        (ridge(ledger=paid, neighbours="add-remove"), y),
        (logistic(neighbours="add-remove"), labels),
    ):
        with pytest.raises(InvalidParameter, match="n_rows must be at most 1,000,000,000,000,000"):
            model.fit(X, target, n_rows=10**15 + 1)
    assert paid.entries == ()
    for changed in ({"solver": "cd"}, {"solver": "gd"}, {"n_features_to_keep": 1}, {"interval_share": 0.3}):
        with pytest.warns(UserWarning, match="or correct n_rows=1000000000000000"):
            made = ridge(neighbours="add-remove", **changed).fit(X, y, n_rows=10**15)
        assert np.isfinite(made.coef_).all()


@pytest.mark.parametrize(
    ("model", "changed", "hint"),
    [
        (LogisticRegression, {}, "write n_features_to_keep=30"),
        (LogisticRegression, {"neighbours": "add-remove"}, "write n_features_to_keep=30"),
        (LogisticRegression, {"delta": 0.0}, "write n_features_to_keep=30"),
        (LogisticRegression, {"classes": (0, 1, 2)}, "give fewer columns"),
        (Ridge, {"target_bounds": (0, 1), "solver": "statistics"}, "write n_features_to_keep=30"),
        (PCA, {}, "give fewer columns"),
    ],
)
def test_too_many_columns_are_refused_before_anything_is_planned(model, changed, hint):
    """Products of K columns are K^2/2 noisy numbers: 20,000 columns would need 50 GB, and 100,000 a terabyte."""
    paid = ledger(delta=changed.get("delta", 1e-3))
    X, y = np.zeros((20, 20_000)), np.arange(20) % 2
    with pytest.raises(Unsupported, match="this fit of 20000 columns releases 200,") as failure:
        model(**({"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "ledger": paid} | changed)).fit(X, y)
    assert hint in str(failure.value) and str(failure.value).endswith(".") and paid.entries == ()


def test_wide_rows_have_fits_that_need_no_products():
    """A regression releases the mean, or screens its columns, and a classifier can keep a few of them."""
    X = np.random.default_rng(8).uniform(-1.0, 1.0, (300, 20_000))
    public = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1)}
    assert Ridge(**public, target_bounds=(-1, 1)).fit(X, X[:, 0]).receipt_["solver"] == "mean"
    assert Lasso(**public, target_bounds=(-1, 1), alpha=0.01).fit(X, X[:, 0]).kept_features_.size <= 30
    kept = LogisticRegression(**public, n_features_to_keep=30).fit(X, (X[:, 0] > 0).astype(int))
    assert kept.kept_features_.size == 30


def test_the_most_numbers_are_those_of_about_4400_columns():
    for columns, fits in ((4_400, True), (4_500, False)):
        wish = products_wish(1000, columns + 2, 10.0, 1.0)
        with contextlib.nullcontext() if fits else pytest.raises(Unsupported, match="at most 10,000,000"):
            must_be_few([wish], columns, "give fewer columns")
