"""Lifted noise: draws, moments, the laws of its numbers, its curve."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush.sampling.entropy import DeterministicTestEntropy, NamedBits
from hush.sampling.exact import draw, draw_from, law_of

NOISE = hush.Lifted(hush.Bump(6.0, 30.0), (7.0, 4.0), (0.5, 0.0), place=1, step=0.25)
BOUND = hush.Sensitivity(columns=(1.0, 1.0, 1.0), l0=6, one_sided=(True, True, False), people=1)


def test_the_curve_is_that_of_both_noises_composed() -> None:
    """Six groups: bump noise six times, and Gaussian noise for moves of 1/2 and 1."""
    others = hush.Sensitivity(l2=math.sqrt(6.0 * ((0.5 / 7.0) ** 2 + (1.0 / 4.0) ** 2)))
    wanted = hush.compose([(NOISE.noise, hush.Sensitivity(linf=1.0, l0=6)), (hush.Gaussian(1.0), others)])
    for epsilon in (0.5, 2.0):
        assert float(hush.curve(NOISE, BOUND).delta(epsilon)) == pytest.approx(float(wanted.delta(epsilon)), rel=1e-9)
    with pytest.raises(hush.Unsupported):  # the column with a share may move in both directions
        hush.curve(NOISE, hush.Sensitivity(columns=(1.0, 1.0, 1.0), l0=6, one_sided=(False, True, False), people=1))
    with pytest.raises(hush.Unsupported):  # the number of people may stay
        hush.curve(NOISE, hush.Sensitivity(columns=(1.0, 1.0, 1.0), l0=6, one_sided=(True, True, False)))


def test_one_group_by_enumeration() -> None:
    """People and one further number: the densities of all outcomes, for moves of 0, 1/2 and 1."""
    noise = hush.Lifted(hush.Bump(4.0, 8.0), (3.0,), (0.5,), step=0.25)
    bound = hush.Sensitivity(columns=(1.0, 1.0), l0=1, one_sided=True, people=0)
    t, x = np.meshgrid(np.arange(-12.0, 13.0), np.arange(-40.0, 40.0, 0.05), indexing="ij")
    for move in (0.0, 0.5, 1.0):
        p = 0.2 * np.exp(noise.log_density_of(np.stack([t, x], axis=-1)))  # 0.05 instead of the step 0.25
        q = 0.2 * np.exp(noise.log_density_of(np.stack([t - 1.0, x - move], axis=-1)))
        assert p.sum() == pytest.approx(1.0, abs=1e-6)
        for epsilon in (0.2, 1.0):
            claimed = float(hush.curve(noise, bound).delta(epsilon))
            for one, other in ((p, q), (q, p)):
                found = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
                assert found <= claimed * (1.0 + 1e-5)
            assert move == 0.5 or found > 0.99 * claimed  # both ends of the move are the worst


def test_draws_have_the_covariance_and_the_laws() -> None:
    """Each statistic deviates by 4.9 deviations or more once in a million runs; other scales are seen."""
    size = 40_000
    drawn = draw(NOISE, size, entropy=DeterministicTestEntropy(5)) * NOISE.step
    assert (drawn[:, 1] == np.round(drawn[:, 1])).all()
    wanted = NOISE.covariance
    found = drawn.T @ drawn / size
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2)):
        spread = math.sqrt((wanted[i, i] * wanted[j, j] + wanted[i, j] ** 2) / size)
        assert abs(found[i, j] - wanted[i, j]) < 4.9 * spread
        if i == j:
            assert all(abs(found[i, i] - f * f * wanted[i, i]) > 4.9 * spread for f in (2.0 / 3.0, 1.5))
    for column in range(3):
        law = NOISE.marginal_of(column)
        assert law.variance == pytest.approx(wanted[column, column])
        assert law.variance == pytest.approx(
            2.0 * float(law.masses @ (np.arange(law.points) * law.step) ** 2), rel=1e-9
        )
        at = float(law.isf(0.2))
        often, p = float((drawn[:, column] > at).mean()), float(law.sf(at))
        assert abs(often - p) < 4.9 * math.sqrt(p / size)


def test_named_draws_repeat_and_numbers_have_separate_bits() -> None:
    names = np.arange(4000, dtype=np.uint64).reshape(-1, 2)
    secret = bytes(range(64))
    first = draw_from(NamedBits(secret, names), NOISE, 2000, NOISE.step)
    again = draw_from(NamedBits(secret, names[::-1].copy()), NOISE, 2000, NOISE.step)
    assert (first == again[::-1]).all()
    own = first[:, 2] * NOISE.step, (first[:, 0] - 2 * first[:, 1] / 4) * NOISE.step
    assert abs(np.corrcoef(*own)[0, 1]) < 4.9 / math.sqrt(2000)


def test_tails_in_floats_and_balls_agree() -> None:
    for column in range(3):
        law = NOISE.marginal_of(column)
        assert law_of(law, law.step).slack < 1e-6  # validated with ball arithmetic when it is built


def test_a_weighted_sum_is_made_from_independent_noises() -> None:
    weights = np.array([1.0, -2.0, 3.0])
    terms = NOISE.terms_of(weights)
    square = sum(
        factor**2 * (law.variance + (step**2 / 12.0 if not law.discrete else 0.0)) for law, step, factor in terms
    )
    assert square == pytest.approx(float(weights @ NOISE.covariance @ weights))


def test_bad_parameters_are_refused() -> None:
    for call in (
        lambda: hush.Lifted(hush.Gaussian(3.0), (1.0,), (0.5,)),
        lambda: hush.Lifted(hush.Bump(4.0, 8.0), (1.0,), (0.3,)),
        lambda: hush.Lifted(hush.Bump(4.0, 8.0), (1.0,), (0.5,), step=1.0),
        lambda: hush.Lifted(hush.Bump(4.0, 8.0), (1.0,), (0.5,), place=2),
        lambda: hush.Bump(0.0, 8.0),
        lambda: hush.Bump(4.0, -8.0),
    ):
        with pytest.raises(hush.InvalidParameter):
            call()
