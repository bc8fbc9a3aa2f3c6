"""Columns whose spread the noise hides: constant ones have small coefficients, and useful ones keep theirs."""

from __future__ import annotations

import numpy as np
import pytest

from hush.learn import LogisticRegression, Ridge
from hush.learn.hidden_columns import kept_of_hidden

pytestmark = pytest.mark.filterwarnings("ignore:the declared bounds")


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes", "products alone"])
def test_constant_columns_have_small_coefficients(kind):
    """A column of zeros and a constant one, of 5,000 rows at epsilon 10.

    A fit has one above the limit with a probability below 0.2 (measured: 0.15 for three classes, 0.07 else), so the
    median of 60 is above it with one below 1e-6. Without the rule the medians were 14 to 27.
    """
    numbers = np.random.default_rng(0)
    X = numbers.uniform(0.0, 1.0, (5000, 3))
    X[:, 1], X[:, 2] = 0.0, 0.5
    y = 3.0 * X[:, 0] + 0.3 * numbers.normal(size=5000)
    given = {"epsilon": 10.0, "delta": 1e-6, "bounds": (0, 1)}
    if "classes" in kind:
        edges = [1.5] if kind == "two classes" else [1.0, 2.0]
        model, y = LogisticRegression(**given, classes=tuple(range(len(edges) + 1))), np.digitize(y, edges)
    else:
        model = Ridge(**given, target_bounds=(-2, 5), solver="statistics" if kind == "products alone" else "auto")
    found = np.array([np.atleast_2d(model.fit(X, y).coef_) for _ in range(60)])
    useful, others = np.abs(found[..., 0]).max(axis=1), np.abs(found[..., 1:]).max(axis=(1, 2))
    assert np.median(others) < (18.0 if kind == "three classes" else 2.0) < 2.5 * np.median(useful)


@pytest.mark.parametrize(("classes", "least"), [(0, 0.5), (2, 0.68), (3, 0.5)])
def test_bounds_that_are_twenty_times_too_wide_hide_spreads_but_not_the_model(classes, least):
    """The products hide nearly all columns. If hidden columns had no coefficients, scores would be 0.05, 0.58 and 0.39.

    They are 0.70, 0.74 and 0.58 with a standard deviation below 0.015 over fits, so one below the limit is four or more
    deviations away, and the median of three has a probability below 1e-8 of being so.
    """
    numbers = np.random.default_rng(1)
    X = numbers.normal(size=(8000, 6))
    margin = X @ [1.0, -1.0, 0.5, 0.5, 0.0, 0.0]
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-80, 80)}
    if classes:
        edges = [0.0] if classes == 2 else [-1.0, 1.0]
        model, y = LogisticRegression(**given, classes=tuple(range(classes))), margin + numbers.logistic(size=8000)
        y = np.digitize(y, edges)
    else:
        model, y = Ridge(**given, target_bounds=(-120, 120)), margin + numbers.normal(size=8000)
    assert np.median([model.fit(X, y).score(X, y) for _ in range(3)]) > least


def test_only_hidden_columns_are_shrunk_and_only_by_their_noise():
    numbers = np.random.default_rng(0)
    root = numbers.normal(size=(5, 5))
    hessian, seen = root @ root.T + np.eye(5), np.array([1.0, 0.0, 0.0, 0.5])
    noise = numbers.multivariate_normal(np.zeros(5), np.linalg.inv(hessian), size=4000)
    kept = np.array([kept_of_hidden(weights, seen, hessian, 1.0) for weights in noise])
    assert (kept[:, 0] == 1.0).all() and (kept[:, 1] == kept[:, 2]).all()
    assert np.allclose(kept[:, 3], 0.5 + 0.5 * kept[:, 1])
    assert kept[:, 1].mean() < 0.25  # noise alone: 1 - n/q with q about n
    assert kept_of_hidden(np.full(5, 100.0), seen, hessian, 1.0).min() > 0.99
    assert (kept_of_hidden(np.zeros(5), seen, hessian, 0.0)[:3] == [1.0, 0.0, 0.0]).all()
    three = kept_of_hidden(np.tile(noise[0], (3, 1)), seen, hessian, 3.0)  # lengths of classes add up
    assert np.allclose(three, kept_of_hidden(noise[0], seen, hessian, 1.0))
