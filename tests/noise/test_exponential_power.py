"""Exponential power noise against forty-digit incomplete gamma functions, its two classical limits and itself."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.errors import InvalidParameter
from hush.noise.exponential_power import ExponentialPower
from hush.noise.exponential_power_mills import power
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.bracket import around
from hush.numerics.twofold import Twofold

POWERS = [1.0, 1.0 + 1e-9, 1.001, 1.1, 1.5, 1.9, 2.0, 3.0, 16.0]


@pytest.fixture(autouse=True)
def _strict():
    with warnings.catch_warnings(), mp.workdps(50):
        warnings.simplefilter("error")
        yield


def tail(p: float, y: mp.mpf) -> mp.mpf:
    """P(Y > y) at scale 1."""
    if y < 0:
        return 1 - tail(p, -y)
    a = 1 / mp.mpf(p)
    return mp.gammainc(a, y ** mp.mpf(p)) / (2 * mp.gamma(a))


def divergence(p: float, scale: float, epsilon: float, shift: float) -> mp.mpf:
    """The hockey stick with the crossing by bisection."""
    d, e, q = mp.mpf(shift) / mp.mpf(scale), mp.mpf(epsilon), mp.mpf(p)
    low, high = -d / 2, d
    while abs(high + d) ** q - abs(high) ** q < e:
        high *= 4
    for _ in range(190):
        middle = (low + high) / 2
        low, high = (middle, high) if abs(middle + d) ** q - abs(middle) ** q < e else (low, middle)
    return tail(p, high) - mp.exp(e) * tail(p, high + d)


def surplus(noise, epsilon, shift=1.0):
    epsilon = np.asarray(epsilon, dtype=np.float64)
    return noise.surplus(noise.exceeds(epsilon, shift), epsilon, shift)


def losses(noise, shift, y):
    """Epsilons whose crossings are the given y (in units), all over the curve."""
    d = shift / noise.scale
    y = np.concatenate([-0.5 * d * np.array([1.0, 0.999, 0.6, 0.2, 1e-3, 1e-9]), y])
    return np.maximum(np.abs(y + d) ** noise.p - np.abs(y) ** noise.p, 0.0)


@pytest.mark.parametrize("p", POWERS)
def test_tail_and_quantile_down_to_the_smallest_floats(p):
    noise = ExponentialPower(p, 2.5)
    for v in (1e-300, 1e-100, 1e-20, 1e-5, 0.2, 0.26, 0.4, 0.5 - 1e-9):
        x = noise.isf(v)
        exact = tail(p, mp.mpf(x) / mp.mpf(2.5))
        # one unit in the last place of x is p z units of the tail
        assert float(exact / v - 1) == pytest.approx(0.0, abs=4e-16 * (3.0 - p * math.log(v)))
        assert noise.logsf(x) == pytest.approx(float(mp.log(exact)), rel=4e-16, abs=1e-15 if p <= 3.0 else 2e-14)
        assert noise.sf(x) == pytest.approx(float(exact), rel=(1e-14 if p <= 3.0 else 4e-14) - 4e-16 * math.log(v))
        assert noise.ppf(v) == -x
        density = mp.exp(-((mp.mpf(x) / mp.mpf(2.5)) ** mp.mpf(p))) / (5 * mp.gamma(1 + 1 / mp.mpf(p)))
        assert noise.logpdf(x) == pytest.approx(float(mp.log(density)), rel=4e-16, abs=1e-15)
    assert noise.isf(0.5) == 0.0 and noise.isf(0.0) == np.inf and noise.logsf(np.inf) == -np.inf
    assert noise.cdf(-1.5) == noise.sf(1.5) and noise.pdf(-1.5) == noise.pdf(1.5)
    centre = float(mp.mpf(1e-12) * noise.pdf(0.0))
    assert noise.isf(0.5 - centre) == pytest.approx(1e-12, rel=1e-3)


@pytest.mark.parametrize("p", POWERS)
def test_mills_ratio_and_its_drops_keep_their_digits(p):
    unit = ExponentialPower(p, 1.0)
    z = np.array([1e-9, 1e-3, 0.3, 0.9, 1.0, 1.1, 1.6, 2.1, 3.2, 5.0, 8.0, 13.0, 23.0, 47.0, 130.0, 900.0, 2e4, 1e6])
    y = z ** (1.0 / p)
    allowed = 1e-14 if p <= 3.0 else 8e-14

    def mills(x):
        return mp.exp(x ** mp.mpf(p)) * mp.gammainc(1 / mp.mpf(p), x ** mp.mpf(p)) / mp.mpf(p)

    exact = [mills(mp.mpf(float(x))) for x in y]
    np.testing.assert_allclose(unit.unit_mills(y), [float(r) for r in exact], rtol=allowed)
    for share in (1e-9, 0.1, 0.4, 30.0):
        d = share * y
        drops = [float(r - mills(mp.mpf(float(x)) + mp.mpf(float(s)))) for r, x, s in zip(exact, y, d, strict=True)]
        if p == 1.0:
            assert (unit.unit_drop(y, d) == 0.0).all()
        else:
            np.testing.assert_allclose(unit.unit_drop(y, d), drops, rtol=allowed)


@pytest.mark.parametrize("p", [q for q in POWERS if q > 1.0])
@pytest.mark.parametrize("scale", [0.05, 2.0, 1e3])
def test_delta_against_fifty_digits(p, scale):
    noise = ExponentialPower(p, scale)
    reach = float(noise.isf(1e-290)) / scale
    epsilon = losses(noise, 1.0, np.concatenate([[1e-6, 0.01, 0.7, 1.0], reach * np.array([0.05, 0.3, 0.9])]))
    value = surplus(noise, epsilon)
    error = noise.error_at(epsilon, 1.0)
    bracket = around(value, error)
    for e, low, high, delta in zip(epsilon, bracket.lower, bracket.upper, value, strict=True):
        exact = divergence(p, scale, float(e), 1.0)
        if exact > 1e-300:
            assert mp.mpf(float(low)) <= exact <= mp.mpf(float(high))  # never below the truth
            assert float(delta / exact - 1) == pytest.approx(0.0, abs=error / 4.0)


@pytest.mark.parametrize("p", [1.0 + 1e-12, 1.0 + 1e-8, 1.001, 1.5])
@pytest.mark.parametrize("scale", [1e6, 1e10])
def test_tiny_shifts_stay_within_the_claim(p, scale):
    noise = ExponentialPower(p, scale)
    y = np.array([0.3, 5.0, 80.0])
    d = 1.0 / scale
    epsilon = y**p * np.expm1(p * np.log1p(d / y))
    value = surplus(noise, epsilon)
    for e, delta in zip(epsilon, value, strict=True):
        exact = divergence(p, scale, float(e), 1.0)
        if exact > 1e-300:
            assert abs(float(delta / exact - 1)) < noise.error_at(epsilon, 1.0)


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 4.0, 16.0])
def test_moments_and_fisher_information_by_quadrature(p):
    noise, a = ExponentialPower(p, 0.4), mp.mpf(0.4)
    q = mp.mpf(p)

    def mean(function):
        points = [0, 0.5, 1, 2, 6, 30, 200] if p < 4 else [0, 0.5, 1, 1.5, 3]
        return mp.quad(lambda y: function(y) * mp.exp(-(y**q)), points) / mp.gamma(1 + 1 / q)

    with mp.workdps(25):
        assert noise.variance == pytest.approx(float(a * a * mean(lambda y: y * y)), rel=1e-13)
        assert noise.mean_abs == pytest.approx(float(a * mean(lambda y: y)), rel=1e-13)
        score = mean(lambda y: q * q * y ** (2 * q - 2))
        assert noise.fisher_information == pytest.approx(float(score / a**2), rel=1e-12)
    assert noise.normalised_fisher_information >= 1.0 - 1e-15


def test_one_is_laplace_and_two_is_gaussian():
    epsilon = np.concatenate([[0.0], np.geomspace(1e-6, 60.0, 200)])
    one, laplace = ExponentialPower(1, 0.7), Laplace(0.7)
    two, gaussian = ExponentialPower(2, 0.7), Gaussian(0.7 / math.sqrt(2.0))
    x = np.linspace(-20.0, 20.0, 401)
    for ours, theirs in ((one, laplace), (two, gaussian)):
        np.testing.assert_allclose(surplus(ours, epsilon), surplus(theirs, epsilon), rtol=2e-13, atol=1e-320)
        np.testing.assert_allclose(ours.logpdf(x), theirs.logpdf(x), rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(ours.logsf(x), theirs.logsf(x), rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(ours.isf([1e-300, 1e-9, 0.3]), theirs.isf([1e-300, 1e-9, 0.3]), rtol=1e-14)
        for name in ("variance", "mean_abs", "fisher_information", "subgaussian_proxy"):
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-15)
        assert ours.max_loss(1.0) == theirs.max_loss(1.0) and ours.kinks == theirs.kinks
    near = surplus(ExponentialPower(1.0 + 1e-12, 0.7), epsilon)
    np.testing.assert_allclose(near, surplus(laplace, epsilon), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        surplus(ExponentialPower(2.0 - 1e-13, 0.7), epsilon[:100]), surplus(two, epsilon[:100]), rtol=1e-11
    )


def test_subgaussian_proxy_bounds_the_moment_generating_function():
    assert ExponentialPower(1.99, 1.0).subgaussian_proxy == math.inf
    for p in (2.0, 3.0, 16.0):
        noise = ExponentialPower(p, 1.0)
        for t in (0.1, 1.0, 4.0, 20.0):
            grown = mp.quad(lambda y, t=t, p=p: mp.cosh(t * y) * mp.exp(-(y**p)), [0, 1, 2, 5, 12, 40]) / mp.gamma(
                1 + 1 / mp.mpf(p)
            )
            assert mp.log(grown) <= noise.subgaussian_proxy * t * t / 2 * (1 + mp.mpf(1e-14))


@settings(max_examples=60, deadline=None)
@given(st.floats(1.0, 16.0), st.floats(1e-3, 1e3), st.floats(0.0, 20.0), st.floats(0.1, 10.0))
def test_scaling_and_order(p, scale, epsilon, k):
    noise = ExponentialPower(p, scale)
    wide = noise.scaled(k)
    assert wide == ExponentialPower(p, scale * k)
    grid = epsilon * np.array([1.0, 1.1, 2.0])
    here, there = surplus(noise, grid, 1.0), surplus(wide, grid, k)
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-300)  # scale * k and k round differently
    assert (np.diff(here) <= 0.0).all() and (here >= 0.0).all() and (here <= 1.0).all()
    assert (surplus(noise, grid, 2.0) >= here * (1.0 - 1e-12)).all()
    assert surplus(noise, grid[0], 1.0).shape == () and surplus(noise, grid.reshape(3, 1), 1.0).shape == (3, 1)


def test_twofold_power_has_twenty_five_digits():
    y = np.concatenate([np.geomspace(1e-200, 1e12, 60), 1.0 + np.array([-1e-9, 1e-15, 0.01, 0.2])])
    for p in (1.0 + 1e-7, 1.3, 7.7):
        z = power(Twofold(y, 1e-17 * y), p)
        for x, high, low in zip(y, z.hi, z.lo, strict=True):
            if 1e-250 < high < 1e250:
                exact = (mp.mpf(float(x)) + mp.mpf(float(1e-17 * x))) ** mp.mpf(p)
                assert abs((mp.mpf(float(high)) + mp.mpf(float(low))) / exact - 1) < 1e-25
    assert float(power(Twofold(0.0), 1.5).hi) == 0.0


def test_far_arguments_raise_no_warning():
    x = np.array([0.0, 5e-324, 1e-200, 1e-12, 1e60, 1e200, 1e308, np.inf])
    for p in POWERS:
        noise = ExponentialPower(p, 1e-3)
        for function in (noise.pdf, noise.logpdf, noise.sf, noise.logsf, noise.cdf):
            assert not np.isnan(function(x)).any()
        for shift in (1e-15, 1e-3, 1e6):
            value = surplus(noise, [0.0, 1e-300, 1e-9, 1.0, 1e3, 1e9], shift)
            assert ((value >= 0.0) & (value <= 1.0 + 1e-15)).all()


def test_bad_parameters_are_refused_with_a_hint():
    for p in (0.99, 16.5, math.nan, True, None):
        with pytest.raises(InvalidParameter, match=r"p must be a number from 1 to 16.*write ExponentialPower"):
            ExponentialPower(p, 1.0)
    with pytest.raises(InvalidParameter, match=r"p must be a number from .*write p=2, without quotes"):
        ExponentialPower("2", 1.0)
    for scale in (0.0, -1.0, math.inf):
        with pytest.raises(InvalidParameter, match=r"scale must be .*write ExponentialPower"):
            ExponentialPower(1.5, scale)
