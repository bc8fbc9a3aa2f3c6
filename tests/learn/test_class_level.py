"""Class counts, which give classifiers their intercept where gradients are noisy."""

import itertools
import math
import warnings
from unittest.mock import patch

import numpy as np
import pytest

from hush.learn import LogisticRegression, PrivateSearchCV, single_numbers
from hush.learn.class_level import CLASSES, ClassLevel, class_counts, class_part, class_share
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.ledger import unaccounted
from hush.privacy.charge import Budget
from hush.privacy.compose import compose

PUBLIC = {"epsilon": 0.1, "delta": 1e-6, "bounds": (-1, 1)}


def _rows(count: int, *, rare: float = 0.1, classes: int = 2, width: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Columns that say nothing, and labels of which the class 0 has the share 1 - rare."""
    numbers = np.random.default_rng(17)
    X = numbers.uniform(-1.0, 1.0, (count, width))
    y = np.where(numbers.uniform(size=count) < rare, 1 + np.arange(count) % (classes - 1), 0)
    return X, y


def _names(model: LogisticRegression) -> list[str]:
    return [part["name"] for part in model.receipt_["parts"]]


# -- when it is released -------------------------------------------------------------------------------------


def test_the_share_is_a_rule_of_public_facts():
    assert class_share(0.14, 1, 1e6, 1.0) == class_share(0.1, 3, 1e6, 1.0) == 0.0  # gradients know the intercept
    assert class_share(0.11, 3, 1e6, 1.0) > 0.0  # the noise has two directions for each feature
    assert class_share(9.0, 1, 299.0, 0.1) == 0.0 and class_share(9.0, 5, 299.0, 0.1) == 0.0  # too few rows
    assert class_share(9.0, 1, 401.0, 0.1) == pytest.approx(16.0 / 40.1)
    assert class_share(9.0, 5, 400.0, 0.1) == 0.5 and class_share(9.0, 1, 1e4, 0.1) == pytest.approx(0.016)


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 10.0},
        {"solver": "cd"},
        {"fit_intercept": False},
        {"family": "gaussian"},
        {"accounting": "zcdp"},
        {"epsilon": math.inf},
        {"scaling": "paper"},
    ],
)
def test_fits_with_other_needs_do_not_release_it(changed):
    X, y = _rows(1000, width=5)
    assert CLASSES in _names(LogisticRegression(**PUBLIC).fit(X, y))
    assert CLASSES not in _names(LogisticRegression(**(PUBLIC | changed)).fit(X, y))


def test_weights_of_rows_leave_it_out():
    X, y = _rows(1000, width=5)
    assert CLASSES not in _names(LogisticRegression(**PUBLIC, max_weight=1.0).fit(X, y, sample_weight=np.ones(1000)))


def test_a_search_releases_it_too():
    """Before, a search named Gaussian noise, and a fit with a named family has no class counts."""
    X, y = _rows(1500, width=5)
    for classes in (2, 3):
        labels = y if classes == 2 else y + (X[:, 0] > 0.0)
        model = LogisticRegression(**PUBLIC, classes=tuple(range(classes)))
        search = PrivateSearchCV(model, {"C": [0.1, 1.0]}, epsilon=0.3, delta=1e-6, tries=1.5).fit(X, labels)
        assert CLASSES in _names(search.best_estimator_)
    model.set_params(family="gaussian")
    search = PrivateSearchCV(model, {"C": [0.1]}, epsilon=0.3, delta=1e-6, tries=1.5).fit(X, labels)
    assert CLASSES not in _names(search.best_estimator_)


# -- what it costs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_whole_fit_meets_its_budget_with_it(delta, classes):
    X, y = _rows(1000, classes=classes)
    model = LogisticRegression(**(PUBLIC | {"delta": delta, "classes": tuple(range(classes))})).fit(X, y)
    assert _names(model)[0] == CLASSES
    found = compose(model.receipt_.charges)
    assert Budget(0.1, delta).covers(found)
    with_less = compose([*model.receipt_.charges, model.receipt_.charges[0]])  # the counts a second time
    assert not Budget(0.1, delta).covers(with_less)


@pytest.mark.parametrize("relation", [Relation(), Relation("add-remove", 1), Relation("add-remove", 3)])
@pytest.mark.parametrize("outputs", [1, 3, 4])
def test_every_neighbour_moves_the_numbers_by_at_most_the_bound(relation, outputs):
    """All data sets of four rows. One half is the target of a row with neither label."""
    labels = [0.0, 1.0, 0.5] if outputs == 1 else [float(place) for place in range(outputs)]
    bound, furthest = class_part(outputs, 1.0, 0.5, relation).wish.bound, 0.0
    for base in itertools.combinations_with_replacement(labels, 4):
        start = class_counts([np.array(base)], outputs)
        for own in itertools.product(labels, repeat=relation.rows):
            other = (*base[1:], own[0]) if relation.neighbours == "replace" else (*base, *own)
            moved = np.abs(class_counts([np.array(other[:2]), np.array(other[2:])], outputs) - start)
            furthest = max(furthest, float(moved.max() if outputs == 1 else moved.sum()))
    charged = bound.linf if outputs == 1 else bound.l1
    assert furthest <= charged <= furthest * (1.0 + 1e-12)


# -- what it says --------------------------------------------------------------------------------------------


def test_without_noise_it_is_the_intercept_of_a_model_without_features():
    y = np.repeat([0.0, 1.0, 2.0], [700, 200, 100])
    two = ClassLevel.of(class_counts([y[:900]], 1).astype(float), 900, 1e-9)
    assert two.value == pytest.approx(math.log(200 / 700)) and two.variance < 1e-15
    three = ClassLevel.of(class_counts([y[:500], y[500:]], 3).astype(float), 1000, 1e-9)
    assert three.value - three.value[0] == pytest.approx(np.log([1.0, 2 / 7, 1 / 7])) and (three.variance < 1e-15).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_stated_variance_is_that_of_the_level(outputs):
    """1,000 draws of the noise. Three levels are compared by two differences, because their mean is arbitrary.

    The mean of squares over the stated variance is within 6 standard errors of 1, and it is not if the deviation is
    wrong by 3/2 or 2/3. Laplace noise has kurtosis 6, so that the error is sqrt(5/1000).
    """
    y = np.repeat([0.0, 1.0, 2.0][: max(outputs, 2)], [3000, 2500, 3500][: max(outputs, 2)])
    part = class_part(outputs, 1.0, 0.2)
    exact, rows = class_counts([y], outputs), len(y)
    apart = np.eye(1) if outputs == 1 else np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])

    def level(noisy):
        return ClassLevel.of(noisy, rows, part.deviation)

    truth = apart @ np.ravel(ClassLevel.of(exact.astype(float), rows, 1e-9).value)
    made = [level(Paid(unaccounted(part.charge)).release(part.mechanism, exact, CLASSES)) for _ in range(1000)]
    off = np.array([(apart @ np.ravel(one.value) - truth) ** 2 for one in made]).mean(axis=0)
    ratio = off / np.array([np.abs(apart) @ np.ravel(one.variance) for one in made]).mean(axis=0)
    error = 6.0 * math.sqrt(5.0 / 1000)
    assert np.all(np.abs(ratio - 1.0) < error), ratio
    assert np.all(np.abs(2.25 * ratio - 1.0) > error) and np.all(np.abs(ratio / 2.25 - 1.0) > error)


def test_more_noise_keeps_less_of_a_difference_and_never_its_order():
    counts = np.array([900.0, 60.0, 40.0])
    few = [ClassLevel.of(counts, 1000, deviation).value for deviation in (1.0, 300.0, 5000.0)]
    assert np.ptp(few[0]) > np.ptp(few[1]) > np.ptp(few[2]) > 0.0
    assert all((np.diff(level) < 0.0).all() for level in few)
    two = [abs(float(ClassLevel.of(np.array([-700.0]), 1000, deviation).value)) for deviation in (1.0, 300.0, 5000.0)]
    assert two[0] > two[1] > two[2] > 0.0


@pytest.mark.parametrize("noisy", [[1e300], [-1e300], [0.0], [-1e9, 1e9, 0.0], [0.0, 0.0, 0.0], [-5.0, -5.0, -6.0]])
def test_any_noisy_numbers_give_a_finite_level(noisy):
    made = ClassLevel.of(np.array(noisy), 100, 10.0)
    assert np.isfinite(made.value).all() and np.isfinite(made.variance).all() and (made.variance >= 0.0).all()
    assert np.isfinite(made.joined(0.3, 0.1, 0.5)).all()


def test_the_more_certain_of_two_intercepts_counts_more():
    level = ClassLevel(np.array(-2.0), np.array(0.25))
    assert level.joined(0.0, 0.25, 0.0) == pytest.approx(-1.0)
    assert level.joined(0.0, 1e9, 0.0) == pytest.approx(-2.0)
    assert level.joined(0.0, 1e9, 1.0) == level.joined(0.0, 0.0, 0.0) == pytest.approx(0.0)
    assert -1.0 < level.joined(0.0, 0.25, 0.5) < 0.0


# -- what it is good for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
def test_few_rows_with_a_rare_class_predict_the_frequent_one(classes):
    """600 rows, 30 columns that say nothing, epsilon 0.1: a model without class counts predicts a wrong
    class for many rows. A fit is above 0.15 with a probability below 0.05, so the median of 20 is above it with one
    below 1e-6. Without the release the mean of 20 is above 0.25 by more than five of its standard errors.
    """
    X, y = _rows(600, classes=classes)
    model = LogisticRegression(**PUBLIC, classes=tuple(range(classes)))

    def wrong() -> list[float]:
        return [float(np.mean(model.fit(X, y).predict(X) != y)) for _ in range(20)]

    with_it = np.median(wrong())
    with patch.object(single_numbers, "class_share", lambda *facts: 0.0):
        without = np.mean(wrong())
    assert with_it < 0.15 < 0.25 < without


def test_half_of_the_rows_in_each_class_keep_the_features():
    """Two equal classes that one column tells apart: the release costs little.

    A score has the mean 0.916 and the deviation 0.041 (278 fits). The mean of ten is below 0.75 by 13 of its standard
    errors, so the false-alarm rate is far below 1e-6.
    """
    numbers = np.random.default_rng(3)
    X = numbers.uniform(-1.0, 1.0, (1500, 4))
    y = (X[:, 0] > 0.0).astype(int)
    found = [LogisticRegression(**PUBLIC).fit(X, y) for _ in range(10)]
    assert all(_names(model)[0] == CLASSES for model in found)
    assert np.mean([model.score(X, y) for model in found]) > 0.75


@pytest.mark.parametrize(
    ("rows", "epsilon", "warns"), [(299, 0.1, True), (301, 0.1, False), (31, 1.0, False), (29, 1.0, True)]
)
def test_classifiers_of_too_few_rows_warn_whatever_the_data(rows, epsilon, warns):
    numbers = np.random.default_rng(0)
    X = numbers.normal(size=(rows, 3))
    for y in (np.arange(rows) % 2, (np.arange(rows) == 0).astype(int)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            LogisticRegression(epsilon=epsilon, delta=1e-6, bounds=(-4, 4)).fit(X, y)
        texts = [str(one.message) for one in seen if "which class is predicted" in str(one.message)]
        assert len(texts) == warns and all("at least 30/epsilon rows" in text for text in texts)
