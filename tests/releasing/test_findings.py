"""What reviews found in lattices and releases, kept so that it stays mended."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hush
from hush import InvalidParameter, Mechanism, Release, Sensitivity, Unsupported


@pytest.mark.parametrize(("epsilon", "value"), [(60.0, 1e9), (100.0, 3.0), (100.0, 1e8)])
def test_tiny_noise_leaves_room_for_values(epsilon, value):
    """However small the noise, 2^61 steps are at least 2^31 sensitivities."""
    for plan in (hush.calibrate(epsilon, 0.0), hush.calibrate(epsilon, 0.0, family="stable", loss="mae")):
        answer = hush.release(value, plan, ledger=None)
        assert abs(answer.value - value) < 1e-3
        assert answer.receipt["mechanism"]["limit"] >= 2.0**30


def test_a_value_at_the_limit_has_an_open_interval():
    """The lattice ends; what lies beyond comes back as the end, and the interval says so (4.9 sigma: 1e-6)."""
    plan = hush.calibrate(1.0, 0.0, Sensitivity(l1=1.0), family="laplace")
    values = np.full(20_000, 1e15)
    values[::2] = -1e15
    answer = hush.release(values, plan, ledger=None)
    low, high = answer.interval()
    assert answer.receipt["mechanism"]["limit"] < 1e15
    assert np.mean((low <= values) & (values <= high)) >= 0.95 - 4.9 * math.sqrt(0.05 * 0.95 / values.size)


def test_noise_beyond_the_lattice_is_refused_before_spending():
    book = hush.Ledger(None, epsilon=1e4, delta=0.5)
    with pytest.raises(Unsupported, match="limit"):
        hush.release(1.0, Mechanism(hush.Laplace(1e30), 1.0, 1.0), ledger=book)
    assert not book.entries


@pytest.mark.parametrize("bound", [Sensitivity(linf=(1e-9, 1e6)), Sensitivity(linf=(1.0, 1e13))], ids=str)
def test_very_different_coordinates_share_a_lattice(bound):
    """The small one is rounded coarsely, which moves privacy and noise by next to nothing."""
    plan = hush.calibrate(1.0, 1e-6, bound, family="gaussian")
    mechanism = Mechanism.of(plan, coordinates=2)
    assert float(np.asarray(mechanism.curve().delta(1.0))) <= 1e-6
    assert mechanism.noise.variance / plan.variance * (1.0 + mechanism.rounding_loss) < 1.001
    assert hush.release([1.0, 2.0], plan, ledger=None).value.shape == (2,)


@pytest.mark.parametrize("bound", [1e11, 1e16, 1e25])
def test_integers_of_large_sensitivity(bound):
    """The step grows with the noise; nothing hangs, and the interval is right."""
    values = np.array([5, -7])
    answer = hush.release(
        values, hush.calibrate(1.0, 0.0, Sensitivity(linf=bound, l0=1), family="laplace"), ledger=None
    )
    assert answer.error.half_width95 == pytest.approx(-math.log(0.05) * bound, rel=0.01)


def test_denoising_comes_first():
    plan = hush.calibrate(1.0, 1e-6, Sensitivity(linf=1.0, l0=8), family="gaussian")
    answer = hush.release(np.zeros(50), plan, ledger=None)
    for done in (answer.non_negative(), answer.integers(), answer.denoised()):
        with pytest.raises(InvalidParameter, match="denoise first"):
            done.denoised()
    assert (answer.denoised().non_negative().value >= 0.0).all()


def test_the_lattice_does_not_depend_on_what_python_makes_of_the_data():
    """sum([]) is an int and sum([2.5]) a float: both are released on the same lattice."""
    plan = hush.calibrate(0.01, 0.0, Sensitivity(linf=0.7, l0=1), family="laplace")
    steps = {
        hush.release(value, plan, ledger=None).receipt["mechanism"]["step"] for value in (0, 0.0, 2**60, [1], [2.5])
    }
    assert len(steps) == 1
    counted = hush.release(np.array([1, 2]), plan, ledger=None).receipt["mechanism"]
    assert counted["step"] == 1.0 and not counted["rounded"]
    assert hush.release([1, 2], plan, ledger=None, integers=True).receipt["mechanism"]["step"] == 1.0
    with pytest.raises(InvalidParameter, match="integers=True"):
        hush.release([1, 2.5], plan, ledger=None, integers=True)


def test_incomplete_json_is_refused():
    made = '{"value": 1, "receipt": {"mechanism": {"noise": {"family": "laplace", "scale": 1.0}}}}'
    for text in (made, made.replace("1,", "[[1], [1, 2]],")):
        with pytest.raises(InvalidParameter, match="JSON"):
            Release.from_json(text)


def test_integers_on_a_very_fine_lattice():
    """A step far below what int64 multiplies by: exact all the same, and limited."""
    steps = Mechanism(hush.Laplace(1.0), 1.0, 2.0**-70, integers=True).on_lattice(np.array([0, 1, -3]))
    assert steps.tolist() == [0, 2**61, -(2**61)]
    assert Mechanism(hush.Laplace(1.0), 1.0, 2.0**-50, integers=True).on_lattice(np.array([3])).tolist() == [3 * 2**50]
