"""Composition: brackets around exact Gaussians, enumerated losses and quadratures, and the laws that losses obey."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import erfc

import hush
from hush.privacy.composed_curve import Composed
from hush.privacy.curve import OneNumber, PureBound
from hush.privacy.spectrum import FAINT, TiltedPart, _fewer, relevant

Array = NDArray[np.float64]

FAMILIES = {
    "gaussian": hush.Gaussian(3.0),
    "laplace": hush.Laplace(4.0),
    "osgt": hush.OSGT(3.0, 6.0),
    "flipped_huber": hush.FlippedHuber(4.0, 3.0),
    "stable": hush.Stable(1.5, 4.0),
    "staircase": hush.Staircase(0.4, 1.0, 0.45),
    "truncated_laplace": hush.TruncatedLaplace(3.0, 30.0),
    "exponential_power": hush.ExponentialPower(1.4, 5.0),
    "asinh": hush.Asinh(0.5, 3.0),
    "stepped": hush.Stepped(0.5, (4.0, 4.0, 3.0, 3.0, 2.0, 1.5), ratio=0.5, period=2),
    "discrete": hush.Discrete(hush.Laplace(3.0)),
}


def inside(bracket: hush.Bracket, truth: float, slack: float = 0.0) -> bool:
    """Does the bracket contain the truth, which is known to a relative `slack`?"""
    return float(bracket.lower) * (1.0 - slack) <= truth <= float(bracket.upper) * (1.0 + slack)


def width(bracket: hush.Bracket) -> float:
    """Relative to the upper end."""
    return (float(bracket.upper) - float(bracket.lower)) / float(bracket.upper)


def composed(*parts: tuple[hush.Noise, float, int]) -> Composed:
    """The parts unchanged: nothing is merged and no closed form is used."""
    return Composed(tuple((OneNumber(noise, shift), times) for noise, shift, times in parts))


THOUSAND = composed((hush.Gaussian(30.0), 1.0, 1000))


# -- against exact values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-20, 1e-30])
def test_a_thousand_gaussians_bracket_the_exact_epsilon(delta: float) -> None:
    got = composed((hush.Gaussian(30.0), 1.0, 1000)).epsilon_bracket(delta)
    exact = OneNumber(hush.Gaussian(30.0), math.sqrt(1000.0)).epsilon_bracket(delta)
    assert got.lower <= exact.lower and exact.upper <= got.upper
    assert width(got) < 1e-4


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 6.0, 12.0])
def test_unequal_gaussians_bracket_the_exact_delta(epsilon: float) -> None:
    got = composed(
        (hush.Gaussian(3.0), 1.0, 4), (hush.Gaussian(5.0), 2.0, 3), (hush.Gaussian(11.0), 1.0, 20)
    ).delta_bracket(epsilon)
    exact = OneNumber(hush.Gaussian(1.0), math.sqrt(4 / 9 + 12 / 25 + 20 / 121)).delta_bracket(epsilon)
    assert inside(got, exact.lower) and inside(got, exact.upper)
    assert width(got) < 1e-3


def test_gaussians_are_merged_exactly() -> None:
    merged = hush.compose([(hush.Gaussian(3.0), 1.0, 4), (hush.Gaussian(5.0), 2.0, 3)])
    exact = OneNumber(hush.Gaussian(1.0), math.sqrt(4 / 9 + 12 / 25))
    for epsilon in (0.1, 1.0, 5.0):
        assert merged.delta(epsilon) == pytest.approx(exact.delta(epsilon), rel=1e-12)


@pytest.mark.exhaustive
def test_a_hundred_different_mechanisms_have_a_narrow_bracket() -> None:
    releases: list[tuple[hush.Noise, float, int]] = [(hush.Laplace(40.0 + i), 1.0, 1) for i in range(44)]
    releases += [(hush.Gaussian(30.0 + i), 1.0, 1) for i in range(20)]
    releases += [(hush.Staircase(0.02 + 0.0002 * i), 1.0, 1) for i in range(20)]
    releases += [(hush.OSGT(10.0 + i, 40.0 + i), 1.0, 1) for i in range(5)]
    releases += [(hush.FlippedHuber(30.0 + i, 35.0), 1.0, 1) for i in range(5)]
    releases += [(hush.TruncatedLaplace(45.0 + i, 3000.0), 1.0, 1) for i in range(2)]
    releases += [(hush.ExponentialPower(1.2 + 0.1 * i, 50.0), 1.0, 1) for i in range(2)]
    releases += [(hush.Asinh(0.5 + 0.1 * i, 30.0), 1.0, 1) for i in range(2)]
    assert len({str(noise) for noise, _, _ in releases}) == 100
    got = hush.compose(releases).epsilon_bracket(1e-6)
    assert width(got) < 1e-3


def test_osgt_eight_times_is_better_than_the_papers_bound() -> None:
    got = hush.curve(hush.OSGT(15.0, math.sqrt(630.0)), hush.Sensitivity(linf=1.0, l0=8)).delta_bracket(0.9)
    assert inside(got, 1.674639e-15, 5e-7)  # half a unit of the last digit
    assert width(got) < 0.01
    assert got.upper < 1.2287e-14 / 7.0


# -- against direct enumeration ------------------------------------------------------------------------------


def enumerated(masses: Array, moved: Array, epsilon: float, times: int) -> float:
    """The hockey-stick divergence of the product laws, outcome by outcome."""
    p, q = masses, moved
    for _ in range(times - 1):
        p, q = np.outer(p, masses).ravel(), np.outer(q, moved).ravel()
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def lattice_pair(weights: Array, shift: int) -> tuple[Array, Array]:
    """A law on consecutive cells, and itself moved by `shift` cells, over the union of both."""
    masses = np.append(weights / weights.sum(), np.zeros(shift))
    return masses, np.roll(masses, shift)


def symmetric(half: Array) -> Array:
    return np.append(half[::-1], half)


TAIL = np.arange(0.0, 120.0)
STAIRS = np.exp(
    -0.9 * np.floor(0.5 * np.arange(0.0, 100.0) + 0.5)
)  # gamma = 1/2, cells of 1/2: heights 1, e, e, e^2, e^2, ...
LATTICE = {
    "stepped": (
        hush.Stepped(0.5, (3.0, 2.0, 1.5, 1.0)),
        1.0,
        lattice_pair(symmetric(np.array([3.0, 2.0, 1.5, 1.0])), 2),
    ),
    "wide": (
        hush.Stepped(1.0, (5.0, 3.0, 3.0, 0.01)),
        1.0,
        lattice_pair(symmetric(np.array([5.0, 3.0, 3.0, 0.01])), 1),
    ),
    "staircase": (hush.Staircase(0.9, 1.0, 0.5), 1.0, lattice_pair(symmetric(STAIRS), 2)),
    "discrete laplace": (
        hush.Discrete(hush.Laplace(1.5)),
        1.0,
        lattice_pair(np.exp(-np.abs(np.arange(-60.0, 61.0)) / 1.5), 1),
    ),
    "discrete gaussian": (
        hush.Discrete(hush.Gaussian(2.0)),
        2.0,
        lattice_pair(np.exp(-(np.arange(-20.0, 21.0) ** 2) / 8.0), 2),
    ),
}


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("name", LATTICE)
def test_enumerated_losses_are_inside_the_bracket(name: str, times: int) -> None:
    noise, shift, (masses, moved) = LATTICE[name]
    curve = hush.curve(noise, shift, times=times)
    for epsilon in (0.0, 0.3, 0.9, 1.1, 1.8, 2.4):
        truth, got = enumerated(masses, moved, epsilon, times), curve.delta_bracket(epsilon)
        assert got.lower - 1e-12 <= truth <= got.upper + 1e-12
        assert got.upper <= truth * 1.01 + 1e-9


def test_a_mixed_list_agrees_with_enumeration() -> None:
    first, second = LATTICE["stepped"], LATTICE["discrete laplace"]
    curve = hush.compose([(first[0], first[1], 1), (second[0], second[1], 1)])
    for epsilon in (0.0, 0.4, 1.0, 1.5):
        p, q = (np.outer(first[2][i], second[2][i]).ravel() for i in (0, 1))
        truth = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
        got = curve.delta_bracket(epsilon)
        assert got.lower - 1e-12 <= truth <= got.upper + 1e-12
        assert got.upper <= truth * 1.01


# -- against quadrature --------------------------------------------------------------------------------------


def laplace_delta(epsilon: Array, scale: float) -> Array:
    """One Laplace number moved by 1, any real epsilon: exact."""
    pure = 1.0 / scale
    middle = -np.expm1(0.5 * (np.clip(epsilon, -pure, pure) - pure))
    return np.where(epsilon >= pure, 0.0, np.where(epsilon <= -pure, -np.expm1(np.minimum(epsilon, 0.0)), middle))


class Huber:
    """Flipped Huber noise from its density alone: linear up to alpha, quadratic beyond."""

    def __init__(self, alpha: float, gamma: float) -> None:
        self.alpha, self.gamma = alpha, gamma
        self.total = 2.0 * float(self.beyond(np.zeros(1))[0])

    def cost(self, x: Array) -> Array:
        x = np.abs(x)
        return np.where(x <= self.alpha, self.alpha * x, 0.5 * (x * x + self.alpha**2)) / self.gamma**2

    def beyond(self, x: Array) -> Array:
        a, g = self.alpha, self.gamma
        tail = (
            math.exp(-0.5 * (a / g) ** 2) * g * math.sqrt(0.5 * math.pi) * erfc(np.maximum(x, a) / (g * math.sqrt(2.0)))
        )
        return tail + (g * g / a) * (np.exp(-a * np.minimum(x, a) / g**2) - math.exp(-((a / g) ** 2)))

    def cdf(self, x: Array) -> Array:
        upper = self.beyond(np.abs(x)) / self.total
        return np.where(x > 0.0, 1.0 - upper, upper)

    def loss(self, x: Array) -> Array:
        return self.cost(x - 1.0) - self.cost(x)

    def delta(self, epsilon: Array) -> Array:
        """F(t) - e^epsilon F(t - 1), with the loss above epsilon exactly below t."""
        low, high = np.full_like(epsilon, -400.0), np.full_like(epsilon, 400.0)
        for _ in range(80):
            middle = 0.5 * (low + high)
            above = self.loss(middle) > epsilon
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return self.cdf(low) - np.exp(epsilon) * self.cdf(low - 1.0)


def panels(breaks: list[float], count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights, `count` panels between neighbouring breaks."""
    node, weight = np.polynomial.legendre.leggauss(8)
    edges = np.unique(np.concatenate([np.linspace(a, b, count + 1) for a, b in itertools.pairwise(breaks)]))
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1.0 + node)).ravel(), (half * weight).ravel()


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0, 1.2, 1.9, 2.0, 2.1])
@pytest.mark.parametrize("scale", [0.7, 5.0])
def test_two_laplace_numbers_against_quadrature(scale: float, share: float) -> None:
    """Epsilon below, at and above the atom 1/scale and the pure 2/scale."""
    pure, epsilon = 1.0 / scale, share / scale
    x, w = panels(sorted({0.0, 1.0, min(0.5 * abs(2.0 - share), 1.0), min(0.5 * share, 1.0)}), 50)
    between = float(
        np.sum(w * np.exp(-x / scale) / (2.0 * scale) * laplace_delta(epsilon - (1.0 - 2.0 * x) / scale, scale))
    )
    ends = 0.5 * laplace_delta(np.array(epsilon - pure), scale) + 0.5 * math.exp(-pure) * laplace_delta(
        np.array(epsilon + pure), scale
    )
    truth, got = between + float(ends), hush.curve(hush.Laplace(scale), times=2).delta_bracket(epsilon)
    assert got.lower - 1e-14 <= truth <= got.upper + 1e-14
    assert got.upper <= truth * 1.001 + 1e-13  # at the pure epsilon itself, round-off is left


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.3, 2.0, 2.5, 4.0])
@pytest.mark.parametrize(("alpha", "gamma"), [(4.0, 3.0), (1.5, 2.0)])
def test_two_flipped_huber_numbers_against_quadrature(alpha: float, gamma: float, share: float) -> None:
    """delta_2(e) = E delta_1(e - L); epsilon in units of the atom alpha/gamma^2."""
    law, epsilon = Huber(alpha, gamma), share * alpha / gamma**2
    x, w = panels([-40.0, -alpha, 0.0, 1.0, alpha, alpha + 1.0, 40.0], 800)
    truth = float(np.sum(w * np.exp(-law.cost(x)) / law.total * law.delta(epsilon - law.loss(x))))
    got = hush.curve(hush.FlippedHuber(alpha, gamma), times=2).delta_bracket(epsilon)
    assert inside(got, truth, 1e-6)
    assert width(got) < 0.01


# -- laws ----------------------------------------------------------------------------------------------------


SLOW = ("stable",)
BY_SPEED = [pytest.param(name, marks=pytest.mark.exhaustive if name in SLOW else ()) for name in FAMILIES]


@pytest.mark.parametrize("name", BY_SPEED)
def test_k_at_once_equal_k_singles(name: str) -> None:
    noise = FAMILIES[name]
    whole, singles = hush.compose([(noise, 1.0, 3)]), hush.compose([(noise, 1.0, 1)] * 3)
    nested = hush.curve(noise, hush.Sensitivity(linf=1.0, l0=3))
    unmerged = composed((noise, 1.0, 1), (noise, 1.0, 1), (noise, 1.0, 1))
    for epsilon in (0.2,) if name in SLOW else (0.0, 0.2, 0.7):
        upper = whole.delta(epsilon)
        assert singles.delta(epsilon) == pytest.approx(upper, rel=1e-12)
        assert nested.delta(epsilon) == pytest.approx(upper, rel=1e-12)
        other = unmerged.delta_bracket(epsilon)
        assert other.upper == pytest.approx(upper, rel=1e-4)
        assert whole.delta_bracket(epsilon).lower <= other.upper and other.lower <= upper


def test_times_and_l0_multiply() -> None:
    noise = hush.FlippedHuber(4.0, 3.0)
    six = hush.delta(noise, 0.8, times=6)
    assert hush.delta(noise, 0.8, hush.Sensitivity(linf=1.0, l0=3), times=2) == pytest.approx(six, rel=1e-12)
    assert hush.delta(noise, 0.8, hush.Sensitivity(linf=1.0, l0=2), times=3) == pytest.approx(six, rel=1e-12)


@pytest.mark.parametrize("name", BY_SPEED)
def test_monotone_in_times_and_l0(name: str) -> None:
    noise = FAMILIES[name]
    by_times = [hush.delta(noise, 0.5, times=k) for k in (1, 2, 3, 5, 9)]
    by_l0 = [hush.epsilon(noise, 1e-2, hush.Sensitivity(linf=1.0, l0=k)) for k in (1, 2, 4, 8)]
    assert all(a <= b for a, b in itertools.pairwise(by_times))
    assert all(a <= b for a, b in itertools.pairwise(by_l0))


@pytest.mark.parametrize(
    "name", ["laplace", "staircase", "stepped", "discrete", pytest.param("stable", marks=pytest.mark.exhaustive)]
)
def test_pure_epsilon_adds_and_delta_vanishes_there(name: str) -> None:
    noise = FAMILIES[name]
    one, curve = hush.epsilon(noise, 0.0), hush.curve(noise, times=7)
    assert curve.epsilon(0.0) == pytest.approx(7.0 * one, rel=1e-10)
    assert curve.epsilon(0.0) >= 7.0 * one * (1.0 - 1e-14)
    assert curve.delta(7.0 * one * (1.0 + 1e-9)) == 0.0
    assert curve.delta(7.0 * one * 0.9) > 0.0
    mixed = hush.compose([(noise, 1.0, 2), (hush.Laplace(10.0), 1.0, 5)])
    assert mixed.epsilon(0.0) == pytest.approx(2.0 * one + 0.5, rel=1e-10)


def test_no_pure_epsilon_where_a_part_has_none() -> None:
    assert math.isinf(hush.compose([(hush.Laplace(2.0), 1.0, 1), (hush.Gaussian(2.0), 1.0, 1)]).epsilon(0.0))


@pytest.mark.parametrize("times", [1, 2, 10, 100])
def test_the_mass_at_infinity_of_truncated_laplace_stays(times: int) -> None:
    """Mass that the shifted law does not reach distinguishes the inputs with certainty: delta >= 1 - (1 - m)^k at every
    epsilon.
    """
    noise = hush.TruncatedLaplace(1.0, 9.0)
    lost = (math.exp(-8.0) - math.exp(-9.0)) / (2.0 * -math.expm1(-9.0))
    whole = -math.expm1(times * math.log1p(-lost))
    curve = hush.curve(noise, times=times)
    beyond = curve.delta_bracket(times * 1.0 + 1.0)
    assert inside(beyond, whole, 1e-9)
    assert beyond.upper <= whole * (1.0 + 1e-6)
    assert math.isinf(curve.epsilon(0.999 * whole))
    assert curve.epsilon(1.01 * whole) <= times * 1.0 + 1e-9


def test_composed_delta_is_monotone_and_convex_in_e_to_epsilon() -> None:
    curve = hush.compose([(hush.Laplace(3.0), 1.0, 2), (hush.OSGT(3.0, 6.0), 1.0, 3)])
    epsilon = np.linspace(0.0, 2.0, 41)
    upper = np.asarray(curve.delta(epsilon))
    assert (np.diff(upper) <= 1e-12).all()
    slope = np.diff(upper) / np.diff(np.exp(epsilon))
    assert (np.diff(slope) >= -1e-6).all()


def test_more_releases_tell_more() -> None:
    base = [(hush.Laplace(5.0), 1.0, 2), (hush.Asinh(0.5, 3.0), 1.0, 1)]
    more = [*base, (hush.Staircase(0.2), 1.0, 1)]
    for epsilon in (0.0, 0.3, 0.8):
        assert hush.compose(base).delta_bracket(epsilon).lower <= hush.compose(more).delta(epsilon)
        assert hush.compose(base).delta(epsilon) <= hush.compose(more).delta(epsilon)


def test_order_does_not_matter() -> None:
    releases = [(hush.Laplace(5.0), 1.0, 2), (hush.Asinh(0.5, 3.0), 1.0, 1), (hush.OSGT(3.0, 6.0), 2.0, 1)]
    values = [hush.compose(order).delta(0.6) for order in itertools.permutations(releases)]
    assert values == pytest.approx([values[0]] * 6, rel=1e-9)


def test_an_array_and_negative_epsilons() -> None:
    curve = hush.curve(hush.Laplace(2.0), times=3)
    got = np.asarray(curve.delta([-0.4, 0.0, 0.4]))
    assert got.shape == (3,)
    assert got[0] == pytest.approx(-math.expm1(-0.4) + math.exp(-0.4) * got[2], rel=1e-12)


NOISES = st.one_of(
    st.builds(hush.Laplace, st.floats(0.5, 50.0)),
    st.builds(hush.OSGT, st.floats(0.1, 20.0), st.floats(1.0, 30.0)),
    st.builds(hush.FlippedHuber, st.floats(0.1, 20.0), st.floats(1.0, 20.0)),
    st.builds(hush.ExponentialPower, st.floats(1.0, 2.0), st.floats(1.0, 40.0)),
    st.builds(hush.Staircase, st.floats(0.02, 2.0)),
)
ON_A_LATTICE = st.builds(lambda scale: hush.Discrete(hush.Laplace(scale)), st.floats(0.5, 20.0))


@settings(max_examples=30)
@given(noise=st.one_of(NOISES, ON_A_LATTICE), log_delta=st.floats(-12.0, -1.0), times=st.integers(2, 60))
def test_epsilon_lands_on_the_private_side(noise: hush.Noise, log_delta: float, times: int) -> None:
    delta = 10.0**log_delta
    epsilon = hush.epsilon(noise, delta, times=times)
    assert hush.delta(noise, epsilon, times=times) <= delta


def test_epsilon_lands_on_the_private_side_next_to_the_pure_epsilon() -> None:
    noise = hush.Staircase(0.02)
    assert hush.delta(noise, hush.epsilon(noise, 1e-12, times=2), times=2) <= 1e-12


@settings(max_examples=20)
@given(noise=NOISES, log_delta=st.floats(-10.0, -1.5), times=st.integers(2, 40))
def test_the_ends_are_in_order_and_near(noise: hush.Noise, log_delta: float, times: int) -> None:
    """Of families whose losses are not all on a few atoms; a lower end may be 0 for those.

    A law with p near 1 has nearly an atom, which no grid of losses fits: its lower end was up to 0.84 % low in 50
    random cases.
    """
    got = hush.curve(noise, times=times).epsilon_bracket(10.0**log_delta)
    assert 0.0 <= got.lower <= got.upper
    nearly_laplace = isinstance(noise, hush.ExponentialPower) and 1.0 < noise.p < 1.25
    assert got.upper - got.lower <= (1e-2 if nearly_laplace else 2e-3) * got.upper + 1e-9


# -- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "releases", [[], [()], [(1.0, 1.0, 1)], [(hush.Gaussian(1.0), 1.0, 1, 1)], [(hush.Gaussian(1.0), -1.0, 1)], ["x"]]
)
def test_bad_lists_are_refused(releases: list[object]) -> None:
    with pytest.raises(hush.HushError):
        hush.compose(releases)


@pytest.mark.parametrize("times", [0, -1, 1.5, math.nan, "2", None, True])
def test_bad_times_are_refused(times: object) -> None:
    with pytest.raises(hush.InvalidParameter):
        hush.curve(hush.Laplace(1.0), times=times)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "noise", [hush.FlippedHuber(5.34, 1.82), hush.OSGT(2.0, 1.5), hush.TruncatedLaplace(1.0, 9.0)], ids=repr
)
def test_beside_a_pure_part_basic_composition_is_a_bound(noise):
    """(e1, 0) beside (e2, d2) is (e1 + e2, d2): composing on a grid must not say more."""
    pure = hush.Laplace(30.0)
    for epsilon in (0.4, 1.0, 2.0, 3.0):
        alone = float(hush.delta(noise, epsilon))
        together = float(hush.compose([(noise, 1.0, 1), (pure, 1.0, 2)]).delta(epsilon + 2.0 / 30.0 * (1.0 + 1e-12)))
        assert together <= alone * (1.0 + 1e-9)


def box(l0: int, linf: float = 1.0) -> hush.Sensitivity:
    return hush.Sensitivity(linf=linf, l0=l0)


@pytest.mark.parametrize(
    ("noise", "l0", "epsilon"),
    [
        (hush.Laplace(2.0), 10, 5.1),
        (hush.Laplace(1.0), 2, 2.5),
        (hush.Staircase(1.0), 3, 3.5),
        (hush.Laplace(1.0), 1000, 1000.5),
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


@pytest.mark.parametrize(("scale", "epsilon"), [(0.025, 76.0), (1.0 / 30.0, 57.0), (0.01, 190.0)])
def test_large_losses_compose(scale, epsilon):
    """Small noise, two coordinates: delta = 1 - e^-c (1 + c/2) with c = 1/scale - epsilon/2, but for e^(-1/scale)."""
    bracket = hush.curve(hush.Laplace(scale), box(2)).delta_bracket(epsilon)
    c = 1.0 / scale - epsilon / 2.0
    truth = 1.0 - math.exp(-c) * (1.0 + 0.5 * c)
    assert bracket.lower <= truth * (1.0 + 1e-12) and truth * (1.0 - 1e-12) <= bracket.upper
    assert bracket.width < 2e-4


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


@pytest.mark.parametrize(("k", "delta"), [(2, 1e-3), (2, 1e-6), (3, 1e-6), (20, 1e-8), (20, 1e-30)])
def test_crossings_under_atoms_are_tight(k, delta):
    """Laplace at pure epsilon k/5: once the answer was the pure epsilon itself, with a lower end of 0."""
    bracket = hush.curve(hush.Laplace(5.0), times=k).epsilon_bracket(delta)
    assert 0.0 < bracket.lower <= bracket.upper <= k / 5.0 * (1.0 + 1e-14)
    assert bracket.width < 1e-4 * bracket.upper


def test_the_same_question_gets_the_same_answer():
    noise = hush.Staircase(0.02)
    assert hush.delta(noise, hush.epsilon(noise, 1e-12, times=2), times=2) <= 1e-12


def test_a_tilt_too_strong_gives_way_to_a_weaker_one():
    """At epsilon = 1 the fitting tilt left nothing but round-off, and delta came back as 1 between tiny neighbours."""
    curve = hush.compose([(hush.OSGT(100.0, 200.0), 1.0, 16)])
    values = [float(curve.delta(e)) for e in (0.7, 0.9, 1.0, 1.1, 2.0)]
    assert max(values) < 1e-50


def test_a_few_nearly_pure_parts_compose_as_sharply_as_one():
    """(3.6, 0.9e-6) and (0.4, 1e-7) make (4, 1e-6); grids that cannot be aligned with both said 7e-5."""
    three = hush.calibrate(3.6, 0.9e-6, hush.Sensitivity(linf=1.0, l0=3), family="laplace")
    one = hush.calibrate(0.4, 1e-7, 1.0, family="laplace", step=1.0)
    both = hush.compose([(three.noise, three.sensitivity, 1), (one.noise, 1.0, 1)])
    assert float(both.delta(4.0)) <= 1e-6
    assert (
        float(both.delta(4.0))
        >= float(hush.curve(three.noise, three.sensitivity).delta_bracket(3.6000001).lower) * 0.01
    )


def test_a_tilt_that_favours_rare_losses_is_weakened() -> None:
    """Bump noise has large losses at its edge, which are very rare. The saddle point jumps to them at some tilt. There
    delta was ten thousand times too large.
    """
    composed = hush.curve(hush.Bump(6.0, 200.0), hush.Sensitivity(linf=2.0, l0=10))
    found = composed.delta_bracket(1.0)
    assert 0.99 * found.upper <= found.lower <= found.upper == pytest.approx(3.8226e-8, rel=1e-3)
    assert composed.epsilon(1e-6) < 0.7


# -- very small deltas, against closed forms -----------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [5.0, 15.0, 20.0, 25.0, 30.0, 38.0])
def test_gaussians_down_to_the_smallest_deltas(epsilon: float) -> None:
    """A thousand Gaussians are one: delta falls from 2e-6 to 3e-278."""
    got = THOUSAND.delta_bracket(epsilon)
    mu = mpmath.sqrt(1000) / 30
    exact = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
    assert got.lower <= exact <= got.upper and width(got) < 4e-3


@pytest.mark.parametrize("delta", [1e-60, 1e-150, 1e-250])
def test_epsilon_at_the_smallest_deltas(delta: float) -> None:
    got = THOUSAND.epsilon_bracket(delta)
    exact = OneNumber(hush.Gaussian(30.0), math.sqrt(1000.0)).epsilon_bracket(delta)
    assert got.lower <= exact.lower and exact.upper <= got.upper and width(got) < 1e-5


@pytest.mark.parametrize("epsilon", [20.0, 100.0, 200.0, 250.0, 290.0, 299.4])
def test_randomised_responses_down_to_the_smallest_deltas(epsilon: float) -> None:
    """600 randomised responses with epsilon 1/2 each, by the binomial sum: delta falls to 1e-124."""
    got = Composed(((PureBound(0.5), 600),)).delta(epsilon)
    with mpmath.workdps(60):
        p, exact = mpmath.exp(0.5) / (1 + mpmath.exp(0.5)), mpmath.mpf(0)
        for k in range(300 + int(epsilon), 601):
            share = 1 - mpmath.exp(epsilon - (2 * k - 600) * mpmath.mpf(0.5))
            exact += mpmath.binomial(600, k) * p**k * (1 - p) ** (600 - k) * max(share, 0)
    assert exact <= got <= exact * (1 + 1e-6)


def test_samples_have_small_deltas_too() -> None:
    got = hush.compose([hush.subsample(hush.Gaussian(2.0), 0.1, times=20)]).epsilon_bracket(1e-100)
    assert 0.0 < got.lower <= got.upper < got.lower * (1 + 1e-5)


# -- laws on a lattice, and mixed lists ----------------------------------------------------------------------

ON_LATTICE = {
    "gaussian": hush.Discrete(hush.Gaussian(3.0)),
    "laplace": hush.Discrete(hush.Laplace(5.0)),
    "osgt": hush.Discrete(hush.OSGT(5.0, 2.0)),
    "flipped huber": hush.Discrete(hush.FlippedHuber(5.0, 2.0)),
    "staircase": hush.Staircase(3.0, 1.0, 0.42),
}


@pytest.mark.parametrize("times", [10, 1000])
@pytest.mark.parametrize("name", list(ON_LATTICE))
def test_brackets_of_lattice_laws_are_as_narrow_as_others(name: str, times: int) -> None:
    assert width(hush.curve(ON_LATTICE[name], times=times).epsilon_bracket(1e-6)) < 1e-6


def test_two_lattice_laws_share_a_lattice() -> None:
    both = [(ON_LATTICE["gaussian"], 1.0, 20), (ON_LATTICE["laplace"], 1.0, 20)]
    assert width(hush.compose(both).epsilon_bracket(1e-6)) < 1e-6


def test_an_atom_below_small_losses_keeps_the_lower_end_tight() -> None:
    """Half of the draws have the loss 1.25, and few have larger ones: what merging leaves of the atom may not swallow
    them.
    """
    assert width(hush.curve(hush.FlippedHuber(5.0, 2.0), times=10).epsilon_bracket(1e-6)) < 3e-5


@pytest.mark.parametrize("length", [1_024, 6_000, 100_000])
def test_few_frequencies_are_the_transform(length: int) -> None:
    """The transform of a mixed sum at the frequencies that matter, against fast transforms of full length. Those have
    an error of 1e-15 for each of the 30,202 factors.
    """
    random = np.random.default_rng(7)
    rows = [(120, 1), (40, 200), (9, 30_000), (700, 1)]
    parts = [TiltedPart(random.dirichlet(np.ones(n)), np.arange(n) - n // 3, times) for n, times in rows]
    found = relevant(parts, length)
    assert found is not None
    whole = np.ones(length // 2 + 1, dtype=np.complex128)
    for part in parts:
        circle = np.bincount(part.places % length, part.masses, length)
        whole *= np.fft.rfft(circle) ** part.times
    assert (np.abs(found.values - whole[found.numbers]) <= found.errors + 3.1e-11).all()
    others = np.delete(np.abs(whole), found.numbers)
    assert others.sum() <= found.faint[:, 1].sum() + 3.1e-11 and (found.errors < 1e-8).all()


# -- the trade-off of an attacker ----------------------------------------------------------------------------

RATES = np.array([0.0, 1e-9, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0])


def test_the_tradeoff_of_composed_gaussians_is_that_of_one() -> None:
    beta = composed((hush.Gaussian(5.0), 1.0, 100)).tradeoff(RATES)
    exact = OneNumber(hush.Gaussian(5.0), 10.0).tradeoff(RATES)
    assert (beta <= exact * (1 + 1e-11)).all() and (beta >= exact - 2e-6).all()


@pytest.mark.parametrize(
    "releases", [[(hush.Laplace(5.0), 1.0, 30)], [hush.subsample(hush.Laplace(1.0), 0.05, times=40)]]
)
def test_the_tradeoff_is_the_best_of_all_lines(releases: list[object]) -> None:
    """Against lines at many epsilons; each of them is a lower bound."""
    curve = hush.compose(releases)
    beta, epsilon = curve.tradeoff(RATES), np.linspace(0.0, 6.0, 25)
    delta = curve.delta(epsilon)
    for rate, found in zip(RATES.tolist(), beta.tolist(), strict=True):
        lines = np.maximum(1.0 - delta - np.exp(epsilon) * rate, np.exp(-epsilon) * (1.0 - delta - rate))
        assert found >= max(float(lines.max()), 0.0) - 1e-8
    assert (np.diff(beta) <= 0.0).all()


@pytest.mark.parametrize("apart", [3, 4, 5, 6, 8, 9])
@pytest.mark.parametrize("times", [200, 10_000])
@pytest.mark.parametrize("third", [0.0, 0.02])
def test_the_frequencies_that_are_left_out_are_small_up_to_the_last(apart: int, times: int, third: float) -> None:
    """A bound at one angle holds for all larger ones only while all sines grow: half the last angle times the distance
    of two losses is at most pi/2. Two losses a whole turn apart at the last frequency have a transform of 1 there, so
    such losses may not count.
    """
    length, count = 4096, 512  # the last angle is pi/4: losses 8 apart are a whole turn apart
    part = TiltedPart(np.array([0.5 - third, 2.0 * third, 0.5 - third]), np.array([-apart, 0, apart]), times)
    first = _fewer(part, count, length)
    angles = 2.0 * math.pi / length * np.arange(first, count + 1)
    sizes = np.abs(np.exp(1j * np.outer(angles, part.places)) @ part.masses) ** times
    assert first <= count
    if first < count:  # frequencies were left out
        assert float(sizes.max()) <= 1.001 * FAINT**1.1, (
            f"{first} of {count} frequencies are kept, and one left out is large"
        )


def test_frequencies_are_left_out_where_losses_are_close() -> None:
    """The other side: a part that occurs often keeps a few frequencies of many."""
    close = TiltedPart(np.array([0.5, 0.5]), np.array([-1, 1]), 10_000)
    assert _fewer(close, 512, 4096) < 100
