"""Warnings that cost no privacy: fitted steps before a model, repeated fits without a ledger, too wide bounds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from learn.small_fits import ledger, logistic, ridge, rows, search
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

from hush.errors import Unsupported
from hush.learn import Lasso, PrivateSearchCV, Ridge
from hush.learn.penalty import Penalty
from hush.learn.sparse import without_small

X, Y, LABELS = rows(60)
QUICK = {"passes": 1, "bounds": (-3, 3)}
DECLARED = OneHotEncoder(categories=[[0.0, 1.0]], handle_unknown="ignore", sparse_output=False)


def _texts(work) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in seen]


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


def test_repeated_fits_without_a_ledger_are_named():
    several = [
        lambda model: cross_val_score(model, X, LABELS, cv=2),
        lambda model: GridSearchCV(model, {"C": [1.0]}, cv=2).fit(X, LABELS),
        lambda model: OneVsRestClassifier(model).fit(X, np.arange(60) % 3),
    ]
    for work in several:
        found = _texts(lambda work=work: work(logistic(**QUICK)))
        assert found and all("costs of all fits add up" in text for text in found) and len(set(found)) == 1
        assert not _texts(lambda work=work: work(logistic(ledger=ledger(), **QUICK)))
        assert not _texts(lambda work=work: work(logistic(epsilon=np.inf, bounds=(-3, 3))))
    assert not _texts(lambda: logistic(**QUICK).fit(X, LABELS))
    assert not _texts(lambda: search(ridge(**QUICK)).fit(X, Y))


def test_bounds_that_are_far_too_wide_are_named_from_released_spreads():
    numbers = np.random.default_rng(2)
    many = numbers.normal(size=(50_000, 2))
    model = Ridge(epsilon=3.0, delta=1e-6, bounds=(-100, 100), target_bounds=(-5, 5))
    found = _texts(lambda: model.fit(many, many[:, 0]))
    assert len(found) == 1 and "bounds of 2 columns are more than 28 spreads wide" in found[0]
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
