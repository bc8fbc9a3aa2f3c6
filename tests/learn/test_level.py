"""A fit whose budget allows only the mean of the target: its noise, its sensitivity and its error."""

import math

import numpy as np
import pytest
from scipy import stats

import hush
from hush.learn import Lasso, LogisticRegression, Ridge
from hush.learn.level import LEVEL, level_wish
from hush.learn.relation import Relation
from hush.learn.scaling import GRAIN, Span, moment_sums

PUBLIC = {"delta": 1e-6, "bounds": (-1, 1), "target_bounds": (0, 50)}


def _rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.uniform(-1, 1, (count, 12)), np.clip(random.normal(22, 9, count), 0, 50)


def test_few_rows_give_the_mean_of_the_target() -> None:
    X, y = _rows(300)
    model = Ridge(epsilon=0.1, **PUBLIC).fit(X, y)
    assert model.receipt_["solver"] == "mean" and [part["name"] for part in model.receipt_["parts"]] == [LEVEL]
    assert not model.coef_.any() and model.guarantee_.holds and model.n_iter_ == 1
    assert model.receipt_["step"] is model.receipt_["clip"] is model.receipt_["grain"] is None
    assert (model.limits_ == [-1, 1]).all() and (model.predict(X) == model.intercept_).all()


def test_enough_rows_or_a_named_solver_use_the_features() -> None:
    X, y = _rows(2000)
    assert Ridge(epsilon=0.1, **PUBLIC).fit(X, y).receipt_["solver"] == "whitened"
    few = slice(300)
    assert Ridge(epsilon=0.1, solver="whitened", **PUBLIC).fit(X[few], y[few]).receipt_["solver"] == "whitened"
    assert Ridge(epsilon=0.1, fit_intercept=False, **PUBLIC).fit(X[few], y[few]).receipt_["solver"] == "whitened"
    weighted = Ridge(epsilon=0.1, **PUBLIC).fit(X[few], y[few], sample_weight=np.ones(300))
    assert weighted.receipt_["solver"] == "whitened"  # the mean is released without weights
    labels = LogisticRegression(epsilon=0.1, delta=1e-6, bounds=(-1, 1)).fit(X[few], (y[few] > 22).astype(int))
    assert labels.receipt_["solver"] == "whitened"


def test_the_noise_is_the_least_for_one_number() -> None:
    X, y = _rows(300)
    model = Lasso(epsilon=0.1, **PUBLIC).fit(X, y)
    least = hush.limit(0.1, 1e-6, 2.0 * GRAIN).lower
    assert least <= model.noise_.variance <= 1.001 * least


@pytest.mark.parametrize("relation", [Relation(), Relation("add-remove", 3)])
def test_every_neighbour_moves_the_sum_by_at_most_the_bound(relation: Relation) -> None:
    span, ends = Span(np.array([0.0]), np.array([50.0])), np.array([-np.inf, 0.0, 1e-9, 25.0, 49.999, 50.0, np.inf])
    sums = [int(moment_sums(np.array([[end]]), span)[0, 0]) for end in ends]
    moves = (
        [abs(a - b) for a in sums for b in sums]
        if relation.neighbours == "replace"
        else [abs(a + b + c) for a in sums for b in sums for c in sums]
    )
    assert max(moves) == level_wish(relation).bound.linf


def test_the_error_has_the_size_of_the_noise() -> None:
    """Squared errors over the variance of the noise, before shrinkage; a wrong scale by 3/2 or 2/3 is rejected.

    The Laplace-like noise has a kurtosis of at most 6, so a mean of 400 squares has a standard error of at most 0.112.
    The false-alarm rate of 5.2 standard errors is below 1e-6 for a normal mean; the scales are 0.44 and 2.25.
    """
    X, y = _rows(300)
    offs = []
    for _ in range(400):
        model = Ridge(epsilon=0.1, **PUBLIC).fit(X, y)
        error = math.sqrt(model.noise_.variance) / (300 * GRAIN)  # of a mean of z in [-1, 1]
        released = (model.intercept_ - 25.0) / 25.0 * (1.0 + 9.0 * error**2)
        offs.append((released - (np.mean(y) - 25.0) / 25.0) / error)
    square = float(np.mean(np.square(offs)))
    assert abs(square - 1.0) < 5.2 * 0.112 * 0.9
    assert stats.kurtosis(offs, fisher=False) > 3.0  # not Gaussian: a Gaussian of this budget has eight times as much


def test_a_warm_start_keeps_the_last_model() -> None:
    X, y = _rows(5000)
    ledger = hush.Ledger(None, epsilon=10.0, delta=1e-4)
    model = Ridge(epsilon=1.0, ledger=ledger, warm_start=True, **PUBLIC).fit(X, y)
    before = (model.coef_.copy(), model.intercept_)
    model.set_params(epsilon=0.01).fit(X[:300], y[:300])
    assert model.receipt_["solver"] == "mean"
    assert np.allclose(model.coef_, before[0]) and model.intercept_ == pytest.approx(before[1])
