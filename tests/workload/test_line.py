"""Cumulative counts, ranges and quantiles: the reference errors, blocks in whole numbers, intervals, and privacy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from scales import must_cover, must_have_planned_error

import hush
from hush.privacy.charge import Budget
from hush.workload import Prefixes, Quantiles, Questions, Ranges
from hush.workload.block_search import best_blocks, gaussian_blocks
from hush.workload.blocks import BlockStrategy
from hush.workload.dense import MatrixStrategy, dense_gram, dense_strategy
from hush.workload.line_intervals import mean_ends, quantile_ends
from hush.workload.line_strategies import makers

SIGMA2 = 4.224678889326838**2


def candidate(line, start, budget=Budget(1.0, 1e-6), rows=1):  # noqa: B008 - a budget cannot change
    """The candidate whose name starts with some words."""
    return next(make() for name, make in makers(line, budget, rows) if name.startswith(start))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (Prefixes(8), 8.29), (Prefixes(32), 23.0), (Prefixes(128), 48.4), (Prefixes(1024), 116.8),
        (Prefixes(8192), 232.5), (Ranges(8), 6.14), (Ranges(32), 20.9), (Ranges(128), 52.8), (Ranges(1024), 152.1),
        (Ranges(8192), 332.1), (Quantiles(128), 33.4), (Quantiles(1024), 91.0),
    ],
    ids=repr,
)  # fmt: skip
def test_errors_of_the_reference(line, value):
    """At most 1.02 times the reference at (1, 1e-6), and never worse than noise on each bin."""
    if line.bins > 256:
        strategies = [make() for name, make in makers(line, Budget(1.0, 1e-6), 1) if name.startswith("Laplace")]
        found, flat = min(one.error for one in strategies), strategies[0].error
    else:
        plan = line.plan(1.0, 1e-6)
        found, flat = plan.mse, candidate(line, "Laplace noise on each bin").error
    assert found <= 1.02 * value
    assert found > 0.97 * value
    assert found <= flat


def test_three_rows_of_a_person():
    assert Prefixes(128).plan(1.0, 1e-6, rows_per_person=3).mse <= 1.02 * 444.0


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 7, 17, 18, 31, 50, 51])
@pytest.mark.parametrize("kind", [Prefixes, Ranges, Quantiles])
def test_never_worse_than_noise_on_each_bin(kind, bins):
    plan = kind(bins).plan(1.0, 1e-6)
    flat = kind(bins).block_norm(1, bins) / kind(bins).questions / (math.cosh(1.0) - 1.0)
    assert plan.mse <= flat * (1.0 + 1e-6)


def test_never_worse_than_one_noise_on_each_bin_anywhere():
    """Sizes, budgets and rows of a person at random: neither Laplace nor Gaussian noise on each bin is better."""
    numbers = np.random.default_rng(11)
    for _ in range(examples(12, 200)):
        kind = (Prefixes, Ranges, Quantiles)[int(numbers.integers(3))]
        line, rows = kind(int(np.exp(numbers.uniform(0.0, 6.0)))), int(numbers.integers(1, 12))
        epsilon = float(np.exp(numbers.uniform(-2.0, 2.0)))
        delta = float(numbers.choice([0.0, 1e-9, 1e-6, 1e-3]))
        plan = line.plan(epsilon, delta, rows_per_person=rows)
        mean = line.block_norm(1, line.bins) / line.questions
        assert plan.mse <= mean / (math.cosh(epsilon / rows) - 1.0) * (1.0 + 1e-6), (line, epsilon, delta, rows)
        if delta > 0.0:
            sigma = hush.calibrate(epsilon, delta, hush.Sensitivity(l2=float(rows)), family="gaussian").noise
            assert plan.mse <= mean * sigma.variance * (1.0 + 1e-6), (line, epsilon, delta, rows)


@pytest.mark.parametrize("kind", [Prefixes, Ranges, Quantiles])
def test_block_norms_are_those_of_the_matrix(kind):
    """Against the questions written out, with the line continued by empty bins."""
    line, size, padded = kind(11), 4, 12
    rows = line.matrix()
    extra = np.full((len(rows), 1), -0.5 if kind is Quantiles else 0.0)
    full = np.hstack([rows, extra])
    means = full.reshape(len(rows), -1, size).mean(axis=2).repeat(size, axis=1)
    assert np.allclose(line.block_norms(size, padded), (means**2).sum(axis=1))
    assert line.block_norm(size, padded) == pytest.approx((means**2).sum())
    assert line.block_norm(1, 11) == pytest.approx((rows**2).sum())


def test_the_variance_is_that_of_least_squares():
    """Against the pseudo-inverse of all measured rows, for 12 bins in blocks of 4, 2 and 1."""
    line, sizes, variances = Prefixes(12), (4, 2, 1), (3.0, 5.0, 2.0)
    rows = np.vstack(
        [np.kron(np.eye(12 // s), np.ones(s)) / math.sqrt(v) for s, v in zip(sizes, variances, strict=True)]
    )
    exact = np.diag(line.matrix() @ np.linalg.inv(rows.T @ rows) @ line.matrix().T)
    part = candidate(line, "Laplace noise on each bin").parts
    made = BlockStrategy("x", part, 0.0, bins=12, sizes=sizes, node_variances=variances)
    assert np.allclose(made.variances(line.block_norms), exact)
    assert made.variance_of(line.matrix()[4]) == pytest.approx(exact[4])
    truth = np.arange(12)
    assert np.allclose(made.estimated(made.measured(truth)), truth)


def test_the_law_of_a_range_is_that_of_its_noise():
    plan = Prefixes(40).plan(1.0, 1e-6)
    weights = np.zeros(40)
    weights[3:29] = 1.0
    assert plan.strategy.law(weights).variance == pytest.approx(plan.strategy.variance_of(weights), rel=1e-9)


def test_gaussian_strategies_of_the_reference():
    """Dense optimum: prefixes 17.866177 for 8 bins, 114.559703 for 32; ranges 80.464265 for 8; hierarchy 129.1."""
    for line, value in ((Prefixes(8), 17.866177), (Prefixes(32), 114.559703), (Ranges(8), 80.464265)):
        _, bound = dense_gram(line.matrix().T @ line.matrix())
        assert bound == pytest.approx(value, rel=2e-6)
        made = dense_strategy(line, Budget(1.0, 1e-6), 1)
        assert made.error == pytest.approx(value * SIGMA2 / line.questions, rel=1e-4)
    skew = (sum(1.0 / (2.0 * math.sin((2 * j - 1) * math.pi / 64.0)) for j in range(1, 33)) / 32.0) ** 2
    assert dense_strategy(Quantiles(32), Budget(1.0, 1e-6), 1).error == pytest.approx(skew * SIGMA2, rel=1e-4)
    total = min(gaussian_blocks(Prefixes(128).block_norm, 128, ratio)[2] for ratio in (2, 3, 4))
    assert total / 128 * SIGMA2 == pytest.approx(129.1, rel=1e-3)


# -- privacy -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [Prefixes(64), Ranges(70)], ids=repr)
def test_one_row_moves_one_block_of_each_level(line):
    strategy = candidate(line, "Laplace noise on blocks of 2")
    for place in range(line.bins):
        moves = strategy.measured(np.eye(line.bins, dtype=np.int64)[place])
        assert all(sorted(move.tolist())[-1] == 1 and move.sum() == 1 for move in moves)
    spent = sum(Fraction(1) / Fraction(part.noise.noise.scale) for part in strategy.parts)
    assert spent <= 1 and float(spent) > 1.0 - 1e-8


@pytest.mark.parametrize("words", ["Gaussian noise on blocks", "Gaussian noise on the best"])
def test_gaussian_strategies_keep_their_length(words):
    """In whole numbers, for one row and for three rows in one bin or in three."""
    for rows in (1, 3):
        line, dense = Prefixes(20), words.endswith("best")
        strategy = dense_strategy(line, Budget(1.0, 1e-6), rows) if dense else candidate(line, words, rows=rows)
        assert isinstance(strategy, BlockStrategy | MatrixStrategy)
        limit = Fraction(strategy.parts[0].sensitivity.l2) ** 2
        cells = [np.eye(20, dtype=np.int64)[k] for k in range(20)]
        moved = cells if rows == 1 else [3 * c for c in cells] + [cells[0] + cells[1] + cells[2]]
        longest = max(sum(int(k) ** 2 for k in strategy.measured(move)[0]) for move in moved)
        assert float(limit) * 0.999 <= longest <= limit


def test_the_ledger_is_charged_for_all_levels():
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    plan = Prefixes(64).plan(1.0, 0.0)
    answer = plan.answer(np.arange(64), ledger=ledger)
    assert len(plan.charges) == len(answer.receipt.charges) == 2
    assert 0.99999 < ledger.spent.epsilon <= 1.0
    with pytest.raises(hush.BudgetExceeded):
        plan.answer(np.arange(64), ledger=ledger)


# -- answers -------------------------------------------------------------------------------------------------


def test_errors_over_many_releases():
    """400 releases of 40 bins: the mean squared error of all prefixes, and the coverage of one range."""
    line, truth = Prefixes(40), np.arange(40) % 7
    plan = line.plan(1.0, 1e-6)
    answers = [plan.answer(truth, ledger=None) for _ in range(400)]
    errors = np.array([np.cumsum(answer.estimates) - np.cumsum(truth) for answer in answers])
    must_have_planned_error((errors**2).mean(axis=1), plan.mse)
    width = plan.strategy.law(np.r_[np.zeros(5), np.ones(20), np.zeros(15)]).half_width(0.95)
    must_cover([abs(answer.estimates[5:25].sum() - truth[5:25].sum()) <= width for answer in answers], 0.95)
    assert answers[0].range(5, 25).high - answers[0].range(5, 25).low == pytest.approx(2 * width)


def test_whole_numbers_agree():
    answer = Ranges(60).plan(1.0, 1e-6).answer(np.full(60, 3), ledger=None)
    assert (np.cumsum(answer.histogram) == answer.prefixes).all()
    assert np.abs(answer.prefixes - np.cumsum(answer.estimates)).max() <= 0.5 + 1e-9
    assert answer.non_negative.min() >= 0 and answer.non_negative.sum() == max(answer.histogram.sum(), 0)
    empty = Ranges(60).plan(1.0, 1e-6).answer(np.zeros(60, dtype=int), ledger=None)
    for k in range(20):
        plain, cut = empty.range(k, k + 1), empty.range(k, k + 1, non_negative=True)
        assert (cut.value, cut.low, cut.high) == (max(plain.value, 0.0), max(plain.low, 0.0), max(plain.high, 0.0))


def test_quantiles_of_a_large_table():
    truth = np.full(100, 10_000)
    answer = Quantiles(100).plan(1.0, 1e-6).answer(truth, ledger=None)
    assert answer.quantile(0.5) in (49, 50)
    assert np.abs(answer.quantile([0.1, 0.9]) - [9, 89]).max() <= 1


def test_intervals_of_quantiles_and_means_cover():
    """400 releases of 30 bins, with the widths of the plan computed once: three quantiles and the mean of a value."""
    truth = np.random.default_rng(5).poisson(6, 30)
    plan, sums = Quantiles(30).plan(1.0, 1e-6), np.cumsum(truth)
    answers = [plan.answer(truth, ledger=None) for _ in range(400)]
    for share in (0.1, 0.5, 0.9):
        rows = [(np.arange(30) <= k) - share for k in range(30)]
        widths = [plan.strategy.law(row).half_width(0.95) for row in rows]
        most = math.sqrt(max(plan.strategy.variance_of(row) for row in rows))
        exact = int(np.argmax(sums >= share * sums[-1]))
        found = [quantile_ends(answer.estimates, share, widths.__getitem__, most) for answer in answers]
        must_cover(np.array([first <= exact <= last for first, last in found]), 0.95)
        assert np.median([last - first for first, last in found]) < 20
        assert answers[0].quantile_interval(share) == found[0]
    values = np.arange(30.0)
    exact = float(values @ truth) / truth.sum()
    width = plan.strategy.law(values - exact).half_width(0.95)  # the true mean is not ruled out within this width
    means = [mean_ends(answer.estimates, values, lambda _: width) for answer in answers]
    must_cover(np.array([low <= exact <= high for _, low, high in means]), 0.95)
    assert np.median([high - low for _, low, high in means]) < 10.0
    one = answers[0].mean(values)
    assert one.low < one.value < one.high
    assert abs(one.value - float(values @ answers[0].estimates) / answers[0].estimates.sum()) < 1e-9


def test_an_empty_line_has_the_widest_interval():
    answer = Quantiles(30).plan(0.1, 0.0).answer(np.zeros(30, dtype=int), ledger=None)
    first, last = answer.quantile_interval(0.5)
    assert last - first >= 20
    whole = mean_ends(np.full(3, -1.0), np.array([0.0, 1.0, 2.0]), lambda _: 0.0)
    assert whole == (1.0, 0.0, 2.0)


def test_variances_are_listed():
    for line in (Prefixes(30), Ranges(12), Quantiles(30)):
        plan = line.plan(1.0, 1e-6)
        assert plan.variance.shape == (line.questions,)
        assert plan.variance.mean() == pytest.approx(plan.mse, rel=1e-6)
        assert "compared with" in plan.why and repr(line) in repr(plan)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Prefixes(0), "bins"),
        (lambda: Prefixes(1 << 21), "at most"),
        (lambda: Prefixes(4).plan(1.0, 1e-6).answer([1, 2, 3], ledger=None), "list of 4 counts"),
        (lambda: Prefixes(4).plan(1.0, 1e-6).answer([1.0, 2.0, 3.0, 4.0], ledger=None), "whole numbers"),
        (lambda: Prefixes(4).plan(1.0, 1e-6).answer([1, 2, 3, 4], ledger=None).range(3, 2), "start < stop"),
        (lambda: Prefixes(4).plan(1.0, 1e-6).answer([1, 2, 3, 4], ledger=None).total([1.0]), "4 finite numbers"),
        (lambda: Prefixes(4).plan(1.0, 1e-6).answer([1, 2, 3, 4], ledger=None).mean([1.0]), "4 numbers"),
        (lambda: Prefixes(4).plan(1.0, 1e-6).answer([1, 2, 3, 4], ledger=None).quantile_interval(2.0), "share"),
        (lambda: Prefixes(4).plan(1.0, 0.0).answer([1, 2, 3, 4], ledger=None).quantile_interval(level=0.9999), "0.998"),
    ],
)
def test_mistakes_get_one_sentence(call, words):
    with pytest.raises(hush.HushError, match=words) as mistake:
        call()
    assert "\n" not in str(mistake.value)


def test_the_search_finds_the_best_sizes_of_small_lines():
    """Against all sizes of two levels, for 40 bins."""
    line = Prefixes(40)
    from hush.workload.block_search import best_shares, gains

    every = [best_shares(gains(line.block_norm, 40, (s, 1)), (s, 1), 1.0)[1] for s in range(2, 41)]
    assert best_blocks(line.block_norm, 40, 1.0, 2).total <= min(every) * 1.005


def test_any_matrix_is_planned_and_answered():
    """The matrix of prefixes has the same plan as `Prefixes`; other matrices are different workloads."""
    by_hand, known = Questions(np.tri(40)).plan(1.0, 1e-6), Prefixes(40).plan(1.0, 1e-6)
    assert by_hand.mse == pytest.approx(known.mse, rel=1e-9)
    assert by_hand.variance == pytest.approx(known.variance)
    reverse = Questions(np.eye(40)[:3]).plan(1.0, 1e-6)
    assert reverse.strategy.name == "Laplace noise on each bin" and reverse.mse < 2.0
    half = dense_strategy(Questions(np.tri(20)[:, ::-1][:7]), Budget(1.0, 1e-6), 1)
    assert np.linalg.matrix_rank(half.rows.astype(float)) == 20  # bins that no question uses are measured roughly
    assert half.estimated(half.measured(np.arange(20))) == pytest.approx(np.arange(20), abs=1e-6)
    answer = by_hand.answer(np.arange(40), ledger=None)
    assert answer.answers == pytest.approx(np.cumsum(answer.estimates))
    assert Questions(np.tri(3)) != Questions(np.tri(3))
    for wrong in ([1, 2], [[0, 0]], "x", [[]]):
        with pytest.raises(hush.HushError):
            Questions(wrong)
