"""Three or more classes: one fit, one charge, and a row that counts once."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.linear_model as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from learn.small_fits import must_meet_its_budget
from sklearn.base import clone
from sklearn.datasets import load_iris

from hush import Ledger, report, tables
from hush.cli import main
from hush.errors import InvalidParameter, Unsupported
from hush.learn import LogisticRegression, PrivateSearchCV
from hush.learn.block_rows import MemoryRows
from hush.learn.classes_solver import class_sums, shrunk_classes
from hush.learn.defaults import setting
from hush.learn.moment_solver import Products
from hush.learn.penalty import Penalty
from hush.learn.relation import Relation
from hush.learn.scaling import Scaling, Span
from hush.learn.softmax import Softmax, expanded, mean_loss
from hush.learn.whitened import geometry, gradient_grain, gradients_wish, shifted, unit_bits
from hush.learn.whole_rows import WholeRows
from hush.learn.whole_sums import SLOPE_BITS
from hush.ledger.payment import Draws

IRIS, KINDS = load_iris(return_X_y=True)
OPEN = {"epsilon": math.inf, "delta": 1e-6, "bounds": (0.0, 10.0), "winsorise": None, "penalise": "original"}
COUNT, WIDTH, CLASSES = 9, 2, 3
LOSS = Softmax(CLASSES)
SPAN = Span(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
NONE = Scaling.public(Span(np.zeros(0), np.ones(0)))
cell = st.one_of(st.floats(-2.0, 2.0), st.sampled_from([0.0, 1e-300, 1e150, -1e300, 1.0, -1.0]))


def clusters(count: int = 3000):
    """Three classes a, b, c whose frequencies are 1/2, 3/10 and 1/5."""
    numbers = np.random.default_rng(8)
    places = numbers.choice(3, count, p=(0.5, 0.3, 0.2))
    X = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])[places] + 0.5 * numbers.normal(size=(count, 2))
    return X, np.array(["a", "b", "c"])[places]


X, Y = clusters()
ABC = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-2.0, 4.0), "classes": ("c", "a", "b"), "family": "gaussian"}


def no_noise():
    return patch.object(Draws, "add", lambda draws, steps: steps)


# -- the loss ------------------------------------------------------------------------------------------------


@given(arrays(np.float64, (5, 4), elements=st.floats(-50.0, 50.0)), st.lists(st.integers(0, 4), min_size=4, max_size=4))
def test_a_residual_adds_up_to_0_and_is_at_most_the_root_of_2_long(margins, places):
    found = Softmax(5).slope(margins, np.array(places, dtype=float), np.empty_like(margins))
    assert np.abs(found.sum(axis=0)).max() < 1e-14 and np.linalg.norm(found, axis=0).max() <= math.sqrt(2.0) + 1e-15


def test_the_slope_of_a_row_does_not_depend_on_the_other_rows():
    numbers = np.random.default_rng(1)
    margins, places = 5.0 * numbers.normal(size=(7, 33)), numbers.integers(0, 7, 33).astype(float)
    whole = Softmax(7).slope(margins, places, np.empty_like(margins))
    for row in range(33):
        one = slice(row, row + 1)
        alone = Softmax(7).slope(margins[:, one].copy(), places[one], np.empty((7, 1)))
        assert np.array_equal(alone, whole[:, one])


def test_the_expansion_agrees_with_differences_of_the_loss():
    numbers = np.random.default_rng(2)
    block = np.column_stack([numbers.normal(size=(20, 2)), np.ones(20), numbers.integers(0, 3, 20)])
    shares, weights, h = numbers.uniform(size=20), numbers.normal(size=9), 1e-5
    parts = lambda: iter([(block, shares)])  # noqa: E731
    value, gradient, hessian = expanded(parts, 20, LOSS, weights)
    assert value == mean_loss(parts, 20, LOSS, weights)
    for place, step in enumerate(h * np.eye(9)):
        up, down = (expanded(parts, 20, LOSS, weights + sign * step) for sign in (1.0, -1.0))
        assert (up[0] - down[0]) / (2.0 * h) == pytest.approx(gradient[place], abs=1e-8)
        np.testing.assert_allclose((up[1] - down[1]) / (2.0 * h), hessian[place], atol=1e-8)


def test_no_curvature_is_above_one_half_or_above_twice_what_steps_assume():
    numbers = np.random.default_rng(3)
    for classes in (3, 4, 5, 10, 50):
        chances = numbers.dirichlet(np.full(classes, 0.3), 200)
        pairs = np.zeros((1, classes))
        pairs[0, :2] = 0.5
        for p in np.vstack([chances, pairs]):
            largest = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p))[-1]
            assert largest <= 0.5 + 1e-12 and largest < 2.0 * Softmax(classes).curvature


# -- sums ----------------------------------------------------------------------------------------------------


def rows_of(table, places, *, size=1 << 14, weights=None):
    source = MemoryRows(table, places, weights, size)
    return WholeRows(source, Scaling.public(SPAN).limited(3.0), NONE, True, LOSS)


def shape_of(seed: int):
    """A geometry that is far from a sphere."""
    mixed = np.random.default_rng(seed).normal(size=(WIDTH + 2, WIDTH + 2))
    return geometry(Products(mixed @ mixed.T, 1e-3), WIDTH + 1, 0.1)


def released(rows, weights, shape, reach):
    """What gets noise in one step: floor(S M' / 2^shift)."""
    bits = rows.bits + SLOPE_BITS + shape.bits
    rows.measure(shape.matrix.astype(float), math.ldexp(reach, bits))
    total = class_sums(rows, LOSS, weights) @ shape.matrix.T
    return [shifted(int(value), bits - unit_bits(COUNT, reach)) for value in total.ravel()]


@settings(max_examples=100, deadline=None)
@given(
    arrays(np.float64, (COUNT, WIDTH), elements=cell),
    arrays(np.float64, WIDTH, elements=cell),
    st.lists(st.integers(0, CLASSES - 1), min_size=COUNT + 1, max_size=COUNT + 1),
    arrays(np.float64, (CLASSES, WIDTH + 1), elements=st.one_of(st.floats(-3.0, 3.0), st.sampled_from([1e3, -1e3]))),
    st.integers(0, 5),
    st.sampled_from([0.01, 0.5, 4.0]),
    st.booleans(),
)
def test_a_gradient_of_all_classes_moves_by_at_most_what_is_paid_for(
    table, new, places, weights, seed, reach, weighted
):
    shares = np.linspace(0.0, 1.0, COUNT) if weighted else None
    other, goals = table.copy(), np.array(places[:COUNT], dtype=float)
    other[3], changed = new, goals.copy()
    changed[3] = places[-1]
    shape = shape_of(seed)
    one, two = (
        released(rows_of(*data, weights=shares), weights, shape, reach) for data in ((table, goals), (other, changed))
    )
    less = None if shares is None else np.delete(shares, 3)
    without = released(rows_of(np.delete(table, 3, 0), np.delete(goals, 3), weights=less), weights, shape, reach)
    made = setting(LOSS, 0.1, 3, solver="whitened", passes=4, step=None, clip=reach / math.sqrt(3.0))
    for moved, relation in (((one, two), Relation()), ((one, without), Relation("add-remove"))):
        wish = gradients_wish(COUNT, (WIDTH + 1) * CLASSES, made, 0.5, relation)
        moves = [a - b for a, b in zip(*moved, strict=True)]
        assert len(moves) == wish.numbers and wish.times == 4
        assert sum(m * m for m in moves) <= Fraction(wish.bound.l2_bound) ** 2
        assert sum(map(abs, moves)) <= wish.pure.l1


def test_the_bound_is_nearly_reached_by_brute_force():
    """Two labels that are equally likely have opposite residuals."""
    shape, made, weights = shape_of(1), [], np.zeros((CLASSES, 3))
    weights[2, 2] = -30.0
    for corner in itertools.product((-1.0, 1.0), (0.0, 2.0), range(CLASSES)):
        table, places = np.tile([0.0, 1.0], (COUNT, 1)), np.zeros(COUNT)
        table[0], places[0] = corner[:2], corner[2]
        made.append(np.array(released(rows_of(table, places), weights, shape, 0.2), dtype=float))
    largest = max(np.linalg.norm(one - two) for one in made for two in made)
    bound = 2.0 * gradient_grain(COUNT, 0.2) + 3.0
    assert 0.9 * bound < largest <= bound


def test_sums_do_not_depend_on_the_blocks_and_are_those_of_fractions():
    numbers = np.random.default_rng(4)
    table, places = numbers.uniform(-1.5, 2.5, (101, WIDTH)), numbers.integers(0, CLASSES, 101).astype(float)
    shape, weights, found = shape_of(3), numbers.normal(size=(CLASSES, 3)), []
    for size in (1 << 14, 40, 7):
        rows = rows_of(table, places, size=size)
        rows.measure(shape.matrix.astype(float), math.ldexp(1.0, rows.bits + SLOPE_BITS + shape.bits))
        found.append(class_sums(rows, LOSS, weights).tolist())
    assert found[0] == found[1] == found[2] and all(type(value) is int for line in found[0] for value in line)
    expected = np.zeros((CLASSES, 3))
    for whole, target, _ in rows.parts():
        slope = (
            LOSS.slope(weights @ whole.T / 2.0**rows.bits, target, np.empty((CLASSES, len(whole)))) * 2.0**SLOPE_BITS
        )
        length = np.linalg.norm(whole @ shape.matrix.astype(float).T, axis=1)
        most = math.ldexp(1.0, rows.bits + SLOPE_BITS + shape.bits) / length
        slope *= np.minimum(1.0, most / np.linalg.norm(slope, axis=0))
        expected += slope @ whole
    assert np.abs(np.array(found[0], dtype=float) - expected).max() <= 2.0 * 101 * 2.0**15
    assert np.abs(expected).max() > 1000.0 * 2.0**15


# -- fits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_without_noise_coefficients_are_scikit_learns(intercept, weighted):
    weights = np.random.default_rng(5).uniform(size=len(IRIS)) if weighted else None
    model = LogisticRegression(**OPEN, classes=(0, 1, 2), C=2.0, fit_intercept=intercept, max_weight=1.0)
    model.fit(IRIS, KINDS, sample_weight=weights)
    exact = plain.LogisticRegression(C=2.0, tol=1e-12, max_iter=10_000, solver="newton-cg", fit_intercept=intercept)
    exact.fit(IRIS, KINDS, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6, rtol=0.0)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=1e-6, rtol=0.0)
    np.testing.assert_allclose(model.decision_function(IRIS), exact.decision_function(IRIS), atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(IRIS), exact.predict_proba(IRIS), atol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(IRIS), exact.predict_log_proba(IRIS), atol=1e-5)
    assert np.array_equal(model.predict(IRIS), exact.predict(IRIS)) and not model.guarantee_.holds


def test_an_l1_penalty_leads_to_its_minimum():
    model = LogisticRegression(**OPEN, classes=(0, 1, 2), C=0.2, l1_ratio=0.7).fit(IRIS, KINDS)
    push = model.predict_proba(IRIS) - np.eye(3)[KINDS]
    l1, l2 = (share / (0.2 * len(IRIS)) for share in (0.7, 0.3))
    weights, gradient = model.coef_.ravel(), (push.T @ IRIS / len(IRIS)).ravel()
    assert Penalty(np.full(12, l1), np.full(12, l2)).violation(weights, gradient) < 1e-8
    assert np.abs(push.mean(axis=0)).max() < 1e-8 and (weights == 0.0).any()


def test_a_fit_has_the_shapes_the_charge_and_the_receipt_of_sum_model():
    """The score has the mean 0.903 and the deviation 0.001: its limit is 50 deviations away."""
    ledger = Ledger(None, epsilon=2.0, delta=1e-5)
    model = LogisticRegression(**ABC, ledger=ledger).fit(X, Y)
    assert list(model.classes_) == ["a", "b", "c"] and model.coef_.shape == (3, 2) and model.intercept_.shape == (3,)
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (len(X), 3)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)).sum(axis=1), 1.0, rtol=1e-12)
    assert model.score(X, Y) > 0.85 and len(ledger.entries) == 1
    must_meet_its_budget(model)
    assert "the 3 classes" in model.receipt_["public"] and model.receipt_["solver"] == "whitened"
    assert model.trace_["weights"].shape == (model.n_iter_, 3, 3) and len(model.trace_["move"]) == model.n_iter_
    assert "LogisticRegression" in report.statement(model).markdown
    assert clone(model).get_params() == model.get_params()


def test_the_noise_of_a_gradient_does_not_grow_with_the_number_of_classes():
    """Ten separate fits would have sqrt(10) times the noise."""
    numbers = np.random.default_rng(1).integers(0, 10, len(X))
    shared = ABC | {"passes": 4, "clip": 0.5}
    two = LogisticRegression(**shared | {"classes": (0, 1), "solver": "whitened"}).fit(X, numbers % 2)
    ten = LogisticRegression(**shared | {"classes": tuple(range(10))}).fit(X, numbers)
    assert ten.noise_.sigma == pytest.approx(two.noise_.sigma, rel=1e-3)  # lattices of different steps
    assert ten.coef_.shape == (10, 2)


def test_sparse_matrices_tables_and_arrays_give_the_same_model_to_the_bit():
    """The score of the private fit has the mean 0.903 and the deviation 0.001: its limit is 50 deviations away."""
    settings = ABC | {"passes": 3, "clip": 0.5}
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(kind=Y, id=np.arange(len(X)))
    with no_noise():
        dense, sparse = (LogisticRegression(**settings).fit(form, Y) for form in (X, scipy.sparse.csr_array(X)))
        named = settings | {"bounds": {"x": (-2.0, 4.0), "y": (-2.0, 4.0)}}
        with patch("hush.learn.from_table.Relation", lambda *_: Relation("replace", 1)):
            table = tables.table(frame, unit="id", population="things")
            from_table = LogisticRegression(**named).fit(table, "kind", n_rows=len(X))
    for other in (sparse, from_table):
        np.testing.assert_array_equal(other.trace_["weights"], dense.trace_["weights"])
    private = LogisticRegression(**named).fit(tables.table(frame, unit="id", population="things"), "kind")
    assert private.guarantee_.neighbours == "add-remove" and private.score(frame[["x", "y"]], Y) > 0.85


def test_weights_and_a_warm_start():
    weights = np.where(Y == "a", 0.0, 1.0)  # rows that do not count
    model = LogisticRegression(**ABC | {"epsilon": 50.0}, max_weight=1.0).fit(X, Y, sample_weight=weights)
    assert np.mean(model.predict(X) == "a") < 0.05
    ledger = Ledger(None, epsilon=9.0, delta=1e-4)
    warm = LogisticRegression(**ABC, ledger=ledger, warm_start=True, passes=2).fit(X, Y)
    before = warm.coef_ * warm.spread_
    warm.fit(X, Y)
    assert warm.receipt_["started_from"] == [1] and warm.guarantee_.epsilon > 1.0
    assert np.abs(warm.coef_ * warm.spread_ - before).max() < 3.0


def test_a_search_counts_wrong_labels_of_all_classes():
    """The score has the mean 0.911 and the deviation 0.011, noise included: its limit is ten deviations away."""
    search = PrivateSearchCV(LogisticRegression(**ABC), {"C": [0.01, 1.0]}, epsilon=3.0, delta=1e-6).fit(X, Y)
    assert search.best_score_ > 0.8 and list(search.best_estimator_.classes_) == ["a", "b", "c"]


# -- shrinkage -----------------------------------------------------------------------------------------------


def test_noise_leaves_the_most_frequent_class_and_never_less():
    weights = np.array([[0.3, -0.2, 1.0], [-0.1, 0.1, -0.2], [-0.2, 0.1, -0.8]])
    kept = shrunk_classes(weights, np.eye(3), 0.0, None, constant=True)
    np.testing.assert_array_equal(kept, weights)
    noisy = shrunk_classes(weights, np.eye(3), 10.0, None, constant=True)
    assert not noisy[:, :2].any() and noisy[:, 2].argmax() == 0 and np.abs(noisy[:, 2]).max() < 0.2
    part = shrunk_classes(weights, np.eye(3), 0.01, None, constant=True)
    assert (np.abs(part) < np.abs(weights)).all() and (np.abs(part) > 0.3 * np.abs(weights)).all()


def test_a_fit_without_signal_predicts_the_majority():
    """The class does not depend on the columns: a model with larger weights would lose 5 % and more.

    False alarm far below 1e-6: 172 fits were all within 0.0006 of the majority's score, and the limit is 0.02.
    """
    numbers = np.random.default_rng(6)
    table, places = numbers.normal(size=(5000, 6)), numbers.choice(3, 5000, p=(0.15, 0.7, 0.15))
    for _ in range(3):
        model = LogisticRegression(epsilon=0.5, delta=1e-6, bounds=(-4, 4), classes=(0, 1, 2)).fit(table, places)
        assert model.score(table, places) > np.mean(places == 1) - 0.02


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"solver": "cd"}, "write solver='whitened' for three or more classes"),
        ({"solver": "gd"}, "write solver='whitened' for three or more classes"),
        ({"solver": "statistics"}, "write solver='whitened' for three or more classes"),
        ({"family": "laplace"}, "gaussian and ball noise"),
        ({"n_features_to_keep": 1}, "n_features_to_keep='all'"),
    ],
)
def test_what_is_for_two_classes_is_refused_before_anything_is_spent(changed, words):
    ledger = Ledger(None, epsilon=2.0, delta=1e-5)
    with pytest.raises(Unsupported, match=words):
        LogisticRegression(**ABC | changed, ledger=ledger).fit(X, Y)
    assert not ledger.entries


def test_classes_are_checked():
    for classes in (("a",), ("a", "a", "b"), (("a", "b"), ("c", "d"))):
        with pytest.raises(InvalidParameter, match="2 to 1000 different labels"):
            LogisticRegression(**ABC | {"classes": classes}).fit(X, Y)
    with pytest.raises(InvalidParameter, match="y holds text, and labels other than the classes 'a', 'b' and 'd';"):
        LogisticRegression(**ABC | {"classes": ("a", "b", "d")}).fit(X, Y)
    with pytest.raises(InvalidParameter, match=r"write classes=\('a', 'b', 'c'\)"):
        LogisticRegression(**ABC | {"classes": "private", "epsilon": 30.0}).fit(X, Y)


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command_shows_a_column_for_each_class(tmp_path, capsys):
    path = tmp_path / "things.csv"
    pd.DataFrame(X, columns=["x", "y"]).assign(kind=Y, id=np.arange(len(X)) // 2).to_csv(path, index=False)
    words = ["learn", str(path), "--model", "logistic", "--target", "kind", "--classes", "a,b,c"]
    words += ["--feature", "x:-2:4", "--feature", "y:-2:4", "--epsilon", "1", "--delta", "1e-6"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split() == ["feature", "a", "b", "c"] and "(intercept)" in text
    assert main([*words, "--unit", "id", "--rows-per-unit", "2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown["classes"]) == {"a", "b", "c"} and set(shown["classes"]["a"]["coefficients"]) == {"x", "y"}
