"""Private choice among settings: the law of the number of runs, the theorem, the accounting, and what is shown."""

from __future__ import annotations

import itertools
import math
import pickle
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learn import small_fits as small
from scipy.special import log_ndtr, logsumexp
from scipy.stats import chi2
from sklearn.base import clone, is_classifier, is_regressor

import hush
from hush import BudgetExceeded, InvalidParameter, Ledger, Sensitivity, Staircase, Unsupported
from hush.errors import HushError
from hush.learn import ElasticNet, GaussianNB, LogisticRegression, PrivateSearchCV, Ridge, holdout_score
from hush.learn import search as searching
from hush.learn.selection import Runs, any_of, apart, largest_base, run_divergence, split
from hush.learn.training import plan
from hush.ledger.payment import Draws
from hush.noise.selection import Selection
from hush.privacy.charge import Charge
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy

FALSE_ALARM = 1e-6
LAWS = [(2.0, 0.0), (8.0, 0.0), (4.0, -0.5), (5.0, 1.0), (6.0, 0.3), (3.0, 3.0)]


def rows(count: int = 400):
    numbers = np.random.default_rng(5)
    X = numbers.uniform(-1.0, 1.0, (count, 3))
    return X, X @ [1.0, 0.0, -1.0], (X[:, 0] > 0.0).astype(int)


def classifier(**more):
    return LogisticRegression(**({"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "passes": 2} | more))


def regressor(**more):
    return Ridge(**({"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "target_bounds": (-2, 2), "passes": 2} | more))


class Repeated(DeterministicTestEntropy):
    """The same bits again, under a false name: what is learned from is made up here."""

    secure = True


def masses(law: Runs, count: int) -> np.ndarray:
    """P(K = k) for k = 1 .. count, by the product in Definition 1 of the paper, term by term."""
    found, product = [], 1.0
    for k in range(1, count + 1):
        if law.eta == 0.0:
            found.append((1.0 - law.gamma) ** k / (k * math.log(1.0 / law.gamma)))
        else:
            product *= (k - 1 + law.eta) / k
            found.append((1.0 - law.gamma) ** k / (law.gamma**-law.eta - 1.0) * product)
    return np.array(found)


# -- the law of the number of runs ---------------------------------------------------------------------------


@pytest.mark.parametrize(("tries", "eta"), LAWS)
def test_the_law_adds_up_and_has_the_mean_that_was_asked_for(tries, eta):
    law = Runs.expected(tries, eta)
    p = masses(law, 20_000)
    assert math.fsum(p) == pytest.approx(1.0, abs=1e-9)
    assert math.fsum(p * np.arange(1, p.size + 1)) == pytest.approx(tries, rel=1e-6)
    assert law.mean == pytest.approx(tries, rel=1e-9)


@pytest.mark.parametrize(("tries", "eta"), LAWS)
def test_quantiles_are_those_of_the_law_and_doubt_is_said(tries, eta):
    law = Runs.expected(tries, eta)
    edges = np.cumsum(masses(law, 50))
    for number in np.linspace(0.001, 0.97, 40):
        if np.abs(edges - number).min() > 1e-9:
            assert law.quantile(int(number * 2**64), 64) == int(np.searchsorted(edges, number)) + 1
    assert (
        law.quantile(0, 1) is None or edges[0] > 0.5
    )  # half of all numbers do not decide unless the first run has them
    first = int(edges[0] * 2**20)
    assert law.quantile(first, 20) is None  # the edge itself lies inside: more bits are needed


@pytest.mark.parametrize(("tries", "eta"), [(4.0, 0.0), (4.0, -0.5), (4.0, 1.0)])
def test_draws_follow_the_law_and_no_near_one(tries, eta):
    law, bits, count = Runs.expected(tries, eta), SecureEntropy().begin(), 20_000
    seen = np.bincount([min(law.draw(bits), 12) for _ in range(count)], minlength=13)[1:]

    def distance(other: Runs) -> float:
        p = masses(other, 11)
        p = np.append(p, 1.0 - p.sum()) * count
        return float(np.sum((seen - p) ** 2 / p))

    limit = chi2.isf(FALSE_ALARM, 11)
    assert distance(law) < limit
    assert distance(Runs.expected(tries * 1.5, eta)) > limit
    assert distance(Runs.expected(max(tries / 1.5, 1.1), eta)) > limit


# -- the theorem, against exact laws -------------------------------------------------------------------------


def power_divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(logsumexp(order * np.log(p) + (1.0 - order) * np.log(q))) / (order - 1.0)


def best_of(law: Runs, p: np.ndarray) -> np.ndarray:
    """The exact law of the best of K draws from p, whose points are in order: F -> E[F^K]."""

    def generating(x: np.ndarray) -> np.ndarray:
        if law.eta == 0.0:
            return np.log1p(-(1.0 - law.gamma) * x) / math.log(law.gamma)
        return ((1.0 - (1.0 - law.gamma) * x) ** -law.eta - 1.0) / (law.gamma**-law.eta - 1.0)

    return np.diff(generating(np.concatenate([[0.0], np.minimum(np.cumsum(p), 1.0)])))


weights = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4).map(lambda w: np.array(w) / sum(w))


@given(weights, weights, st.sampled_from(LAWS), st.sampled_from([1.2, 2.0, 5.0, 30.0]))
def test_no_pair_of_laws_passes_the_bound(p, q, law, order):
    runs = Runs.expected(*law)
    bound = runs.divergence(lambda a: power_divergence(p, q, a))
    assert power_divergence(best_of(runs, p), best_of(runs, q), order) <= bound(order) + 1e-12


@given(weights, weights, st.sampled_from(LAWS))
def test_pure_runs_cost_two_plus_eta(p, q, law):
    runs = Runs.expected(*law)
    one = float(np.abs(np.log(p / q)).max())
    whole = float(np.abs(np.log(best_of(runs, p) / best_of(runs, q))).max())
    assert whole <= (2.0 + runs.eta) * one + 1e-9
    assert (2.0 + runs.eta) * runs.pure(1.0) <= 1.0


def test_the_cost_is_real_and_the_bound_near_it():
    """Choosing can double a pure epsilon, so that charging one run alone would be wrong."""
    runs, one = Runs.expected(1000.0, 0.0), 0.5
    top, middle = 0.05, 1e-6
    p = np.array([1.0 - middle * math.exp(one) - top * math.exp(-one), middle * math.exp(one), top * math.exp(-one)])
    q = np.array([1.0 - middle - top, middle, top])
    assert np.abs(np.log(p / q)).max() == pytest.approx(one)
    assert 1.95 * one < np.abs(np.log(best_of(runs, p) / best_of(runs, q))).max() <= 2.0 * one


# -- the accounting ------------------------------------------------------------------------------------------


def gaussian_delta(mu: float, epsilon: float) -> float:
    return math.exp(log_ndtr(mu / 2 - epsilon / mu)) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def by_hand(mu: float, law: Runs, delta: float) -> float:
    """Theorem 2 for a Gaussian run of D(a) = a mu^2/2, with the best b in closed form, and the conversion on a grid
    of orders.
    """
    rho, log = 0.5 * mu * mu, -math.log(law.gamma)
    b = max(1.0, math.sqrt(log / rho))
    extra = (1.0 + law.eta) * ((b - 1.0) * rho + log / b)
    a = 1.0 + np.geomspace(1e-2, 1e5, 20_000)
    mean = math.fsum(masses(law, 4000) * np.arange(1, 4001))
    return float(
        np.min(a * rho + extra + math.log(mean) / (a - 1) + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1))
    )


@pytest.mark.parametrize(("size", "left"), [(4, 0.553), (16, 0.490)])
def test_what_is_left_for_one_run(size, left):
    """The numbers of the docstring, and the whole recomputed from one run's Gaussian amount."""
    X, _, y = rows()
    grid = {"C": list(np.geomspace(0.01, 1.0, size))}
    search = PrivateSearchCV(classifier(), grid, epsilon=1.0, delta=1e-6)
    first = search._model({})
    first._checked(X, y)
    made = search._scheme([{"C": c} for c in grid["C"]], first, len(y))
    assert made.base == pytest.approx(left, abs=0.002)
    low, high = 1e-3, 10.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if gaussian_delta(middle, made.base) < 1e-6 else (low, middle)
    assert by_hand(low, made.runs, 1e-6) <= 1.0
    assert by_hand(1.002 * low, made.runs, 1e-6) > 1.0


def test_a_run_is_as_bad_as_its_worst_candidate_and_part():
    small, large = (
        (Charge(hush.Gaussian(4.0), Sensitivity(linf=1.0, l0=1), times=3),),
        (Charge(hush.Gaussian(1.0), Sensitivity(l2=2.0), times=2),),
    )
    both = run_divergence([small, large])
    assert both(3.0) == pytest.approx(2 * 3.0 * 4.0 / 2.0, rel=1e-9)
    assert run_divergence([small])(3.0) == pytest.approx(3 * 3.0 / 32.0, rel=1e-9)
    l1 = run_divergence([(Charge(hush.Laplace(2.0), Sensitivity(l1=3.0)),)])
    assert l1(4.0) == pytest.approx(hush.renyi(hush.Laplace(2.0), 4.0, 3.0), rel=1e-9)
    with pytest.raises(Unsupported, match="no Renyi divergence"):
        run_divergence([(Charge(hush.TruncatedLaplace(2.0, 30.0), Sensitivity(linf=1.0, l0=1)),)])(2.0)


def test_the_base_is_never_on_the_wrong_side():
    asked = []

    def fits(base: float) -> bool:
        asked.append(base)
        return base < 0.123

    assert 0.1229 < largest_base(fits, 1.0) < 0.123
    with pytest.raises(Unsupported, match="fewer tries"):
        largest_base(lambda base: False, 1.0)


@pytest.mark.parametrize(
    "model",
    [
        classifier(),
        regressor(),
        pytest.param(regressor(family="laplace", solver="gd"), marks=pytest.mark.exhaustive),
        classifier(solver="statistics", passes=None),
        regressor(n_features_to_keep=1),  # the choice of a column costs more than the score
    ],
)
def test_every_candidate_and_the_score_fit_the_budget(model):
    X, y, labels = rows()
    search = PrivateSearchCV(model, {"fit_intercept": [True, False]}, epsilon=2.0, delta=1e-5, tries=3.0)
    first = search._model({})
    first._checked(X, labels if is_classifier(model) else y)
    made = search._scheme([{"fit_intercept": True}, {"fit_intercept": False}], first, len(y))
    for one in made.models:
        charges = plan(one._request_for(made.kept), made.kept).charges
        assert any(isinstance(charge.noise, Selection) for charge in charges) == (one.n_features_to_keep == 1)
        assert made.runs.epsilon(run_divergence([charges, (made.score.charge,)]), 1e-5) <= 2.0
        assert one.epsilon == made.base < 2.0
    assert made.kept + made.held == len(y)


def test_delta_zero_divides_epsilon():
    X, y, _ = rows()
    search = PrivateSearchCV(regressor(), {"alpha": [0.1, 1.0]}, epsilon=30.0, delta=0.0, eta=1.0, tries=2.0).fit(X, y)
    assert search.receipt_["epsilon_of_one_run"] == pytest.approx(10.0)
    assert search.receipt_["score"]["noise"]["family"] == "laplace"


# -- the score moves by what is paid for ---------------------------------------------------------------------


def exact_score(model, rows, target):
    """The score without its noise."""
    with patch.object(Draws, "add", lambda draws, steps: steps):
        return holdout_score.noisy_score(
            model, rows, target, holdout_score.score_mechanism(model, 1.0, 1e-6), None, len(rows)
        )


@pytest.mark.parametrize("classes", [1, 3])
def test_the_score_of_a_row_does_not_depend_on_its_place(classes):
    """One row more or less moves the others to other places. A matrix product rounds some of them differently."""
    numbers = np.random.default_rng()
    held, model = numbers.normal(size=(203, 40)), classifier()
    model.coef_, model.intercept_ = numbers.normal(size=(classes, 40)), numbers.normal(size=classes)
    model.limits_ = np.tile([-2.0, 2.0], (40, 1))
    seen = holdout_score.margins(model, held)
    assert seen.shape == ((203,) if classes == 1 else (203, 3))
    np.testing.assert_allclose(seen, model._linear(held), atol=1e-12)
    for start, end in itertools.product(range(8), (100, 201, 202, 203)):
        np.testing.assert_array_equal(holdout_score.margins(model, held[start:end]), seen[start:end])


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6), st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_one_row_moves_a_score_by_at_most_its_bound(values, x, y):
    held, target = np.array(values).reshape(6, 1), np.array(values)[::-1].copy()
    model = Ridge(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-3, 5))
    model.limits_, model.coef_, model.intercept_ = np.array([[-1.0, 1.0]]), np.array([7.0]), -2.0
    other, goal = held.copy(), target.copy()
    other[2], goal[2] = x, y
    moved = exact_score(model, held, target) - exact_score(model, other, goal)
    assert abs(moved) * 6 / 4.0 <= 1.0 + 1e-12  # errors are limited to a quarter of 8
    sorter = classifier()
    sorter.limits_, sorter.coef_, sorter.intercept_, sorter.classes_ = (
        model.limits_,
        model.coef_,
        -2.0,
        np.array([0, 1]),
    )
    labels, swapped = (target > 0).astype(int), (goal > 0).astype(int)
    moved = exact_score(sorter, held, labels) - exact_score(sorter, other, swapped)
    assert abs(moved) * 6 <= 1.0 + 1e-12


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_row_is_in_one_part_of_every_run_and_moves_it_within_its_bound(kind):
    """With the released numbers made equal, neighbours give the same winner; either the training or the scores saw
    the exchange.
    """
    X, y, labels = rows(40)
    y = labels if kind == "classifier" else y

    def searched(X, y):
        seen, numbers = [], np.random.default_rng(1)

        def answer(made, steps):
            seen.append((made, np.array(steps, dtype=np.int64).ravel()))
            return np.rint(numbers.normal(size=np.shape(steps)) * math.sqrt(made.noise.variance) / made.step).astype(
                np.int64
            )

        model = classifier(family="laplace") if kind == "classifier" else regressor(solver="cd", family="laplace")
        search = PrivateSearchCV(model, {"fit_intercept": [True, False]}, epsilon=9.0, delta=0.0, tries=6.0)
        search.entropy = Repeated(4)
        with patch.object(Draws, "add", lambda draws, steps: answer(draws.mechanism, steps)):
            search.fit(X, y)
        return search, seen

    reach = 1.0 if kind == "classifier" else float(holdout_score._GRAIN)
    first, one = searched(X, y)
    sides = set()
    for place in range(0, 40, 3):
        other, goal = X.copy(), y.copy()
        if kind == "regressor":
            other[place] = -X[place]
        goal[place] = 1 - y[place] if kind == "classifier" else -2.0
        second, two = searched(other, goal)
        assert first.best_params_ == second.best_params_ and first.best_score_ == second.best_score_
        assert np.array_equal(first.best_estimator_.coef_, second.best_estimator_.coef_)
        moved = []
        for (made, steps), (again, others) in zip(one, two, strict=True):
            assert made == again
            bound, move = made.sensitivity_on_lattice, (steps - others) * made.step
            assert bound.l1 is None or np.abs(move).sum() <= bound.l1
            assert bound.linf is None or np.abs(move).max() <= bound.linf
            if move.any():
                moved.append(made.sensitivity.linf == reach)
        assert len(set(moved)) <= 1
        sides |= set(moved)
    assert sides == {True, False}  # some rows were held out, some were not


def test_scores_are_what_they_are_called():
    X, y, labels = rows()
    model = regressor()
    model.limits_, model.coef_, model.intercept_ = np.array([[-1.0, 1.0]] * 3), np.array([1.0, 0.0, -0.5]), 0.1
    score = exact_score(model, X, y)
    assert score == pytest.approx(-np.mean((X @ model.coef_ + 0.1 - y) ** 2), rel=1e-4)
    sorter = classifier()
    sorter.limits_, sorter.coef_, sorter.intercept_, sorter.classes_ = (
        model.limits_,
        np.array([[1.0, 0.0, 0.0]]),
        0.0,
        np.array([0, 1]),
    )
    assert exact_score(sorter, X, labels) == 1.0


def test_the_split_is_by_position_and_covers_every_row_once():
    bits = DeterministicTestEntropy(3).begin()
    kept, held = split(bits, 50, 10)
    assert sorted([*kept, *held]) == list(range(50)) and len(held) == 10
    again, _ = split(bits, 50, 10)
    assert list(again) != list(kept)
    assert sorted({any_of(bits, 3) for _ in range(100)}) == [0, 1, 2]


# -- the search itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_it_finds_the_setting_that_matters(kind, monkeypatch):
    """With as many runs as here both settings are tried: all 30 alike has probability 2^-29."""
    monkeypatch.setattr(Runs, "draw", lambda self, bits: 30)
    X, y, labels = rows(4000)
    if kind == "classifier":
        search = PrivateSearchCV(classifier(), {"C": [1e-9, 1.0]}, epsilon=20.0, delta=1e-6, tries=40.0).fit(X, labels)
        assert search.best_params_ == {"C": 1.0} and search.score(X, labels) > 0.9
        assert search.best_score_ == pytest.approx(search.score(X, labels), abs=0.05)
        assert search.predict_proba(X).shape == (4000, 2) and list(search.classes_) == [0, 1]
        assert search.decision_function(X).shape == (4000,) and is_classifier(search)
    else:
        search = PrivateSearchCV(regressor(), {"alpha": [1e9, 1e-3]}, epsilon=20.0, delta=1e-6, tries=40.0).fit(X, y)
        assert search.best_params_ == {"alpha": 1e-3} and search.score(X, y) > 0.9
        assert not hasattr(search, "predict_proba") and is_regressor(search)
    assert search.guarantee_.epsilon == 20.0 and search.guarantee_.holds
    assert search.best_estimator_.guarantee_ == search.guarantee_
    assert search.best_estimator_.receipt_.guarantee.epsilon == 20.0


def test_only_the_winner_is_kept(monkeypatch):
    """Neither the number of runs nor any other run can be read off a fitted search; the rows are not in it either."""
    X, y, _ = rows()
    marker = 0.123456789
    X[7, 1] = marker
    grid = {"alpha": [0.1, 1.0]}
    kept = []
    for count in (1, 23):
        monkeypatch.setattr(Runs, "draw", lambda self, bits, count=count: count)
        search = PrivateSearchCV(regressor(), grid, epsilon=2.0, delta=1e-6).fit(X, y)
        assert set(vars(search)) - set(search.get_params(deep=False)) == {
            *("best_estimator_", "best_params_", "best_score_", "guarantee_", "receipt_", "n_features_in_")
        }
        assert np.float64(marker).tobytes() not in pickle.dumps(search)
        kept.append(search)
    for one in kept:
        one.receipt_ = one.receipt_ | {"time": ""}
        one.best_estimator_.receipt_ = one.best_estimator_.receipt_ | {"time": ""}
    assert kept[0].receipt_ == kept[1].receipt_  # nothing in it depends on how many runs there were
    changing = {"coef_", "intercept_", "trace_", "limits_", "receipt_", "centre_", "spread_"}
    first, second = (vars(one.best_estimator_) for one in kept)
    assert {
        name for name in first if name not in changing and name != "alpha" and repr(first[name]) != repr(second[name])
    } == set()


def test_the_ledger_is_charged_once_and_before_any_bit(monkeypatch):
    X, y, _ = rows()
    ledger = Ledger(None, epsilon=1.5, delta=1e-5)

    class Watched:
        secure = True

        def begin(self):
            assert len(ledger.entries) == 1, "drawn before it was paid for"
            return SecureEntropy().begin()

    search = PrivateSearchCV(
        regressor(), {"alpha": [0.1, 1.0]}, epsilon=1.0, delta=1e-6, ledger=ledger, entropy=Watched()
    )
    search.fit(X, y)
    assert len(ledger.entries) == 1 and "with the best of 2 settings" in ledger.entries[0].about
    assert ledger.entries[0].extra_delta == 1e-6 and ledger.entries[0].charges[0].noise == Staircase(
        1.0, 1.0, gamma=0.5
    )
    assert ledger.entries[0].epsilon == 1.0 and ledger.spent.epsilon <= 1.0 + 1e-9
    assert search.receipt_["ledger"]["number"] == 1
    other = clone(search)
    assert other.ledger is ledger and other.entropy is search.entropy
    with pytest.raises(BudgetExceeded):
        other.fit(X, y)
    assert not hasattr(other, "best_estimator_") and len(ledger.entries) == 1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_charge_is_the_worst_that_any_private_algorithm_can_be(epsilon):
    """Staircase noise with gamma 1/2 has the curve of randomised response, (e^epsilon - e^x)/(1 + e^epsilon)."""
    made = hush.curve(Staircase(epsilon, 1.0, gamma=0.5), 1.0)
    for x in np.linspace(0.0, epsilon, 7)[:-1]:
        want = (math.exp(epsilon) - math.exp(x)) / (1.0 + math.exp(epsilon))
        assert float(made.delta(float(x))) == pytest.approx(want, rel=1e-12)
    assert made.pure_epsilon == pytest.approx(epsilon, rel=1e-12)
    assert float(made.delta(epsilon * (1.0 + 1e-9))) == 0.0


def test_scikit_learn_ways():
    X, y, _ = rows()
    search = PrivateSearchCV(regressor(), {"alpha": [0.1, 1.0]}, epsilon=1.0, delta=1e-6)
    twin = clone(search)
    assert twin.get_params(deep=False).keys() == search.get_params(deep=False).keys()
    assert twin.set_params(estimator__alpha=3.0).estimator.alpha == 3.0 and search.estimator.alpha == 1.0
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    search.set_params(estimator__bounds={"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)}).fit(frame, y)
    assert list(search.feature_names_in_) == ["a", "b", "c"] and search.predict(frame).shape == y.shape
    with pytest.raises(Exception, match="not fitted"):
        twin.predict(X)


@pytest.mark.parametrize("name", ["epsilon", "delta", "ledger", "bounds", "target_bounds", "warm_start", "entropy"])
def test_promises_are_not_searched_over(name):
    X, y, _ = rows()
    with pytest.raises(Unsupported, match=f"{name} cannot be searched"):
        PrivateSearchCV(regressor(), {name: [1]}, epsilon=1.0, delta=1e-6).fit(X, y)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"estimator": object()}, "Ridge, Lasso or ElasticNet of hush.learn"),
        (
            {"estimator": GaussianNB(epsilon=1.0, delta=1e-6, bounds=(-1, 1))},
            "estimator must be LogisticRegression, Ridge",
        ),
        ({"param_grid": {"alfa": [1.0]}}, "parameters of Ridge"),
        ({"param_grid": {"alpha": []}}, "param_grid"),
        ({"param_grid": 3}, "param_grid"),
        ({"param_grid": []}, "param_grid"),
        ({"param_grid": {"scaling": ["paper"]}}, "no privacy guarantee"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"holdout": 0.0}, "holdout"),
        ({"tries": 1.0}, "tries"),
        ({"eta": -1.0}, "eta"),
        ({"verbose": -1}, "verbose"),
        ({"ledger": 3}, "ledger"),
        ({"estimator": regressor(scaling="paper")}, "no privacy guarantee"),
        ({"estimator": regressor(warm_start=True)}, "pays for all runs"),
        ({"estimator": regressor(ledger=Ledger(None, epsilon=1.0, delta=1e-6))}, "pays for all runs"),
        ({"estimator": classifier(classes="private")}, "write classes"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(changed, words):
    X, y, _ = rows(50)
    settings = {"estimator": regressor(), "param_grid": {"alpha": [1.0]}, "epsilon": 1.0, "delta": 1e-6} | changed
    with pytest.raises(HushError, match=words) as failure:
        PrivateSearchCV(settings.pop("estimator"), settings.pop("param_grid"), **settings).fit(X, y)
    assert str(failure.value).endswith(".") and "\n" not in str(failure.value)


def test_too_few_rows_and_wrong_labels_cost_nothing():
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameter, match="too few"):
        PrivateSearchCV(regressor(), {"alpha": [1.0]}, epsilon=1.0, delta=1e-6, ledger=ledger).fit(
            [[0.1], [0.2]], [0.0, 1.0]
        )
    with pytest.raises(InvalidParameter, match="classes"):
        PrivateSearchCV(classifier(), {"C": [1.0]}, epsilon=1.0, delta=1e-6, ledger=ledger).fit(
            [[0.1]] * 9, ["a", "b", "a"] * 3
        )
    assert ledger.entries == ()


def test_elastic_net_too():
    X, y, _ = rows(2000)
    model = ElasticNet(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2), passes=3)
    grid = [{"alpha": [0.001], "l1_ratio": [0.0, 1.0]}, {"alpha": [1.5]}]
    search = PrivateSearchCV(model, grid, epsilon=10.0, delta=1e-6, eta=-0.5, tries=5.0).fit(X, y)
    assert (
        set(search.best_params_) <= {"alpha", "l1_ratio"}
        and search.best_params_["alpha"] == search.best_estimator_.alpha
    )


def test_a_search_counts_neighbours_as_a_fit_does():
    X, y, _ = small.rows()
    paid = small.ledger()
    small.ridge(ledger=paid, passes=1).fit(X, y)
    small.search(ledger=paid).fit(X, y)
    assert [entry.charges[0].neighbours for entry in paid.entries] == ["replace", "replace"]
    other = small.ledger()
    hush.release(3, hush.calibrate(1.0, 1e-6), ledger=other)
    with pytest.raises(HushError, match="neighbours"):
        small.search(ledger=other).fit(X, y)
    assert len(other.entries) == 1


def test_a_search_has_one_entropy():
    X, y, _ = small.rows()
    with pytest.raises(Unsupported, match="give entropy= to PrivateSearchCV"):
        small.search(small.ridge(entropy=hush.sampling.entropy.SecureEntropy())).fit(X, y)


def test_a_score_is_a_whole_number_whatever_a_model_says():
    def add(draws, steps):
        value = draws.mechanism.value_of(steps)[0]
        assert 0 <= value <= 4 * 2**20 and value == int(value)
        return steps

    model = small.ridge()
    model.limits_, model.coef_ = np.array([[-1.0, 1.0]]), np.array([1.0])
    for intercept in (math.nan, math.inf, -math.inf):
        model.intercept_ = intercept
        with patch.object(Draws, "add", add):
            assert np.isfinite(
                holdout_score.noisy_score(
                    model, np.zeros((4, 1)), np.zeros(4), holdout_score.score_mechanism(model, 1.0, 1e-6), None, 4
                )
            )


def test_an_empty_list_of_settings_is_refused():
    X, y, _ = small.rows()
    with pytest.raises(InvalidParameter, match="at least one"):
        PrivateSearchCV(small.ridge(), [], epsilon=1.0, delta=1e-6).fit(X, y)


def test_a_search_whose_number_of_rows_is_hidden():
    """Two entries that add up to the budget; each row has a coin of its own."""
    X, y, _ = small.rows(400)
    paid = small.ledger()
    model = small.ridge(neighbours="add-remove", passes=1)
    found = small.search(model, ledger=paid, epsilon=2.0).fit(X, y)
    assert [entry.epsilon for entry in paid.entries] == [pytest.approx(0.06), pytest.approx(1.94)]
    assert math.fsum(entry.epsilon for entry in paid.entries) <= 2.0 == found.guarantee_.epsilon
    for one in (found, found.best_estimator_):
        assert one.guarantee_.neighbours == "add-remove" and one.receipt_["started_from"] == [1]
        assert "the number of rows that it uses" in str(hush.report.statement(one, ledger=paid))
    assert found.best_estimator_.receipt_["public"][0] == "the number of features"
    declared = small.search(model, epsilon=2.0).fit(X, y, n_rows=400)
    assert declared.receipt_["cost"].endswith("on 320 of 400 rows") and declared.receipt_["row_count"] is None
    with pytest.raises(Unsupported, match="n_rows= is for a table"):
        small.search(epsilon=2.0).fit(X, y, n_rows=400)
    with pytest.raises(Unsupported, match="must be the same in all runs"):
        small.search(model, {"neighbours": ["replace"]}).fit(X, y)


def test_coins_of_rows_do_not_depend_on_the_number_of_rows():
    """4,000 coins of 0.2: their mean is within 0.043 of it but for less than once in a million (Hoeffding)."""
    (less, held), (more, others) = (apart(DeterministicTestEntropy(5).begin(), n, 0.2) for n in (3999, 4000))
    assert set(less) == set(more) - {3999} and set(held) == set(others) - {3999}
    _, fresh = apart(SecureEntropy().begin(), 4000, 0.2)
    assert abs(fresh.size / 4000 - 0.2) < 0.043


def test_rows_more_join_one_part_of_a_search_and_move_no_other(monkeypatch):
    X, y, _ = small.rows(400)
    seen, fitted, scored = [], Ridge._fitted, searching.noisy_score

    def fit(model, rows, *more, **named):
        seen.append(set(map(bytes, rows)))
        return fitted(model, rows, *more, **named)

    def score(model, rows, *more):
        seen.append(set(map(bytes, rows)))
        return scored(model, rows, *more)

    monkeypatch.setattr(Ridge, "_fitted", fit)
    monkeypatch.setattr(searching, "noisy_score", score)
    for count in (360, 400):
        model = small.search(small.ridge(neighbours="add-remove", passes=1), epsilon=2.0, entropy=Repeated(4))
        model.fit(X[:count], y[:count], n_rows=400)
    half = len(seen) // 2  # with the same bits, the same number of runs
    for less, more in zip(seen[:half], seen[half:], strict=True):
        assert less <= more
    assert len(seen[-1]) + len(seen[-2]) == 400 and len(seen[0]) + len(seen[1]) == 360
