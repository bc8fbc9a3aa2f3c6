"""Values as whole steps: each is rounded once, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hush
from hush.sampling.whole_steps import whole_steps


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("step", [1.0, 0.1, 0.125, 3.0])
def test_floats_of_every_accepted_width_are_rounded_once(dtype: type, step: float) -> None:
    values = np.array([0.5, -0.5, 1.5, 0.1, 0.15, -0.15, 1000.25], dtype=dtype)
    exact = [(Fraction(float(value)) / Fraction(step) + Fraction(1, 2)) // 1 for value in values]
    assert whole_steps(values, step).tolist() == exact


def test_floats_wider_than_64_bits_are_refused() -> None:
    """They would be rounded twice: 1/2 - 2^-60 is below 1/2, and the float64 next to it is 1/2, which rounds to 1."""
    wide = np.array([0.5], dtype=np.longdouble)
    if wide.dtype.itemsize <= 8:
        pytest.skip("this platform has no wider floats")
    below = np.nextafter(wide, np.longdouble(0.0))
    assert below[0] < 0.5 and float(below[0]) == 0.5, "the case in which rounding twice is wrong"
    for values in (below, wide, np.zeros(3, dtype=np.longdouble)):
        with pytest.raises(hush.InvalidParameter, match="at most 64 bits"):
            whole_steps(values, 1.0)
