"""Bounds and weights of single numbers: scaled noise in calibrate, curves, draws, releases, limits and text."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import hush
from hush.privacy.units import in_units
from hush.report import statement

BOUNDS = (1.0, 30.0, 5.0)
THREE = hush.Sensitivity(linf=BOUNDS)
COUNTS = hush.Sensitivity(linf=BOUNDS, one_sided=True)
WEIGHTS = ((1, 2, 1), (1, 1 / 900, 1 / 25), (1e-3, 1.0, 1e3))


def weighted(noise: hush.Noise, weights: tuple[float, ...]) -> float:
    return float(np.average(np.broadcast_to(noise.variance, (3,)), weights=weights))


# -- the law -------------------------------------------------------------------------------------------------


def test_scaled_noise_has_the_moments_and_marginals_of_its_factors() -> None:
    noise = hush.Scaled(hush.Interval(3, 2.0, 1.0), BOUNDS)
    assert noise.dimension == 3 and noise.discrete and noise.factors == BOUNDS
    np.testing.assert_allclose(
        noise.covariance, np.outer(BOUNDS, BOUNDS) * hush.Interval(3, 2.0, 1.0).covariance, rtol=1e-14
    )
    for place, factor in enumerate(BOUNDS):
        law = noise.marginal_of(place)
        assert law.variance == pytest.approx(noise.variance[place], rel=1e-12)
        assert law.pdf(2.0 * factor) == pytest.approx(hush.Interval(3, 2.0, 1.0).marginal.pdf(2.0), rel=1e-12)
    independent = hush.Scaled(hush.Laplace(2.0), BOUNDS)
    np.testing.assert_allclose(independent.covariance, np.diag([8.0 * f * f for f in BOUNDS]), rtol=1e-14)
    point = np.array([[1.0, 60.0, 10.0]])
    expected = sum(float(hush.Laplace(2.0 * f).log_density(x)) for f, x in zip(BOUNDS, point[0], strict=True))
    assert independent.log_density_of(point)[0] == pytest.approx(expected, rel=1e-13)


def test_the_lattice_law_is_private_by_enumeration() -> None:
    """All points near 0 and all moves of a lattice noise with two factors: the ratio is at most e^epsilon, and the
    bound is reached.
    """
    noise = hush.Scaled(hush.Interval(2, 1.5, 1.0), (1.0, 3.0))
    bound = hush.Sensitivity(linf=(1.0, 3.0), one_sided=True)
    epsilon = float(hush.curve(noise, bound).pure_epsilon)
    grid = np.array(list(itertools.product(range(-9, 10), range(-9, 10))), dtype=float) * (1.0, 3.0)
    worst = 0.0
    for move in ((1.0, 0.0), (0.0, 3.0), (1.0, 3.0), (-1.0, -3.0), (-1.0, 0.0)):
        worst = max(worst, float((noise.log_density_of(grid) - noise.log_density_of(grid - np.array(move))).max()))
    assert worst <= epsilon * (1.0 + 1e-12) and worst == pytest.approx(1.0 / 1.5, rel=1e-9)
    twice = float((noise.log_density_of(grid) - noise.log_density_of(grid - np.array([1.0, -3.0]))).max())
    assert twice > 1.5 * epsilon  # a move in both directions is not covered, and hush states twice the epsilon for it
    assert float(hush.curve(noise, hush.Sensitivity(linf=(1.0, 3.0))).pure_epsilon) >= twice * (1.0 - 1e-12)


@pytest.mark.parametrize("law", [hush.Gaussian(3.0), hush.Laplace(4.0), hush.Ball(3, 3.0), hush.Cube(3, 2.0)])
def test_the_curve_is_that_of_the_divided_numbers(law: hush.Noise) -> None:
    factors = (1.0, 2.0, 4.0)
    for bound in (hush.Sensitivity(linf=(3.0, 4.0, 4.0)), hush.Sensitivity(linf=4.0, dimension=3)):
        there = in_units(bound, factors)
        for epsilon in (0.3, 1.0, 2.5):
            here = hush.delta(hush.Scaled(law, factors), epsilon, bound, times=2)
            assert here == hush.delta(law, epsilon, there, times=2)


def test_units_are_rounded_upwards() -> None:
    unit = in_units(hush.Sensitivity(linf=(0.1, 0.3), l2=0.35), (0.3, 0.7))
    assert isinstance(unit.linf, tuple) and unit.linf[0] * 0.3 >= 0.1 and unit.linf[1] * 0.7 >= 0.3
    assert unit.l2 is not None and unit.l2 * 0.3 >= 0.35
    groups = in_units(hush.Sensitivity(columns=(1.0, 8.0), l0=3), (1.0, 8.0))
    assert groups.columns == (1.0, 1.0) and groups.l0 == 3


# -- calibrate -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [THREE, COUNTS], ids=["both directions", "one direction"])
def test_weights_are_never_worse_than_equal_ones(bound: hush.Sensitivity) -> None:
    equal = hush.calibrate(1.0, 1e-6, bound)
    for weights in WEIGHTS:
        plan = hush.calibrate(1.0, 1e-6, bound, weights=weights)
        assert plan.value == pytest.approx(weighted(plan.noise, weights), rel=1e-12)
        assert plan.value <= weighted(equal.noise, weights) * (1.0 + 1e-4)
        assert hush.delta(plan.noise, 1.0, bound) <= 1e-6
        assert plan.limit is not None and plan.limit.lower <= plan.value <= plan.limit.upper
        assert plan.limit.lower > 0.3 * plan.value
        for choice in plan.ranking:
            if choice.noise is not None:
                assert choice.loss >= plan.value / (1.0 + 1e-4)
                assert choice.loss == pytest.approx(weighted(choice.noise, weights), rel=1e-12)
                assert hush.delta(choice.noise, 1.0, bound) <= 1e-6


def test_known_values() -> None:
    assert hush.calibrate(1.0, 1e-6, THREE).value == pytest.approx(1054.586, rel=1e-3)
    assert hush.calibrate(1.0, 1e-6, COUNTS).value == pytest.approx(884.262, rel=1e-3)
    # Gaussian noise with the best factors: sigma^2 (sum of root(w) c)^2, here per weight
    sigma = float(hush.gaussian.sigma(1.0, 1e-6, 1.0))
    for weights in ((1, 2, 1), (5, 1, 3)):
        plan = hush.calibrate(1.0, 1e-6, THREE, family="gaussian", weights=weights)
        roots = sum(math.sqrt(w) * c for w, c in zip(weights, BOUNDS, strict=True))
        assert plan.value == pytest.approx((sigma * roots) ** 2 / sum(weights), rel=1e-6)
        # Laplace: 2 (sum of (w c^2)^(1/3))^3/epsilon^2
        pure = hush.calibrate(1.0, 0.0, THREE, family="laplace", weights=weights)
        cubes = sum((w * c * c) ** (1.0 / 3.0) for w, c in zip(weights, BOUNDS, strict=True))
        assert pure.value == pytest.approx(2.0 * cubes**3 / sum(weights), rel=1e-6)


def test_weights_and_bounds_are_one_problem() -> None:
    """Weights w with bounds c have the loss of equal weights with bounds root(w) c, divided by the average weight."""
    for weights in ((4.0, 1.0, 16.0), (1.0, 0.25, 1.0)):
        for bound in (THREE, COUNTS):
            wider = hush.Sensitivity(
                linf=tuple(c * math.sqrt(w) for c, w in zip(BOUNDS, weights, strict=True)), one_sided=bound.one_sided
            )
            one = hush.calibrate(1.0, 0.0, bound, weights=weights).value * sum(weights) / 3.0
            assert one == pytest.approx(hush.calibrate(1.0, 0.0, wider).value, rel=1e-3)


def test_less_movement_and_more_budget_never_cost() -> None:
    losses = [hush.calibrate(e, 0.0, THREE, weights=(1, 2, 1)).value for e in (0.5, 1.0, 2.0, 4.0)]
    assert losses == sorted(losses, reverse=True)
    wide = [
        hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=(c, 30.0, 5.0), one_sided=side)).value
        for side in (False, True)
        for c in (0.5, 1.0, 8.0, 30.0)
    ]
    assert wide[:4] == sorted(wide[:4]) and wide[4:] == sorted(wide[4:])
    assert all(two >= one * (1.0 - 1e-4) for two, one in zip(wide[:4], wide[4:], strict=True))


def test_equal_bounds_with_weights_keep_the_whole_numbers() -> None:
    counts = hush.Sensitivity(linf=1.0, dimension=4, one_sided=True)
    plan = hush.calibrate(1.0, 0.0, counts, values="integer", weights=(8, 1, 1, 1))
    assert plan.noise.step == 1.0 and plan.noise.factors is None
    equal = hush.calibrate(1.0, 0.0, counts, values="integer")
    each = np.broadcast_to(plan.noise.variance, (4,))
    assert each[0] < equal.variance < each[1]  # accuracy moved to the first number
    assert hush.calibrate(1.0, 0.0, counts, weights=(3, 3, 3, 3)).value == pytest.approx(
        hush.calibrate(1.0, 0.0, counts).value
    )


@pytest.mark.parametrize(
    ("bound", "weights", "message"),
    [
        (hush.Sensitivity(linf=1.0, l0=3), (1, 2, 3), "states how many numbers"),
        (THREE, (1, 2), "one number for each of the 3 numbers, got 2"),
        (THREE, (1, 0, 1), "weights must be"),
        (THREE, (1, math.nan, 1), "weights must be"),
    ],
)
def test_bad_weights(bound: hush.Sensitivity, weights: tuple[float, ...], message: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=message):
        hush.calibrate(1.0, 1e-6, bound, weights=weights)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((hush.Laplace(1.0), ()), "factors must be"),
        ((hush.Laplace(1.0), (1.0, -1.0)), "factors must be"),
        ((hush.Cube(2, 1.0), (1.0, 1.0, 1.0)), "is for 2 numbers"),
        ((hush.Scaled(hush.Laplace(1.0), (1.0,)), (1.0,)), "noise must be"),
    ],
)
def test_bad_factors(arguments: tuple[hush.Noise, tuple[float, ...]], message: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=message):
        hush.Scaled(*arguments)


# -- release, ledger, text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [None, "cube", "gaussian", "ball", "laplace"])
def test_release_end_to_end(family: str | None) -> None:
    plan = hush.calibrate(1.0, 1e-6, THREE, weights=(1, 2, 1), family=family)
    book = hush.Ledger(None, epsilon=2.0, delta=1e-5)
    made = hush.release([10.3, 200.0, 77.2], plan, ledger=book, label="three")
    low, high = made.interval()
    band_low, band_high = made.band()
    assert (band_low <= low).all() and (low < made.value).all() and (made.value < high).all()
    assert (high <= band_high).all()
    widths = made.error.half_width(0.95)
    assert widths.shape == (3,) and widths[1] > widths[2] > widths[0]
    steps = made.receipt["mechanism"]["step"] * np.array(plan.noise.factors)
    np.testing.assert_array_equal(np.rint(made.value / steps) * steps, made.value)
    total = made.total([0.0, 1.0, 0.0])
    assert total.high - total.value == pytest.approx(widths[1], rel=0.02)
    again = hush.Release.from_json(made.to_json())
    np.testing.assert_array_equal(again.value, made.value)
    np.testing.assert_array_equal(again.error.half_width(0.95), widths)
    assert "factor of each number" in repr(made) and "Scaled" in statement(book).markdown
    assert "at most 3 numbers, each by its bound" in statement(book).markdown
    assert book.view().entries[0].charges[0].noise == made.receipt.charges[0].noise
    assert json.loads(made.to_json())["receipt"]["error"]["half_width95"] == widths.tolist()


@pytest.mark.parametrize("noise", ["plateau", "laplace"])
def test_coverage_of_intervals_and_bands(noise: str) -> None:
    """3000 releases; the bounds allow for a false alarm of 1e-6, and 2/3 of the width would fail."""
    plan = hush.calibrate(1.0, 1e-6, COUNTS, family=noise, weights=(1, 2, 1))
    mechanism = hush.Mechanism.of(plan, coordinates=3)
    truth, count = np.array([10.3, 200.0, 77.2]), 3000
    start = mechanism.on_lattice(truth)
    draws = hush.draw(mechanism.noise, count, mechanism.step)
    values = mechanism.value_of((start + draws).reshape(count, 3))
    made = hush.release(truth, plan, ledger=None)
    error = np.abs(values - truth)
    spare = 4.9 * math.sqrt(0.05 * 0.95 / count)
    inside = error <= made.error.half_width(0.95)
    assert (inside.mean(axis=0) >= 0.95 - spare).all()
    assert ((error <= made.error.half_width(0.95) * 2.0 / 3.0).mean(axis=0) < 0.95 - spare).all()
    assert (error <= made.error.band_half_width(0.95)).all(axis=1).mean() >= 0.95 - spare
    sums = np.abs((values - truth) @ np.array([1.0, -1.0, 2.0]))
    assert (sums <= made.error.sum_half_width([1.0, -1.0, 2.0], 0.95)).mean() >= 0.95 - spare


def test_numbers_of_several_kinds_have_their_own_widths() -> None:
    """Plateau noise has numbers with different laws: every one has its own interval."""
    bound = hush.Sensitivity(linf=1.0, dimension=3, one_sided=(True, True, False), people=0)
    plan = hush.calibrate(1.0, 0.0, bound, values="integer")
    made = hush.release(np.array([10, 20, 30]), plan, ledger=None)
    expected = [plan.noise.marginal_of(place).isf(0.025) for place in range(3)]
    np.testing.assert_allclose(made.error.half_width(0.95), expected, atol=1.0)
    assert len(set(np.asarray(made.error.standard_deviation).round(6).tolist())) > 1
    with pytest.raises(hush.Unsupported, match="noise of these numbers differs"):
        made.denoised()


def test_an_audit_of_a_scaled_plan_finds_nothing() -> None:
    plan = hush.calibrate(1.0, 0.0, COUNTS, weights=(1, 2, 1))
    assert not hush.audit(plan, samples=20_000).violated
    broken = hush.Scaled(plan.noise.base, (1.0, 10.0, 5.0))  # the factor of the second number is too small
    assert float(hush.curve(broken, COUNTS).pure_epsilon) > 2.9


def test_why_says_what_independent_noise_needs() -> None:
    why = hush.calibrate(1.0, 1e-6, THREE, weights=(1, 2, 1)).why
    assert "weighted variance" in why and "independent noise for each number needs" in why


@pytest.mark.parametrize("base", [hush.Interval(3, 2.0, 1.0), hush.Laplace(2.0)])
def test_check_compares_scaled_noise_with_its_draws(base: hush.Noise) -> None:
    made = hush.check(hush.Scaled(base, BOUNDS))
    assert made.passed, made
