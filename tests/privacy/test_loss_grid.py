"""The grid of a composition: it ends where delta is negligible, wherever the search for its end begins."""

from __future__ import annotations

import numpy as np
import pytest

import hush
from hush.privacy import loss_grid
from hush.privacy.curve import OneNumber
from hush.privacy.loss_grid import sampled

NOISES = [hush.Gaussian(3.0), hush.Asinh(0.02, 0.5), hush.ExponentialPower(1.2, 5.0), hush.OSGT(2.0, 9.0)]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize("step", [0.01, 0.05])
def test_the_grid_does_not_depend_on_grids_before_it(noise, step, monkeypatch):
    pair = OneNumber(noise, 1.0)
    monkeypatch.setattr(loss_grid, "_ENDS", {})
    grid, curve = sampled.__wrapped__(pair, False, step)
    (similar,) = loss_grid._ENDS
    assert grid.size < loss_grid._ENDS[similar] < 1.1 * grid.size + 10
    for end in (1, grid.size - 2, grid.size - 1, grid.size, 3 * grid.size):
        loss_grid._ENDS[similar] = end
        again, same = sampled.__wrapped__(pair, False, step)
        assert np.array_equal(again, grid)
        # numpy computes the last numbers of an array by another instruction on some machines: the last bit differs
        np.testing.assert_allclose(same.upper, curve.upper, rtol=1e-13)
        np.testing.assert_allclose(same.lower, curve.lower, rtol=1e-13)
        assert loss_grid._ENDS[similar] == grid.size + grid.size // 16 + 8
    assert curve.upper[-1] <= 1e-55 < curve.upper[-2]


def test_few_grids_are_remembered(monkeypatch):
    monkeypatch.setattr(loss_grid, "_ENDS", {})
    for place in range(1000):
        loss_grid._remember((int, int, place, 1e-55), 10)
        loss_grid._remember((int, float, place, 1e-55), 1 << 20)  # long grids are not
    assert 0 < len(loss_grid._ENDS) <= 100 and set(loss_grid._ENDS.values()) == {10}
