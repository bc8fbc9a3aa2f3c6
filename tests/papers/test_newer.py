"""The newer papers: numbers pinned, and the lower bound on delta compared with a simulation."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hush_papers.newer.rank_one import least_delta, printed_loss

import hush
from papers import pins

EXPECTED = Path(__file__).with_name("expected_newer.csv")


@pytest.fixture(scope="module")
def items(built):
    return built.items["newer"]


def test_every_number_is_the_pinned_one(items):
    """Searches stop at about 1e-6 of the variance, linear programmes at 1e-4."""
    pins.assert_pinned(items, EXPECTED, lambda what: (1e-3 if "any noise" in what or "hush" in what else 1e-5, 0.0))


def test_the_published_calibration_is_not_private(items):
    found = {c.what.split(",")[0]: c.ours for c in items["newer-rank-one"].comparisons}
    assert found["M = 20"] > 0.4 and found["M = 100"] > 0.96 and found["M = 1000"] > 0.9999


@pytest.mark.parametrize("m", [20, 100])
def test_the_half_space_by_simulation(m):
    """P(x_1 < a) - e P(x_1 < a - 1) at a near the best end, from 200,000 draws of the noise. Its standard error is
    below 0.004, and the bound is the best over 600 ends; so 0.02 is more than five standard errors.
    """
    variance, random = printed_loss(1.0, 1e-6, m), np.random.default_rng(7)
    direction = random.normal(size=(200_000, m))
    first = direction[:, 0] / np.linalg.norm(direction, axis=1) * random.normal(scale=math.sqrt(variance), size=200_000)
    simulated = max(float(np.mean(first < a) - math.e * np.mean(first < a - 1.0)) for a in np.linspace(0.1, 1.0, 19))
    assert least_delta(1.0, variance, m) == pytest.approx(simulated, abs=0.02)


def test_a_large_variance_is_not_accused():
    """The same test of noise that is known to be private finds no violation: a Gaussian radius of 100."""
    assert least_delta(1.0, 100.0**2 * 3, 3) == 0.0


def test_no_transcribed_improvement_is_a_verdict(items):
    item = items["newer-mixtures"]
    assert not item.comparisons and "no verdict" in item.text
    for row in item.grids[0].rows:
        assert row[3] <= row[4] + 1e-9  # what hush reaches is at most what is possible
        gaussian = hush.gaussian.sigma(row[0], row[1]) * math.sqrt(2.0 / math.pi)
        assert row[4] == pytest.approx(100.0 * (1.0 - hush.limit(row[0], row[1], loss="mae").lower / gaussian))
