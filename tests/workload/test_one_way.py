"""Joint noise for one-way tables: its points, its law, its privacy, and the reference errors."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scales import must_cover, must_have_planned_error

import hush
from hush.noise.one_way import OneWay
from hush.noise.table_points import float_sums, points_up_to
from hush.privacy.charge import Budget, Charge
from hush.workload import Marginals
from hush.workload.one_way import one_way


def tables(count, size):
    return Marginals({f"a{i}": size for i in range(count)}, order=1)


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_points_are_counted(cells):
    """Against all points of a small cube, with the sums of their squares."""
    every = list(product(range(-6, 7), repeat=cells))
    number, squares = float_sums(cells, 6)
    for total in range(4):
        for m in range(2):
            inside = [x for x in every if sum(x) == total and sum(map(abs, x)) <= 2 * m + total]
            assert points_up_to(cells, total, 2 * m + total) == len(inside) == number[total, m]
            assert squares[total, m] == pytest.approx(sum(v * v for x in inside for v in x))


@pytest.fixture(scope="module")
def small():
    """Every point of (2, 3) tables up to 11, with its probability."""
    noise = OneWay((2, 3), 0.5, 1)
    near = range(-11, 12)
    points = [
        (a, t - a, b, c, t - b - c) for t in near for a in near for b in near for c in near if abs(t - b - c) < 12
    ]
    weights = np.exp(noise.log_density_of(np.array(points)))
    return noise, points, weights / weights.sum()


def test_moments_are_those_of_the_law(small):
    noise, points, weights = small
    exact = (np.array(points).T * weights) @ np.array(points)
    assert np.allclose(noise.covariance, exact, rtol=1e-5, atol=1e-5)


def test_draws_have_the_law(small):
    """Chi-square of 6,000 draws on the 30 likeliest points: false alarm 1e-6; a scale of 2/3 or 3/2 is rejected."""
    noise, points, weights = small
    likely = np.argsort(-weights)[:30]

    def distance(drawn):
        seen = Counter(map(tuple, drawn.tolist()))
        counts = np.array([seen[points[i]] for i in likely])
        rest = len(drawn) - counts.sum()
        expected = len(drawn) * weights[likely]
        left = len(drawn) - expected.sum()
        return float(((counts - expected) ** 2 / expected).sum() + (rest - left) ** 2 / left)

    most = 83.0  # chi-square, 30 degrees of freedom, 1e-6
    assert distance(hush.draw(noise, 6_000)) < most
    for factor in (2.0 / 3.0, 1.5):
        assert distance(hush.draw(OneWay((2, 3), 0.5 * factor, 1), 6_000)) > most


def test_no_move_changes_the_density_by_more_than_epsilon(small):
    """For every point of a cube and every person: the largest change is exactly 1/scale = 2."""
    noise, _, _ = small
    near = range(-3, 4)
    points = np.array([(a, t - a, b, c, t - b - c) for t in near for a in near for b in near for c in near])
    here = noise.log_density_of(points)
    largest = 0.0
    for first, second in product(range(2), range(3)):
        move = np.zeros(5)
        move[first], move[2 + second] = 1.0, 1.0
        largest = max(largest, float(np.abs(noise.log_density_of(points + move) - here).max()))
    assert largest == pytest.approx(2.0, rel=1e-12)
    facts = hush.Sensitivity(linf=1.0, dimension=5, one_sided=True, tables=(2, 3))
    assert hush.curve(noise, facts).pure_epsilon == pytest.approx(2.0, rel=1e-12)
    two = hush.Sensitivity(linf=2.0, dimension=5, one_sided=True, tables=(2, 3))
    assert hush.curve(noise, two).pure_epsilon == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize(
    "facts",
    [
        {"linf": 1.0, "dimension": 5},
        {"linf": 1.0, "dimension": 5, "one_sided": True},
        {"linf": 1.0, "dimension": 5, "one_sided": True, "tables": (3, 2)},
    ],
)
def test_other_moves_have_no_theorem(facts):
    with pytest.raises(hush.Unsupported, match="no theorem"):
        hush.curve(OneWay((2, 3), 1.0), hush.Sensitivity(**facts))


def test_mistakes_are_refused():
    for call in (
        lambda: OneWay((), 1.0),
        lambda: OneWay((0, 2), 1.0),
        lambda: OneWay((2, 2), -1.0),
        lambda: OneWay((100,) * 5, 1.0),
        lambda: hush.Sensitivity(linf=1.0, dimension=5, tables=(2, 3)),
        lambda: hush.Sensitivity(linf=1.0, dimension=6, one_sided=True, tables=(2, 3)),
    ):
        with pytest.raises(hush.HushError):
            call()


@pytest.mark.parametrize(("size", "value"), [(2, 20.5), (5, 75.4), (10, 122.0)])
def test_ten_attributes_of_the_reference(size, value):
    made = one_way(tables(10, size).task, Budget(1.0, 1e-6), 1)
    assert 0.98 * value < made.error <= 1.02 * value
    assert tables(10, size).plan(1.0, 1e-6).strategy.name == "joint noise on one-way tables"
    assert Fraction(made.parts[0].noise.scale) >= 1


def test_many_attributes_use_other_noise():
    assert tables(12, 10).plan(1.0, 1e-6).strategy.name != "joint noise on one-way tables"


def test_an_answer_with_intervals_and_a_ledger():
    """300 releases of three tables: coverage of cells and totals."""
    work = Marginals({"sex": 2, "age": 4, "ward": 3}, order=(0, 1))
    plan = work.plan(1.0, 1e-6)
    assert plan.strategy.name == "joint noise on one-way tables"
    records = np.random.default_rng(1).integers(0, (2, 4, 3), (200, 3))
    truth = work.counted(records)
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    answer = plan.answer(records, ledger=ledger)
    assert 0.99999 < ledger.spent.epsilon <= 1.0
    assert answer.receipt.charges == tuple(plan.charges)
    assert Charge.from_plain(plan.charges[0].to_plain()) == plan.charges[0]
    found = [plan.answer(records, ledger=None) for _ in range(300)]
    cells = [(one.interval("age"), one.sum(sex=0), one.sum()) for one in found]
    for place, exact in enumerate(truth.table((1,))):
        must_cover([low[place] <= exact <= high[place] for (low, high), _, _ in cells], 0.95)
    must_cover([one.low <= truth.table((0,))[0] <= one.high for _, one, _ in cells], 0.95)
    must_cover([one.low <= 200 <= one.high for _, _, one in cells], 0.95)
    squared = [float(np.mean((one.estimate("age") - truth.table((1,))) ** 2)) for one in found]
    must_have_planned_error(squared, plan.variance["age",])
    assert answer.table("age").sum() == answer.total == answer.table("sex").sum()
