"""Poisson sampling: both directions against the mixture's own integral, and training loops against Google's
accountant.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import mpmath
import numpy as np
import pytest

import hush
from hush.privacy.curve import OneNumber
from hush.privacy.subsampling import Subsampled

NOISES = {
    "gaussian": hush.Gaussian(1.5),
    "laplace": hush.Laplace(1.2),
    "osgt": hush.OSGT(1.0, 2.0),
    "flipped_huber": hush.FlippedHuber(2.0, 1.5),
    "exponential_power": hush.ExponentialPower(1.5, 2.0),
}
EPSILONS = (0.01, 0.1, 0.3, 0.7)


def on_sample(noise: hush.Law, rate: float, shift: float = 1.0) -> Subsampled:
    return Subsampled(OneNumber(noise, shift), rate)


def mixture_deltas(noise: hush.Noise, rate: float, epsilon: float) -> tuple[float, float]:
    """The hockey-stick divergences of q P + (1 - q) Q from Q and back, by the midpoint rule."""
    step = 1e-3
    x = np.arange(-40.0, 41.0, step) + 0.5 * step
    with_unit, without = np.asarray(noise.pdf(x - 1.0)), np.asarray(noise.pdf(x))
    mixed = rate * with_unit + (1.0 - rate) * without
    raised = math.exp(epsilon)
    return float(np.maximum(mixed - raised * without, 0.0).sum() * step), float(
        np.maximum(without - raised * mixed, 0.0).sum() * step
    )


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("name", NOISES)
def test_both_directions_against_the_mixture(name: str, rate: float) -> None:
    noise = NOISES[name]
    sampled = on_sample(noise, rate)
    for epsilon in EPSILONS:
        there, back = mixture_deltas(noise, rate, epsilon)
        forward, backward = sampled.forward(np.array(epsilon)), sampled.backward(np.array(epsilon))
        assert float(forward.upper) == pytest.approx(there, rel=1e-4, abs=1e-7)
        assert float(backward.upper) == pytest.approx(back, rel=1e-4, abs=1e-7)
        assert float(forward.lower) <= float(forward.upper) <= float(forward.lower) * (1.0 + 1e-8) + 1e-15
        assert float(backward.lower) <= float(backward.upper)
        assert sampled.delta(epsilon) == max(float(forward.upper), float(backward.upper))


def exact_deltas(sigma: float, rate: float, epsilon: float) -> tuple[Any, Any]:
    """delta forward and backward for Gaussian noise, from the two formulas in 60 digits."""
    with mpmath.workdps(60):
        q, u, mu = mpmath.mpf(rate), mpmath.exp(mpmath.mpf(epsilon)), 1 / mpmath.mpf(sigma)

        def whole(e: Any) -> Any:
            here, there = (mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (e / mu - mu / 2, e / mu + mu / 2))
            return here - mpmath.exp(e) * there

        left = 1 - (1 - q) * u
        back = left * whole(mpmath.log(q * u / left)) if left > 0 else mpmath.mpf(0)
        return q * whole(mpmath.log(1 + (u - 1) / q)), back


def test_both_directions_hold_the_truth_close_to_the_limit() -> None:
    """Near e^epsilon (1 - q) = 1 the factor of the backward curve is a difference of nearly equal numbers."""
    choice, checked = random.Random(3), 0
    for turn in range(240):
        rate = choice.choice([10 ** choice.uniform(-9, -0.01), 1.0 - 10 ** choice.uniform(-9, -1)])
        sigma, limit = 10 ** choice.uniform(-1, 1.3), -math.log1p(-rate)
        near = limit * (1.0 - 10 ** choice.uniform(-15.5, -1))
        epsilon = [near, math.nextafter(limit, 0.0), limit, 10 ** choice.uniform(-4, 1)][min(turn % 8, 3)]
        sampled = on_sample(hush.Gaussian(sigma), rate)
        for truth, found in zip(
            exact_deltas(sigma, rate, epsilon),
            (sampled.forward(np.array(epsilon)), sampled.backward(np.array(epsilon))),
            strict=True,
        ):
            if truth > 1e-290 or truth == 0:
                assert float(found.lower) <= truth <= float(found.upper), (rate, sigma, epsilon)
                checked += truth > 0
    assert checked > 240


def test_a_positive_delta_is_never_rounded_to_zero() -> None:
    """The product of the rate and delta is below the least float, or just above it."""
    for rate in (1e-200, 1e-300, 5e-324):
        for epsilon in (0.0, 1e-30, 1e-6, 1.0, 29.0, 31.0):
            truth, _ = exact_deltas(0.02, rate, epsilon)
            found = on_sample(hush.Gaussian(0.02), rate).forward(np.array(epsilon))
            assert float(found.upper) > 0.0 and float(found.lower) <= truth <= float(found.upper), (rate, epsilon)
    tail = on_sample(hush.Gaussian(0.05), 1e-300).end(np.array([10.0]), "upper", backward=False)
    assert tail[0] == 5e-324  # 1e-300 times the delta at epsilon = 700


@pytest.mark.parametrize("rate", [1e-160, 1e-200, 1e-300, 5e-324])
def test_losses_that_are_too_small_to_compose_are_refused(rate: float) -> None:
    with pytest.raises(hush.Unsupported, match="too small to compose"):
        hush.compose([hush.subsample(hush.Gaussian(1.0), rate, times=2)]).delta(0.1)


def test_an_epsilon_far_beyond_all_losses_has_a_tiny_delta() -> None:
    """epsilon is more than 2^63 steps of the grid."""
    assert hush.compose([hush.subsample(hush.Gaussian(1.0), 1e-20, times=2)]).delta(0.1) < 1e-58


def test_a_tiny_rate_has_the_delta_of_basic_composition() -> None:
    """The grid alone stops at the probability of losses that count as infinite, about 1e-60 for each release."""
    found = hush.compose([hush.subsample(hush.Gaussian(1.0), 1e-12, times=2)]).delta(0.1)
    once, _ = exact_deltas(1.0, 1e-12, 0.05)
    assert once < found <= 2 * once * (1 + 1e-9)


@pytest.mark.parametrize("name", NOISES)
def test_rate_one_is_the_whole(name: str) -> None:
    sampled, whole = on_sample(NOISES[name], 1.0), hush.curve(NOISES[name])
    for epsilon in (0.0, *EPSILONS):
        assert sampled.delta(epsilon) == pytest.approx(whole.delta(epsilon), rel=1e-10)
        assert sampled.delta(epsilon) >= whole.delta_bracket(epsilon).lower


@pytest.mark.parametrize("name", NOISES)
def test_fewer_units_tell_less(name: str) -> None:
    values = [on_sample(NOISES[name], rate).delta(0.2) for rate in (0.001, 0.01, 0.1, 0.5, 1.0)]
    assert all(a <= b for a, b in itertools.pairwise(values))


def test_the_pure_epsilon_is_amplified() -> None:
    got = on_sample(hush.Laplace(1.0), 0.1).epsilon(0.0)
    assert got == pytest.approx(math.log1p(0.1 * math.expm1(1.0)), rel=1e-12)
    assert on_sample(hush.Laplace(1.0), 0.1).delta(got * (1.0 + 1e-9)) == 0.0


def test_the_sensitivity_scales() -> None:
    one, ten = on_sample(hush.Gaussian(1.5), 0.1), on_sample(hush.Gaussian(15.0), 0.1, 10.0)
    assert one.delta(0.3) == pytest.approx(ten.delta(0.3), rel=1e-12)


def test_composition_of_one_is_itself() -> None:
    sampled = on_sample(hush.Gaussian(1.5), 0.1)
    assert hush.compose([hush.subsample(hush.Gaussian(1.5), 0.1)]).delta(0.3) == sampled.delta(0.3)


def test_k_at_once_equal_k_singles() -> None:
    first, again = (on_sample(hush.Gaussian(1.5), 0.1) for _ in range(2))
    assert first == again and hash(first) == hash(again)
    one, two, three = (hush.subsample(hush.Gaussian(1.5), 0.1, times=times) for times in (1, 2, 3))
    whole, singles = hush.compose([three]), hush.compose([one, two])
    assert whole.epsilon(1e-5) == pytest.approx(singles.epsilon(1e-5), rel=1e-12)


def test_sampling_helps_a_loop() -> None:
    loop = hush.compose([hush.subsample(hush.Gaussian(2.0), 0.05, times=50)]).epsilon_bracket(1e-5)
    assert 0.0 < loop.lower <= loop.upper < 0.2 * hush.epsilon(hush.Gaussian(2.0), 1e-5, times=50)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("noise", "rate", "times", "delta"),
    [
        (hush.Gaussian(1.0), 0.01, 500, 1e-5),
        (hush.Gaussian(2.0), 0.2, 20, 1e-6),
        (hush.Laplace(2.0), 0.1, 50, 1e-5),
    ],
)
def test_a_loop_against_dp_accounting(noise: hush.Noise, rate: float, times: int, delta: float) -> None:
    peer = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    if isinstance(noise, hush.Gaussian):
        one = peer.from_gaussian_mechanism(noise.sigma, sampling_prob=rate, value_discretization_interval=1e-4)
    else:
        one = peer.from_laplace_mechanism(noise.scale, sampling_prob=rate, value_discretization_interval=1e-4)
    theirs = one.self_compose(times).get_epsilon_for_delta(delta)
    ours = hush.compose([hush.subsample(noise, rate, times=times)]).epsilon_bracket(delta)
    assert ours.upper == pytest.approx(theirs, rel=1e-3)
    assert ours.lower <= theirs * (1.0 + 1e-6)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.0 + 1e-9, 2.0, math.nan, math.inf, "0.1", None, True])
def test_bad_rates(rate: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="rate"):
        hush.subsample(hush.Gaussian(1.0), rate)  # type: ignore[arg-type]


def test_what_is_not_proved_is_refused() -> None:
    for bound in (
        hush.Sensitivity(linf=1.0, l0=2),
        hush.Sensitivity(linf=1.0, l0=1, neighbours="replace"),
        hush.Sensitivity(linf=(1.0, 2.0)),
    ):
        with pytest.raises(hush.Unsupported, match="subsample"):
            hush.subsample(hush.Laplace(1.0), 0.1, bound)
    with pytest.raises(hush.Unsupported, match="add-remove"):
        hush.subsample(hush.Gaussian(1.0), 0.1, hush.Sensitivity(linf=1.0, l0=1, neighbours="replace"))
    with pytest.raises(hush.InvalidParameter, match="noise"):
        hush.subsample(1.0, 0.1)  # type: ignore[arg-type]


def _two_steps(sigma: float, rate: float, epsilon: float, *, added: bool) -> float:
    """delta of two sampled Gaussian steps by direct convolution with 30 digits: the first loss is integrated, and the
    second one is above epsilon minus the first beyond one point, on one side of it.
    """
    mp = mpmath.mp.clone()
    mp.dps = 30
    q, s = mp.mpf(rate), mp.mpf(sigma)
    loss = lambda x: mp.log1p(q * mp.expm1((2 * x - 1) / (2 * s * s)))  # noqa: E731
    density = lambda x: mp.npdf(x, 0, s)  # noqa: E731
    below = lambda x: mp.ncdf(x / s)  # noqa: E731
    mixed = lambda x: (1 - q) * below(x) + q * below(x - 1)  # noqa: E731

    def where(level: mp.mpf) -> mp.mpf:
        """The point at which the loss has this level."""
        if mp.expm1(level) <= -q:
            return -mp.inf
        return (1 + 2 * s * s * mp.log1p(mp.expm1(level) / q)) / 2

    def rest(x: mp.mpf) -> mp.mpf:
        if added:  # P is the Gaussian, Q the mixture, and the losses are -loss(x)
            end = where(-epsilon - loss(x))
            return density(x) * (below(end) - mp.exp(epsilon + loss(x)) * mixed(end))
        end = where(epsilon - loss(x))
        first = (1 - q) * density(x) + q * density(x - 1)
        return first * (mp.one - mixed(end) - mp.exp(epsilon - loss(x)) * (mp.one - below(end)))

    return float(mp.quad(rest, [-14 * s, -4 * s, -1, 0, 1, 2, 4 * s + 1, 14 * s + 1]))


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(0.8, 0.05, 0.3), (1.5, 0.5, 0.4), (2.0, 0.2, 0.1)])
def test_two_steps_by_convolution_with_many_digits(sigma: float, rate: float, epsilon: float) -> None:
    """Both directions: the larger one is the delta of the two steps."""
    exact = max(_two_steps(sigma, rate, epsilon, added=added) for added in (False, True))
    found = hush.compose([hush.subsample(hush.Gaussian(sigma), rate, times=2)]).delta_bracket(epsilon)
    assert found.lower * (1.0 - 1e-9) <= exact <= found.upper * (1.0 + 1e-9)
    assert found.upper - found.lower <= 1e-3 * exact
