"""Intervals of coefficients: what one row can move, what the intervals cover, and what they refuse."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from effort import examples
from learn.small_fits import must_meet_its_budget
from scales import FALSE_ALARM
from scipy.stats import t

from hush import InvalidParameter, Ledger, Unsupported, tables
from hush.learn import Lasso, LogisticRegression, PrivateSearchCV, Ridge
from hush.learn.inference import product_variance
from hush.learn.inference_plan import LAST, inference_plan, inference_wishes
from hush.learn.inference_sums import score, weighted_products, whitening
from hush.learn.objective import LOGISTIC, SQUARED
from hush.learn.relation import Relation
from hush.learn.scaling import Scaling
from hush.learn.whole_rows import WholeRows

NUMBERS = np.random.default_rng(8)
REPLACED, ADDED = Relation(), Relation("add-remove", 2)
COUNT, WIDTH = 40, 3
SHAPE = whitening(np.eye(WIDTH + 1) + 0.6, WIDTH + 1)


# -- the sensitivity -----------------------------------------------------------------------------------------


class Seen:
    """In place of a payment: it keeps the exact sums and releases them."""

    def release(self, mechanism, values, part):
        self.sums = values.astype(object)
        return values.astype(float)


class Some:
    """Rows as a source."""

    def __init__(self, X, y):
        self.X, self.y, self.n_rows, self.n_features = X, y, COUNT, X.shape[1]

    def blocks(self):
        yield self.X, self.y


def summed(X, y, objective, plan, wish, weights):
    """The integers that get noise."""
    of_target = Scaling(*(np.array([x]) for x in (0.0, 1.0, -plan.height, plan.height)))
    empty = Scaling(*(np.zeros(0) for _ in range(4)))
    own = Scaling(np.zeros(WIDTH), np.ones(WIDTH), np.full(WIDTH, -32.0), np.full(WIDTH, 32.0))
    squared = objective is SQUARED
    rows = WholeRows(Some(X, y), own, of_target if squared else empty, True, objective)
    part, seen = SimpleNamespace(wish=wish, mechanism=None, deviation=1.0), Seen()
    if squared:
        weighted_products(rows, SHAPE, plan, COUNT, part, seen)
    else:
        score(rows, SHAPE, plan, weights, COUNT, part, seen)
    return seen.sums


def moved_by(one, other):
    moved = [int(x) for x in one - other]
    return math.sqrt(sum(x * x for x in moved)), sum(abs(x) for x in moved)


def planned(objective, relation, epsilon=1.0):
    settings = {"constant": True, "standard": True, "public": False, "budget": (epsilon, 1e-6), "relation": relation}
    plan = inference_plan(objective, 0.3, WIDTH, COUNT, **settings)
    return plan, inference_wishes(plan, objective, COUNT, relation)[-1]


@pytest.mark.parametrize("relation", [REPLACED, ADDED])
@pytest.mark.parametrize("objective", [SQUARED, LOGISTIC])
def test_sums_move_by_at_most_what_is_paid_for_and_nearly_that_much(objective, relation):
    """Rows of every length and any label, in two tables that differ in a row, or in two rows of a person."""
    plan, wish = planned(objective, relation)
    assert wish.name == LAST
    largest = 0.0
    for place in range(examples(60, 600)):
        sizes = [0.01, 1.0, plan.reach / 2.0, 10.0, 1e300]
        rows = NUMBERS.normal(size=(3, WIDTH)) * NUMBERS.choice(sizes, size=(3, 1))
        labels = NUMBERS.choice([-50.0, 0.0, 50.0] if objective is SQUARED else [0.0, 0.5, 1.0], size=3)
        weights = NUMBERS.normal(size=WIDTH + 1) * NUMBERS.choice([0.0, 1.0, 1e3])
        if place == 0:  # the worst rows: as long as the limit, with slopes of 1 and -1, or opposite targets
            sizes = np.linspace(0.0, 9.0, 2000)[:, None] * [1.0, 0.0, 0.0, 0.0] + [0.0, 0.0, 0.0, 1.0]
            lengths = np.linalg.norm(sizes @ SHAPE.numbers.T, axis=1)
            size = sizes[np.searchsorted(lengths, 0.99 * plan.reach), 0]
            rows, weights = np.array([[size, x, 0.0] for x in (0.05, 0.05, -0.05)]), np.array([0.0, 1e3, 0.0, 0.0])
            labels = np.array([50.0, 50.0, -50.0] if objective is SQUARED else [0.0, 0.0, 1.0])
        X, y = NUMBERS.normal(size=(COUNT - 2, WIDTH)), NUMBERS.choice([0.0, 1.0], size=COUNT - 2)
        kept = slice(0, 1) if relation is REPLACED else slice(0, 0)  # one row on both sides, or none
        pair = [(rows[:2], labels[:2]), (np.vstack([rows[kept], rows[2:]])[: kept.stop + 1], labels[[0, 2]])]
        if relation is ADDED:
            pair[1] = (rows[:0], labels[:0])
        both = [
            summed(np.vstack([X, extra]), np.append(y, more[: len(extra)]), objective, plan, wish, weights)
            for extra, more in pair
        ]
        l2, l1 = moved_by(*both)
        assert l2 <= wish.bound.l2_bound and l1 <= wish.pure.l1
        largest = max(largest, l2 / wish.bound.l2_bound)
    assert largest > 0.85, f"only {largest} of the bound was reached"


def test_sums_are_whole_numbers_and_do_not_depend_on_the_order():
    X, y = NUMBERS.normal(size=(COUNT, WIDTH)), NUMBERS.choice([0.0, 1.0], size=COUNT)
    for objective in (SQUARED, LOGISTIC):
        plan, wish = planned(objective, REPLACED)
        order = NUMBERS.permutation(COUNT)
        one = summed(X, y, objective, plan, wish, np.ones(WIDTH + 1))
        other = summed(X[order], y[order], objective, plan, wish, np.ones(WIDTH + 1))
        assert all(isinstance(x, int) for x in one) and (one == other).all()


# -- the errors ----------------------------------------------------------------------------------------------


def test_the_variance_of_a_product_with_noise_is_that_of_its_terms():
    x, y = NUMBERS.normal(size=(4, 5)), NUMBERS.normal(size=5)
    wanted = []
    for left in x:
        above = sum((left[i] * y[j] + left[j] * y[i]) ** 2 for i in range(5) for j in range(i))
        wanted.append(above + sum(1.96 * (left[i] * y[i]) ** 2 for i in range(5)))
    assert product_variance(x, y) == pytest.approx(wanted, rel=1e-12)


def test_without_noise_the_standard_errors_are_the_textbook_ones():
    X = NUMBERS.normal([0.0, 5.0], [1.0, 20.0], size=(3000, 2))
    y = X @ [1.0, 0.1] + 2.0 + NUMBERS.normal(size=3000)
    public = {"epsilon": math.inf, "delta": 0.0, "bounds": (-200, 200), "interval_share": 0.3}
    model = Ridge(target_bounds=(-100, 100), alpha=50.0, **public).fit(X, y)
    full = np.column_stack([X, np.ones(3000)])
    solution = np.linalg.lstsq(full, y, rcond=None)[0]
    variance = np.mean((y - full @ solution) ** 2) * np.linalg.inv(full.T @ full)
    assert np.append(model.unbiased_coef_, model.unbiased_intercept_) == pytest.approx(solution, abs=2e-3)
    errors = np.append(model.standard_errors_, model.intercept_standard_error_)
    assert errors == pytest.approx(np.sqrt(np.diag(variance)), rel=5e-3)
    labels = (X @ [1.0, 0.1] - 0.5 + NUMBERS.logistic(size=3000) > 0.0).astype(int)
    model = LogisticRegression(C=0.01, **public).fit(X, labels)
    found = np.append(model.unbiased_coef_, model.unbiased_intercept_)
    chance = 1.0 / (1.0 + np.exp(-full @ found))
    assert np.abs(full.T @ (chance - labels)).max() < 0.05 * np.abs(full.T @ full).max() ** 0.5
    variance = np.linalg.inv((full * (chance * (1.0 - chance))[:, None]).T @ full)
    errors = np.append(model.standard_errors_, model.intercept_standard_error_)
    assert errors == pytest.approx(np.sqrt(np.diag(variance)), rel=5e-3)


def data(loss: str, count: int = 1500):
    X = NUMBERS.normal(size=(count, 2))
    X[:, 1] = 3.0 + 2.0 * (0.6 * X[:, 0] + 0.8 * X[:, 1])
    margin = X @ [0.8, -0.25] + 0.75
    if loss == "squared":
        return X, margin + 0.7 * NUMBERS.normal(size=count), np.array([0.8, -0.25, 0.75])
    return X, (margin + NUMBERS.logistic(size=count) > 0.0).astype(int), np.array([0.8, -0.25, 0.75])


def wider_data(loss: str):
    """Two more columns, which change nothing."""
    X, y, true = data(loss, 800)
    return np.column_stack([X, NUMBERS.normal(size=(800, 2))]), y, np.insert(true, 2, [0.0, 0.0])


def model_of(loss: str, **changed):
    settings = {"epsilon": 20.0, "delta": 1e-5, "bounds": [(-6, 6), (-9, 15)], "family": "gaussian"}
    settings |= {"interval_share": 0.5, "solver": "gd", "passes": 1} | changed  # intervals need no good start
    return Ridge(target_bounds=(-6, 6), **settings) if loss == "squared" else LogisticRegression(**settings)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_standard_errors_are_those_of_noise_and_sampling(loss, monkeypatch):
    """The mean square of error / standard error is at most 1, and two thirds of the standard errors are rejected.

    The false-alarm rate is 1e-6, by Student's t over independent fits. A mean above 1/2 shows that they are not far too
    large. Noise and sampling contribute about equally.
    """
    monkeypatch.setattr("hush.learn.training.one_thread", contextlib.nullcontext)  # it takes half of the time
    squares = []
    for _ in range(examples(300, 800)):
        X, y, true = wider_data(loss)
        model = model_of(loss, bounds=[(-6, 6), (-9, 15), (-5, 5), (-5, 5)]).fit(X, y)
        found = np.append(model.unbiased_coef_, model.unbiased_intercept_) - true
        squares.append(np.mean((found / np.append(model.standard_errors_, model.intercept_standard_error_)) ** 2))
    mean = float(np.mean(squares))
    wide = float(t.isf(FALSE_ALARM, len(squares) - 1)) * float(np.std(squares, ddof=1)) / math.sqrt(len(squares))
    assert mean - wide < 1.0, "the standard errors are too small"
    assert 2.25 * (mean - wide) > 1.0, "two thirds of the standard errors must be rejected"
    assert mean > 0.5


def test_a_level_is_a_level():
    X, y, _ = data("squared")
    model = model_of("squared").fit(X, y)
    widths = [np.ptp(model.coef_interval(level=level), axis=1) for level in (0.5, 0.8, 0.95, 0.99)]
    assert all((a < b).all() for a, b in itertools.pairwise(widths))
    assert widths[2] == pytest.approx(2.0 * 1.959964 * model.standard_errors_)
    with pytest.raises(InvalidParameter, match="level"):
        model.coef_interval(level=1.0)


@pytest.mark.parametrize("family", [None, "laplace"])
def test_noise_with_heavier_tails_has_wider_intervals(family):
    X, y, _ = data("squared", 500)
    model = model_of("squared", delta=0.0, family=family, solver="statistics", passes=None).fit(X, y)
    width = np.ptp(model.coef_interval(level=0.99), axis=1)
    assert (width > 2.0 * 2.58 * model.standard_errors_).all()


# -- what is shown -------------------------------------------------------------------------------------------


def test_the_receipt_has_the_standard_errors_and_the_charge():
    X, y, _ = data("logistic")
    ledger = Ledger(None, epsilon=20.0, delta=1e-5)
    model = model_of("logistic", ledger=ledger).fit(X, y)
    written = json.loads(json.dumps(model.receipt_["intervals"]))
    assert written["standard_errors"] == model.standard_errors_.tolist() and written["share"] == 0.5
    assert "sampling" in written["covers"] and "variance" in written["does_not_cover"]
    parts = model.receipt_["parts"]
    assert sum(part["share"] for part in parts) == pytest.approx(1.0)
    assert len(ledger.entries) == 1
    must_meet_its_budget(model)
    assert model.noise_ == model_of("logistic").fit(X, y).noise_  # that of the updates


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_table_of_people_counts_their_rows_as_dependent(loss):
    """With three rows of each person instead of two, the sampling variance is 3/2 of it."""
    import pandas

    X, y, _ = data(loss, 4000)
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(y=y, person=np.arange(4000) // 2)
    bounds = {"a": (-6, 6), "b": (-9, 15)}
    fits = [
        model_of(loss, bounds=bounds, epsilon=500.0, solver="statistics", passes=None).fit(
            tables.table(frame, unit="person"), "y", rows_per_unit=each, n_rows=4000
        )
        for each in (2, 3)
    ]
    ratio = fits[1].standard_errors_ / fits[0].standard_errors_
    assert fits[0].guarantee_.neighbours == "add-remove" and ratio == pytest.approx(math.sqrt(1.5), rel=0.05)


def test_fits_without_valid_intervals_say_what_to_do():
    X, y, _ = data("squared", 200)
    plain = model_of("squared", interval_share=0.0).fit(X, y)
    assert plain.receipt_["intervals"] is None and not hasattr(plain, "standard_errors_")
    with pytest.raises(Unsupported, match=r"interval_share=0\.3"):
        plain.coef_interval()
    for wrong in (-0.1, 0.95, "many", True):
        with pytest.raises(InvalidParameter, match="interval_share"):
            model_of("squared", interval_share=wrong).fit(X, y)
    with pytest.raises(Unsupported, match="n_features_to_keep='all'"):
        model_of("squared", n_features_to_keep=1).fit(X, y)
    with pytest.raises(Unsupported, match="two classes"):
        model_of("logistic", classes=(0, 1, 2), solver="auto", passes=None).fit(X, np.arange(200) % 3)
    with pytest.raises(Unsupported, match="best of several runs"):
        PrivateSearchCV(model_of("squared"), {"alpha": [0.1, 1.0]}, epsilon=1.0, delta=1e-6).fit(X, y)


def test_a_lasso_has_intervals_for_the_coefficients_that_it_sets_to_zero():
    X, y, _ = data("squared", 3000)
    settings = {"epsilon": 8.0, "delta": 1e-5, "bounds": [(-6, 6), (-9, 15)], "target_bounds": (-6, 6)}
    model = Lasso(alpha=0.99, interval_share=0.5, **settings).fit(X, y)
    assert not model.coef_.any()
    assert abs(model.unbiased_coef_[0] - 0.8) < 8.0 * model.standard_errors_[0] < 1.0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_noise_far_above_the_data_makes_intervals_infinite(loss, monkeypatch):
    X, y, _ = data(loss, 30)
    with pytest.raises(Unsupported, match="too few for intervals"):
        model_of(loss, epsilon=0.01).fit(X, y)
    monkeypatch.setattr("hush.learn.inference_plan._HOPELESS", math.inf)  # as if the number of rows were not public
    model = model_of(loss, epsilon=0.01).fit(X, y)
    with pytest.warns(UserWarning, match="use more rows"):
        assert np.isinf(model.coef_interval()).all()
    with pytest.warns(UserWarning, match="use more rows"):
        assert np.isinf(model.intercept_interval()).all()
    assert np.isinf(model.standard_errors_).all() and np.isfinite(model.unbiased_coef_).all()
    assert model.receipt_["intervals"]["finite"] is False
    assert json.loads(json.dumps(model.receipt_["intervals"]))["standard_errors"] is None
