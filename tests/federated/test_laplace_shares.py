"""Shares of Laplace noise, continuous and discrete: deltas and probabilities against 40 to 60 digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from hush import curve
from hush.noise.gamma_difference import GammaDifference
from hush.noise.polya_difference import PolyaDifference

#: delta of GammaDifference(r, 1) at sensitivity 1: (r, epsilon, delta), by 60-digit quadrature of (f(x) - e^epsilon
#: f(x - 1))_+.
DELTAS = [
    (0.25, 3.0, 0.16097657903361),
    (0.25, 17.5, 1.0027211558965e-7),
    (0.25, 22.8, 5.0051774104234e-10),
    (0.25, 34.3, 5.0702915675747e-15),
    (0.25, 59.6, 5.2165400021301e-26),
    (0.4, 6.0, 4.9528508626761e-7),
    (0.4, 6.41, 9.9837506543967e-8),
    (0.4, 7.57, 1.0162997009356e-9),
    (0.4, 10.86, 2.0037785148799e-15),
    (0.4, 16.0, 2.3612749134918e-24),
    (0.55, 2.9016, 1.0010280818523e-7),
    (0.55, 3.00358, 1.000310239267e-9),
    (0.55, 3.11773, 1.0103047503481e-14),
    (0.55, 3.171955, 2.3531633444221e-29),
    (0.7, 1.8085, 1.0074173085546e-7),
    (0.7, 1.81693, 1.0068554487044e-9),
    (0.7, 1.819888, 1.0041753656212e-14),
    (0.7, 1.82000127, 6.1953105236522e-22),
    (0.7, 1.82000226524625, 2.0634515315539e-36),
]


@pytest.mark.parametrize(("shape", "epsilon", "truth"), DELTAS)
def test_small_deltas_of_laplace_shares_are_bracketed(shape: float, epsilon: float, truth: float) -> None:
    found = curve(GammaDifference(shape, 1.0), 1.0).delta_bracket(epsilon)
    assert found.lower * (1.0 - 1e-13) <= truth <= found.upper * (1.0 + 1e-13)
    if truth > 1e-30:
        assert found.upper <= truth * (1.0 + 1e-4)


@pytest.mark.parametrize(("shape", "low", "high"), [(0.25, 0.1, 60.0), (0.4, 0.1, 40.0), (0.7, 1.7, 1.82)])
def test_the_curve_of_laplace_shares_falls(shape: float, low: float, high: float) -> None:
    delta = np.asarray(curve(GammaDifference(shape, 1.0), 1.0).delta(np.linspace(low, high, 801)))
    assert (np.diff(delta) < 0.0).all()


def test_the_mass_next_to_the_centre_keeps_its_digits() -> None:
    noise = GammaDifference(0.25, 1.0)
    with mpmath.workdps(40):
        for y in (1e-30, 1e-6, 0.3):  # P(0 < X < y) = int_0^(y^(1/2)) f(u^2) 2 u du, without the singularity
            c = 2 / (mpmath.sqrt(mpmath.pi) * mpmath.gamma(0.25) * mpmath.mpf(2) ** -0.25)
            ends = [0, *(mpmath.sqrt(mpmath.mpf(y) * mpmath.mpf(10) ** -k) for k in range(12, -1, -1))]
            truth = mpmath.quad(lambda u, c=c: c * mpmath.sqrt(u) * mpmath.besselk(0.25, u * u), ends)
            assert abs(noise._unit.near(np.array([y]))[0] / float(truth) - 1.0) < 1e-13


def test_two_singular_shares_compose() -> None:
    one, two = (curve(GammaDifference(0.45, 1.0), 1.0, times=times) for times in (1, 2))
    assert one.delta_bracket(3.0).lower < two.delta(3.0) < 2.0 * one.delta(1.5) * math.exp(1.5)


@pytest.mark.parametrize("shape", [31.5, 100.0, 238.0, 246.25, 250.0, 300.0, 600.0, 4000.0])
def test_sums_of_many_polya_shares_keep_their_probabilities(shape: float) -> None:
    noise = PolyaDifference(shape, 20.0)
    with mpmath.workdps(40):
        q, r = mpmath.exp(-1 / mpmath.mpf(20)), mpmath.mpf(shape)
        for k in (0, 1, round(4.0 * math.sqrt(noise.variance))):
            truth = (
                (1 - q) ** (2 * r)
                * mpmath.rf(r, k)
                / mpmath.factorial(k)
                * q**k
                * mpmath.hyp2f1(r, r + k, k + 1, q * q)
            )
            assert abs(noise.pdf(float(k)) / float(truth) - 1.0) < 2e-13
    masses = noise.masses
    assert abs(masses[0] + 2.0 * math.fsum(masses[1:]) - 1.0) < 1e-11
    assert masses[-1] < 1e-300
