"""The distribution of the draws, by counting.

Every statistic rejects a correct sampler with probability at most 1e-6. The bits are fixed, so the outcome is always
the same. Each test is also shown to reject noise of 2/3 and 3/2 of the scale.
"""

from __future__ import annotations

import numpy as np
import pytest
from hush_papers.osgt.rejection import osgt_by_rejection
from sampling.families import CONTINUOUS, LATTICE, name
from scipy.stats import binomtest, chi2

from hush import OSGT, Discrete, Gaussian, Laplace, Noise, Stable
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.exact import draw

FALSE_ALARM = 1e-6
SIZE = 200_000


def upper_tail(noise: Noise, k: np.ndarray, step: float) -> np.ndarray:
    """P(K > k) on the lattice."""
    return noise.sf((k + 0.25) * step) if isinstance(noise, Discrete) else noise.sf((k + 0.5) * step)


def edges_of(noise: Noise, step: float, cells: int = 60) -> np.ndarray:
    """Return whole numbers that divide the line into about `cells` cells of similar probability."""
    levels = (np.arange(1, cells) + 0.5) / cells
    return np.unique(np.floor(np.asarray(noise.ppf(levels)) / step))


def chi_square(sample: np.ndarray, noise: Noise, step: float) -> float:
    """Return the p-value of the counts between the edges."""
    edges = edges_of(noise, step)
    beyond = np.concatenate([[1.0], upper_tail(noise, edges, step), [0.0]])
    expected = -np.diff(beyond) * sample.size
    counts = np.histogram(sample, np.concatenate([[-np.inf], edges + 0.5, [np.inf]]))[0]
    full = expected >= 20.0
    assert full.sum() > 3 or expected[full].sum() > 0.9 * sample.size
    statistic = float(np.sum((counts[full] - expected[full]) ** 2 / expected[full]))
    return float(chi2.sf(statistic, full.sum() - 1))


def tail_test(sample: np.ndarray, noise: Noise, step: float, beyond: float) -> float:
    """Return the p-value of the number of draws beyond the quantile of that probability, on both sides."""
    k = np.ceil(float(np.asarray(noise.isf(0.5 * beyond))) / step)
    p = 2.0 * float(upper_tail(noise, np.array(k), step))
    return float(binomtest(int(np.count_nonzero(np.abs(sample) > k)), sample.size, p).pvalue) if p > 0.0 else 1.0


STEPS = [(noise, step) for noise in CONTINUOUS for step in (25.0, 1.0, 0.03125, 1e-5)] + [
    (noise, noise.step) for noise in LATTICE
]


@pytest.mark.parametrize(("noise", "step"), STEPS, ids=[f"{name(n)}-{s:g}" for n, s in STEPS])
def test_the_law(noise, step):
    """Counts and tails agree with the law."""
    sample = draw(noise, SIZE, step, DeterministicTestEntropy(7))
    assert chi_square(sample, noise, step) > FALSE_ALARM
    for beyond in (1e-2, 1e-3, 1e-4):
        assert tail_test(sample, noise, step, beyond) > FALSE_ALARM


@pytest.mark.parametrize("noise", [*CONTINUOUS, *LATTICE], ids=name)
@pytest.mark.parametrize("factor", [2.0 / 3.0, 1.5])
def test_a_wrong_scale_is_seen(noise, factor):
    """The counts reject noise of another scale."""
    step = noise.step if isinstance(noise, Discrete) else 1.0
    wrong = Discrete(noise.noise.scaled(factor), step) if isinstance(noise, Discrete) else noise.scaled(factor)
    sample = draw(wrong, SIZE, step, DeterministicTestEntropy(3))
    assert chi_square(sample, noise, step) < FALSE_ALARM


@pytest.mark.parametrize(
    ("noise", "step"), [(Gaussian(10.0), 1.0), (Laplace(1e6), 1.0), (Stable(1.5, 1e6), 1.0)], ids=str
)
def test_signs_and_neighbours_are_independent(noise, step):
    """No correlation between a draw and the next, or between sign and magnitude (each z below 4.9: 1e-6 two-sided)."""
    sample = draw(noise, SIZE, step, DeterministicTestEntropy(11))
    sign, rank = np.sign(sample).astype(float), np.argsort(np.argsort(np.abs(sample))) / SIZE - 0.5
    for a, b in ((sign[1:], sign[:-1]), (rank[1:], rank[:-1]), (sign, rank)):
        assert abs(np.corrcoef(a, b)[0, 1]) * SIZE**0.5 < 4.9


@pytest.mark.parametrize("noise", [OSGT(3.0, 6.0), OSGT(0.0, 4.0), OSGT(8.0, 8.0)], ids=str)
def test_discrete_osgt_by_the_papers_own_route(noise):
    """Rejecting discrete Gaussian draws in [-m, m - 1] gives the law that the table gives."""
    sample = osgt_by_rejection(noise, SIZE, entropy=DeterministicTestEntropy(5))
    assert sample.size == SIZE
    assert chi_square(sample, Discrete(noise), 1.0) > FALSE_ALARM
    assert chi_square(sample, Discrete(noise.scaled(1.5)), 1.0) < FALSE_ALARM
