"""What attackers of the room found, so that it stays mended: promises, charges, leaks before the charge, and what is
refused.
"""

from __future__ import annotations

import math
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import hush
from hush import Ledger, Sensitivity, compose
from hush.errors import BudgetExceeded, HushError, InvalidParameter, Unsupported
from hush.learn import LogisticRegression, PrivateSearchCV, Ridge, scaling
from hush.learn import model as room
from hush.learn.budget import allot
from hush.learn.descent import updates_wish
from hush.learn.scaling import moments_wish
from hush.learn.search import _noisy_score, _score_mechanism
from hush.ledger.payment import Draws
from hush.sampling.entropy import DeterministicTestEntropy


def rows(count: int = 200):
    numbers = np.random.default_rng(31)
    X = numbers.uniform(-1.0, 1.0, (count, 3))
    return X, X @ [1.0, 0.5, -1.0], (X[:, 0] > 0.0).astype(int)


def ridge(**changed):
    settings = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "bounds": (-1, 1),
        "target_bounds": (-3, 3),
        "solver": "cd",
        "noise": "gaussian",
    }
    return Ridge(**(settings | changed))


def logistic(**changed):
    return LogisticRegression(
        **({"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "solver": "cd", "noise": "gaussian"} | changed)
    )


def ledger(epsilon: float = 50.0, delta: float = 1e-3, **more) -> Ledger:
    return Ledger(None, epsilon=epsilon, delta=delta, **more)


def search(model=None, grid=None, **changed):
    return PrivateSearchCV(
        model or ridge(), grid or {"alpha": [0.1, 1.0]}, **({"epsilon": 1.0, "delta": 1e-6, "tries": 1.5} | changed)
    )


# -- promises ------------------------------------------------------------------------------------------------


def test_a_warm_start_promises_for_all_fits_it_comes_from():
    X, y, _ = rows()
    paid = ledger()
    model = ridge(warm_start=True, ledger=paid, passes=2)
    model.fit(X, y)
    assert model.guarantee_.epsilon == 1.0 and model.receipt_["started_from"] == []
    model.set_params(epsilon=2.0, delta=1e-7).fit(X, y)
    whole = model.guarantee_
    assert model.receipt_["started_from"] == [1] and whole.delta == pytest.approx(1.1e-6) and 2.0 < whole.epsilon < 3.0
    together = compose([charge for entry in paid.entries for charge in entry.charges])
    assert float(together.delta(whole.epsilon)) <= whole.delta < float(together.delta(whole.epsilon * 0.999))
    assert "this fit and those it started from (ledger entries 1) together" in str(whole)
    assert model.receipt_.guarantee == whole
    assert model.receipt_["this_fit"] == {"epsilon": 2.0, "delta": 1e-7}
    model.fit(X, y)
    assert model.receipt_["started_from"] == [1, 2] and model.guarantee_.epsilon > whole.epsilon
    model.set_params(warm_start=False).fit(X, y)
    assert model.receipt_["started_from"] == [] and model.guarantee_.epsilon == 2.0


def test_warm_starts_without_a_plan_add_up():
    """In an adaptive ledger budgets may depend on earlier answers: the sum holds in any case. So it does with
    delta = 0.
    """
    X, y, _ = rows()
    model = ridge(warm_start=True, ledger=ledger(mode="adaptive"), passes=2).fit(X, y).fit(X, y)
    assert model.guarantee_.epsilon == 2.0 and model.guarantee_.delta == 2e-6
    model = ridge(warm_start=True, ledger=ledger(delta=0.0), delta=0.0, noise="laplace", passes=2).fit(X, y).fit(X, y)
    assert 1.99 < model.guarantee_.epsilon <= 2.0 and model.guarantee_.delta == 0.0


def test_a_warm_start_from_a_search_counts_the_search():
    X, y, _ = rows()
    paid = ledger()
    best = search(ledger=paid).fit(X, y).best_estimator_
    best.set_params(warm_start=True, ledger=paid, epsilon=1.0).fit(X, y)
    assert (
        best.receipt_["started_from"] == [1] and 1.2 < best.guarantee_.epsilon <= 2.0 and best.guarantee_.delta == 2e-6
    )


def test_a_search_counts_neighbours_as_a_fit_does():
    X, y, _ = rows()
    paid = ledger()
    ridge(ledger=paid, passes=1).fit(X, y)
    search(ledger=paid).fit(X, y)
    assert [entry.charges[0].neighbours for entry in paid.entries] == ["replace", "replace"]
    other = ledger()
    hush.release(3, hush.calibrate(1.0, 1e-6), ledger=other)
    with pytest.raises(HushError, match="neighbours"):
        search(ledger=other).fit(X, y)
    assert len(other.entries) == 1


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.3, 7.7, 1e3, 1e6])
def test_pure_epsilon_never_passes_the_promise(epsilon):
    from hush.learn.defaults import setting
    from hush.learn.objective import SQUARED

    chosen = setting(SQUARED, 0.1, 3, solver="cd", passes=7, step=None, clip=None)
    wishes = (moments_wish(4, 0.3), updates_wish(2.0**20, 3, chosen, 0.7))
    parts = allot(epsilon, 0.0, wishes, noise="auto", accounting="exact")
    assert compose([part.charge for part in parts]).pure_epsilon <= epsilon


@pytest.mark.parametrize("solver", ["statistics", "cd", "gd"])
def test_a_ledger_takes_every_pure_fit(solver):
    X, y, _ = rows(50)
    for epsilon, share in ((0.7, 0.9), (1e6, 0.25)):
        paid = ledger(epsilon=epsilon, delta=0.0)
        model = ridge(epsilon=epsilon, delta=0.0, solver=solver, noise="auto", ledger=paid, scaling_share=share).fit(
            X, y
        )
        assert model.guarantee_.epsilon == epsilon and len(paid.entries) == 1


# -- entropy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (DeterministicTestEntropy(1), Unsupported),
        (42, InvalidParameter),
        ("x", InvalidParameter),
        (np.random.default_rng(), InvalidParameter),
    ],
)
def test_entropy_that_is_not_secure_is_refused_before_the_charge(given, error):
    X, _, labels = rows()
    paid = ledger()
    models = [ridge(entropy=given, ledger=paid), ridge(entropy=given), logistic(entropy=given, ledger=paid)]
    for model in [*models, logistic(entropy=given, classes="private"), search(entropy=given, ledger=paid)]:
        with pytest.raises(error, match="entropy"):
            model.fit(X, labels)
        assert not hasattr(model, "guarantee_")
    assert paid.entries == ()


def test_a_search_has_one_entropy():
    X, y, _ = rows()
    with pytest.raises(Unsupported, match="give entropy= to PrivateSearchCV"):
        search(ridge(entropy=hush.sampling.entropy.SecureEntropy())).fit(X, y)


# -- ranges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((0.0, 1e-120), "at least 2e-100 apart"),
        ((0.0, 5e-324), "at least 2e-100 apart"),
        ((-1e120, 1e120), r"from -1e\+100 to 1e\+100"),
        ((0, 10**400), "pairs of numbers"),
        (("0", "1"), "pairs of numbers"),
        ([("0", 1.0)] * 3, "pairs of numbers"),
        ((1e9, 1e9 + 0.5), "at least 1e-9 of their size"),
        ((2.0, 1.0), "low below high"),
        ((1.0, 1.0), "low below high"),
    ],
)
def test_ranges_that_cannot_be_used_are_refused_in_plain_words(bounds, words):
    X, y, _ = rows(30)
    with pytest.raises(InvalidParameter, match=words):
        ridge(bounds=bounds).fit(X, y)
    with pytest.raises(InvalidParameter, match=words if isinstance(bounds, tuple) else "target_bounds"):
        ridge(target_bounds=bounds).fit(X, y)


def test_one_target_has_one_pair():
    with pytest.raises(InvalidParameter, match=r"one pair \(low, high\), got"):
        scaling.span_of("target_bounds", [(0, 1)] * 3, 1)


@pytest.mark.parametrize("ends", [(0.0, 2.1e-100), (-1e100, 1e100), (0.0, 1e100)])
@pytest.mark.parametrize("solver", ["cd", "gd", "statistics"])
def test_the_widest_and_narrowest_ranges_work(ends, solver):
    X, y, _ = rows(60)
    middle, half = sum(ends) / 2.0, ends[1] / 2.0 - ends[0] / 2.0
    with np.errstate(under="ignore"):
        model = ridge(target_bounds=ends, solver=solver).fit(X, middle + half * np.clip(y, -1, 1))
        assert np.isfinite(model.coef_).all() and np.isfinite(model.predict(X)).all()
        tried = search(ridge(target_bounds=ends, solver=solver)).fit(X, middle + half * np.clip(y, -1, 1))
        assert np.isfinite(tried.best_score_)


def test_a_score_is_a_whole_number_whatever_a_model_says():
    def add(draws, steps):
        value = draws.mechanism.value_of(steps)[0]
        assert 0 <= value <= 4 * 2**20 and value == int(value)
        return steps

    model = ridge()
    model.limits_, model.coef_ = np.array([[-1.0, 1.0]]), np.array([1.0])
    for intercept in (math.nan, math.inf, -math.inf):
        model.intercept_ = intercept
        with patch.object(Draws, "add", add):
            assert np.isfinite(
                _noisy_score(model, np.zeros((4, 1)), np.zeros(4), _score_mechanism(model, 1.0, 1e-6), None)
            )


# -- labels --------------------------------------------------------------------------------------------------

LABELS = {
    "words": np.array(["no", "yes"], dtype=object),
    "mixed": np.array(["no", 3], dtype=object),
    "halves": np.array([0.5, 1.5]),
    "none": np.array([None, "yes"], dtype=object),
}


@pytest.mark.parametrize("name", LABELS)
def test_private_labels_may_be_of_any_kind(name):
    X, _, y = rows(2000)
    given = LABELS[name][y]
    if given.dtype == object:
        given[0], given[1], given[2] = 7.5, ("a", "pair"), b"bytes"
    model = logistic(classes="private", epsilon=30.0, passes=3).fit(X, given)
    assert set(model.classes_) == set(LABELS[name]) and set(model.predict(X)) <= set(LABELS[name])
    assert np.mean(model.predict(X) == given) > 0.8
    plain = logistic(classes="private", epsilon=math.inf, noise="auto").fit(X[3:], given[3:])
    assert set(plain.classes_) == set(LABELS[name])
    with pytest.raises(InvalidParameter, match="two different labels, got 1"):
        logistic(classes="private", epsilon=math.inf, noise="auto").fit(X[3:], np.repeat(given[3:4], len(X) - 3))


def test_labels_that_nothing_can_count_are_no_labels():
    X, _, y = rows(2000)
    given = LABELS["words"][y]
    given[0], given[1] = [1, 2], {"a": 1}
    assert list(logistic(classes="private", epsilon=30.0, passes=3).fit(X, given).classes_) == ["no", "yes"]


def test_nothing_is_said_of_secret_labels_before_they_are_paid_for():
    """scikit-learn warns of many different labels and refuses numbers with fractions: both are facts about y."""
    X, y, labels = rows(100)
    empty = ledger(epsilon=1e-3, delta=1e-9)
    for given in (
        np.arange(100),
        y,
        labels,
        np.array([f"{value}" for value in y]),
        np.array([*"ab", 1, None] * 25, dtype=object),
    ):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with pytest.raises(BudgetExceeded) as failure:
                logistic(classes="private", ledger=empty).fit(X, given)
        assert seen == [] and "label" not in str(failure.value).replace("fit of", "")
    with pytest.raises(InvalidParameter, match="datetime64"):  # a type is public
        logistic(classes="private", ledger=empty).fit(X, np.full(100, np.datetime64("2020-01-01")))


def test_dates_are_no_targets_of_a_regression():
    X, y, _ = rows(50)
    paid = ledger()
    for given in (y.astype("datetime64[s]"), (1e6 * y).astype("timedelta64[s]"), np.array(["1.5"] * 50)):
        with pytest.raises(ValueError, match="y must hold numbers"):
            ridge(ledger=paid).fit(X, given)
        with pytest.raises(ValueError, match="y must hold numbers"):
            search(ledger=paid).fit(X, given)
    assert paid.entries == ()


# -- what is refused before the charge -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fit_intercept": "no"}, "fit_intercept must be True or False"),
        ({"fit_intercept": 2}, "fit_intercept must be True or False"),
        ({"fit_intercept": None}, "fit_intercept must be True or False"),
        ({"passes": 10**9}, "noisy numbers"),
        ({"passes": 1_250_001}, "noisy numbers"),
        ({"verbose": 3}, "verbose must be 0, 1 or 2"),
        ({"verbose": "loud"}, "verbose must be 0, 1 or 2"),
        ({"verbose": None}, "verbose must be 0, 1 or 2"),
        ({"verbose": 1.5}, "verbose must be 0, 1 or 2"),
        ({"solver": "statistics", "passes": 3}, "has no passes"),
        ({"solver": "statistics", "step": 0.5}, "has no step"),
        ({"solver": "statistics", "clip": 0.5}, "has no clip"),
        ({"delta": 0.0}, "gaussian noise has no pure epsilon"),
    ],
)
def test_refused_in_one_sentence_and_for_nothing(changed, words):
    X, y, _ = rows(50)
    paid = ledger()
    model = ridge(ledger=paid, **changed)
    with pytest.raises(HushError, match=words) as failure:
        model.fit(X, y)
    assert str(failure.value).endswith(".") and "\n" not in str(failure.value)
    assert paid.entries == () and not hasattr(model, "coef_") and not hasattr(model, "n_features_in_")


def test_fit_intercept_may_be_numpys():
    X, y, _ = rows(50)
    assert ridge(fit_intercept=np.bool_(False), passes=1).fit(X, y).intercept_ == 0.0


def test_a_warm_start_needs_the_columns_that_it_had():
    X, y, _ = rows()
    paid = ledger()
    model = ridge(ledger=paid, warm_start=True, passes=1).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="features"):
        model.fit(X[:, :2], y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = ridge(ledger=paid, warm_start=True, passes=1).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        named.fit(frame[["c", "b", "a"]], y)
    assert len(paid.entries) == 2 and np.array_equal(model.coef_, before) and model.n_features_in_ == 3


@pytest.mark.parametrize("make", [ridge, logistic])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(make, monkeypatch):
    X, y, labels = rows()
    y = y if make is ridge else labels
    fresh, used = make(), make().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    before = dict(vars(used))

    def interrupted(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "train", interrupted)
    for model in (fresh, used):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :2], y)
    assert vars(used) == before and list(used.feature_names_in_) == ["a", "b", "c"] and used.predict is not None
    assert not hasattr(fresh, "n_features_in_")


# -- what is shown -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "shown", "not_shown"),
    [
        ({"solver": "statistics"}, "pass 1 of 1", "of 20"),
        ({"epsilon": math.inf, "noise": "auto"}, "pass 2", "of 100000"),
        ({"passes": 3}, "pass 3 of 3", "of 20"),
    ],
)
@pytest.mark.parametrize("level", [1, 2])
def test_the_bar_tells_the_truth_and_ends_its_line(changed, shown, not_shown, level, capsys):
    X, y, _ = rows(60)
    ridge(verbose=level, **changed).fit(X, y)
    seen = capsys.readouterr().err
    assert shown in seen and not_shown not in seen and seen.endswith("\n") and not seen.endswith("\n\n")


@pytest.mark.parametrize("runs", [1, 9])
def test_a_search_says_when_it_starts_and_ends_and_no_more(runs, monkeypatch, capsys):
    from hush.learn.selection import Runs

    monkeypatch.setattr(Runs, "draw", lambda self, bits: runs)
    X, y, _ = rows()
    search(verbose=2).fit(X, y)
    assert capsys.readouterr().err == (
        "PrivateSearchCV: searching 2 settings, on 160 rows, scored on 40\nPrivateSearchCV: finished\n"
    )


def test_zcdp_accounting_takes_gaussian_noise_by_itself():
    X, y, _ = rows()
    model = ridge(noise="auto", accounting="zcdp").fit(X, y)
    assert {part["noise"]["family"] for part in model.receipt_["parts"]} == {"gaussian"}


def test_weights_and_noise_can_be_put_into_the_users_units():
    X, y, labels = rows()
    for solver in ("cd", "statistics"):
        model = ridge(epsilon=20.0, solver=solver, bounds=[(-1, 1), (-2, 2), (-3, 3)]).fit(X, y)
        own, height = model.spread_[:3], model.spread_[3]
        last = model.trace_["weights"][-1]
        np.testing.assert_allclose(last[:3] * height / own, model.coef_, rtol=1e-12)
        np.testing.assert_allclose(
            model.centre_[3] + height * last[3] - model.coef_ @ model.centre_[:3], model.intercept_, rtol=1e-9
        )
        assert all("lattice_step" in part and "step" not in part for part in model.receipt_["parts"])
    flat = ridge(scaling="public", winsorise=None, passes=1).fit(np.zeros((4000, 3)), np.zeros(4000))
    deviation = math.sqrt(flat.noise_.variance) * flat.receipt_["clip"][0] / (flat.receipt_["grain"] * 4000)
    assert (
        0.05 * deviation < flat.trace_["noisy_gradient"][0] < 20.0 * deviation
    )  # the length of four: shorter by a chance below 1e-6
    assert logistic(passes=1).fit(X, labels).spread_.shape == (3,)


def test_the_papers_scaling_says_what_it_takes():
    X, y, _ = rows()
    model = ridge(scaling="paper").fit(X, y)
    assert (
        not model.guarantee_.holds
        and "means and spreads" in model.guarantee_.reason
        and "smoothness" not in model.guarantee_.reason
    )


def test_an_empty_list_of_settings_is_refused():
    X, y, _ = rows()
    with pytest.raises(InvalidParameter, match="at least one"):
        PrivateSearchCV(ridge(), [], epsilon=1.0, delta=1e-6).fit(X, y)


def test_the_bound_of_a_charge_has_replaced_rows():
    X, _, labels = rows(1000)
    paid = ledger()
    logistic(classes="private", epsilon=20.0, passes=1, ledger=paid).fit(X, labels)
    assert {charge.neighbours for charge in paid.entries[0].charges} == {"replace"}
    assert Sensitivity(linf=1.0, l0=1).neighbours == "add-remove"  # what a bare 1.0 would have meant
