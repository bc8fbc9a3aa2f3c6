"""The largest of a list by Gumbel noise: the worst curve, against all outcomes of small lists and known bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from printed import assert_shown, rows

import hush
from hush.noise.selection import Selection
from hush.privacy.by_selection import Choices, least_selection

EPSILONS = np.array([0.0, 0.3, 0.8, 1.4, 2.1])


def law(numbers: list[int], k: int, rate: float) -> np.ndarray:
    """The probability of every ordered list of k places."""
    found = []
    for places in itertools.permutations(range(len(numbers)), k):
        left, chance = list(range(len(numbers))), 1.0
        for place in places:
            chance *= math.exp(rate * numbers[place]) / math.fsum(math.exp(rate * numbers[i]) for i in left)
            left.remove(place)
        found.append(chance)
    return np.array(found)


def divergence(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())


@pytest.mark.parametrize(("k", "rate"), [(1, 0.5), (1, 1.5), (2, 0.5), (2, 1.5), (3, 1.0)])
def test_every_pair_of_small_lists_is_within_the_curve(k: int, rate: float) -> None:
    """All lists of four numbers up to 3 and all moves of one person, in both directions. The worst is close."""
    claimed, closest = Choices(Fraction(rate), k)._forward(EPSILONS).upper, 0.0
    for numbers in itertools.combinations_with_replacement(range(4), 4):
        before = law(list(numbers), k, rate)
        for moves in itertools.product((0, 1), repeat=4):
            after = law([n + move for n, move in zip(numbers, moves, strict=True)], k, rate)
            for epsilon, bound in zip(EPSILONS, claimed, strict=True):
                found = max(divergence(before, after, epsilon), divergence(after, before, epsilon))
                assert found <= bound
                closest = max(closest, found / bound if bound else 0.0)
    assert closest > {1: 0.99, 2: 0.9, 3: 0.8}[k]


def test_one_choice_has_the_closed_form() -> None:
    for length in (0.01, 0.5, 3.0):
        epsilon = np.linspace(0.0, 0.95 * length, 40)
        exact = (-np.expm1((epsilon - length) / 2.0)) ** 2 / -math.expm1(-length)
        found = Choices(Fraction(length))._forward(epsilon).upper
        assert (found >= exact).all() and found == pytest.approx(exact, rel=1e-10)


def test_many_choices_are_between_a_fixed_offset_and_the_concentrated_bound() -> None:
    """Below: the composition of k equal randomised responses with losses of +-r/2. Above: conversion of k r^2/8."""
    k, length, delta = 20, 0.1, 1e-6
    p, epsilon = 1.0 / (1.0 + math.exp(-length / 2.0)), 1.0
    chances = [math.comb(k, i) * p**i * (1.0 - p) ** (k - i) for i in range(k + 1)]
    losses = [length * (i - k / 2.0) for i in range(k + 1)]
    least = sum(c * max(1.0 - math.exp(epsilon - loss), 0.0) for c, loss in zip(chances, losses, strict=True))
    found = float(Choices(Fraction(length), k).delta(epsilon))
    assert least <= found
    rho = k * length**2 / 8.0
    assert Choices(Fraction(length), k).epsilon(delta) <= rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta))


def test_pure_divergence_and_both_directions() -> None:
    counts = hush.Sensitivity(linf=1.0, dimension=4, one_sided=True)
    both = hush.Sensitivity(linf=1.0, dimension=4)
    noise = Selection(4.0)
    assert hush.epsilon(noise, 0.0, counts, times=3) == 0.75
    assert hush.epsilon(noise, 0.0, both, times=3) == 1.5
    assert hush.renyi(noise, 2.0, counts) == pytest.approx(2.0 * 0.25**2 / 8.0, rel=1e-12)
    assert hush.renyi(noise, 1e9, counts) <= 0.25 * (1.0 + 1e-12)


def test_the_least_scale_meets_the_budget_and_hardly_less_does() -> None:
    for k, epsilon, delta in ((1, 1.0, 1e-6), (10, 1.0, 1e-6), (5, 0.3, 1e-5)):
        noise, bound = least_selection(k, epsilon, delta), hush.Sensitivity(linf=1.0, dimension=50, one_sided=True)
        assert hush.delta(noise, epsilon, bound, times=k) <= delta
        assert hush.delta(noise.scaled(0.995), epsilon, bound, times=k) > delta
    assert least_selection(7, 0.7, 0.0).scale == pytest.approx(10.0)


def test_the_page_shows_the_scales() -> None:
    for k, scale, deviation, pure in rows("maths/top.md", "| k | scale s"):
        noise = least_selection(int(k), 1.0, 1e-6)
        assert_shown(noise.scale, scale)
        assert_shown(math.sqrt(noise.variance), deviation)
        assert_shown(least_selection(int(k), 1.0, 0.0).scale, pure)


@pytest.mark.parametrize(
    ("k", "epsilon", "largest"),
    [(1, 1.0, 1.001591155), (2, 1.0, 0.508143429), (4, 1.0, 0.27551), (7, 1.0, 0.18691), (4, 0.1, 0.029684)],
)
def test_choices_in_both_directions_have_nearly_the_largest_range(k: int, epsilon: float, largest: float) -> None:
    """Against the largest range for (epsilon, 1e-6) that refined grids give; never above it."""
    found = 2.0 / least_selection(k, epsilon, 1e-6, one_sided=False).scale
    assert 0.998 * largest <= found <= largest * (1.0 + 1e-9)


def test_the_page_of_quantiles_shows_the_ranges() -> None:
    for k, eta in rows("maths/quantiles.md", "| choices | eta"):
        assert_shown(2.0 / least_selection(int(k), 1.0, 1e-6, one_sided=False).scale, eta)
