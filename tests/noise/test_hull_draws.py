"""Hull noise: its draws against the enumerated law, and the parts that they are made of."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from noise.hull_definition import SMALL, enumerated, exponent
from scipy.stats import chi2

import hush
from hush.noise import hull_points
from hush.noise.hull import Hull
from hush.noise.hull_points import ordered, placed, positive_points
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy
from hush.sampling.joint import Numbers, level_draws


def chi_squared(sample: Any, noise: Hull, reach: int, around: int) -> tuple[float, int]:
    """Against the enumerated law, over the points within `around` of the centre and the rest as one cell."""
    points, masses = enumerated(noise, reach)
    near = np.abs(points).max(axis=1) <= around
    cells, wanted = map(tuple, points[near].tolist()), len(sample) * masses[near]
    found = Counter(map(tuple, sample.tolist()))
    seen = np.array([found[x] for x in cells])
    rest = len(sample) - wanted.sum()
    return float(((seen - wanted) ** 2 / wanted).sum() + (len(sample) - seen.sum() - rest) ** 2 / rest), wanted.size


@pytest.mark.parametrize(
    "name", ["3 of 3 numbers", "2 of 3", "1 of 3, one-sided", "2 of 3, an offset", "2 of 3, a large offset"]
)
def test_draws_have_the_joint_law(name: str) -> None:
    """Chi-squared at a false-alarm rate of 1e-6; scales of 2/3 and 3/2, another l0 and another sign are told apart."""
    noise, reach = SMALL[name]
    sample = level_draws(SecureEntropy().begin(), noise, 60_000)
    assert sample.shape == (60_000, noise.dimension) and sample.dtype == np.int64
    around = 3 if noise.offset > 2.0 else 2  # beyond the plateau, where the scale shows
    total, cells = chi_squared(sample, noise, reach, around)
    limit = chi2.isf(1e-6, cells)
    assert total < limit
    others = [Hull(3, noise.l0, noise.scale * factor, noise.offset, noise.one_sided) for factor in (2.0 / 3.0, 1.5)]
    others.append(Hull(3, noise.l0 % 3 + 1, noise.scale, noise.offset, noise.one_sided))
    if noise.l0 > 1:  # for l0 = 1 without an offset both densities are the same
        others.append(Hull(3, noise.l0, noise.scale, one_sided=not noise.one_sided))
    for other in others:
        assert chi_squared(sample, other, reach + 8, around)[0] > limit


@pytest.mark.parametrize("noise", [Hull(12, 6, 1.0), Hull(9, 3, 1.0), Hull(12, 6, 1.0, 3.0, one_sided=True)], ids=repr)
def test_joint_moments_of_draws(noise: Hull) -> None:
    """Variances and covariances within six standard errors: the fourth moment is below 6.25 squared variances."""
    sample = level_draws(SecureEntropy().begin(), noise, 40_000).astype(float)
    error = 6.0 * 2.5 * noise.variance / math.sqrt(len(sample))
    assert np.abs(np.cov(sample.T, ddof=0) - noise.covariance).max() < error
    assert np.abs(sample.mean(axis=0)).max() < 6.0 * math.sqrt(noise.variance / len(sample))
    # a level this far out has a probability below 1e-15 in all draws together
    assert exponent(noise, sample.astype(np.int64)).max() < 8.0 * noise.dimension


@pytest.mark.parametrize(
    "noise", [Hull(3, 2, 2.0), Hull(8, 3, 1.0, step=0.25), Hull(7, 3, 2.0, 2.0, one_sided=True)], ids=repr
)
def test_balls_decide_the_same_draws(noise: Hull) -> None:
    """Every level through ball arithmetic: the same numbers, because refinement is a function of the draw."""
    fast = level_draws(DeterministicTestEntropy(7).begin(), noise, 200)
    slow = level_draws(DeterministicTestEntropy(7).begin(), noise, 200, margin=1e14)
    assert (fast == slow).all()


def test_levels_that_whole_numbers_cannot_serve_are_refused() -> None:
    noise, numbers = Hull(3, 2, 1.0), Numbers(SecureEntropy().begin())
    assert noise.points(np.array([0, 5]), numbers).shape == (2, 3)
    assert noise.points(np.empty(0, dtype=np.int64), numbers).shape == (0, 3)
    with pytest.raises(hush.Unsupported, match=r"2\^31 steps"):
        noise.points(np.array([1 << 30]), numbers)


def test_the_check_of_a_noise_passes() -> None:
    for noise in (Hull(6, 2, 1.5), Hull(6, 3, 1.5, 1.5, one_sided=True, step=0.5)):
        found = hush.check(noise)
        assert found.passed, str(found)
    assert hush.check(Hull(4, 2, 1.5, 1.0, one_sided=True, step=1.0).marginal).passed


# -- the parts of a draw -------------------------------------------------------------------------------------


def uniform_statistic(found: Counter[Any], cells: list[Any], draws: int) -> float:
    assert set(found) <= set(cells)
    return sum((found[x] - draws / len(cells)) ** 2 for x in cells) * len(cells) / draws


@pytest.mark.parametrize(("j", "level", "l0"), [(3, 3, 2), (4, 2, 3), (3, 4, 1), (2, 5, 1), (3, 2, 3)])
@pytest.mark.parametrize("box", [True, False])
def test_points_of_the_hull_are_uniform(
    j: int, level: int, l0: int, box: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chi-squared at a false-alarm rate of 1e-6, for both ways to propose points."""
    monkeypatch.setattr(hull_points, "_box_is_smaller", lambda levels, j, l0: np.full(levels.shape, box))
    numbers, draws = Numbers(SecureEntropy().begin()), 30_000
    inside = [z for z in itertools.product(range(1, level + 1), repeat=j) if sum(z) <= l0 * level]
    made = positive_points(numbers, np.full(draws, level), np.full(draws, j), l0)
    assert uniform_statistic(Counter(map(tuple, made.tolist())), inside, draws) < chi2.isf(1e-6, len(inside))


def test_rows_of_different_levels_and_sizes_stay_apart() -> None:
    numbers = Numbers(SecureEntropy().begin())
    level, count = np.array([0, 4, 9, 30, 1000]), np.array([0, 2, 8, 25, 3])
    for _ in range(20):
        made = positive_points(numbers, level, count, 6)
        assert made.shape == (5, 25)
        assert ((made > 0).sum(axis=1) == count).all()
        assert (made.max(axis=1) <= level).all() and (made.sum(axis=1) <= 6 * level).all()


@pytest.mark.parametrize(("most", "before", "after"), [(6, 0, 0), (6, 2, 1), (7, 0, 3), (5, 2, 2)])
def test_a_split_has_binomial_weights(most: int, before: int, after: int) -> None:
    """Chi-squared at 1e-6 against C(k - 1, before) C(most - k, after)."""
    draws = 30_000
    numbers = Numbers(SecureEntropy().begin())
    made = ordered(numbers, np.full(draws, most), np.full(draws, before), np.full(draws, after))
    weights = [math.comb(k - 1, before) * math.comb(most - k, after) for k in range(1, most + 1)]
    assert sum(weights) == math.comb(most, before + after + 1)
    found, wanted = np.bincount(made, minlength=most + 1)[1:], np.array(weights) * draws / sum(weights)
    inside = wanted > 0
    assert found[~inside].sum() == 0
    assert ((found - wanted)[inside] ** 2 / wanted[inside]).sum() < chi2.isf(1e-6, int(inside.sum()))


def test_places_are_uniform() -> None:
    """Two positive numbers and a negative one at four places: twelve arrangements, chi-squared at 1e-6."""
    numbers, draws = Numbers(SecureEntropy().begin()), 24_000
    full, one = np.full((draws, 2), 5), np.full((draws, 1), 7)
    made = placed(numbers, full, np.full(draws, 2), one, np.full(draws, 1), 4)
    cells = sorted(set(itertools.permutations((5, 5, -7, 0))))
    assert len(cells) == 12
    assert uniform_statistic(Counter(map(tuple, made.tolist())), cells, draws) < chi2.isf(1e-6, 12)


def test_choices_follow_whole_weights() -> None:
    """Small weights, zeros and numbers of 300 bits; chi-squared at 1e-6, and equal weights are told apart."""
    numbers, draws = Numbers(SecureEntropy().begin()), 60_000
    for weights in ([1, 2, 0, 3], [0, 0, 7, 1, 0], [3**190, 3**191, 5**130], [4]):
        found = np.bincount(numbers.choose(weights, draws), minlength=len(weights))
        positive = [i for i, weight in enumerate(weights) if weight]
        assert found.sum() == found[positive].sum() == draws
        wanted = np.array([weights[i] / sum(weights) for i in positive]) * draws
        limit = chi2.isf(1e-6, len(positive))
        assert ((found[positive] - wanted) ** 2 / wanted).sum() < limit
        if len(positive) > 1:
            equal = draws / len(positive)
            assert ((found[positive] - equal) ** 2 / equal).sum() > limit


class Written:
    """Bits that are written down, to reach the cases that occur once in 2^64 draws."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
        taken, self._words = self._words[:count], self._words[count:]
        return np.array([taken], dtype=dtype)


def test_a_choice_that_64_bits_leave_open_takes_more_bits() -> None:
    """One third has the bits 0101...: the first 64 bits of V agree, and the next 64 decide."""
    third = (1 << 64) // 3  # 0x5555...
    for words, index in (
        ((third - 1,), 0),
        ((third + 1,), 1),
        ((third, third - 1), 0),
        ((third, third + 1), 1),
        ((third, third, third, 0), 0),
        ((third, third, third, (1 << 64) - 1), 1),
    ):
        assert Numbers(Written(*words)).choose([1, 2], 1).tolist() == [index]  # type: ignore[arg-type]
    for word, index in ((0, 0), ((1 << 63) - 1, 0), (1 << 63, 1), ((1 << 64) - 1, 1)):  # one half has 64 bits
        assert Numbers(Written(word)).choose([1, 1], 1).tolist() == [index]  # type: ignore[arg-type]
