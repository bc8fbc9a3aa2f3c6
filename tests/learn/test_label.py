"""Labels that are found privately: their types, and nothing about them before the charge."""

from __future__ import annotations

import math
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from learn.small_fits import ledger, logistic, rows

from hush.errors import BudgetExceeded, InvalidParameter
from hush.learn import GaussianNB, LogisticRegression
from hush.learn.label import NO_LABEL, as_labels, classes_in_order, places_of
from hush.learn.label_search import labels_plan
from hush.learn.relation import Relation

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
    plain = logistic(classes="private", epsilon=math.inf, family=None).fit(X[3:], given[3:])
    assert set(plain.classes_) == set(LABELS[name])
    with pytest.raises(InvalidParameter, match="two different labels, got 1"):
        logistic(classes="private", epsilon=math.inf, family=None).fit(X[3:], np.repeat(given[3:4], len(X) - 3))


def test_labels_that_nothing_can_count_are_no_labels():
    X, _, y = rows(2000)
    given = LABELS["words"][y]
    given[0], given[1] = [1, 2], {"a": 1}
    assert list(logistic(classes="private", epsilon=30.0, passes=3).fit(X, given).classes_) == ["no", "yes"]


def test_nothing_is_said_of_secret_labels_before_they_are_paid_for():
    """scikit-learn warns of many different labels and refuses numbers with fractions: both are facts about y."""
    X, y, labels = rows(1300)
    empty = ledger(epsilon=1e-3, delta=1e-9)
    for given in (
        np.arange(1300),
        y,
        labels,
        np.array([f"{value}" for value in y]),
        np.array([*"ab", 1, None] * 325, dtype=object),
    ):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with pytest.raises(BudgetExceeded) as failure:
                logistic(classes="private", ledger=empty).fit(X, given)
        assert seen == [] and "label" not in str(failure.value).replace("fit of", "")
    with pytest.raises(InvalidParameter, match="datetime64"):  # a type is public
        logistic(classes="private", ledger=empty).fit(X, np.full(1300, np.datetime64("2020-01-01")))


# -- the places of labels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "known", "places"),
    [
        ([3, 1, 2], (1, 2), [-1, 0, 1]),
        (np.array([3, 1, 2], dtype=np.uint8), (1.0, 3.0), [1, 0, -1]),
        (np.array([True, False]), (0, 1), [1, 0]),
        (np.array([0.5, -0.0, math.nan]), (0, 0.5), [1, 0, -1]),
        (np.array(["b", "a", "c"]), ("a", "b"), [1, 0, -1]),
        (np.array([b"b", b"a"]), (b"a", b"b"), [1, 0]),
        (np.array([b"b", b"a"]), ("a", "b"), [-1, -1]),
        (["b", 1, None, [1]], ("b", "c"), [0, -1, -1, -1]),
        ([True, 1.0, 0, math.nan], (0, 1), [1, 1, 0, -1]),
        (np.array([1, 2]), ("1", "2"), [-1, -1]),
    ],
)
def test_the_place_of_every_label(labels, known, places):
    assert places_of(np.asarray(as_labels(labels)), classes_in_order(known)).tolist() == places


def test_a_label_without_a_form_is_no_class():
    known = np.array([1, NO_LABEL], dtype=object)
    assert places_of(np.array([1, NO_LABEL], dtype=object), known).tolist() == [0, -1]
    both = np.array([True, 1, 1.0], dtype=object)
    assert places_of(both, np.array([1, True], dtype=object), same_type=True).tolist() == [1, 0, -1]


@pytest.mark.parametrize("kind", [np.int64, "U4", object])
def test_labels_need_no_memory_for_every_class(kind):
    """200,000 rows of 200 classes needed 641 MB for a check alone, and objects 3.6 s."""
    numbers = np.random.default_rng(2).integers(0, 200, 200_000)
    labels, known = numbers.astype(kind), np.arange(200).astype(kind)
    tracemalloc.start()
    start = time.process_time()
    places = places_of(labels, known)
    took, most = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(known[places], labels) and most < 64 * len(labels) + 2**20 and took < 2.0


def test_many_classes_take_little_memory_in_a_fit():
    X, _, _ = rows(20_000)
    labels = np.arange(20_000) % 1000
    tracemalloc.start()
    GaussianNB(epsilon=1.0, delta=1e-6, bounds=(-1, 1), classes=range(1000)).fit(X, labels)
    assert tracemalloc.get_traced_memory()[1] < 80e6  # two matrices of a number per row and class have 160 MB each
    tracemalloc.stop()


# -- a search that cannot find two ---------------------------------------------------------------------------

SEARCH = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), "classes": "private"}


def test_too_few_rows_for_two_labels_are_refused_for_nothing():
    X, _, y = rows(1300)
    paid = ledger()
    with pytest.raises(InvalidParameter, match="two labels need 1238 rows, and there are 1237") as failure:
        LogisticRegression(**SEARCH, ledger=paid).fit(X[:1237], y[:1237])
    assert paid.entries == () and "write classes=(a, b)" in str(failure.value)
    with pytest.raises(InvalidParameter, match="found"):
        LogisticRegression(**SEARCH, ledger=paid).fit(X[:1238], np.zeros(1238))
    assert len(paid.entries) == 1


def test_a_hidden_number_of_rows_is_released_before_a_search_is_refused():
    X, _, y = rows(100)
    paid = ledger()
    model = LogisticRegression(**SEARCH, ledger=paid, neighbours="add-remove")
    with pytest.raises(InvalidParameter, match=r"was released and paid for \(entry 1\)") as failure:
        model.fit(X, y)
    assert len(paid.entries) == 1 and "Nothing was spent" not in str(failure.value)
    with pytest.raises(InvalidParameter, match="there are 100"):
        model.fit(X, y, n_rows=100)
    assert len(paid.entries) == 1


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["b", "c", "a"], "multiclass: classes='private' found 3 labels"),
        (["b", "c", "a"], "write classes=('a', 'b', 'c')."),
        (["b"], "found one label ('b')"),
        (["b"], "write classes=('b', b) with the other label for b"),
        ([None, 2, "x"], "write classes=(2, 'x', None)."),
    ],
)
def test_an_error_shows_the_labels_that_were_released(labels, words):
    X, _, _ = rows(6000)
    given = np.empty(len(X), dtype=object)
    given[:] = [labels[place % len(labels)] for place in range(len(X))]
    given[7] = "a label of one row"
    paid = ledger()
    with pytest.raises(InvalidParameter) as failure:
        LogisticRegression(**SEARCH, ledger=paid).fit(X, given)
    assert words in str(failure.value) and "one row" not in str(failure.value) and len(paid.entries) == 1


def test_a_small_epsilon_takes_no_longer():
    """Noise on whole numbers of scale 4,000 was analysed point by point: a first call took a minute of one core."""
    X, _, y = rows(200_000)
    start = time.process_time()
    model = LogisticRegression(**(SEARCH | {"epsilon": 0.01}), ledger=ledger(1.0, 1e-5)).fit(X, y)
    assert model.classes_.tolist() == [0, 1] and time.process_time() - start < 15.0


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("epsilon", [0.05, 0.03, 0.019, 0.0005])
def test_the_threshold_keeps_delta(epsilon, neighbours):
    """A label of one row is shown with probability at most delta, for noise on whole numbers and for rounded noise."""
    made = labels_plan(epsilon, 1e-7, Relation(neighbours))
    noise, beyond = made.mechanism.noise, made.threshold - 1.0  # P(noise >= beyond), rounded to steps of at most 1
    tail = float(noise.sf(beyond - (1.0 if noise.discrete else 0.5 * made.mechanism.step)))
    assert made.mechanism.step <= 1.0 and tail <= 1e-7
    assert tail > 1e-7 * math.exp(-4.0 * epsilon), "the threshold is not larger than it must be"
