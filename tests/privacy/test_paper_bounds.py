"""The papers' bounds in floats lie above the same formulas in many digits, also where their terms cancel."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hush
from hush.privacy.paper_bounds import FlippedHuberTheorem8, flipped_huber_theorem9, osgt_theorem2


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda t: 10.0**t)


def normal_tail(x: mp.mpf) -> mp.mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def spread(alpha: float, shift: float) -> mp.mpf:
    """alpha^2 - max(alpha - shift, 0)^2."""
    return mp.mpf(alpha) ** 2 - max(mp.mpf(alpha) - mp.mpf(shift), 0) ** 2


@settings(max_examples=200, deadline=None)
@given(powers(-1.0, 2.0), powers(-12.0, 0.7), powers(-8.0, 1.0), st.integers(1, 20), st.floats(0.5, 9.0))
def test_theorem_8_is_an_upper_bound_where_its_tails_cancel(gamma, b, mu, k, depth):
    """FH paper, Theorem 8."""
    noise, l2 = hush.FlippedHuber(b * gamma, gamma), mu * gamma
    epsilon = float(mu * depth + 0.5 * mu * mu + k * min(b, mu) * b)
    found = float(FlippedHuberTheorem8(noise, l2, k).delta(epsilon))
    with mp.workdps(60):
        wide, e, move, offset = (mp.mpf(v) for v in (gamma, epsilon, l2, noise.theta))
        loss = k * spread(noise.alpha, l2) / (2 * wide * move)
        near = wide * e / move - loss - move / (2 * wide)
        far = wide * e / move + loss + move / (2 * wide) + offset * mp.sqrt(k) / wide
        truth = normal_tail(near) - mp.exp(e) * normal_tail(far)
        assume(truth > 1e-290)
        assert found >= truth
        sure = math.exp(-0.5 * float(near) ** 2) * (1.0 + float(far)) ** 2  # what a rounding of the exponents is worth
        assert found == 1.0 or found <= truth * (1 + mp.mpf(1e-10)) + 1e-14 * sure


@settings(max_examples=100, deadline=None)
@given(powers(-12.0, 1.2), powers(-6.0, 1.0), powers(-4.0, 3.0), st.integers(1, 20))
def test_theorem_2_is_an_upper_bound_where_its_logarithms_cancel(r, l2, more, k):
    """OSGT paper, Theorem 2."""
    order = 1.0 + more
    found = osgt_theorem2(hush.OSGT(r, 1.0), order, l2, k=k)
    with mp.workdps(60 + int(r * r)):
        q = normal_tail(mp.mpf(r))
        truth = k * mp.log((1 - q) / q) / (mp.mpf(order) - 1) + mp.mpf(order) * mp.mpf(l2) ** 2 / 2
        assert truth <= found <= truth * (1 + mp.mpf(1e-13))


@settings(max_examples=200, deadline=None)
@given(powers(-6.0, 6.0), powers(-8.0, 1.0), st.floats(1.0, 50.0))
def test_theorem_9_is_an_upper_bound_where_the_shift_is_small(b, d, order):
    """FH paper, Theorem 9."""
    found = flipped_huber_theorem9(hush.FlippedHuber(b, 1.0), order, d)
    with mp.workdps(60):
        truth = (spread(b, d) + mp.mpf(order) * mp.mpf(d) ** 2) / 2
        assert truth <= found <= truth * (1 + mp.mpf(1e-14))


def test_theorem_8_takes_arrays():
    """Grids and single numbers agree."""
    bound = FlippedHuberTheorem8(hush.FlippedHuber(0.5, 4.0), 1.0, 2)
    grid = np.array([0.3, 0.8, 2.5])
    assert np.array_equal(np.asarray(bound.delta(grid)), [float(bound.delta(e)) for e in grid])
