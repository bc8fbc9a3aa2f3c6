"""Shares of joint noise: correlated Gaussian vectors have them, and other joint noises are refused in one sentence."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal

import hush
from hush import Correlated, Gaussian, Sensitivity, Unsupported
from hush.federated import dropout, ring, share
from hush.federated.aliasing import log_vector_variation
from hush.federated.divisible import power
from hush.sampling.entropy import DeterministicTestEntropy

ALARM = 1e-6
COUNTS = Sensitivity(linf=1.0, dimension=5, one_sided=True)
TARGET = Correlated(Gaussian(12.0), 5, 0.3)
PURE = [
    hush.Cube(3, 2.0),
    hush.Interval(10, 1.0, 3.0),
    hush.Hull(12, 6, 1.0),
    hush.Plateau(("people", "one_sided"), 3.0, (0.0, 2.0)),
    hush.Stairs(2, 8.0, 1.0, 0.125, 0.015625),
]


def test_shares_of_a_vector_add_up_to_the_target() -> None:
    made = share(TARGET, 100, honest=60)
    assert made.noise.correlation == 0.3 and made.noise.dimension == 5
    assert Fraction(made.noise.noise.sigma) ** 2 * 60 >= Fraction(12) ** 2  # never less noise than the target
    assert made.noise.noise.sigma == pytest.approx(12.0 / math.sqrt(60.0), rel=1e-14)
    np.testing.assert_allclose(60.0 * made.noise.covariance, TARGET.covariance, rtol=1e-13)
    assert made.sum_of(60) == TARGET
    exact = hush.curve(TARGET, COUNTS)
    assert made.central(COUNTS).delta(0.5) == exact.delta(0.5)
    deltas = [made.central(COUNTS, answering=m).delta(0.5) for m in (20, 40, 60, 80, 100)]
    assert (np.diff(deltas) < 0.0).all()
    assert made.local(COUNTS).delta(0.5) > deltas[0]
    assert "dimension=5" in str(made) and "share.central(sensitivity)" in str(made)


def test_rounded_shares_on_a_fine_lattice_have_the_curve_of_the_sum() -> None:
    made = share(TARGET, 20)
    real = made.central(COUNTS, answering=15)
    rounded = made.central(COUNTS, answering=15, step=0.125)
    assert rounded.delta(0.5) == pytest.approx(real.delta(0.5), rel=1e-11)
    assert rounded.delta(200.0) > real.delta(200.0)  # the distance of the two laws is added
    with pytest.raises(Unsupported, match=r"too coarse .* use a step of 0\.\d+ or less\.$"):
        made.central(COUNTS, step=2.0)


@pytest.mark.parametrize(("sigma", "correlation"), [(0.55, 0.0), (0.6, 0.4), (0.8, 0.6)])
def test_the_bound_on_aliasing_against_the_two_laws(sigma: float, correlation: float) -> None:
    """Two shares of two numbers on a lattice so coarse that aliasing is visible: all differences obey the bound."""
    noise, reach = Correlated(Gaussian(sigma), 2, correlation), 7
    covered = multivariate_normal(cov=noise.covariance)
    corners = np.arange(-reach - 1, reach + 1) + 0.5
    below = np.array([[covered.cdf([a, b]) for b in corners] for a in corners])
    one = np.diff(np.diff(below, axis=0), axis=1)
    places = list(itertools.product(range(-3, 4), repeat=2))
    centre = reach
    summed = {
        k: sum(
            one[i, j] * one[2 * centre + k[0] - i, 2 * centre + k[1] - j]
            for i in range(2 * reach + 1)
            for j in range(2 * reach + 1)
            if 0 <= 2 * centre + k[0] - i <= 2 * reach and 0 <= 2 * centre + k[1] - j <= 2 * reach
        )
        for k in places
    }
    # the rounded sum with a uniform vector has the density of T + U + U' at the lattice points, an inverse transform
    t = np.linspace(-16.0 / sigma, 16.0 / sigma, 801)
    x, y = np.meshgrid(t, t, indexing="ij")
    spectrum = (
        np.exp(-(sigma**2) * (x * x + y * y + 2.0 * correlation * x * y))
        * (np.sinc(x / (2 * np.pi)) * np.sinc(y / (2 * np.pi))) ** 2
    )
    weight = (t[1] - t[0]) ** 2 / (2.0 * np.pi) ** 2
    worst = max(abs(summed[k] - weight * float((spectrum * np.cos(k[0] * x + k[1] * y)).sum())) for k in places)
    least = sigma**2 * (1.0 - correlation)
    b = 2.0 * sum(math.exp(-0.5 * math.pi**2 * least * (2 * m - 1) ** 2) for m in range(1, 20))
    bound = 3.0 * ((1.0 + b) ** 2 - 1.0)
    assert 1e-6 < worst <= bound
    if 0.5 * math.pi**2 * least >= 1.0:
        points = 2.0 * (40.0 * sigma * math.sqrt(2.0) + 2.0) + 1.0
        assert log_vector_variation(noise, 2, 1.0) >= 2.0 * math.log(points) + math.log(bound) - 1e-12


def test_sums_of_drawn_shares_have_the_covariance_of_the_target() -> None:
    """A chi-squared test at a false-alarm rate of 1e-6, which also rejects scales of 2/3 and 3/2."""
    made, runs, step = share(TARGET, 4), 4000, 2.0**-4
    sums = sum(made.draw(runs, step, entropy=DeterministicTestEntropy(seed)) for seed in range(4)) * step
    inverse = np.linalg.inv(TARGET.covariance)
    every = float(np.einsum("ni,ij,nj->", sums, inverse, sums))
    common = float((sums.sum(axis=1) ** 2).sum() / TARGET.covariance.sum())
    for found, freedom in ((every, 5 * runs), (common, runs)):
        low, high = chi2.ppf([ALARM / 2.0, 1.0 - ALARM / 2.0], freedom)
        assert low < found < high
        for scale in (2.0 / 3.0, 1.5):
            assert not low < found * scale**2 < high


def test_messages_modulo_a_power_of_two() -> None:
    made = share(Correlated(Gaussian(30.0), 3, 0.25), 6)
    rings = ring(made, bound=1000, overflow=1e-9, step=0.5)
    values = [np.array([party, 2 * party, 1], dtype=np.int64) for party in range(6)]
    assert rings.central(Sensitivity(linf=1.0, dimension=3, one_sided=True)).failure >= 3.0 * rings.overflow > 0.0
    messages = []
    for steps in values:
        ledger = hush.Ledger(None, epsilon=50.0, delta=1e-6)
        paid = rings.pay(ledger, view="local", sensitivity=Sensitivity(linf=1.0, dimension=3, one_sided=True))
        messages.append(rings.message(steps, paid))
        with pytest.raises(hush.errors.NotPaid):
            rings.message(steps, paid)
    found = rings.total(messages)
    assert found.shape == (3,) and (np.abs(found - sum(values)) < 12.0 * 60.0).all()


def test_lost_parties_of_a_vector() -> None:
    table = dropout(TARGET, 10, delta=1e-6, sensitivity=COUNTS, gone=(0.0, 0.3), runs=400)
    assert [row.kept for row in table.rows] == [True, False, True, True]
    assert table.rows[0].measured == pytest.approx(table.rows[0].error, rel=0.2)


@pytest.mark.parametrize("noise", [*PURE, hush.Ball(5, 2.0), Correlated(hush.Ball(5, 2.0), 5, 0.2)], ids=str)
def test_other_joint_noise_is_refused_in_one_sentence(noise: hush.Noise) -> None:
    with pytest.raises(Unsupported, match=r"Correlated\(Gaussian") as refused:
        share(noise, 10)
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)
    assert power(noise, Fraction(1)) is noise


def _transform(noise: hush.Noise, column: int, angles: np.ndarray) -> np.ndarray:
    """The characteristic function of one number of a lattice noise."""
    k = np.arange(1500)
    mass = np.exp(np.asarray(noise.marginal_of(column).log_density(k * noise.step)))
    mass[0] *= 0.5
    return 2.0 * mass @ np.cos(np.outer(k, angles))


@pytest.mark.parametrize(("noise", "column"), [(PURE[0], 0), (PURE[1], 0), (PURE[3], 1)], ids=str)
def test_characteristic_functions_with_a_change_of_sign(noise: hush.Noise, column: int) -> None:
    """So these noises are not sums of an even number of independent shares of one law: see docs/maths/federated.md."""
    found = _transform(noise, column, np.linspace(1e-3, math.pi, 400))
    assert found[0] == pytest.approx(1.0, abs=1e-2) and found.min() < -1e-3


def test_the_transform_of_the_cube() -> None:
    """On a fine lattice: sin(d arctan(s t))/(d s t) (1 + s^2 t^2)^(-d/2)."""
    noise, s, t = hush.Cube(3, 20.0), 20.0, np.array([0.01, 0.05, 0.08, 0.1, 0.2])
    exact = np.sin(3.0 * np.arctan(s * t)) / (3.0 * s * t * (1.0 + (s * t) ** 2) ** 1.5)
    np.testing.assert_allclose(_transform(noise, 0, t), exact, atol=1e-3)
