"""Ladders of losses: the two distributions made from a curve, few releases of every kind of noise, and long loops.

The distributions are compared with the curve that they bound at positive and negative epsilons, two releases with a
quadrature of the exact curve and with a list of all outcomes, and long loops with another accountant.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.privacy.curve import OneNumber
from hush.privacy.subsampling import Subsampled
from hush.privacy.theorem import sampled

#: Laws with smooth losses, with a largest loss of large probability, with few losses, with infinite losses.
NOISES = {
    "gaussian": hush.Gaussian(1.0),
    "laplace": hush.Laplace(1.2),
    "osgt": hush.OSGT(1.0, 2.0),
    "flipped huber": hush.FlippedHuber(2.0, 1.5),
    "almost laplace": hush.OSGT(1e8, 1e4),
    "staircase": hush.Staircase(1.0, 1.0, 0.42),
    "truncated laplace": hush.TruncatedLaplace(1.0, 9.0),
    "discrete laplace": hush.Discrete(hush.Laplace(3.0), 1.0),
    "discrete gaussian": hush.Discrete(hush.Gaussian(3.0), 1.0),
    "cauchy": hush.Stable(1.0, 3.0),
}
GAUSSIANS = [(0.5, 0.3), (0.6, 1e-3), (1.0, 0.01), (1.5, 0.9), (2.0, 1e-5), (10.0, 0.5), (40.0, 0.02)]


def loop(sigma: float, rate: float, steps: int) -> hush.Curve:
    return hush.compose([hush.subsample(hush.Gaussian(sigma), rate, times=steps)])


def _delta(found, epsilon: float) -> float:
    over = found.losses + found.offset - epsilon
    return float((found.masses * -np.expm1(-np.maximum(over, 0.0))).sum()) + found.infinite


def _truth(pair: Subsampled, epsilon: float, backward: bool) -> hush.Bracket:
    """delta of the pair, or of the reversed pair, at an epsilon of any sign."""
    there, back = (pair.backward, pair.forward) if backward else (pair.forward, pair.backward)
    found = (there if epsilon >= 0.0 else back)(np.array(abs(epsilon)))
    if epsilon >= 0.0:
        return found
    return hush.Bracket(*(-math.expm1(epsilon) + math.exp(epsilon) * float(end) for end in (found.lower, found.upper)))


def _check_both_sides(pair: Subsampled, step: float, close: float) -> None:
    ladder = pair.ladder
    assert ladder is not None
    grid = ladder.typical * np.geomspace(0.013, 20.0, 40)
    for backward in (False, True):
        above, below = ladder.above(step, backward=backward), ladder.below(step, backward=backward)
        for epsilon in [0.0, *grid, *-grid]:
            exact = _truth(pair, epsilon, backward)
            assert _delta(above, epsilon) * (1.0 + 1e-12) >= float(exact.lower)
            assert _delta(below, epsilon) <= float(exact.upper) * (1.0 + 1e-12) + 1e-300
        for epsilon in (0.0, 0.5 * ladder.typical):  # and both are close to it
            exact = float(_truth(pair, epsilon, backward).upper)
            assert exact * (1.0 - close) <= _delta(below, epsilon) <= _delta(above, epsilon) <= exact * (1.0 + close)


@pytest.mark.parametrize(("sigma", "rate"), GAUSSIANS)
def test_the_distributions_bound_the_curve_on_both_sides(sigma: float, rate: float) -> None:
    pair = Subsampled(OneNumber(hush.Gaussian(sigma), 1.0), rate)
    _check_both_sides(pair, min(pair.spread, -math.log1p(-rate)) / 100.0, 2e-3)


@pytest.mark.parametrize("rate", [0.3, 1e-4])
@pytest.mark.parametrize("name", NOISES)
def test_every_law_has_its_two_distributions(name: str, rate: float) -> None:
    pair = Subsampled(OneNumber(NOISES[name], 1.0), rate)
    _check_both_sides(pair, pair.spread / 64.0, 2e-2)


@pytest.mark.parametrize("name", NOISES)
def test_batches_of_a_fixed_size_have_their_two_distributions(name: str) -> None:
    pair = Subsampled(OneNumber(NOISES[name], 1.0), 0.1, fixed=True)
    ladder = pair.ladder
    assert ladder is not None
    step = pair.spread / 64.0
    above, below = ladder.above(step), ladder.below(step)
    for epsilon in pair.spread * np.geomspace(0.01, 10.0, 20):
        assert _delta(above, epsilon) * (1.0 + 1e-12) >= float(pair.forward(np.array(epsilon)).lower)
        assert _delta(above, -epsilon) * (1.0 + 1e-12) >= float(_truth(pair, -epsilon, False).upper) * (1.0 - 1e-9)
        assert _delta(below, epsilon) <= float(pair.forward(np.array(epsilon)).upper) * (1.0 + 1e-12)


@pytest.mark.parametrize("name", NOISES)
def test_masses_are_probabilities(name: str) -> None:
    ladder = Subsampled(OneNumber(NOISES[name], 1.0), 0.02).ladder
    assert ladder is not None
    for backward, make in itertools.product((False, True), (ladder.above, ladder.below)):
        found = make(ladder.typical / 64.0, backward=backward)
        assert (found.masses >= 0.0).all() and (np.diff(found.places) > 0).all()
        assert found.masses.sum() + found.infinite == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(("rate", "times"), [(0.2, 3), (0.01, 2), (0.7, 5)])
@pytest.mark.parametrize("fixed", [False, True])
def test_randomised_response_against_all_outcomes(rate: float, times: int, fixed: bool) -> None:
    """Joint noise with a pure epsilon is accounted as randomised response: every step has two outcomes, so all
    outcomes of a few steps can be listed.
    """
    noise, relation = hush.Cube(2, 1.0, 0.5), "replace" if fixed else "add-remove"
    bound = hush.Sensitivity(linf=1.0, dimension=2, neighbours=relation)
    share = {"batch": round(1000 * rate), "rows": 1000} if fixed else {"rate": rate}
    charge = hush.subsample(noise, sensitivity=bound, times=times, **share)
    pure = sampled(charge).whole.pure_epsilon
    likely = 1.0 / (1.0 + math.exp(-pure))
    other = np.array([likely, 1.0 - likely])
    mixed = (1.0 - rate) * other + rate * other[::-1]
    curve = hush.compose([charge])
    for epsilon in (0.0, 0.1, 0.3):
        deltas = []
        for p, q in ((mixed, other), (other, mixed)):
            outcomes = list(itertools.product(range(2), repeat=times))
            gain = [math.prod(p[list(o)]) - math.exp(epsilon) * math.prod(q[list(o)]) for o in outcomes]
            deltas.append(sum(max(g, 0.0) for g in gain))
        got = curve.delta_bracket(epsilon)
        assert got.upper >= max(deltas) * (1.0 - 1e-12)
        if not fixed:
            assert got.upper <= max(deltas) * 1.001 + 1e-12


@pytest.mark.parametrize("name", ["discrete laplace", "discrete gaussian"])
@pytest.mark.parametrize("rate", [0.5, 0.02])
def test_two_releases_on_a_lattice_against_all_outcomes(name: str, rate: float) -> None:
    x = np.arange(-120.0, 122.0)
    other, moved = (np.exp(np.asarray(NOISES[name].log_density(x - move))) for move in (0.0, 1.0))
    mixed = (1.0 - rate) * other + rate * moved
    p, q = np.outer(mixed, mixed), np.outer(other, other)
    curve = hush.compose([hush.subsample(NOISES[name], rate, times=2)])
    for epsilon in (0.0, 0.3 * rate, 0.8 * rate):
        raised = math.exp(epsilon)
        exact = max(float(np.maximum(p - raised * q, 0.0).sum()), float(np.maximum(q - raised * p, 0.0).sum()))
        got = curve.delta_bracket(epsilon)
        assert got.lower <= exact * (1.0 + 1e-9) and exact <= got.upper * (1.0 + 1e-9)
        assert got.upper - got.lower <= 0.02 * exact


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(1.0, 0.1, 0.3), (0.7, 0.02, 0.2), (2.0, 0.5, 0.4)])
def test_two_releases_against_quadrature(sigma: float, rate: float, epsilon: float) -> None:
    """delta of two releases is the mean over the first loss of the delta of the second at what is left."""
    pair = Subsampled(OneNumber(hush.Gaussian(sigma), 1.0), rate)
    x = np.linspace(-12.0 * sigma, 12.0 * sigma + 1.0, 60_001)
    density = np.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    moved = np.exp(-0.5 * ((x - 1.0) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    mixed = rate * moved + (1.0 - rate) * density
    loss = np.log1p(rate * np.expm1((x - 0.5) / sigma**2))
    found = []
    for weight, sign, one, other in (
        (mixed, 1.0, pair.forward, pair.backward),
        (density, -1.0, pair.backward, pair.forward),
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


@settings(max_examples=examples(4, 60), deadline=None)
@given(
    st.sampled_from([hush.Gaussian, hush.Laplace]),
    st.floats(0.8, 5.0),
    st.floats(-4.0, -0.3),
    st.integers(100, 3000),
    st.floats(-9.0, -3.0),
)
def test_more_steps_larger_rates_and_less_noise_cost_more(
    kind: type, scale: float, rate: float, steps: int, delta: float
) -> None:
    share, budget = 10.0**rate, 10.0**delta

    def run(scale: float, rate: float, steps: int) -> hush.Curve:
        return hush.compose([hush.subsample(kind(scale), rate, times=steps)])

    one = run(scale, share, steps).epsilon_bracket(budget)
    assert one.lower <= one.upper
    for other in (
        run(scale, share, steps + 1 + steps // 10),
        run(scale, min(1.1 * share, 1.0), steps),
        run(0.95 * scale, share, steps),
    ):
        assert other.epsilon(budget) >= one.lower


def test_a_gaussian_vector_is_one_number() -> None:
    vector = hush.compose([hush.subsample(hush.Gaussian(3.0), 0.02, hush.Sensitivity(l2=2.0), times=500)])
    assert vector.epsilon(1e-6) == pytest.approx(loop(1.5, 0.02, 500).epsilon(1e-6), rel=1e-9)


def test_ball_noise_and_laplace_noise_for_vectors() -> None:
    """Ball noise of one number is Laplace noise, and Laplace noise with an l1 bound moves one number by all of it."""
    one = hush.compose([hush.subsample(hush.Laplace(2.0), 0.1, times=20)]).epsilon(1e-6)
    ball = hush.subsample(hush.Ball(1, 2.0), 0.1, hush.Sensitivity(l2=1.0, dimension=1), times=20)
    vector = hush.subsample(hush.Laplace(2.0), 0.1, hush.Sensitivity(l1=1.0), times=20)
    for charge in (ball, vector):
        assert hush.compose([charge]).epsilon(1e-6) == pytest.approx(one, rel=1e-6)
    several = hush.subsample(hush.Ball(3, 2.0), 0.1, hush.Sensitivity(l2=1.0, dimension=3), times=20)
    found = hush.compose([several]).epsilon_bracket(1e-6)
    assert 0.0 < found.lower <= found.upper <= found.lower * 1.001 and found.upper < one


def test_samples_beside_other_releases() -> None:
    parts = [
        hush.subsample(hush.Gaussian(1.0), 0.01, times=300),
        (hush.Laplace(5.0), 1.0, 2),
        (hush.Gaussian(20.0), 1.0, 1),
    ]
    got = hush.compose(parts).epsilon_bracket(1e-6)
    assert loop(1.0, 0.01, 300).epsilon_bracket(1e-6).lower < got.lower <= got.upper
    assert got.upper <= sum(float(hush.compose([part]).epsilon(1e-6 / 3.0)) for part in parts)
