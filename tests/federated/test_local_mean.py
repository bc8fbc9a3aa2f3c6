"""`LocalMean`: its whole numbers prove epsilon and expectation, its variance is nearly the least, intervals cover."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

import hush
from hush.errors import InvalidParameter, Unsupported
from hush.federated import LocalMean, gather, local, local_mean, mean, reports_needed
from hush.federated.estimate import half_width, methods
from hush.federated.local_report import local_noise, variance_of
from hush.federated.mean_report import STEPS, _between

ALARM = 1e-6  # how often a statistical test here may fail by chance
EPSILONS = [1e-9, 0.05, 0.1, 0.7, 1.3, 4.0, 30.0]
#: The least variance over all private unbiased reports of values in [0, 1], on grids of 11 and 16 values.
LEAST = {0.1: 100.0, 0.5: 4.001, 1.0: 0.997, 2.0: 0.216, 4.0: 0.0315}


def e_to_the(epsilon: float) -> Fraction:
    """At most e^epsilon: Taylor's series with 200 terms, all positive."""
    series, term = Fraction(0), Fraction(1)
    for k in range(1, 201):
        series += term
        term = term * Fraction(epsilon) / k
    return series


def law(made: LocalMean, step: int) -> list[Fraction]:
    """The exact probabilities of the numbers for a value on the lattice, from the definition of random rounding."""
    apart = STEPS // (len(made.weights) - 1)
    row, over = divmod(step, apart)
    share = Fraction(over, apart)
    upper = made.weights[min(row + 1, len(made.weights) - 1)]
    return [((1 - share) * low + share * high) / made.total for low, high in zip(made.weights[row], upper, strict=True)]


def test_numbers_that_no_report_can_use_are_refused():
    """The order decides the reach of a report, and its intervals rely on it; a report is drawn in int64."""
    made = local_mean(0.05)
    far, two = 1 << 70, ((2, 1), (1, 2))
    for numbers, weights in (
        (made.numbers[::-1], tuple(row[::-1] for row in made.weights)),
        ((-STEPS, 2 * STEPS), ((2.0, 1.0), (1.0, 2.0))),
        ((-float(STEPS), 2.0 * STEPS), two),
        ((-STEPS, True), two),
        (
            (STEPS // 2 - far, STEPS // 2 + far),
            ((far + STEPS // 2, far - STEPS // 2), (far - STEPS // 2, far + STEPS // 2)),
        ),
        ((0, 0), two),
        ((0, STEPS), ((1, 1),)),
        ((0, STEPS), ()),
        ((), ((), ())),
        (None, None),
        ([0, STEPS], [[2, 1], [1, 2]]),
    ):
        with pytest.raises(InvalidParameter, match="increasing order"):
            LocalMean(1.0, numbers, weights)
    assert LocalMean(1.0, (-STEPS, 2 * STEPS), two).reach == 2.0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_any_two_values_keep_epsilon_exactly(epsilon):
    """All pairs of 27 values, on and between the rows, in fractions; the probabilities sum to 1 and the mean is the
    value. The ratio is nearly used up, so a smaller epsilon would be refused.
    """
    made, most = local_mean(epsilon), e_to_the(min(epsilon, 20.0))
    values = [0, STEPS, 1, STEPS - 1, *range(12_345, STEPS, STEPS // 22)]
    laws = [law(made, value) for value in values]
    for value, chances in zip(values, laws, strict=True):
        assert sum(chances) == 1
        assert sum(p * number for p, number in zip(chances, made.numbers, strict=True)) == value
    worst = max(p / q for one, two in itertools.permutations(laws, 2) for p, q in zip(one, two, strict=True))
    assert worst <= most
    if epsilon < 10.0:
        assert worst - 1 > (most - 1) * Fraction(999, 1000)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_value_of_the_grid_has_its_own_row(epsilon):
    """And of the words for the step after it, only the least takes the next row."""
    made = local_mean(epsilon)
    rows, apart = np.arange(len(made.weights)), STEPS // (len(made.weights) - 1)
    for word, more in ((0, 1), (apart - 1, 0)):
        with patch("hush.federated.mean_report.below", lambda bits, count, bound, word=word: np.full(count, word)):
            assert made._rows(None, rows * apart).tolist() == rows.tolist()
            assert made._rows(None, rows[:-1] * apart + 1).tolist() == (rows[:-1] + more).tolist()


def test_wrong_weights_are_refused():
    """One weight moved by one: the sum, the expectation or the ratio is wrong, and the object is not made."""
    made = local_mean(0.05)
    (a, b), (c, d) = made.weights
    for weights, words in (
        (((a + 1, b), (c, d)), "equal sums"),
        (((a - 1, b + 1), (c, d)), "expectation"),
        (((a, b),), "rows"),
        (((a, b, 1), (c, d, 1)), "one positive"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            replace(made, weights=weights)
    with pytest.raises(InvalidParameter, match=r"more than e\^epsilon"):
        replace(made, epsilon=0.0499999)
    with pytest.raises(InvalidParameter, match="epsilon"):
        local_mean(0.0)
    with pytest.raises(Unsupported, match="laplace"):
        local_mean(1e-12)


def least_variance(epsilon: float, values: int, numbers: int) -> float:
    """The least largest variance on a grid, as a programme in the probabilities themselves: no columns, no mirrors."""
    x, far = np.linspace(-0.5, 0.5, values), 0.65 / math.tanh(0.5 * epsilon) + 0.1
    e = np.linspace(-far, far, numbers)
    size = values * numbers
    cost = np.zeros(size + numbers + 1)  # the probabilities, the least one of each number, and V
    cost[-1] = 1.0
    equal, right, limit, bound = [], [], [], []
    for i in range(values):
        own = slice(i * numbers, (i + 1) * numbers)
        for power, value in ((0, 1.0), (1, x[i])):
            row = np.zeros(cost.size)
            row[own] = e**power
            equal.append(row)
            right.append(value)
        row = np.zeros(cost.size)
        row[own], row[-1] = (e - x[i]) ** 2, -1.0
        limit.append(row)
        bound.append(0.0)
        for y in range(numbers):
            for sign, factor in ((-1.0, 1.0), (1.0, -math.exp(epsilon))):  # least <= p <= e^epsilon least
                row = np.zeros(cost.size)
                row[i * numbers + y], row[size + y] = sign, -sign if sign < 0.0 else factor
                limit.append(row)
                bound.append(0.0)
    answer = linprog(cost, np.array(limit), bound, np.array(equal), right, bounds=(0, None), method="highs")
    return float(answer.fun)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_variance_is_within_two_percent_of_the_programme(epsilon):
    """The optimum of another formulation; its grid of 7 values makes it too small, if anything."""
    assert local_mean(epsilon).variance <= 1.02 * least_variance(epsilon, 7, 41)


@pytest.mark.parametrize("epsilon", LEAST)
def test_variance_is_nearly_the_least(epsilon):
    """The largest variance, by the exact law at many values; no more than 1.02 times the optimum."""
    made = local_mean(epsilon)
    assert made.variance <= 1.02 * LEAST[epsilon]
    worst = 0.0
    for value in range(0, STEPS + 1, STEPS // 256):
        square = sum(p * (number - value) ** 2 for p, number in zip(law(made, value), made.numbers, strict=True))
        worst = max(worst, float(square / STEPS**2))
    assert 0.9999 * made.variance <= worst <= made.variance


def test_variance_between_two_rows():
    """The closed form of the largest variance between two rows, against a dense grid."""
    for a, b in ((1, 1), (1, Fraction(3, 2)), (2, 1), (1, 4)):
        t = np.linspace(0.0, 1.0, 10_001)
        dense = float(np.max((1.0 - t) * float(a) + t * float(b) + t * (1.0 - t)))
        assert float(_between(Fraction(a), Fraction(b), Fraction(1))) == pytest.approx(dense, rel=1e-7)


def test_draws_have_their_law():
    """A chi-square test at one false alarm in a million for a value between two rows; the law of either row, and of
    two thirds and three halves of the distance from the middle of the range, is rejected.
    """
    made, value, size = local_mean(1.0), 300_001, 200_000
    drawn = made.draw(np.full(size, value, dtype=np.int64))
    counts = np.array([(drawn == number).sum() for number in made.numbers])

    def statistic(step: int) -> float:
        expected = size * np.array([float(p) for p in law(made, step)])
        return float(((counts - expected) ** 2 / expected).sum())

    most = chi2.isf(ALARM, len(made.numbers) - 1)
    assert counts.sum() == size
    assert statistic(value) < most
    middle = STEPS // 2
    for wrong in (2.0 / 3.0, 1.5):
        assert statistic(middle + round(wrong * (value - middle))) > most
    apart = STEPS // (len(made.weights) - 1)
    for row in (value // apart, value // apart + 1):
        assert statistic(row * apart) > most


def test_audit_does_not_beat_a_report():
    """One report, from either end of the range; the same attack refutes two thirds of epsilon."""

    def report(value: float, size: int) -> np.ndarray:
        return local(np.full(size, value), 1.0, 0, 100, family="optimal", delta=0.0).steps

    assert not hush.audit(report, epsilon=1.0, inputs=(0.0, 100.0), samples=200_000).violated
    assert hush.audit(report, epsilon=2.0 / 3.0, inputs=(0.0, 100.0), samples=200_000).violated


def coverage(made: LocalMean, count: int, people: list[tuple[int, int]], width: float) -> float:
    """The exact probability that the average of reports is within `width` of the mean, by convolution."""
    numbers = np.array(made.numbers)
    unit = int(np.gcd.reduce(np.diff(numbers)))
    places, rows = (numbers - numbers[0]) // unit, np.array(made.weights, dtype=float) / made.total
    size = int(places[-1]) * count + 1
    length = 1 << math.ceil(math.log2(size))
    wave, truth = np.ones(length // 2 + 1, dtype=complex), 0.0
    for share, row in people:
        one = np.zeros(length)
        one[places] = rows[row]
        wave *= np.fft.rfft(one) ** share
        truth += share * row / (len(rows) - 1) / count
    averages = (numbers[0] + unit * np.arange(size) / count) / STEPS
    return float(np.fft.irfft(wave, length)[:size][np.abs(averages - truth) <= width].sum())


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("count", [10, 50, 400])
def test_intervals_cover_exactly(epsilon, count):
    """The coverage of the worst of several populations, computed and not simulated, at four levels; two thirds of the
    width do not cover.
    """
    made = local_mean(epsilon)
    last = len(made.weights) - 1
    third = count // 3
    populations = [[(count, row)] for row in range(0, last + 1, max(1, last // 4))]
    populations += [[(third, 0), (count - third, last)], [(count - third, 0), (third, last)]]
    for level in (0.5, 0.9, 0.95, 0.9999):
        width = half_width(made, count, level=level, method="average")
        assert min(coverage(made, count, people, width) for people in populations) >= level - 1e-9
        if level == 0.95 and count == 400 and epsilon <= 2.0:
            assert max(coverage(made, count, people, width * 2.0 / 3.0) for people in populations) < level


def test_it_is_the_default():
    """Up to epsilon 10 no noise has less variance. It has one method of estimation, and a plan names it first."""
    for epsilon, delta in ((0.02, 2e-4), (1.0, 0.01), (5.0, 1e-3), (9.9, 1e-6)):
        best = local_noise(epsilon, delta=delta)
        assert isinstance(best, LocalMean)
        for family in ("laplace", "staircase", "gaussian"):
            assert variance_of(best) <= variance_of(local_noise(epsilon, delta=delta, family=family))
    assert isinstance(local_noise(0.02, delta=0.01), hush.Gaussian)
    assert isinstance(local_noise(14.0, delta=0.0), hush.Staircase)
    assert methods(local_mean(1.0), 100, 0.95) == ["average"]
    plan = reports_needed(2.0, 1.0, 0, 100, delta=0.0)
    assert plan.best.family == "optimal" and plan.best.noise == local_mean(1.0)
    assert plan.best.reports < 9_850  # (1.96/0.02)^2 times the least variance, 0.997, is 9,576
    assert "optimal" in str(plan)


def test_delta_buys_a_larger_pure_epsilon():
    """The exact delta of the reports of the two ends at epsilon: below the budget, and most of it is used."""
    epsilon, delta = 0.7, 1e-2
    made = local_noise(epsilon, delta=delta)
    assert made.epsilon > epsilon
    most = e_to_the(epsilon)
    ends = [law(made, step) for step in (0, STEPS // 3, STEPS)]
    spent = max(
        sum(max(p - most * q, Fraction(0)) for p, q in zip(one, two, strict=True))
        for one, two in itertools.permutations(ends, 2)
    )
    assert Fraction(delta) / 2 < spent <= Fraction(delta)


def test_reports_name_their_mechanism():
    """A LocalMean may be given instead of a family; a larger epsilon than the budget is refused."""
    made = local_mean(0.5)
    reports = local([20.0] * 60, 1.0, 0, 100, noise=made, delta=0.0)
    assert reports.noise is made and "least variance of a mean at epsilon 0.5" in str(reports)
    assert gather([reports, reports]).count == 120
    assert set(reports.steps.tolist()) <= set(made.numbers)
    assert mean(reports, sampled=True).half_width > 0.0
    with pytest.raises(InvalidParameter, match=r"has epsilon 0\.5, which is too much"):
        local([20.0], 0.4, 0, 100, noise=made, delta=0.0)
    with pytest.raises(Unsupported, match="average"):
        mean(reports, method="bounded")
    assert local([], 1.0, 0, 100, delta=0.0).count == 0
