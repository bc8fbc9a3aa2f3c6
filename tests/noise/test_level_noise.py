"""Cube and interval noise: their laws by enumeration and reference values, their privacy, and their draws."""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.noise.cube import Cube
from hush.noise.interval import Interval
from hush.noise.level_noise import LevelNoise
from hush.numerics.ball import precision
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy
from hush.sampling.joint import level_draws, uniform_rows

SMALL: dict[str, tuple[LevelNoise, int]] = {  # and how far the lattice has to reach for 12 digits
    "cube, 2": (Cube(2, 1.0), 40),
    "cube, 3": (Cube(3, 0.5), 18),
    "interval, no offset": (Interval(2, 1.0), 40),
    "interval, 2": (Interval(2, 1.0, 2.0), 42),
    "interval, 3": (Interval(3, 0.5, 1.0), 18),
    "interval, a large offset": (Interval(2, 1.0, 7.0), 46),
    "interval, half steps": (Interval(2, 0.5, 1.0, step=0.5), 44),
}


def exponents(noise: LevelNoise, points: Any) -> Any:
    """-log P(x) in units of the rate, but for the normaliser, of each row x: straight from the definition."""
    if isinstance(noise, Cube):
        return np.abs(points).max(axis=1)
    assert isinstance(noise, Interval)
    a, b = np.maximum(0, points.max(axis=1)), np.maximum(0, -points.min(axis=1))
    return np.maximum(np.maximum(a, b), a + b - round(noise.offset / noise.step))


def exponent(noise: LevelNoise, x: tuple[int, ...]) -> int:
    """The same for one point."""
    return int(exponents(noise, np.array([x]))[0])


def enumerated(noise: LevelNoise, reach: int) -> dict[tuple[int, ...], float]:
    """The law, point by point."""
    points = np.indices((2 * reach + 1,) * noise.dimension).reshape(noise.dimension, -1).T - reach
    weights = np.exp(-float(noise.rate) * exponents(noise, points))
    law = weights / math.fsum(weights)
    return dict(zip(map(tuple, points.tolist()), law.tolist(), strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_moments_and_marginal_are_those_of_the_definition(name: str) -> None:
    noise, reach = SMALL[name]
    law, unit = enumerated(noise, reach), noise.step**2
    assert noise.variance == pytest.approx(unit * math.fsum(p * x[0] ** 2 for x, p in law.items()), rel=1e-6)
    assert noise.covariance[0, 1] == pytest.approx(
        unit * math.fsum(p * x[0] * x[1] for x, p in law.items()), rel=1e-6, abs=1e-12
    )
    for k in range(6):
        mass = math.fsum(p for x, p in law.items() if x[0] == k)
        assert noise.marginal.pdf(k * noise.step) == pytest.approx(mass, rel=1e-7)
        beyond = math.fsum(p for x, p in law.items() if x[0] >= k + 1)
        with precision(120):
            assert float(noise.at_least_ball(k + 1)) == pytest.approx(beyond, rel=1e-7)
        assert noise.marginal.sf(k * noise.step) == pytest.approx(beyond, rel=1e-7)


@pytest.mark.parametrize("name", SMALL)
def test_floats_and_balls_agree_on_levels_and_numbers(name: str) -> None:
    """Two ways to the same sums: logarithms in floats, exact binomials in balls; far into the tail."""
    noise, _ = SMALL[name]
    with precision(160):
        for k in (0, 1, 2, 5, 17, 60):
            level = float(noise.log_level_tail(np.array([float(k)]))[0])
            assert level == pytest.approx(float(noise.level_tail_ball(k).log()), abs=1e-11)
            sums = math.fsum(np.exp(noise.log_mass(np.arange(k + 1.0, k + 900.0))))
            assert sums == pytest.approx(float(noise.at_least_ball(k + 1)), rel=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_no_move_changes_the_density_by_more_than_the_rate(name: str) -> None:
    """Pure privacy by enumeration: every move of whole steps up to 2 in the allowed directions, at every point."""
    noise, _ = SMALL[name]
    one_sided = isinstance(noise, Interval)
    directions = range(3) if one_sided else range(-2, 3)
    points = np.indices((19,) * noise.dimension).reshape(noise.dimension, -1).T - 9
    here, worst = exponents(noise, points), 0
    for move in itertools.product(directions, repeat=noise.dimension):
        change = int(np.abs(exponents(noise, points + np.array(move)) - here).max())
        assert change <= max(map(abs, move)), move
        worst = max(worst, change)
    assert worst == 2  # the bound is reached


def test_moves_of_both_signs_cost_interval_noise_twice() -> None:
    noise = Interval(2, 1.0)
    assert exponent(noise, (1, -1)) - exponent(noise, (0, 0)) == 2


def test_variances_of_the_reference_values(data_dir: Path) -> None:
    known = json.loads((data_dir / "interval.json").read_text())["values"]
    cases: dict[str, Any] = {
        "lattice_count_variance": lambda e: Interval(e["K"], 1.0 / e["t"]).variance,
        "lattice_F_variance": lambda e: Interval(e["K"], 1.0 / e["t"], float(e["c"])).variance,
    }
    checked = 0
    for entry in known:
        if entry["case"] in cases and entry["K"] > 1:
            assert cases[entry["case"]](entry) == pytest.approx(float(entry["value"]), rel=1e-9), entry
            checked += 1
    joint = json.loads((data_dir / "joint.json").read_text())["values"]
    for entry in joint:
        if entry["kind"] in ("cube_lattice_variance", "onesided_lattice_variance"):
            kind = Cube if entry["kind"].startswith("cube") else Interval
            made = kind(int(entry["params"]["d"]), 1.0 / float(entry["params"]["eps"]))
            assert made.variance == pytest.approx(float(entry["value"]), rel=1e-9), entry
            checked += 1
    assert checked >= 10


def test_probabilities_of_the_reference_values(data_dir: Path) -> None:
    """P(x) = q^exponent P(0), and P(0) is one over the weight of all levels."""
    checked = 0
    for entry in json.loads((data_dir / "interval_pmf.json").read_text()):
        if entry["kind"] == "F":
            noise = Interval(entry["K"], 1.0 / entry["t"], float(entry["c"]))
            with precision(120):
                centre = 1.0 / float(noise._levels_ball(0))
            mass = centre * math.exp(-entry["t"] * exponent(noise, tuple(entry["x"])))
            assert mass == pytest.approx(float(entry["pmf"]), rel=1e-9), entry
            checked += 1
    assert checked == 18


def chi_squared(sample: Any, noise: LevelNoise, reach: int, around: int) -> tuple[float, int]:
    """Against the enumerated law, over the points within `around` of the centre and the rest as one cell."""
    law, found = enumerated(noise, reach), Counter(map(tuple, sample.tolist()))
    cells = [x for x in law if max(map(abs, x)) <= around]
    total = sum((found[x] - len(sample) * law[x]) ** 2 / (len(sample) * law[x]) for x in cells)
    rest, seen = 1.0 - sum(law[x] for x in cells), sum(found[x] for x in cells)
    return total + (len(sample) - seen - len(sample) * rest) ** 2 / (len(sample) * rest), len(cells)


@pytest.mark.parametrize("name", ["cube, 2", "interval, no offset", "interval, 2", "interval, 3"])
def test_draws_have_the_joint_law(name: str) -> None:
    """Chi-squared at a false-alarm rate of 1e-6; scales of 2/3 and 3/2 are told apart."""
    from scipy.stats import chi2

    noise, reach = SMALL[name]
    sample = level_draws(SecureEntropy().begin(), noise, 60_000)
    assert sample.shape == (60_000, noise.dimension) and sample.dtype == np.int64
    around = 2 if noise.dimension == 3 else 3
    total, cells = chi_squared(sample, noise, reach, around)
    limit = chi2.isf(1e-6, cells)
    assert total < limit
    for factor in (2.0 / 3.0, 1.5):
        other = type(noise)(noise.dimension, noise.scale * factor, **_offset(noise))
        assert chi_squared(sample, other, reach + 20, around)[0] > limit


def _offset(noise: LevelNoise) -> dict[str, float]:
    return {"offset": noise.offset} if isinstance(noise, Interval) else {}


def test_joint_moments_of_draws() -> None:
    """Ten numbers: variances and covariances within six standard errors."""
    noise = Interval(10, 1.0, 3.0)
    sample = level_draws(SecureEntropy().begin(), noise, 200_000).astype(float)
    seen, known = np.cov(sample.T, ddof=0), noise.covariance
    error = 6.0 * 2.5 * noise.variance / math.sqrt(len(sample))  # the fourth moment is below 6.25 squared variances
    assert np.abs(seen - known).max() < error and np.abs(sample.mean(axis=0)).max() < 6.0 * math.sqrt(
        noise.variance / len(sample)
    )


@pytest.mark.parametrize("noise", [Cube(3, 2.0), Interval(3, 2.0, 2.0), Interval(20, 4.0, 9.0)], ids=repr)
def test_balls_decide_the_same_draws(noise: LevelNoise) -> None:
    """Every level through ball arithmetic: the same numbers, because refinement is a function of the draw."""
    fast = level_draws(DeterministicTestEntropy(7).begin(), noise, 200)
    slow = level_draws(DeterministicTestEntropy(7).begin(), noise, 200, margin=1e14)
    assert (fast == slow).all()


def test_uniform_whole_numbers_are_uniform() -> None:
    """Chi-squared over small and awkward ranges at 1e-6, and a range in which two words of five are drawn again."""
    from scipy.stats import chi2

    bits, draws = SecureEntropy().begin(), np.arange(50_000)
    for most in (1, 2, 3, 7, 1000):
        found = np.bincount(uniform_rows(bits, np.full((50_000, 4), most), draws, 0).ravel(), minlength=most)
        assert found.size == most and ((found - 200_000 / most) ** 2 / (200_000 / most)).sum() < chi2.isf(1e-6, most)
    wide = (1 << 31) - 1
    found = uniform_rows(bits, np.full((50_000, 2), wide), draws, 0)
    assert found.min() >= 0 and found.max() < wide
    assert abs(found.mean() / wide - 0.5) < 5.0 / math.sqrt(12 * 100_000)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Cube(0, 1.0), "dimension must be"),
        (lambda: Cube(2.5, 1.0), "dimension must be"),  # type: ignore[arg-type]
        (lambda: Interval(3, -1.0), "scale must be"),
        (lambda: Interval(3, math.nan), "scale must be"),
        (lambda: Interval(3, 1.0, -1.0), "offset must be"),
        (lambda: Interval(3, 1.0, 0.5), "whole number of steps"),
        (lambda: Interval(3, 1.0, math.inf), "offset must be"),
        (lambda: Cube(3, 1.0, step=0.0), "step must be"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(make: Any, words: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=words):
        make()


def test_a_move_off_the_lattice_is_refused() -> None:
    """Noise on whole numbers cannot hide a move by a half: the outputs would never coincide."""
    for noise in (Cube(3, 1.0), Interval(3, 1.0)):
        for linf in (0.5, 1.5):
            with pytest.raises(hush.Unsupported, match="move by whole steps"):
                hush.epsilon(noise, 0.0, hush.Sensitivity(linf=linf, dimension=3))
        assert hush.epsilon(noise, 0.0, hush.Sensitivity(linf=2.0, dimension=3)) >= 2.0
    fine = Cube(3, 1.0, step=0.25)
    assert hush.epsilon(fine, 0.0, hush.Sensitivity(linf=0.5, dimension=3)) == pytest.approx(0.5)
    with pytest.raises(hush.Unsupported, match="whole steps"):
        hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=1.0, dimension=3), family="cube", step=0.3)


def test_levels_that_draws_cannot_reach_are_refused_before_anything_is_spent() -> None:
    with pytest.raises(hush.Unsupported, match="does not suit 1000 numbers"):
        Cube(1000, 5e5)


@pytest.mark.parametrize("step", [0.1, 0.3, 0.7])
def test_offsets_are_whole_numbers_of_decimal_steps(step: float) -> None:
    """0.3 is three steps of 0.1, though the quotient of the floats is not 3; and so are multiples of them."""
    for c in range(120):
        for offset in (c * step, float(f"{c * step:.12g}")):
            made = Interval(3, 2.0, offset, step)
            assert round(made.offset / step) == c and made == Interval(3, 2.0, c * step, step)
            assert round(made.scaled(1.7).offset / (1.7 * step)) == c
    assert hush.Hull(3, 2, 2.0, 3 * step, True, step).widened(2.0).offset == pytest.approx(6 * step)
    assert hush.Plateau(("one_sided", "two_sided"), 2.0, (3 * step, 6 * step), step).widened(2.0).offsets[1] > 11 * step
    with pytest.raises(hush.InvalidParameter, match="whole number of steps"):
        Interval(3, 2.0, 3.001 * step, step)


def fine_limit(made: Any, step: float = 1.0 / 20.0) -> float:
    """The limit of fine lattices: what two steps show, with the error of the order of the squared step removed."""
    coarse, fine = made(step), made(0.5 * step)
    return float((4.0 * fine - coarse) / 3.0)


def test_normalisers_of_the_reference_values(data_dir: Path) -> None:
    checked = 0
    for row in json.loads((data_dir / "interval.json").read_text())["values"]:
        if row["case"] not in ("lattice_count_normaliser", "lattice_F_normaliser", "lattice_F_pmf_at_0"):
            continue
        noise = Interval(row["K"], 1.0 / row["t"], float(row.get("c", 0.0)))
        found = math.exp(float(noise.log_density_of(np.zeros(row["K"]))))
        wanted = float(row["value"]) if row["case"].endswith("at_0") else 1.0 / float(row["value"])
        assert found == pytest.approx(wanted, rel=1e-12), row
        checked += 1
    assert checked == 10


def test_limits_of_fine_lattices_are_the_reference_values(data_dir: Path) -> None:
    """Variances and covariances of the densities on the real line."""
    cases: dict[str, Any] = {
        "count_variance": lambda e: lambda h: Interval(e["K"], 1.0, 0.0, h).variance,
        "count_covariance": lambda e: lambda h: Interval(e["K"], 1.0, 0.0, h).covariance[0, 1],
        "F_variance": lambda e: lambda h: Interval(e["K"], 1.0, e["c"], h).variance,
        "onesided_variance": lambda e: lambda h: Interval(e["d"], float(e["s"]), 0.0, h).variance,
        "cube_variance": lambda e: lambda h: Cube(e["d"], float(e["s"]), h).variance,
    }
    checked = 0
    for name in ("interval.json", "joint.json"):
        for row in json.loads((data_dir / name).read_text())["values"]:
            make = cases.get(row.get("case", row.get("kind")))
            if make is not None:
                found = fine_limit(make(row.get("params", row)))
                assert found == pytest.approx(float(row["value"]), rel=1e-8), row
                checked += 1
    assert checked == 21


def test_half_widths_of_the_reference_values(data_dir: Path) -> None:
    """Within a step and a half of a fine lattice."""
    step, checked = 1.0 / 256.0, 0
    for row in json.loads((data_dir / "joint.json").read_text())["values"]:
        if row["kind"] == "cube_halfwidth":
            law = Cube(row["params"]["d"], float(row["params"]["s"]), step).marginal
            assert abs(law.isf(float(row["params"]["tail"]) / 2.0) - float(row["value"])) < 1.5 * step
            checked += 1
    for row in json.loads((data_dir / "interval.json").read_text())["values"]:
        if row["case"] == "count_quantile_two_sided":
            law = Interval(row["K"], 1.0, 0.0, step).marginal
            assert abs(law.isf((1.0 - float(row["prob"])) / 2.0) - float(row["value"])) < 1.5 * step
            checked += 1
    assert checked == 10


# -- many numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        Cube(1, 0.3, 1.0),
        Cube(2, 50.0, 1.0),
        Cube(300, 7.0, 0.5),
        Interval(5, 3.0, 2.0, 0.5),
        Interval(300, 7.0, 0.0, 0.5),
    ],
)
def test_moments_from_the_likely_levels_are_those_of_all_levels(noise):
    level = np.arange(4.0 * (noise.dimension + 900.0) * noise.scale / noise.step)
    weights = noise.log_level_weights(level)
    mass = np.exp(weights - weights.max())
    own, shared = noise.moments_given(level)
    assert noise.variance == pytest.approx(float(mass @ own) / mass.sum() * noise.step**2, rel=1e-12)
    assert noise._moments[1] == pytest.approx(float(mass @ shared) / mass.sum(), rel=1e-12)
    first, last = noise._likely_levels
    kept = mass[int(first) : int(last) + 1].sum() / mass.sum()
    assert kept == pytest.approx(1.0, abs=1e-14)


def test_a_noise_for_many_numbers_needs_little_memory():
    """The least noise for 46,360 numbers at delta = 0: fits of a few hundred columns release as many products."""
    tracemalloc.start()
    try:
        plan = hush.calibrate(0.5, 0.0, hush.Sensitivity(l1=20.0, l2=1.0, dimension=46_360))
        assert plan.variance > 0.0
        assert tracemalloc.get_traced_memory()[1] < 200e6  # 1.4e12 if every level had a number for each column
    finally:
        tracemalloc.stop()
