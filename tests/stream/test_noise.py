"""The noise of a stream as it is published: its law by chi-square, and attacks on neighbouring streams."""

from __future__ import annotations

import numpy as np
import pytest
from scales import FALSE_ALARM
from scipy.stats import chi2, norm

import hush
from hush.privacy.charge import Budget
from hush.stream.matrix import matrix_stream, normalised_rows

DRAWS = 8000


def chi_square(values, cumulative, cells=16):
    """The chi-square statistic of values in cells of nearly equal probability, and its limit at the false-alarm rate.

    `cumulative` is the distribution function; cells are made from quantiles of the values' own law.
    """
    scores = cumulative(values)
    found = np.histogram(scores, bins=np.linspace(0.0, 1.0, cells + 1))[0]
    expected = len(values) / cells
    return float(((found - expected) ** 2 / expected).sum()), float(chi2.isf(FALSE_ALARM, cells - 1))


def test_gaussian_streams_publish_rounded_normal_numbers():
    """20 streams of 40 periods: what is published less the exact combination, over the noise's deviation. A deviation
    of 2/3 or 3/2 is rejected. The lattice has steps of a four-millionth of the deviation, so cells do not see it.
    """
    plan = hush.stream(horizon=40, appears=4, apart=5).plan(1.0, 1e-6)
    counts, errors = [k % 5 for k in range(40)], []
    for _ in range(20):
        running = plan.start(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6), name="a")
        for count in counts:
            answer = running.add(count)
        exact = [plan.strategy.measured(counts[:t])[0][1] for t in range(1, 41)]
        errors += [noisy - value for (noisy,), value in zip(answer.noisy, exact, strict=True)]
    scale = float(np.sqrt(np.max(plan.noise.variance)))
    statistic, limit = chi_square(np.array(errors) / scale, norm.cdf)
    assert statistic < limit
    for wrong in (2.0 / 3.0, 1.5):
        statistic, limit = chi_square(np.array(errors) / (wrong * scale), norm.cdf)
        assert statistic > limit


def test_blocks_publish_whole_number_laplace_noise():
    """16 streams of 50 periods. The law of each level on the whole numbers, the far ones in one cell on each side."""
    plan = hush.stream(horizon=50).plan(1.0, 0.0)
    errors = {0: [], 1: []}
    for _ in range(16):
        running = plan.start(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6), name="a")
        for count in [3] * 50:
            answer = running.add(count)
        for t, numbers in enumerate(answer.noisy, 1):
            for level, noisy in enumerate(numbers):
                errors[level].append(noisy - plan.strategy.measured([3] * t)[level][1])
    for level, epsilon in enumerate(plan.strategy.epsilons):
        assert is_laplace(np.array(errors[level]), epsilon, far=4 if level == 0 else 2)
    assert not is_laplace(np.array(errors[0]), 1.5 * plan.strategy.epsilons[0])
    assert not is_laplace(np.array(errors[0]), 2.0 / 3.0 * plan.strategy.epsilons[0])


def is_laplace(values, epsilon, far=4):
    """Is the chi-square statistic below its limit?"""
    q = np.exp(-epsilon)
    inner = np.arange(-far, far + 1)
    shares = (1.0 - q) / (1.0 + q) * q ** np.abs(inner)
    rest = 0.5 * (1.0 - shares.sum())
    shares = np.concatenate([[rest], shares, [rest]])
    found = np.bincount(np.clip(values, -far - 1, far + 1) + far + 1, minlength=2 * far + 3)
    statistic = float(((found - shares * values.size) ** 2 / (shares * values.size)).sum())
    return statistic < float(chi2.isf(FALSE_ALARM, shares.size - 1))


def attacked(strategy, streams):
    """A target: everything that is published for one of two neighbouring streams."""
    exact = [[one for t in range(1, len(x) + 1) for one in strategy.measured(x[:t])] for x in streams]

    def target(which: float, size: int):
        columns = []
        for part, value in exact[int(which)]:
            made = strategy.single(part)
            columns.append(value + hush.draw(made.noise, size, made.step))
        return np.stack(columns, axis=1).astype(np.float64)

    return target


def cases():
    yield "blocks", hush.stream(horizon=50).plan(2.0, 0.0).strategy, ([1] * 50, [1] * 10 + [0] + [1] * 39)
    twice = hush.stream(horizon=6, appears=2, apart=2).plan(2.0, 0.0).strategy
    yield "twice", twice, ([2, 1, 1, 1, 1, 1], [1, 1, 0, 1, 1, 1])


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0])
def test_the_claim_stands_and_a_smaller_one_is_refuted(case):
    """A false alarm is rarer than 1e-6."""
    _, strategy, streams = case
    target = attacked(strategy, streams)
    assert not hush.audit(target, epsilon=2.0, samples=DRAWS, vectorised=True).violated
    assert hush.audit(target, epsilon=0.4, samples=DRAWS, vectorised=True).violated


def test_a_gaussian_stream_is_not_distinguished_better_than_claimed():
    """The best test between two neighbouring streams is a threshold of one normal number: its delta, from the exact
    move of the published numbers, is that of the plan at the plan's epsilon.
    """
    strategy = matrix_stream("x", normalised_rows(24), Budget(1.0, 1e-6), 1, 1)
    sigma = float(np.sqrt(np.max(strategy.noise.variance)))
    lengths = []
    for day in range(24):
        counts = np.eye(24, dtype=int)[day].tolist()
        moves = [strategy.measured(counts[:t])[0][1] for t in range(1, 25)]
        lengths.append(float(np.sqrt(sum(float(move) ** 2 for move in moves))))
    assert max(lengths) <= strategy.parts[0].sensitivity.l2
    assert max(lengths) / min(lengths) < 1.001, "every day costs nearly the same"
    m = max(lengths) / sigma
    delta = norm.cdf(0.5 * m - 1.0 / m) - np.e * norm.cdf(-0.5 * m - 1.0 / m)
    assert 0.99e-6 < delta <= 1e-6
