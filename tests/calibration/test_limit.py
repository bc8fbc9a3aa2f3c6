"""The limit: known values inside, every known noise above, and a noise that nearly reaches it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from hush.calibration.limit import limit
from hush.calibration.linear_program import _Tests, _tests, edge, lattice_bound, step_heights
from hush.calibration.one_number import optimal
from hush.errors import InvalidParameter, Unsupported
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.staircase import Staircase, least_mean_abs_gamma, least_variance_gamma
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.privacy import gaussian
from hush.privacy.curve import OneNumber

LOSSES = ("variance", "mae")

# epsilon, delta, least variance, least mean absolute error: independent lattice programmes over all shifts,
# extrapolated by hand
KNOWN = [
    (0.1, 1e-3, 154.639, 9.23873),
    (0.3, 1e-6, 22.1283, 3.32064),
    (1.0, 1e-6, 1.91788, 0.959505),
    (1.0, 1e-3, 1.84973, 0.951602),
    (3.0, 1e-6, 0.152674, 0.234821),
    (3.0, 1e-3, 0.151546, 0.234467),
    (5.0, 1e-6, 0.029711, 0.0826418),
]
BUDGETS = [(epsilon, delta) for epsilon, delta, _, _ in KNOWN]
EXTREME = [(1e-3, 1e-12), (1e-3, 0.3), (10.0, 1e-12), (10.0, 0.3), (1.0, 0.9), (1e-6, 1e-3)]


def value(noise, loss: str) -> float:
    return noise.variance if loss == "variance" else noise.mean_abs


def rivals(epsilon: float, delta: float):
    """Every noise whose privacy at (epsilon, delta) is a formula."""
    yield Staircase(epsilon, 1.0, least_variance_gamma(epsilon))
    yield Staircase(epsilon, 1.0, least_mean_abs_gamma(epsilon))
    yield TruncatedLaplace(1.0 / epsilon, edge(epsilon, delta))
    yield Laplace(1.0 / (epsilon - 2.0 * math.log1p(-delta)))
    yield Gaussian(gaussian.sigma(epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta", "variance", "mae"), KNOWN)
def test_known_values_lie_inside_a_narrow_bracket(epsilon: float, delta: float, variance: float, mae: float) -> None:
    for loss, known in (("variance", variance), ("mae", mae)):
        bracket = limit(epsilon, delta, loss=loss)
        rounding = 2e-5 * known  # the last digit of the reference
        assert bracket.lower <= known + rounding
        assert bracket.upper >= known - rounding
        assert bracket.upper <= known * 1.001
        assert bracket.width <= 0.004 * known


@pytest.mark.parametrize("delta", [1e-8, 1e-10])
def test_steep_programmes_are_solved(delta: float) -> None:
    """HiGHS gives up on this programme at delta = 1e-7; a lower end from the coarse lattice would be 4 % below the
    upper.
    """
    bracket = limit(6.0, delta)
    assert bracket.upper <= 1.003 * bracket.lower
    assert bracket.contains(Staircase(6.0).variance)


def test_issue_value() -> None:
    bracket = limit(0.3, 1e-6)
    assert bracket.contains(22.128)
    assert optimal(0.3, 1e-6).variance <= 22.128 * 1.002


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_known_noise_is_above(epsilon: float, delta: float, loss: str) -> None:
    bracket = limit(epsilon, delta, loss=loss)
    for noise in rivals(epsilon, delta):
        assert value(noise, loss) >= bracket.lower
        if not isinstance(noise, Gaussian):
            assert value(noise, loss) >= bracket.upper * (1.0 - 1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [*BUDGETS, (1.0, 0.3), (1.0, 0.0), (0.01, 1e-6), (0.01, 0.0), (6.0, 0.0)]
)
def test_optimal_is_private_and_close(epsilon: float, delta: float, loss: str) -> None:
    noise = optimal(epsilon, delta, loss=loss)
    assert isinstance(noise, Stepped)
    assert OneNumber(noise, 1.0).delta(epsilon) <= delta
    bracket = limit(epsilon, delta, loss=loss)
    assert bracket.lower <= value(noise, loss) <= bracket.upper * 1.002


def test_optimal_is_private_by_plain_sums_for_every_shift() -> None:
    """The divergence of the listed cells without the curve: a sum over cells for every shift, falling heights or
    not.
    """
    for epsilon, delta in ((1.0, 1e-3), (1.0, 0.3), (0.1, 0.1)):
        noise = optimal(epsilon, delta)
        half = np.array(noise.heights)
        line = np.concatenate([half[::-1], half])
        line = line / line.sum()
        cells = round(1.0 / noise.width)
        for j in range(1, cells + 1):
            here, there = np.append(line, np.zeros(j)), np.append(np.zeros(j), line)
            assert np.maximum(here - math.exp(epsilon) * there, 0.0).sum() <= delta * (1.0 + 1e-12)


def test_a_noise_beside_the_optimal_is_not_private() -> None:
    """The certificate has teeth: the optimal noise narrowed by 1 % breaks the budget."""
    noise = optimal(1.0, 1e-3)
    assert OneNumber(noise.scaled(0.99), 1.0).delta_bracket(1.0).lower > 1e-3


def test_falling_heights_cost_next_to_nothing_for_small_delta() -> None:
    falling = np.array(step_heights(1.0, 1e-3, 8, "variance", falling=True))
    free = np.array(step_heights(1.0, 1e-3, 8, "variance", falling=False))
    spreads = [Stepped(0.125, tuple(heights)).variance for heights in (falling, free)]
    assert (np.diff(falling) <= 0.0).all()
    assert spreads[1] * (1.0 - 1e-9) <= spreads[0] <= spreads[1] * 1.0005


@pytest.mark.parametrize("loss", LOSSES)
def test_pure_limit_is_the_staircase(loss: str) -> None:
    for epsilon in (0.01, 1.0, 5.0, 30.0):
        gamma = least_variance_gamma(epsilon) if loss == "variance" else least_mean_abs_gamma(epsilon)
        bracket = limit(epsilon, 0.0, loss=loss)
        assert bracket.contains(value(Staircase(epsilon, 1.0, gamma), loss))
        assert bracket.width <= 3e-12 * bracket.upper


def test_the_programme_agrees_with_the_pure_theorem() -> None:
    """Two ways to one number: as delta goes to 0 the dual bound must approach the staircase from below."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        exact = Staircase(epsilon).variance
        assert exact * 0.996 <= limit(epsilon, 1e-12).lower <= exact


def test_integer_answers_have_their_own_limit() -> None:
    """On the integers discrete Laplace is optimal at delta = 0: 2 e^-eps/(1 - e^-eps)^2."""
    for epsilon in (0.3, 1.0, 2.0):
        fall = math.exp(-epsilon)
        discrete = 2.0 * fall / (1.0 - fall) ** 2
        assert discrete * (1.0 - 1e-5) <= lattice_bound(epsilon, 1e-9, 1, "variance", 0.5) <= discrete


@pytest.mark.parametrize("loss", LOSSES)
def test_weak_duality_holds_for_any_tests(loss: str) -> None:
    """Whatever flows are proposed, the bound stays below the loss of a noise that is private: nothing rests on the
    solver.
    """
    tests: _Tests = _tests(1.0, 1e-3, 8, loss, 0.4)
    upper = limit(1.0, 1e-3, loss=loss).upper + 0.25 / 64.0
    generator = np.random.default_rng(7)
    for size in (1e-3, 1.0, 1e3):
        for _ in range(20):
            most = size * generator.random(tests.shifts.size)
            flow = size * generator.random(tests.near.size) ** 4
            assert tests.bound(flow, most) <= upper
            assert tests.bound(tests.repaired(flow, most, 1.0), most) <= upper


@pytest.mark.parametrize("loss", LOSSES)
def test_scaling_law(loss: str) -> None:
    power = 2 if loss == "variance" else 1
    unit = limit(1.0, 1e-3, loss=loss)
    for sensitivity in (1e-3, 0.1, 3.0, 1e4):
        scaled = limit(1.0, 1e-3, sensitivity, loss=loss)
        assert scaled.lower == pytest.approx(unit.lower * sensitivity**power, rel=1e-13)
        assert scaled.upper == pytest.approx(unit.upper * sensitivity**power, rel=1e-13)
        noise = optimal(1.0, 1e-3, sensitivity, loss=loss)
        assert OneNumber(noise, sensitivity).delta(1.0) <= 1e-3
        assert value(noise, loss) <= scaled.upper * 1.002


@pytest.mark.parametrize("loss", LOSSES)
def test_falls_with_epsilon_and_delta(loss: str) -> None:
    rows = [[limit(epsilon, delta, loss=loss) for delta in (1e-9, 1e-2, 0.1)] for epsilon in (0.05, 0.4, 1.5, 4.0)]
    for row in rows:
        for tight, loose in itertools.pairwise(row):
            assert loose.upper < tight.lower
    for strict, lax in itertools.pairwise(rows):
        for tight, loose in zip(strict, lax, strict=True):
            assert loose.upper < tight.lower


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("epsilon", "delta"), EXTREME)
def test_extremes_stay_sane(epsilon: float, delta: float, loss: str) -> None:
    bracket = limit(epsilon, delta, loss=loss)
    assert 0.0 < bracket.lower <= bracket.upper < math.inf
    assert bracket.upper <= 1.2 * bracket.lower
    for noise in rivals(epsilon, delta):
        assert value(noise, loss) >= bracket.lower
    noise = optimal(epsilon, delta, loss=loss)
    assert OneNumber(noise, 1.0).delta(epsilon) <= delta
    assert value(noise, loss) <= bracket.upper * 1.002


def test_far_beyond_there_is_still_a_bracket_or_a_clear_no() -> None:
    assert limit(40.0, 1e-6).upper == pytest.approx(Staircase(40.0).variance, rel=1e-9)
    assert limit(1.0, 1e-300).upper == pytest.approx(Staircase(1.0).variance, rel=1e-9)
    with pytest.raises(Unsupported, match="Staircase"):
        optimal(40.0, 1e-6)
    with pytest.raises(Unsupported, match="TruncatedLaplace"):
        optimal(1e-6, 1e-12)
    for epsilon in (1e-12, 1e4):
        with pytest.raises(Unsupported, match="from 1e-09 to 700"):
            limit(epsilon, 1e-6)


@pytest.mark.parametrize("function", [limit, optimal])
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((0.0, 1e-6), {}),
        ((-1.0, 1e-6), {}),
        ((math.nan, 1e-6), {}),
        (([1.0, 2.0], 1e-6), {}),
        ((1.0, -1e-9), {}),
        ((1.0, 1.0), {}),
        ((1.0, [0.1]), {}),
        ((1.0, 1e-6, 0.0), {}),
        ((1.0, 1e-6, math.inf), {}),
        ((1.0, 1e-6), {"loss": "p95"}),
    ],
)
def test_bad_input_is_refused(function, arguments, options) -> None:
    with pytest.raises(InvalidParameter):
        function(*arguments, **options)
