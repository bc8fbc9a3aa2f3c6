"""A model that is made without what it needs, or with what only scikit-learn has, says what to write."""

from __future__ import annotations

import copy
import inspect
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from hush import Ledger
from hush.errors import IncompleteCall, InvalidParameter, LedgerError, Unsupported
from hush.learn import PCA, ElasticNet, GaussianNB, KMeans, Lasso, LogisticRegression, PrivateSearchCV, Ridge

NEEDED = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0.0, 1.0), "target_bounds": (0.0, 1.0)}
MODELS = (Ridge, Lasso, ElasticNet, LogisticRegression, GaussianNB, PCA, KMeans)


def _needed(kind) -> dict:
    return {name: value for name, value in NEEDED.items() if name in inspect.signature(kind).parameters}


@pytest.mark.parametrize("kind", MODELS)
def test_what_is_missing_is_explained(kind):
    words = {
        "epsilon": r"needs epsilon: the privacy budget of the fit; write epsilon=1\.0\.$",
        "delta": r"needs delta: .*; write delta=1e-6\.$",
        "bounds": r"^bounds must be given: .* never computed from the data .*; write bounds=\(0\.0, 100\.0\)",
        "target_bounds": r"^target_bounds must be given: .*; write target_bounds=\(0\.0, 100\.0\), or",
    }
    for name in _needed(kind):
        given = {other: value for other, value in _needed(kind).items() if other != name}
        with pytest.raises(IncompleteCall, match=words[name]) as failure:
            kind(**given)
        private = "'private'" in str(failure.value)
        assert private == (name in ("bounds", "target_bounds") and kind not in (GaussianNB, PCA, KMeans))
    with pytest.raises(IncompleteCall, match=rf"^{kind.__name__} needs epsilon, delta.* and .*; write epsilon=1\.0, "):
        kind()
    with pytest.raises(IncompleteCall, match=rf"takes its parameters by name; write {kind.__name__}\(epsilon=1\.0"):
        kind(1.0, 1e-6)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "name", ["class_weight", "penalty", "max_iter", "n_jobs", "multi_class", "tol", "n_init", "cv"]
)
@pytest.mark.parametrize("more", [{}, NEEDED])
def test_parameters_of_scikit_learn_name_what_takes_their_place(kind, name, more):
    given = {key: value for key, value in more.items() if key in _needed(kind)}
    with pytest.raises(Unsupported, match=f"^{name} is no parameter of hush.learn.{kind.__name__}: ") as failure:
        kind(**given, **{name: 1})
    text, known = str(failure.value), inspect.signature(kind).parameters
    for place in ("max_weight", "C", "alpha", "passes", "classes", "priors", "l1_ratio"):
        assert f"{place}=" not in text or place in known  # a hint names only what the model has


def test_the_words_for_the_strength_of_a_penalty():
    cases = [(Ridge, "C", "alpha=1.0"), (Lasso, "C", "alpha=0.01"), (LogisticRegression, "alpha", "C=1.0")]
    cases += [(Ridge, "alphas", "alpha=1.0"), (ElasticNet, "alphas", "alpha=0.01"), (LogisticRegression, "Cs", "C=1.0")]
    for kind, wrong, right in cases:
        with pytest.raises(Unsupported, match=f"write {right}"):
            kind(**_needed(kind), **{wrong: 1.0})


def test_a_misspelt_parameter():
    with pytest.raises(IncompleteCall, match=r"Ridge has no parameter winsorize, did you mean 'winsorise'\?$"):
        Ridge(**NEEDED, winsorize=2.0)
    with pytest.raises(IncompleteCall, match=r"Ridge has no parameter foo; leave it out\.$"):
        Ridge(**NEEDED, foo=1)


def test_a_search_too():
    model = Ridge(**NEEDED)
    with pytest.raises(IncompleteCall, match=r"needs delta: .*write PrivateSearchCV\(model, \{'C'"):
        PrivateSearchCV(model, {"alpha": [1.0]}, epsilon=1.0)
    with pytest.raises(Unsupported, match=r"cv is no parameter .*: .* write holdout=0\.2\.$"):
        PrivateSearchCV(model, {"alpha": [1.0]}, epsilon=1.0, delta=1e-6, cv=5)


def test_models_can_be_copied():
    for kind in MODELS:
        model = kind(**_needed(kind))
        for made in (clone(model), copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert made.get_params() == model.get_params()
        assert next(iter(inspect.signature(kind).parameters.values())).kind is inspect.Parameter.KEYWORD_ONLY


def test_a_penalty_that_removes_everything_is_refused_before_the_charge():
    """alpha = 1, the default of scikit-learn, is larger than every correlation."""
    assert Lasso(**NEEDED).alpha == ElasticNet(**NEEDED).alpha == 0.01 and Ridge(**NEEDED).alpha == 1.0
    X, y = [[0.1], [0.9]] * 20, [0.1, 0.9] * 20
    with pytest.raises(
        InvalidParameter, match=r"alpha must be below 1 with penalise='scaled', got 1: .*alpha=0\.01\.$"
    ):
        Lasso(**NEEDED, alpha=1.0).fit(X, y)
    with pytest.raises(
        InvalidParameter, match=r"alpha must be below 4 with penalise='scaled' and l1_ratio=0\.25, got 5"
    ):
        ElasticNet(**NEEDED, alpha=5.0, l1_ratio=0.25).fit(X, y)
    for fine in (Lasso(**NEEDED, alpha=1.0, penalise="original"), ElasticNet(**NEEDED, alpha=1.9)):
        assert fine.fit(X, y).coef_.shape == (1,)


def test_a_fitted_model_is_saved_without_its_ledger(tmp_path):
    """A copy of a ledger in memory would be a second budget. The advice works."""
    model = Ridge(**NEEDED, ledger=Ledger(None, epsilon=2.0, delta=1e-5)).fit([[0.1], [0.9]] * 500, [0.1, 0.9] * 500)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(LedgerError, match=r"write model\.set_params\(ledger=None\) first\.$"):
            copied(model)
    joblib.dump(model.set_params(ledger=None), tmp_path / "model")
    loaded = joblib.load(tmp_path / "model")
    assert loaded.guarantee_ == model.guarantee_ and (loaded.coef_ == model.coef_).all()


def test_what_only_scikit_learns_models_have_says_why_it_is_missing():
    rows = [[0.1], [0.9]] * 50
    groups = KMeans(**_needed(KMeans), n_clusters=2).fit(rows)
    search = PrivateSearchCV(Ridge(**NEEDED), {"alpha": [1.0]}, epsilon=1.0, delta=1e-6)
    cases = ((groups, "labels_", r"predict\(new_rows\)"), (groups, "inertia_", "without noise"))
    for model, name, words in (*cases, (search, "cv_results_", "read best_params_")):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=words):
            getattr(model, name)


def test_the_level_of_an_interval_is_given_by_name():
    model = Ridge(**NEEDED)
    for call, name in ((model.coef_interval, "coef_interval"), (model.intercept_interval, "intercept_interval")):
        with pytest.raises(IncompleteCall, match=rf"write {name}\(level=0\.95\)\.$"):
            call(95)


def test_three_labels_need_all_classes():
    with pytest.raises(InvalidParameter, match=r"write classes=\(a, b, \.\.\.\) with all labels"):
        GaussianNB(**_needed(GaussianNB)).fit([[0.1], [0.5], [0.9]] * 9, np.array([0, 1, 2] * 9))
