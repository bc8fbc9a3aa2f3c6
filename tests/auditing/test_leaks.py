"""Broken releases are caught.

Draws are seeded: each test is deterministic. Where a release were right, `violated` would be a false alarm, at a rate
of at most 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from auditing.releases import float_laplace, lattice_gaussian, lattice_laplace, lattice_vector

import hush

# -- the precision attack ------------------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [(0.0, 1.0), (1.0, 2.0), (0.1, 1.1), (-1.0, 0.0), (5.0, 6.0)])
def test_the_low_bits_of_naive_laplace_noise(inputs: tuple[float, float]) -> None:
    """The noise is as large as it should be; only the reachable floats differ."""
    found = hush.audit(float_laplace(1.0, 1), epsilon=1.0, inputs=inputs)
    assert found.violated and found.epsilon_lower > 3.0
    assert found.collisions is not None
    assert found.collisions.other_hits == 0 and found.collisions.hits > 500
    assert all(test.epsilon_lower <= 1.0 for test in found.tests if test.kind == "set")  # the sizes alone tell nothing


def test_the_low_bits_are_named_and_shown() -> None:
    """0 + noise near zero has bits below 2^-53; 1 + noise has none: the examples bear it out."""
    found = hush.audit(float_laplace(1.0, 2), epsilon=1.0).collisions
    assert found is not None
    assert found.likelier == "0.0" and found.other == "1.0"
    assert "lowest set bit below 2^-53" in found.event
    assert found.examples
    assert all((float.fromhex(text) * 2.0**53) % 1.0 != 0.0 for text in found.examples)


@pytest.mark.parametrize("scale", [0.01, 30.0, 1000.0])
def test_naive_laplace_noise_of_any_size(scale: float) -> None:
    assert hush.audit(float_laplace(scale, 3), epsilon=1.0, inputs=(0.0, scale)).collisions is not None


def test_naive_gaussian_noise() -> None:
    rng = np.random.default_rng(4)
    sigma = hush.gaussian.sigma(1.0, 1e-6)
    found = hush.audit(lambda value, size: value + rng.normal(scale=sigma, size=size), epsilon=1.0, delta=1e-6)
    assert found.violated and found.collisions is not None


def test_a_lattice_that_follows_the_value() -> None:
    """Even noise keeps the value's parity, and the scale is far too large for single values to repeat."""
    rng = np.random.default_rng(5)
    found = hush.audit(
        lambda value, size: int(value) + 2 * np.round(rng.laplace(scale=1e7, size=size)).astype(np.int64), epsilon=1.0
    )
    assert found.violated and found.collisions is not None


def test_the_sign_of_zero() -> None:
    rng = np.random.default_rng(6)
    found = hush.audit(
        lambda value, size: np.where(rng.random(size) < 0.1, 0.0 if value == 0.0 else -0.0, 1.0), epsilon=1.0
    )
    assert found.violated and found.collisions is not None


# -- too little noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "shows"), [(0.5, 1.85), (2.0 / 3.0, 1.38), (0.9, 1.02)])
def test_laplace_noise_of_a_part_of_the_scale(part: float, shows: float) -> None:
    """True epsilon 2, 1.5 and 1.11 where 1 is claimed."""
    found = hush.audit(lattice_laplace(part, 7), epsilon=1.0)
    assert found.violated
    assert shows < found.epsilon_lower <= 1.0 / part
    assert found.collisions is None  # too little noise, but every output possible under both


@pytest.mark.parametrize("part", [0.5, 2.0 / 3.0])
def test_gaussian_noise_of_a_part_of_sigma(part: float) -> None:
    sigma = hush.gaussian.sigma(1.0, 1e-3)
    found = hush.audit(lattice_gaussian(part * sigma, 8), epsilon=1.0, delta=1e-3)
    assert found.violated
    assert found.epsilon_lower <= hush.epsilon(hush.Gaussian(part * sigma), 1e-3)


def test_gaussian_noise_of_half_sigma_at_a_small_delta() -> None:
    """The events that tell are rare at delta = 1e-6: 200,000 draws are not enough, a million are."""
    sigma = hush.gaussian.sigma(1.0, 1e-6)
    found = hush.audit(lattice_gaussian(sigma / 2.0, 9), epsilon=1.0, delta=1e-6, samples=1_000_000)
    assert found.violated
    assert found.epsilon_lower <= hush.epsilon(hush.Gaussian(sigma / 2.0), 1e-6)


def test_no_noise_at_all() -> None:
    found = hush.audit(lambda value, size: np.full(size, value), epsilon=1.0)
    assert found.violated and found.epsilon_lower > 8.0


def test_a_value_that_only_one_input_gives() -> None:
    """An atom of 0.1 % among continuous outputs."""
    rng = np.random.default_rng(10)

    def release(value: float, size: int) -> np.ndarray:
        y = rng.normal(size=size)
        return np.where(rng.random(size) < 0.001, 0.3 if value else y, y)

    found = hush.audit(release, epsilon=1.0)
    assert found.violated and "0.3" in found.event


def test_a_set_of_many_pieces() -> None:
    """Outputs are evenly spread, but input 1 avoids every second interval of length 0.01: no half line tells, a union
    does.
    """
    rng = np.random.default_rng(11)
    found = hush.audit(
        lambda value, size: rng.integers(0, 50, size) * 0.02 + rng.random(size) * (0.01 if value else 0.02), epsilon=1.0
    )
    assert found.violated and found.epsilon_lower > 4.0


def test_randomised_response_with_one_output_a_call() -> None:
    """f(value) -> one output; answers true with odds e^2 where e^1 is claimed."""
    rng = np.random.default_rng(12)
    honest = np.exp(2.0) / (1.0 + np.exp(2.0))

    def release(value: float) -> bool:
        return bool(value) == (rng.random() < honest)

    found = hush.audit(release, epsilon=1.0, samples=20_000)
    assert found.violated and 1.5 < found.epsilon_lower <= 2.0


# -- vectors -------------------------------------------------------------------------------------------------


def test_half_the_noise_on_every_coordinate() -> None:
    """Four coordinates together give epsilon 8 where 4 is claimed; none alone gives more than 2."""
    found = hush.audit(lattice_vector(0.5, 4, 13), epsilon=4.0, inputs=(np.zeros(4), np.ones(4)))
    assert found.violated and 4.5 < found.epsilon_lower <= 8.0


def test_half_the_noise_on_the_one_coordinate_that_moves() -> None:
    """The inputs are no vectors here, so the direction has to be found."""
    noise = lattice_vector(0.5, 20, 14)
    found = hush.audit(lambda value, size: noise(np.eye(20)[17] * value, size), epsilon=1.0, samples=50_000)
    assert found.violated and found.epsilon_lower <= 2.0


def test_noise_shared_by_coordinates_is_subtracted() -> None:
    """Each coordinate alone hides the value under noise of size 1000."""
    one = lattice_laplace(0.5, 15)
    rng = np.random.default_rng(15)

    def release(value: float, size: int) -> np.ndarray:
        shared = np.round(1000.0 * rng.normal(size=size))
        return np.stack([one(value, size) + shared, shared], axis=1)

    found = hush.audit(release, epsilon=1.0)
    assert found.violated and found.epsilon_lower <= 2.0


def test_low_bits_of_one_coordinate() -> None:
    good, bad = lattice_vector(3.0, 3, 16), float_laplace(3.0, 16)
    found = hush.audit(
        lambda value, size: np.column_stack([good(np.full(3, value), size), bad(value, size)]), epsilon=2.0
    )
    assert found.collisions is not None and "coordinate 3" in found.collisions.event
