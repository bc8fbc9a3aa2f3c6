"""Twofold arithmetic, Mills ratios, log space, roots, brackets and quadrature against exact values."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hush import Bracket, NotCertified
from hush.numerics.bracket import around, unwrap
from hush.numerics.logspace import exp_excess, log1mexp, log_difference
from hush.numerics.mills import drop, mean_excess, mills, moment_ratios
from hush.numerics.quadrature import gauss, integral, panels
from hush.numerics.root import bracket_upwards, safe_root
from hush.numerics.twofold import Twofold

pytestmark = pytest.mark.filterwarnings("error")

moderate = st.floats(1e-60, 1e60) | st.floats(-1e60, -1e-60)
#: Low parts in half ulps; none is so small that the low part is subnormal, because half of a subnormal is rounded.
low_parts = st.floats(-0.99, 0.99).map(lambda share: share if abs(share) > 1e-200 else 0.0)


def exact(value: Twofold) -> Fraction:
    return Fraction(float(value.hi)) + Fraction(float(value.lo))


def pair(hi: float, share: float) -> Twofold:
    """The Twofold of `hi` and a low part of at most half an ulp."""
    return Twofold(hi, hi * share * 2.0**-53)


# -- twofold -------------------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(moderate, moderate, low_parts, low_parts)
def test_twofold_operations_to_thirty_digits(a, b, p, q):
    """Sum, difference, product and quotient against exact rationals; sums are relative to the size of the operands."""
    x, y = pair(a, p), pair(b, q)
    fx, fy = exact(x), exact(y)
    error = Fraction(1, 10**30)
    assert abs(exact(x * y) - fx * fy) <= error * abs(fx * fy)
    assert abs(exact(x / y) - fx / fy) <= error * abs(fx / fy)
    assert abs(exact(x + y) - (fx + fy)) <= error * (abs(fx) + abs(fy))
    assert abs(exact(x - y) - (fx - fy)) <= error * (abs(fx) + abs(fy))
    assert exact(x.halved()) == fx / 2
    assert exact(-x) == -fx


@given(moderate, moderate)
def test_sums_and_products_of_floats_are_exact(a, b):
    """Error-free transformations: hi + lo is the exact result."""
    assert exact(Twofold(a) + b) == Fraction(a) + Fraction(b)
    assert exact(Twofold(a) * b) == Fraction(a) * Fraction(b)
    assert exact(a - Twofold(b)) == Fraction(a) - Fraction(b)


@given(st.floats(1e-100, 1e100), low_parts)
def test_twofold_square_root(a, p):
    """The square of the root is the number, to 1e-30."""
    x = pair(a, p)
    root = exact(x.sqrt())
    assert abs(root * root - exact(x)) <= Fraction(1, 10**30) * exact(x)
    assert float(Twofold(0.0).sqrt().value()) == 0.0


@given(st.floats(-700.0, 700.0), low_parts)
def test_twofold_exponentials(a, p):
    """exp and expm1 of the full value, to a few units."""
    x = pair(a, p)
    with mp.workdps(50):
        power = mp.mpf(float(x.hi)) + mp.mpf(float(x.lo))
        assert abs(float(mp.mpf(float(x.exp())) / mp.exp(power) - 1)) <= 5e-16
        if a != 0.0 and abs(a) > 1e-300:
            assert abs(float(mp.mpf(float(x.expm1())) / mp.expm1(power) - 1)) <= 1e-15


def test_twofold_is_vectorised():
    """Operations work elementwise on arrays; `where` and `put` select elements."""
    x = Twofold(np.array([1.0, 2.0, 3.0])) / 3.0
    assert x[1:].hi.shape == (2,)
    chosen = x.where(np.array([True, False, True]), 7.0)
    assert chosen.hi.tolist() == [x.hi[0], 7.0, x.hi[2]]
    y = Twofold(np.zeros(3), np.zeros(3))
    y.put(np.array([False, True, False]), x[1:2])
    assert y.hi[1] == x.hi[1]
    assert y.lo[1] == x.lo[1]
    assert (np.ones(3) + x).hi.shape == (3,)


# -- Mills ratios --------------------------------------------------------------------------------------------


def true_mills(x: mp.mpf) -> mp.mpf:
    return mp.sqrt(mp.pi / 2) * mp.erfc(x / mp.sqrt(2)) * mp.exp(x * x / 2)


def log_uniform(rng: np.random.Generator, low: float, high: float, size: int) -> np.ndarray:
    return np.exp(rng.uniform(math.log(low), math.log(high), size))


def test_drop_against_mpmath():
    """M(x) - M(x + d) over x from 0 to 1e5 and d from 1e-12 to 1e3, within 2e-14 and always positive."""
    rng = np.random.default_rng(3)
    x = np.concatenate([[0.0] * 30, log_uniform(rng, 1e-6, 1e5, 300), rng.uniform(2.5, 3.5, 40)])
    d = log_uniform(rng, 1e-12, 1e3, x.size)
    ours = drop(x, d)
    assert (ours > 0.0).all()
    with mp.workdps(60):
        for a, b, value in zip(x, d, ours, strict=True):
            truth = true_mills(mp.mpf(float(a))) - true_mills(mp.mpf(float(a)) + mp.mpf(float(b)))
            assert abs(float(mp.mpf(float(value)) / truth - 1)) <= 2e-14, (a, b)
    assert float(drop(1.0, 0.0)) == 0.0


def test_mills_and_moments_against_mpmath():
    """M, 1 - xM, and the ratios of moments of exp(-t^2/2 - rt)."""
    with mp.workdps(60):
        for x in [0.0, 1e-9, 0.3, 0.999, 1.0, 1.001, 2.9, 3.1, 14.0, 38.0, 2000.0, 1e8]:
            m = true_mills(mp.mpf(x))
            assert float(mills(x) / m - 1) == pytest.approx(0.0, abs=1e-15)
            assert float(mean_excess(x) / (1 - mp.mpf(x) * m) - 1) == pytest.approx(0.0, abs=2e-14)
            first, second = moment_ratios(x)
            mean = (1 - mp.mpf(x) * m) / m
            square = 1 - mp.mpf(x) * mean  # E t^2 = 1 - r E t by parts
            assert float(mp.mpf(float(first)) / mean - 1) == pytest.approx(0.0, abs=2e-14)
            assert float(mp.mpf(float(second)) * mean / square - 1) == pytest.approx(0.0, abs=2e-14)


# -- log space -----------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.floats(-745.0, -1e-300))
def test_log1mexp(x):
    """log(1 - e^x) at both ends."""
    with mp.workdps(400):
        truth = mp.log(-mp.expm1(mp.mpf(x)))
    assert float(log1mexp(x)) == pytest.approx(float(truth), rel=4e-16, abs=1e-323)


def test_log1mexp_ends():
    """-inf at 0, 0 at -inf, no warning."""
    assert float(log1mexp(0.0)) == -math.inf
    assert float(log1mexp(-math.inf)) == 0.0


@settings(max_examples=300)
@given(st.floats(-700.0, 700.0) | st.floats(-1e-3, 1e-3) | st.floats(-0.51, 0.51))
def test_exp_excess(x):
    """e^x - 1 - x, never negative."""
    with mp.workdps(700):
        truth = mp.exp(mp.mpf(x)) - 1 - mp.mpf(x)
    assert float(exp_excess(x)) >= 0.0
    assert float(exp_excess(x)) == pytest.approx(float(truth), rel=2e-15, abs=1e-323)


@given(st.floats(-700.0, 300.0), st.floats(0.0, 600.0))
def test_log_difference(larger, gap):
    """log(e^a - e^b)."""
    assume(gap == 0.0 or gap > 1e-12)
    smaller = larger - gap
    ours = float(log_difference(larger, smaller))
    if smaller == larger:
        assert ours == -math.inf
        return
    with mp.workdps(60):
        truth = mp.log(mp.exp(mp.mpf(larger)) - mp.exp(mp.mpf(smaller)))
    assert ours == pytest.approx(float(truth), rel=1e-13, abs=1e-12)
    assert float(log_difference(larger, -math.inf)) == larger


# -- roots that end on the safe side -------------------------------------------------------------------------

KINKED = {
    "smooth": lambda x, r: r - x,
    "cubic": lambda x, r: (r - x) ** 3,
    "flat then steep": lambda x, r: np.where(x < r, 1e-9, r - x - 1.0),
    "corner": lambda x, r: np.where(x < r, 5.0 * (r - x) + 1e-300, (r - x) * 1e-6),
    "jump": lambda x, r: np.where(x < r, 1.0, -1.0),
    "infinite": lambda x, r: np.where(x < r, np.inf, -np.inf),
    "wide range": lambda x, r: np.where(
        x < r, np.expm1(np.minimum(r - x, 700.0)) + 1e-300, -np.expm1(np.minimum(x - r, 700.0))
    ),
}


@pytest.mark.parametrize("shape", KINKED)
@pytest.mark.parametrize("root", [1e-9, 0.3, 7.0, 12345.678])
def test_safe_root_ends_on_the_safe_side(shape, root):
    """The second end is safe, the first is not, and they are neighbours, in either direction."""
    function = lambda x: KINKED[shape](x, root)  # noqa: E731
    unsafe, safe = safe_root(function, np.array([0.0, root / 2]), np.array([1e6, root * 3]))
    assert (function(safe) <= 0.0).all()
    assert (function(unsafe) > 0.0).all()
    assert (np.abs(safe - unsafe) <= 1e-15 * np.abs(safe)).all()
    down = lambda x: -function(x) + np.where(function(x) == 0.0, 1e-300, 0.0)  # noqa: E731  positive above the root
    unsafe, safe = safe_root(down, np.array([1e6]), np.array([0.0]))
    assert (down(safe) <= 0.0).all()
    assert (down(unsafe) > 0.0).all()
    assert (np.abs(safe - unsafe) <= 1e-15 * np.abs(unsafe)).all()


def test_safe_root_needs_a_bracket():
    """If both ends are on one side, it raises an error."""
    with pytest.raises(NotCertified):
        safe_root(lambda x: 1.0 + 0.0 * x, 0.0, 1.0)
    with pytest.raises(NotCertified):
        safe_root(lambda x: -1.0 + 0.0 * x, 0.0, 1.0)


def test_bracket_upwards():
    """The first safe point and the last unsafe one; inf where there is none."""
    goal = np.array([0.5, 3.0, 1e5])
    unsafe, safe = bracket_upwards(lambda x: goal - x, np.ones(3))
    assert (goal - safe <= 0.0).all()
    assert ((goal - unsafe > 0.0) | (unsafe == 0.0)).all()
    _, never = bracket_upwards(lambda x: np.ones_like(x), np.ones(1))
    assert np.isinf(never).all()


# -- brackets and quadrature ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ends", [(1.0, 0.5), (math.nan, 1.0), (0.0, math.nan), (np.array([0.0, 2.0]), np.array([1.0, 1.0]))]
)
def test_crossed_brackets_are_refused(ends):
    """A bracket with lower > upper or NaN raises an error."""
    with pytest.raises(NotCertified):
        Bracket(*ends)


def test_bracket_answers():
    """Width, middle and contains; single numbers are returned as floats."""
    one = Bracket(1.0, 2.0)
    assert (one.width, one.middle, one.contains(1.5), one.contains(2.5)) == (1.0, 1.5, True, False)
    assert isinstance(one.lower, float)
    many = Bracket(np.array([0.0, math.inf]), np.array([1.0, math.inf]))
    assert many.width.tolist() == [1.0, 0.0]
    assert many.contains(0.5).tolist() == [True, False]
    assert 0.5 <= Bracket(0.5, 1.7e308).middle <= 1.7e308
    assert isinstance(unwrap(np.float64(3.0)), float)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1e-10))
def test_around_contains(value, relative):
    """The bracket contains every number within the stated relative error."""
    bracket = around(value, relative)
    with mp.workdps(40):
        for end in (1 + mp.mpf(relative), 1 - mp.mpf(relative), mp.mpf(1)):
            assert mp.mpf(bracket.lower) <= mp.mpf(value) * end <= mp.mpf(bracket.upper)
    assert bracket.upper > 0.0


def test_integral_is_a_bracket_of_the_truth():
    """For smooth integrands, kinks and peaks the exact value is inside, and the bracket is narrow."""
    cases = [
        (lambda x: np.exp(-0.5 * x * x), np.linspace(-40.0, 40.0, 9), math.sqrt(2.0 * math.pi), 1e-12),
        (lambda x: np.exp(-np.abs(x)), np.array([-60.0, 0.0, 60.0]), 2.0 * -math.expm1(-60.0), 1e-12),
        (lambda x: 1.0 / (1e-4 + x * x), np.array([-1.0, 1.0]), 2.0 / 1e-2 * math.atan(1e2), 1e-11),
    ]
    for function, edges, truth, width in cases:
        found = integral(function, edges)
        assert found.lower <= truth * (1.0 + 1e-14)
        assert found.upper >= truth * (1.0 - 1e-14)
        assert found.width <= width * truth


def test_gauss_and_panels():
    """Exact for polynomials, cut at the given points."""
    nodes, weights = gauss(7)
    assert float(np.sum(weights * nodes**12)) == pytest.approx(1.0 / 13.0, rel=1e-13)
    x, w = panels(-1.0, 2.0, [0.0, 5.0], pieces=4)
    assert float(np.sum(w * np.abs(x))) == pytest.approx(2.5, rel=1e-14)
