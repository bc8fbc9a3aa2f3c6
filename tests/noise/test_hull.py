"""Hull noise: its law by enumeration and by reference values, and its parameters."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from noise.hull_definition import SMALL, enumerated

import hush
from hush.noise.hull import Hull
from hush.noise.hull_counts import evaluated, hull_counts
from hush.noise.hull_slices import slices
from hush.numerics.ball import precision

# -- the law -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_moments_and_marginal_are_those_of_the_definition(name: str) -> None:
    noise, reach = SMALL[name]
    points, masses = enumerated(noise, reach)
    one = points[:, 0]
    assert noise.variance == pytest.approx(noise.step**2 * (masses * one**2).sum(), rel=1e-8)
    assert noise.marginal.mean_abs == pytest.approx(noise.step * (masses * np.abs(one)).sum(), rel=1e-8)
    if noise.dimension > 1:
        shared = noise.step**2 * (masses * one * points[:, 1]).sum()
        assert noise.covariance[0, 1] == pytest.approx(shared, rel=1e-8, abs=1e-11)
    for k in range(6):
        assert noise.marginal.pdf(k * noise.step) == pytest.approx(masses[one == k].sum(), rel=1e-8)
        with precision(120):
            assert float(noise.at_least_ball(k + 1)) == pytest.approx(masses[one > k].sum(), rel=1e-8)


LARGER = [
    Hull(12, 6, 1.0),
    Hull(16, 7, 1.0, 6.0, one_sided=True, step=0.125),
    Hull(11, 3, 2.0, 1.0, one_sided=True),
    Hull(20, 10, 0.4, 2.0, one_sided=True),
]


@pytest.mark.parametrize("noise", [*(noise for noise, _ in SMALL.values()), *LARGER], ids=repr)
def test_floats_and_balls_agree_on_levels_and_numbers(noise: Hull) -> None:
    """Two ways to the same sums: logarithms in floats, and balls; from the centre to probabilities of 1e-300."""
    law = noise.marginal
    far = law.points - 2
    with precision(160):
        for k in (0, 1, 2, 5, 17, 60):
            level = float(noise.log_level_tail(np.array([float(k)]))[0])
            assert level == pytest.approx(float(noise.level_tail_ball(k).log()), abs=1e-11)
        for k in (0, 1, 2, 7, 40, far):
            one = noise.at_least_ball(k + 1) - noise.at_least_ball(k + 2)
            mass = float(noise.log_mass(np.array(float(k + 1))))
            assert mass == pytest.approx(float(one.log()), abs=1e-11)
        assert -745.0 < float(noise.at_least_ball(far).log()) < -600.0  # tails reach that far
    assert 2.0 * math.fsum(law.masses[1:]) + law.masses[0] == pytest.approx(1.0, abs=1e-13)
    assert law.variance == pytest.approx(noise.variance, rel=1e-12)


@pytest.mark.parametrize("noise", [Hull(60, 20, 1.0, 20.0, True, 1.0 / 32.0), Hull(40, 20, 0.02)], ids=repr)
def test_the_law_of_one_number_keeps_its_digits(noise: Hull) -> None:
    """Large offsets and few steps: the smallest weights of the law of one number matter far from its centre."""
    assert noise.marginal.variance == pytest.approx(noise.variance, rel=1e-11)
    assert 2.0 * math.fsum(noise.marginal.masses[1:]) + noise.marginal.masses[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("d", "l0"), [(4, 1), (4, 2), (5, 3), (4, 4)])
def test_the_tables_count_lattice_points(d: int, l0: int) -> None:
    counts = hull_counts(d, l0)
    for j, level in itertools.product(range(d + 1), range(5)):
        inside = [z for z in itertools.product(range(1, level + 1), repeat=j) if sum(z) <= l0 * level]
        sums = [
            len(inside),
            sum(z[0] for z in inside if j),
            sum(z[0] ** 2 for z in inside if j),
            sum(z[0] * z[1] for z in inside if j > 1),
        ]
        tables = (counts.points, counts.first, counts.square, counts.product)
        assert [evaluated(table[:, j], level) for table in tables] == sums


@pytest.mark.parametrize(("d", "l0"), [(5, 1), (5, 2), (5, 3)])
def test_the_coefficients_count_words(d: int, l0: int) -> None:
    """The proof that none is negative: words with exactly m letters and fewer than l0 places that do not rise."""
    counts = hull_counts(d, l0)
    for j, m in itertools.product(range(1, d + 1), range(1, d + 1)):
        words = (u for u in itertools.product(range(m), repeat=j) if len(set(u)) == m)
        few = sum(sum(b <= a for a, b in itertools.pairwise(u)) < l0 for u in words)
        assert counts.points[m, j] == few


@pytest.mark.parametrize(("d", "l0"), [(2, 1), (6, 5), (9, 4), (12, 6), (25, 3), (30, 20)])
def test_no_coefficient_is_negative(d: int, l0: int) -> None:
    """Floats add logarithms of the coefficients, so none may be negative; and no positive one may be lost."""
    counts = hull_counts(d, l0)
    assert all((table >= 0).all() for table in (counts.points, counts.first, counts.square, counts.product))
    for noise in (Hull(d, l0, 1.0), Hull(d, l0, 1.0, 2.0, one_sided=True)):
        with precision(128):
            found = slices(l0, noise.ways_of_others)
            assert all(value.rad() <= abs(value.mid()) * 2.0**-100 or abs(value) < 2.0**-100 for value in found.ravel())
            assert all(value > 0 or abs(value) < 2.0**-100 for value in found.ravel())


# -- reference values ----------------------------------------------------------------------------------------


def test_lattice_variances_of_the_reference_values(data_dir: Path) -> None:
    rows = json.loads((data_dir / "joint.json").read_text())["values"]
    rows = [row for row in rows if row["kind"] == "hull_lattice_variance" and row["params"]["norm"] == "ceil"]
    for row in rows:
        noise = Hull(row["params"]["d"], row["params"]["l0"], 1.0 / row["params"]["eps"])
        assert noise.variance == pytest.approx(float(row["value"]), rel=1e-11)
    assert rows


def test_the_limit_of_fine_lattices_has_the_reference_values_as_fractions(data_dir: Path) -> None:
    """The limit is a ratio of leading coefficients: the whole numbers of the tables give exact fractions."""
    rows = [r for r in json.loads((data_dir / "joint.json").read_text())["values"] if r["kind"] == "hull_variance"]
    for row in rows:
        d, l0 = row["params"]["d"], row["params"]["l0"]
        counts = hull_counts(d, l0)
        limit = Fraction(counts.square[d + 2, d], counts.points[d, d])
        assert limit == (d + 1) * (d + 2) * Fraction(row["params"]["Eu2"])
        assert float(limit) == pytest.approx(float(row["value"]), rel=1e-13)
        assert Hull(d, l0, 1.0, step=1.0 / 16.0).variance == pytest.approx(float(limit), rel=2e-3)
    assert len(rows) == 5


def test_one_sided_limits_of_the_reference_values(data_dir: Path) -> None:
    """The volume of the body, and the variance without an offset, from leading coefficients."""
    checked = 0
    for row in json.loads((data_dir / "interval.json").read_text())["values"]:
        if row["case"] not in ("l0_body_volume", "l0_variance"):
            continue
        d, l0, wanted = row["G"], row["l0"], float(row["value"])
        counts = hull_counts(d, l0)
        top = [counts.points[k, k] for k in range(d + 1)]  # k! times the volume of the part with k numbers
        weights = [math.comb(d, k) * top[k] * top[d - k] for k in range(d + 1)]
        if row["case"] == "l0_variance":
            inner = [Fraction(k, d) * counts.square[k + 2, k] / top[k] for k in range(d + 1)]
            variance = 2 * sum(w * s for w, s in zip(weights, inner, strict=True)) / sum(weights)
            assert float(variance) == pytest.approx(wanted, rel=1e-12), row
            fine = Hull(d, l0, 1.0, one_sided=True, step=1.0 / 16.0)
            assert fine.variance == pytest.approx(wanted, rel=5e-3)
        else:
            parts = [Fraction(top[k] * top[d - k], math.factorial(k) * math.factorial(d - k)) for k in range(d + 1)]
            assert float(sum(parts)) == pytest.approx(wanted, rel=1e-12), row
        checked += 1
    assert checked == 6


@pytest.mark.parametrize(
    ("noise", "variance"),
    [
        (Hull(12, 3, 1.0), 16.8701),
        (Hull(12, 6, 1.0), 48.042),
        (Hull(11, 3, 1.0, 1.0, one_sided=True), 12.667958),
        (Hull(12, 6, 1.0, 3.0, one_sided=True), 24.998812),
        (Hull(20, 10, 1.0, 7.0, one_sided=True), 57.894998),
    ],
    ids=repr,
)
def test_known_variances(noise: Hull, variance: float) -> None:
    """The first two from counts of levels; the others from a sum over pairs of levels, made without these classes."""
    assert noise.variance == pytest.approx(variance, rel=1e-5)


def test_all_numbers_moving_is_the_cube() -> None:
    assert Hull(6, 6, 1.5).variance == pytest.approx(hush.Cube(6, 1.5).variance, rel=1e-12)
    assert Hull(6, 6, 1.5, one_sided=True).variance == pytest.approx(hush.Interval(6, 1.5).variance, rel=1e-12)
    alone = hush.Discrete(hush.Laplace(1.5))  # l0 = 1: independent noise
    assert Hull(4, 1, 1.5).variance == pytest.approx(alone.variance, rel=1e-12)
    assert Hull(4, 1, 1.5, one_sided=True).variance == pytest.approx(alone.variance, rel=1e-12)


# -- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Hull(0, 1, 1.0), "dimension must be"),
        (lambda: Hull(3, 0, 1.0), "l0 must be"),
        (lambda: Hull(3, 4, 1.0), "l0 must be at most 3"),
        (lambda: Hull(3, 2.5, 1.0), "l0 must be"),  # type: ignore[arg-type]
        (lambda: Hull(3, 2, -1.0), "scale must be"),
        (lambda: Hull(3, 2, math.nan), "scale must be"),
        (lambda: Hull(3, 2, 1.0, 1.0), "needs one_sided=True"),
        (lambda: Hull(3, 2, 1.0, -1.0, one_sided=True), "offset must be"),
        (lambda: Hull(3, 2, 1.0, 0.5, one_sided=True), "whole number of steps"),
        (lambda: Hull(3, 2, 1.0, math.inf, one_sided=True), "offset must be"),
        (lambda: Hull(3, 2, 1.0, one_sided=1), "one_sided must be"),  # type: ignore[arg-type]
        (lambda: Hull(3, 2, 1.0, step=0.0), "step must be"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=words):
        make()


def test_tables_that_are_too_large_are_refused() -> None:
    for make in (lambda: Hull(500, 3, 1.0), lambda: Hull(110, 60, 1.0), lambda: Hull(100, 30, 5e4)):
        with pytest.raises(hush.Unsupported, match=r"too large|too fine"):
            make()


def test_scaled_and_widened() -> None:
    noise = Hull(6, 3, 2.0, 1.0, one_sided=True, step=0.5)
    assert noise.scaled(2.0) == Hull(6, 3, 4.0, 2.0, one_sided=True, step=1.0)
    assert noise.scaled(2.0).variance == pytest.approx(4.0 * noise.variance, rel=1e-12)
    assert noise.widened(1.2) == Hull(6, 3, 2.4, 1.0, one_sided=True, step=0.5)
