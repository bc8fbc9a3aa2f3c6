"""A fit whose budget allows only the mean of the target: its noise, its sensitivity and its error."""

import numpy as np
import pytest

import hush
from hush.learn import Lasso, LogisticRegression, Ridge
from hush.learn.budget import allot
from hush.learn.level import LEVEL, level_scaling, level_wish
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.learn.scaling import GRAIN, Span, moment_sums
from hush.ledger import unaccounted

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
    """Squared errors over the variance of the noise, before shrinkage; a scale that is wrong by 3/2 or 2/3 is rejected.

    The noise has a kurtosis of at most 6.1, so a mean of 600 squares has a standard error of at most 0.093. Six of them
    are a false-alarm rate below 1e-6, also for a mean that is not quite normal. The wrong scales are 2.25 and 0.44.
    """
    y, target = _rows(300)[1], Span(np.array([0.0]), np.array([50.0]))
    part = allot(0.1, 1e-6, (level_wish(),), family=None, accounting="exact")[0]
    error, truth, offs = part.deviation / (300 * GRAIN), (np.mean(y) - 25.0) / 25.0, []
    for _ in range(600):
        found = level_scaling(iter([y]), 300, target, target, part, Paid(unaccounted(part.charge)))
        offs.append(((found.centre[-1] - 25.0) / 25.0 * (1.0 + 9.0 * error**2) - truth) / error)
    assert abs(float(np.mean(np.square(offs))) - 1.0) < 6.0 * 0.093


def test_a_warm_start_keeps_the_last_model() -> None:
    X, y = _rows(5000)
    ledger = hush.Ledger(None, epsilon=10.0, delta=1e-4)
    model = Ridge(epsilon=1.0, ledger=ledger, warm_start=True, **PUBLIC).fit(X, y)
    before = (model.coef_.copy(), model.intercept_)
    model.set_params(epsilon=0.01).fit(X[:300], y[:300])
    assert model.receipt_["solver"] == "mean"
    assert np.allclose(model.coef_, before[0]) and model.intercept_ == pytest.approx(before[1])
