"""The contract of `Law`, checked on every family that hush exports.

All public subclasses of Law are found automatically. Each needs at least one example below, or the first test fails.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import numpy as np
import pytest

import hush
from hush.noise import catalogue
from hush.noise.contract import Law

pytestmark = pytest.mark.filterwarnings("error")

EXAMPLES: dict[str, list[tuple[Law, float]]] = {
    # (noise, shift); add a line here for a new family
    "Gaussian": [(hush.Gaussian(1.0), 1.0), (hush.Gaussian(4.0), 0.5), (hush.Gaussian(0.3), 2.0)],
    "Laplace": [(hush.Laplace(1.0), 1.0), (hush.Laplace(0.2), 1.0), (hush.Laplace(30.0), 2.5)],
    "OSGT": [
        (hush.OSGT(3.0, math.sqrt(40.0)), 1.0),
        (hush.OSGT(0.0, 2.0), 1.0),
        (hush.OSGT(20.0, 2.0), 1.0),
        (hush.OSGT(0.1, 1.0), 3.0),
    ],
    "FlippedHuber": [
        (hush.FlippedHuber(31.9, 10.3), 1.0),
        (hush.FlippedHuber(0.0, 2.0), 1.0),
        (hush.FlippedHuber(0.4, 1.5), 1.0),
        (hush.FlippedHuber(2.0, 1.0), 3.0),
        (hush.FlippedHuber(0.01, 1.0), 0.5),
    ],
    "Stable": [
        (hush.Stable(1.0, 1.0), 1.0),
        (hush.Stable(1.5, 2.0), 1.0),
        (hush.Stable(1.9, 0.5), 1.0),
        (hush.Stable(2.0, 1.0), 1.0),
    ],
    "Staircase": [
        (hush.Staircase(1.0), 1.0),
        (hush.Staircase(0.3, 2.0, 0.2), 1.3),
        (hush.Staircase(3.0, 1.0, 0.5), 2.5),
    ],
    "TruncatedLaplace": [
        (hush.TruncatedLaplace(1.0, 5.0), 1.0),
        (hush.TruncatedLaplace(3.3, 40.0), 1.0),
        (hush.TruncatedLaplace(1.0, 0.4), 0.3),
    ],
    "Stepped": [
        (hush.Stepped(0.5, (4.0, 3.0, 1.0)), 0.7),
        (hush.Stepped(1.0, (2.0, 1.0), ratio=0.4, period=2), 1.0),
        (hush.Stepped(0.25, (5.0, 3.0, 3.0, 1.0), ratio=0.5, period=3), 0.6),
        (hush.Stepped(1.0, (1.0, 2.0)), 3.5),
    ],
    "ExponentialPower": [
        (hush.ExponentialPower(1.5, 1.0), 1.0),
        (hush.ExponentialPower(1.1, 0.4), 1.0),
        (hush.ExponentialPower(2.0, 3.0), 1.0),
    ],
    "Asinh": [(hush.Asinh(1.0, 1.0), 1.0), (hush.Asinh(0.2, 2.0), 1.0), (hush.Asinh(5.0, 0.5), 0.3)],
    "Skellam": [(hush.Skellam(2.0), 1.0), (hush.Skellam(30.0), 3.0), (hush.Skellam(1.0, 0.25), 0.5)],
    "Bump": [(hush.Bump(6.0, 20.0), 1.0), (hush.Bump(12.0, 90.5), 3.0), (hush.Bump(2.5, 4.0, 0.25), 0.5)],
    "Discrete": [
        (hush.Discrete(hush.OSGT(3.0, math.sqrt(40.0))), 1.0),
        (hush.Discrete(hush.Gaussian(2.0), 0.5), 1.0),
        (hush.Discrete(hush.Laplace(3.0)), 2.0),
        (hush.Discrete(hush.FlippedHuber(2.0, 1.0), 0.25), 0.75),
    ],
}


def families() -> dict[str, type[Law]]:
    """Every concrete noise that hush exports."""
    found = {
        name: obj
        for name, obj in vars(hush).items()
        if inspect.isclass(obj) and issubclass(obj, Law) and obj is not Law
    }
    return {name: obj for name, obj in found.items() if not inspect.isabstract(obj)}


def instances() -> list[object]:
    rows = [(noise, shift) for name in families() for noise, shift in EXAMPLES.get(name, [])]
    return [pytest.param(noise, shift, id=f"{noise}-{shift}".replace(" ", "")[:90]) for noise, shift in rows]


every = pytest.mark.parametrize(("noise", "shift"), instances())


# -- sums and integrals by methods that the library does not use ----------------------------------------------


def lattice(noise: Law, reach: float = 1e-40) -> np.ndarray:
    """All lattice points out to a tail of `reach`."""
    assert noise.discrete
    end = int(noise.isf(reach) / noise.step) + 3
    return np.arange(-end, end + 1) * noise.step


def jumps(noise: Law, end: float) -> np.ndarray:
    """Return all x in [0, end] where the density jumps or has a kink."""
    if isinstance(noise, hush.Staircase):
        starts = np.arange(math.ceil(end / noise.sensitivity) + 1.0)
        return np.concatenate([starts, starts + noise.gamma]) * noise.sensitivity
    if isinstance(noise, hush.Stepped):
        return np.arange(math.ceil(end / noise.width) + 1.0) * noise.width
    return np.array([0.0, *noise.kinks])


def corners(function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> np.ndarray:
    """Return the sign changes of a function between neighbouring points of a grid, by bisection."""
    x = np.unique((edges[:-1, None] + np.diff(edges)[:, None] * np.linspace(1e-9, 1.0 - 1e-9, 33)).ravel())
    above = function(x) > 0.0
    at = np.flatnonzero(above[:-1] != above[1:])
    low, high, was = x[at], x[at + 1], above[at]
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = (function(middle) > 0.0) == was
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high


NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def over(
    noise: Law,
    function: Callable[[np.ndarray], np.ndarray],
    shift: float = 0.0,
    tail: float = 1e-16,
    sign: Callable[[np.ndarray], np.ndarray] | None = None,
) -> float:
    """Return the sum or integral of function(x).

    Gauss-Legendre panels end at all jumps of f and f(. - shift), at graded points, and at the sign changes of `sign`.
    """
    if noise.discrete:
        return math.fsum(function(lattice(noise)))
    end = min(float(noise.isf(tail)), noise.support, 1e9)
    unit = float(noise.isf(0.25))
    # graded towards the centre too, because a density may have a weak singularity there
    ladder = unit * np.concatenate(
        [0.5 ** np.arange(3.0, 45.0), np.arange(0.0, 12.0, 0.25), 12.0 * 1.5 ** np.arange(50.0)]
    )
    marks = np.concatenate([jumps(noise, end), ladder])
    marks = np.concatenate([-marks, marks, shift - marks, shift + marks, [-end, end + shift]])
    edges = np.unique(marks[(marks >= -end) & (marks <= end + shift)])
    if sign is not None:
        edges = np.unique(np.concatenate([edges, corners(sign, edges)]))
    edges = edges[np.append(np.diff(edges) > 1e-13 * (np.abs(edges[1:]) + shift), True)]
    half = 0.5 * np.diff(edges)[:, None]
    return float(np.sum(WEIGHTS * half * function(edges[:-1, None] + half * (1.0 + NODES))))


def hockey_stick(noise: Law, epsilon: float, shift: float) -> float:
    """The integral or sum of max(f(x) - e^epsilon f(x - shift), 0)."""

    def gap(x: np.ndarray) -> np.ndarray:
        return noise.pdf(x) - math.exp(epsilon) * noise.pdf(x - shift)

    return over(noise, lambda x: np.maximum(gap(x), 0.0), shift, sign=gap)


def epsilons_for(noise: Law, shift: float) -> list[float]:
    """Return a few epsilons where delta is neither 0 nor 1."""
    most = min(noise.max_loss(shift), hush.epsilon(noise, 1e-6, shift), 20.0)
    return [share * most for share in (0.0, 0.2, 0.55, 0.9)]


# -- the contract --------------------------------------------------------------------------------------------


def test_every_family_has_an_example():
    """Every public family has examples, and is therefore tested."""
    listed = {row.type.__name__ for row in catalogue.FAMILIES if row.public}
    assert listed <= set(hush.__all__), "src/hush/__init__.py does not export every family of the catalogue"
    assert set(families()) == set(EXAMPLES), "add examples to EXAMPLES"
    assert all(type(noise) is families()[name] for name, rows in EXAMPLES.items() for noise, _ in rows)
    assert all(rows for rows in EXAMPLES.values())


@every
def test_normalised(noise, shift):
    """The density integrates to one; the tail beyond the quadrature is added."""
    beyond = 0.0 if noise.discrete else 2.0 * noise.sf(min(noise.isf(1e-16), 1e9))
    assert over(noise, noise.pdf) + beyond == pytest.approx(1.0, abs=2e-12)


@every
def test_symmetric(noise, shift):
    """f(-x) = f(x), P(X <= -x) = P(X >= x), isf(u) = -ppf(u)."""
    x = lattice(noise, 1e-20)[::3] if noise.discrete else np.array([0.0, 1e-9, 0.3, 1.0, 2.7, 33.0]) * noise.isf(0.25)
    np.testing.assert_array_equal(noise.logpdf(x), noise.logpdf(-x))
    mass = noise.pdf(x) if noise.discrete else 0.0
    np.testing.assert_allclose(noise.cdf(-x), noise.sf(x) + mass, rtol=1e-12, atol=1e-300)
    if not noise.discrete:
        u = np.array([1e-300, 1e-20, 0.01, 0.3, 0.5])
        np.testing.assert_array_equal(noise.isf(u), -noise.ppf(u))
        np.testing.assert_array_equal(noise.ppf(1.0 - u[2:]), -noise.ppf(1.0 - (1.0 - u[2:])))


@every
def test_log_forms_agree(noise, shift):
    """pdf, sf and cdf are the exponentials of their logarithms, and sf + cdf = 1."""
    unit = noise.isf(0.25) if not noise.discrete else noise.step * 3
    x = np.concatenate([-np.geomspace(1e-3, 20.0, 9), [0.0], np.geomspace(1e-3, 20.0, 9)]) * unit
    if noise.discrete:
        x = np.round(x / noise.step) * noise.step
    for plain, logged in ((noise.pdf, noise.logpdf), (noise.sf, noise.logsf), (noise.cdf, noise.logcdf)):
        np.testing.assert_allclose(plain(x), np.exp(logged(x)), rtol=2e-13)
    np.testing.assert_allclose(noise.sf(x) + noise.cdf(x), 1.0, rtol=1e-13)


@every
def test_scalars_and_arrays_agree(noise, shift):
    """A number gives a Python float, equal to the entry of an array; shapes are kept."""
    x = np.array([[0.0, 1.0], [-2.0, 5.5]]) * (noise.step if noise.discrete else 1.0)
    for method in (noise.pdf, noise.logpdf, noise.sf, noise.cdf, noise.logsf, noise.logcdf):
        whole = method(x)
        assert whole.shape == (2, 2)
        assert isinstance(method(float(x[1, 0])), float)
        np.testing.assert_array_equal([method(float(v)) for v in x.ravel()], whole.ravel())
    u = np.array([1e-9, 0.2, 0.5, 0.9])
    np.testing.assert_allclose([noise.ppf(float(v)) for v in u], noise.ppf(u), rtol=1e-14)


@every
def test_quantile_inverts_in_both_tails(noise, shift):
    """sf(isf(u)) = u and cdf(ppf(u)) = u from 1e-300 to 1 - 1e-16; on a lattice the quantile is the least point that
    covers u.
    """
    u = np.array(
        [1e-300, 1e-200, 1e-50, 1e-15, 1e-5, 0.01, 0.2, 0.4999, 0.5, 0.75, 1.0 - 1e-5, 1.0 - 1e-12, 1.0 - 2.0**-53]
    )
    if noise.discrete:
        x = noise.ppf(u)
        assert (noise.cdf(x) >= u * (1.0 - 1e-13)).all()
        assert (noise.cdf(x - noise.step) <= u * (1.0 + 1e-13)).all()
        y = noise.isf(u)
        assert (noise.sf(y) <= u * (1.0 + 1e-13)).all()
        assert (noise.sf(y - noise.step) >= u * (1.0 - 1e-13)).all()
        return
    small, bound = u[u <= 0.5], noise.support
    x = noise.isf(small)
    # the relative change of the tail for one ulp of x; it matters next to the bound of a truncated law only, where no
    # float x has a tail of 1e-300
    inside = np.minimum(x, bound * (1.0 - 1e-9)) if math.isfinite(bound) else x
    moved = 4e-16 * (x * noise.pdf(inside)) / small
    np.testing.assert_array_less(np.abs(noise.sf(x) / small - 1.0), 1e-12 + moved)
    np.testing.assert_array_equal(noise.ppf(small), -x)
    large = u[u > 0.5]
    np.testing.assert_allclose(noise.sf(noise.isf(large)), large, rtol=1e-13)
    np.testing.assert_allclose(noise.cdf(noise.ppf(large)), large, rtol=1e-13)
    far, rest = noise.ppf(large), 1.0 - large  # exact
    inside = np.minimum(far, bound * (1.0 - 1e-9)) if math.isfinite(bound) else far
    np.testing.assert_array_less(np.abs(noise.sf(far) / rest - 1.0), 1e-12 + 4e-16 * (far * noise.pdf(inside)) / rest)
    assert noise.isf(0.5) == 0.0
    assert noise.isf(0.0) == bound
    assert noise.ppf(0.0) == -bound


@every
def test_exceeds_agrees_with_the_loss(noise, shift):
    """A random point is in the region if and only if f(x) > e^epsilon f(x - shift); too close cases are skipped."""
    rng = np.random.default_rng(7)
    if noise.discrete:
        x = lattice(noise, 1e-30)
    else:
        x = np.concatenate(
            [
                noise.isf(rng.uniform(size=300)),
                shift * rng.uniform(-3.0, 3.0, size=300),
                shift + noise.isf(rng.uniform(size=100)),
            ]
        )
    with np.errstate(invalid="ignore"):
        loss = np.where(np.isneginf(noise.logpdf(x)), -np.inf, noise.logpdf(x) - noise.logpdf(x - shift))
    checked = 0
    for epsilon in [*epsilons_for(noise, shift), 0.1, 1.0, 5.0]:
        region = noise.exceeds(epsilon, shift)
        clear = np.abs(loss - epsilon) > 1e-9 * (1.0 + abs(epsilon))
        np.testing.assert_array_equal(region.contains(x)[clear], (loss > epsilon)[clear])
        checked += int(clear.sum())
    assert checked > 100


@every
def test_delta_decreases_and_is_convex_in_exp_epsilon(noise, shift):
    """delta falls with epsilon, and its slope against e^epsilon rises (a supremum of lines)."""
    most = min(noise.max_loss(shift), hush.epsilon(noise, 1e-9, shift), 25.0)
    epsilon = np.linspace(-1.0, most, 81)
    delta = hush.delta(noise, epsilon, shift)
    assert ((delta >= 0.0) & (delta <= 1.0)).all()
    assert (np.diff(delta) <= 1e-13 * delta[:-1]).all()
    slope = np.diff(delta) / np.diff(np.exp(epsilon))
    slack = 4e-12 * delta[1:-1] / np.diff(np.exp(epsilon))[:-1]
    assert (np.diff(slope) >= -slack).all()
    assert delta[-1] < delta[0]


@every
def test_delta_equals_brute_force(noise, shift):
    """delta is the integral or sum of max(f - e^epsilon f(. - shift), 0), the largest over `worst_shifts`."""
    shifts = list(noise.worst_shifts(shift))
    for epsilon in epsilons_for(noise, shift):
        brute = max(hockey_stick(noise, epsilon, s) for s in shifts)
        left_out = 0.0 if noise.discrete else 2.0 * noise.sf(min(noise.isf(1e-16), 1e9))
        ours = hush.delta(noise, epsilon, shift)
        # exp(epsilon) f(x - s) is subtracted from f(x) in floats: the error is about 1e-16 of the mass
        assert ours == pytest.approx(brute, rel=1e-10, abs=3e-15 + left_out)


@every
def test_scaling_law(noise, shift):
    """k X with sensitivity k s is as private as X with s, and moments scale."""
    for k in (0.125, 1024.0, 3.7, 1e-6):
        scaled = noise.scaled(k)
        assert type(scaled) is type(noise)
        assert scaled.variance == pytest.approx(noise.variance * k * k, rel=1e-13)
        assert scaled.mean_abs == pytest.approx(noise.mean_abs * k, rel=1e-13)
        assert scaled.fisher_information == pytest.approx(noise.fisher_information / k**2, rel=1e-13)
        # unless k is a power of two the shift k s is rounded, which moves the jumps of a step density
        rounded = 1e-7 if isinstance(noise, hush.Staircase | hush.Stepped) else 1e-12
        tolerance = 1e-14 if k in (0.125, 1024.0) else rounded
        for epsilon in epsilons_for(noise, shift)[:3]:
            if not (noise.discrete and tolerance == 1e-12):
                assert hush.delta(scaled, epsilon, k * shift) == pytest.approx(
                    hush.delta(noise, epsilon, shift), rel=tolerance
                )


@every
def test_negative_epsilon(noise, shift):
    """delta(-e) = 1 - e^-e + e^-e delta(e), and both equal the numerical integral."""
    for epsilon in (0.05, 0.7):
        below = hush.delta(noise, -epsilon, shift)
        expected = -math.expm1(-epsilon) + math.exp(-epsilon) * hush.delta(noise, epsilon, shift)
        assert below == pytest.approx(expected, rel=1e-13)
        if getattr(noise, "unimodal", True) and math.isfinite(noise.variance):
            assert below == pytest.approx(hockey_stick(noise, -epsilon, shift), rel=1e-10)


@every
def test_extreme_budgets_give_no_warning(noise, shift):
    """Epsilons from 1e-300 to a million give decreasing probabilities without a warning."""
    epsilon = np.array([0.0, 1e-300, 1e-200, 1e-100, 1e-30, 1e-12, 1e-6, 700.0, 1e4, 1e6])
    delta = hush.delta(noise, epsilon, shift)
    assert ((delta >= 0.0) & (delta <= 1.0)).all()
    assert (np.diff(delta) <= 1e-11 * delta[:-1]).all()


@every
def test_moments(noise, shift):
    """variance and mean_abs are the integrals of x^2 f and |x| f; infinite exactly where the integral diverges."""
    if math.isinf(noise.variance):
        assert isinstance(noise, hush.Stable)
        assert noise.alpha < 2.0
        # E|X| = integral of P(|X| > x): by quadrature to 1e9, and by the power tail beyond
        if noise.alpha > 1.0:
            edges = np.concatenate([np.arange(0.0, 10.0, 0.25), np.geomspace(10.0, 1e9, 80)])
            half = 0.5 * np.diff(edges)[:, None]
            inside = 2.0 * float(np.sum(WEIGHTS * half * noise.sf(edges[:-1, None] + half * (1.0 + NODES))))
            assert noise.mean_abs == pytest.approx(inside + 2.0 * noise.sf(1e9) * 1e9 / (noise.alpha - 1.0), rel=1e-9)
        else:
            assert math.isinf(noise.mean_abs)
        return
    assert noise.variance == pytest.approx(over(noise, lambda x: x * x * noise.pdf(x), tail=1e-28), rel=1e-12)
    assert noise.mean_abs == pytest.approx(over(noise, lambda x: np.abs(x) * noise.pdf(x), tail=1e-28), rel=1e-12)
    assert noise.mean_abs**2 <= noise.variance


@every
def test_fisher_information(noise, shift):
    """E (f'/f)^2 by differences of log f; Cramer-Rao holds; infinite only where the density jumps or on a lattice."""
    information = noise.fisher_information
    if math.isinf(information):
        assert noise.discrete or isinstance(noise, hush.Staircase | hush.Stepped | hush.TruncatedLaplace)
        return
    unit = noise.isf(0.25)
    kinks = np.array([0.0, *noise.kinks])

    def integrand(x: np.ndarray) -> np.ndarray:
        gap = np.min(np.abs(np.abs(x)[..., None] - kinks), axis=-1)
        h = np.minimum(1e-4 * np.maximum(unit, np.abs(x)), 0.01 * gap)  # stay on one side of every kink
        slope = (noise.logpdf(x + h) - noise.logpdf(x - h)) / (2.0 * h)
        return slope * slope * noise.pdf(x)

    assert information == pytest.approx(over(noise, integrand), rel=1e-6)
    if math.isfinite(noise.variance):
        assert noise.normalised_fisher_information >= 1.0 - 1e-12


@every
def test_subgaussian_proxy(noise, shift):
    """Where a proxy v is given, E cosh(tX) <= e^(v t^2/2) for a few t."""
    proxy = noise.subgaussian_proxy
    if math.isinf(proxy):
        return
    assert noise.variance <= proxy * (1.0 + 1e-12)
    for t in np.array([0.1, 0.7, 2.0]) / math.sqrt(proxy):
        mean = over(noise, lambda x, t=t: np.cosh(t * x) * noise.pdf(x), tail=1e-28)
        assert mean <= math.exp(0.5 * proxy * t * t) * (1.0 + 1e-9)


@every
def test_max_loss_is_the_supremum(noise, shift):
    """No loss is above max_loss, some loss is close to it, and delta is zero exactly from max_loss on."""
    most = noise.max_loss(shift)
    u = np.random.default_rng(11).uniform(size=500)
    x = lattice(noise, 1e-30) if noise.discrete else np.concatenate([noise.isf(u), np.linspace(-4.0, 4.0, 801) * shift])
    held = noise.pdf(x) > 0.0
    with np.errstate(invalid="ignore"):
        loss = (noise.logpdf(x) - noise.logpdf(x - shift))[held]
    if math.isinf(most):
        assert hush.delta(noise, 600.0, shift) > 0.0
        assert math.isinf(hush.epsilon(noise, 0.0, shift))
        return
    assert loss.max() <= most * (1.0 + 1e-12)
    assert loss.max() >= most * 0.99
    assert hush.delta(noise, most * (1.0 + 1e-9), shift) == 0.0
    assert hush.delta(noise, most * 0.99, shift) > 0.0


@every
def test_frozen_and_equal(noise, shift):
    """A noise is hashable, equal to its copy, and cannot be changed."""
    assert noise == noise.scaled(1.0)
    assert hash(noise) == hash(noise.scaled(1.0))
    field = next(iter(noise.__dataclass_fields__))
    with pytest.raises(AttributeError):
        setattr(noise, field, 2.0)
