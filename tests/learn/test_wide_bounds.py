"""Declared ranges that do not fit are named from what was released; the data of a fit decide nothing else."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import hush
from hush import tables
from hush.learn import PCA, GaussianNB, KMeans, LogisticRegression, Ridge
from hush.learn.scaling import Span
from hush.learn.wide_bounds import Seen, about_features, about_target

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ROWS = 5_000
BOUNDS = [(18, 100), (12, 60), (60, 220)]


def _texts(work) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        work()
    ours = [str(one.message) for one in seen if not issubclass(one.category, hush.WeakGuarantee)]
    return [text for text in ours if not text.startswith("the budget is too small to learn")]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    numbers = np.random.default_rng(3)
    made = pd.DataFrame(numbers.normal([50, 27, 130], [11, 6, 12], (ROWS, 3)), columns=["age", "bmi", "bp"])
    return made.assign(cost=np.clip(numbers.normal(30, 8, ROWS), 0, 60), person=range(ROWS))


def _ridge(people: pd.DataFrame, **changed):
    settings = BUDGET | {"bounds": BOUNDS, "target_bounds": (0, 60)} | changed
    return Ridge(**settings).fit(people[["age", "bmi", "bp"]], people["cost"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((-1e4, 1e4), "target_bounds=(-10000, 10000) is "),
        ((-1e6, 1e6), "target_bounds=(-1e+06, 1e+06) is "),
        ((0, 5), "nearly all values of the target lie near the upper end of target_bounds=(0, 5)"),
        ((0, 1e5), "nearly all values of the target lie near the lower end of target_bounds=(0, 100000)"),
    ],
)
def test_a_range_of_the_target_that_does_not_fit(people, given, words):
    found = _texts(lambda: _ridge(people, target_bounds=given, epsilon=10.0))
    assert len(found) == 1 and words in found[0]


@pytest.mark.parametrize("reach", [300.0, 1e4, 1e9])
def test_ranges_of_features_that_are_too_wide_to_see_their_spreads(people, reach):
    names = "('age', 'bmi', 'bp')"
    found = _texts(lambda: _ridge(people, bounds=(-reach, reach), epsilon=50.0))
    assert len(found) == 1 and names in found[0] and "refine_bounds=True" in found[0]
    X, y = people[["age", "bmi", "bp"]], people["cost"] > 30
    settings = {"epsilon": 50.0, "delta": 1e-6, "bounds": (-reach, reach)}
    for other in (GaussianNB(**settings), PCA(**settings), KMeans(**settings, n_clusters=2)):
        found = _texts(lambda other=other: other.fit(X, y))
        assert len(found) == 1 and names in found[0] and "refine_bounds" not in found[0]


def test_ranges_that_fit_and_few_rows_are_silent(people):
    assert not _texts(lambda: _ridge(people, epsilon=2.0))
    for rows in (20, 100, 400):  # noise hides every spread, whatever its range
        assert not _texts(lambda rows=rows: _ridge(people[:rows]))
    assert not _texts(lambda: _ridge(people, bounds=(-1e9, 1e9), target_bounds=(-1e9, 1e9), refine_bounds=True))
    assert not _texts(lambda: _ridge(people, bounds=(-1e9, 1e9), target_bounds=(-1e9, 1e9), scaling="public"))


def test_narrow_bounds_rare_columns_and_constant_columns():
    """(0, 1) for ages moves all of them to 1. A dummy of a rare category and a column of zeros are usual."""
    numbers = np.random.default_rng(7)
    age, rare = numbers.normal(50, 12, 20_000), numbers.random(20_000) < 0.002
    X = np.column_stack([age, rare, np.zeros(20_000), numbers.normal(size=20_000)])
    fit = {"target_bounds": (-4, 4), "epsilon": 4.0, "delta": 1e-6}
    narrow = _texts(lambda: Ridge(bounds=[(0, 1), (0, 1), (0, 1), (-4, 4)], **fit).fit(X, X[:, 3]))
    assert len(narrow) == 1 and "nearly all values of 1 column (0) lie near the upper end" in narrow[0]
    assert "narrower" not in narrow[0]
    right = [(18, 100), (0, 1), (0, 1), (-4, 4)]
    assert not _texts(lambda: Ridge(bounds=right, **fit).fit(X, X[:, 3]))
    assert not _texts(lambda: LogisticRegression(bounds=right, epsilon=4.0, delta=1e-6).fit(X, X[:, 3] > 0))
    X[:, 2] = 5.0
    constant = _texts(lambda: Ridge(bounds=[*right[:2], (0, 10), (-4, 4)], **fit).fit(X, X[:, 3]))
    assert len(constant) == 1 and "1 column (2)" in constant[0] and "or the column is nearly constant" in constant[0]


def test_a_declared_number_of_rows_that_is_too_large_is_a_cause(people):
    table = tables.table(people, unit="person", population="people")
    model = Ridge(
        epsilon=1.0, delta=0.0, bounds=dict(zip(["age", "bmi", "bp"], BOUNDS, strict=True)), target_bounds=(0, 60)
    )
    found = _texts(lambda: model.fit(table, "cost", n_rows=10**7))
    assert found and all("or correct n_rows=10000000" in text for text in found)


def _seen(centre, spread, low, high, error=1e-4) -> Seen:
    made = [np.atleast_1d(np.asarray(one, dtype=float)) for one in (centre, spread, low, high)]
    return Seen(made[0], made[1], np.full(made[0].size, error), Span(made[2], made[3]))


def test_at_most_three_columns_are_named():
    five = _seen(np.zeros(5), np.full(5, 0.06), np.full(5, -1), np.ones(5))
    (text,) = _texts(lambda: about_features(five, ["a", "b", "c", "d", "e"], "do this"))
    assert "5 columns ('a', 'b', 'c', ...) are more than 28 spreads wide" in text and text.endswith(": do this.")


def test_a_spread_in_doubt_is_named_only_if_usual_ones_would_be_seen():
    for error, many, said in ((0.005, 1, True), (0.01, 1, False), (0.01, 3, True), (0.05, 3, False)):
        flat = _seen(np.zeros(many), np.full(many, error**0.5), -np.ones(many), np.ones(many), error)
        found = _texts(lambda flat=flat: about_features(flat, ["a", "b", "c"], "x"))
        assert len(found) == said and all("so wide for this budget and number of rows that" in text for text in found)
    for error, said in ((0.01, 1), (0.05, 0)):
        flat = _seen(30, 1e6 * error**0.5, -1e6, 1e6, error)
        assert len(_texts(lambda flat=flat: about_target(flat, "x"))) == said


def test_targets_that_are_rarely_one_are_usual():
    assert not _texts(lambda: about_target(_seen(0.002, 0.04, 0, 1), "x"))
    assert "upper end" in _texts(lambda: about_target(_seen(1.0, 0.01, 0, 1), "x"))[0]
    assert "lower end" in _texts(lambda: about_target(_seen(0.002, 0.04, 0, 2), "x"))[0]
    level = _seen(4.99, 2.5, 0, 5)  # the mean alone was released
    assert "upper end" in _texts(lambda: about_target(level, "x"))[0]
