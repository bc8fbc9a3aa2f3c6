"""Sparse matrices and weighted rows: the same sums as dense and repeated rows, and no larger moves."""

from __future__ import annotations

import math
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.linear_model as plain
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from learn.small_fits import must_meet_its_budget

from hush import tables
from hush.errors import InvalidParameter, Unsupported
from hush.learn import Lasso, LogisticRegression, Ridge
from hush.learn.block_rows import MemoryRows
from hush.learn.objective import LOGISTIC, SQUARED
from hush.learn.rows import Rows, grain
from hush.learn.scaling import Scaling, Span
from hush.learn.whole_rows import WholeRows
from hush.ledger.payment import Draws

NUMBERS = np.random.default_rng(3)
SPARSE = scipy.sparse.random_array((2000, 5), density=0.2, rng=NUMBERS, format="csr")
Y = np.asarray(SPARSE @ np.arange(1.0, 6.0))
LABELS = (Y > 0.8).astype(int)
RIDGE = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0.0, 1.0), "target_bounds": (0.0, 10.0), "family": "gaussian"}
YES = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0.0, 1.0), "family": "gaussian"}
STREAMED = ["whitened", "statistics"]


def fitted(kind, X, solver, **options):
    changed = {"solver": solver} | options
    return kind(**(YES if kind is LogisticRegression else RIDGE) | changed).fit(
        X, LABELS if kind is LogisticRegression else Y
    )


@pytest.mark.parametrize("solver", STREAMED)
@pytest.mark.parametrize("kind", [Ridge, Lasso, LogisticRegression])
def test_a_sparse_matrix_gives_the_model_of_the_dense_array_to_the_bit(kind, solver):
    with patch.object(Draws, "add", lambda draws, steps: steps):
        sparse, dense = (fitted(kind, X, solver) for X in (SPARSE, SPARSE.toarray()))
    np.testing.assert_array_equal(sparse.coef_, dense.coef_)
    np.testing.assert_array_equal(sparse.trace_["weights"], dense.trace_["weights"])
    assert sparse.receipt_["parts"] == dense.receipt_["parts"]
    np.testing.assert_array_equal(sparse.predict(SPARSE), dense.predict(SPARSE.toarray()))


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_matrix])
def test_every_form_of_a_sparse_matrix_is_accepted(form):
    model = fitted(Ridge, form(SPARSE), "auto", epsilon=10.0)
    np.testing.assert_allclose(model.coef_, np.arange(1.0, 6.0), atol=1.0)
    must_meet_its_budget(model)


def test_what_a_sparse_matrix_cannot_have():
    with pytest.raises(InvalidParameter, match="does not hold 0"):
        fitted(Ridge, SPARSE, "auto", bounds=(0.5, 1.0))
    for solver in ("cd", "gd"):
        with pytest.raises(Unsupported, match="sparse"):
            fitted(Ridge, SPARSE, solver)


# -- weights -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "whitened", "cd", "gd", "statistics"])
def test_weights_without_noise_are_scikit_learns(solver):
    X, weights = SPARSE.toarray(), NUMBERS.uniform(0.0, 3.0, len(Y))
    open_ = {"epsilon": math.inf, "winsorise": None, "penalise": "original", "max_weight": 3.0, "solver": solver}
    noisy = Y + NUMBERS.normal(size=len(Y))
    ours = Ridge(**RIDGE | open_ | {"target_bounds": (-9, 12)}, alpha=0.7).fit(X, noisy, sample_weight=weights)
    theirs = plain.Ridge(alpha=0.7).fit(X, noisy, sample_weight=weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    if solver == "statistics":  # for logistic loss that is an expansion, another problem
        return
    if solver == "auto":
        return
    ours = LogisticRegression(**YES | open_).fit(X, LABELS, sample_weight=weights)
    theirs = plain.LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, LABELS, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)


def test_weights_are_limited_and_rows_of_weight_0_are_left_out():
    X, solver = SPARSE.toarray(), "whitened"
    far = np.where(np.arange(len(Y)) % 2 == 0, 1e9, -1e9)
    near = (far > 0).astype(float)
    with patch.object(Draws, "add", lambda draws, steps: steps):
        models = [
            Ridge(**RIDGE, solver=solver, max_weight=1.0).fit(X, Y, sample_weight=weights)
            for weights in (far, near, near.tolist())
        ]
        changed = Y + np.where(near > 0.0, 0.0, 5.0)  # the targets of rows that do not count
        other = Ridge(**RIDGE | {"scaling": "public"}, solver=solver, max_weight=1.0).fit(
            X, changed, sample_weight=near
        )
        same = Ridge(**RIDGE | {"scaling": "public"}, solver=solver, max_weight=1.0).fit(X, Y, sample_weight=near)
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    np.testing.assert_array_equal(other.coef_, same.coef_)
    assert models[0].receipt_["max_weight"] == 1.0
    with pytest.raises(InvalidParameter, match="max_weight"):
        Ridge(**RIDGE, max_weight=-1.0).fit(X, Y, sample_weight=near)
    with pytest.raises(ValueError, match="sample_weight"):
        Ridge(**RIDGE, max_weight=1.0).fit(X, Y, sample_weight=near[:-1])


COUNT = 6
cell = st.one_of(st.floats(-2.0, 2.0), st.sampled_from([0.0, 1e300, -1e300, 1e-300]))
share = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 5e-324, 1.0 - 2**-53]))


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, (COUNT + 1, 3), elements=cell),
    arrays(np.float64, COUNT + 1, elements=share),
    arrays(np.float64, 3, elements=st.floats(-50.0, 50.0)),
    st.booleans(),
)
def test_a_weighted_row_moves_no_sum_further_than_a_row_of_weight_1(data, weights, model, logistic):
    """The last row is added: each sum moves by at most the bound for one row, and is a whole number."""
    objective, span = LOGISTIC if logistic else SQUARED, Span(np.full(2, -1.0), np.full(2, 1.0))
    scaling, target = Scaling.public(span), np.clip(data[:, 2], 0.0, 1.0)
    own = Scaling.public(Span(np.zeros(0), np.zeros(0)))
    matrix, limit, sums, totals = np.array([[7.0, 1.0, 2.0], [0.0, 5.0, 1.0], [3.0, 0.0, 6.0]]), 2.0**28, [], []
    for count in (COUNT, COUNT + 1):
        source = MemoryRows(data[:count, :2], target[:count], weights[:count], size=4)
        held = WholeRows(source, scaling, own, True, objective)
        held.measure(matrix, limit)
        sums.append(matrix.astype(int).astype(object) @ held.gradient(model))
        columns = np.vstack([data[:count, :2].T, np.ones((1, count))])
        scaling.apply(columns[:2])
        rows = Rows(columns, target[:count].copy(), objective, np.full(3, 0.2), weights=weights[:count], rows=99)
        rows.move_all(model)
        totals.append(rows.totals())
    assert math.sqrt(sum(int(x) ** 2 for x in sums[1] - sums[0])) <= limit * (1.0 + 1e-12)
    assert np.array_equal(totals[0], np.rint(totals[0])) and np.abs(totals[1] - totals[0]).max() <= grain(99)


def test_partial_fit_says_why_it_is_missing():
    model = Ridge(**RIDGE)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(Unsupported, match="warm_start=True") as failure:
        model.partial_fit(SPARSE, Y)
    assert isinstance(failure.value, AttributeError)


def test_weights_without_a_declared_limit_are_named_and_no_weight_is_read():
    """The warning is the same for any weights, so it shows nothing about them; it comes before the fit."""
    X = SPARSE.toarray()
    for weights in (np.full(len(Y), 0.5), np.full(len(Y), 9.0), None):
        for limit in (None, 1.0, 2.0):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                model = Ridge(**RIDGE, max_weight=limit).fit(X, Y, sample_weight=weights)
            said = [one for one in seen if str(one.message).startswith("sample_weight is given without max_weight, so")]
            assert len(said) == (weights is not None and limit is None)
            assert all(one.filename == __file__ and "max_weight=<the largest" in str(one.message) for one in said)
            assert model.receipt_["max_weight"] == (limit if limit and weights is not None else 1.0)
    people = tables.table(pd.DataFrame({"a": Y, "y": Y, "w": Y}), unit=tables.each_row)
    with pytest.warns(UserWarning, match="weights above 1 count as 1"):
        Ridge(**RIDGE | {"bounds": {"a": (-9, 12)}}).fit(people, "y", "w")
