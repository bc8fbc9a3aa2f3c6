"""Private bounds and a private choice of columns: exact scores, their sensitivity, their cost, and what they find."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from learn.small_fits import ledger, logistic, ridge, rows

from hush.errors import HushError, InvalidParameter, NotPaid, Unsupported
from hush.learn import Lasso, LogisticRegression, Ridge
from hush.learn import choices as counted
from hush.learn.block_rows import MemoryRows
from hush.learn.first_steps import take
from hush.learn.paid import Paid
from hush.learn.scaling import UNKNOWN, Span
from hush.learn.screening import column_scores, columns_to_keep
from hush.learn.training import plan
from hush.learn.windows import windows_plan
from hush.noise.selection import Selection
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose

NOBODY = Paid(None)


def _log_chances(scores, scale):
    weights = (scores - scores.max()) / scale
    return weights - math.log(np.exp(weights).sum())


@pytest.mark.parametrize(("low", "high"), [(-3.0, 3.0), (0.0, 100.0), (-UNKNOWN, UNKNOWN)])
def test_a_replaced_row_moves_a_quantile_by_one_and_its_losses_stay_in_the_range(low, high):
    values = np.random.default_rng(7).normal(1.0, 1.0, 9)
    values[:3] = 1.0  # equal values
    choice = counted.Choice("quantiles", counted.CELLS, 1, 1, 0.4)
    scale, most = choice.charge.noise.scale, 0
    for edges in (counted.cells_of(low, high), counted.deviations_of(high)):
        inside = np.clip(values, edges[0], edges[-1])
        for wanted, place, new in itertools.product((2, 4), (0, 5), (edges[0], edges[-1], 1.0, 0.3)):
            other = inside.copy()
            other[place] = new
            first, second = (
                counted.scores(counted.counts_in(edges, data), wanted)
                for data in (inside, np.clip(other, *edges[[0, -1]]))
            )
            assert counted.counts_in(edges, other).sum() == 9
            assert np.abs(first - second).max() <= choice.move
            most = max(most, int(np.abs(first - second).max()))
            losses = _log_chances(first, scale) - _log_chances(second, scale)
            assert losses.max() - losses.min() <= 0.4 * (1.0 + 1e-9)
            assert losses.max() >= -1e-9 and losses.min() <= 1e-9
    assert most == 1  # the bound is attained


def test_the_cell_of_a_quantile_holds_it():
    numbers = np.random.default_rng(3)
    edges = counted.cells_of(-10.0, 10.0)
    for values in (
        numbers.normal(size=501),
        np.repeat([0.0, 1.0], [400, 101]),
        np.full(501, 10.0),
        np.full(501, -10.0),
    ):
        place = int(np.argmax(counted.scores(counted.counts_in(edges, values), 250)))
        low, high = edges[place], edges[place + 1]
        assert low <= np.sort(values)[250] and np.sort(values)[249] <= high and low < high


def test_a_replaced_row_moves_a_column_by_at_most_two_to_the_25():
    numbers = np.random.default_rng(5)
    span, most = Span(np.full(4, -1.0), np.full(4, 1.0)), 0
    X, y = numbers.uniform(-1.0, 1.0, (7, 4)), numbers.integers(0, 2, 7).astype(float)
    X[0], y[0] = 1.0, 1.0
    for share, place, row, label in itertools.product(
        (0.5, 0.1, 0.93, 0.0, 1.0), (0, 3), (-1.0, 1.0, 0.01), (0.0, 1.0)
    ):
        other, labels = X.copy(), y.copy()
        other[place], labels[place] = row, label
        first, second = (column_scores(span, 0.5, share, MemoryRows(*data)) for data in ((X, y), (other, labels)))
        most = max(most, int(np.abs(first - second).max()))
    assert 0.9 * 2**25 < most <= 2**25


def test_scores_do_not_depend_on_blocks_and_are_exact():
    numbers = np.random.default_rng(6)
    X, y = numbers.normal(size=(1000, 3)), numbers.normal(size=1000)
    span = Span(np.full(3, -4.0), np.full(3, 5.0))
    found = [column_scores(span, 0.2, 0.4, MemoryRows(X, y, size=size)) for size in (1, 7, 1000)]
    t = [round(4096 * 0.6 / 0.6) if value > 0.2 else -round(4096 * 0.4 / 0.6) for value in y]
    u = np.rint(np.clip((np.clip(X, -4.0, 5.0) - 0.5) * (4096 * 4.6 / 4.5), -4096, 4096))
    exact = [abs(sum(a * int(b) for a, b in zip(t, column, strict=True))) for column in u.T]
    for one in found:
        assert one.tolist() == exact
    made = windows_plan(span, None, 1000, math.inf, 1e-6)
    ends = [made.found(span, None, MemoryRows(X, y, size=size), NOBODY)[0] for size in (13, 1000)]
    assert ends[0].low.tolist() == ends[1].low.tolist() and ends[0].high.tolist() == ends[1].high.tolist()


SPARSE = {"n_features_to_keep": 3}
BOUNDS = {"refine_bounds": True}


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("changed", [SPARSE, BOUNDS, SPARSE | BOUNDS, BOUNDS | {"solver": "statistics"}])
def test_everything_that_is_drawn_meets_the_budget_and_little_is_left(changed, delta):
    model = Ridge(epsilon=1.0, delta=delta, bounds=(-1, 1), target_bounds=(-3, 3), **changed)
    model.n_features_in_ = 20
    made = plan(model._request_for(20_000), 20_000)
    assert made.first.choices and all(isinstance(charge.noise, Selection) for charge in made.first.charges)
    assert Budget(1.0, delta).covers(compose(list(made.charges)))
    less = [Charge(c.noise.scaled(0.97), c.sensitivity, times=c.times) for c in made.charges]
    assert not Budget(1.0, delta).covers(compose(less))


def test_the_steps_draw_nothing_without_a_payment_and_the_ledger_holds_all_charges():
    X, y, labels = rows(3000)
    X = np.column_stack([X] * 5)
    paid = ledger()
    model = logistic(ledger=paid, n_features_to_keep=4, bounds=(-1000, 1000), refine_bounds=True).fit(X, labels)
    entry = paid.entries[0]
    choices = [charge for charge in entry.charges if isinstance(charge.noise, Selection)]
    assert sum(charge.times for charge in choices) == sum(one["times"] for one in model.receipt_["choices"])
    assert {charge.times for charge in choices} >= {4}
    assert Budget(1.0, 1e-6).covers(compose(list(entry.charges))) and model.guarantee_.epsilon == 1.0
    assert model.receipt_["kept"] == model.kept_features_.tolist() and len(model.kept_features_) == 4
    made = plan(model._request_for(3000), 3000)
    with pytest.raises(NotPaid):
        take(made, MemoryRows(X, y), NOBODY)


@pytest.mark.parametrize("model", ["Ridge", "Lasso", "LogisticRegression"])
def test_the_columns_that_matter_are_kept(model):
    """The score of a useful column is 30 scales of noise above the others: a miss has a probability below 1e-9."""
    numbers = np.random.default_rng(8)
    X = numbers.normal(size=(20_000, 60))
    signal = X[:, 7] - X[:, 41]
    public = {"epsilon": 3.0, "delta": 1e-6, "bounds": (-5, 5), "n_features_to_keep": 4}
    if model == "LogisticRegression":
        found = LogisticRegression(**public).fit(X, (signal > 0.0).astype(int))
    else:
        kind = {"Ridge": Ridge, "Lasso": Lasso}[model]
        found = kind(**public, alpha=0.01, target_bounds=(-8, 8)).fit(X, signal)
    assert {7, 41} <= set(found.kept_features_.tolist()) and found.kept_features_.size == 4
    coefficients = np.ravel(found.coef_)
    assert np.flatnonzero(coefficients).tolist() == [
        place for place in found.kept_features_ if coefficients[place] != 0.0
    ]
    assert np.count_nonzero(coefficients) <= 4 and coefficients[7] > 0.0 > coefficients[41]
    assert found.predict(X[:5]).shape == (5,) and found.limits_.shape == (60, 2)


def test_too_much_noise_loses_the_columns():
    """The last test can fail: with a tiny budget the columns are chosen almost at random."""
    numbers = np.random.default_rng(9)
    X = numbers.normal(size=(300, 400))
    model = Ridge(epsilon=0.01, delta=1e-6, bounds=(-5, 5), target_bounds=(-8, 8), n_features_to_keep=5)
    model.set_params(solver="whitened")  # "auto" releases only the mean, and keeps all columns
    found = [model.fit(X, X[:, 7] - X[:, 41]).kept_features_ for _ in range(3)]
    assert any(not {7, 41} <= set(one.tolist()) for one in found)


def test_bounds_are_found_from_nothing():
    numbers = np.random.default_rng(10)
    X = np.column_stack(
        [
            numbers.normal(2000.0, 5.0, 20_000),
            numbers.normal(-3e-4, 1e-5, 20_000),
            numbers.lognormal(10.0, 0.5, 20_000),
            numbers.integers(0, 2, 20_000).astype(float),
        ]
    )
    y = (X[:, 0] - 2000.0) / 5.0 + X[:, 3] + numbers.normal(0.0, 0.3, 20_000)
    model = Ridge(epsilon=3.0, delta=1e-6, bounds="private", target_bounds="private").fit(X, y)
    assert model.score(X, y) > 0.85
    low, high = model.limits_.T
    for place, (centre, spread) in enumerate([(2000.0, 5.0), (-3e-4, 1e-5)]):
        assert low[place] < centre < high[place] and 4.0 * spread < high[place] - low[place] < 20.0 * spread
    assert model.receipt_["bounds"] == "found privately: features and target"
    assert "the ranges in bounds" not in model.receipt_["public"]


def test_windows_without_noise():
    numbers = np.random.default_rng(11)
    X = np.column_stack([numbers.normal(3.0, 2.0, 5000), np.zeros(5000), np.repeat([0.0, 5.0], [4990, 10])])
    source = MemoryRows(X, X[:, 0])
    declared = Span(np.full(3, -1000.0), np.full(3, 1000.0))
    span, target = windows_plan(declared, declared[:1], 5000, math.inf, 0.0).found(
        declared, declared[:1], source, NOBODY
    )
    # 4.6 spreads of 2; the ends of cells of distances are an eighth of an octave apart
    assert span.low[0] == pytest.approx(3.0 - 9.2, abs=1.2) and span.high[0] == pytest.approx(3.0 + 9.2, abs=1.2)
    assert target is not None and target.low[0] == span.low[0]
    assert (span.low[1:] == -1000.0).all() and (span.high[1:] == 1000.0).all()  # nearly one value: as declared
    unknown = Span(np.full(3, -UNKNOWN), np.full(3, UNKNOWN))
    span, _ = windows_plan(unknown, None, 5000, math.inf, 0.0).found(unknown, None, source, NOBODY)
    assert span.low[0] == pytest.approx(3.0 - 9.2, abs=1.2)
    assert span.low[1:].tolist() == [-1.0, -1.0] and span.high[1:].tolist() == [1.0, 1.0]


def test_few_rows_have_one_window_for_all_columns():
    numbers = np.random.default_rng(12)
    span = Span(np.full(40, -50.0), np.full(40, 50.0))
    made = windows_plan(span, None, 1000, 1.0, 1e-6)
    assert made.pooled and [choice.move for choice in made.choices] == [40]
    source = MemoryRows(numbers.normal(size=(1000, 40)), np.zeros(1000))
    without = replace(made, together=replace(made.together, range=math.inf))
    found, _ = without.found(span, None, source, NOBODY)
    assert (found.high == found.high[0]).all() and 3.0 < found.high[0] < 8.0 and -8.0 < found.low[0] < -3.0


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"n_features_to_keep": "few"}, InvalidParameter, "n_features_to_keep must be"),
        ({"n_features_to_keep": 0}, InvalidParameter, "n_features_to_keep"),
        ({"n_features_to_keep": 4}, InvalidParameter, "at most 3, the number of columns"),
        ({"n_features_to_keep": 1.5}, InvalidParameter, "n_features_to_keep"),
        ({"refine_bounds": "yes"}, InvalidParameter, "refine_bounds must be True or False"),
        ({"bounds": "privat"}, InvalidParameter, "bounds must be"),
        ({"bounds": None}, InvalidParameter, "bounds='private'"),
        ({"bounds": "private"}, Unsupported, "200 rows are too few"),
        (
            {"refine_bounds": True, "warm_start": True, "epsilon": 40.0},
            Unsupported,
            "without a warm start",
        ),
        ({"n_features_to_keep": 2, "accounting": "zcdp"}, Unsupported, "zCDP accounting has no theorem"),
    ],
)
def test_refused_for_nothing(changed, error, words):
    X, y, _ = rows(200)
    paid = ledger()
    with pytest.raises(error, match=words) as failure:
        ridge(ledger=paid, **changed).fit(X, y)
    assert str(failure.value).endswith(".") and "\n" not in str(failure.value)
    assert paid.entries == () and isinstance(failure.value, HushError)


def test_columns_are_screened_by_themselves_only_under_an_l1_penalty():
    for sparse, columns, expected in ((True, 1000, 8), (True, 20, None), (False, 1000, None)):
        assert columns_to_keep("auto", columns, 2000, 4.22, sparse=sparse) == expected
    assert columns_to_keep("all", 1000, 2000, 4.22, sparse=True) is None
    assert columns_to_keep(7, 7, 2000, 4.22, sparse=True) is None
    assert columns_to_keep("auto", 1000, 20_000, 4.22, sparse=True) == 25
