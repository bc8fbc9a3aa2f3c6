"""scikit-learn's checks of estimators, and which of them a private one fails: always, or by the chance of noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

__all__ = ["ALWAYS", "must_pass"]

NOISE = "fits twice and compares; every fit draws fresh noise, which is what privacy is made of"
#: They compare numbers up to 1e-7 or less, so two fits are never equal enough.
ALWAYS = dict.fromkeys(
    (
        "check_fit_idempotent",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    NOISE,
) | {"check_all_zero_sample_weights_error": "such an error would depend on the weight of one row"}
#: They compare a few predictions up to 0.01, which are sometimes equal: labels, or a model that is the mean.
BY_CHANCE = dict.fromkeys(
    (
        "check_supervised_y_2d",
        "check_regressors_int",
        "check_regressor_data_not_an_array",
        "check_classifier_data_not_an_array",
    ),
    NOISE,
)


def must_pass(estimator: Any, check: Any, more: Mapping[str, tuple[type[Exception], str]] = {}) -> None:
    """Run a check. One of `ALWAYS` must fail, one of `BY_CHANCE` may fail, every other one must pass.

    `more` has checks that this estimator fails always, each with the error and the reason.
    """
    name = check.func.__name__
    failing = {one: (AssertionError, reason) for one, reason in ALWAYS.items()} | dict(more)
    if name in failing:
        kind, reason = failing[name]
        with pytest.raises(kind):
            check(estimator)
        pytest.xfail(reason)
    try:
        check(estimator)
    except AssertionError:
        if name not in BY_CHANCE:
            raise
        pytest.xfail(BY_CHANCE[name])
