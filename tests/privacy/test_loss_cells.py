"""Cells of losses: their probabilities, the two distributions made from them, and long training loops.

The probabilities are compared with 50 digits, the distributions with the curve that they bound, two and three releases
with a quadrature of the exact curve, and long loops with two other accountants.
"""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from effort import examples
from hush.noise.normal_losses import NormalLosses
from hush.privacy.loss_cells import SampledCells
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.numerics.rounding import LOSS_CELLS
from hush.privacy.subsampling import Subsampled

GAUSSIANS = [(0.5, 0.3), (0.6, 1e-3), (1.0, 0.01), (1.5, 0.9), (2.0, 1e-5), (10.0, 0.5), (40.0, 0.02)]


def loop(sigma: float, rate: float, steps: int) -> hush.Curve:
    return hush.compose([hush.subsample(hush.Gaussian(sigma), rate, times=steps)])


@pytest.mark.parametrize("shift", [0.02, 0.5, 1.0, 3.0])
def test_cells_have_the_right_probability(shift: float) -> None:
    rng = np.random.default_rng(5)
    starts = rng.normal(0.0, 3.0 * shift, 40)
    for width in (1e-9, 1e-5, 1e-2, 0.3, 2.0):
        for start in starts:
            ends = np.array([start, start + width * shift])
            person, other = NormalLosses(shift).cells(ends)
            with mpmath.workdps(50):
                low, high = (mpmath.mpf(float(z)) for z in ends / shift + 0.5 * shift)
                right = [mpmath.ncdf(high - move) - mpmath.ncdf(low - move) for move in (shift, 0)]
            # the distance of the two ends is known to a rounding of the ends themselves
            rounding = 4e-16 * max(abs(float(low)), abs(float(high)), 1.0) / (width + 1e-300)
            assert float(person[1]) == pytest.approx(float(right[0]), rel=LOSS_CELLS.share + rounding)
            assert float(other[1]) == pytest.approx(float(right[1]), rel=LOSS_CELLS.share + rounding)
            assert person.sum() == pytest.approx(1.0, abs=1e-12) and other.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_narrow_cell_keeps_the_ratio_of_its_two_probabilities() -> None:
    """The bounds subtract q R and w Q, which differ by as little as the width of a cell: the ratio has to be right even
    where each of the two is known to fewer digits.
    """
    for width in (1e-12, 1e-9, 1e-6):
        ends = np.array([0.7, 0.7 + width])
        person, other = NormalLosses(0.8).cells(ends)
        assert math.log(person[1] / other[1]) == pytest.approx(0.7 + 0.5 * width, abs=max(1e-14, width**2))


def _delta(found, epsilon: float) -> float:
    over = found.losses + found.offset - epsilon
    return float((found.masses * -np.expm1(-np.maximum(over, 0.0))).sum()) + found.infinite


@pytest.mark.parametrize(("sigma", "rate"), GAUSSIANS)
@pytest.mark.parametrize("backward", [False, True])
def test_the_distributions_bound_the_curve_on_both_sides(sigma: float, rate: float, backward: bool) -> None:
    sampled = Subsampled(hush.Gaussian(sigma), rate)
    cells, typical = sampled.cells, sampled.spread
    assert cells is not None
    step = typical / 100.0
    above, below = cells.above(step, backward=backward), cells.below(step, backward=backward)
    truth = sampled.backward if backward else sampled.forward
    for epsilon in [0.0, *(typical * np.geomspace(0.013, 20.0, 40))]:
        exact = truth(np.array(epsilon))
        assert _delta(above, epsilon) * (1.0 + 1e-12) >= float(exact.lower)
        assert _delta(below, epsilon) <= float(exact.upper) * (1.0 + 1e-12) + 1e-300
    for epsilon in (0.0, 0.5 * typical):  # and both are close to it
        exact = float(truth(np.array(epsilon)).upper)
        assert exact * (1.0 - 2e-3) <= _delta(below, epsilon) <= _delta(above, epsilon) <= exact * (1.0 + 2e-3)


@pytest.mark.parametrize(("sigma", "rate"), GAUSSIANS)
def test_masses_are_probabilities(sigma: float, rate: float) -> None:
    cells = SampledCells(NormalLosses(1.0 / sigma), rate)
    for backward, make in itertools.product((False, True), (cells.above, cells.below)):
        found = make(cells.typical / 64.0, backward=backward)
        assert (found.masses >= 0.0).all() and (np.diff(found.places) > 0).all()
        assert found.masses.sum() + found.infinite == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(1.0, 0.1, 0.3), (0.7, 0.02, 0.2), (2.0, 0.5, 0.4)])
def test_two_releases_against_quadrature(sigma: float, rate: float, epsilon: float) -> None:
    """delta of two releases is the mean over the first loss of the delta of the second at what is left."""
    sampled = Subsampled(hush.Gaussian(sigma), rate)
    x = np.linspace(-12.0 * sigma, 12.0 * sigma + 1.0, 60_001)
    density = np.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    moved = np.exp(-0.5 * ((x - 1.0) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    mixed = rate * moved + (1.0 - rate) * density
    loss = np.log1p(rate * np.expm1((x - 0.5) / sigma**2))
    found = []
    for weight, sign, one, other in (
        (mixed, 1.0, sampled.forward, sampled.backward),
        (density, -1.0, sampled.backward, sampled.forward),
    ):
        left = epsilon - sign * loss
        here = np.asarray(one(np.maximum(left, 0.0)).upper)
        back = 1.0 - np.exp(left) * (1.0 - np.asarray(other(np.maximum(-left, 0.0)).upper))
        found.append(float((weight * np.where(left >= 0.0, here, back)).sum() * (x[1] - x[0])))
    got = loop(sigma, rate, 2).delta_bracket(epsilon)
    assert got.lower * (1.0 - 1e-6) <= max(found) <= got.upper * (1.0 + 1e-6)
    assert got.upper - got.lower <= 1e-4 * got.upper


#: sigma, rate, steps, the bracket of Microsoft's accountant at delta = 1e-5 (Gopi, Lee and Wutschitz 2021)
LOOPS = [
    (1.1, 256 / 60000, 14_062, 2.3716, 2.3916),
    (0.8, 256 / 60000, 14_062, 4.5398, 4.5598),
    (1.0, 0.01, 1000, 1.8182, 1.8382),
    (0.6, 0.001, 10_000, 2.446, 2.466),
    (2.0, 0.05, 2000, 5.4617, 5.4817),
    (10.0, 0.5, 1000, 7.535, 7.555),
    (1.0, 1e-4, 100_000, 0.1219, 0.1419),
]


@pytest.mark.parametrize(("sigma", "rate", "steps", "low", "high"), LOOPS)
def test_a_training_loop_has_a_tight_bracket(sigma: float, rate: float, steps: int, low: float, high: float) -> None:
    got = loop(sigma, rate, steps).epsilon_bracket(1e-5)
    assert low <= got.lower <= got.upper <= high
    assert got.upper - got.lower <= 1e-4 * got.upper


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"),
    [(1.232, 0.00443, 5, 6e-9), (0.6, 0.02, 3, 1e-7), (2.719, 0.03087, 2, 7.7e-7), (1.0, 1e-3, 17, 1e-8)],
)
def test_few_steps_with_rare_large_losses(sigma: float, rate: float, steps: int, delta: float) -> None:
    """The strongest tilt favours losses that are far too rare; a window around them does not contain epsilon."""
    got = loop(sigma, rate, steps).epsilon_bracket(delta)
    assert 0.0 < got.lower <= got.upper <= got.lower * 1.002


def test_ten_million_steps_at_a_millionth() -> None:
    """Close to a Gaussian mechanism with shift q sqrt(T (e - 1)), by the central limit theorem."""
    got = loop(1.0, 1e-6, 10**7).epsilon_bracket(1e-5)
    mu = 1e-6 * math.sqrt(1e7 * math.expm1(1.0))
    assert got.upper - got.lower <= 2e-4 * got.upper
    assert got.upper == pytest.approx(float(hush.epsilon(hush.Gaussian(1.0 / mu), 1e-5)), rel=1e-2)


@settings(max_examples=examples(8, 60), deadline=None)
@given(st.floats(0.5, 5.0), st.floats(-5.0, -0.3), st.integers(2, 3000), st.floats(-9.0, -3.0))
def test_more_steps_larger_rates_and_less_noise_cost_more(sigma: float, rate: float, steps: int, delta: float) -> None:
    share, budget = 10.0**rate, 10.0**delta
    one = loop(sigma, share, steps).epsilon_bracket(budget)
    for other in (
        loop(sigma, share, steps + 1 + steps // 10),
        loop(sigma, min(1.1 * share, 1.0), steps),
        loop(0.95 * sigma, share, steps),
    ):
        assert other.epsilon(budget) >= one.lower


def test_a_gaussian_vector_is_one_number() -> None:
    vector = hush.compose([hush.subsample(hush.Gaussian(3.0), 0.02, hush.Sensitivity(l2=2.0), times=500)])
    assert vector.epsilon(1e-6) == pytest.approx(loop(1.5, 0.02, 500).epsilon(1e-6), rel=1e-9)


def test_samples_beside_other_releases() -> None:
    parts = [
        hush.subsample(hush.Gaussian(1.0), 0.01, times=300),
        (hush.Laplace(5.0), 1.0, 2),
        (hush.Gaussian(20.0), 1.0, 1),
    ]
    got = hush.compose(parts).epsilon_bracket(1e-6)
    assert loop(1.0, 0.01, 300).epsilon_bracket(1e-6).lower < got.lower <= got.upper
    assert got.upper <= sum(float(hush.compose([part]).epsilon(1e-6 / 3.0)) for part in parts)
