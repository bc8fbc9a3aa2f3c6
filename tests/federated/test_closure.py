"""Shares add up to the calibrated noise: by counting, and by characteristic functions.

Every statistic rejects right shares with probability at most 1e-6; the bits are fixed, so that a pass stays a pass.
Each is also shown to reject noise of 2/3 and of 3/2 of the scale.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import chi2

import hush
from hush.federated import share
from hush.noise.contract import Noise
from hush.noise.gamma_difference import GammaDifference
from hush.noise.polya_difference import PolyaDifference
from hush.sampling.entropy import DeterministicTestEntropy

FALSE_ALARM = 1e-6
SUMS = 4000
CELLS = 24
ALPHAS = (1.0, 1.25, 1.5, 1.75, 2.0)
PARTIES = (2, 10, 1000)
CONTINUOUS = [*(hush.Stable(alpha, 10.0) for alpha in ALPHAS), hush.Gaussian(10.0), hush.Laplace(10.0)]
LATTICE = [hush.Skellam(12.0), hush.Discrete(hush.Laplace(9.0)), hush.Discrete(hush.Laplace(3.0), 0.5)]


def p_value(sums: np.ndarray, law: Noise, step: float) -> float:
    """Chi-square over cells of like probability; ends between lattice points, so that it serves lattice laws too."""
    edges = np.unique(np.floor(np.asarray(law.ppf(np.arange(1, CELLS) / CELLS)) / step)) + 0.5
    beyond = np.concatenate([[1.0], np.asarray(law.sf(edges * step)), [0.0]])
    expected = -np.diff(beyond) * sums.size
    counts = np.histogram(sums, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
    full = expected >= 20.0
    assert expected[full].sum() > 0.9 * sums.size
    statistic = float(np.sum((counts[full] - expected[full]) ** 2 / expected[full]))
    return float(chi2.sf(statistic, full.sum() - 1))


def sums_of(law: hush.Noise, parties: int, step: float | None) -> np.ndarray:
    made = share(law, parties)
    return made.draw((SUMS, parties), step, entropy=DeterministicTestEntropy(parties)).sum(axis=1)


@pytest.mark.parametrize("parties", PARTIES)
@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
def test_sums_of_drawn_shares_have_the_target_law(law, parties):
    """On a lattice of 2^-22 of the target's scale, where rounding a thousand shares is invisible."""
    step = 10.0 * 2.0**-22 if not isinstance(law, hush.Laplace) else 10.0 * 2.0**-14
    sums = sums_of(law, parties, step)
    assert p_value(sums, law, step) > FALSE_ALARM
    assert p_value(sums, law.scaled(2.0 / 3.0), step) < FALSE_ALARM
    assert p_value(sums, law.scaled(3.0 / 2.0), step) < FALSE_ALARM


@pytest.mark.parametrize("parties", PARTIES)
@pytest.mark.parametrize("law", LATTICE, ids=str)
def test_sums_of_lattice_shares_have_the_target_law(law, parties):
    """Whole numbers all the way: nothing is rounded."""
    sums = sums_of(law, parties, None)
    assert p_value(sums, law, law.step) > FALSE_ALARM
    for factor in (2.0 / 3.0, 3.0 / 2.0):
        other = (
            hush.Skellam(law.sigma * factor)
            if isinstance(law, hush.Skellam)
            else hush.Discrete(law.noise.scaled(factor), law.step)
        )
        assert p_value(sums, other, law.step) < FALSE_ALARM


# -- characteristic functions --------------------------------------------------------------------------------


def transform(law: Noise, t: np.ndarray) -> np.ndarray:
    """E cos(tX), from the family's definition; of a lattice law by summing its probabilities."""
    match law:
        case hush.Gaussian(sigma):
            return np.exp(-0.5 * (sigma * t) ** 2)
        case hush.Stable(alpha, gamma):
            return np.exp(-((gamma * t) ** alpha))
        case hush.Laplace(scale):
            return 1.0 / (1.0 + (scale * t) ** 2)
        case GammaDifference(shape, scale):
            return (1.0 + (scale * t) ** 2) ** -shape
    k = np.arange(1, law.points)
    return law.masses[0] + 2.0 * np.cos(np.outer(t * law.step, k)) @ law.masses[1:]


@pytest.mark.parametrize("parties", PARTIES)
@pytest.mark.parametrize("law", [*CONTINUOUS, *LATTICE], ids=str)
def test_characteristic_functions(law, parties):
    """phi_share^n = phi_target to 1e-12, and shares of sums of shares agree."""
    made = share(law, parties)
    t = np.linspace(0.0, 0.3, 61)
    np.testing.assert_allclose(transform(made.noise, t) ** parties, transform(law, t), rtol=0.0, atol=1e-12)
    half = made.sum_of(max(parties // 2, 1))
    np.testing.assert_allclose(
        transform(half, t) ** (parties / max(parties // 2, 1)), transform(law, t), rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize(("shape", "scale"), [(0.3, 2.0), (0.7, 1.0), (2.5, 0.5)])
def test_density_of_a_laplace_share_has_its_transform(shape, scale):
    """The integral of cos(tx) f(x), substituting x = e^w, against (1 + (scale t)^2)^-shape."""
    law = GammaDifference(shape, scale)
    w = np.linspace(-130.0, math.log(60.0 * scale), 60_001)
    x = np.exp(w)
    for t in (0.0, 0.2, 1.0, 3.0):
        integral = 2.0 * trapezoid(np.cos(t * x) * law.pdf(x) * x, w)
        assert integral == pytest.approx((1.0 + (scale * t) ** 2) ** -shape, abs=1e-7)


@pytest.mark.parametrize("shape", [0.01, 0.4, 0.9, 1.6])
def test_polya_differences_are_differences_of_counts(shape):
    """The convolution of two negative binomial laws, written out."""
    law, q = PolyaDifference(shape, 3.0), math.exp(-1.0 / 3.0)
    counts = np.empty(400)
    counts[0] = (1.0 - q) ** shape
    for k in range(1, 400):
        counts[k] = counts[k - 1] * q * (shape + k - 1.0) / k
    for k in (0, 1, 2, 10, 60):
        assert law.pdf(float(k)) == pytest.approx(float(np.dot(counts[k:], counts[: 400 - k])), rel=1e-12)
