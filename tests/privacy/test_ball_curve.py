"""The curves of ball noise and of correlated noise: reference values, integrals of the definition, composition."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.noise.correlated import _best_correlation
from hush.privacy.ball_loss import BallLoss
from hush.privacy.by_ball import BallPair


def l2(dimension: int, bound: float = 1.0) -> hush.Sensitivity:
    return hush.Sensitivity(l2=bound, dimension=dimension)


def counts(dimension: int, moving: int | None = None) -> hush.Sensitivity:
    return hush.Sensitivity(linf=1.0, dimension=dimension, l0=moving, one_sided=True)


# -- delta ---------------------------------------------------------------------------------------------------


def test_delta_and_scales_of_the_reference_values(data_dir: Path) -> None:
    checked = 0
    for entry in json.loads((data_dir / "joint.json").read_text())["values"]:
        known, value = entry["params"], float(entry["value"])
        if entry["kind"] == "ball_delta":
            noise, bound = hush.Ball(int(known["d"]), float(known["s"])), l2(int(known["d"]))
            found = hush.curve(noise, bound).delta_bracket(float(known["eps"]))
            assert found.upper == pytest.approx(value, rel=1e-11) and found.lower == pytest.approx(value, rel=1e-11)
            checked += 1
        elif entry["kind"] == "ball_scale":
            plan = hush.calibrate(float(known["eps"]), float(known["delta"]), l2(int(known["d"])), family="ball")
            assert plan.noise.scale == pytest.approx(value, rel=2e-9)  # type: ignore[attr-defined]
            checked += 1
    assert checked == 12


def by_definition(d: int, scale: float, epsilon: float) -> float:
    """The integral of max(f(x) - e^epsilon f(x - D), 0) in polar coordinates around 0, with D at the angle 0.

    It is positive where |x - D| - |x| > c = epsilon scale: at radii below (1 - c^2)/(2 (cos angle + c)), if cos angle
    is above -c, and at all radii else.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    c, reach, total = epsilon * scale, 60.0 * scale, 0.0
    cuts = np.concatenate([np.linspace(0.0, math.acos(-c), 40), np.linspace(math.acos(-c), math.pi, 10)[1:]])
    for low, high in itertools.pairwise(cuts):
        angle = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        with np.errstate(divide="ignore"):
            end = np.where(np.cos(angle) > -c, (1.0 - c * c) / (2.0 * (np.cos(angle) + c)), reach)
        end = np.minimum(end, reach)[:, None]
        r = 0.5 * end * (1.0 + nodes)
        far = np.sqrt(r * r - 2.0 * r * np.cos(angle)[:, None] + 1.0)
        surplus = r ** (d - 1) * (np.exp(-r / scale) - np.exp(epsilon - far / scale))
        inner = (surplus * weights).sum(axis=1) * 0.5 * end[:, 0]
        total += float((inner * np.sin(angle) ** (d - 2) * weights).sum()) * 0.5 * (high - low)
    around = math.sqrt(math.pi) * math.gamma((d - 1) / 2.0) / math.gamma(d / 2.0)  # of sin^(d - 2) over (0, pi)
    return total / (around * math.gamma(d) * scale**d)


@pytest.mark.parametrize(("d", "scale", "epsilon"), [(2, 0.7, 0.4), (3, 1.0, 0.2), (3, 0.5, 1.5), (7, 0.8, 0.9)])
def test_delta_is_the_integral_of_the_definition(d: int, scale: float, epsilon: float) -> None:
    assert hush.delta(hush.Ball(d, scale), epsilon, l2(d)) == pytest.approx(by_definition(d, scale, epsilon), rel=1e-9)


@pytest.mark.parametrize(("d", "ratio"), [(2, 3.0), (3, 0.01), (10, 1.2), (50, 1.8), (400, 5.0), (3000, 300.0)])
def test_delta_against_ball_arithmetic(d: int, ratio: float) -> None:
    """The integral again in rigorous quadrature: the truth is inside the bracket, which is narrow."""
    from flint import acb

    from hush.numerics.ball import precision

    loss = BallLoss(d, ratio)
    for share in (0.0, 0.2, 0.6):
        epsilon = share * ratio
        with precision(120):
            k, p = loss.constants()
            t, z = acb(share).acos(), acb(ratio) / 2

            def density(x: Any, _: Any, t: Any = t, z: Any = z, k: Any = k, p: Any = p) -> Any:
                gap = 1 - (-2 * z * (x.cos() - t.cos())).exp()
                return (acb(k) + z * x.cos()).exp() * x.sin() ** (d - 2) * (1 + acb(p) * x.sin() ** 2) * gap

            truth = acb.integral(density, acb(0), t, rel_tol=2.0**-60, abs_tol=2.0**-900).real
        pair = BallPair(d, ratio)
        lower, upper = (float(pair._end(np.array(epsilon), end)) for end in ("lower", "upper"))
        if truth > 1e-200:
            assert lower <= truth and truth <= upper
            assert upper - lower <= 3e-11 * upper


def test_the_error_of_few_nodes_is_seen_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four nodes and no halving the bracket is wide, and still holds the truth."""
    from hush.privacy import ball_loss

    exact = BallPair(10, 1.3)._end(np.linspace(0.0, 1.2, 7), "upper")
    monkeypatch.setattr(ball_loss, "_NODES", 4)
    monkeypatch.setattr(ball_loss, "_DEEPEST", 1)
    ball_loss._gauss.cache_clear()
    try:
        lower, upper = (BallPair(10, 1.3)._end(np.linspace(0.0, 1.2, 7), end) for end in ("lower", "upper"))
    finally:
        ball_loss._gauss.cache_clear()
    assert (lower <= exact).all() and (exact <= upper).all() and (upper > 1.0001 * exact).all()


@pytest.mark.parametrize("d", [2, 5, 60])
def test_delta_falls_is_convex_and_ends_at_the_pure_epsilon(d: int) -> None:
    curve = hush.curve(hush.Ball(d, 0.8), l2(d))
    assert curve.epsilon(0.0) == 1.25
    epsilon = np.linspace(0.0, 1.25, 60)
    delta = np.asarray(curve.delta(epsilon))
    slope = np.diff(delta) / np.diff(np.exp(epsilon))
    assert (np.diff(delta) < 0.0).all() and (np.diff(slope) > -1e-12 * np.abs(slope[1:])).all()
    assert delta[-1] == 0.0 and curve.delta(2.0) == 0.0
    back = np.asarray(curve.epsilon(delta[1:-1]))
    assert np.allclose(back, epsilon[1:-1], rtol=1e-9)


def test_more_scale_and_shorter_moves_are_more_private() -> None:
    deltas = [hush.delta(hush.Ball(7, s), 0.5, l2(7)) for s in (0.8, 1.0, 1.3)]
    moves = [hush.delta(hush.Ball(7, 1.0), 0.5, l2(7, m)) for m in (1.3, 1.0, 0.8)]
    assert deltas == sorted(deltas, reverse=True) and moves == sorted(moves, reverse=True)
    box = hush.Sensitivity(linf=1.0, dimension=7)
    assert hush.delta(hush.Ball(7, 2.0), 0.5, box) == hush.delta(hush.Ball(7, 2.0), 0.5, l2(7, box.l2_bound))


def test_one_number_is_laplace_and_many_numbers_are_nearly_gaussian() -> None:
    for epsilon in (0.0, 0.3, 0.9):
        assert hush.delta(hush.Ball(1, 1.0), epsilon, l2(1)) == hush.delta(hush.Laplace(1.0), epsilon)
    gaussian = hush.delta(hush.Gaussian(4.0), 1.0)
    gaps = [
        hush.delta(hush.Ball(d, 4.0 / math.sqrt(d + 1.0)), 1.0, l2(d)) / gaussian - 1.0 for d in (2500, 5000, 10_000)
    ]
    assert abs(gaps[2]) < 0.01 and all(1.9 < a / b < 2.1 for a, b in itertools.pairwise(gaps))  # falls like 1/d


def test_a_sensitivity_of_another_dimension_is_refused() -> None:
    with pytest.raises(hush.InvalidParameter, match="for 3 numbers"):
        hush.delta(hush.Ball(3, 1.0), 0.5, l2(4))
    with pytest.raises(hush.InvalidParameter, match="for 3 numbers"):
        hush.subsample(hush.Ball(3, 1.0), 0.1, l2(4))


def test_ball_noise_on_a_sample_follows_the_curve_of_all_people() -> None:
    """q delta(log(1 + (e^epsilon - 1)/q)), which is the worse direction here."""
    noise, rate, epsilon = hush.Ball(3, 1.0), 0.1, 0.05
    raised = math.log1p(math.expm1(epsilon) / rate)
    known = rate * hush.delta(noise, raised, l2(3))
    assert hush.compose([hush.subsample(noise, rate, l2(3))]).delta(epsilon) == pytest.approx(known, rel=1e-12)


# -- composition and divergences -----------------------------------------------------------------------------


def losses(d: int, ratio: float, cells: int) -> tuple[Any, Any]:
    """Losses and probabilities of one release on a fine grid of the angle, from the density."""
    from scipy.special import kv

    theta = (np.arange(cells) + 0.5) * math.pi / cells
    z, n = 0.5 * ratio, 0.5 * (d - 2)
    p = z * kv(n, z) / ((d - 1) * kv(n + 1, z))
    mass = np.exp(z * np.cos(theta)) * np.sin(theta) ** (d - 2) * (1.0 + p * np.sin(theta) ** 2)
    return ratio * np.cos(theta), mass / mass.sum()


@pytest.mark.parametrize(("d", "ratio"), [(2, 0.8), (6, 1.5)])
def test_two_releases_by_brute_force(d: int, ratio: float) -> None:
    loss, mass = losses(d, ratio, 3000)
    both, weight = loss[:, None] + loss, mass[:, None] * mass
    found = hush.curve(hush.Ball(d, 1.0 / ratio), l2(d), times=2)
    for epsilon in (0.1, 0.5, 1.2):
        brute = float((weight * np.maximum(-np.expm1(epsilon - both), 0.0)).sum())
        bracket = found.delta_bracket(epsilon)
        assert bracket.lower <= brute and brute == pytest.approx(bracket.upper, rel=1e-4)
        assert bracket.upper - bracket.lower < 0.04 * bracket.upper  # d = 2: the density is infinite at the end


def test_a_composition_with_other_noise_by_brute_force() -> None:
    loss, mass = losses(4, 1.0, 20_000)
    found = hush.compose([(hush.Ball(4, 1.0), l2(4), 1), (hush.Laplace(2.0), 1.0, 1)])
    for epsilon in (0.2, 0.8):
        one = np.array([float(hush.delta(hush.Laplace(2.0), epsilon - x)) for x in loss.reshape(-1, 20).mean(axis=1)])
        brute = float((mass.reshape(-1, 20).sum(axis=1) * one).sum())
        assert found.delta(epsilon) == pytest.approx(brute, rel=2e-3)


@pytest.mark.parametrize("order", [1.0, 1.5, 3.0, 20.0])
@pytest.mark.parametrize(("d", "ratio"), [(2, 0.8), (9, 1.5), (40, 0.01)])
def test_divergences_are_those_of_the_losses(d: int, ratio: float, order: float) -> None:
    loss, mass = losses(d, ratio, 20_000)
    if order == 1.0:
        known = float((mass * loss).sum())
    else:
        known = math.log1p(float((mass * np.expm1((order - 1.0) * loss)).sum())) / (order - 1.0)
    found = hush.renyi(hush.Ball(d, 1.0), order, l2(d, ratio))
    assert found == pytest.approx(known, rel=1e-6) and found >= known * (1.0 - 1e-9)


# -- correlated noise ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "moving", "r"), [(2, 2, 0.5), (5, 3, 0.2), (8, 8, 0.25), (8, 1, 0.7), (9, 6, 0.0)])
def test_the_longest_one_sided_move_is_the_one_found_by_trying_all(d: int, moving: int, r: float) -> None:
    noise = hush.Correlated(hush.Gaussian(1.0), d, r)
    inverse = np.linalg.inv(noise.covariance)
    tried = [
        np.array(v) for v in itertools.product((0.0, 0.5, 1.0), repeat=min(d, 8)) if 0 < np.sum(np.sign(v)) <= moving
    ]
    tried = [np.concatenate([v, np.zeros(d - len(v))]) for v in tried]
    longest = max(float(v @ inverse @ v) for v in tried)
    assert float(noise.one_sided_length(moving)) == pytest.approx(longest, rel=1e-12)
    bound = counts(d, moving)
    assert hush.delta(noise, 0.7, bound) == pytest.approx(
        hush.delta(hush.Gaussian(1.0), 0.7, math.sqrt(longest)), rel=1e-9
    )
    ball = hush.Correlated(hush.Ball(d, 1.0), d, r)
    assert hush.delta(ball, 0.7, bound) == pytest.approx(hush.delta(hush.Ball(d, 1.0), 0.7, l2(d, math.sqrt(longest))))
    assert hush.renyi(ball, 2.0, bound) == pytest.approx(hush.renyi(hush.Ball(d, 1.0), 2.0, l2(d, math.sqrt(longest))))


@pytest.mark.parametrize("r", [0.0, 0.3])
def test_moves_of_both_signs_are_bounded_by_the_least_eigenvalue(r: float) -> None:
    noise = hush.Correlated(hush.Gaussian(1.0), 4, r)
    inverse = np.linalg.inv(noise.covariance)
    longest = max(float(np.array(v) @ inverse @ v) for v in itertools.product((-1.0, 0.0, 1.0), repeat=4))
    box = hush.Sensitivity(linf=1.0, dimension=4)
    assert hush.delta(noise, 0.5, box) >= hush.delta(hush.Gaussian(1.0), 0.5, math.sqrt(longest)) * (1.0 - 1e-12)
    assert hush.delta(noise, 0.5, counts(4)) <= hush.delta(noise, 0.5, box)
    least = float(np.linalg.eigvalsh(noise.covariance)[0])
    assert hush.delta(noise, 0.5, l2(4)) == pytest.approx(hush.delta(hush.Gaussian(1.0), 0.5, least**-0.5), rel=1e-9)


def test_correlated_noise_under_the_definition_in_the_plane() -> None:
    """The divergence of two counts on a grid, for all corners: none is above the curve, and one reaches it."""
    noise, epsilon = hush.Correlated(hush.Ball(2, 1.2), 2, 0.5), 0.3
    axis = np.arange(-22.0, 22.0, 0.04)
    points = np.stack(np.meshgrid(axis, axis), axis=-1)
    inverse = np.linalg.inv(np.array([[1.0, 0.5], [0.5, 1.0]]))

    def density(x: Any) -> Any:
        return np.exp(-np.sqrt(np.einsum("...i,ij,...j", x, inverse, x)) / 1.2)

    here = density(points)
    found = [
        float(np.maximum(here - math.exp(epsilon) * density(points - np.array(v)), 0.0).sum() / here.sum())
        for v in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 1.0))
    ]
    stated = hush.delta(noise, epsilon, counts(2))
    assert max(found) == pytest.approx(stated, rel=1e-3) and max(found) < stated * 1.001
    both_signs = np.maximum(here - math.exp(epsilon) * density(points - np.array((1.0, -1.0))), 0.0).sum() / here.sum()
    assert both_signs > 1.1 * stated  # the condition that all numbers move in one direction is needed


def test_correlated_noise_refuses_what_it_cannot_be_made_of() -> None:
    for make, words in (
        (lambda: hush.Correlated(hush.Laplace(1.0), 3, 0.2), "Gaussian or Ball"),
        (lambda: hush.Correlated(hush.Ball(4, 1.0), 3, 0.2), "for 3 numbers"),
        (lambda: hush.Correlated(hush.Gaussian(1.0), 3, 1.0), "correlation must be"),
        (lambda: hush.Correlated(hush.Gaussian(1.0), 3, -0.1), "correlation must be"),
        (lambda: hush.Correlated(hush.Gaussian(1.0), 0, 0.1), "dimension must be"),
    ):
        with pytest.raises(hush.InvalidParameter, match=words):
            make()


def test_correlated_gaussians_of_the_reference_values(data_dir: Path) -> None:
    """For at most l0 of G counts to 1e-8. For all of K counts the reference is a bound that a better correlation
    beats, by less than 1 %.
    """
    checked = 0
    for row in json.loads((data_dir / "interval.json").read_text())["values"]:
        if row["case"] not in ("lebeda_variance", "gauss_l0_variance"):
            continue
        dimension = row["K"] if row["case"] == "lebeda_variance" else row["G"]
        bound, wanted = counts(dimension, row.get("l0")), float(row["value"])
        r = _best_correlation(dimension, bound.moving or 0)
        least = float(hush.Correlated(hush.Gaussian(1.0), dimension, r).one_sided_length(bound.moving or 0))
        sigma = hush.calibrate(row["eps"], float(row["delta"]), family="gaussian").noise.sigma  # type: ignore[attr-defined]
        if row["case"] == "gauss_l0_variance":
            assert least * sigma**2 == pytest.approx(wanted, rel=1e-8), row
        assert 0.99 * wanted <= least * sigma**2 <= (1.0 + 1e-8) * wanted, row
        made = hush.Correlated(hush.Gaussian(sigma * math.sqrt(least) * (1.0 + 1e-9)), dimension, r)
        assert hush.delta(made, row["eps"], bound) == pytest.approx(float(row["delta"]), rel=1e-6)
        checked += 1
    assert checked == 7
