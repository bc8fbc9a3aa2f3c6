"""Dropouts: what a plan keeps and what no plan loses."""

from __future__ import annotations

import math

import pytest

import hush
from hush.errors import InvalidParameter
from hush.federated import dropout

NOISES = [(hush.Stable(1.5, 2.0), 0.0), (hush.Stable(1.0, 2.0), 0.0), (hush.Gaussian(5.0), 1e-6)]


@pytest.mark.parametrize(("noise", "delta"), NOISES)
def test_only_the_plan_keeps_its_promise(noise, delta):
    """True epsilons by closed forms: m of h shares have the scale (m/h)^(1/alpha)."""
    table = dropout(noise, 100, delta=delta)
    assert [(row.gone, row.answering, row.honest) for row in table.rows] == [
        *((g, 100 - round(100 * g), 100) for g in (0.0, 0.1, 0.3)),
        *((g, 100 - round(100 * g), 70) for g in (0.0, 0.1, 0.3)),
    ]
    alpha = getattr(noise, "alpha", 2.0)
    for row in table.rows:
        same = noise.scaled((row.answering / row.honest) ** (1.0 / alpha))
        assert row.true_epsilon == pytest.approx(hush.epsilon(same, delta, 1.0), rel=1e-9)
        assert row.epsilon == pytest.approx(hush.epsilon(noise, delta, 1.0), rel=1e-9)
        assert row.error == pytest.approx(float(same.isf(0.25)), rel=1e-9)
        assert math.isnan(row.measured)
    assert [row.kept for row in table.rows] == [True, False, False, True, True, True]
    assert str(table).count("!") == 2


@pytest.mark.parametrize(("noise", "delta"), NOISES)
def test_measured_errors_agree_with_the_law(noise, delta):
    """The median of 20,000 simulated sums lies between the law's quantiles 1/2 -+ 5/(2 sqrt n) (below one false alarm
    in a million); the errors of the two plans differ by more than that."""
    runs = 20_000
    table = dropout(noise, 10, delta=delta, gone=(0.0, 0.3), runs=runs)
    slack = 5.0 / (2.0 * math.sqrt(runs))
    for row in table.rows:
        same = noise.scaled((row.answering / row.honest) ** (1.0 / getattr(noise, "alpha", 2.0)))
        low, high = (float(same.isf(0.5 * (1.0 - part))) for part in (0.5 - slack, 0.5 + slack))
        assert low * 0.999 < row.measured < high * 1.001  # the lattice has 256 steps in a share
        for wrong in (2.0 / 3.0, 1.5):
            assert not low < wrong * row.measured < high


def test_no_plan_is_needed_where_nobody_leaves():
    """gone = 0 alone: one plan, one row."""
    assert [row.kept for row in dropout(hush.Gaussian(5.0), 10, delta=1e-6, gone=[0.0]).rows] == [True]


def test_bad_arguments():
    """Each message names the argument."""
    with pytest.raises(InvalidParameter, match="gone"):
        dropout(hush.Gaussian(5.0), 10, delta=1e-6, gone=[1.0])
    with pytest.raises(InvalidParameter, match="gone"):
        dropout(hush.Gaussian(5.0), 1, delta=1e-6, gone=[0.5])
    with pytest.raises(InvalidParameter, match="parties"):
        dropout(hush.Gaussian(5.0), 0, delta=1e-6)


def test_rounding_errors_do_not_lose_one_more_party() -> None:
    assert 0.07 * 100 > 7.0
    assert dropout(hush.Gaussian(1.0), 100, delta=1e-6, gone=(0.07,)).rows[0].answering == 93
