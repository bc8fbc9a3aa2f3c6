"""An attack on joint noise with code of its own: random noises, random facts, all moves of a small lattice.

The laws are written here a second time, from their definitions as mixtures of uniform boxes. A claim fails if some
allowed move changes the probability of some point by more than the stated epsilon, or exceeds the stated delta.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hush
from hush import Cube, HushError, Interval, Plateau, Scaled, Sensitivity, Stairs
from hush.sampling.mechanism import Mechanism

REACH = {2: 14, 3: 8}
TINY = 1e-9


def some_noise(choose: random.Random, d: int, step: float = 1.0) -> Any:
    kind, scale = (
        choose.choice(["cube", "interval", "stairs", "stairs", "plateau", "plateau"]),
        choose.choice([1.0, 2.0]),
    )
    if kind == "cube":
        return Cube(d, scale, step)
    if kind == "interval":
        return Interval(d, scale, step * choose.randint(0, 3), step)
    if kind == "stairs":
        width, offset = step * choose.randint(1, 3), step * choose.randint(0, 3)
        return Stairs(d, choose.choice([0.5, 1.0, 2.0]), width, offset, step, choose.random() < 0.6)
    kinds = [choose.choice(["one_sided", "two_sided"]) for _ in range(d)]
    if choose.random() < 0.6:
        kinds[choose.randrange(d)] = "people"
    return Plateau(
        tuple(kinds), scale, tuple(0.0 if k == "people" else step * choose.randint(0, 2) for k in kinds), step
    )


def some_facts(choose: random.Random, d: int, moves: tuple[float, ...]) -> Sensitivity:
    linf = tuple(choose.choice(moves) for _ in range(d)) if choose.random() < 0.5 else (choose.choice(moves),) * d
    flags: Any = choose.choice([True, True, False, tuple(choose.random() < 0.6 for _ in range(d))])
    people = choose.randrange(d) if choose.random() < 0.5 else None
    few = choose.randint(1, d) if choose.random() < 0.3 else None
    return Sensitivity(linf=linf, one_sided=flags, people=people, l0=few)


def listed_facts(facts: Sensitivity, d: int) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """The bound of each number and its direction flag."""
    assert isinstance(facts.linf, tuple)
    flags = facts.one_sided if isinstance(facts.one_sided, tuple) else (facts.one_sided,) * d
    return facts.linf, flags


def by_definition(noise: Any, points: np.ndarray) -> np.ndarray:
    """The weights of points in whole steps: the sum over all levels of the boxes that contain the point."""
    c = [round(offset / noise.step) for offset in getattr(noise, "offsets", (getattr(noise, "offset", 0.0),))]
    if isinstance(noise, Cube | Interval):
        above, below = np.maximum(points.max(axis=1), 0), np.maximum(-points.min(axis=1), 0)
        least = np.maximum(above, below)
        least = np.maximum(least, above + below - c[0]) if isinstance(noise, Interval) else least
        return np.exp(-noise.step / noise.scale * least)
    weights, most = np.zeros(len(points)), 3 * int(np.abs(points).max())
    rate = noise.epsilon if isinstance(noise, Stairs) else noise.step / noise.scale
    n = round(noise.width / noise.step) if isinstance(noise, Stairs) else 1
    kinds = getattr(
        noise, "kinds", ("one_sided" if getattr(noise, "one_sided", False) else "two_sided",) * noise.dimension
    )
    c = c * noise.dimension if len(c) == 1 else c
    shared = any(kind != "two_sided" for kind in kinds)
    for u in range(most + math.ceil(36.0 / rate)):
        for i in range(u + 1) if shared else (0,):
            allowed = np.ones(len(points), dtype=bool)
            for x, kind, offset in zip(points.T, kinds, c, strict=True):
                if kind == "people":
                    allowed &= x == 2 * i - u
                elif kind == "one_sided":
                    allowed &= (x >= -(offset + n * (u - i))) & (x <= offset + n * i)
                else:
                    allowed &= np.abs(x) <= offset + n * u
            weights += math.exp(-rate * u) * allowed
    return weights


def table_of(noise: Any) -> tuple[np.ndarray, np.ndarray]:
    """All points of a box in steps, and the log probability that the noise states for each of them."""
    reach = REACH[noise.dimension]
    points = np.array(list(itertools.product(range(-reach, reach + 1), repeat=noise.dimension)))
    return points, noise.log_density_of(points * noise.step)


def shifted(table: np.ndarray, move: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The table at x and at x + move, where both are in the box."""
    here = tuple(slice(max(0, -x), size - max(0, x)) for x, size in zip(move, table.shape, strict=True))
    there = tuple(slice(max(0, x), size - max(0, -x)) for x, size in zip(move, table.shape, strict=True))
    return table[here], table[there]


def largest_loss(table: np.ndarray, move: tuple[int, ...]) -> float:
    here, there = shifted(table, move)
    with np.errstate(invalid="ignore"):
        return float(np.where(np.isneginf(here) & np.isneginf(there), 0.0, np.abs(here - there)).max())


def whole_moves(facts: Sensitivity, d: int) -> Iterator[tuple[int, ...]]:
    """Every move in whole steps that the facts allow."""
    linf, flags = listed_facts(facts, d)
    for move in itertools.product(*[range(-int(most), int(most) + 1) for most in linf]):
        sides = {x > 0 for x, flag in zip(move, flags, strict=True) if flag and x}
        few = facts.l0 is None or sum(x != 0 for x in move) <= facts.l0
        people = facts.people is None or abs(move[facts.people]) == linf[facts.people]
        if any(move) and len(sides) < 2 and few and people:
            yield move


def attack_facts(seed: int, turns: int) -> int:
    """Try random noises under random facts; return how many were covered by a theorem."""
    choose, covered = random.Random(seed), 0
    for _ in range(turns):
        d = choose.choice([2, 2, 2, 3])
        try:
            noise, facts = some_noise(choose, d), some_facts(choose, d, (1.0, 2.0, 3.0))
            factors = tuple(choose.choice([1.0, 0.5, 4.0]) for _ in range(d))
            linf, _ = listed_facts(facts, d)
            scaled = Sensitivity(
                linf=tuple(a * b for a, b in zip(linf, factors, strict=True)),
                one_sided=facts.one_sided,
                people=facts.people,
                l0=facts.l0,
            )
            curves = [hush.curve(noise, facts), hush.curve(Scaled(noise, factors), scaled)]
        except HushError:
            continue
        covered += 1
        logs = table_of(noise)[1]
        table = logs.reshape((2 * REACH[d] + 1,) * d)
        assert curves[0].pure_epsilon == pytest.approx(curves[1].pure_epsilon, rel=1e-12)
        for move in whole_moves(facts, d):
            assert largest_loss(table, move) <= curves[0].pure_epsilon * (1.0 + TINY), (noise, facts, move)
            here, there = (np.exp(part) for part in shifted(table, move))
            for curve, share in itertools.product(curves, (0.3, 0.8)):
                epsilon = share * curve.pure_epsilon
                found = float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum())
                assert found <= float(curve.delta(epsilon)) * (1.0 + TINY) + 1e-14, (noise, facts, move)
    return covered


def test_no_allowed_move_is_worse_than_the_claim() -> None:
    assert attack_facts(1, 60) >= 20


@pytest.mark.exhaustive
def test_no_allowed_move_is_worse_than_the_claim_many_times() -> None:
    assert sum(attack_facts(seed, 800) for seed in range(2, 5)) >= 800


def test_densities_are_those_of_the_definitions() -> None:
    choose = random.Random(3)
    for _ in range(12):
        noise = some_noise(choose, 2)
        points = np.array(list(itertools.product(range(-7, 8), repeat=2)))
        stated, defined = noise.log_density_of(points * noise.step), by_definition(noise, points)
        assert (np.isneginf(stated) == (defined == 0.0)).all()
        ratio = np.exp(stated[defined > 0.0]) / defined[defined > 0.0]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-8, err_msg=str(noise))


def rounded_moves(
    linf: tuple[float, ...], flags: tuple[bool, ...], facts: Sensitivity, steps: list[Fraction]
) -> set[Any]:
    """Moves in whole steps of numbers that are rounded to their lattices: a move x becomes floor(x/h) or ceil(x/h)."""
    options = []
    for place, (most, step) in enumerate(zip(linf, steps, strict=True)):
        parts = [Fraction(most)] if facts.people == place else [Fraction(most) * i / 4 for i in range(5)]
        ends = {(part, side) for part in parts for side in (1, -1)}
        options.append(
            {(f(side * part / step), side, part == 0) for part, side in ends for f in (math.floor, math.ceil)}
        )
    found = set()
    for combination in itertools.product(*options):
        sides = {side for (_, side, still), flag in zip(combination, flags, strict=True) if flag and not still}
        moving = sum(not still for _, _, still in combination)
        if len(sides) < 2 and (facts.l0 is None or moving <= facts.l0):
            found.add(tuple(whole for whole, _, _ in combination))
    return found


def attack_rounding(seed: int, turns: int) -> int:
    """Random mechanisms whose lattice does not divide the bounds; return how many were covered by a theorem."""
    choose, covered = random.Random(seed), 0
    for _ in range(turns):
        step = choose.choice([0.25, 0.5, 1.0, 0.3, 0.7])
        factors = None if choose.random() < 0.4 else tuple(choose.choice([1.0, 2.0, 0.5]) for _ in range(2))
        try:
            noise, facts = some_noise(choose, 2, step), some_facts(choose, 2, (0.5, 1.0, 0.6, 1.4))
            made = Mechanism(noise if factors is None else Scaled(noise, factors), facts, step, coordinates=2)
            pure = made.curve().pure_epsilon
        except HushError:
            continue
        covered += 1
        table = table_of(noise)[1].reshape(2 * REACH[2] + 1, -1)
        steps = [Fraction(step) * Fraction(factor) for factor in factors or (1.0, 1.0)]
        for move in rounded_moves(*listed_facts(facts, 2), facts, steps):
            assert largest_loss(table, move) <= pure * (1.0 + TINY), (made, move)
    return covered


def test_rounding_keeps_the_claim() -> None:
    assert attack_rounding(1, 150) >= 50


@pytest.mark.exhaustive
def test_rounding_keeps_the_claim_many_times() -> None:
    assert sum(attack_rounding(seed, 2000) for seed in range(2, 5)) >= 2500


def test_a_number_of_people_between_two_lattice_points() -> None:
    """1.0 is three or four steps of 0.3: the number of people no longer moves by exactly its bound."""
    noise, facts = (
        Plateau(("people", "one_sided"), 3.0, (0.0, 0.0), 0.3),
        Sensitivity(linf=(1.0, 2.0), one_sided=True, people=0),
    )
    table = table_of(noise)[1].reshape(2 * REACH[2] + 1, -1)
    assert largest_loss(table, (3, 4)) == pytest.approx(0.5) and largest_loss(table, (4, 4)) == pytest.approx(0.4)
    made = Mechanism(Scaled(noise, (1.0, 2.0)), facts, 0.3, coordinates=2)
    assert made.sensitivity_on_lattice.people is None
    with pytest.raises(hush.Unsupported, match="no theorem covers"):
        made.curve()
