"""Lower ends of composed brackets: proved, and close to the upper ends, for lists of different noises too.

The reference is independent of hush's curves: the loss log p(x)/p(x - s) on a fine grid of x, rounded down or up to a
fine grid of losses, and convolved. Rounded down it gives less than the true delta, rounded up more, but for what the
grid of x leaves out.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from effort import thinned

from hush import Gaussian, Laplace, Stable, Staircase, TruncatedLaplace, compose

MIXED = {
    "stable and laplace": [(Stable(1.5, 1.0), 1.0, 5), (Laplace(3.0), 1.0, 2)],
    "many stable and laplace": [(Stable(1.5, 10.0), 1.0, 50), (Laplace(30.0), 1.0, 20)],
    "stable and gaussian": [(Stable(1.9, 2.0), 1.0, 3), (Gaussian(4.0), 1.0, 2)],
    "two stable": [(Stable(1.05, 2.0), 1.0, 4), (Stable(1.3, 3.0), 1.0, 2)],
    "stable and staircase": [(Stable(1.3, 3.0), 1.0, 2), (Staircase(0.7, 1.0), 1.0, 2)],
}
WIDTH = 1e-4  # of a cell of the losses


@cache
def losses(noise, cells: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Masses of cells of x, dense in the middle and out to where 1e-9 is left, and the loss at the middle of each."""
    far = float(np.asarray(noise.isf(1e-9)))
    edges = np.sinh(np.linspace(-1.0, 1.0, cells + 1) * math.asinh(far))
    middle = 0.5 * (edges[1:] + edges[:-1])
    return np.diff(np.asarray(noise.cdf(edges))), np.asarray(noise.logpdf(middle) - noise.logpdf(middle - 1.0))


def convolved(parts, epsilon: float, way) -> float:
    """delta at epsilon of the convolved losses, each rounded by `way` to whole cells."""
    reach = sum(times * int(np.abs(way(losses(noise)[1] / WIDTH)).max() + 1) for noise, _, times in parts)
    size = 1 << math.ceil(math.log2(2 * reach + 2))
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for noise, _, times in parts:
        mass, loss = losses(noise)
        law = np.bincount(way(loss / WIDTH).astype(np.int64) % size, weights=mass, minlength=size)
        spectrum *= np.fft.rfft(law) ** times
    law = np.fft.irfft(spectrum, size)
    place = np.arange(size)
    value = np.where(place < size // 2, place, place - size) * WIDTH
    return float((law * -np.expm1(np.minimum(epsilon - value, 0.0))).sum())


@pytest.mark.parametrize("name", thinned(MIXED, 2))
def test_lower_ends_are_within_a_hundredth_of_the_upper_ends(name):
    made = compose(MIXED[name])
    for delta in (1e-3, 1e-6):
        found = made.epsilon_bracket(delta)
        assert 0.99 * float(found.upper) <= float(found.lower) <= float(found.upper)


@pytest.mark.parametrize("name", ["stable and laplace", "stable and gaussian", "stable and staircase", "two stable"])
def test_lower_ends_are_below_the_convolved_losses(name):
    parts, made = MIXED[name], compose(MIXED[name])
    for delta in (1e-2, 1e-3):
        epsilon = float(made.epsilon(delta))
        low, high = (convolved(parts, epsilon, way) for way in (np.floor, np.ceil))
        left_out = 2e-9 * sum(times for _, _, times in parts) + 1e-9
        found = made.delta_bracket(epsilon)
        assert high - low < 0.01 * high  # the reference tells something
        assert float(found.lower) <= high + left_out
        assert float(found.upper) >= low - left_out
        assert float(found.lower) > 0.95 * low


def test_where_an_infinite_loss_is_likelier_than_delta_both_ends_are_infinite():
    cut = TruncatedLaplace(3.0, 20.0)
    for parts in ([(cut, 1.0, 4)], [(cut, 1.0, 4), (Laplace(3.0), 1.0, 2)], [(cut, 1.0, 1), (Gaussian(3.0), 1.0, 1)]):
        found = compose(parts).epsilon_bracket(1e-6)
        assert float(found.lower) == float(found.upper) == math.inf
        assert math.isfinite(float(compose(parts).epsilon(0.01)))


# -- how -----------------------------------------------------------------------------------------------------
