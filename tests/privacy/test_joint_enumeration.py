"""Joint noise by brute force: every allowed move on a small lattice, one release and two, against the stated curve.

The points of a box are enumerated. The sum over them leaves out a little mass, so it is never above the exact
divergence, and a curve below it would be wrong. Nothing here is random.

To add a law, add a line to LAWS: the noise, its sensitivity, and the reach of the box in steps.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hush
from hush.noise.contract import Noise


def box(d: int, linf: float = 1.0, **facts: object) -> hush.Sensitivity:
    return hush.Sensitivity(linf=linf, dimension=d, **facts)  # type: ignore[arg-type]


def counts(d: int, linf: float = 1.0) -> hush.Sensitivity:
    return box(d, linf, one_sided=True)


def kinds(*signs: str, linf: float | tuple[float, ...] = 1.0) -> hush.Sensitivity:
    """One-sided numbers (+), numbers of both signs (*), and a number of people (n)."""
    people = signs.index("n") if "n" in signs else None
    one_sided = tuple(sign != "*" for sign in signs)
    return hush.Sensitivity(linf=linf, dimension=len(signs), one_sided=one_sided, people=people)


LAWS: dict[str, tuple[Noise, hush.Sensitivity, int]] = {
    "cube, 2": (hush.Cube(2, 1.0), box(2), 30),
    "cube, 2, moves of 2": (hush.Cube(2, 1.5), box(2, 2.0), 40),
    "cube, 2, half steps": (hush.Cube(2, 1.0, step=0.5), box(2), 50),
    "cube, 3": (hush.Cube(3, 0.7), box(3), 16),
    "cube, 3, one sign": (hush.Cube(3, 0.7), counts(3), 16),
    "cube, 3, at most 2 move": (hush.Cube(3, 0.7), box(3, l0=2), 16),
    "interval, 2, no offset": (hush.Interval(2, 1.0), counts(2), 30),
    "interval, 2": (hush.Interval(2, 1.0, 2.0), counts(2), 30),
    "interval, 2, moves of 2": (hush.Interval(2, 1.5, 2.0), counts(2, 2.0), 40),
    "interval, 2, half steps": (hush.Interval(2, 1.0, 1.0, step=0.5), counts(2), 50),
    "interval, 3": (hush.Interval(3, 0.7, 1.0), counts(3), 16),
    "interval, 2, both signs": (hush.Interval(2, 1.0, 2.0), box(2), 30),
    "interval, 2, replace": (hush.Interval(2, 1.0), box(2, neighbours="replace"), 30),
    "hull, 1 of 2": (hush.Hull(2, 1, 1.0), box(2, l0=1), 40),
    "hull, 2 of 3": (hush.Hull(3, 2, 0.7), box(3, l0=2), 16),
    "hull, 2 of 3, at most 1 moves": (hush.Hull(3, 2, 0.7), box(3, l0=1), 16),
    "hull, 2 of 3, moves of 2": (hush.Hull(3, 2, 1.2), box(3, 2.0, l0=2), 26),
    "hull, 2 of 3, one sign": (hush.Hull(3, 2, 0.7, one_sided=True), box(3, l0=2, one_sided=True), 16),
    "hull, 2 of 3, plateau": (hush.Hull(3, 2, 0.7, 1.0, one_sided=True), box(3, l0=2, one_sided=True), 18),
    "hull, 2 of 3, plateau, half steps": (
        hush.Hull(3, 2, 0.7, 0.5, one_sided=True, step=0.5),
        box(3, l0=2, one_sided=True),
        28,
    ),
    "hull, 2 of 3, plateau, both signs": (hush.Hull(3, 2, 0.7, 1.0, one_sided=True), box(3, l0=2), 18),
    "plateau, one sign": (hush.Plateau(("one_sided",) * 3, 0.7, (1.0,) * 3), counts(3), 18),
    "plateau, two kinds": (hush.Plateau(("one_sided", "two_sided"), 1.0, (2.0, 1.0)), kinds("+", "*"), 34),
    "plateau, three kinds": (
        hush.Plateau(("people", "one_sided", "two_sided"), 0.7, (0.0, 1.0, 0.0)),
        kinds("n", "+", "*"),
        18,
    ),
    "plateau, people and counts": (hush.Plateau(("one_sided", "people"), 1.0, (2.0, 0.0)), kinds("+", "n"), 40),
    "plateau, people, half steps": (
        hush.Plateau(("people", "two_sided"), 1.0, (0.0, 1.0), step=0.5),
        kinds("n", "*"),
        60,
    ),
    "plateau, moves of different lengths": (
        hush.Plateau(("people", "two_sided", "one_sided"), 1.2),
        kinds("n", "*", "+", linf=(2.0, 1.0, 1.0)),
        26,
    ),
    "plateau, people as a count": (hush.Plateau(("one_sided", "one_sided"), 1.0, (1.0, 0.0)), kinds("n", "+"), 34),
    "plateau, both signs": (hush.Plateau(("two_sided", "two_sided"), 1.0, (1.0, 0.0)), box(2), 34),
    "independent, 2": (hush.Discrete(hush.Laplace(1.5)), box(2), 60),
}


def moves(noise: Noise, bound: hush.Sensitivity) -> list[np.ndarray]:
    """Every allowed move in whole steps but 0: partial moves, one sign for all one-sided numbers, and the full move of
    a number of people.
    """
    assert bound.dimension is not None and bound.moving is not None
    most = [round(float(m) / noise.step) for m in np.broadcast_to(np.array(bound.linf), bound.dimension)]
    one_sided = np.broadcast_to(bound.one_sided, bound.dimension)
    found = []
    for move in itertools.product(*(range(-m, m + 1) for m in most)):
        common = [v for v, flag in zip(move, one_sided, strict=True) if flag]
        same = all(v >= 0 for v in common) or all(v <= 0 for v in common)
        full = bound.people is None or abs(move[bound.people]) == most[bound.people]
        if same and full and 0 < np.count_nonzero(move) <= bound.moving:
            found.append(np.array(move))
    return found


def losses(noise: Noise, bound: hush.Sensitivity, reach: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For every move: the values of the privacy loss and their probabilities under the unmoved law."""
    axis = np.arange(-reach, reach + 1)
    points = np.stack(np.meshgrid(*[axis] * int(bound.dimension or 1), indexing="ij"), axis=-1).reshape(
        -1, int(bound.dimension or 1)
    )
    here = noise.log_density_of(points * noise.step)
    mass = np.exp(here)
    assert 1.0 - 1e-6 < mass.sum() < 1.0 + 1e-9  # the density is normalised, and the box holds almost all of it
    found = []
    for move in moves(noise, bound):
        loss = here - noise.log_density_of((points - move) * noise.step)
        values, cell = np.unique(np.round(loss, 12), return_inverse=True)
        found.append((values, np.bincount(cell, weights=mass)))
    return found


def divergence(epsilon: float, value: np.ndarray, mass: np.ndarray) -> float:
    """The hockey-stick divergence of a law of losses."""
    return float((mass * np.maximum(-np.expm1(epsilon - value), 0.0)).sum())


def divergence_of_order(order: float, value: np.ndarray, mass: np.ndarray) -> float:
    """The Renyi divergence of a law of losses."""
    return math.log(float((mass * np.exp((order - 1.0) * value)).sum())) / (order - 1.0)


def twice(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The law of losses of two releases."""
    return (first[0][:, None] + second[0]).ravel(), (first[1][:, None] * second[1]).ravel()


@pytest.mark.parametrize("name", LAWS)
def test_no_move_is_worse_than_the_curve(name: str) -> None:
    noise, bound, reach = LAWS[name]
    found = losses(noise, bound, reach)
    curve = hush.curve(noise, bound)
    pure = max(float(value.max()) for value, _ in found)
    assert pure <= curve.pure_epsilon + 1e-8
    # some move has exactly the stated loss; without a number of people, plateau noise only tends to it far from 0
    assert pure >= (1.0 - (1e-4 if isinstance(noise, hush.Plateau) else 1e-8)) * curve.pure_epsilon
    assert max(divergence_of_order(3.0, *law) for law in found) <= hush.renyi(noise, 3.0, bound) + 1e-12
    for epsilon in np.linspace(0.0, 1.05 * pure, 15):
        worst = max(divergence(float(epsilon), *law) for law in found)
        assert worst <= curve.delta(float(epsilon)) + 1e-12, epsilon


@pytest.mark.parametrize("name", LAWS)
def test_no_two_moves_are_worse_than_the_composed_curve(name: str) -> None:
    """Two releases whose moves may differ, as for a person who moves different numbers in each."""
    noise, bound, reach = LAWS[name]
    found = losses(noise, bound, reach)
    curve = hush.curve(noise, bound, times=2)
    pure = max(float(value.max()) for value, _ in found)
    pairs = list(itertools.combinations_with_replacement(range(len(found)), 2))
    laws = [twice(found[i], found[j]) for i, j in pairs[:: max(1, len(pairs) // 200)]]
    for epsilon in np.linspace(0.0, 2.1 * pure, 9):
        worst = max(divergence(float(epsilon), *law) for law in laws)
        assert worst <= curve.delta(float(epsilon)) + 1e-12, epsilon


@pytest.mark.parametrize("name", LAWS)
def test_the_curve_of_wider_noise_is_refuted(name: str) -> None:
    """The control: the moves of this noise are worse than the curve of noise 3/2 as wide allows."""
    noise, bound, reach = LAWS[name]
    found = losses(noise, bound, reach)
    wider = hush.Discrete(hush.Laplace(2.25)) if noise.dimension is None else noise.widened(1.5)
    for times in (1, 2):
        curve = hush.curve(wider, bound, times=times)
        laws = found if times == 1 else [twice(law, law) for law in found]
        pure = max(float(value.max()) for value, _ in laws)
        assert any(
            max(divergence(e, *law) for law in laws) > 1.2 * curve.delta(e) for e in np.linspace(0.0, pure, 20)[:-1]
        )


def test_one_sign_is_needed_for_interval_noise() -> None:
    """Moves of both signs break the curve that holds for counts, and the curve for both signs covers them."""
    noise = hush.Interval(2, 1.0)
    both = losses(noise, box(2), 30)
    assert max(float(value.max()) for value, _ in both) == pytest.approx(2.0)
    assert max(divergence(1.0, *law) for law in both) > 0.1 > hush.curve(noise, counts(2)).delta(1.0)


@pytest.mark.parametrize(
    "noise", [hush.Cube(3, 2.0), hush.Interval(3, 2.0, 4.0), hush.Interval(3, 1.0, 1.0, step=0.5)], ids=repr
)
def test_the_log_density_is_that_of_the_marginal(noise: hush.Noise) -> None:
    """The sum over the other numbers is the law of one number, which is computed in another way."""
    axis = np.arange(-45, 46)
    rest = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    for k in (0, 1, 3, 7):
        points = np.column_stack([np.full(len(rest), k), rest]) * noise.step
        mass = float(np.exp(noise.log_density_of(points)).sum())
        assert mass == pytest.approx(noise.marginal.pdf(k * noise.step), rel=1e-6)


def test_points_off_the_lattice_are_refused() -> None:
    for vectors in ([[0.5, 0.0]], [[0.0, 0.0, 0.0]], 3.0):
        with pytest.raises(hush.InvalidParameter, match="rows of 2 multiples of the step 1"):
            hush.Cube(2, 1.0).log_density_of(vectors)
    assert hush.Laplace(1.0).log_density_of([[0.0, 1.0]]) == pytest.approx(-1.0 - 2.0 * math.log(2.0))


def test_groups_of_a_table_cost_as_much_as_releases() -> None:
    """A person who moves four groups moves four draws: the same curve and the same Renyi divergence as four releases,
    and no more than the enumerated law of three allows.
    """
    noise, one = hush.Interval(2, 1.5, 1.0), counts(2)
    groups = hush.Sensitivity(columns=(1.0, 1.0), l0=3, one_sided=True)
    for order in (1.5, 3.0, 20.0):
        assert hush.renyi(noise, order, groups) == pytest.approx(hush.renyi(noise, order, one, times=3), rel=1e-12)
    found = losses(noise, one, 40)
    curve = hush.curve(noise, groups)
    assert curve.pure_epsilon == hush.curve(noise, one, times=3).pure_epsilon == pytest.approx(2.0)
    for law in found[:: max(1, len(found) // 3)]:
        third = twice(twice(law, law), law)
        for epsilon in (0.0, 0.5, 1.5, 1.9):
            assert divergence(epsilon, *third) <= curve.delta(epsilon) + 1e-12
