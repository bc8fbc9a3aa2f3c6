"""Gaussian noise on the root of cumulative sums: exact in whole numbers, private, with the planned error, for long
lines.
"""

from __future__ import annotations

import numpy as np
import pytest
from scales import must_have_planned_error

import hush
from hush.privacy.charge import Budget
from hush.workload import Prefixes, Quantiles, Questions, Ranges
from hush.workload.root import root_strategy

BUDGET = Budget(1.0, 1e-6)
BINS = 300


@pytest.fixture(scope="module")
def matrix():
    """The measured combinations, one column for each bin."""
    made = root_strategy(Prefixes(BINS), BUDGET, 1)
    return np.stack([made.measured(row)[0] for row in np.eye(BINS, dtype=np.int64)], axis=1)


def test_the_combinations_are_the_root_in_whole_numbers(matrix):
    assert (np.triu(matrix, 1) == 0).all() and (np.diag(matrix) == 1 << 20).all()
    scaled = matrix / 2.0**20
    assert np.abs(scaled @ scaled - np.tri(BINS)).max() < 1e-5
    counts = np.random.default_rng(1).integers(0, 1 << 30, BINS)
    made = root_strategy(Prefixes(BINS), BUDGET, 1)
    exact = [sum(int(k) * int(x) for k, x in zip(row, counts, strict=True)) for row in matrix]
    assert made.measured(counts)[0].tolist() == exact
    assert made.measured(np.zeros(BINS, dtype=np.int64))[0].tolist() == [0] * BINS


@pytest.mark.parametrize("rows", [1, 2])
def test_no_person_moves_them_further_than_is_charged(matrix, rows):
    made = root_strategy(Prefixes(BINS), BUDGET, rows)
    bound = made.parts[0].sensitivity.l2
    each = [matrix[:, i] for i in range(BINS)]
    if rows == 2:
        each = [a + b for a in each[:40:3] for b in each[::7]] + [2 * one for one in each]
    longest = max(float(np.sqrt(float((move.astype(float) ** 2).sum()))) for move in each)
    assert 0.999999 * bound <= longest <= bound


@pytest.mark.parametrize("kind", [Prefixes, Quantiles, Ranges])
def test_errors_are_those_of_the_matrix(matrix, kind):
    """The sum of all errors, and the variance of single questions, from the inverse of the whole matrix."""
    line = kind(BINS)
    made, questions = root_strategy(line, BUDGET, 1), line.matrix()
    squares = ((questions @ np.linalg.inv(matrix)) ** 2).sum(axis=1) * float(np.max(made.noise.variance))
    assert made.error == pytest.approx(squares.mean(), rel=1e-9)
    for place in (0, 7, len(questions) // 2, len(questions) - 1):
        assert made.variance_of(questions[place]) == pytest.approx(squares[place], rel=1e-9)
        assert made.law(questions[place]).variance == pytest.approx(squares[place], rel=1e-9)
    if kind is not Ranges:
        assert np.allclose(line.root_variances(made), squares, rtol=1e-9)


def test_without_noise_the_bins_are_exact():
    made = root_strategy(Prefixes(5000), BUDGET, 1)
    counts = np.random.default_rng(2).integers(0, 1 << 20, 5000)
    assert np.abs(made.estimated(made.measured(counts)) - counts).max() < 1e-4


def test_draws_have_the_planned_error():
    line = Prefixes(BINS)
    made = root_strategy(line, BUDGET, 1)
    errors = []
    for _ in range(200):
        payment = hush.ledger.unaccounted(made.charges)
        noisy = payment.noise(made.parts[0], np.zeros(BINS, dtype=np.int64))
        errors.append(np.cumsum(made.estimated([noisy])))
    must_have_planned_error((np.array(errors) ** 2).mean(axis=1), made.error)


def test_long_lines_are_planned_with_it():
    """It wins for cumulative counts of 65,536 bins, and plans of a million bins are made."""
    plan = Prefixes(1 << 16).plan(1.0, 1e-6)
    assert plan.strategy.name == "Gaussian noise on the root of cumulative sums" and plan.mse < 352.0
    assert plan.variance[-1] == pytest.approx(plan.strategy.variance_of(np.ones(1 << 16)), rel=1e-6)
    answer = plan.answer(np.ones(1 << 16, dtype=np.int64), ledger=None)
    assert answer.prefixes[-1] == answer.histogram.sum()
    total = answer.range(0, 1 << 16)
    assert abs(total.value - (1 << 16)) < 6 * np.sqrt(plan.variance[-1])  # a false alarm with probability 2e-9
    flat = plan.workload.block_norm(1, 1 << 16) / (1 << 16) / (np.cosh(1.0) - 1.0)
    assert plan.mse < flat
    assert Quantiles(1 << 20).plan(1.0, 1e-6).mse < 600.0


def test_where_it_is_not_compared():
    for line, budget, words in (
        (Prefixes(256), BUDGET, "fewer than 257"),
        (Prefixes(300), Budget(1.0, 0.0), "delta above 0"),
        (Questions(np.eye(300)), BUDGET, "not made from cumulative"),
    ):
        with pytest.raises(hush.Unsupported, match=words):
            root_strategy(line, budget, 1)
    with pytest.raises(hush.Unsupported, match="not listed"):
        Ranges(300).root_variances(root_strategy(Ranges(300), BUDGET, 1))


@pytest.mark.parametrize("kind", [Prefixes, Quantiles])
@pytest.mark.parametrize("bins", [1, 7, 100, 129])
def test_sums_of_block_norms_have_their_closed_form(kind, bins):
    for size in (1, 2, 5, 16, 100):
        padded = -(-bins // size) * size
        assert kind(bins).block_norm(size, padded) == pytest.approx(kind(bins).block_norms(size, padded).sum())
