"""Intervals found by resampling: their ends are where they should be, and they do not wait for exact draws on a fine lattice."""

from __future__ import annotations

import math

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("ibis")

from hush import tables  # noqa: E402
from hush.sampling.exact import draw  # noqa: E402
from hush.tables import mean, uncertainty  # noqa: E402
from hush.tables.uncertainty import interval  # noqa: E402


@pytest.fixture(scope="module")
def plan():
    """A mean whose sum has noise of 3e10 grid steps: a public limit of 1000 rows makes the grid as fine as it gets."""
    table = tables.table(pa.table({"who": [1, 2], "x": [0.25, 0.75]}), unit="who", max_rows=1000)
    return table.aggregate(x=mean("x", low=0, high=1)).plan(0.1, 1e-6, family="gaussian")


def test_few_copies_put_the_ends_where_many_do(plan):
    """20,000 equal groups get 200 copies of the noise each; the average end must be that of the normal law, not short of it.

    The count is so large that the mean is linear in the noise. An end is the 2.5 % quantile of 200 draws, with a standard deviation of
    about 0.19 sigma; the average of 20,000 misses by 4.9 * 0.19/sqrt(20,000) = 0.0066 sigma once in a million. numpy's
    usual quantile, the 5.975th smallest, leaves out 3 % on average and would give 1.9152.
    """
    (measure,) = plan.query.measures
    groups, rows = 20_000, 1e7
    low, high = interval(measure, {"x.sum": np.zeros(groups), "x.count": np.full(groups, rows)}, plan.spent.mechanisms, 0.95)
    made = plan.spent.mechanisms["x.sum"]
    sigma = math.sqrt(made.noise.variance) / rows * (0.5 / made.sensitivity.linf)  # linf is half the range, in grid steps
    expected = 1.9957  # of the 5.025th smallest of 200, by quadrature of its beta law: it leaves out 2.5 % on average, not 2.5 % exactly
    for end in (low - 0.5, 0.5 - high):
        assert abs(np.mean(-end) / sigma - expected) < 0.012


def test_a_fine_grid_does_not_slow_intervals(plan, monkeypatch):
    """Draws for intervals are on steps of a hundredth of the noise: on the lattice of the release balls would decide a sixth of them."""
    (measure,) = plan.query.measures
    asked = []

    def watched(noise, size, step):
        asked.append((noise.isf(0.25) / step, size))
        return draw(noise, size, step)

    monkeypatch.setattr(uncertainty, "draw", watched)
    low, high = interval(measure, {"x.sum": np.zeros(500), "x.count": np.full(500, 1e4)}, plan.spent.mechanisms, 0.95)
    assert (low < high).all() and len(asked) == 2
    made = plan.spent.mechanisms["x.sum"]
    assert made.noise.isf(0.25) / made.step > 1e9 and all(16.0 < steps < 128.0 and size[1] == 500 for steps, size in asked)


def test_one_group_is_singular(plan):
    """The head of a plan, and the bounds of an answer, in whole sentences."""
    assert "for each who, at most 1 group\n" in repr(plan)
    assert "at most 1 group of one who;" in repr(plan.answer(ledger=None))
