"""Ball noise and correlated noise in the ranking: known variances, and the choice between them and other noises."""

from __future__ import annotations

import itertools
import math

import pytest
from printed import ROOT, assert_shown

import hush
from hush.calibration.ranking import Plan

#: The variance of ball noise at (1, 1e-6) for an l2 bound of 1.
BALLS = {2: 2.99891, 3: 3.98696, 5: 5.83819, 10: 9.23828, 20: 12.5412, 50: 15.4243, 100: 16.5803}
#: Counts and how many of them a person is in: the variances of correlated ball and Gaussian noise at (1, 1e-6).
COUNTS = {(20, 10): (90.04, 128.14), (50, 20): (226.17, 261.71), (11, 3): (27.49, 50.44), (30, 10): (115.8, 147.21)}


def counts(k: int, moving: int | None = None) -> hush.Sensitivity:
    return hush.Sensitivity(linf=1.0, dimension=k, l0=moving, one_sided=True)


@pytest.mark.parametrize("d", BALLS)
def test_an_l2_bound_gets_the_ball(d: int) -> None:
    bound = hush.Sensitivity(l2=1.0, dimension=d)
    plan = hush.calibrate(1.0, 1e-6, bound, family=None if d == 10 else "ball")  # all families take seconds
    assert plan.family == "ball" and plan.variance == pytest.approx(BALLS[d], rel=1e-5)
    assert hush.delta(plan.noise, 1.0, bound) <= 1e-6
    assert hush.delta(plan.noise.scaled(1.0 - 1e-6), 1.0, bound) > 1e-6


@pytest.mark.parametrize(("d", "known"), [(50, 771.2), (100, 1658.0)])
def test_a_box_of_many_numbers_gets_the_ball(d: int, known: float) -> None:
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, dimension=d), family="ball")
    assert plan.variance == pytest.approx(known, rel=1e-4)


def test_the_crossover_of_cube_and_ball() -> None:
    for d, better in ((41, "cube"), (42, "ball")):
        bound = hush.Sensitivity(linf=1.0, dimension=d)
        found = {name: hush.calibrate(1.0, 1e-6, bound, family=name).variance for name in ("cube", "ball")}
        assert min(found, key=lambda name: found[name]) == better


def test_pure_noise_has_the_scale_of_the_l2_bound() -> None:
    for epsilon, bound in ((0.3, 1.0), (1.0, 2.5), (0.7, 0.1)):
        plan = hush.calibrate(epsilon, 0.0, hush.Sensitivity(l2=bound, dimension=6), family="ball")
        assert plan.variance == pytest.approx(7.0 * (bound / epsilon) ** 2, rel=1e-14)
        assert hush.epsilon(plan.noise, 0.0, hush.Sensitivity(l2=bound, dimension=6)) <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "d"), [(100.0, 1e-6, 2), (1.0, 1e-57, 5), (1e-4, 1e-6, 10), (1e-9, 1e-9, 4), (0.01, 0.5, 10)]
)
def test_extreme_budgets(epsilon: float, delta: float, d: int) -> None:
    for family, bound in (("ball", hush.Sensitivity(l2=1.0, dimension=d)), ("correlated", counts(d))):
        plan = hush.calibrate(epsilon, delta, bound, family=family)
        assert hush.delta(plan.noise, epsilon, bound) <= delta
        pure = hush.calibrate(epsilon, 0.0, bound, family=family)
        assert plan.variance <= pure.variance * (1.0 + 4e-15)


@pytest.mark.parametrize(("times", "ratio"), [(2, 0.748), (5, 0.948)])
def test_several_releases(times: int, ratio: float) -> None:
    bound = hush.Sensitivity(l2=1.0, dimension=10)
    plan = hush.calibrate(1.0, 1e-6, bound, family="ball", times=times)
    gaussian = hush.calibrate(1.0, 1e-6, bound, family="gaussian", times=times)
    assert plan.variance / gaussian.variance == pytest.approx(ratio, abs=1e-3)
    assert hush.delta(plan.noise, 1.0, bound, times=times) <= 1e-6


def test_less_budget_or_more_numbers_need_more_noise() -> None:
    bound = hush.Sensitivity(l2=1.0, dimension=8)
    grid = [[hush.calibrate(e, d, bound, family="ball").variance for d in (1e-12, 1e-6, 1e-2)] for e in (0.1, 1.0, 5.0)]
    assert all(row == sorted(row, reverse=True) for row in grid)
    assert all(column == sorted(column, reverse=True) for column in map(list, zip(*grid, strict=True)))


# -- counts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "ball", "gaussian"), [(50, 251.2, 290.7), (100, 501.6, 539.9)])
def test_all_of_many_counts(k: int, ball: float, gaussian: float) -> None:
    """Never above the closed form ((1 + sqrt(K))/2)^2, which allows for half a count."""
    plan = hush.calibrate(1.0, 1e-6, counts(k), family="correlated")
    assert plan.variance <= ball and plan.variance == pytest.approx(ball, rel=1e-3)
    sigma = hush.gaussian.sigma(1.0, 1e-6)
    length = float(plan.noise.one_sided_length(k))  # type: ignore[attr-defined]
    assert length <= ((1.0 + math.sqrt(k)) / 2.0) ** 2 * (1.0 + 1e-12)
    assert length * sigma**2 == pytest.approx(gaussian, rel=1e-3)


@pytest.mark.parametrize(("k", "moving"), COUNTS)
def test_some_of_many_counts(k: int, moving: int) -> None:
    plan = hush.calibrate(1.0, 1e-6, counts(k, moving), family="correlated")
    ball, gaussian = COUNTS[k, moving]
    assert plan.variance == pytest.approx(ball, rel=2e-4)
    length = float(plan.noise.one_sided_length(moving))  # type: ignore[attr-defined]
    assert length * hush.gaussian.sigma(1.0, 1e-6) ** 2 == pytest.approx(gaussian, rel=1e-4)
    assert hush.delta(plan.noise, 1.0, counts(k, moving)) <= 1e-6


def test_many_releases_get_correlated_gaussian_noise() -> None:
    plan = hush.calibrate(1.0, 1e-6, counts(50), family="correlated", times=20)
    assert plan.noise.freedom == 0 and plan.variance == pytest.approx(20 * 290.7, rel=1e-3)  # type: ignore[attr-defined]
    assert hush.delta(plan.noise, 1.0, counts(50), times=20) <= 1e-6


def test_pure_correlated_noise() -> None:
    plan = hush.calibrate(1.0, 0.0, counts(12), family="correlated")
    assert hush.epsilon(plan.noise, 0.0, counts(12)) <= 1.0 and plan.noise.freedom == 13  # type: ignore[attr-defined]
    assert plan.variance < 13.0 * ((1.0 + math.sqrt(12.0)) / 2.0) ** 2 * 1.0001


def test_interval_noise_up_to_42_counts_and_correlated_noise_beyond() -> None:
    for k, better in ((41, "interval"), (43, "correlated")):
        found = {n: hush.calibrate(1.0, 1e-6, counts(k), family=n).variance for n in ("interval", "correlated")}
        assert min(found, key=lambda name: found[name]) == better


def test_correlated_noise_needs_one_direction() -> None:
    with pytest.raises(hush.Unsupported, match="one_sided=True"):
        hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, dimension=10), family="correlated")
    for family in ("ball", "correlated"):
        with pytest.raises(hush.Unsupported, match="leave step out"):
            hush.calibrate(1.0, 1e-6, counts(10), family=family, step=1.0)
        with pytest.raises(hush.Unsupported, match="dimension=D"):
            hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=4, one_sided=True), family=family)


def test_a_release_of_fifty_counts() -> None:
    plan = hush.calibrate(1.0, 1e-6, counts(50), family="correlated", values="integer")
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    made = hush.release([100 * j for j in range(50)], plan, ledger=ledger)
    assert made.value.shape == (50,) and (2 * made.value % 1 == 0).all()  # a lattice that contains the whole numbers
    assert ledger.spent.epsilon <= 1.0 and ledger.spent.delta <= 1e-6
    assert "Correlated" in str(hush.report.statement(made)) and "lebeda2024" in hush.cite(plan)


def test_the_tables_of_the_pages_are_what_hush_gives() -> None:
    for page, make in (("ball.md", _plan_of_ball), ("correlated.md", _plan_of_counts)):
        lines = (ROOT / "docs" / "maths" / page).read_text().splitlines()
        table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        header, first = next((a, b) for a, b in itertools.pairwise(table) if a[0] in ("d", "d, l"))
        for column, shown in zip(header[1:], first[1:], strict=True):
            assert_shown(make(column).variance, shown)


def _plan_of_ball(column: str) -> Plan:
    return hush.calibrate(1.0, 1e-6, hush.Sensitivity(l2=1.0, dimension=int(column)), family="ball")


def _plan_of_counts(column: str) -> Plan:
    k, moving = map(int, column.split(", "))
    return hush.calibrate(1.0, 1e-6, counts(k, moving), family="correlated")
