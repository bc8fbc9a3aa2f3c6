"""Skellam noise two ways: tables against direct sums of Bessel functions in 40 digits, draws against both."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import hush
from hush.errors import InvalidParameter, Unsupported
from hush.sampling.difference import Counts
from hush.sampling.entropy import DeterministicTestEntropy
from hush.sampling.exact import sampler
from hush.sampling.threshold import fill_all

FALSE_ALARM = 1e-6


def probabilities(sigma: float, last: int) -> list[mpmath.mpf]:
    """e^-v I_k(v) for k = 0 .. last."""
    with mpmath.workdps(40):
        v = mpmath.mpf(sigma) ** 2
        return [mpmath.exp(-v) * mpmath.besseli(k, v) for k in range(last + 1)]


def divergence(p: list[mpmath.mpf], epsilon: float, n: int) -> mpmath.mpf:
    with mpmath.workdps(40):
        factor, last = mpmath.exp(mpmath.mpf(epsilon)), len(p) - 1 - n
        return mpmath.fsum(max(p[abs(k)] - factor * p[abs(k - n)], 0) for k in range(-last, n + 1))


@pytest.mark.parametrize("sigma", [0.4, 1.0, 5.0, 40.0])
def test_probabilities(sigma):
    p = probabilities(sigma, 60)
    law = hush.Skellam(sigma)
    for k in (0, 1, 2, 7, 30, 60):
        assert law.logpdf(float(k)) == pytest.approx(float(mpmath.log(p[k])), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("sigma", [0.7, 5.0, 30.0])
@pytest.mark.parametrize("n", [1, 4])
def test_the_curve_is_the_direct_sum(sigma, n):
    """Inside its own bracket, which is narrow, from delta near 1 to 1e-18."""
    p = probabilities(sigma, int(14 * sigma) + 60)
    made = hush.curve(hush.Skellam(sigma), float(n))
    for times in (0.0, 0.1, 2.0, 6.0, 8.0):
        epsilon = times * n / sigma
        truth = divergence(p, epsilon, n)
        if truth > 1e-60:
            got = made.delta_bracket(epsilon)
            assert got.lower <= truth <= got.upper
            assert got.upper == pytest.approx(float(truth), rel=1e-11)


@given(sigma=st.floats(0.3, 30.0), epsilon=st.floats(0.0, 3.0), n=st.integers(2, 6))
def test_log_concave_and_worst_at_the_full_shift(sigma, epsilon, n):
    law = hush.Skellam(sigma)
    logs = law.logpdf(np.arange(40.0))
    assert (np.diff(logs, 2) < 0.0).all()
    deltas = [hush.delta(law, epsilon, float(s)) for s in range(1, n + 1)]
    assert (np.diff(deltas) >= 0.0).all()


@pytest.mark.parametrize(("epsilon", "delta", "reach"), [(1.0, 1e-6, 1.0), (0.3, 1e-5, 2.0), (4.0, 1e-8, 1.0)])
def test_calibrated_to_the_private_side(epsilon, delta, reach):
    plan = hush.calibrate(epsilon, delta, reach, family="skellam", step=1.0)
    assert isinstance(plan.noise, hush.Skellam)
    assert hush.delta(plan.noise, epsilon, reach) <= delta
    assert hush.delta(hush.Skellam(plan.noise.sigma * (1.0 - 1e-6)), epsilon, reach) > delta
    assert "skellam" in [choice.family for choice in hush.calibrate(epsilon, delta, reach, step=1.0).ranking]


def test_absent_where_it_does_not_fit():
    with pytest.raises(InvalidParameter, match="family must be one of"):
        hush.calibrate(1.0, 1e-6, family="skellam")
    with pytest.raises(Unsupported, match="no pure epsilon"):
        hush.calibrate(1.0, 0.0, family="skellam", step=1.0)


def test_renyi_is_the_direct_sum():
    p = probabilities(5.0, 120)
    for order in (1.5, 2.0, 8.0):
        with mpmath.workdps(40):
            inner = mpmath.fsum(p[abs(k)] ** order * p[abs(k - 1)] ** (1 - order) for k in range(-110, 112))
            truth = float(mpmath.log(inner) / (order - 1))
        assert hush.renyi(hush.Skellam(5.0), order) == pytest.approx(truth, rel=1e-10)
        assert hush.renyi(hush.Skellam(5.0), order) >= truth


# -- draws ---------------------------------------------------------------------------------------------------


def p_value(sample: np.ndarray, law: hush.Skellam) -> float:
    reach = int(law.isf(1e-3))
    k = np.arange(-reach, reach + 1.0)
    expected = law.pdf(k) * sample.size
    full = expected >= 20.0
    counts = np.array([np.count_nonzero(sample == value) for value in k])
    rest = sample.size - counts[full].sum(), sample.size - expected[full].sum()
    statistic = float(np.sum((counts[full] - expected[full]) ** 2 / expected[full])) + (rest[0] - rest[1]) ** 2 / max(
        rest[1], 20.0
    )
    return float(chi2.sf(statistic, full.sum()))


@pytest.mark.parametrize("sigma", [0.5, 3.0, 25.0])
def test_the_law_of_draws(sigma):
    sample = hush.draw(hush.Skellam(sigma), 100_000, entropy=DeterministicTestEntropy(3))
    assert p_value(sample, hush.Skellam(sigma)) > FALSE_ALARM
    for factor in (2.0 / 3.0, 3.0 / 2.0):
        assert p_value(sample, hush.Skellam(sigma * factor)) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [1.0, 7.0])
def test_balls_decide_as_floats_do(sigma):
    """A margin that sends every draw through ball arithmetic gives the same numbers."""
    law, forced = hush.Skellam(sigma), np.empty(200, dtype=np.int64)
    fill_all(forced, sampler(law, 1.0, 1e15), DeterministicTestEntropy(9).begin())
    np.testing.assert_array_equal(hush.draw(law, 200, entropy=DeterministicTestEntropy(9)), forced)


def test_tails_of_counts_in_balls():
    """P(N > k) of Poisson counts, both sides of the mean, against the incomplete gamma function of mpmath."""
    from hush.sampling.tail_ball import precision

    counts = Counts(hush.Skellam(20.0))
    with mpmath.workdps(40), precision(160):
        for k in (0, 150, 199, 200, 201, 260):
            truth = mpmath.gammainc(k + 1, 0, 200, regularized=True)
            assert abs(mpmath.mpf(counts.ball(k).mid().str(35, radius=False)) - truth) < mpmath.mpf(10) ** -32
            assert float(counts.at(np.array(float(k)))) == pytest.approx(float(truth), rel=1e-13)


def test_a_release_and_a_ledger_take_it():
    plan = hush.calibrate(1.0, 1e-6, 1.0, family="skellam", step=1.0)
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-5)
    made = hush.release([10], plan, ledger=ledger)
    assert math.isfinite(float(np.asarray(made.value).ravel()[0]))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "2", None, True])
def test_bad_parameters(bad):
    with pytest.raises(InvalidParameter, match="sigma must be"):
        hush.Skellam(bad)
    with pytest.raises(InvalidParameter, match="step must be"):
        hush.Skellam(1.0, bad)


def test_shifts_are_whole_steps_and_lattices_have_limits():
    with pytest.raises(Unsupported, match="whole steps"):
        hush.delta(hush.Skellam(2.0), 1.0, 0.5)
    with pytest.raises(Unsupported, match="use a step from"):
        hush.Skellam(1e9)
    with pytest.raises(Unsupported, match="own lattice"):
        hush.draw(hush.Skellam(2.0), 3, step=0.5)
