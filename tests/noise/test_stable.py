"""The stable law against forty-digit contour integrals, closed forms and itself."""

from __future__ import annotations

import math
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from hush.errors import InvalidParameter
from hush.noise.gaussian import Gaussian
from hush.noise.stable import Stable
from hush.noise.stable_density import FAR, NEAR, contour, law
from hush.privacy.compose import curve

ALPHAS = [1.000001, 1.0001, 1.01, 1.2, 1.5, 1.8, 1.99, 1.9999, 1.999999]
EDGES = [*ALPHAS, 1.0 + 1e-12, 2.0 - 1e-12, np.nextafter(1.0, 2.0), np.nextafter(2.0, 1.0)]


@cache
def _nodes(alpha: float) -> list[tuple[mp.mpc, mp.mpc]]:
    """t and e^(-t^alpha) dt/pi of a double-exponential rule on the ray at angle pi/(4 alpha), 36 digits."""
    nodes = []
    turn = mp.expj(mp.pi / (4 * mp.mpf(alpha)))
    for k in range(-170, 186):
        v = mp.mpf(k) / 38
        t = mp.exp(v - mp.exp(-v)) * turn
        nodes.append((t, mp.exp(-(t**alpha)) * t * (1 + mp.exp(-v)) / (38 * mp.pi)))
    return nodes


def reference(alpha: float, x: mp.mpf | float) -> tuple[mp.mpf, mp.mpf, mp.mpf]:
    """P(X > x), p(x), -p'(x) to at least 18 digits by a contour that the library does not take (and mp.quad agrees
    with).
    """
    with mp.workdps(36):
        waves = [(t, w, mp.expm1(1j * x * t)) for t, w in _nodes(alpha)]
        half = mp.fsum((w * e / t).imag for t, w, e in waves)
        return (
            0.5 - half,
            mp.fsum((w * (e + 1)).real for t, w, e in waves),
            mp.fsum((w * t * e).imag for t, w, e in waves),
        )


@pytest.mark.parametrize("alpha", ALPHAS)
def test_density_tail_and_score_to_thirteen_digits(alpha):
    unit = Stable(alpha, 1.0)
    for x in (1e-3, 1.3, 5.7 + alpha, 21.0):
        tail, density, slope = reference(alpha, x)
        assert float(unit.sf(x) / tail - 1) == pytest.approx(0.0, abs=5e-14)
        assert float(unit.pdf(x) / density - 1) == pytest.approx(0.0, abs=5e-14)
        assert float(unit.score(x) * density / slope - 1) == pytest.approx(0.0, abs=5e-14)


@pytest.mark.parametrize("alpha", EDGES)
def test_table_follows_the_contour_and_joins_the_series(alpha):
    unit = law(alpha)
    x = np.concatenate(
        [np.geomspace(1e-9, FAR + 3.0, 500), np.arange(1, 160) / 8.0 + 1e-9, [NEAR, np.nextafter(NEAR, 0.0)]]
    )
    tail, density, slope = contour(alpha, x)
    np.testing.assert_allclose(np.exp(unit.log_tail(x)), tail, rtol=5e-14)
    np.testing.assert_allclose(np.exp(unit.log_density(x)), density, rtol=5e-14)
    np.testing.assert_allclose(unit.score(x), slope / density, rtol=5e-14)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_far_tail_follows_its_leading_term(alpha):
    first = math.log(math.gamma(alpha + 1.0) * math.sin(0.5 * math.pi * (2.0 - alpha)) / math.pi)
    x = np.array([1e30, 1e150, 1e300])
    unit = Stable(alpha, 1.0)
    np.testing.assert_allclose(unit.logpdf(x), first - (alpha + 1.0) * np.log(x), rtol=1e-15)
    np.testing.assert_allclose(unit.logsf(x), first - math.log(alpha) - alpha * np.log(x), rtol=1e-15)
    np.testing.assert_allclose(unit.score(x) * x, alpha + 1.0, rtol=1e-15)


@pytest.mark.parametrize("alpha", [1.0, *EDGES, 2.0])
def test_quantile_comes_back(alpha):
    noise = Stable(alpha, 2.5)
    v = np.concatenate([np.geomspace(1e-300, 0.5, 300), np.linspace(0.2, 0.5, 31)])
    x = noise.isf(v)
    assert (np.diff(x[:300]) <= 0.0).all() and x[299] == 0.0
    np.testing.assert_allclose(noise.logsf(x), np.log(v), rtol=1e-15, atol=2e-15)
    tiny = np.array([1e-16, 1e-9, 1e-3])  # near the centre the quantile is a line through 0, digits kept
    np.testing.assert_allclose(noise.isf(0.5 - tiny), (0.5 - (0.5 - tiny)) / noise.pdf(0.0), rtol=1e-4)
    np.testing.assert_array_equal(noise.ppf(v), -x)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1.0, 1.3, 1.77, 2.0]), st.floats(1e-3, 1e3), st.floats(0.0, 1e4))
def test_symmetric_and_scales(alpha, gamma, x):
    noise, unit = Stable(alpha, gamma), Stable(alpha, 1.0)
    assert noise.pdf(-x) == noise.pdf(x) and noise.score(-x) == -noise.score(x)
    assert noise.sf(-x) == pytest.approx(1.0 - noise.sf(x), rel=1e-15)
    if alpha < 2.0:
        assert noise.pdf(x) * gamma == pytest.approx(unit.pdf(x / gamma), rel=1e-13)
    assert unit.scaled(gamma) == noise


def test_two_is_the_gaussian_exactly():
    noise, twin = Stable(2.0, 3.0), Gaussian(3.0 * math.sqrt(2.0))
    x, epsilon = np.linspace(-9.0, 9.0, 19), np.array([0.0, 0.3, 2.0])
    np.testing.assert_array_equal(noise.logpdf(x), twin.logpdf(x))
    np.testing.assert_array_equal(noise.isf([1e-300, 0.2, 0.9]), twin.isf([1e-300, 0.2, 0.9]))
    ours, theirs = (n.surplus(n.exceeds(epsilon, 1.0), epsilon, 1.0) for n in (noise, twin))
    np.testing.assert_array_equal(ours, theirs)
    assert noise.max_loss(1.0) == noise.sup_score() == math.inf
    assert (noise.variance, noise.subgaussian_proxy) == (twin.variance, twin.subgaussian_proxy)
    assert noise.mean_abs == pytest.approx(twin.mean_abs, rel=1e-15)
    assert noise.fisher_information == pytest.approx(twin.fisher_information, rel=1e-15)


def test_one_is_cauchy_and_its_neighbour_agrees():
    one, beside = Stable(1.0, 1.0), Stable(1.0 + 1e-12, 1.0)
    x = np.geomspace(1e-6, 1e12, 200)
    np.testing.assert_allclose(one.pdf(x), 1.0 / (math.pi * (1.0 + x * x)), rtol=1e-14)
    np.testing.assert_allclose(beside.logpdf(x), one.logpdf(x), rtol=1e-11)
    np.testing.assert_allclose(beside.score(x), one.score(x), rtol=1e-11)
    for s in (1e-9, 1e-3, 0.5, 40.0, 1e9):
        assert one.max_loss(s) == pytest.approx(2.0 * math.asinh(0.5 * s), rel=3e-15)
        assert beside.max_loss(s) == pytest.approx(one.max_loss(s), rel=5e-12)  # the general way
        epsilon = one.max_loss(s) * np.array([1e-6, 0.1, 0.5, 0.9])
        ours, theirs = one.exceeds(epsilon, s), beside.exceeds(epsilon, s)
        np.testing.assert_allclose(ours.lower, theirs.lower, rtol=1e-9)
        np.testing.assert_allclose(ours.upper, theirs.upper, rtol=1e-9, atol=1e-9 * s)
    assert one.mean_abs == math.inf and one.fisher_information == 0.5
    assert beside.fisher_information == pytest.approx(0.5, rel=1e-11)


@pytest.mark.parametrize("epsilon_share", [0.0, 1e-5, 0.3, 0.9])
@pytest.mark.parametrize("s", [1e-8, 0.01, 1.0, 300.0])
def test_cauchy_delta_in_forty_digits(epsilon_share, s):
    noise = Stable(1.0, 1.0)
    epsilon = noise.max_loss(s) * epsilon_share
    with mp.workdps(40):
        k, shift = mp.expm1(mp.mpf(epsilon)), mp.mpf(s)
        if epsilon == 0.0:
            truth = 2 * mp.atan(shift / 2) / mp.pi
        else:
            root = mp.sqrt(shift**2 * (1 + k) - k**2)
            low, high = (shift - root) / k, (shift + root) / k
            truth = (mp.atan(high) - mp.atan(low) - (1 + k) * (mp.atan(high + shift) - mp.atan(low + shift))) / mp.pi
        delta = noise.surplus(noise.exceeds(epsilon, s), np.array(epsilon), s)
        assert float(delta / truth - 1) == pytest.approx(0.0, abs=noise.relative_error)


@pytest.mark.parametrize(
    ("alpha", "s", "share"), [(1.2, 1e-6, 0.5), (1.5, 0.3, 0.9), (1.9, 5.0, 0.2), (1.9999, 1e-3, 0.95)]
)
def test_delta_is_the_difference_of_forty_digit_tails(alpha, s, share):
    noise = Stable(alpha, 1.0)
    epsilon = noise.max_loss(s) * share
    region = noise.exceeds(epsilon, s)
    low, high = -float(region.upper[0]), -float(region.lower[0])
    assert law(alpha).score(np.array([high + s])) > 0.0 and low < high < 60.0
    for y in (low, high):
        assert noise.logpdf(y) - noise.logpdf(y + s) == pytest.approx(epsilon, rel=1e-9, abs=1e-14)
    with mp.workdps(36):

        def tail(y):
            return reference(alpha, y)[0] if y >= 0 else 1 - reference(alpha, -y)[0]

        truth = tail(low) - tail(high) - mp.exp(epsilon) * (tail(mp.mpf(low) + s) - tail(mp.mpf(high) + s))
        assert float(noise.surplus(region, np.array(epsilon), s) / truth - 1) == pytest.approx(
            0.0, abs=noise.relative_error
        )


@pytest.mark.parametrize("alpha", [1.0001, 1.5, 1.9, 1.9999])
@pytest.mark.parametrize("s", [1e-9, 0.1, 1.0, 50.0, 1e9])
def test_max_loss_bounds_a_dense_scan(alpha, s):
    noise = Stable(alpha, 1.0)
    bound = noise.max_loss(s)
    y = np.concatenate([np.linspace(0.0, 15.0, 3001), np.geomspace(1e-9, 1e12, 500)])
    if s >= 0.1:
        seen = np.max(noise.logpdf(y) - noise.logpdf(y + s))
        assert seen <= bound <= seen + 1e-5 * bound
    assert bound <= s * noise.sup_score() * (1.0 + 1e-15)
    if s < 1e-6:
        assert bound == pytest.approx(s * noise.sup_score(), rel=1e-12)
    if s > 1e6:
        assert bound == pytest.approx(noise.logpdf(0.0) - noise.logpdf(s), rel=1e-9)


@pytest.mark.parametrize("alpha", EDGES)
def test_score_has_one_peak(alpha):
    score = law(alpha).score(np.concatenate([np.linspace(0.0, FAR, 20001), np.geomspace(FAR + 1e-3, 1e12, 2000)]))
    peak = int(score.argmax())
    assert (np.diff(score[: peak + 1]) > 0.0).all() and (np.diff(score[peak:]) < 0.0).all()
    assert score[peak] <= Stable(alpha, 1.0).sup_score() <= score[peak] * (1.0 + 1e-6)


def test_region_and_curve_are_sane():
    noise = Stable(1.7, 2.0)
    for shift in (1e-6, 2.0, 1e6):
        most = noise.max_loss(shift)
        epsilon = np.append(np.linspace(0.0, most, 60), [most * 1.5, 1e5])
        region = noise.exceeds(epsilon, shift)
        delta = noise.surplus(region, epsilon, shift)
        assert region.lower.shape == (62, 1) and region.lower[0, 0] == -math.inf and region.upper[0, 0] == 0.5 * shift
        assert (np.diff(delta) <= 0.0).all() and (delta[:-3] > 0.0).all() and (delta[-3:] == 0.0).all()
        slope = np.diff(delta[:60]) / np.diff(np.exp(epsilon[:60]))
        assert (np.diff(slope) > -1e-12 * np.abs(slope[1:])).all()  # convex in e^epsilon
        assert delta[0] == pytest.approx(1.0 - 2.0 * noise.sf(0.5 * shift), rel=1e-9)
    assert noise.exceeds(0.3, 2.0).contains(-1.0) and not noise.exceeds(0.3, 2.0).contains(1.0)


def test_moments_and_information():
    noise = Stable(1.5, 2.0)
    assert noise.variance == math.inf
    assert noise.mean_abs == pytest.approx(2.0 * 1.70546524015238821, rel=1e-14)  # 2 Gamma(1/3)/pi, also by quadrature
    y = np.sinh(np.linspace(0.0, 15.0, 200001))
    brute = 2.0 * trapezoid(noise.score(y) ** 2 * noise.pdf(y), y)
    assert noise.fisher_information == pytest.approx(brute, rel=1e-7)


def test_sum_of_two_is_stable():
    noise, x = Stable(1.6, 1.0), np.linspace(-3000.0, 3000.0, 600001)
    folded = trapezoid(noise.pdf(x) * noise.pdf(1.3 - x), x)
    assert folded == pytest.approx(noise.scaled(2.0 ** (1.0 / 1.6)).pdf(1.3), rel=1e-6)


@pytest.mark.parametrize(
    ("alpha", "gamma"), [(0.99, 1.0), (2.01, 1.0), (1.5, 0.0), (1.5, math.inf), (math.nan, 1.0), ("2", 1.0)]
)
def test_refuses(alpha, gamma):
    with pytest.raises(InvalidParameter):
        Stable(alpha, gamma)


def test_refuses_negative_epsilon():
    with pytest.raises(InvalidParameter):
        Stable(1.5, 1.0).exceeds(-0.1, 1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("alpha", [1.0, *EDGES])
def test_extremes_are_quiet(alpha):
    noise = Stable(alpha, 3.0)
    x = np.array([0.0, 5e-324, 1e-300, 1e300, 1.7e308, math.inf, -math.inf])
    values = [noise.logpdf(x), noise.logsf(x), noise.score(x), noise.isf([0.0, 5e-324, 0.5, 1.0])]
    assert not np.isnan(np.concatenate(values)).any()
    for shift in (1e-9, 1.0, 1e9):
        epsilon = noise.max_loss(shift) * np.array([0.0, 1e-9, 0.5, 1.0 - 1e-13, 1.0])
        delta = noise.surplus(noise.exceeds(epsilon, shift), epsilon, shift)
        assert np.isfinite(delta).all() and (delta >= 0.0).all() and delta[-1] == 0.0


def test_the_smallest_epsilons_have_a_delta():
    """A loss divided by the least float has no quotient; delta there is that of epsilon 0."""
    made = curve(Stable(1.7, 1.0), 0.3)
    least, none = float(made.delta(5e-324)), float(made.delta(0.0))
    assert least == pytest.approx(none, rel=1e-9) and float(made.delta(1e-310)) <= none * (1.0 + 1e-9)
