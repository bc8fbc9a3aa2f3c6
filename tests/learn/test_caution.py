"""Warnings that cost no privacy: fitted steps before a model, repeated fits without a ledger, too wide bounds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from learn.small_fits import ledger, logistic, ridge, rows, search
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

import hush
from hush.errors import Unsupported
from hush.learn import PCA, GaussianNB, KMeans, Lasso, PrivateSearchCV, Ridge
from hush.learn.penalty import Penalty
from hush.learn.sparse import without_small

X, Y, LABELS = rows(60)
QUICK = {"passes": 1, "bounds": (-3, 3)}
WIDE = {"bounds": (-3, 3), "n_features_to_keep": "all"}
PUBLIC = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-3, 3)}
DECLARED = OneHotEncoder(categories=[[0.0, 1.0]], handle_unknown="ignore", sparse_output=False)


def _texts(work) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in seen if not issubclass(one.category, hush.WeakGuarantee)]


@pytest.mark.parametrize(
    ("step", "learns"),
    [
        (StandardScaler(), True),
        (make_pipeline(FunctionTransformer(), StandardScaler()), True),
        (ColumnTransformer([("scaled", StandardScaler(), [0])], remainder="passthrough"), True),
        (FunctionTransformer(np.tanh), False),
        (PolynomialFeatures(1, include_bias=False), False),
        (ColumnTransformer([("declared", DECLARED, [0])], remainder="passthrough"), False),
    ],
)
def test_a_step_that_learns_from_the_rows_is_named(step, learns):
    found = _texts(lambda: make_pipeline(step, ridge(**QUICK)).fit(X, Y))
    assert len(found) == learns
    if learns:
        assert type(step).__name__.lower() in found[0] and found[0].count(".") <= 2 and "\n" not in found[0]


def test_hints_about_steps_can_be_followed():
    remedies = {
        OneHotEncoder(): "OneHotEncoder(categories=[['no', 'yes']])",
        StandardScaler(): "hush.learn scales columns itself",
        SimpleImputer(): "X.fillna(0)",
    }
    for step, words in remedies.items():
        (found,) = _texts(lambda step=step: make_pipeline(step, ridge(solver="whitened", **WIDE)).fit(X, Y))
        assert words in found


def test_private_steps_add_their_cost():
    """A private step learns with noise; what is missing is one ledger for both."""
    for step in (PCA(**PUBLIC, n_components=2), KMeans(**PUBLIC, n_clusters=2)):
        (found,) = _texts(lambda step=step: make_pipeline(step, logistic(**QUICK)).fit(X, LABELS))
        assert "is a private model of the same rows" in found and "give both the same ledger=" in found
        paid = ledger()
        both = make_pipeline(step.set_params(ledger=paid), logistic(ledger=paid, **QUICK))
        assert not _texts(lambda both=both: both.fit(X, LABELS)) and len(paid.entries) == 2
        (found,) = _texts(lambda step=step: make_pipeline(step, logistic(ledger=ledger(), **QUICK)).fit(X, LABELS))
        assert "the same ledger" in found
    without = PCA(**PUBLIC | {"epsilon": np.inf}, n_components=2)
    (found,) = _texts(lambda: make_pipeline(without, logistic(**QUICK)).fit(X, LABELS))
    assert "learns from the rows without noise" in found
    scaled = make_pipeline(StandardScaler(), PCA(**PUBLIC), ridge(**QUICK))
    assert len(_texts(lambda: scaled.fit(X, Y))) == 2  # the scaler, and one about the cost


SEVERAL = {
    "cross-validation": lambda model: cross_val_score(model, X, LABELS, cv=3),
    "search over parameters": lambda model: GridSearchCV(model, {"C": [0.5, 1.0]}, cv=2).fit(X, LABELS),
    "several classes": lambda model: OneVsRestClassifier(model).fit(X, np.arange(60) % 3),
    "ensemble": lambda model: BaggingClassifier(model, n_estimators=3).fit(X, LABELS),
    "calibration": lambda model: CalibratedClassifierCV(model, cv=2).fit(X, LABELS),
}


@pytest.mark.parametrize("what", SEVERAL)
def test_repeated_fits_without_a_ledger_are_named_once_at_the_line_of_the_user(what):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        SEVERAL[what](logistic(**QUICK))
        SEVERAL[what](logistic(**QUICK))
    texts = [text for one in seen if "max_weight" not in (text := str(one.message))]  # bagging gives weights to fits
    assert len(texts) == 2 and what in texts[0] and "costs of all fits add up" in texts[0]
    assert all(one.filename == __file__ for one in seen)
    assert ("PrivateSearchCV" in texts[0]) == ("search" in what) and ("classes=(" in texts[0]) == ("classes" in what)
    assert not _texts(lambda: SEVERAL[what](logistic(ledger=ledger(), max_weight=1.0, **QUICK)))
    assert not _texts(lambda: SEVERAL[what](logistic(epsilon=np.inf, max_weight=1.0, bounds=(-3, 3))))


def test_workers_of_joblib_warn_once_each(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        cross_val_score(logistic(**QUICK), X, LABELS, cv=8, n_jobs=2)
    assert 1 <= capfd.readouterr().err.count("costs of all fits add up") <= 2


def test_one_fit_and_a_private_search_are_no_repeated_fits():
    assert not _texts(lambda: logistic(**QUICK).fit(X, LABELS))
    assert not _texts(lambda: search(ridge(**QUICK)).fit(X, Y))


def test_a_large_delta_is_named_once():
    for model in (logistic(delta=0.1, **QUICK), GaussianNB(**PUBLIC | {"delta": 0.1})):
        (found,) = _texts(lambda model=model: model.fit(X, LABELS))
        assert "delta=0.1 is larger than 1/N for N = 60 rows" in found and found.endswith("write delta=0.001.")
        assert not _texts(lambda model=model: model.set_params(delta=0.01).fit(X, LABELS))
    (found,) = _texts(lambda: search(ridge(**QUICK), delta=0.1).fit(X, Y))
    assert "N = 60 rows" in found
    found = _texts(lambda: cross_val_score(logistic(delta=0.1, ledger=ledger(delta=0.9), **QUICK), X, LABELS, cv=3))
    assert len(found) == 1


def test_values_for_the_rows_of_a_fit_are_not_private():
    groups = KMeans(**PUBLIC, n_clusters=2)
    for method in ("fit_predict", "fit_transform"):
        (found,) = _texts(lambda method=method: getattr(groups, method)(X))
        assert f"{method} of KMeans" in found and "not private" in found
    assert not _texts(lambda: groups.fit(X).predict(X))


def test_bounds_that_are_far_too_wide_are_named_from_released_spreads():
    numbers = np.random.default_rng(2)
    many = numbers.normal(size=(50_000, 2))
    model = Ridge(epsilon=3.0, delta=1e-6, bounds=(-100, 100), target_bounds=(-5, 5))
    found = _texts(lambda: model.fit(many, many[:, 0]))
    assert len(found) == 1 and "the declared bounds of 2 columns (0, 1) are " in found[0]
    assert (model.spread_[:2] < 7.0).all()  # the warning follows from what was released
    for fine in ({"bounds": (-10, 10)}, {"refine_bounds": True}):
        assert not _texts(lambda fine=fine: model.set_params(**fine).fit(many, many[:, 0]))


def test_random_state_is_refused_with_the_reason():
    for kind, given in ((Ridge, {}), (Lasso, {}), (PrivateSearchCV, {})):
        with pytest.raises(Unsupported, match="random_state would make the noise repeatable"):
            kind(random_state=0, **given)


def test_a_lasso_selects():
    """Two of twelve columns matter. Without the rule for small weights nearly all of them would be kept.

    The weight of another column is noise, and is set to 0 with probability P(|N(0, 1)| < 1) = 0.68. So 5.2 columns are
    kept on average, more than nine with probability 0.0025, and the median of five fits is above nine once in 6e6.
    """
    numbers = np.random.default_rng(4)
    many = numbers.normal(size=(4000, 12))
    y = many[:, 0] - many[:, 5] + 0.5 * numbers.normal(size=4000)
    public = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-5, 5), "target_bounds": (-8, 8), "alpha": 1e-6}
    kept = [np.count_nonzero(Lasso(**public, n_features_to_keep="all").fit(many, y).coef_) for _ in range(5)]
    assert np.median(kept) <= 9
    assert without_small(np.array([0.5, -2.0]), np.ones(2), Penalty(np.zeros(2), np.ones(2))).tolist() == [0.5, -2.0]


def test_the_runs_of_a_search_do_not_warn():
    """A warning would show the released spreads of a run that is not published."""
    numbers = np.random.default_rng(2)
    many = numbers.normal(size=(20_000, 1))
    model = Ridge(epsilon=3.0, delta=0.0, bounds=(-100, 100), target_bounds=(-5, 5))
    assert _texts(lambda: Ridge(**model.get_params()).fit(many, many[:, 0]))
    assert not _texts(lambda: search(model, delta=0.0, epsilon=6.0).fit(many, many[:, 0]))
