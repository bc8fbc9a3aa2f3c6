"""Published attacks on noise in floating point. Each is run on a few lines that have the bug, and on hush."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from museum.rows import people
from numpy.typing import NDArray
from scipy import stats

import hush
from hush import tables

Floats = NDArray[np.float64]
DRAWS = 20_000
RANDOM = np.random.default_rng()


def finest_bit(values: Floats) -> NDArray[np.int64]:
    """The exponent of the lowest set bit of each number."""
    fraction, exponent = np.frexp(values)
    whole = (np.abs(fraction) * 2.0**53).astype(np.int64)
    whole[whole == 0] = 1 << 53
    return exponent.astype(np.int64) - 53 + np.log2(whole & -whole).astype(np.int64)


def told_apart(release: Callable[[float, int], Floats]) -> float:
    """The precision attack: the share of outputs with bits that 0 + noise can have and 1 + noise cannot."""
    zero, one = (finest_bit(release(value, DRAWS)) for value in (0.0, 1.0))
    return float((zero < one.min()).mean())


def by_hush(family: str, delta: float) -> Callable[[float, int], Floats]:
    """Releases of a real number, for which hush chooses the lattice."""
    plan = hush.calibrate(1.0, delta, hush.Sensitivity(linf=1.0, l0=1), family=family)
    made = hush.Mechanism.of(plan, coordinates=DRAWS)

    def release(value: float, count: int) -> Floats:
        steps = made.on_lattice(np.full(count, value))
        noisy = hush.unaccounted(made.charge).noise(made, steps)
        return np.asarray(made.value_of(noisy), dtype=np.float64)

    return release


# a draw of 0 has no lowest bit, and chance may give a run a finest bit that the other lacks: both are far below this
NOTHING = 0.001


def reached(outputs: Floats, start: float, scale: float) -> float:
    """Mironov's attack: the share of outputs that some uniform number of 53 bits leads to from `start`."""
    share = np.exp(-np.abs(outputs - start) / scale)
    found = np.zeros(outputs.size, dtype=bool)
    for nearby in range(-3, 4):
        uniform = (np.rint(share * 2.0**53) + nearby) * 2.0**-53
        with np.errstate(divide="ignore", invalid="ignore"):
            found |= start + np.sign(outputs - start) * -scale * np.log(uniform) == outputs
    return float(found.mean())


def test_mironov_low_bits_of_laplace() -> None:
    def textbook(value: float) -> Floats:
        uniform = RANDOM.integers(1, 2**53, DRAWS) * 2.0**-53
        return np.asarray(value + RANDOM.choice([-1.0, 1.0], DRAWS) * -1.0 * np.log(uniform))

    assert reached(textbook(0.0), 0.0, 1.0) > 0.99
    assert reached(textbook(1.0), 0.0, 1.0) < 0.9  # an output that 0 cannot give proves that the input was 1
    assert told_apart(lambda value, count: textbook(value)) > 0.2
    release = by_hush("laplace", 0.0)
    from_zero, from_one = (reached(release(value, DRAWS), 0.0, 1.0) for value in (0.0, 1.0))
    assert abs(from_zero - from_one) < 0.06  # Hoeffding: two shares of 20,000 differ by less, but for 1e-6
    assert told_apart(release) < NOTHING


def test_low_bits_of_gaussian_noise() -> None:
    def box_muller(value: float, count: int) -> Floats:
        first, second = RANDOM.random((2, count))
        return np.asarray(value + np.sqrt(-2.0 * np.log(1.0 - first)) * np.cos(2.0 * math.pi * second))

    assert told_apart(box_muller) > 0.2
    assert told_apart(by_hush("gaussian", 1e-6)) < NOTHING


def test_precision_attack_on_sums_of_uniform_numbers() -> None:
    def interpolated(value: float, count: int) -> Floats:
        """Laplace noise whose low bits are filled with more uniform bits before the value is added."""
        noise = RANDOM.laplace(size=count)
        return np.asarray(value + noise * (1.0 + 2.0**-52 * RANDOM.integers(0, 4, count)))

    assert told_apart(interpolated) > 0.2
    assert told_apart(by_hush("laplace", 0.0)) < NOTHING


def test_precision_attack_on_four_samples_for_one() -> None:
    def four_gaussians(value: float, count: int) -> Floats:
        return np.asarray(value + RANDOM.normal(size=(4, count)).sum(axis=0) / 2.0)

    def laplace_of_four(value: float, count: int) -> Floats:
        a, b, c, d = np.log(1.0 - RANDOM.random((4, count)))
        angles = np.cos(math.pi * RANDOM.random((2, count)))
        del c, d
        return np.asarray(value + (a * angles[0] + b * angles[1]))

    assert told_apart(four_gaussians) > 0.1
    assert told_apart(laplace_of_four) > 0.1
    for family, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        assert told_apart(by_hush(family, delta)) < NOTHING


def test_gaussian_noise_of_a_language_library() -> None:
    def next_gaussian(value: float, count: int) -> Floats:
        """The polar method, as standard libraries have it, on a generator with 26 and 27 bits."""
        first = 2.0 * RANDOM.integers(0, 2**53, 3 * count) * 2.0**-53 - 1.0
        second = 2.0 * RANDOM.integers(0, 2**53, 3 * count) * 2.0**-53 - 1.0
        size = first**2 + second**2
        kept = (size < 1.0) & (size > 0.0)
        noise = first[kept] * np.sqrt(-2.0 * np.log(size[kept]) / size[kept])
        return np.asarray(value + noise[:count])

    assert told_apart(next_gaussian) > 0.2
    assert told_apart(by_hush("gaussian", 1e-6)) < NOTHING


def test_library_laplace_and_gaussian_noisers_of_a_measurement_system() -> None:
    def inverse_of_the_distribution(value: float, count: int) -> Floats:
        share = RANDOM.random(count) - 0.5
        return np.asarray(value - np.sign(share) * 2.0 * np.log(1.0 - 2.0 * np.abs(share)))

    assert told_apart(inverse_of_the_distribution) > 0.1
    assert told_apart(by_hush("laplace", 0.0)) < NOTHING


def test_minus_zero_and_nan_from_a_sampler() -> None:
    def sampled(uniform: float) -> float:
        return -math.copysign(1.0, uniform) * math.log(abs(uniform)) if uniform else math.copysign(math.inf, uniform)

    assert math.isnan(sampled(-0.0) + sampled(0.0))  # a draw of -0 makes an answer that is not a number
    for noise in (hush.Laplace(1e-3), hush.Laplace(1.0), hush.Laplace(1e9), hush.Gaussian(1e-3)):
        drawn = hush.draw(noise, 5000)
        assert drawn.dtype == np.int64  # whole steps: neither -0 nor NaN exists
    plan = hush.calibrate(1.0, 0.0, 1.0, family="laplace")
    for value in (0.0, -0.0):
        answer: Any = hush.release(value, plan, ledger=None).value
        assert math.isfinite(answer) and (answer != 0.0 or math.copysign(1.0, answer) > 0.0)


def test_threshold_that_was_cut_to_a_whole_number() -> None:
    """A noisy count of 37 passes a threshold of 37.3 that was truncated to 37."""
    sigma, threshold = 9.0, 37.3
    delta = float(stats.norm.sf((threshold - 1.0) / sigma))  # what the threshold was computed for
    truncated = float(stats.norm.sf((math.floor(threshold) - 0.5 - 1.0) / sigma))
    assert truncated > 1.05 * delta
    for family in ("laplace", "gaussian"):
        grouped = tables.table(people(3), unit="person").group_by("ward", keys="private", groups_per_unit=1)
        spent = grouped.aggregate(n=tables.count_units()).plan(1.0, 1e-6, family=family).spent
        (made,) = spent.sources.values()
        assert spent.threshold is not None
        least = math.ceil(spent.threshold / made.step)  # the least noisy count, in steps, that is shown
        one_person = float(np.asarray(made.noise.marginal.sf((least - 0.5) * made.step - 1.0)))
        assert one_person <= spent.key_delta <= 1e-6
