"""Stairs: the law by enumeration, privacy by brute force, moments, draws, calibration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import hush
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.joint import level_draws, levels

LAWS = [
    hush.Stairs(2, 1.0, 3.0, 1.0),
    hush.Stairs(2, 1.5, 2.0, 0.0, one_sided=True),
    hush.Stairs(2, 0.9, 3.0, 2.0, one_sided=True),
    hush.Stairs(3, 2.5, 2.0, 1.0, one_sided=True),
    hush.Stairs(1, 1.2, 4.0, 1.0),
    hush.Stairs(3, 2.0, 1.0, 0.0),
]
IDS = [str(law) for law in LAWS]


def grid(law: hush.Stairs, reach: int = 26) -> np.ndarray[Any, Any]:
    span = range(-reach, reach + 1)
    return np.array(list(itertools.product(span, repeat=law.dimension)), dtype=float)


def cells(law: hush.Stairs, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """f(x), by the definition in words: count stairs."""
    n, c = int(law.width), int(law.offset)

    def stairs(length: float) -> int:
        count = 0
        while length > c + count * n:
            count += 1
        return count

    if law.one_sided:
        return np.array([stairs(max(0.0, row.max())) + stairs(max(0.0, -row.min())) for row in x])
    return np.array([stairs(np.abs(row).max()) for row in x])


@pytest.mark.parametrize("law", LAWS, ids=IDS)
def test_density_moments_and_marginal_by_enumeration(law: hush.Stairs) -> None:
    x = grid(law, 60 if law.dimension < 3 else 26)
    weight = np.exp(-law.epsilon * cells(law, x))
    p = np.exp(law.log_density_of(x))
    np.testing.assert_allclose(p / p.max(), weight / weight.max(), rtol=1e-10)
    total = p.sum()
    assert total <= 1.0 + 1e-12 and total > 1.0 - 1e-5
    np.testing.assert_allclose(np.einsum("k,ki,kj->ij", p, x, x), law.covariance, atol=2e-3 * law.variance)
    for k in (0, 1, 2, 5, 9):
        assert p[x[:, 0] == k].sum() == pytest.approx(math.exp(float(law.log_mass(np.array(float(k))))), rel=1e-4)
        if k:
            assert p[x[:, 0] >= k].sum() == pytest.approx(float(law.at_least_ball(k).mid()), rel=2e-3)


@pytest.mark.parametrize("law", LAWS, ids=IDS)
def test_pure_epsilon_by_brute_force(law: hush.Stairs) -> None:
    x, n = grid(law, 12), int(law.width)
    here = law.log_density_of(x)
    for size in (1, n, n + 1, 2 * n):
        for both in (False, True):
            span = range(-size, size + 1) if both else range(size + 1)
            moves = itertools.product(sorted({span[0], -1 if both else 0, 0, 1, size}), repeat=law.dimension)
            worst = max(float(np.abs(here - law.log_density_of(x - np.array(move))).max()) for move in moves)
            stated = float(law.largest_loss(float(size), one_sided=not both))
            assert worst <= stated * (1.0 + 1e-12)
            if not (both and law.one_sided):
                assert worst == pytest.approx(stated)  # and it is reached
    assert float(law.largest_loss(float(n), one_sided=True)) == law.epsilon


def test_a_wrong_law_would_be_found() -> None:
    """Stairs narrower than the move are not private at epsilon: the check above can fail."""
    law, x = hush.Stairs(2, 1.0, 2.0, 1.0), grid(hush.Stairs(2, 1.0, 2.0, 1.0), 12)
    assert float(np.abs(law.log_density_of(x) - law.log_density_of(x - 3.0)).max()) > 1.5 * law.epsilon


@pytest.mark.parametrize("law", LAWS[:4], ids=IDS[:4])
def test_draws_follow_the_exact_law(law: hush.Stairs) -> None:
    """Chi-square against the exact probabilities, false alarm 1e-6; the law with 3/2 of epsilon is rejected."""
    count, x = 60_000, grid(law, 8 if law.dimension == 2 else 5)
    draws = hush.draw(law, count)
    seen = {tuple(row): times for row, times in zip(*np.unique(draws, axis=0, return_counts=True), strict=True)}

    def statistic(p: np.ndarray[Any, Any]) -> tuple[float, int]:
        kept = p * count > 8.0
        observed = np.array([seen.get(tuple(int(v) for v in row), 0) for row in x[kept]])
        rest = np.append(observed, count - observed.sum())
        expected = np.append(p[kept] * count, count * (1.0 - p[kept].sum()))
        return float(((rest - expected) ** 2 / expected).sum()), int(kept.sum())

    value, freedom = statistic(np.exp(law.log_density_of(x)))
    assert freedom > 20 and value < chi2.isf(1e-6, freedom)
    other = hush.Stairs(law.dimension, 1.5 * law.epsilon, law.width, law.offset, law.step, law.one_sided)
    assert statistic(np.exp(other.log_density_of(x)))[0] > chi2.isf(1e-6, freedom)


def test_both_code_paths_give_the_same_draws() -> None:
    law = hush.Stairs(3, 1.1, 4.0, 1.0, 0.5, one_sided=True)
    levels(law)
    one, other = (level_draws(DeterministicTestEntropy(7).begin(), law, 300, margin) for margin in (1e3, 1e12))
    np.testing.assert_array_equal(one, other)


def test_width_one_is_the_cube() -> None:
    """With stairs of one step and no offset the law is that of cube noise on the lattice."""
    stairs, cube = hush.Stairs(3, 0.7), hush.Cube(3, 1.0 / 0.7)
    x = grid(hush.Stairs(3, 0.7), 6)
    np.testing.assert_allclose(stairs.log_density_of(x), cube.log_density_of(x), atol=1e-9)
    assert stairs.variance == pytest.approx(cube.variance, rel=1e-9)


def test_one_number_is_the_staircase() -> None:
    """For one number, a fine lattice comes near the optimal staircase."""
    best = min(hush.Stairs(1, 3.0, 1.0, c / 256, 1 / 256).variance for c in range(60, 120))
    assert best + (1 / 256) ** 2 / 12.0 == pytest.approx(hush.Staircase(3.0).variance, rel=2e-3)


@pytest.mark.parametrize(
    ("d", "epsilon", "known"),
    [
        (2, 3.0, 0.3803),
        (2, 8.0, 0.015848),
        (3, 8.0, 0.041077),
        (5, 8.0, 0.13336),
        (10, 8.0, 0.59675),
        (20, 8.0, 2.3742),
    ],
)
def test_calibrate_finds_the_known_optimum(d: int, epsilon: float, known: float) -> None:
    """Known values of continuous radial stairs. On the lattice the variance is smaller by about step^2/12, and the
    offset is a whole number of steps.
    """
    plan = hush.calibrate(epsilon, 0.0, hush.Sensitivity(linf=1.0, dimension=d))
    assert plan.family == "stairs"
    assert plan.value + plan.noise.step**2 / 12.0 == pytest.approx(known, rel=2e-3)
    bound = plan.sensitivity
    assert float(hush.curve(plan.noise, bound).pure_epsilon) <= epsilon
    assert plan.limit is not None and plan.limit.lower <= plan.value


@pytest.mark.parametrize("one_sided", [False, True])
def test_calibrate_is_monotone_and_takes_the_best(one_sided: bool) -> None:
    for d in (2, 4):
        bound = hush.Sensitivity(linf=2.0, dimension=d, one_sided=one_sided)
        losses = []
        for epsilon in (0.3, 0.5, 1.0, 1.9, 2.0, 4.0, 9.0):
            plan = hush.calibrate(epsilon, 0.0, bound)
            assert plan.value <= min(c.loss for c in plan.ranking) * (1.0 + 1e-4)
            losses.append(plan.value)
        assert losses == sorted(losses, reverse=True)
    with pytest.raises(hush.Unsupported, match="use cube or interval noise"):
        hush.calibrate(0.1, 0.0, hush.Sensitivity(linf=1.0, dimension=9), family="stairs")


def test_stairs_for_whole_numbers_that_move_by_more_than_one() -> None:
    bound = hush.Sensitivity(linf=5.0, dimension=2, one_sided=True)
    plan = hush.calibrate(6.0, 0.0, bound, step=1.0)
    assert plan.family == "stairs" and plan.noise.step == 1.0 and plan.noise.width == 5.0
    assert plan.value < 0.6 * hush.calibrate(6.0, 0.0, bound, values="integer", family="interval").value
    one = hush.calibrate(6.0, 0.0, hush.Sensitivity(linf=1.0, dimension=2, one_sided=True), values="integer")
    assert one.family != "stairs"  # moves by one step: the lattice law falls in stairs already


def test_release_and_composition() -> None:
    bound = hush.Sensitivity(linf=1.0, dimension=3, one_sided=True)
    plan = hush.calibrate(4.0, 0.0, bound, times=2)
    assert float(hush.curve(plan.noise, bound, times=2).pure_epsilon) <= 4.0
    made = hush.release([1.5, 2.5, 7.0], plan, ledger=hush.Ledger(None, epsilon=5.0, delta=1e-6))
    low, high = made.band()
    assert (low < made.value).all() and (made.value < high).all()
    assert made.total().high > made.total().low
    assert hush.Release.from_json(made.to_json()).receipt["mechanism"]["noise"]["family"] == "stairs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 1.0, 1.0, 0.3, 0.25), "offset must be a whole number of steps"),
        ((2, 1.0, 1.1, 0.0, 0.25), "width must be a whole number of steps"),
        ((2, 1.0, 1.0, -1.0), "offset must be"),
        ((2, -1.0), "epsilon must be"),
        ((0, 1.0), "dimension must be"),
        ((2, 1.0, 1.0, 0.0, 1.0, 1), "one_sided must be"),
    ],
)
def test_bad_parameters(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=message):
        hush.Stairs(*arguments)
