"""What reviews found, kept from coming back: each case once gave a wrong end, a crash or a useless bracket."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush import Laplace, Sensitivity


def box(l0: int, linf: float = 1.0) -> Sensitivity:
    return Sensitivity(linf=linf, l0=l0)


@pytest.mark.parametrize(
    ("noise", "l0", "epsilon"),
    [
        (Laplace(2.0), 10, 5.1),
        (Laplace(1.0), 2, 2.5),
        (hush.Staircase(1.0), 3, 3.5),
        (Laplace(1.0), 1000, 1000.5),
    ],
)
def test_beyond_the_pure_epsilon_delta_is_zero(noise, l0, epsilon):
    bracket = hush.curve(noise, box(l0)).delta_bracket(epsilon)
    assert (bracket.lower, bracket.upper) == (0.0, 0.0)


def test_truncated_laplace_keeps_its_mass_at_infinity():
    """1 - (1 - edge)^5 at both ends, above every finite loss."""
    noise = hush.TruncatedLaplace(1.0, 5.0)
    edge = float(hush.delta(noise, 1.0))
    bracket = hush.curve(noise, box(5)).delta_bracket(5.5)
    truth = -math.expm1(5 * math.log1p(-edge))
    assert bracket.lower <= truth <= bracket.upper
    assert bracket.width < 1e-4 * truth


def test_shared_shift_of_a_noise_that_is_not_unimodal():
    """Two coordinates share one shift: the lower end must not mix the worst of several. Truth by enumerating both
    cells' shifts.
    """
    heights = (3.0, 10.0, 0.05, 0.3)
    noise, epsilon = hush.Stepped(1.0, heights), 2.0
    p = np.array([*heights[::-1], *heights]) / (2.0 * sum(heights))

    def pair(shift: int) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([p, np.zeros(2)]), np.concatenate([np.zeros(shift), p, np.zeros(2 - shift)])

    worst = 0.0
    for first in (0, 1, 2):
        for second in (0, 1, 2):
            (a, b), (c, d) = pair(first), pair(second)
            worst = max(worst, float(np.maximum(np.outer(a, c) - math.exp(epsilon) * np.outer(b, d), 0.0).sum()))
    bracket = hush.curve(noise, box(2, 2.0)).delta_bracket(epsilon)
    assert bracket.lower <= worst <= bracket.upper


@pytest.mark.parametrize(
    ("scale", "epsilon", "truth"), [(0.025, 76.0, 0.72933), (1.0 / 30.0, 57.0, 0.60952), (0.01, 190.0, 0.9764)]
)
def test_large_losses_compose(scale, epsilon, truth):
    """Small noise, two coordinates: truths by multi-precision integration."""
    bracket = hush.curve(Laplace(scale), box(2)).delta_bracket(epsilon)
    assert bracket.lower <= truth * (1.0 + 1e-5)
    assert bracket.upper >= truth * (1.0 - 1e-5)
    assert bracket.width < 2e-3


@pytest.mark.parametrize(("sigma", "exact"), [(0.1, 231.449), (0.05, 763.72)])
def test_small_gaussians_by_transforms(sigma, exact):
    bracket = hush.curve(hush.OSGT(1e-12, sigma), box(3)).epsilon_bracket(1e-6)
    truth = hush.epsilon(hush.Gaussian(sigma), 1e-6, box(3))
    assert truth == pytest.approx(exact, rel=1e-4)
    assert bracket.lower <= truth * (1.0 + 1e-9)
    assert truth <= bracket.upper <= truth * (1.0 + 1e-5)


@pytest.mark.parametrize("noise", [hush.TruncatedLaplace(1.0, 0.4), hush.Stepped(1.0, (1.0,))])
def test_disjoint_supports_give_delta_one(noise):
    assert hush.delta(noise, 1.0, box(2, 2.0)) == pytest.approx(1.0)


def test_pure_epsilon_that_floats_cannot_hold():
    """1/3 in floats is below 1/3: a trace of delta is left, and none where the quotient is exact."""
    assert 9e-18 < hush.delta(Laplace(3.0), 1.0 / 3.0) < 9.4e-18
    assert hush.delta(Laplace(2.0), 0.5) == 0.0
    assert hush.delta(hush.Staircase(1.0), 1.0) == 0.0


@pytest.mark.parametrize(("k", "delta"), [(2, 1e-3), (2, 1e-6), (3, 1e-6), (20, 1e-8), (20, 1e-30)])
def test_crossings_under_atoms_are_tight(k, delta):
    """Laplace at pure epsilon k/5: once the answer was the pure epsilon itself, with a lower end of 0."""
    bracket = hush.curve(Laplace(5.0), times=k).epsilon_bracket(delta)
    assert 0.0 < bracket.lower <= bracket.upper <= k / 5.0 * (1.0 + 1e-14)
    assert bracket.width < 1e-4 * bracket.upper


def test_the_same_question_gets_the_same_answer():
    noise = hush.Staircase(0.02)
    assert hush.delta(noise, hush.epsilon(noise, 1e-12, times=2), times=2) <= 1e-12


@pytest.mark.parametrize(("epsilon", "delta", "l0"), [(100.0, 1e-6, 2), (1.0, 1e-57, 5)])
def test_calibrate_survives_extreme_budgets(epsilon, delta, l0):
    plan = hush.calibrate(epsilon, delta, box(l0))
    assert hush.delta(plan.noise, epsilon, box(l0)) <= delta


def test_lattice_noise_for_a_move_that_is_no_whole_step_is_refused():
    with pytest.raises(hush.Unsupported):
        hush.calibrate(1.0, 1e-6, 0.7, family="laplace", step=1.0)


def test_truncated_laplace_at_a_tiny_shift():
    """The edge's mass is the shift times the density there, however small."""
    noise = hush.TruncatedLaplace(1.0, 40.0)
    for shift in (1e-9, 1e-15):
        truth = math.exp(-40.0) * math.expm1(shift) / (2.0 * -math.expm1(-40.0))
        assert hush.delta(noise, 1.0, shift) == pytest.approx(truth, rel=1e-12)
        assert hush.delta(noise, 1.0, shift) >= truth


def test_flipped_huber_across_the_centre():
    """A shift beyond the Laplace centre with the crossing on the other side of zero: truth by quadrature."""
    from scipy.integrate import quad

    noise, epsilon, shift = hush.FlippedHuber(1.0, 1.0), 3.0, 3.0

    def gain(x: float) -> float:
        return max(noise.pdf(x) - math.exp(epsilon) * noise.pdf(x - shift), 0.0)

    truth = sum(quad(gain, a, b, epsabs=1e-13)[0] for a, b in ((-12, -1), (-1, 0), (0, 0.5), (0.5, 1), (1, 4)))
    assert hush.delta(noise, epsilon, shift) == pytest.approx(truth, rel=1e-6)


def test_a_tilt_too_strong_gives_way_to_a_weaker_one():
    """At epsilon = 1 the fitting tilt left nothing but round-off, and delta came back as 1 between tiny neighbours."""
    curve = hush.compose([(hush.OSGT(100.0, 200.0), 1.0, 16)])
    values = [float(curve.delta(e)) for e in (0.7, 0.9, 1.0, 1.1, 2.0)]
    assert max(values) < 1e-50


def test_a_few_nearly_pure_parts_compose_as_sharply_as_one():
    """(3.6, 0.9e-6) and (0.4, 1e-7) make (4, 1e-6); grids that cannot be aligned with both said 7e-5."""
    three = hush.calibrate(3.6, 0.9e-6, Sensitivity(linf=1.0, l0=3), family="laplace")
    one = hush.calibrate(0.4, 1e-7, 1.0, family="laplace", step=1.0)
    both = hush.compose([(three.noise, three.sensitivity, 1), (one.noise, 1.0, 1)])
    assert float(both.delta(4.0)) <= 1e-6
    assert (
        float(both.delta(4.0))
        >= float(hush.curve(three.noise, three.sensitivity).delta_bracket(3.6000001).lower) * 0.01
    )
