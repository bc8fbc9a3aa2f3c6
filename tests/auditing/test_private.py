"""Right releases pass, and the bound stays below the truth as often as it promises.

An audit of a true claim raises a false alarm with probability at most 1e-6 (confidence 0.999999); the tests below
with fresh entropy run about thirty audits, so they fail by chance less than once in 30,000 runs at worst, and far
less often in fact, since both ends of the bound would have to fail together. Seeded tests are deterministic.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from auditing.releases import Release, lattice_gaussian, lattice_laplace, lattice_vector

import hush
from hush.auditing.attack import Found, _test
from hush.auditing.event import Event, View, by_ratio, choose
from hush.auditing.target import of_callable

# -- nothing is found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_nothing_in_lattice_laplace_noise(seed: int) -> None:
    """epsilon is exactly 1: the bound comes close and stays below."""
    found = hush.audit(lattice_laplace(1.0, seed), epsilon=1.0)
    assert not found.violated and found.collisions is None
    assert 0.9 < found.epsilon_lower < 1.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("delta", [1e-6, 1e-2])
def test_nothing_in_lattice_gaussian_noise(seed: int, delta: float) -> None:
    found = hush.audit(lattice_gaussian(hush.gaussian.sigma(1.0, delta), seed), epsilon=1.0, delta=delta)
    assert not found.violated and found.collisions is None


@pytest.mark.parametrize("inputs", [(0.0, 0.0625), (-3.0, -2.0), (1000.0, 1001.0)])
def test_nothing_in_lattice_noise_around_any_value(inputs: tuple[float, float]) -> None:
    shift = inputs[1] - inputs[0]
    found = hush.audit(lattice_laplace(shift, 20), epsilon=1.0, inputs=inputs)
    assert not found.violated and found.collisions is None


def test_nothing_in_vectors() -> None:
    found = hush.audit(lattice_vector(1.0, 4, 21), epsilon=4.0, inputs=(np.zeros(4), np.ones(4)))
    assert not found.violated and found.epsilon_lower > 2.5


def test_nothing_in_outputs_that_ignore_the_input() -> None:
    rng = np.random.default_rng(22)
    found = hush.audit(lambda value, size: rng.normal(size=size), epsilon=0.05)
    assert not found.violated


# -- our own mechanisms, drawn exactly -----------------------------------------------------------------------

FAMILIES = [
    "gaussian",
    "laplace",
    "osgt",
    "flipped_huber",
    "staircase",
    "truncated_laplace",
    "exponential_power",
    "asinh",
]


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_in_ours(family: str) -> None:
    """Each family as calibrated; with half the noise the same audit finds it."""
    plan = hush.calibrate(1.0, 1e-2, family=family)
    found = hush.audit(plan, samples=100_000)
    assert (found.epsilon, found.delta) == (1.0, 1e-2)
    assert not found.violated and found.collisions is None
    half = dataclasses.replace(plan, noise=plan.noise.scaled(0.5))
    assert hush.audit(half, samples=100_000).violated


def test_nothing_in_ours_stable_and_discrete() -> None:
    stable = hush.calibrate(1.0, 0.0, family="stable", loss="p95")
    assert not hush.audit(stable, samples=100_000).violated
    whole = hush.calibrate(1.0, 1e-2, family="gaussian", step=1.0)
    assert not hush.audit(whole, samples=100_000).violated


def test_nothing_in_ours_several_coordinates_several_times() -> None:
    plan = hush.calibrate(1.0, 1e-2, hush.Sensitivity(linf=2.0, l0=3), times=2, family="laplace")
    found = hush.audit(plan, samples=40_000)
    assert not found.violated
    assert found.inputs == ("[0.0, 0.0, 0.0]", "[2.0, 2.0, 2.0]")
    once = dataclasses.replace(plan, noise=plan.noise.scaled(0.25))
    assert hush.audit(once, samples=40_000).violated


# -- coverage ------------------------------------------------------------------------------------------------


def spread(seed: int) -> Release:
    """500 values, all alike under either input: epsilon is 0, and whatever a search finds is chance."""
    rng = np.random.default_rng(seed)
    return lambda value, size: rng.integers(0, 500, size)


def response(seed: int) -> Release:
    """Randomised response with odds e: epsilon is exactly 1 on both of its outputs."""
    rng = np.random.default_rng(seed)
    return lambda value, size: (rng.random(size) < (math.e if value else 1.0) / (1.0 + math.e)).astype(np.int64)


REPEATS, RISK = 200, 0.1
PLAIN = View("output", lambda y: y)


def most_failures() -> int:
    """The least k with P(binomial(REPEATS, RISK) > k) <= 1e-6: the false-alarm rate of the tests below, were the
    draws not seeded.
    """
    masses = [math.comb(REPEATS, k) * RISK**k * (1.0 - RISK) ** (REPEATS - k) for k in range(REPEATS + 1)]
    return next(k for k in range(REPEATS) if math.fsum(masses[k + 1 :]) <= 1e-6)


@pytest.mark.parametrize(
    ("release", "truth"), [(spread, 0.0), (response, 1.0), (lambda seed: lattice_laplace(1.0, seed), 1.0)]
)
def test_the_bound_is_below_the_truth_as_often_as_it_promises(release: object, truth: float) -> None:
    """Many small audits at confidence 0.9: at most one in ten may overshoot."""
    shown = [
        hush.audit(release(seed), epsilon=2.0, samples=2000, confidence=1.0 - RISK).epsilon_lower  # type: ignore[operator]
        for seed in range(REPEATS)
    ]
    assert sum(bound > truth for bound in shown) <= most_failures()


def test_the_coverage_test_can_tell() -> None:
    """The control: sets that are ranked, chosen and counted on the same draws overshoot almost always; on fresh draws
    they do not.
    """
    fooled, honest = 0, 0
    for seed in range(REPEATS):
        release = spread(seed)
        (first, second), fresh = ((release(0.0, 1000), release(1.0, 1000)) for _ in range(2))
        target = of_callable(release, (0.0, 1.0), None)
        sets = by_ratio((first, second), (first, second), lambda chosen: Event("", PLAIN, lambda y: np.isin(y, chosen)))
        chosen = choose(sets, 1000, 0.0, RISK / 8.0)[0]
        fooled += _test(Found("set", chosen, target, (first, second)), 0.0, RISK / 8.0).epsilon_lower > 0.0
        honest += _test(Found("set", chosen, target, fresh), 0.0, RISK / 8.0).epsilon_lower > 0.0
    assert fooled > 0.9 * REPEATS
    assert honest <= most_failures()
