"""Labels that are found privately: their types, and nothing about them before the charge."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from learn.small_fits import ledger, logistic, rows

from hush.errors import BudgetExceeded, InvalidParameter

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
