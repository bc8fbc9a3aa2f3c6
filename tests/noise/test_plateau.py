"""Plateau noise: its law by enumeration, its privacy for every allowed move, and its draws."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import hush
from hush.noise.plateau import Plateau, least_plateau
from hush.numerics.ball import precision
from hush.privacy.charge import Charge
from hush.privacy.theorem import pure_epsilon
from hush.sampling.entropy import DeterministicTestEntropy, NamedBits, SecureEntropy
from hush.sampling.joint import level_draws

NOISES = {
    "three kinds": Plateau(("people", "one_sided", "two_sided"), 0.5, (0.0, 1.0, 1.0)),
    "people and a count": Plateau(("people", "one_sided"), 0.7, (0.0, 2.0)),
    "without people": Plateau(("two_sided", "one_sided"), 0.6, (1.0, 0.0)),
    "both signs only": Plateau(("two_sided", "two_sided"), 0.6, (1.0, 0.0)),
    "half steps": Plateau(("people", "one_sided"), 0.35, (0.0, 0.5), step=0.5),
}
MOVES = {"people": (1,), "one_sided": (0, 1), "two_sided": (-1, 0, 1)}


@cache
def enumerated(noise: Plateau, levels: int) -> dict[tuple[int, ...], float]:
    """The law, level by level, straight from its description. The probability of later levels is left out."""
    offsets = [round(c / noise.step) for c in noise.offsets]
    reach = [levels + c for c in offsets]
    weights = np.zeros([2 * r + 1 for r in reach])
    moving = any(kind != "two_sided" for kind in noise.kinds)
    for u in range(levels):
        for i in range(u + 1) if moving else (0,):
            box = []
            for kind, c, r in zip(noise.kinds, offsets, reach, strict=True):
                ends = {"people": (2 * i - u, 2 * i - u), "one_sided": (i - u - c, i + c), "two_sided": (-c - u, c + u)}
                low, high = ends[kind]
                box.append(slice(r + low, r + high + 1))
            weights[tuple(box)] += math.exp(-float(noise.rate) * u)
    places = np.argwhere(weights)
    law = weights[tuple(places.T)] / math.fsum(weights.ravel())
    return dict(zip(map(tuple, (places - reach).tolist()), law.tolist(), strict=True))


@pytest.mark.parametrize("name", NOISES)
def test_moments_and_marginals_are_those_of_the_description(name: str) -> None:
    noise = NOISES[name]
    law = enumerated(noise, 24)
    second = np.array([[math.fsum(p * x[i] * x[j] for x, p in law.items()) for i in range(noise.dimension)]
                       for j in range(noise.dimension)])  # fmt: skip
    assert noise.covariance == pytest.approx(second * noise.step**2, rel=1e-7, abs=1e-12)
    assert noise.variance == pytest.approx(np.diag(noise.covariance))
    for column in range(noise.dimension):
        marginal = noise.marginal_of(column)
        for k in range(5):
            mass = math.fsum(p for x, p in law.items() if x[column] == k)
            beyond = math.fsum(p for x, p in law.items() if x[column] > k)
            assert marginal.pdf(k * noise.step) == pytest.approx(mass, rel=1e-7)
            assert marginal.sf(k * noise.step) == pytest.approx(beyond, rel=1e-6)
            with precision(120):
                assert float(noise.at_least_ball_of(column, k + 1)) == pytest.approx(beyond, rel=1e-6)
        assert marginal.variance == pytest.approx(noise.variance[column], rel=1e-9)


@pytest.mark.parametrize("name", NOISES)
def test_floats_and_balls_agree_far_into_the_tail(name: str) -> None:
    noise = NOISES[name]
    with precision(200):
        for k in (0, 1, 5, 60, 300):
            here = float(noise.log_level_tail(np.array([float(k)]))[0])
            assert here == pytest.approx(float(noise.level_tail_ball(k).log()), abs=1e-11)
            for column in range(noise.dimension):
                terms = noise.log_mass_of(column, np.arange(k + 1.0, k + 2000.0))
                above = float(np.logaddexp.reduce(terms))
                assert above == pytest.approx(float(noise.at_least_ball_of(column, k + 1).log()), abs=1e-9)


@pytest.mark.parametrize("name", NOISES)
def test_every_allowed_move_costs_at_most_the_stated_epsilon(name: str) -> None:
    """All points and all allowed moves of one and two steps; the bound is reached."""
    noise = NOISES[name]
    law, epsilon, worst = enumerated(noise, 24), float(noise.rate), 0.0
    for x, p in law.items():
        if max(map(abs, x)) > 4:  # the levels that the enumeration leaves out matter further out
            continue
        for steps in (1, 2):
            spans = [
                (steps,) if kind == "people" else range(0 if kind == "one_sided" else -steps, steps + 1)
                for kind in noise.kinds
            ]
            for move in itertools.product(*spans):
                there = law[tuple(a + b for a, b in zip(x, move, strict=True))]
                assert abs(math.log(p / there)) <= steps * epsilon + 1e-4
                worst = max(worst, abs(math.log(p / there)) / steps)
    assert worst == pytest.approx(epsilon, rel=1e-3)


def test_moves_that_are_not_allowed_cost_more() -> None:
    """A count that moves while the number of people stays, or a one-sided number that moves down, breaks the bound."""
    noise = NOISES["people and a count"]
    law = enumerated(noise, 24)
    changes = {move: max(abs(math.log(law[x] / law[x[0] + move[0], x[1] + move[1]]))
                         for x in law if max(map(abs, x)) < 7) for move in ((0, 1), (1, -1), (1, 1))}  # fmt: skip
    assert changes[0, 1] > 1.5 * float(noise.rate) and changes[1, -1] > 1.5 * float(noise.rate)
    assert changes[1, 1] <= float(noise.rate) + 1e-4


def test_the_theorem_asks_for_the_facts() -> None:
    """Kinds and facts must agree: the number of people, its place, its bound, and one-sided numbers."""
    noise = Plateau(("people", "two_sided", "one_sided"), 2.0)
    facts = {"columns": (1.0, 1.0, 1.0), "l0": 3}
    good = hush.Sensitivity(**facts, one_sided=(True, False, True), people=0)
    assert pure_epsilon(Charge(noise, good)) == 1.5
    for bad in (
        hush.Sensitivity(**facts, one_sided=(True, False, True)),  # nobody states a number of people
        hush.Sensitivity(**facts, one_sided=(True, False, True), people=2),  # it is another number
        hush.Sensitivity(**facts, one_sided=(True, False, False), people=0),  # the last one may move down
        hush.Sensitivity(columns=(1.0, 2.0, 1.0), l0=3, one_sided=(True, False, True), people=0),
    ):
        with pytest.raises(hush.Unsupported):
            pure_epsilon(Charge(noise, bad))
    assert pure_epsilon(Charge(Plateau(("one_sided", "two_sided"), 2.0), hush.Sensitivity(
        columns=(1.0, 3.0), l0=1, one_sided=True))) == 1.5  # fmt: skip


@pytest.mark.parametrize("name", NOISES)
def test_draws_have_the_law_by_chi_squared_on_both_paths(name: str) -> None:
    """At 1e-6; the law with a scale half as large again, or two thirds as large, is rejected."""
    noise = NOISES[name]
    for margin, count in ((1e3, 60_000), (1e14, 2_000)):
        sample = Counter(map(tuple, level_draws(SecureEntropy().begin(), noise, count, margin).tolist()))
        assert _distance(sample, enumerated(noise, 24), count) < 1.0
        if count > 10_000:
            for factor in (2.0 / 3.0, 1.5):
                wrong = Plateau(noise.kinds, noise.scale * factor, noise.offsets, noise.step)
                assert _distance(sample, enumerated(wrong, 30), count) > 1.0


def _distance(sample: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float], count: int) -> float:
    """Chi-squared over its critical value at 1e-6; rare points are one cell."""
    cells = {x: p for x, p in law.items() if p * count >= 10.0}
    rest = 1.0 - math.fsum(cells.values())
    seen = sum(sample[x] for x in cells)
    total = sum((sample[x] - count * p) ** 2 / (count * p) for x, p in cells.items())
    total += (count - seen - count * rest) ** 2 / max(count * rest, 1e-9)
    return total / float(chi2.isf(1e-6, len(cells)))


def test_fast_and_exact_draws_are_the_same_for_the_same_bits() -> None:
    noise = NOISES["three kinds"]
    fast = level_draws(DeterministicTestEntropy(5).begin(), noise, 300)
    assert (fast == level_draws(DeterministicTestEntropy(5).begin(), noise, 300, margin=1e14)).all()


def test_named_draws_repeat_in_any_order_and_have_the_law() -> None:
    """A draw is a function of the secret and of its name: whole vectors, in any batch."""
    noise, secret, count = NOISES["three kinds"], bytes(range(64)), 40_000
    names = np.random.default_rng(1).integers(0, 2**63, (count, 2), dtype=np.uint64)
    whole = level_draws(NamedBits(secret, names), noise, count)
    order = np.random.default_rng(2).permutation(count)[:500]
    assert (level_draws(NamedBits(secret, names[order]), noise, 500) == whole[order]).all()
    assert not (level_draws(NamedBits(bytes(64), names[order]), noise, 500) == whole[order]).all()
    assert _distance(Counter(map(tuple, whole.tolist())), enumerated(noise, 24), count) < 1.0


def test_offsets_of_least_variance() -> None:
    """Against a search over all offsets of a coarse lattice, and the values of continuous noise for K counts."""
    kinds = ("people", "two_sided", "one_sided")
    best = min(
        float(np.sum(Plateau(kinds, 3.0, (0.0, float(b), float(a))).variance)) for a in range(8) for b in range(8)
    )
    assert float(np.sum(least_plateau(kinds, 3.0, 1.0).variance)) == pytest.approx(best, rel=1e-3)
    for numbers, variance in ((5, 8.259), (10, 20.47), (20, 58.88)):
        assert least_plateau(("one_sided",) * numbers, 1.0, 1 / 16).variance[0] == pytest.approx(variance, rel=2e-4)


def test_a_table_of_three_columns_in_three_groups() -> None:
    """People, a centred sum and a count: the sum of variances is 139.5 for continuous noise."""
    noise = least_plateau(("people", "two_sided", "one_sided"), 3.0, 1 / 32)
    assert noise.variance == pytest.approx([49.5, 52.7, 37.3], rel=0.02)
    assert float(np.sum(noise.variance)) == pytest.approx(139.5, abs=0.1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Plateau((), 1.0),
        lambda: Plateau("people", 1.0),
        lambda: Plateau(("people", "people"), 1.0),
        lambda: Plateau(("person",), 1.0),
        lambda: Plateau(("people", "one_sided"), 1.0, (1.0, 0.0)),
        lambda: Plateau(("people", "one_sided"), 1.0, (0.0, 0.5)),
        lambda: Plateau(("people", "one_sided"), 1.0, (0.0, -1.0)),
        lambda: Plateau(("people", "one_sided"), 1.0, (0.0,)),
        lambda: Plateau(("people", "one_sided"), float("nan")),
    ],
)
def test_wrong_parameters_are_refused(make) -> None:
    with pytest.raises(hush.InvalidParameter):
        make()


def test_calibrate_gives_it_for_mixed_columns() -> None:
    bound = hush.Sensitivity(columns=(1.0, 1.0, 1.0), l0=3, one_sided=(True, False, True), people=0)
    plan = hush.calibrate(1.0, 1e-6, bound)
    assert plan.family == "plateau" and plan.variance < 47.0
    assert hush.delta(plan.noise, 1.0, bound) <= 1e-6
    replaced = hush.Sensitivity(columns=(1.0, 1.0, 1.0), l0=3, neighbours="replace")
    assert hush.calibrate(1.0, 0.0, replaced).family == "cube"


@pytest.mark.parametrize(("counts", "scale"), [(3, 1.0), (4, 0.5), (7, 0.3)])
def test_a_number_of_people_alone_has_no_curve(counts: int, scale: float) -> None:
    """Its law has a dip at 0: a curve that adds up the losses on one side of 0 would be too small.

    The other numbers have curves, and the pure epsilon of the joint noise covers all of them.
    """
    noise = Plateau(("people",) + ("one_sided",) * counts, scale)
    people, other = noise.marginal_of(0), noise.marginal_of(1)
    assert people.pdf(1.0) > people.pdf(0.0) and other.pdf(1.0) < other.pdf(0.0)
    for ask in (lambda: hush.delta(people, 0.1), lambda: hush.compose([(people, 2.0, 2)]).delta(0.1)):
        with pytest.raises(hush.Unsupported, match="use the curve of the joint noise"):
            ask()
    k = np.arange(-80.0, 81.0)
    mass = other.pdf(k)
    exact = np.maximum(mass[1:] - math.exp(0.1) * mass[:-1], 0.0).sum()
    assert exact <= hush.delta(other, 0.1) <= exact + 1e-9
    assert 0.0 < people.isf(0.01) < 80.0  # intervals need no shape


def test_numbers_of_a_kind_share_one_law() -> None:
    noise = Plateau(("two_sided", "one_sided", "two_sided", "one_sided"), 1.0, (1.0, 2.0, 1.0, 0.0))
    laws = [noise.marginal_of(place) for place in range(4)]
    assert laws[0] == laws[2] and len(set(laws)) == 3
    assert [law.variance for law in laws] == pytest.approx(noise.variance, rel=1e-9)


@pytest.mark.parametrize("name", NOISES)
def test_the_log_density_is_that_of_the_description(name: str) -> None:
    noise = NOISES[name]
    law = enumerated(noise, 24)
    near = [x for x in law if max(map(abs, x)) < 5]  # further out the levels beyond 24 count
    found = noise.log_density_of(np.array(near) * noise.step)
    assert found == pytest.approx([math.log(law[x]) for x in near], rel=1e-6, abs=1e-6)


def counts_with(row: dict[str, Any], scale: float, step: float = 1.0) -> Plateau:
    return Plateau(("one_sided",) * row["K"], scale, (float(row["c"]),) * row["K"], step)


def test_the_reference_values(data_dir: Path) -> None:
    """On the whole numbers, and in the limit of fine lattices (two steps, the error of the squared step removed)."""
    checked = 0
    for row in json.loads((data_dir / "interval.json").read_text())["values"]:
        case, wanted = row["case"], float(row["value"])
        if case == "lattice_plateau_variance":
            assert counts_with(row, 1.0 / row["t"]).variance == pytest.approx([wanted] * row["K"], rel=1e-12)
        elif case == "lattice_plateau_normaliser":
            centre = float(counts_with(row, 1.0 / row["t"]).log_density_of(np.zeros(row["K"])))
            assert math.exp(-centre) == pytest.approx(wanted, rel=1e-12)
        elif case in ("plateau_variance", "plateau_covariance"):
            coarse, fine = (counts_with(row, 1.0, step).covariance for step in (1.0 / 40.0, 1.0 / 80.0))
            place = (0, 0) if case == "plateau_variance" else (0, 1)
            assert (4.0 * fine[place] - coarse[place]) / 3.0 == pytest.approx(wanted, rel=1e-9), row
        else:
            continue
        checked += 1
    for row in json.loads((data_dir / "interval_pmf.json").read_text()):
        if row["kind"] == "P":
            mass = math.exp(float(counts_with(row, 1.0 / row["t"]).log_density_of(row["x"])))
            assert mass == pytest.approx(float(row["pmf"]), rel=1e-9)
            checked += 1
    assert checked == 23
