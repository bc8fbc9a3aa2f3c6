"""Models from noisy sums: naive Bayes, principal components and k-means."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.naive_bayes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from learn.sklearn_checks import must_pass
from learn.small_fits import must_meet_its_budget
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from hush import Gaussian, Ledger, report
from hush.errors import BudgetExceeded, HushError, InvalidParameter, Unsupported
from hush.learn import PCA, GaussianNB, KMeans
from hush.learn.k_means import cluster_sums, clusters_wish, grain_of, whole_rows
from hush.learn.naive_bayes import class_moments, class_moments_wish
from hush.learn.scaling import GRAIN, Span
from hush.learn.whole_sums import MOST_ROWS

IRIS, KINDS = load_iris(return_X_y=True)
OPEN = {"epsilon": math.inf, "delta": 0.0, "bounds": (0.0, 10.0)}
CLASSES = (0, 1, 2)
SPAN = Span(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
cell = st.one_of(st.floats(-2.0, 3.0), st.sampled_from([0.0, 1e-300, 1e150, -1e300, 1.0, -1.0]))

#: scikit-learn's checks use labels of their own, but the classes of a private model are declared.
OTHER = "the labels of the check are not the declared classes"
DECLARED = {"check_classifiers_classes": (InvalidParameter, OTHER), "check_classifiers_train": (AssertionError, OTHER)}
UNLABELLED = {"check_clustering": (AttributeError, "a fit releases no label of a row: labels_ would be one")}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        GaussianNB(epsilon=50.0, delta=1e-6, bounds=(-5, 5), classes=(-1, 0, 1, 2, 3), family="gaussian"),
        PCA(epsilon=50.0, delta=1e-6, bounds=(-5, 5), family="gaussian"),
        KMeans(epsilon=50.0, delta=1e-6, bounds=(-5, 5), family="gaussian", n_clusters=3),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    must_pass(estimator, check, DECLARED if isinstance(estimator, GaussianNB) else UNLABELLED)


def spread(count: int = 4000):
    """Three classes in two columns, and columns of which one follows the other."""
    numbers = np.random.default_rng(4)
    places = numbers.choice(3, count, p=(0.5, 0.3, 0.2))
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[places] + 0.5 * numbers.normal(size=(count, 2))
    return X, places


X, Y = spread()
NB = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-2.0, 4.0), "classes": CLASSES}
COMPONENTS = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-3.0, 5.0)}


# -- what a row moves ----------------------------------------------------------------------------------------


@given(
    arrays(np.float64, (6, 2), elements=cell),
    arrays(np.float64, 2, elements=cell),
    st.lists(st.integers(0, 2), min_size=7, max_size=7),
)
def test_the_sums_of_classes_move_by_at_most_what_is_paid_for(table, new, places):
    other, first = table.copy(), np.array(places[:6])
    other[2], second = new, first.copy()
    second[2] = places[6]
    one, two = class_moments(table, first, 3, SPAN), class_moments(other, second, 3, SPAN)
    wish, moved = class_moments_wish(2, 3), (one - two).astype(float)
    assert np.linalg.norm(moved) <= wish.bound.l2_bound and np.abs(moved).sum() <= wish.pure.l1
    assert one.dtype == np.int64 and one.size == wish.numbers and one[:, 0].sum() == 6 * int(GRAIN)


def test_the_bounds_of_classes_are_reached_by_brute_force():
    corners, made = list(itertools.product((-1.0, 0.0, 1.0), (0.0, 1.0, 2.0), range(3))), []
    for corner in corners:
        made.append(class_moments(np.array([corner[:2]]), np.array([corner[2]]), 3, SPAN).astype(float))
    moves = [(np.linalg.norm(a - b), np.abs(a - b).sum()) for a in made for b in made]
    wish = class_moments_wish(2, 3)
    assert max(m[0] for m in moves) == pytest.approx(wish.bound.l2_bound, rel=1e-12)
    assert max(m[1] for m in moves) == wish.pure.l1


@given(
    arrays(np.float64, (6, 2), elements=cell),
    arrays(np.float64, 2, elements=cell),
    arrays(np.float64, (3, 2), elements=st.floats(-1.0, 2.0)),
)
def test_the_sums_of_clusters_move_by_at_most_what_is_paid_for(table, new, centres):
    other = table.copy()
    other[2] = new
    one, two = (cluster_sums(rows, centres, SPAN) for rows in (table, other))
    wish, moved = clusters_wish(2, 3, 4, 0.5), (one - two).astype(float)
    assert np.linalg.norm(moved) <= wish.bound.l2_bound and np.abs(moved).sum() <= wish.pure.l1
    assert one.size == wish.numbers and wish.times == 4
    longest = grain_of(2)[1]
    lengths = np.linalg.norm(whole_rows(table, SPAN), axis=1)
    assert lengths.max() <= longest and one[:, 0].sum() == 6 * longest


def test_the_bound_of_clusters_is_nearly_reached_and_their_sums_are_exact():
    ends = np.array([[-1.0, 0.0], [1.0, 2.0]])
    one, two = (cluster_sums(np.array([end]), ends, SPAN).astype(float) for end in ends)
    assert 0.999 < np.linalg.norm(one - two) / clusters_wish(2, 2, 1, 1.0).bound.l2_bound <= 1.0
    for columns in (1, 2, 100, 5000, 10**6):
        grain, longest = grain_of(columns)
        assert 3.0 * longest**2 < 2.0**53 and grain >= 2.0**10  # |c|^2 - 2 q.c and its partial sums


def test_rows_of_components_are_never_longer_than_the_radius():
    """So with clip=1 no row is shortened."""
    span = Span(np.array([-1.0, 0.0, 5.0]), np.array([1.0, 200.0, 5.5]))
    corners = np.array(list(itertools.product(*zip(span.low, span.high, strict=True))))
    from hush.learn.pca import _scaled

    found = np.concatenate(list(_scaled(np.vstack([corners, 1e9 * corners]), span)))
    assert np.linalg.norm(found, axis=1).max() == pytest.approx(2.0)


# -- without noise -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("priors", [None, (0.2, 0.3, 0.5)])
def test_naive_bayes_without_noise_is_scikit_learns(priors):
    model = GaussianNB(**OPEN, classes=CLASSES, priors=priors).fit(IRIS, KINDS)
    exact = sklearn.naive_bayes.GaussianNB(priors=priors).fit(IRIS, KINDS)
    for name in ("theta_", "var_", "class_prior_", "class_count_"):
        np.testing.assert_allclose(getattr(model, name), getattr(exact, name), rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(IRIS), exact.predict_proba(IRIS), atol=1e-9)
    assert model.score(IRIS, KINDS) == exact.score(IRIS, KINDS) and not model.guarantee_.holds


@pytest.mark.parametrize("whiten", [False, True])
def test_components_without_noise_are_scikit_learns(whiten):
    model = PCA(**OPEN, n_components=3, whiten=whiten).fit(IRIS)
    exact = sklearn.decomposition.PCA(n_components=3, whiten=whiten).fit(IRIS)
    names = ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_")
    for name in (*names, "noise_variance_"):
        np.testing.assert_allclose(getattr(model, name), getattr(exact, name), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.transform(IRIS), exact.transform(IRIS), atol=1e-8)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(IRIS)), exact.inverse_transform(exact.transform(IRIS)), atol=1e-8
    )
    assert list(model.get_feature_names_out()) == ["pca0", "pca1", "pca2"]


def test_k_means_without_noise_is_where_scikit_learns_stops():
    model = KMeans(**OPEN, n_clusters=3).fit(IRIS)
    exact = sklearn.cluster.KMeans(3, init=model.start_, n_init=1, tol=0.0).fit(IRIS)
    np.testing.assert_allclose(model.cluster_centers_, exact.cluster_centers_, atol=1e-4)
    assert np.array_equal(model.predict(IRIS), exact.labels_) and not hasattr(model, "labels_")
    assert model.score(IRIS) == pytest.approx(-exact.inertia_, rel=1e-6)
    np.testing.assert_allclose(model.transform(IRIS), exact.transform(IRIS), atol=1e-4)


# -- private fits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_private_fit_is_charged_once_and_says_what_it_costs(delta):
    ledgers = [Ledger(None, epsilon=1.2, delta=1e-5) for _ in range(2)]
    classes = GaussianNB(**NB | {"delta": delta}, ledger=ledgers[0]).fit(X, Y)
    parts = PCA(**COMPONENTS | {"delta": delta}, n_components=1, ledger=ledgers[1]).fit(X)
    assert [len(ledger.entries) for ledger in ledgers] == [1, 1]
    for model, size in ((classes, 15), (parts, 6)):
        must_meet_its_budget(model)
        about = model.receipt_["parts"][0]
        assert about["numbers"] == size and model.receipt_["ledger"] is not None and model.noise_.variance > 0.0
        assert type(model).__name__ in report.statement(model).markdown
        with pytest.raises(BudgetExceeded):
            clone(model).fit(X, Y)
    assert classes.score(X, Y) > 0.9 and np.abs(classes.class_prior_ - (0.5, 0.3, 0.2)).max() < 0.05
    exact = np.linalg.eigh(np.cov(X.T))[1][:, -1]
    assert abs(parts.components_[0] @ exact) > 0.9 and parts.transform(X).shape == (len(X), 1)
    assert parts.mean_ == pytest.approx(X.mean(axis=0), abs=0.2) and parts.error_ > 0.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_private_clusters_are_near_and_charged_once(delta):
    ledger = Ledger(None, epsilon=2.0, delta=1e-5)
    settings = {"epsilon": 1.0, "delta": delta, "bounds": (-2.0, 4.0), "n_clusters": 3}
    model = KMeans(**settings, ledger=ledger).fit(X)
    must_meet_its_budget(model)
    assert len(ledger.entries) == 1 and model.n_iter_ == 6 and model.receipt_["parts"][1]["times"] == 6
    assert "KMeans" in report.statement(model).markdown and list(model.limits_[0]) == [-2.0, 4.0]
    wide = KMeans(**settings | {"epsilon": 30.0, "passes": 4}).fit(X)
    for goal in ([0.0, 0.0], [2.0, 0.0], [0.0, 2.0]):
        assert np.linalg.norm(wide.cluster_centers_ - goal, axis=1).min() < 0.3
    assert wide.transform(X).shape == (len(X), 3) and set(wide.predict(X)) == {0, 1, 2}


def test_two_fits_differ_and_much_noise_predicts_the_majority():
    one, two = (GaussianNB(**NB).fit(X, Y) for _ in range(2))
    assert not np.array_equal(one.theta_, two.theta_)
    wrong = [np.mean(GaussianNB(**NB | {"epsilon": 0.02}).fit(X, Y).predict(X) != Y) for _ in range(15)]
    # a fit is above 0.6 with a probability of 0.04, and the median of 15 with one below 1e-7
    assert np.median(wrong) <= 0.6 and all((GaussianNB(**NB | {"epsilon": 0.001}).fit(X, Y).var_ > 0.0).ravel())


def test_shorter_rows_have_less_noise():
    whole, short = (PCA(**COMPONENTS, clip=clip, family="gaussian").fit(X) for clip in (1.0, 0.5))
    assert short.noise_.sigma == pytest.approx(0.25 * whole.noise_.sigma * _ratio(short, whole), rel=1e-3)
    assert short.error_ < 0.5 * whole.error_
    assert short.mean_ == pytest.approx(X.mean(axis=0), abs=0.3)  # the weights of shortened rows are divided out


def _ratio(one, other) -> float:
    """The ratio of the units of two sums of products."""
    bounds = [model.receipt_["parts"][0]["sensitivity"]["l2"] for model in (one, other)]
    return 4.0 * bounds[0] / bounds[1]


def test_sums_are_the_same_for_any_number_of_rows_in_a_part():
    long = np.tile(IRIS, (MOST_ROWS // 100, 1))
    model, twin = PCA(**OPEN).fit(long), PCA(**OPEN).fit(long[::-1])
    np.testing.assert_allclose(model.components_, twin.components_, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "changed", "words"),
    [
        (GaussianNB, {"classes": (0, 1)}, "other than the classes 0 and 1"),
        (GaussianNB, {"classes": "private"}, "different labels"),
        (GaussianNB, {"priors": (0.5, 0.5)}, "priors must be 3 numbers"),
        (GaussianNB, {"var_smoothing": -1.0}, "var_smoothing"),
        (GaussianNB, {"bounds": "private"}, "declared bounds"),
        (GaussianNB, {"bounds": None}, "bounds must be given"),
        (GaussianNB, {"family": "laplace"}, "releases a vector"),
        (GaussianNB, {"epsilon": -1.0}, "epsilon"),
        (PCA, {"n_components": 3}, "at most 2"),
        (PCA, {"n_components": 0.5}, "n_components"),
        (PCA, {"clip": 2.0}, "clip"),
        (PCA, {"whiten": "yes"}, "whiten"),
        (PCA, {"epsilon": math.inf}, "no ledger can pay"),
        (KMeans, {"n_clusters": 0}, "n_clusters"),
        (KMeans, {"n_clusters": 10**6}, "n_clusters"),
        (KMeans, {"passes": 0}, "passes"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_spent(kind, changed, words):
    ledger = Ledger(None, epsilon=2.0, delta=1e-5)
    with pytest.raises(HushError, match=words) as failure:
        kind(**(NB if kind is GaussianNB else COMPONENTS) | changed, ledger=ledger).fit(X, Y)
    assert not ledger.entries and str(failure.value).endswith(".") and "\n" not in str(failure.value)


def test_no_value_of_the_rows_is_quoted():
    bad = X.astype(object)
    bad[3, 1] = "secret"
    for model in (GaussianNB(**NB), PCA(**COMPONENTS)):
        with pytest.raises(InvalidParameter) as failure:
            model.fit(bad, Y)
        assert "secret" not in str(failure.value) and failure.value.__cause__ is None
    with pytest.raises(Unsupported, match="random_state"):
        PCA(**COMPONENTS, random_state=1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("smoothing", [0.0, 1e-9])
def test_naive_bayes_without_noise_has_no_nan_for_classes_without_rows_and_constant_columns(smoothing):
    settings = {"epsilon": math.inf, "delta": 0.0, "bounds": (-2.0, 4.0), "var_smoothing": smoothing}
    model = GaussianNB(**settings, classes=(0, 1, 2, 3)).fit(X, Y)
    chances = model.predict_proba(X)
    assert (chances[:, 3] == 0.0).all() and (model.predict_joint_log_proba(X)[:, 3] == -math.inf).all()
    other = GaussianNB(**settings, classes=(0, 1, 2)).fit(X, Y)
    assert np.allclose(chances[:, :3], other.predict_proba(X)) and (model.predict(X) == other.predict(X)).all()
    flat = GaussianNB(**settings, classes=(0, 1, 5)).fit(np.ones_like(X), Y % 2)
    for rows in (X, np.ones_like(X), np.full_like(X, -1e9)):
        assert np.isfinite(flat.predict_proba(rows)).all() and np.allclose(flat.predict_proba(rows).sum(axis=1), 1.0)


@pytest.mark.parametrize("budget", [{"rho": 0.1}, {"mu": 0.5}])
def test_a_budget_of_rho_or_mu_gets_gaussian_noise(budget):
    """Ball noise would be counted by its pure epsilon."""
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-5, 5)}
    for model in (GaussianNB(**given, classes=CLASSES), PCA(**given), KMeans(**given, n_clusters=3)):
        ledger = Ledger(None, **budget, delta=1e-6)
        made = model.set_params(ledger=ledger).fit(X, Y)
        assert isinstance(made.noise_, Gaussian) and len(ledger.entries) == 1
