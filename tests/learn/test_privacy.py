"""Attacks on trained coefficients, the size of their noise, and what a fitted estimator holds.

Attacks on whole fits are in test_audits.py.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from scipy.stats import chi2

import hush
from hush import Sensitivity, compose
from hush.errors import NotPaid
from hush.learn import ElasticNet, Lasso, LogisticRegression, Ridge
from hush.learn.block_rows import MemoryRows
from hush.learn.descent import Noise
from hush.learn.label_search import found, labels_plan
from hush.learn.means_and_spreads import private_scaling
from hush.learn.objective import SQUARED
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.learn.scaling import Span
from hush.learn.training import Plan, Request, pay, plan, train
from hush.ledger import Access, payment, unaccounted
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy

FALSE_ALARM = 1e-6
COUNT = 8


class Repeated(DeterministicTestEntropy):
    """The same bits again, under a false name: what is learned from is made up here."""

    secure = True


#: Neighbours as bad as they come: one row pulls the only coefficient up in one data set, and down in the other.
UP, DOWN = (np.array([sign] + [0.0] * (COUNT - 1)) for sign in (1.0, -1.0))
ONES = np.ones((COUNT, 1))


def planned(**changed) -> Plan:
    settings = {
        "epsilon": 1.0,
        "delta": 0.0,
        "family": "laplace",
        "scaling": "public",
        "fit_intercept": False,
        "solver": "cd",
        "passes": 1,
    }
    settings |= {
        "l1": 0.0,
        "l2": 0.0,
        "penalise": "original",
        "accounting": "exact",
        "scaling_share": 0.25,
        "winsorise": 3.0,
        "step": None,
    }
    span = Span(np.array([-1.0]), np.array([1.0]))
    return plan(Request(objective=SQUARED, span=span, target_span=span, clip=1e-3, **(settings | changed)), COUNT)


def weakened(made: Plan, factor: float) -> Plan:
    """The same plan with all its noise smaller by a factor."""
    parts = [
        dataclasses.replace(
            part, mechanism=dataclasses.replace(part.mechanism, noise=part.mechanism.noise.scaled(factor))
        )
        for part in made.parts
    ]
    return dataclasses.replace(made, parts=tuple(parts))


def coefficients(made: Plan):
    """A target for the audit: which labels -> the coefficient and the path to it."""

    def draw(target: np.ndarray) -> np.ndarray:
        fit = train(made, MemoryRows(ONES, target), payment=pay(made, Access(None)))
        return np.concatenate([fit.coefficients, *fit.trace.weights])

    return draw


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"delta": 1e-3, "family": "gaussian", "epsilon": 2.0},
        {"passes": 3},
        {"passes": 3, "scaling": "private", "epsilon": 3.0},
        {"solver": "statistics", "scaling": "private", "passes": None, "family": None, "epsilon": 3.0},
        {"solver": "gd", "passes": 2, "family": "staircase"},
    ],
)
def test_attacks_on_coefficients(changed):
    for factor, caught in ((1.0, False), (0.1, True)):
        made = weakened(planned(**changed), factor)
        claim = {"epsilon": made.request.epsilon, "delta": made.request.delta}
        found = hush.audit(coefficients(made), **claim, inputs=(UP, DOWN), samples=6000, vectorised=False)
        assert found.violated == caught


@pytest.mark.parametrize("solver", ["cd", "gd", "statistics"])
def test_the_noise_on_a_coefficient_has_the_size_that_was_paid_for(solver):
    """On rows of zeros only noise is left. Its variance fits the plan, and neither 2/3 nor 3/2 of the scale."""
    made = planned(family="gaussian", delta=1e-6, solver=solver, passes=None if solver == "statistics" else 1)
    part, count = made.parts[-1], 400
    draws = []
    for _ in range(count):
        fit = train(made, MemoryRows(np.zeros((COUNT, 1)), np.zeros(COUNT)), payment=pay(made, Access(None)))
        draws.append(float(fit.trace.gradients[0][0]) if solver != "statistics" else None)
    if solver == "statistics":  # the gradient is of a noisy matrix: look at the release itself
        zero = np.zeros(part.mechanism.coordinates, dtype=np.int64)
        draws = [
            float(unaccounted(part.charge).noise(part.mechanism, zero)[0]) * part.mechanism.step for _ in range(count)
        ]
        expected = part.deviation
    else:
        expected = part.deviation * made.setting.clips[0] / (2.0**32 * COUNT)
    total = float(np.sum(np.square(draws))) / expected**2
    low, high = chi2.isf(1.0 - FALSE_ALARM / 2.0, count), chi2.isf(FALSE_ALARM / 2.0, count)
    assert low < total < high
    assert not low < total * 2.25 < high and not low < total / 2.25 < high


KINDS = [Ridge, Lasso, ElasticNet, LogisticRegression]
SOLVERS = ["cd", "gd", "statistics", "whitened"]


def fitted(kind, X, y, **changed):
    settings = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "family": "gaussian"} | changed
    if kind is not LogisticRegression:
        settings["target_bounds"] = (-2, 2)
    return kind(**settings).fit(X, y)


def rows(kind):
    numbers = np.random.default_rng(21)
    X = numbers.uniform(-0.9, 0.9, (150, 3))
    return X, (X[:, 0] > 0.0).astype(int) if kind is LogisticRegression else X[:, 0] + numbers.uniform(-1, 1, 150)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_data_never_give_the_same_coefficients(kind, solver):
    X, y = rows(kind)
    models = [fitted(kind, X, y, solver=solver) for _ in range(6)]
    paths = {model.trace_["weights"].tobytes() for model in models}
    assert len(paths) == 6


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fitted_estimator_holds_no_row(kind, solver):
    """Neither a value of X or y, nor a scaled one of them, is anywhere in the pickled estimator.

    Four bytes are in a pickle by chance once in some hundred fits, and in two pickles at the same time once in 1e8.
    """
    X, y = rows(kind)
    model = fitted(kind, X, y, solver=solver)
    held, again = pickle.dumps(model), pickle.dumps(fitted(kind, X, y, solver=solver))
    values = np.concatenate([X.ravel(), y]) if kind is not LogisticRegression else X.ravel()
    for value in values:
        for form in (">f8", "<f8"):
            assert np.array(value, dtype=form).tobytes() not in held
        for form in ("<f4", ">f4"):
            known = np.array(value, dtype=form).tobytes()
            assert known not in held or known not in again
    parameters = model.get_params()
    assert model._intervals is None  # none were planned
    assert set(vars(model)) - set(parameters) - {"classes_", "_intervals", "_noise"} == {
        *("coef_", "intercept_", "n_iter_", "limits_", "guarantee_", "noise_", "receipt_", "trace_", "n_features_in_"),
        *("centre_", "spread_", "kept_features_"),
    }
    assert set(model.trace_) == {"pass", "weights", "noisy_gradient", "move"}
    np.testing.assert_array_equal(model.kept_features_, range(3))  # all of them: nothing that depends on the rows
    json.dumps(model.receipt_)
    assert len(held) < 20_000  # 150 rows of 3 would be 3600 bytes by themselves; paths and texts are the rest


def test_pickles_predict_as_before():
    X, y = rows(Ridge)
    model = fitted(Ridge, X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_every_number_that_is_released_has_a_draw_of_its_own(monkeypatch):
    """As many draws as the receipt says, and as many numbers that get one, none used twice."""
    X, y = rows(Ridge)
    counts, noisy, real, add = [], [], payment.draw, payment.Draws.add

    def counted(noise, size, step=None, entropy=None):
        counts.append(int(np.prod(size)))
        return real(noise, size, step, entropy)

    def added(draws, steps):
        noisy.append(steps.size)
        return add(draws, steps)

    monkeypatch.setattr(payment, "draw", counted)
    monkeypatch.setattr(payment.Draws, "add", added)
    for solver in SOLVERS:
        counts.clear()
        noisy.clear()
        model = fitted(Ridge, X, y, solver=solver)
        charged = sum(part["numbers"] * part["times"] for part in model.receipt_["parts"])
        assert sum(counts) == sum(noisy) == charged


@pytest.mark.parametrize("together", [1, 3])
def test_draws_are_given_out_in_order_and_only_once(together):
    part = planned(family="gaussian", delta=1e-6, passes=12).parts[-1]
    noise = Noise(part, Paid(unaccounted(part.charge), Repeated(9)))
    given = np.concatenate([noise.on(np.zeros(together)) for _ in range(12 // together)])
    drawn = hush.draw(part.mechanism.noise, 12, part.mechanism.step, Repeated(9))
    np.testing.assert_array_equal(given, drawn * part.mechanism.step)
    with pytest.raises(NotPaid, match="made in advance are used"):
        noise.on(np.zeros(1))


@pytest.mark.parametrize("solver", SOLVERS)
def test_noise_is_drawn_with_a_payment_and_only_once(solver, monkeypatch):
    made = planned(family="gaussian", delta=1e-6, solver=solver, passes=None if solver == "statistics" else 1)
    paid = pay(made, Access(None))
    train(made, MemoryRows(ONES, UP), payment=paid)
    monkeypatch.setattr(payment, "draw", None)  # whoever draws from here on fails
    other = pay(planned(family="gaussian", delta=1e-6, epsilon=2.0), Access(None))
    for nothing, words in ((None, "needs a payment"), (paid, "used up"), (other, "was not paid for")):
        with pytest.raises(NotPaid, match=words):
            train(made, MemoryRows(ONES, UP), payment=nothing)


def test_labels_and_scales_are_found_once_for_a_payment():
    made = labels_plan(1.0, 1e-6)
    paid = Paid(unaccounted(made.mechanism.charge))
    labels = np.repeat([0, 1], 500)
    assert found(labels, made, paid).tolist() == [0, 1]
    for spent in (paid, Paid(None)):
        with pytest.raises(NotPaid):
            found(labels, made, spent)
    scale = planned(scaling="private").parts[0]
    source, columns = Paid(unaccounted(scale.charge)), np.zeros((2, 2), dtype=np.int64)
    span = Span(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    private_scaling(columns, COUNT, span, scale, source)
    for spent in (source, Paid(None), paid):
        with pytest.raises(NotPaid):
            private_scaling(columns, COUNT, span, scale, spent)


def test_a_plan_without_noise_has_no_payment():
    made = planned(epsilon=math.inf, passes=300)
    assert pay(made, Access(None)) is None
    assert np.isfinite(train(made, MemoryRows(ONES, UP), payment=None).coefficients).all()


@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 1e-7), (1.0, 1e-6), (30.0, 0.01)])
def test_a_label_of_one_row_passes_the_threshold_with_probability_delta_at_most(epsilon, delta):
    """Counted over the law of the noise itself: P(1 + K >= threshold) <= delta, and one less would be too low."""
    made = labels_plan(epsilon, delta)
    scale = made.mechanism.noise.noise.scale
    k = np.arange(-int(60 * scale) - 60, int(60 * scale) + 60)
    law = np.exp(-np.abs(k) / scale)
    law /= law.sum()
    assert law[1 + k >= made.threshold].sum() <= delta < law[1 + k >= made.threshold - 1].sum()
    assert compose([(made.mechanism.noise, Sensitivity(linf=1.0, l0=2), 1)]).pure_epsilon <= epsilon * (1.0 + 1e-12)


@pytest.mark.parametrize("relation", [Relation(), Relation("add-remove")], ids=str)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.001, 1e-7), (0.004, 0.3)])
def test_a_label_of_one_row_is_hidden_by_rounded_noise_too(epsilon, delta, relation):
    """P(1 + round(L) >= t) = P(L >= t - 3/2)."""
    made = labels_plan(epsilon, delta, relation)
    law = made.mechanism.noise
    assert not law.discrete
    assert float(law.sf(made.threshold - 1.5)) <= delta < float(law.sf(made.threshold - 3.5))


def test_bits_come_from_the_entropy_that_was_given():
    X, y = rows(Ridge)
    begun = []

    class Watched:
        secure = True

        def begin(self):
            begun.append(1)
            return SecureEntropy().begin()

    fitted(Ridge, X, y, solver="cd", entropy=Watched())
    assert len(begun) == 2  # one call for the scaling, one for all updates


def test_rows_of_neither_class_count_half_for_each():
    """Labels that are none, where the second class would be: they do not become the first class."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (6000, 1))
    labels = [float("nan") if x > 0.5 else "b" if x > 0.0 else "a" for x in X[:, 0]]
    model = hush.learn.LogisticRegression(epsilon=50.0, delta=1e-6, bounds=(-1, 1), classes="private").fit(X, labels)
    assert model.classes_.tolist() == ["a", "b"]
    assert model.coef_[0, 0] > 1.8  # about 2.7; as rows of the first class they made it 1.1
