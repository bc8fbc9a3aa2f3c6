"""Vector answers: which theorem certifies what, and that every bound lies above the exact composition it stands for."""

from __future__ import annotations

import itertools
import math

import pytest

import hush

UNPROVED = {
    "staircase": hush.Staircase(0.5),
    "truncated_laplace": hush.TruncatedLaplace(3.0, 30.0),
    "exponential_power": hush.ExponentialPower(1.4, 5.0),
    "asinh": hush.Asinh(0.5, 3.0),
    "stepped": hush.Stepped(0.5, (3.0, 2.0, 1.0)),
    "discrete": hush.Discrete(hush.Laplace(3.0)),
}
BALLS = {
    "l2": hush.Sensitivity(l2=1.0),
    "l1": hush.Sensitivity(l1=1.0),
    "l2 of 3": hush.Sensitivity(l2=1.0, l0=3),
    "l1 of 3": hush.Sensitivity(l1=1.0, l0=3),
}


def at_shifts(noise: hush.Noise, shifts: tuple[float, ...]) -> hush.Curve:
    """The exact curve when the coordinates move by these shifts."""
    return hush.compose([(noise, shift, 1) for shift in shifts if shift > 0.0])


def assert_dominates(bound: hush.Curve, noise: hush.Noise, shifts: tuple[float, ...], epsilons: tuple[float, ...]) -> None:
    for epsilon in epsilons:
        assert at_shifts(noise, shifts).delta(epsilon).lower <= bound.delta(epsilon).upper


# -- no theorem, no number ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ball", BALLS)
@pytest.mark.parametrize("name", UNPROVED)
def test_families_without_a_theorem_are_refused(name: str, ball: str) -> None:
    with pytest.raises(hush.Unsupported, match=r"Sensitivity\(linf=|Gaussian\(") as refused:
        hush.curve(UNPROVED[name], BALLS[ball])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("noise", "bound", "call"),
    [
        (hush.Laplace(1.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.Stable(1.5, 1.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.OSGT(3.0, 6.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.OSGT(3.0, 6.0), hush.Sensitivity(l1=1.0), r"Sensitivity\(l1=1.0, l0=K\)"),
        (hush.FlippedHuber(3.0, 6.0), hush.Sensitivity(l2=1.0), r"Sensitivity\(l2=1.0, l0=K\)"),
        (hush.FlippedHuber(3.0, 6.0), hush.Sensitivity(l1=1.0), r"Sensitivity\(l1=1.0, l0=K\)"),
    ],
)
def test_a_missing_number_of_coordinates_is_asked_for(noise: hush.Noise, bound: hush.Sensitivity, call: str) -> None:
    with pytest.raises(hush.Unsupported, match=call):
        hush.curve(noise, bound)


def test_a_theorem_for_a_whole_cannot_be_composed_on() -> None:
    with pytest.raises(hush.Unsupported, match="linf and l0"):
        hush.compose([(hush.OSGT(3.0, 6.0), hush.Sensitivity(l2=1.0, l0=2), 1), (hush.Laplace(2.0), 1.0, 1)])


# -- exact ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_gaussian_needs_only_l2(epsilon: float) -> None:
    noise, exact = hush.Gaussian(3.0), hush.delta(hush.Gaussian(3.0), epsilon, 2.0)
    assert hush.delta(noise, epsilon, hush.Sensitivity(l2=2.0)) == pytest.approx(exact, rel=1e-13)
    assert hush.delta(noise, epsilon, hush.Sensitivity(linf=1.0, l0=4)) == pytest.approx(exact, rel=1e-12)
    assert hush.delta(noise, epsilon, hush.Sensitivity(l1=2.0)) == pytest.approx(exact, rel=1e-13)
    assert hush.delta(noise, epsilon, hush.Sensitivity(l2=2.0, l1=5.0)) == pytest.approx(exact, rel=1e-13)
    assert hush.delta(noise, epsilon, hush.Sensitivity(linf=(1.0, 1.0, math.sqrt(2.0)))) == pytest.approx(exact, rel=1e-12)


def test_laplace_under_l1_is_one_coordinate() -> None:
    for epsilon in (0.0, 0.2, 0.49):
        assert hush.delta(hush.Laplace(2.0), epsilon, hush.Sensitivity(l1=1.0)) == hush.delta(hush.Laplace(2.0), epsilon)


@pytest.mark.parametrize(
    "shifts", [(0.5, 0.5), (0.9, 0.1), (0.7, 0.3), (1 / 3, 1 / 3, 1 / 3), (0.5, 0.25, 0.25), (0.8, 0.1, 0.1), (0.05, 0.9, 0.05)]
)
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_laplace_under_l1_dominates_every_split(scale: float, shifts: tuple[float, ...]) -> None:
    whole = hush.curve(hush.Laplace(scale), hush.Sensitivity(l1=1.0))
    split = at_shifts(hush.Laplace(scale), shifts)
    for epsilon in (0.0, 0.3 / scale, 0.7 / scale, 0.95 / scale):
        assert split.delta(epsilon).lower <= whole.delta(epsilon).upper
        assert split.delta(epsilon).upper <= whole.delta(epsilon).upper * 1.002 + 1e-4


def test_laplace_under_l2_goes_through_l1() -> None:
    noise, bound = hush.Laplace(3.0), hush.Sensitivity(l2=1.0, l0=4)
    for epsilon in (0.1, 0.4, 0.6):
        assert hush.delta(noise, epsilon, bound) == pytest.approx(hush.delta(noise, epsilon, 2.0), rel=1e-12)
        assert hush.delta(noise, epsilon, bound) >= at_shifts(noise, (0.5,) * 4).delta(epsilon).lower
    assert hush.epsilon(noise, 0.0, bound) == pytest.approx(2.0 / 3.0, rel=1e-12)


# -- boxes ----------------------------------------------------------------------------------------------------------------------------


def test_a_list_is_a_heterogeneous_composition() -> None:
    noise = hush.OSGT(3.0, 6.0)
    listed = hush.curve(noise, hush.Sensitivity(linf=(1.0, 0.5, 2.0)))
    built = hush.compose([(noise, 2.0, 1), (noise, 1.0, 1), (noise, 0.5, 1)])
    for epsilon in (0.1, 0.6):
        assert listed.delta(epsilon).upper == pytest.approx(built.delta(epsilon).upper, rel=1e-12)


def test_a_list_takes_the_largest_l0() -> None:
    noise = hush.FlippedHuber(4.0, 3.0)
    two = hush.curve(noise, hush.Sensitivity(linf=(1.0, 0.5, 2.0, 0.1), l0=2))
    built = hush.compose([(noise, 2.0, 1), (noise, 1.0, 1)])
    for epsilon in (0.1, 0.6):
        assert two.delta(epsilon).upper == pytest.approx(built.delta(epsilon).upper, rel=1e-12)
    assert hush.Sensitivity(linf=(1.0, 0.5, 1.0, 2.0), l0=3).shifts == [(2.0, 1), (1.0, 2)]


def test_an_even_list_is_a_box() -> None:
    noise = hush.Laplace(4.0)
    assert hush.delta(noise, 0.5, hush.Sensitivity(linf=(1.0, 1.0, 1.0))) == hush.delta(noise, 0.5, hush.Sensitivity(linf=1.0, l0=3))


def test_smaller_moves_tell_less() -> None:
    for noise in (hush.Laplace(3.0), hush.OSGT(3.0, 6.0), hush.Staircase(0.5)):
        whole = hush.curve(noise, hush.Sensitivity(linf=1.0, l0=2))
        for shifts in ((1.0, 0.4), (0.7, 0.7), (1.0,)):
            assert_dominates(whole, noise, shifts, (0.1, 0.5, 0.8))


# -- bounds ---------------------------------------------------------------------------------------------------------------------------

DIRECTIONS = {"diagonal": (math.sqrt(0.5),) * 2, "axis": (1.0,), "25 degrees": (math.cos(math.radians(25)), math.sin(math.radians(25)))}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_osgt_theorem_2_dominates_every_direction(direction: str) -> None:
    noise = hush.OSGT(3.0, math.sqrt(40.0))
    bound = hush.curve(noise, hush.Sensitivity(l2=1.0, l0=2))
    assert_dominates(bound, noise, DIRECTIONS[direction], (0.05, 0.2, 0.5, 1.0, 2.0))
    assert bound.delta(2.0).upper < 1e-6


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("alpha", "gamma"), [(0.5, 4.0), (3.0, 3.0)])
def test_flipped_huber_theorem_8_dominates_every_direction(alpha: float, gamma: float, direction: str) -> None:
    noise = hush.FlippedHuber(alpha, gamma)
    bound = hush.curve(noise, hush.Sensitivity(l2=1.0, l0=2))
    assert_dominates(bound, noise, DIRECTIONS[direction], (0.05, 0.3, 0.8, 1.2, 1.5, 2.5))
    assert bound.delta(2.5).upper < 1e-3


def test_flipped_huber_theorem_8_claims_nothing_where_its_hypothesis_fails() -> None:
    """gamma eps - K R/(2 gamma) >= Delta_2 (erratum): R = alpha^2 - (alpha - 1)^2 = 5, K = 2, gamma = 3."""
    bound = hush.curve(hush.FlippedHuber(3.0, 3.0), hush.Sensitivity(l2=1.0, l0=2))
    edge = (1.0 + 2.0 * 5.0 / 6.0) / 3.0
    assert bound.delta(edge * (1.0 - 1e-9)).upper == 1.0
    assert bound.delta(edge * (1.0 + 1e-9)).upper < 1.0


def test_bounds_fall_with_epsilon_and_grow_with_the_ball() -> None:
    for noise in (hush.OSGT(3.0, 6.0), hush.FlippedHuber(1.0, 4.0)):
        curves = [hush.curve(noise, hush.Sensitivity(l2=r, l0=3)) for r in (0.5, 1.0, 1.5)]
        for curve in curves:
            values = [curve.delta(e).upper for e in (0.5, 1.0, 2.0, 3.0)]
            assert all(a >= b for a, b in itertools.pairwise(values))
        assert all(a.delta(2.0).upper <= b.delta(2.0).upper for a, b in itertools.pairwise(curves))


@pytest.mark.parametrize("noise", [hush.OSGT(3.0, 6.0), hush.FlippedHuber(4.0, 3.0)])
def test_l1_with_k_is_the_box(noise: hush.Noise) -> None:
    bound = hush.curve(noise, hush.Sensitivity(l1=1.0, l0=2))
    assert bound.delta(0.6).upper == pytest.approx(hush.delta(noise, 0.6, hush.Sensitivity(linf=1.0, l0=2)), rel=1e-12)
    assert_dominates(bound, noise, (0.5, 0.5), (0.2, 0.6))


@pytest.mark.parametrize("alpha", [1.0, 1.5, 1.9])
@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_the_stable_bound_is_above_the_even_spread(alpha: float, k: int) -> None:
    noise = hush.Stable(alpha, 2.0)
    for norm, spread, root in (("l1", 1.0 / k, 1.0), ("l2", 1.0 / math.sqrt(k), math.sqrt(k))):
        bound = hush.epsilon(noise, 0.0, hush.Sensitivity(**{norm: 1.0}, l0=k))
        assert bound >= k * noise.max_loss(spread) * (1.0 - 1e-9)
        assert bound == pytest.approx(root * noise.sup_score(), rel=1e-12)


def test_stable_in_a_box_adds() -> None:
    noise = hush.Stable(1.5, 4.0)
    box = hush.epsilon(noise, 0.0, hush.Sensitivity(linf=1.0, l0=5))
    assert box == pytest.approx(5.0 * noise.max_loss(1.0), rel=1e-9)


def test_a_pure_bound_composes_by_adding_and_as_randomised_response() -> None:
    noise, ball = hush.Stable(1.5, 4.0), hush.Sensitivity(l1=1.0)
    one = hush.epsilon(noise, 0.0, ball)
    assert hush.epsilon(noise, 0.0, ball, times=3) == pytest.approx(3.0 * one, rel=1e-12)
    assert hush.delta(noise, 0.0, ball) == pytest.approx(math.tanh(0.5 * one), rel=1e-12)
    mixed = hush.compose([(noise, ball, 2), (hush.Laplace(5.0), 1.0, 1)])
    assert mixed.epsilon(0.0).upper == pytest.approx(2.0 * one + 0.2, rel=1e-10)


def test_a_sensitivity_must_say_something() -> None:
    for wrong in ({}, {"l0": 3}, {"linf": -1.0}, {"linf": 1.0, "l0": 0}, {"linf": (1.0, 2.0), "l0": 3}, {"linf": ()}):
        with pytest.raises(hush.InvalidParameter):
            hush.Sensitivity(**wrong)  # type: ignore[arg-type]
