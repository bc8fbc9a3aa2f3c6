"""scikit-learn's conventions, frames, and what is said to bad input."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from learn.sklearn_checks import must_pass
from learn.small_fits import must_meet_its_budget
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from hush import Ledger
from hush.errors import BudgetExceeded, HushError, InvalidParameter, Unsupported
from hush.learn import ElasticNet, Lasso, LogisticRegression, PrivateSearchCV, Ridge
from hush.sampling.entropy import DeterministicTestEntropy

CHECKED = {"epsilon": 50.0, "delta": 1e-6, "bounds": (-5, 5), "family": "gaussian"}
NUMBERS = CHECKED | {"target_bounds": (-10, 10)}
#: so large a budget that labels of three rows are found
LABELS = CHECKED | {"epsilon": 600.0, "delta": 0.1, "classes": "private"}
#: every solver for numbers and for classes, and each penalty
MODELS = [
    *(Ridge(**NUMBERS, solver="cd", passes=2), Ridge(**NUMBERS, solver="whitened")),
    *(Lasso(**NUMBERS, solver="whitened"), ElasticNet(**NUMBERS, solver="gd", passes=2)),
    ElasticNet(**NUMBERS, solver="statistics"),
    *(LogisticRegression(**LABELS, solver=solver, passes=2) for solver in ("cd", "gd", "whitened")),
    LogisticRegression(**LABELS, solver="statistics"),
]


@pytest.mark.filterwarnings("ignore::UserWarning")  # some checks have values at or within a thirtieth of the bounds
@parametrize_with_checks(MODELS)
def test_scikit_learn_accepts(estimator, check):
    must_pass(estimator, check)


@pytest.mark.exhaustive
@parametrize_with_checks([PrivateSearchCV(MODELS[0], {"alpha": [0.1, 1.0]}, epsilon=50.0, delta=1e-6, tries=1.5)])
def test_scikit_learn_accepts_the_search(estimator, check):
    must_pass(estimator, check)


def rows(count: int = 300):
    numbers = np.random.default_rng(11)
    X = numbers.uniform(-1.0, 1.0, (count, 3))
    return X, X @ [1.0, 0.5, -1.0], (X[:, 0] > 0.0).astype(int)


def made(kind=Ridge, **changed):
    settings = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1.0, 1.0), "passes": 2, "family": "gaussian", "solver": "cd"}
    if kind is not LogisticRegression:
        settings["target_bounds"] = (-3.0, 3.0)
    return kind(**(settings | changed))


KINDS = [Ridge, Lasso, ElasticNet, LogisticRegression]


def target_for(kind):
    _, y, labels = rows()
    return labels if kind is LogisticRegression else y


@pytest.mark.parametrize("kind", KINDS)
def test_fit_predict_and_shapes(kind):
    X, y = rows()[0], target_for(kind)
    model = made(kind)
    assert model.fit(X, y) is model
    assert model.coef_.shape == ((1, 3) if kind is LogisticRegression else (3,))
    assert np.shape(model.intercept_) == ((1,) if kind is LogisticRegression else ())
    assert model.n_iter_ == 2 and model.n_features_in_ == 3
    assert model.predict(X).shape == y.shape and np.isfinite(model.score(X, y))
    must_meet_its_budget(model)
    assert model.noise_.variance > 0.0 and model.receipt_.guarantee.epsilon == 1.0
    assert is_classifier(model) == (kind is LogisticRegression) and is_regressor(model) == (
        kind is not LogisticRegression
    )
    no_intercept = made(kind, fit_intercept=False).fit(X, y)
    assert np.all(no_intercept.intercept_ == 0.0)


def test_probabilities_and_log_odds_agree():
    X, _, y = rows()
    model = made(LogisticRegression, epsilon=100.0).fit(X, y)
    chance = model.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.log(chance[:, 1] / chance[:, 0]), model.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chance, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(chance[:, 1] > 0.5).astype(int)])
    far = model._linear(np.full((1, 3), 1.0)) * 0.0 + 1e4
    assert np.isfinite(np.exp(-np.logaddexp(0.0, -far))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_clone_parameters_pipeline_and_cross_validation(kind):
    X, y = rows()[0], target_for(kind)
    model = made(kind, epsilon=3.0)
    twin = clone(model)
    assert twin.get_params() == model.get_params() and not hasattr(twin, "coef_")
    assert model.set_params(epsilon=2.0).epsilon == 2.0 and twin.epsilon == 3.0
    pipe = make_pipeline(FunctionTransformer(np.tanh), model).fit(X, y)
    assert pipe.predict(X).shape == y.shape
    with pytest.warns(UserWarning, match="the costs of all fits add up"):
        assert np.isfinite(cross_val_score(model, X, y, cv=3)).all()


class Repeated(DeterministicTestEntropy):
    """The same bits again, under a false name: what is learned from is made up here."""

    secure = True


def test_clones_share_ledger_and_bits():
    X, y, _ = rows()
    ledger = Ledger(None, epsilon=4.0, delta=1e-5)
    model = made(ledger=ledger, entropy=Repeated(1))
    twin = clone(model)
    assert twin.ledger is ledger and twin.entropy is model.entropy
    cross_val_score(model, X, y, cv=3)
    assert len(ledger.entries) == 3  # every fold is charged
    model.set_params(ledger=None).fit(X, y)
    twin.set_params(ledger=None).fit(X, y)
    assert not np.array_equal(model.coef_, twin.coef_)  # bits that were copied would make the same noise


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_bounds_by_name(frame):
    X, y, _ = rows()
    table = frame({"a": X[:, 0], "b": 10.0 * X[:, 1], "c": X[:, 2]})
    bounds = {"c": (-1, 1), "a": (-1, 1), "b": (-10, 10)}
    model = made(bounds=bounds, epsilon=1e5, scaling="public", winsorise=None).fit(table, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.limits_, [(-1, 1), (-10, 10), (-1, 1)])
    assert model.predict(table).shape == y.shape
    with pytest.raises(InvalidParameter, match="no pair for the column 'b'"):
        made(bounds={"a": (-1, 1)}).fit(table, y)
    with pytest.raises(InvalidParameter, match="have no names"):
        made(bounds=bounds).fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"a": X[:, 0], "c": X[:, 2], "b": X[:, 1]}))


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (-1, 1), (False, True), (2.0, 3.0)])
def test_declared_classes(labels):
    X, _, y = rows()
    named = np.array(labels)[y]
    model = made(LogisticRegression, classes=labels, epsilon=500.0).fit(X, named)
    assert list(model.classes_) == sorted(labels) and set(model.predict(X)) <= set(labels)
    assert model.score(X, named) > 0.8


def test_private_classes_are_found_and_rare_ones_are_not():
    X, _, y = rows(3000)
    named = np.array(["no", "yes"], dtype=object)[y]
    named[0] = "rare"  # one row's own label must not show
    model = made(LogisticRegression, classes="private", epsilon=20.0).fit(X, named)
    assert list(model.classes_) == ["no", "yes"]
    with pytest.raises(InvalidParameter, match="two labels need 12344 rows, and there are 50"):
        made(LogisticRegression, classes="private", epsilon=0.1).fit(X[:50], named[1:51])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(kind, bad):
    X, y = rows()[0], target_for(kind)
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        made(kind).fit(X, y)
    if kind is not LogisticRegression:
        X, y = rows()[0], y.copy()
        y[3] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            made(kind).fit(X, y)


def test_sparse_rows_by_coordinates_and_wrong_shapes_are_refused():
    X, y, _ = rows()
    model = made()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.fit(scipy.sparse.csr_matrix(X), y)
    for bad_X, bad_y in [(X[0], y), (X, y[:-1]), (X[:1], y[:1]), (X[:0], y[:0]), (X[:, :0], y), (X[None], y)]:
        with pytest.raises(ValueError, match=r"."):
            model.fit(bad_X, bad_y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        made(LogisticRegression).predict(X)
    with pytest.raises(ValueError, match="features"):
        made().fit(X, y).predict(X[:, :2])
    fitted = made().fit(X, y)
    np.testing.assert_array_equal(fitted.predict(scipy.sparse.csr_matrix(X)), fitted.predict(X))


BAD = [
    ({"epsilon": 0.0}, "epsilon"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"epsilon": "1"}, "epsilon"),
    ({"epsilon": None}, "epsilon"),
    ({"delta": 1.0}, "delta"),
    ({"delta": -1e-9}, "delta"),
    ({"delta": None}, "delta"),
    ({"bounds": None}, "bounds must be given"),
    ({"bounds": (1.0, -1.0)}, "bounds"),
    ({"bounds": (1.0, 1.0)}, "bounds"),
    ({"bounds": (0.0, math.inf)}, "bounds"),
    ({"bounds": [(0.0, 1.0)] * 2}, "3 pairs"),
    ({"bounds": "wide"}, "bounds"),
    ({"target_bounds": None}, "target_bounds"),
    ({"target_bounds": [(0, 1)] * 3}, "target_bounds"),
    ({"family": "cauchy"}, "family must be one of"),
    ({"family": 3}, "family must be one of"),
    ({"family": "stable"}, "no calibrated member of finite variance"),
    ({"family": "skellam"}, "defined on a lattice"),
    ({"family": "gamma_difference"}, "hush.calibrate can calibrate"),
    ({"solver": "sgd"}, "solver"),
    ({"accounting": "moments"}, "accounting"),
    ({"accounting": "zcdp", "family": "laplace"}, "zCDP"),
    ({"scaling": "own"}, "scaling"),
    ({"scaling_share": 1.0}, "scaling_share"),
    ({"winsorise": 0.0}, "winsorise"),
    ({"penalise": "all"}, "penalise"),
    ({"passes": 0}, "passes"),
    ({"passes": 1.5}, "passes"),
    ({"step": 2.0}, "step"),
    ({"step": -1.0}, "step"),
    ({"clip": 0.0}, "clip"),
    ({"alpha": -1.0}, "alpha"),
    ({"warm_start": True}, "warm_start"),
    ({"ledger": "budget.db"}, "ledger"),
    ({"verbose": -1}, "verbose"),
]


@pytest.mark.parametrize(("changed", "words"), BAD)
def test_bad_settings_are_refused_in_one_sentence(changed, words):
    X, y, _ = rows(40)
    model = made(**changed)
    with pytest.raises(HushError, match=words) as failure:
        model.fit(X, y)
    text = str(failure.value)
    assert text.endswith("?" if "; did you mean" in text else ".") and "\n" not in text and len(text) < 400
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"C": 0.0}, "C must be"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"classes": (0, 1, 2)}, "write solver='whitened'"),
        ({"classes": (1, 1)}, "different labels"),
        ({"classes": (5, 6)}, "other than the classes"),
        ({"classes": "guess"}, "classes"),
        ({"classes": "private", "delta": 0.0, "family": None}, "classes='private' needs a delta"),
    ],
)
def test_bad_classifier_settings(changed, words):
    X, _, y = rows(40)
    with pytest.raises(HushError, match=words):
        made(LogisticRegression, **changed).fit(X, y)


def test_labels_other_than_two_are_refused():
    X, y, labels = rows(60)
    with pytest.raises(InvalidParameter, match="classes are needed"):
        made(LogisticRegression).fit(X, np.array(["a", "b"])[labels])
    with pytest.raises(InvalidParameter, match="other than the classes"):
        made(LogisticRegression).fit(X, labels + 1)
    with pytest.raises(ValueError, match=r"continuous|Unknown label"):
        made(LogisticRegression).fit(X, y)


def test_warm_start_needs_a_ledger_and_starts_where_it_was():
    X, y, _ = rows()
    with pytest.raises(Unsupported, match="give a ledger"):
        made(warm_start=True).fit(X, y)
    ledger = Ledger(None, epsilon=2000.0, delta=1e-5)
    slow = {
        "solver": "cd",
        "epsilon": 500.0,
        "passes": 1,
        "scaling": "public",
        "winsorise": None,
        "clip": 3.0,
        "step": 0.01,
    }
    model = made(warm_start=True, ledger=ledger, **slow)
    first = model.fit(X, y).coef_.copy()
    second = model.fit(X, y).coef_.copy()
    assert len(ledger.entries) == 2
    cold = made(**slow).fit(X, y).coef_
    assert np.linalg.norm(second) > 1.5 * np.linalg.norm(cold) and np.linalg.norm(first) < 1.5 * np.linalg.norm(cold)


def test_warm_start_from_a_fit_that_was_not_paid_for_is_refused():
    X, y, _ = rows()
    ledger, other = (Ledger(None, epsilon=20.0, delta=1e-5) for _ in range(2))
    for model in (made(), made(ledger=other)):
        model.fit(X, y)
        with pytest.raises(Unsupported, match="not charged to this ledger"):
            model.set_params(warm_start=True, ledger=ledger).fit(X, y)
    assert ledger.entries == ()


def test_a_refused_charge_leaves_nothing_fitted():
    X, y, _ = rows()
    ledger = Ledger(None, epsilon=0.5, delta=1e-6)
    model = made(ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, y)
    assert ledger.entries == () and not hasattr(model, "coef_")


@pytest.mark.parametrize(("level", "shown"), [(0, ""), (1, "pass 2 of 2"), (2, "noisy gradient")])
def test_verbose(level, shown, capsys):
    X, y, _ = rows()
    made(verbose=level).fit(X, y)
    seen = capsys.readouterr()
    assert seen.out == "" and shown in seen.err and (shown or seen.err == "")


def test_trace_has_the_convergence_plot():
    X, y, _ = rows()
    model = made(passes=4).fit(X, y)
    trace = model.trace_
    assert trace["pass"] == [1, 2, 3, 4] and trace["weights"].shape == (4, 4)
    path = np.vstack([np.zeros(4), trace["weights"]])
    np.testing.assert_allclose(trace["move"], np.linalg.norm(np.diff(path, axis=0), axis=1))
    assert len(trace["noisy_gradient"]) == 4


def test_values_outside_the_bounds_are_moved_to_the_ends():
    X, y, _ = rows()
    model = made(winsorise=None, scaling="public").fit(X, y)
    far = np.array([[50.0, -50.0, 0.0]])
    assert model.predict(far) == model.predict(np.array([[1.0, -1.0, 0.0]]))
