"""The public ranges of features and targets: which ones are rejected, and which extreme ones work."""

from __future__ import annotations

import numpy as np
import pytest
from learn.small_fits import ridge, rows, search

from hush.errors import InvalidParameter
from hush.learn import scaling


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
