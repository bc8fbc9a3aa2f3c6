"""The float thresholds of a draw: their error bound holds where it is hardest, next to ends and jumps of a density."""

from __future__ import annotations

import numpy as np
import pytest

from hush import Staircase, Stepped, TruncatedLaplace
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.exact import sampler
from hush.sampling.tail_ball import precision
from hush.sampling.threshold import MARGIN, Tails

COARSE = 1e20  # an artificial error bound: ball arithmetic decides every draw
BOUNDED = [
    (TruncatedLaplace(1.0, 1.0), 1e-13),
    (TruncatedLaplace(1.0, 1.0), 1e-9),
    (TruncatedLaplace(10.0, 60.0), 1e-12),
    (TruncatedLaplace(1.0, 1e-8), 1e-18),
    (Stepped(5.0, (1.0, 0.0, 2.0)), 1e-14),
    (Stepped(5.0, (1.0, 0.0, 2.0)), 1e-9),
]


@pytest.mark.parametrize(("noise", "step"), BOUNDED, ids=str)
def test_draws_next_to_the_end_of_a_bounded_law(noise, step):
    """Close to the end, a rounding of x can change the whole tail: balls must confirm what floats decide."""
    words = (np.random.default_rng(3).random(300) * 2.0**44).astype(np.uint64)[:, None]  # V below 2^-20
    draws, answers = np.arange(300), []
    for margin in (MARGIN, COARSE):
        answers.append(sampler(noise, step, margin).settle(draws, words, DeterministicTestEntropy(2).begin()))
    assert np.array_equal(*answers)


@pytest.mark.parametrize(
    "noise",
    [
        TruncatedLaplace(1.0, 1.0),
        TruncatedLaplace(1.0, 5.0),
        Stepped(5.0, (1.0, 0.0, 2.0)),
        Stepped(1.0, tuple(np.linspace(3.0, 0.01, 300))),
        Staircase(30.0),
        Staircase(30.0, 1.0, 1e-9),
    ],
    ids=str,
)
def test_the_bound_holds_around_ends_and_jumps(noise):
    """The bound is a thousand times the error at the lattice points closest to an end or a jump."""
    step = 2.0**-40
    law = Tails(noise, step)
    places = [noise.support] if np.isfinite(noise.support) else [noise.fraction * noise.sensitivity, noise.sensitivity]
    k = np.concatenate([np.floor(place / step) + np.arange(-40.0, 3.0) ** 3 for place in places])
    k = np.unique(k[k >= 0.0])
    with precision(256):
        for point, value, unit in zip(k, law.at(k), law.spread(k, law.at(k)), strict=True):
            assert abs(float(law.ball(int(point)) - float(value))) * 1000.0 <= law.slack * unit + 1e-300
