"""Estimates of delta: close to the certified curve, and few certified evaluations are left for a calibration."""

from __future__ import annotations

import math

import pytest

import hush
from hush.calibration import request as requests
from hush.calibration.estimate import Estimate
from hush.calibration.request import CalibrationRequest
from hush.calibration.shape import estimates
from hush.privacy.composed_curve import Composed
from hush.privacy.curve import OneNumber

ONE, FIVE, TWENTY, MIXED = ((1.0, 1),), ((1.0, 5),), ((1.0, 20),), ((1.0, 1), (2.0, 3), (5.0, 2))
CASES = [
    (hush.Gaussian(1.0), 4.22, 1.0, ONE),
    (hush.OSGT(0.3, 1.0), 5.0, 1.0, ONE),
    (hush.Asinh(0.01, 1.0), 0.06, 1.0, ONE),
    (hush.FlippedHuber(2.0, 1.0), 1.0, 4.0, ONE),
    (hush.Laplace(1.0), 4.2, 1.0, FIVE),
    (hush.ExponentialPower(1.2, 1.0), 5.2, 1.0, FIVE),
    (hush.OSGT(0.3, 1.0), 20.0, 1.0, TWENTY),
    (hush.Asinh(1.0, 1.0), 16.4, 1.0, TWENTY),
    (hush.Stable(1.9, 1.0), 13.0, 1.0, TWENTY),
    (hush.ExponentialPower(1.2, 1.0), 1.2, 4.0, ((1.0, 3),)),
    (hush.Asinh(1.0, 1.0), 15.0, 1.0, MIXED),
]


@pytest.mark.parametrize(("unit", "scale", "epsilon", "shifts"), CASES, ids=str)
def test_an_estimate_is_close_to_the_certified_delta(unit, scale, epsilon, shifts):
    noise = unit.scaled(scale)
    parts = tuple((OneNumber(noise, shift), count) for shift, count in shifts)
    curve = parts[0][0] if shifts is ONE else Composed(parts, 1e-7)  # a narrow bracket
    truth = float(curve.delta(epsilon))
    assert 1e-30 < truth < 0.5
    found = Estimate(unit, epsilon, truth, shifts).excess(math.log(scale))
    assert abs(found) < 2e-3  # of log delta: 1e-4 of a scale, or less
    assert Estimate(unit, epsilon, truth, shifts).excess(math.log(0.99 * scale)) > 0.004


def test_where_there_are_no_estimates():
    """On a lattice, at delta = 0 and under other norms the certified curve is used."""

    def request(delta=1e-6, step=None, **facts):
        return CalibrationRequest(1.0, delta, hush.Sensitivity(**facts), 1, "variance", step)

    assert estimates(request(linf=1.0, l0=20))
    assert not estimates(request(linf=1.0, l0=20, step=1.0))
    assert not estimates(request(linf=1.0, l0=20, delta=0.0))
    assert not estimates(request(l2=1.0))


@pytest.mark.parametrize(
    ("sensitivity", "loss", "curves", "guesses"),
    [
        (1.0, "variance", 25, 60),
        (1.0, "mae", 25, 60),
        (hush.Sensitivity(linf=1.0, l0=20), "variance", 25, 250),
        (hush.Sensitivity(linf=1.0, l0=20), "mae", 25, 250),
    ],
    ids=str,
)
def test_a_calibration_evaluates_few_curves(monkeypatch, sensitivity, loss, curves, guesses):
    """The work of all families together, counted and not timed: certified curves, and estimates.

    Without estimates, twenty numbers took 143 certified curves.
    """
    monkeypatch.setenv("HUSH_CACHE", "")
    made = []
    estimate = Estimate.excess
    monkeypatch.setattr(Estimate, "excess", lambda self, x: (made.append(x), estimate(self, x))[1])
    requests._delta.cache_clear()
    plan = hush.calibrate(1.01, 1e-6, sensitivity, loss=loss)
    assert requests._delta.cache_info().misses <= curves and len(made) <= guesses
    assert hush.delta(plan.noise, 1.01, sensitivity) <= 1e-6


def test_families_with_far_more_loss_are_left_out_with_a_reason():
    """They are calibrated if they are named, and what was left out is indeed worse."""
    plan = hush.calibrate(1.0, 1e-6, loss="mae")
    reasons = {choice.family: choice.reason for choice in plan.ranking if choice.noise is None}
    for name in ("asinh", "stable"):
        assert reasons[name].startswith("not searched: ")
        assert hush.calibrate(1.0, 1e-6, loss="mae", family=name).value > 1.18 * plan.value
    twenty = hush.Sensitivity(linf=1.0, l0=20)
    plan = hush.calibrate(1.0, 1e-6, twenty, loss="mae")
    (reason,) = (choice.reason for choice in plan.ranking if choice.family == "stable")
    assert "about 1.1" in reason
    assert hush.calibrate(1.0, 1e-6, twenty, loss="mae", family="stable").value > 1.01 * plan.value


@pytest.mark.parametrize(("epsilon", "delta"), [(8.0, 0.1), (6.0, 0.3), (20.0, 0.01)])
def test_flipped_huber_noise_where_every_member_at_the_kink_is_private(epsilon, delta):
    """The family contains Laplace noise, so it never needs more."""
    found = hush.calibrate(epsilon, delta, family="flipped_huber")
    assert found.variance <= 1.000001 * hush.calibrate(epsilon, delta, family="laplace").variance
    assert hush.delta(found.noise, epsilon) <= delta
