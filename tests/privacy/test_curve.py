"""The privacy curve both ways over random families and budgets: always an upper bound, and one with the attacker's
view.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hush
from hush.noise.contract import Noise

pytestmark = pytest.mark.filterwarnings("error")


def spread(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats uniform in their logarithm."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


ratio = st.one_of(st.just(0.0), spread(1e-6, 2000.0))
heights = st.lists(st.floats(0.05, 5.0), min_size=1, max_size=5)

#: name -> a noise in units of its scale, with the shifts (in those units) it is asked about
UNITS: dict[str, st.SearchStrategy[tuple[Noise, float]]] = {
    "Gaussian": st.tuples(st.just(hush.Gaussian(1.0)), spread(1e-6, 60.0)),
    "Laplace": st.tuples(st.just(hush.Laplace(1.0)), spread(1e-6, 700.0)),
    "OSGT": st.tuples(ratio.map(lambda r: hush.OSGT(r, 1.0)), spread(1e-6, 30.0)),
    "FlippedHuber": st.tuples(ratio.map(lambda r: hush.FlippedHuber(r, 1.0)), spread(1e-6, 30.0)),
    "TruncatedLaplace": st.tuples(spread(1e-2, 500.0).map(lambda b: hush.TruncatedLaplace(1.0, b)), spread(1e-6, 50.0)),
    "Staircase": st.tuples(
        st.builds(hush.Staircase, spread(1e-3, 20.0), st.just(1.0), st.floats(0.05, 0.95)), spread(1e-3, 20.0)
    ),
    "Stepped": st.tuples(
        st.one_of(
            st.builds(lambda h: hush.Stepped(1.0, tuple(sorted(h, reverse=True))), heights),
            st.builds(
                lambda h, q: hush.Stepped(1.0, tuple(sorted(h, reverse=True)), ratio=q, period=1),
                heights,
                st.floats(0.05, 0.9),
            ),
            st.builds(lambda h: hush.Stepped(1.0, tuple(h)), heights),
        ),
        spread(1e-2, 8.0),
    ),
    "Discrete": st.tuples(
        st.sampled_from(
            [hush.Discrete(hush.Gaussian(3.0)), hush.Discrete(hush.Laplace(2.0)), hush.Discrete(hush.OSGT(3.0, 5.0))]
        ),
        st.integers(1, 12).map(float),
    ),
    "Bump": st.tuples(
        st.builds(hush.Bump, st.sampled_from([4.0, 6.0, 12.5]), st.integers(3, 120).map(float)),
        st.integers(1, 12).map(float),
    ),
    "Stable": st.tuples(
        st.sampled_from(
            [
                hush.Stable(1.0, 1.0),
                hush.Stable(1.2, 1.0),
                hush.Stable(1.7, 1.0),
                hush.Stable(1.95, 1.0),
                hush.Stable(2.0, 1.0),
            ]
        ),
        st.sampled_from([0.01, 0.3, 1.0, 4.0]),
    ),
}
CASES = {"Gaussian": examples(30, 90), "Laplace": examples(30, 90), "Stable": examples(2, 5)}
DEFAULT = examples(12, 35)  # each example brings eight budgets


@st.composite
def released(draw: st.DrawFn, name: str) -> tuple[Noise, float]:
    """A noise and a sensitivity, the same shape at a scale from 1e-9 to 1e9."""
    noise, shift = draw(UNITS[name])
    if name in {"Discrete", "Bump", "Stable"}:
        return noise, shift
    k = draw(spread(1e-9, 1e9))
    return noise.scaled(k), shift * k


@pytest.mark.parametrize("name", UNITS)
def test_delta_does_not_depend_on_the_epsilons_beside_it(name):
    """A sum in another order differs in its last digit, and then epsilon(d) is not private for d."""

    @settings(max_examples=examples(3, 10))
    @given(released(name), st.lists(st.floats(0.0, 12.0), min_size=20, max_size=20))
    def check(pair, epsilons):
        noise, shift = pair
        together = hush.delta(noise, np.array(epsilons), shift)
        assert (together == [hush.delta(noise, e, shift) for e in epsilons]).all()
        assert (together[:5] == hush.delta(noise, np.array(epsilons[:5]), shift)).all()

    check()


one_delta = st.one_of(spread(1e-300, 0.49), spread(1e-12, 0.49), st.floats(0.49, 0.999))
many_deltas = st.lists(one_delta, min_size=8, max_size=8).map(np.array)


@pytest.mark.parametrize("name", UNITS)
def test_epsilon_of_delta_is_private(name):
    """delta(noise, epsilon(noise, d)) <= d: what is charged covers what is given, however small d is."""

    @settings(max_examples=CASES.get(name, DEFAULT))
    @given(released(name), many_deltas)
    def check(pair, d):
        noise, shift = pair
        e = hush.epsilon(noise, d, shift)
        assert (e >= 0.0).all()
        held = np.isfinite(e)
        assert (hush.delta(noise, np.where(held, e, 700.0), shift) <= d)[held].all()
        assert (hush.delta(noise, 700.0, shift) > d)[~held].all()
        alone = hush.epsilon(noise, float(d[0]), shift)
        if math.isfinite(alone):
            assert hush.delta(noise, alone, shift) <= d[0]
        # and tight: a little less epsilon is not enough, unless epsilon is 0 or the pure one, where delta falls to 0
        # at once
        inner = held & (e > 1e-6) & (e < hush.epsilon(noise, 0.0, shift) * (1.0 - 1e-9))
        assert (hush.delta(noise, np.where(inner, e * (1.0 - 1e-8) - 1e-12, 0.0), shift) > d)[inner].all()

    check()


@pytest.mark.parametrize(
    ("noise", "shift", "d"),
    [
        (hush.Stepped(1.0, (1.5, 1.0), ratio=0.375, period=1), 1.0, math.exp(-1.5)),
        (hush.Stable(1.2, 1.0), 1.0, 9.904674964312847e-06),
        (hush.Stable(1.7, 1.0), 0.3, 3.147169357424673e-06),
        (hush.Stable(1.95, 1.0), 4.0, 1e-6),
        (hush.Gaussian(1.0), 1.0, 1e-6),
    ],
    ids=str,
)
def test_an_answer_does_not_depend_on_its_company(noise, shift, d):
    """delta alone is delta in an array, to the bit: the search for epsilon asks for many at once, the user for one."""
    e = hush.epsilon(noise, d, shift)
    assert hush.delta(noise, e, shift) <= d
    for others in (1, 2, 7, 18, 33):
        crowd = np.concatenate([np.linspace(0.01, 0.99, others) * e, [e]])
        assert hush.delta(noise, crowd, shift)[-1] == hush.delta(noise, e, shift)


@pytest.mark.parametrize("name", UNITS)
def test_brackets_are_ordered_and_narrow(name):
    """Both brackets hold together; the ends agree with the public functions."""
    budget = st.one_of(st.just(0.0), spread(1e-9, 700.0), spread(1e-9, 5.0).map(lambda e: -e))

    @settings(max_examples=min(CASES.get(name, DEFAULT), examples(6, 12)))
    @given(released(name), many_deltas, st.lists(budget, min_size=8, max_size=8).map(np.array))
    def check(pair, d, e):
        noise, shift = pair
        curve = hush.curve(noise, shift)
        there = curve.delta_bracket(e)
        assert ((there.lower >= 0.0) & (there.lower <= there.upper) & (there.upper <= 1.0)).all()
        np.testing.assert_array_equal(there.upper, hush.delta(noise, e, shift))
        back = curve.epsilon_bracket(d)
        assert ((back.lower >= 0.0) & (back.lower <= back.upper)).all()
        np.testing.assert_array_equal(back.upper, hush.epsilon(noise, d, shift))
        if not isinstance(noise, hush.Stable):
            assert (there.width <= 4e-12 * there.upper + 1e-320).all()

    check()


@pytest.mark.parametrize("name", UNITS)
def test_epsilon_and_delta_are_monotone(name):
    """More delta needs no more epsilon; more epsilon gives no more delta; a smaller shift is never worse."""

    @settings(max_examples=CASES.get(name, DEFAULT))
    @given(released(name), spread(1e-200, 0.4), st.floats(1.0001, 1e3), spread(1e-9, 40.0), st.floats(0.001, 5.0))
    def check(pair, d, more, e, step):
        noise, shift = pair
        assume(d * more < 0.99)
        assert hush.epsilon(noise, d * more, shift) <= hush.epsilon(noise, d, shift) * (1.0 + 1e-12)
        assert hush.delta(noise, e + step, shift) <= hush.delta(noise, e, shift) * (1.0 + 2e-12)
        if not noise.discrete:
            assert hush.delta(noise, e, 0.7 * shift) <= hush.delta(noise, e, shift) * (1.0 + 2e-12)

    check()


def test_arrays_equal_scalars():
    """An array of budgets gives what each would give alone, shape kept."""
    e, d = np.array([[0.0, 0.3], [-1.0, 8.0]]), np.array([[1e-300, 1e-6], [0.3, 0.0]])
    for noise in (
        hush.Gaussian(0.7),
        hush.Laplace(1.3),
        hush.OSGT(2.0, 1.0),
        hush.FlippedHuber(2.0, 1.5),
        hush.Staircase(1.0),
        hush.Stable(1.5, 1.0),
    ):
        there, back = hush.delta(noise, e), hush.epsilon(noise, d)
        assert there.shape == back.shape == (2, 2)
        np.testing.assert_allclose(there.ravel(), [hush.delta(noise, float(x)) for x in e.ravel()], rtol=1e-13)
        np.testing.assert_allclose(back.ravel(), [hush.epsilon(noise, float(x)) for x in d.ravel()], rtol=1e-13)


# -- pure epsilon --------------------------------------------------------------------------------------------


@given(spread(1e-6, 1e6), spread(1e-6, 1e6))
def test_pure_epsilon_of_laplace(scale, shift):
    """shift/scale, rounded up by no more than a few units."""
    pure = hush.epsilon(hush.Laplace(scale), 0.0, shift)
    with mp.workdps(40):
        truth = mp.mpf(shift) / mp.mpf(scale)
        assert truth <= mp.mpf(pure) <= truth * (1 + mp.mpf("1e-15"))
    assert hush.delta(hush.Laplace(scale), pure, shift) == 0.0


@given(spread(1e-3, 50.0), spread(1e-6, 1e6), st.integers(1, 6))
def test_pure_epsilon_of_staircase(epsilon, reach, steps):
    """One level per sensitivity: n epsilon at n sensitivities."""
    noise = hush.Staircase(epsilon, reach, 0.3)
    assert hush.epsilon(noise, 0.0, reach) == pytest.approx(epsilon, rel=1e-14)
    pure = hush.epsilon(noise, 0.0, steps * reach)
    assert (
        steps * epsilon * (1.0 - 1e-14) <= pure <= (steps + 1) * epsilon * (1.0 + 1e-12)
    )  # n * reach may round across a step


@given(spread(1e-4, 1e4))
def test_pure_epsilon_of_cauchy(s):
    """alpha = 1: 2 asinh(s/2)."""
    with mp.workdps(40):
        truth = 2 * mp.asinh(mp.mpf(s) / 2)
        pure = mp.mpf(hush.epsilon(hush.Stable(1.0, 1.0), 0.0, s))
        assert truth <= pure <= truth * (1 + mp.mpf("5e-15"))


@pytest.mark.parametrize("alpha", [1.3, 1.7, 1.9])
def test_pure_epsilon_of_stable_is_the_supremum(alpha):
    """A dense scan of the log ratio stays below it and comes within 1e-6."""
    noise, shift = hush.Stable(alpha, 1.0), 1.5
    x = np.concatenate([np.linspace(0.0, 12.0, 40001), np.geomspace(12.0, 1e4, 2000)])
    seen = float((noise.logpdf(x) - noise.logpdf(x + shift)).max())
    pure = hush.epsilon(noise, 0.0, shift)
    assert seen <= pure
    assert pure == pytest.approx(seen, rel=1e-6)


@pytest.mark.parametrize(
    "noise",
    [
        hush.Gaussian(1.0),
        hush.OSGT(3.0, 1.0),
        hush.FlippedHuber(3.0, 1.0),
        hush.TruncatedLaplace(1.0, 9.0),
        hush.Stable(2.0, 1.0),
    ],
    ids=str,
)
def test_no_pure_epsilon(noise):
    """Gaussian tails and bounded supports have none."""
    assert math.isinf(hush.epsilon(noise, 0.0))
    assert math.isinf(hush.curve(noise).epsilon(0.0))
    assert hush.delta(noise, 600.0) > 0.0


# -- the attacker's view -------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(spread(1e-4, 30.0), spread(1e-250, 0.999))
def test_gaussian_tradeoff_is_a_lower_bound_and_tight(d, alpha):
    """The trade-off is close to Phi(Phi^-1(1 - alpha) - d) and never above it."""
    beta = hush.curve(hush.Gaussian(1.0), d).tradeoff(alpha)
    with mp.workdps(60):
        a = mp.mpf(alpha)
        z = mp.findroot(lambda z: mp.log(mp.erfc(z / mp.sqrt(2)) / (2 * a)), mp.mpf(hush.Gaussian(1.0).isf(alpha)))
        truth = mp.erfc((mp.mpf(d) - z) / mp.sqrt(2)) / 2
        assert mp.mpf(beta) <= truth
        assert mp.mpf(beta) >= truth * (1 - mp.mpf("1e-11"))


@pytest.mark.parametrize(
    "name",
    ["Gaussian", "Laplace", "OSGT", "FlippedHuber", "TruncatedLaplace", "Staircase", "Stepped", "Discrete", "Stable"],
)
def test_tradeoff_and_curve_tell_the_same_story(name):
    """Every (epsilon, delta) line lies below the trade-off, and the best line meets it."""

    @settings(max_examples=4 if name == "Stable" else 20)
    @given(UNITS[name], st.floats(0.001, 0.999))
    def check(pair, alpha):
        noise, shift = pair
        curve = hush.curve(noise, shift)
        beta = float(curve.tradeoff(alpha))
        assert 0.0 <= beta <= (1.0 - alpha) * (1.0 + 1e-12)
        assert alpha + beta >= curve.least_error_sum - 1e-12
        most = min(float(hush.epsilon(noise, 0.0, shift)), 12.0)
        low, high, best = -most, most, 0.0
        for _ in range(3):  # lines are concave in e^epsilon: the best of all lies beside the best of a grid
            e = np.linspace(low, high, 201)
            lines = 1.0 - hush.delta(noise, e, shift) - np.exp(e) * alpha
            top, best = int(lines.argmax()), max(best, float(lines.max()))
            low, high = e[max(top - 1, 0)], e[min(top + 1, 200)]
        assert best <= beta + 1e-11
        # at a corner a line falls short by its distance from it at most: no slope is steeper than 1 where the line is
        # above 0
        assert best >= beta - (high - low) - 1e-9

    check()


@pytest.mark.parametrize(
    "noise",
    [hush.Laplace(1.0), hush.OSGT(1.0, 2.0), hush.FlippedHuber(2.0, 1.0), hush.TruncatedLaplace(1.0, 4.0)],
    ids=str,
)
def test_tradeoff_ends(noise):
    """alpha = 0 leaves what the supports do not tell apart; alpha = 1 leaves nothing."""
    curve = hush.curve(noise)
    assert curve.tradeoff(1.0) == 0.0
    expected = float(noise.cdf(noise.support - 1.0)) if math.isfinite(noise.support) else 1.0
    assert curve.tradeoff(0.0) == pytest.approx(expected, rel=1e-11)
    beta = curve.tradeoff(np.linspace(0.0, 1.0, 101))
    assert (np.diff(beta) <= 1e-12).all()
    assert (np.diff(beta, 2) >= -1e-11).all()  # convex


def test_least_error_sum():
    """1 - delta(0): for a Gaussian 2 Q(d/2), for Laplace e^(-d/2)."""
    assert hush.curve(hush.Gaussian(1.0), 1.0).least_error_sum == pytest.approx(
        math.erfc(0.5 / math.sqrt(2.0)), rel=1e-12
    )
    assert hush.curve(hush.Laplace(1.0), 1.0).least_error_sum == pytest.approx(math.exp(-0.5), rel=1e-12)
    assert hush.curve(hush.TruncatedLaplace(1.0, 1.0), 3.0).least_error_sum == 0.0


@given(st.floats(0.0, 600.0), st.floats(0.0, 0.9))
def test_error_sum(epsilon, delta):
    """2 (1 - delta)/(1 + e^epsilon), and no curve that keeps (epsilon, delta) lets the attacker below it."""
    with mp.workdps(40):
        truth = 2 * (1 - mp.mpf(delta)) / (1 + mp.exp(mp.mpf(epsilon)))
        assert float(hush.error_sum(epsilon, delta) / truth - 1) == pytest.approx(0.0, abs=1e-13)
    assert hush.error_sum(epsilon, delta) <= hush.error_sum(epsilon, 0.0)


@given(spread(1e-3, 20.0))
def test_error_sum_bounds_the_attacker(e):
    """Laplace with pure epsilon e keeps p + q above 2/(1 + e^e)."""
    assert hush.curve(hush.Laplace(1.0), e).least_error_sum >= hush.error_sum(e, 0.0) * (1.0 - 1e-12)


@given(spread(1e-12, 1.0))
def test_error_sum_inverts(least):
    """epsilon_for_error_sum is the inverse of error_sum."""
    assert hush.error_sum(hush.epsilon_for_error_sum(least), 0.0) == pytest.approx(least, rel=1e-13)


# -- noises that are not unimodal ----------------------------------------------------------------------------


def comb() -> hush.Stepped:
    """High and low cells in turn: a shift by two cells puts teeth on teeth, a shift by one puts them on gaps."""
    return hush.Stepped(1.0, (1.0, 0.05, 1.0, 0.05, 1.0, 0.05, 1.0, 0.05))


def test_comb_is_charged_for_its_worst_smaller_shift():
    """The bound for a sensitivity of two cells is the one-cell value, far above what the full shift alone shows."""
    noise = comb()
    assert not noise.unimodal
    for e in (0.0, 0.5, 2.0):
        at_two = float(np.asarray(noise.surplus(noise.exceeds(e, 2.0), np.asarray(e), 2.0)))
        at_one = float(np.asarray(noise.surplus(noise.exceeds(e, 1.0), np.asarray(e), 1.0)))
        assert at_one > 1.5 * at_two
        assert hush.delta(noise, e, 2.0) == pytest.approx(at_one, rel=1e-12)
        assert hush.delta(noise, e, 2.0) >= hush.delta(noise, e, 1.0) * (1.0 - 1e-12)


@settings(max_examples=150)
@given(heights, spread(0.05, 6.0), st.floats(0.0, 3.0), st.floats(0.01, 1.0))
def test_ragged_steps_are_charged_for_every_smaller_shift(h, shift, e, share):
    """No smaller shift, on or off the cells' grid, beats the reported delta."""
    noise = hush.Stepped(1.0, tuple(h))
    smaller = share * shift
    there = float(np.asarray(noise.surplus(noise.exceeds(e, smaller), np.asarray(e), smaller)))
    assert there <= hush.delta(noise, e, shift) * (1.0 + 1e-11) + 1e-15


def test_staircase_is_a_stepped_noise():
    """The same law written as steps has the same curve."""
    b = math.exp(-0.8)
    stairs, steps = hush.Staircase(0.8, 2.0, 0.25), hush.Stepped(0.5, (1.0, b, b, b), ratio=b, period=4)
    assert steps.variance == pytest.approx(stairs.variance, rel=1e-13)
    for e in (0.0, 0.3, 0.79):
        for shift in (0.5, 1.3, 2.0, 3.1):
            assert hush.delta(steps, e, shift) == pytest.approx(hush.delta(stairs, e, shift), rel=1e-12)


# -- limits --------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(spread(1e-3, 20.0), spread(1e-6, 100.0))
def test_shapes_without_an_offset_are_gaussian(d, e):
    """OSGT with m = 0, flipped Huber with alpha = 0 and stable with alpha = 2 are the Gaussian, to the last digits."""
    plain = hush.delta(hush.Gaussian(1.0), e, d)
    assert hush.delta(hush.OSGT(0.0, 1.0), e, d) == pytest.approx(plain, rel=1e-13)
    assert hush.delta(hush.FlippedHuber(0.0, 1.0), e, d) == pytest.approx(plain, rel=1e-13)
    assert hush.delta(hush.Stable(2.0, 1.0), e, d * math.sqrt(2.0)) == pytest.approx(plain, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("d", [0.3, 1.0, 5.0])
def test_large_offsets_are_laplace(d):
    """m/sigma = alpha/gamma = 2000 is Laplace with scale sigma^2/m; flipped Huber to all digits, OSGT up to
    (sigma/m)^2.
    """
    for e in (0.0, 0.2 * d, 0.9 * d):
        plain = hush.delta(hush.Laplace(1.0), e, d)
        assert hush.delta(hush.FlippedHuber(2000.0**2, 2000.0), e, d) == pytest.approx(plain, rel=1e-11)
        assert hush.delta(hush.OSGT(2000.0**2, 2000.0), e, d) == pytest.approx(plain, rel=1e-5)


# -- Gaussian vectors ----------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(spread(0.2, 50.0), st.integers(1, 400), st.integers(1, 300), st.floats(0.0, 20.0))
def test_gaussian_vectors_and_repeats(sigma, l0, times, e):
    """l0 coordinates of linf, released several times, are one number with sensitivity sqrt(times l0) linf; likewise
    for l2.
    """
    noise = hush.Gaussian(sigma)
    whole = math.sqrt(times * l0) * 0.5
    expected = hush.delta(noise, e, whole)
    # an ulp in the sensitivity moves log delta by about y^2 ulps
    slack = 1e-12 + 4e-15 * (e * sigma / whole) ** 2
    assert hush.delta(noise, e, hush.Sensitivity(linf=0.5, l0=l0), times=times) == pytest.approx(
        expected, rel=slack, abs=1e-320
    )
    assert hush.delta(noise, e, hush.Sensitivity(l2=0.5 * math.sqrt(l0)), times=times) == pytest.approx(
        expected, rel=slack, abs=1e-320
    )


def test_gaussian_l1_is_charged_as_l2():
    """l2 <= l1."""
    assert hush.delta(hush.Gaussian(2.0), 0.5, hush.Sensitivity(l1=1.5)) == hush.delta(hush.Gaussian(2.0), 0.5, 1.5)


def test_pure_epsilon_that_floats_cannot_hold():
    """1/3 in floats is below 1/3: a trace of delta is left, and none where the quotient is exact."""
    assert 9e-18 < hush.delta(hush.Laplace(3.0), 1.0 / 3.0) < 9.4e-18
    assert hush.delta(hush.Laplace(2.0), 0.5) == 0.0
    assert hush.delta(hush.Staircase(1.0), 1.0) == 0.0


def test_truncated_laplace_at_a_tiny_shift():
    """The edge's mass is the shift times the density there, however small."""
    noise = hush.TruncatedLaplace(1.0, 40.0)
    for shift in (1e-9, 1e-15):
        truth = math.exp(-40.0) * math.expm1(shift) / (2.0 * -math.expm1(-40.0))
        assert hush.delta(noise, 1.0, shift) == pytest.approx(truth, rel=1e-12)
        assert hush.delta(noise, 1.0, shift) >= truth


def test_flipped_huber_across_the_centre():
    """A shift beyond the Laplace centre with the crossing on the other side of zero: truth by quadrature."""
    from scipy.integrate import quad

    noise, epsilon, shift = hush.FlippedHuber(1.0, 1.0), 3.0, 3.0

    def gain(x: float) -> float:
        return max(noise.pdf(x) - math.exp(epsilon) * noise.pdf(x - shift), 0.0)

    truth = sum(quad(gain, a, b, epsabs=1e-13)[0] for a, b in ((-12, -1), (-1, 0), (0, 0.5), (0.5, 1), (1, 4)))
    assert hush.delta(noise, epsilon, shift) == pytest.approx(truth, rel=1e-6)
