"""Ball noise: its law and its exact draws."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import gammaincc
from scipy.stats import chi2

import hush
from hush.noise.normal_mixture import NormalMixture
from hush.numerics.ball import precision
from hush.sampling import normal_draws as draws_module
from hush.sampling.entropy import DeterministicTestEntropy, NamedBits, SecureEntropy
from hush.sampling.normal_draws import NormalDraws, _sides, normal_draws
from hush.sampling.tail_ball import tail


@pytest.mark.parametrize("d", [1, 2, 3, 10, 51, 400])
def test_the_marginal_is_the_law_of_one_number(d: int) -> None:
    """Against the density |x/2|^(d/2) K_(d/2)(|x|)/(sqrt(pi) Gamma((d+1)/2)) in ball arithmetic, and its integral."""
    from flint import arb

    noise = hush.Ball(d, 2.0)
    law, points = noise.marginal, np.array([0.1, 1.0, 3.0]) * math.sqrt(d + 1.0)
    assert law.variance == pytest.approx(4.0 * (d + 1), rel=1e-14) == noise.variance
    with precision(160):
        order, scale = arb(d) / 2, arb.pi().sqrt() * (arb(d + 1) / 2).gamma()
        for x in points:
            density = (arb(x) / 2) ** order * arb(x).bessel_k(order) / scale
            assert law.pdf(2.0 * x) == pytest.approx(float(density) / 2.0, rel=1e-12)
            assert law.sf(2.0 * x) == pytest.approx(float(tail(law)(2 * arb(x))) / 2.0, rel=1e-11)
        mean = 2 * (order + 1).gamma() / scale
        assert law.mean_abs == pytest.approx(2.0 * float(mean), rel=1e-13)
    grid = np.linspace(points[1], points[1] + 60.0 + 12.0 * points[1], 20_001)
    area = float(trapezoid(law.pdf(2.0 * grid), 2.0 * grid))
    assert area == pytest.approx(law.sf(2.0 * points[1]) - law.sf(2.0 * grid[-1]), rel=1e-5)


@pytest.mark.parametrize("d", [10, 51, 400])
def test_the_density_of_one_number_is_continuous_at_zero(d: int) -> None:
    """Its square underflows for arguments below 1e-162; neither a warning nor a NaN follows from it."""
    law = hush.Ball(d, 1.0).marginal
    near = law.pdf(np.array([0.0, 1e-300, 1e-290, 1e-200, 1e-160, 1e-100, 1e-9]))
    assert near == pytest.approx(np.full(near.size, float(np.asarray(law.pdf(0.0)))), rel=1e-12)


@pytest.mark.parametrize("d", [2, 10, 200])
def test_far_quantiles_invert_the_tail(d: int) -> None:
    law = hush.Ball(d, 1.0).marginal
    u = np.array([0.49, 0.25, 0.025, 1e-6, 1e-50, 1e-300])
    assert np.allclose(law.sf(law.isf(u)), u, rtol=1e-11, atol=0.0)


def test_moments_scaling_and_bad_parameters() -> None:
    noise = hush.Ball(4, 3.0)
    assert noise.variance == 45.0 and np.array_equal(noise.covariance, 45.0 * np.eye(4))
    assert noise.scaled(2.0) == hush.Ball(4, 6.0) and isinstance(hush.Ball(1, 2.0).marginal, hush.Laplace)
    for bad in (lambda: hush.Ball(0, 1.0), lambda: hush.Ball(2, 0.0), lambda: hush.Ball(2, math.nan)):
        with pytest.raises(hush.InvalidParameter, match="must be"):
            bad()
    with pytest.raises(hush.Unsupported, match="at most 100000 numbers"):
        hush.Ball(10**6, 1.0)


def chi_squared(counts: Any, expected: Any) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


def marginal_statistic(sample: Any, noise: hush.Ball, step: float) -> tuple[float, int]:
    """One number against the rounded marginal law: twenty cells of whole steps."""
    law = noise.marginal
    edges = np.unique(np.round(np.asarray(law.isf(np.linspace(0.98, 0.02, 20))) / step)) + 0.5
    share = np.diff(np.concatenate([[0.0], np.asarray(law.cdf(edges * step)), [1.0]]))
    found = np.histogram(sample, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
    return chi_squared(found, share * len(sample)), len(share) - 1


@pytest.mark.parametrize("d", [1, 2, 3, 7, 30])
def test_draws_of_one_number_have_the_marginal_law(d: int) -> None:
    """Chi-squared at a false-alarm rate of 1e-6; scales of 2/3 and 3/2 are told apart."""
    noise, step = hush.Ball(d, 3.0), 0.5
    sample = normal_draws(SecureEntropy().begin(), noise, 40_000, step)
    for j in {0, d - 1}:
        found, cells = marginal_statistic(sample[:, j], noise, step)
        assert found < chi2.isf(0.5e-6, cells)
        for factor in (2.0 / 3.0, 1.5):
            found, cells = marginal_statistic(sample[:, j], noise.scaled(factor), step)
            assert found > chi2.isf(1e-6, cells)


def length_statistic(sample: Any, noise: hush.Ball, step: float) -> float:
    """|x|/scale is a gamma variable of shape d. On this fine lattice rounding moves it by less than a thousandth."""
    share = np.linspace(0.05, 0.95, 19)
    length = np.sqrt(((sample * step) ** 2).sum(axis=1)) / noise.scale
    reached = np.sort(1.0 - gammaincc(noise.dimension, length))
    found = np.histogram(reached, np.concatenate([[0.0], share, [1.0]]))[0]
    return chi_squared(found, len(sample) / 20.0)


def test_cosines_and_sines_of_words_against_forty_digits() -> None:
    """The first bit is the sign of the cosine, and the others are an angle between -pi/2 and pi/2."""
    ends = [0, 1, (1 << 61) + 1, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, 3 << 62, (1 << 64) - 1]
    listed = [*ends, *(k * 0x9E3779B97F4A7C15 % (1 << 64) for k in range(300))]
    cosine, sine = _sides(np.array(listed, dtype=np.uint64))
    with mpmath.workdps(40):
        for word, c, s in zip(listed, cosine.tolist(), sine.tolist(), strict=True):
            part = mpmath.mpf(2 * (word % (1 << 63)) + 1) / (1 << 64)  # the middle of the interval of the other bits
            angle = mpmath.pi * (part - (1 if part >= 0.5 else 0))
            sign = -1 if word >> 63 else 1
            assert abs(c - sign * mpmath.cos(angle)) < 2.0**-48 and abs(s - mpmath.sin(angle)) < 2.0**-48


def test_the_angle_of_two_normal_numbers_is_uniform() -> None:
    """At a false-alarm rate of 1e-6; numbers of which one has 2/3 or 3/2 of the scale are rejected."""
    sample = normal_draws(SecureEntropy().begin(), hush.Correlated(hush.Gaussian(1.0), 2, 0.0), 100_000, 2.0**-20)
    limit = chi2.isf(1e-6, 63)
    for factor in (1.0, 2.0 / 3.0, 1.5):
        angle = np.arctan2(factor * sample[:, 1], sample[:, 0])
        found = np.histogram(angle, np.linspace(-math.pi, math.pi, 65))[0]
        assert (chi_squared(found, len(sample) / 64.0) < limit) == (factor == 1.0)


@pytest.mark.parametrize("d", [2, 3, 12])
def test_lengths_are_gamma_variables(d: int) -> None:
    noise, step = hush.Ball(d, 3.0), 2.0**-12
    sample = normal_draws(SecureEntropy().begin(), noise, 40_000, step).astype(float)
    limit = chi2.isf(1e-6, 19)
    assert length_statistic(sample, noise, step) < limit
    for factor in (2.0 / 3.0, 1.5):
        assert length_statistic(sample, noise.scaled(factor), step) > limit


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_joint_moments(correlation: float) -> None:
    """Means, covariances and E x_1^2 x_2^2 within six standard errors (false alarms below 1e-6)."""
    ball = hush.Ball(5, 2.0)
    noise: NormalMixture = hush.Correlated(ball, 5, correlation) if correlation else ball
    x = normal_draws(SecureEntropy().begin(), noise, 100_000, 2.0**-6) * 2.0**-6

    def close(values: Any, truth: Any) -> bool:
        return bool((np.abs(values.mean(axis=0) - truth) < 6.0 * values.std(axis=0) / math.sqrt(len(x))).all())

    assert close(x, 0.0)
    for i in range(5):
        assert close(x[:, [i]] * x, noise.covariance[i])
        assert not close(x[:, [i]] * x, 2.25 * noise.covariance[i])
    # E C^2 = f (f + 2) for a chi-squared variable of f degrees of freedom
    fourth = 2.0**4 * 6.0 * 8.0 * (1.0 + 2.0 * correlation**2)
    assert close((x[:, 0] * x[:, 1]) ** 2, fourth)


@pytest.mark.parametrize(
    "noise",
    [
        hush.Ball(1, 2.0),
        hush.Ball(2, 2.0),
        hush.Ball(7, 2.0),
        hush.Correlated(hush.Ball(6, 2.0), 6, 0.25),
        hush.Correlated(hush.Gaussian(2.0), 5, 0.25),
    ],
    ids=repr,
)
def test_balls_decide_the_same_draws(noise: NormalMixture) -> None:
    for step in (2.0**-22, 0.25):  # on the fine lattice, floats decide all but a few numbers in a hundred
        fast = normal_draws(DeterministicTestEntropy(7).begin(), noise, 300, step)
        slow = normal_draws(DeterministicTestEntropy(7).begin(), noise, 300, step, margin=1e15)
        assert (fast == slow).all()
    names = np.arange(600, dtype=np.uint64).reshape(300, 2)
    named = [normal_draws(NamedBits(bytes(range(64)), names), noise, 300, 0.25, margin) for margin in (1.0, 1e15)]
    assert (named[0] == named[1]).all() and not (named[0] == fast).all()


@pytest.mark.parametrize("noise", [hush.Ball(3, 1.0), hush.Correlated(hush.Ball(2, 1.0), 2, 0.5)], ids=repr)
def test_more_bits_of_the_same_uniforms_decide_fine_lattices(noise: NormalMixture) -> None:
    """On a lattice of 2^-55 no word of 64 bits is enough. Rounded again, the draws are those of the coarse lattice."""
    coarse = normal_draws(DeterministicTestEntropy(3).begin(), noise, 60, 2.0**-5)
    fine = normal_draws(DeterministicTestEntropy(3).begin(), noise, 60, 2.0**-55)
    assert ((fine + (1 << 49) >> 50) == coarse).all()
    assert len(np.unique(fine & 1023)) > 50  # the last bits are random too


def test_words_at_the_edges_are_left_to_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform within 2^-30 of 0 or 1 is never decided in floats, and the draw is the same function of its bits."""
    noise, seen = hush.Ball(2, 1.0), []
    whole = NormalDraws._exact
    monkeypatch.setattr(NormalDraws, "_exact", lambda self, *given: seen.append(given) or whole(self, *given))

    class Edge:
        def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
            found = np.full((lanes, count), 1 << 60, dtype=np.uint64)  # U = V = 1/16
            found[0, 0], found[0, 1] = 5, (1 << 64) - 5
            return found

        def more(self, draws: Any, turn: int) -> Any:
            return np.full((draws.size, 2), 1 << 40, dtype=np.uint64)

    found = normal_draws(Edge(), noise, 3, 2.0**-4)
    assert len(seen) == 2
    plain = -2.0 * math.log(1.0 / 16.0)
    length = math.sqrt(plain + plain * math.sin(math.pi / 8.0) ** 2)  # C, from a uniform and the last normal number
    for row, uniform in enumerate((5.0 / 2**64, 1.0, 1.0 / 16.0)):
        radius = math.sqrt(-2.0 * math.log(uniform))
        expected = [16.0 * length * r * math.cos(math.pi / 8.0) for r in (radius, math.sqrt(plain))]
        assert found[row].tolist() == [round(x) for x in expected]


def test_inaccurate_floats_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    draws_module._validated.cache_clear()
    uniforms, sides = draws_module._uniforms, draws_module._sides
    for name, wrong in (
        ("_uniforms", lambda words: uniforms(words) * (1.0 + 1e-10)),
        ("_sides", lambda words: tuple(side + 1e-13 for side in sides(words))),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(draws_module, name, wrong)
            with pytest.raises(hush.NotCertified, match="not accurate"):
                NormalDraws(hush.Ball(2, 1.0), 1.0)


@pytest.mark.parametrize(
    "noise",
    [hush.Ball(3, 2.0), hush.Correlated(hush.Ball(4, 2.0), 4, 0.3), hush.Correlated(hush.Gaussian(2.0), 3, 0.6)],
)
def test_the_check_of_noises_passes(noise: hush.Noise) -> None:
    found = hush.check(noise)
    assert found.passed, str(found)


def test_a_release_of_a_gradient_end_to_end(tmp_path: Any) -> None:
    bound = hush.Sensitivity(l2=1.0, dimension=10)
    plan = hush.calibrate(1.0, 1e-6, bound)
    assert plan.family == "ball"
    with hush.Ledger(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6) as ledger:
        made = hush.release(np.linspace(-1.0, 1.0, 10), plan, ledger=ledger)
        assert made.value.shape == (10,) and ledger.spent.delta <= 1e-6
    with hush.Ledger(tmp_path / "a.ledger") as again:
        again.verify()
    assert "Ball" in str(hush.report.statement(made)) and "hardt2010" in hush.cite(plan)
    law = hush.Ball(10, plan.noise.scale).marginal  # type: ignore[attr-defined]
    assert made.error.half_width95 == pytest.approx(law.isf(0.025), rel=0.05)


def test_the_joint_density_integrates_to_one_and_falls_with_the_length() -> None:
    """By polar quadrature in two and three dimensions."""
    radius = np.linspace(0.0, 80.0, 400_001)
    for dimension, area in ((2, 2.0 * math.pi * radius), (3, 4.0 * math.pi * radius**2)):
        rows = np.zeros((radius.size, dimension))
        rows[:, 0] = radius
        density = np.exp(hush.Ball(dimension, 2.0).log_density_of(rows))
        assert float(trapezoid(density * area, radius)) == pytest.approx(1.0, abs=1e-8)


def test_correlated_noise_is_not_correlated_twice() -> None:
    for r in (0.0, 0.5):
        with pytest.raises(hush.InvalidParameter, match="noise must be Gaussian noise or Ball noise"):
            hush.Correlated(hush.Correlated(hush.Ball(2, 1.0), 2, r), 2, 0.3)


@pytest.mark.parametrize("noise", [hush.Ball(2, 1.2), hush.Gaussian(1.7)], ids=repr)
@pytest.mark.parametrize("r", [0.0, 0.3, 0.7])
def test_the_density_of_correlated_noise_has_its_covariance(noise: hush.Noise, r: float) -> None:
    """By sums over a fine grid: it is a density, and its second moments are those that are stated."""
    made = hush.Correlated(noise, 2, r)
    axis = (np.arange(900) + 0.5) / 900 * 80.0 - 40.0
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(made.log_density_of(points)) * (80.0 / 900.0) ** 2
    assert mass.sum() == pytest.approx(1.0, abs=1e-5)
    assert (points * mass[:, None]).T @ points == pytest.approx(made.covariance, rel=1e-4, abs=1e-6)
    with pytest.raises(hush.InvalidParameter, match="rows of 2 numbers"):
        made.log_density_of([1.0, 2.0, 3.0])
