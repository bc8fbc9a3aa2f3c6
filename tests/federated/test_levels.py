"""Intervals hold at every level, not only at 95 %: against exact laws, by convolution, for the worst values of the
people.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.special import ndtri
from scipy.stats import binom, binomtest

from hush import Gaussian, Laplace, Stable, Staircase
from hush.federated import estimate
from hush.federated.category_count import _count_ends
from hush.federated.estimate import half_width
from hush.federated.unbiased import bounded

LEVELS = (0.5, 0.9, 0.99, 0.999, 0.9999)
#: The reference's own error, as a share of the misses.
ROUGH = 1.005


def law_of_one(noise, x: float, low: float, width: float, cells: int) -> np.ndarray:
    """The law of g(x + noise) on a grid, each number split between its two neighbours."""
    edges = np.sinh(np.linspace(-1.0, 1.0, 100_001) * math.asinh(float(np.asarray(noise.isf(1e-9)))))
    mass = np.diff(np.asarray(noise.cdf(edges)))
    place = (bounded(noise)(x + 0.5 * (edges[1:] + edges[:-1])) - low) / width
    lower = np.floor(place).astype(np.int64)
    part = place - lower
    law = np.bincount(lower, mass * (1.0 - part), minlength=cells) + np.bincount(
        lower + 1, mass * part, minlength=cells
    )
    return law / law.sum()


def misses_of_a_mean(noise, people: list[tuple[float, int]], width_of) -> list[float]:
    """For each level the chance that the mean of g is further off than its half width, as a share of 1 - level."""
    count, most = sum(k for _, k in people), bounded(noise).most + 0.6
    cells = 2000
    width = 2.0 * most / cells
    size = 1 << math.ceil(math.log2((cells + 2) * count))
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for x, k in people:
        spectrum *= np.fft.rfft(law_of_one(noise, x, -most, width, cells + 2), size) ** k
    law = np.maximum(np.fft.irfft(spectrum, size), 0.0)
    error = np.abs(np.arange(size) * width / count - most - sum(x * k for x, k in people) / count)
    return [float(law[error > width_of(level)].sum()) / (1.0 - level) for level in LEVELS]


@pytest.mark.parametrize("count", [50, 400])
@pytest.mark.parametrize(
    "noise", [Laplace(0.05), Laplace(0.2), Laplace(1.0), Laplace(10.0), Stable(1.5, 1.0), Stable(1.1, 0.1)]
)
def test_means_of_bounded_numbers(noise, count):
    for people in ([(0.0, count)], [(0.5, count)], [(1.0, count)], [(0.0, count // 2), (1.0, count - count // 2)]):
        found = misses_of_a_mean(noise, people, lambda level: half_width(noise, count, level=level, method="bounded"))
        assert max(found) <= ROUGH
    rough = 1.5 if count == 50 else 1.15
    normal = -ndtri(0.005) * math.sqrt(bounded(noise).variance / count)
    assert half_width(noise, count, level=0.99, method="bounded") < rough * normal + 0.01  # and is not simply wide


def test_the_normal_law_alone_does_not_hold():
    """What was here before: twice as many misses as allowed at 99.99 %."""
    noise = Stable(1.1, 0.1)

    def before(level):
        return -ndtri(0.5 * (1.0 - level)) * math.sqrt(bounded(noise).variance / 50)

    assert max(misses_of_a_mean(noise, [(0.0, 50)], before) + misses_of_a_mean(noise, [(0.5, 50)], before)) > 2.0


@pytest.mark.parametrize("count", [1, 2, 5, 50, 1000])
@pytest.mark.parametrize("noise", [Laplace(1.0), Staircase(3.0, 1.0), Staircase(8.0, 1.0)])
def test_averages(noise, count):
    deviation = math.sqrt(noise.variance)
    step = deviation / 64.0
    half = 1 << math.ceil(
        math.log2((10.0 * math.sqrt(count) * deviation + float(np.asarray(noise.isf(1e-13)))) / step + 1.0)
    )
    mass = np.diff(np.asarray(noise.cdf((np.arange(-half, half + 1) - 0.5) * step)))
    law = np.fft.fftshift(np.fft.irfft(np.fft.rfft(np.fft.ifftshift(mass)) ** count, mass.size))
    error = np.abs(np.arange(-half, half)) * step / count
    for level in LEVELS:
        assert law[error > half_width(noise, count, level=level, method="average")].sum() <= ROUGH * (1.0 - level)


@pytest.mark.parametrize(
    ("n", "keep", "stray"), [(500, 0.5, 0.4), (12_500, 0.5, 0.018), (41_000, 0.98, 0.005), (20_000, 0.73, 0.27)]
)
def test_counts_of_categories(n, keep, stray):
    for count in (0, 7, n // 50, n - 3):
        law = np.maximum(
            fftconvolve(
                binom.pmf(np.arange(count + 1), count, keep), binom.pmf(np.arange(n - count + 1), n - count, stray)
            ),
            0.0,
        )
        tallies = np.flatnonzero(law > 1e-9)
        for level in LEVELS[1:] if n < 1000 else LEVELS[-2:]:
            low, high = _count_ends(tallies.astype(np.float64), n, keep, stray, level)
            missed = (low > count + 1e-9) | (high < count - 1e-9)
            assert law[tallies][missed].sum() <= 1.0 - level


@pytest.mark.parametrize(("noise", "way"), [(Laplace(0.2), "bounded"), (Gaussian(2.0), "average")])
def test_samples_of_a_population(noise, way):
    """Drawn, 8,000 times: misses may pass 1 - level by what a binomial law allows at a false-alarm rate of 1e-6."""
    numbers, count, runs = np.random.default_rng(4), 50, 8000
    x = (numbers.uniform(size=(runs, count)) < 0.3).astype(float)
    drawn = numbers.laplace(0.0, 0.2, x.shape) if way == "bounded" else numbers.normal(0.0, 2.0, x.shape)
    given = bounded(noise)(x + drawn) if way == "bounded" else x + drawn
    error = np.abs(given.mean(axis=1) - 0.3)
    for level in LEVELS:
        known = half_width(noise, count, level=level, method=way)
        wide = np.array([max(known, estimate._sampled(row, noise, way, level)) for row in given])
        assert binomtest(int((error > wide).sum()), runs, 1.0 - level, alternative="greater").pvalue > 1e-6
