"""Renyi divergences against their own integrals, their limits, the papers' bounds, and the conversions they feed."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from effort import thinned
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.noise.contract import Noise
from hush.privacy import conversion, paper_bounds

pytestmark = pytest.mark.filterwarnings("error")

NODES, WEIGHTS = np.polynomial.legendre.leggauss(30)


def spread(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def brute(noise: Noise, order: float, shift: float, edges: np.ndarray) -> float:
    """1/(a - 1) log of the integral of f(x)^a f(x - s)^(1 - a), panel by panel; the KL integral at order 1."""
    half = 0.5 * np.diff(edges)[:, None]
    x = edges[:-1, None] + half * (1.0 + NODES)
    here, there = noise.logpdf(x), noise.logpdf(x - shift)
    if order == 1.0:
        return float(np.sum(WEIGHTS * half * np.exp(here) * (here - there)))
    return math.log(float(np.sum(WEIGHTS * half * np.exp(order * here + (1.0 - order) * there)))) / (order - 1.0)


def panels(shift: float, unit: float, reach: float, kinks: list[float]) -> np.ndarray:
    ladder = unit * np.concatenate([np.arange(0.0, 20.0, 0.25), np.geomspace(20.0, reach, 80)])
    marks = np.concatenate([-ladder, ladder, kinks, np.negative(kinks)])
    return np.unique(np.concatenate([marks, marks + shift]))


# -- closed forms --------------------------------------------------------------------------------------------


@given(spread(1e-3, 1e3), spread(1e-4, 1e4), st.floats(1.0, 500.0))
def test_gaussian(sigma, shift, order):
    """order s^2/(2 sigma^2), rounded up; l2 sensitivities and l0 coordinates likewise."""
    with mp.workdps(40):
        truth = mp.mpf(order) * mp.mpf(shift) ** 2 / (2 * mp.mpf(sigma) ** 2)
        ours = mp.mpf(hush.renyi(hush.Gaussian(sigma), order, shift))
        assert truth <= ours <= truth * (1 + mp.mpf("1e-14"))
    assert hush.renyi(hush.Gaussian(sigma), order, hush.Sensitivity(l2=shift)) == pytest.approx(float(truth), rel=1e-14)


@settings(max_examples=300)
@given(spread(1e-6, 1e3), spread(1e-9, 1e3))
def test_laplace(d, above):
    """Mironov's closed form at 60 digits, for orders next to 1 and far above."""
    order = 1.0 + above
    with mp.workdps(80):
        a, x = mp.mpf(order), mp.mpf(d)
        inner = a / (2 * a - 1) * mp.exp((a - 1) * x) + (a - 1) / (2 * a - 1) * mp.exp(-a * x)
        truth = mp.log(inner) / (a - 1)
        ours = mp.mpf(hush.renyi(hush.Laplace(1.0), order, d))
        assert truth <= ours
        assert ours <= truth * (1 + mp.mpf("1e-12"))


@given(spread(1e-6, 500.0))
def test_laplace_kullback_leibler(d):
    """Order 1: d - 1 + e^-d."""
    with mp.workdps(40):
        truth = mp.mpf(d) - 1 + mp.exp(-mp.mpf(d))
        ours = mp.mpf(hush.renyi(hush.Laplace(1.0), 1.0, d))
        assert truth <= ours <= truth * (1 + mp.mpf("1e-12"))


@settings(max_examples=60)
@given(spread(1e-3, 100.0), spread(0.05, 5.0), st.floats(1.5, 60.0))
def test_osgt_appendix_e(r, d, order):
    """Three normal integrals against quadrature."""
    noise = hush.OSGT(r, 1.0)
    assert hush.renyi(noise, order, d) == pytest.approx(paper_bounds.osgt_appendix_e(noise, order, d), rel=1e-9)


# -- by the integral -----------------------------------------------------------------------------------------

SMOOTH = [
    (hush.OSGT(3.0, math.sqrt(40.0)), 1.0),
    (hush.FlippedHuber(2.0, 1.0), 0.7),
    (hush.FlippedHuber(0.4, 1.5), 1.0),
    (hush.Gaussian(1.3), 1.0),
    (hush.Laplace(0.8), 1.0),
]


@pytest.mark.parametrize(("noise", "shift"), SMOOTH, ids=str)
@pytest.mark.parametrize("order", [1.0, 1.01, 2.0, 7.5, 20.0])
def test_smooth_families_by_quadrature(noise, shift, order):
    """An upper bound on the integral, within 1e-9."""
    edges = panels(shift, noise.isf(0.25), 400.0, list(noise.kinks))
    edges = edges[np.abs(edges) < 200.0 * noise.isf(0.25)]
    expected = brute(noise, order, shift, edges)
    ours = hush.renyi(noise, order, shift)
    # near order 1 the plain integral is 1 + small, so the comparison itself is good to 1e-15/(order - 1)
    assert ours == pytest.approx(expected, rel=1e-9 if order != 1.01 else 1e-8)


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.8])
@pytest.mark.parametrize("order", [1.0, 2.0, 12.0])
def test_stable_by_quadrature(alpha, order):
    """Power tails: out to 1e8, beyond which the integrand's share is below 1e-8 of the total."""
    noise, shift = hush.Stable(alpha, 1.0), 1.5
    edges = panels(shift, 1.0, 1e10, [0.0])
    half = 0.5 * np.diff(edges)[:, None]
    x = edges[:-1, None] + half * (1.0 + NODES)
    here, there = noise.logpdf(x), noise.logpdf(x - shift)
    a, loss = order - 1.0, here - there
    # E[e^(A l) - 1 - A l] + A E[e^(-l) - 1 + l], whose terms are of second order in the loss and so die off fast
    inner = np.expm1(a * loss) - a * loss + a * (np.expm1(-loss) + loss) if a else np.expm1(-loss) + loss
    total = float(np.sum(WEIGHTS * half * np.exp(here) * inner))
    expected = math.log1p(total) / a if a else total
    assert hush.renyi(noise, order, shift) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    "noise",
    [hush.Staircase(1.0), hush.Staircase(0.4, 1.0, 0.2), hush.Stepped(0.5, (4.0, 3.0, 1.0), ratio=0.5, period=2)],
    ids=str,
)
@pytest.mark.parametrize("order", [1.0, 1.5, 4.0, 30.0])
def test_steps_by_sums(noise, order):
    """The sum over cells of f^a g^(1-a), on a grid that holds every jump of both densities."""
    shift, cell = 0.7, 0.0125
    if isinstance(noise, hush.Staircase):
        noise = hush.Staircase(noise.epsilon, noise.sensitivity, 0.2)  # jumps on multiples of the cell
    x = (np.arange(-40000, 40000) + 0.5) * cell
    here, there = noise.logpdf(x), noise.logpdf(x - shift)
    with np.errstate(under="ignore"):
        if order == 1.0:
            expected = float(np.sum(np.exp(here) * (here - there)) * cell)
        else:
            expected = math.log(float(np.sum(np.exp(order * here + (1.0 - order) * there)) * cell)) / (order - 1.0)
    assert hush.renyi(noise, order, shift) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "base", [hush.Gaussian(2.0), hush.Laplace(1.5), hush.OSGT(1.0, 2.0), hush.FlippedHuber(3.0, 2.0)], ids=str
)
@pytest.mark.parametrize("order", [1.0, 2.0, 9.0])
def test_lattice_by_sums(base, order):
    """The plain sum over lattice points at 40 digits, from the density alone."""
    with mp.workdps(40):
        points = range(-250, 251)
        weight = {k: mp.exp(mp.mpf(float(base.logpdf(float(abs(k)))))) for k in range(-256, 257)}
        total = mp.fsum(weight[k] for k in points)
        if order == 1.0:
            expected = mp.fsum(weight[k] * mp.log(weight[k] / weight[k - 2]) for k in points) / total
        else:
            expected = mp.log(mp.fsum(weight[k] ** order * weight[k - 2] ** (1 - order) for k in points) / total) / (
                order - 1
            )
    assert hush.renyi(hush.Discrete(base), order, 2.0) == pytest.approx(float(expected), rel=1e-11)


def test_bounded_supports_are_infinitely_far_apart():
    """Where the copy leaves an edge uncovered the divergence is infinite, at order 1 too."""
    for order in (1.0, 2.0):
        assert math.isinf(hush.renyi(hush.TruncatedLaplace(1.0, 5.0), order))
        assert math.isinf(hush.renyi(hush.Stepped(1.0, (2.0, 1.0)), order))


# -- limits --------------------------------------------------------------------------------------------------

EVERY = [
    (hush.Gaussian(1.0), 1.0),
    (hush.Laplace(1.0), 1.0),
    (hush.OSGT(2.0, 1.5), 1.0),
    (hush.FlippedHuber(2.0, 1.5), 1.0),
    (hush.Stable(1.5, 1.0), 1.0),
    (hush.Staircase(1.0), 1.0),
    (hush.Stepped(1.0, (2.0, 1.0), ratio=0.5), 1.5),
    (hush.Stepped(1.0, (1.0, 2.0), ratio=0.5), 2.0),
    (hush.Discrete(hush.Gaussian(2.0)), 1.0),
]
every = pytest.mark.parametrize(("noise", "shift"), EVERY, ids=str)


@every
def test_order_one_is_the_limit(noise, shift):
    """D is continuous at order 1, where it is the Kullback-Leibler divergence."""
    at_one = hush.renyi(noise, 1.0, shift)
    assert hush.renyi(noise, 1.0 + 1e-7, shift) == pytest.approx(at_one, rel=1e-5)
    assert hush.renyi(noise, 1.0 + 1e-12, shift) == pytest.approx(at_one, rel=1e-8)


@every
def test_monotone_in_the_order_and_bounded_by_the_largest_loss(noise, shift):
    """D rises with the order towards the pure epsilon."""
    values = [hush.renyi(noise, order, shift) for order in (1.0, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 40.0)]
    assert all(a <= b * (1.0 + 1e-10) for a, b in pairwise(values))
    pure = hush.epsilon(noise, 0.0, shift)
    assert values[-1] <= pure * (1.0 + 1e-10)
    if math.isfinite(pure):
        assert hush.renyi(noise, 1e5, shift) == pytest.approx(pure, rel=2e-3)


@every
def test_several_coordinates_add(noise, shift):
    """Divergences of products add."""
    one = hush.renyi(noise, 3.0, shift)
    assert hush.renyi(noise, 3.0, hush.Sensitivity(linf=shift, l0=7)) == pytest.approx(7.0 * one, rel=1e-12)


@pytest.mark.parametrize("order", [1.0, 2.0, 17.0])
def test_gaussian_limits(order):
    """No offset and no centre: OSGT and flipped Huber are the Gaussian."""
    expected = hush.renyi(hush.Gaussian(1.4), order)
    for noise in (hush.OSGT(0.0, 1.4), hush.FlippedHuber(0.0, 1.4), hush.OSGT(1e-9, 1.4), hush.FlippedHuber(1e-9, 1.4)):
        assert hush.renyi(noise, order) == pytest.approx(expected, rel=1e-8)
    assert hush.renyi(hush.Stable(2.0, 1.4 / math.sqrt(2.0)), order) == pytest.approx(expected, rel=1e-12)


# -- the papers' bounds --------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(spread(1e-3, 30.0), spread(0.05, 4.0), st.floats(1.01, 40.0))
def test_theorem_2_dominates(r, d, order):
    """OSGT paper, Theorem 2, bounds the exact divergence; several coordinates likewise."""
    noise = hush.OSGT(r, 1.0)
    exact = paper_bounds.osgt_appendix_e(noise, order, d)
    assert paper_bounds.osgt_theorem2(noise, order, d) >= exact * (1.0 - 1e-9)
    assert paper_bounds.osgt_theorem2(noise, order, d * math.sqrt(3.0), k=3) >= 3.0 * exact * (1.0 - 1e-9)


@settings(max_examples=40)
@given(spread(1e-2, 30.0), spread(0.05, 4.0), st.floats(1.0, 20.0))
def test_theorem_9_dominates(b, d, order):
    """FH paper, Theorem 9."""
    noise = hush.FlippedHuber(b, 1.0)
    assert paper_bounds.flipped_huber_theorem9(noise, order, d) >= hush.renyi(noise, order, d)


def test_osgt_is_worse_than_gaussian_at_small_orders():
    """Erratum B.2.1: ratio 1.0516 at order 1 and 0.9968 at order 5 for the same variance."""
    noise = hush.OSGT(3.0, math.sqrt(40.0))
    same = hush.Gaussian(math.sqrt(noise.variance))
    assert hush.renyi(noise, 1.0) / hush.renyi(same, 1.0) == pytest.approx(1.0516, abs=5e-5)
    assert hush.renyi(noise, 5.0) / hush.renyi(same, 5.0) == pytest.approx(0.9968, abs=5e-5)


# -- conversions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "shift"), thinned([row for row in EVERY if not isinstance(row[0], hush.Stable)], 6), ids=str
)
def test_converted_delta_is_never_below_the_exact_one(noise, shift):
    """Renyi loses something on the way to (epsilon, delta), never gains; eq. (20) beats Mironov."""
    most = min(hush.epsilon(noise, 1e-6, shift), 8.0)
    converted = conversion.best_delta(lambda a: hush.renyi(noise, a, shift), 0.7 * most, largest_order=60.0)
    assert hush.delta(noise, 0.7 * most, shift) <= converted < 1.0


@settings(max_examples=300)
@given(spread(1.001, 1e4), spread(1e-6, 50.0), spread(1e-200, 0.5))
def test_conversions_agree_and_are_ordered(order, divergence, delta):
    """delta and epsilon forms of eq. (20) invert each other; Mironov's epsilon is never smaller."""
    e = conversion.rdp_to_epsilon(order, divergence, delta)
    assert conversion.rdp_to_epsilon_mironov(order, divergence, delta) >= e * (1.0 - 1e-12)
    if e > 0.0:
        # (order - 1)(t - e) is an exponent of a few hundred, so its ulp is felt
        slack = 1e-11 + 4e-15 * order * (e + divergence)
        assert conversion.rdp_to_delta(order, divergence, e) == pytest.approx(delta, rel=slack)
    else:
        assert conversion.rdp_to_delta(order, divergence, 0.0) <= delta * (1.0 + 1e-11)


def test_conversion_by_hand():
    """eq. (20) at 40 digits."""
    for order, t, e in ((5.0, 0.3, 1.0), (1.5, 0.01, 0.4), (300.0, 2.0, 3.0)):
        with mp.workdps(40):
            a = mp.mpf(order)
            truth = mp.exp((a - 1) * (mp.mpf(t) - mp.mpf(e))) / (a - 1) * (1 - 1 / a) ** a
        assert conversion.rdp_to_delta(order, t, e) == pytest.approx(float(truth), rel=1e-12)


@given(spread(1e-4, 10.0), spread(1e-200, 0.4))
def test_zcdp_and_tcdp(rho, delta):
    """rho + 2 sqrt(rho log(1/delta)); tCDP is that for a wide window and never less for a narrow one."""
    plain = conversion.zcdp_to_epsilon(rho, delta)
    assert plain == pytest.approx(rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta)), rel=1e-12)
    assert conversion.zcdp_to_epsilon(rho, delta, xi=0.25) == pytest.approx(plain + 0.25, rel=1e-12)
    assert conversion.tcdp_to_epsilon(rho, 1e9, delta) == pytest.approx(plain, rel=1e-12)
    for omega in (1.01, 1.5, 3.0, 30.0):
        assert conversion.tcdp_to_epsilon(rho, omega, delta) >= plain * (1.0 - 1e-12)


def test_zcdp_covers_the_gaussian():
    """A Gaussian is s^2/(2 sigma^2)-zCDP: the conversion's epsilon is above the exact one."""
    for sigma in (0.5, 2.0, 20.0):
        rho = 0.5 / sigma**2
        for delta in (1e-2, 1e-6, 1e-30):
            assert conversion.zcdp_to_epsilon(rho, delta) >= hush.epsilon(hush.Gaussian(sigma), delta)
            best = conversion.best_epsilon(lambda a, sigma=sigma: hush.renyi(hush.Gaussian(sigma), a), delta)
            assert (
                hush.epsilon(hush.Gaussian(sigma), delta)
                <= best
                <= conversion.zcdp_to_epsilon(rho, delta) * (1.0 + 1e-9)
            )


def test_mcdp():
    """Zhao, Lemma 7: two tails; a Gaussian with mu = d^2/2, tau = d is covered by it."""
    for sigma, e in ((1.0, 2.0), (3.0, 1.0), (0.5, 8.0)):
        d = 1.0 / sigma
        bound = conversion.mcdp_to_pdp(0.5 * d * d, d, e)
        assert hush.gaussian.pdp_delta(e, sigma) <= bound <= 1.0
        by_hand = math.exp(-((e - 0.5 * d * d) ** 2) / (2 * d * d)) + math.exp(-((e + 0.5 * d * d) ** 2) / (2 * d * d))
        assert bound == pytest.approx(by_hand, rel=1e-13)
