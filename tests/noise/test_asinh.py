"""Asinh noise against forty-digit quadrature, its Gaussian limit and itself."""

from __future__ import annotations

import math
import warnings
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hush.errors import InvalidParameter
from hush.noise.asinh import Asinh
from hush.noise.asinh_mills import shape_of, sharp_gauss
from hush.noise.gaussian import Gaussian
from hush.numerics.bracket import around
from hush.numerics.logarithm import log_twofold
from hush.numerics.twofold import Twofold

SHAPES = [1e-6, 1e-4, 1e-2, 0.3, 1.0, 1e4, 1e8]


@pytest.fixture(autouse=True)
def _strict():
    with warnings.catch_warnings(), mp.workdps(36):
        warnings.simplefilter("error")
        yield


@cache
def _legendre() -> list[tuple[mp.mpf, mp.mpf]]:
    """The 36-point rule on (0, 1) to 36 digits."""
    rule = []
    for guess in np.polynomial.legendre.leggauss(36)[0]:
        x = mp.mpf(float(guess))
        for _ in range(3):
            before, here = mp.mpf(1), x
            for k in range(2, 37):
                before, here = here, ((2 * k - 1) * x * here - (k - 1) * before) / k
            slope = 36 * (x * here - before) / (x * x - 1)
            x -= here / slope
        rule.append(((x + 1) / 2, 1 / ((1 - x * x) * slope * slope)))
    return rule


def energy(kappa: float, y: mp.mpf) -> mp.mpf:
    return mp.mpf(kappa) * (y * mp.asinh(y) - mp.sqrt(1 + y * y) + 1)


@cache
def mills(kappa: float, y: mp.mpf) -> mp.mpf:
    """R(y) on six panels of the rule, in the variable that the library uses too but to 30 digits."""
    k, u = mp.mpf(kappa), mp.asinh(y)
    start = u * y - mp.cosh(u)
    reach = min(1 / (k * u * mp.cosh(u) + mp.sqrt(k * mp.cosh(u))), mp.mpf(1))

    def rise(w):
        return k * ((u + w) * mp.sinh(u + w) - mp.cosh(u + w) - start)

    while rise(reach) < 75:
        reach *= mp.mpf(1.25)
    step = reach / 6
    points = [(step * (i + x), step * weight) for i in range(6) for x, weight in _legendre()]
    return mp.fsum(weight * mp.exp(-rise(w)) * mp.cosh(u + w) for w, weight in points)


def tail(kappa: float, y: mp.mpf) -> mp.mpf:
    if y < 0:
        return 1 - tail(kappa, -y)
    return mp.exp(-energy(kappa, y)) * mills(kappa, y) / (2 * mills(kappa, mp.mpf(0)))


def divergence(kappa: float, scale: float, epsilon: float, shift: float) -> mp.mpf:
    """The hockey stick with the crossing by bisection."""
    d, e = mp.mpf(shift) / mp.mpf(scale), mp.mpf(epsilon)
    low, high = -d / 2, d
    while energy(kappa, high + d) - energy(kappa, high) < e:
        high *= 4
    for _ in range(130):
        middle = (low + high) / 2
        low, high = (middle, high) if energy(kappa, middle + d) - energy(kappa, middle) < e else (low, middle)
    return tail(kappa, high) - mp.exp(e) * tail(kappa, high + d)


def surplus(noise, epsilon, shift=1.0):
    epsilon = np.asarray(epsilon, dtype=np.float64)
    return noise.surplus(noise.exceeds(epsilon, shift), epsilon, shift)


def losses(kappa, d, y):
    """Epsilons whose crossings are the given y in units."""
    exact = [energy(kappa, mp.mpf(x) + mp.mpf(d)) - energy(kappa, mp.mpf(x)) for x in y]
    return np.array([max(float(x), 0.0) for x in exact])


@pytest.mark.parametrize("kappa", SHAPES)
def test_normaliser_and_moments_by_the_trapezoidalsharp_gauss(kappa):
    """Over the whole line the integrand in u is analytic and falls double-exponentially: equal steps converge
    geometrically.
    """
    k = mp.mpf(kappa)
    step = min(mp.mpf(1) / 16, 1 / (5 * mp.sqrt(k)))
    sums = [mp.mpf(0)] * 4
    for j in range(100000):
        u = j * step
        y = mp.sinh(u)
        weight = mp.exp(-k * (u * y - mp.cosh(u) + 1)) * mp.cosh(u) * (step if j else step / 2)
        sums = [s + weight * part for s, part in zip(sums, (1, y, y * y, k * k * u * u), strict=True)]
        if weight * (1 + y * y) < 1e-30 * sums[2]:
            break
    noise = Asinh(kappa, 0.5)
    assert noise.logpdf(0.0) == pytest.approx(float(-mp.log(sums[0])), rel=1e-14, abs=1e-15)  # 2 R(0) scale
    assert noise.variance == pytest.approx(float(sums[2] / sums[0] / 4), rel=1e-14)
    assert noise.fisher_information == pytest.approx(float(4 * sums[3] / sums[0]), rel=1e-14)
    # |y| has a corner at 0, where equal steps are no good
    mean = mp.quad(
        lambda u: mp.sinh(u) * mp.cosh(u) * mp.exp(-k * (u * mp.sinh(u) - mp.cosh(u) + 1)), mp.linspace(0, j * step, 7)
    )
    assert noise.mean_abs == pytest.approx(float(mean / sums[0] / 2), rel=1e-13)
    assert noise.normalised_fisher_information >= 1.0


@pytest.mark.parametrize("kappa", SHAPES)
def test_mills_ratio_and_its_drops_keep_their_digits(kappa):
    law, unit = shape_of(kappa), Asinh(kappa, 1.0)
    y = np.sinh(law.edges[-1] * np.array([1e-5, 1e-2, 0.1, 0.3, 0.6, 0.95]))
    exact = [mills(kappa, mp.mpf(float(x))) for x in y]
    np.testing.assert_allclose(unit.unit_mills(y), [float(r) for r in exact], rtol=1e-14)
    for share in (1e-8, 0.08, 20.0):
        d = share * y
        drops = [
            float(r - mills(kappa, mp.mpf(float(x)) + mp.mpf(float(s)))) for r, x, s in zip(exact, y, d, strict=True)
        ]
        np.testing.assert_allclose(unit.unit_drop(y, d), drops, rtol=6e-14)
    assert unit.unit_drop(np.zeros(1), np.zeros(1)) == 0.0
    deep = np.sinh(
        law.edges[-1] * np.array([1.1, 2.0])
    )  # no density in floats is left here: R exact, its drop to leading order
    np.testing.assert_allclose(unit.unit_mills(deep), [float(mills(kappa, mp.mpf(float(x)))) for x in deep], rtol=1e-14)
    np.testing.assert_allclose(
        unit.unit_drop(deep, deep), unit.unit_mills(deep) - unit.unit_mills(2.0 * deep), rtol=0.05
    )


@pytest.mark.parametrize("kappa", SHAPES)
def test_tail_and_quantile_down_to_the_smallest_floats(kappa):
    noise = Asinh(kappa, 0.5)
    for v in (1e-300, 1e-9, 0.2, 0.5 - 1e-9):
        x = noise.isf(v)
        exact = tail(kappa, 2 * mp.mpf(x))
        assert float(exact / v - 1) == pytest.approx(0.0, abs=8e-16 * (5.0 - math.log(v)))
        assert noise.logsf(x) == pytest.approx(float(mp.log(exact)), rel=4e-15)
        density = mp.exp(-energy(kappa, 2 * mp.mpf(x))) / mills(kappa, mp.mpf(0))
        assert noise.logpdf(x) == pytest.approx(float(mp.log(density)), rel=1e-14, abs=4e-15)
        assert noise.ppf(v) == -x
    assert noise.isf(0.5) == 0.0 and noise.isf(0.0) == np.inf and noise.logsf(np.inf) == -np.inf
    assert noise.cdf(-1.5) == noise.sf(1.5) and noise.pdf(-1.5) == noise.pdf(1.5)


@pytest.mark.parametrize("kappa", [1e-4, 1e-2, 0.3, 2.0, 1e4])
@pytest.mark.parametrize("size", [1e-4, 1.0, 20.0])
def test_delta_against_forty_digits(kappa, size):
    """The shift is `size` times E|Y|."""
    law = shape_of(kappa)
    d = size * law.mean_abs
    scale = 1.0 / d
    deep = float(Asinh(kappa, 1.0).isf(1e-280))
    epsilon = losses(kappa, d, [-0.5 * d, -0.4 * d, -0.1 * d, 1e-7 * d, 0.02 * deep, 0.3 * deep, deep])
    noise = Asinh(kappa, scale)
    value = surplus(noise, epsilon)
    bracket = around(value, noise.relative_error)
    for e, low, high, delta in zip(epsilon, bracket.lower, bracket.upper, value, strict=True):
        exact = divergence(kappa, scale, float(e), 1.0)
        assert mp.mpf(float(low)) <= exact <= mp.mpf(float(high))  # never below the truth
        assert float(delta / exact - 1) == pytest.approx(0.0, abs=noise.relative_error / 4.0)


@pytest.mark.parametrize("kappa", [1e-4, 1.0, 1e4])
def test_tiny_shifts_stay_within_the_claim(kappa):
    d = 1e-10 * shape_of(kappa).mean_abs
    noise = Asinh(kappa, 1.0 / d)
    deep = float(Asinh(kappa, 1.0).isf(1e-200))
    epsilon = losses(kappa, d, [0.1 * deep, deep])
    for e, delta in zip(epsilon, surplus(noise, epsilon), strict=True):
        assert abs(float(delta / divergence(kappa, 1.0 / d, float(e), 1.0) - 1)) < noise.error_at(epsilon, 1.0)


def test_large_kappa_tends_to_the_gaussian():
    """With t = y sqrt(kappa), U = t^2/2 - t^4/(24 kappa) + ...: variance 1 + (E t^6 - E t^4)/(24 kappa) = 1 + 1/(2
    kappa).
    """
    epsilon = np.linspace(0.0, 8.0, 50)
    exact, departures = surplus(Gaussian(1.0), epsilon), []
    for kappa in (1e5, 1e6):
        noise = Asinh(kappa, math.sqrt(kappa))
        assert noise.variance == pytest.approx(1.0 + 0.5 / kappa, abs=10.0 / kappa**2)
        departures.append((surplus(noise, epsilon) / exact - 1.0) * kappa)
    np.testing.assert_allclose(
        departures[0], departures[1], rtol=1e-2
    )  # first order in 1/kappa, from the first term on
    # at the Gaussian crossing t the first term is t^4/24 - 3/24 for the tail and more for its drop: a few hundred at
    # t = 7.5
    assert np.abs(departures[1]).min() > 0.1 and np.abs(departures[1]).max() < 600.0


def test_small_kappa_has_heavy_shoulders_and_every_noise_its_score():
    noise = Asinh(0.7, 3.0)
    x, h = np.linspace(0.5, 40.0, 40), 1e-5
    score = -(np.asarray(noise.logpdf(x + h)) - noise.logpdf(x - h)) / (2.0 * h)
    np.testing.assert_allclose(score, 0.7 / 3.0 * np.arcsinh(x / 3.0), rtol=1e-8)
    assert noise.subgaussian_proxy == math.inf and noise.max_loss(1.0) == math.inf and noise.kinks == ()


@settings(max_examples=40, deadline=None)
@given(st.floats(-4.0, 4.0), st.floats(-2.0, 3.0), st.floats(0.0, 20.0), st.floats(0.1, 10.0))
def test_scaling_and_order(log_kappa, log_scale, epsilon, k):
    noise = Asinh(10.0 ** round(log_kappa, 1), 10.0**log_scale)
    wide = noise.scaled(k)
    assert wide == Asinh(noise.kappa, noise.scale * k)
    grid = epsilon * np.array([1.0, 1.1, 2.0])
    here, there = surplus(noise, grid, 1.0), surplus(wide, grid, k)
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-300)  # scale * k and k round differently
    assert (np.diff(here) <= 0.0).all() and (here >= 0.0).all() and (here <= 1.0 + 1e-13).all()
    assert (surplus(noise, grid, 2.0) >= here * (1.0 - 1e-12)).all()
    assert surplus(noise, grid[0], 1.0).shape == () and surplus(noise, grid.reshape(3, 1), 1.0).shape == (3, 1)


def test_twofold_logarithm_and_gausssharp_gauss():
    y = np.concatenate([np.geomspace(1e-280, 1e280, 80), 1.0 + np.array([-1e-3, -1e-9, 1e-15, 0.01, 0.41, 0.42])])
    for x, high, low in zip(y, (value := log_twofold(Twofold(y))).hi, value.lo, strict=True):
        assert abs((mp.mpf(float(high)) + mp.mpf(float(low))) / mp.log(mp.mpf(float(x))) - 1) < 1e-26
    nodes, weights = sharp_gauss(36)
    np.testing.assert_allclose(nodes, [float(x) for x, _ in _legendre()], rtol=4e-16)
    np.testing.assert_allclose(weights, [float(w) for _, w in _legendre()], rtol=4e-16)


def test_far_arguments_raise_no_warning():
    x = np.array([0.0, 5e-324, 1e-200, 1e-12, 1e60, 1e200, 1e308, np.inf])
    for kappa in SHAPES:
        noise = Asinh(kappa, 1e-3)
        for function in (noise.pdf, noise.logpdf, noise.sf, noise.logsf, noise.cdf):
            assert not np.isnan(function(x)).any()
        for shift in (1e-15, 1e-3, 1e6):
            value = surplus(noise, [0.0, 1e-300, 1e-9, 1.0, 1e3, 1e9], shift)
            assert ((value >= 0.0) & (value <= 1.0 + 1e-14)).all()


def test_bad_parameters_are_refused_with_a_hint():
    for kappa in (0.0, 1e-7, 1e9, math.nan, True, None):
        with pytest.raises(InvalidParameter, match=r"kappa must be a number from 1e-06 to 1e\+08.*write Asinh"):
            Asinh(kappa, 1.0)
    with pytest.raises(InvalidParameter, match=r"kappa must be a number from .*write kappa=2, without quotes"):
        Asinh("2", 1.0)
    for scale in (0.0, -1.0, math.inf):
        with pytest.raises(InvalidParameter, match=r"scale must be .*write Asinh"):
            Asinh(1.5, scale)
