"""Hull noise: no allowed move changes the density by more than its epsilon, by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from noise.hull_definition import Whole, exponent, gauge, lattice

import hush
from hush.noise.hull import Hull

Point = tuple[int, ...]


def moves(d: int, l0: int, size: int, *, one_sided: bool) -> list[Point]:
    """Every move of at most l0 numbers by at most `size` steps each; one direction, or any."""
    steps = range(size + 1) if one_sided else range(-size, size + 1)
    return [move for move in itertools.product(steps, repeat=d) if 0 < sum(v != 0 for v in move) <= l0]


def largest_change(f: Callable[[Whole], Whole], d: int, allowed: list[Point], around: int) -> float:
    """The largest change of f per step of a move, over all points near the centre."""
    points = lattice(d, around)
    here = f(points)
    changes = (np.abs(f(points + np.array(move)) - here).max() / max(map(abs, move)) for move in allowed)
    return max(map(float, changes))


CASES = [
    (Hull(3, 2, 1.0), 5),
    (Hull(4, 2, 1.0), 3),
    (Hull(4, 3, 1.0), 3),
    (Hull(3, 1, 1.0), 5),
    (Hull(3, 2, 1.0, one_sided=True), 5),
    (Hull(3, 2, 1.0, 2.0, one_sided=True), 6),
    (Hull(4, 2, 1.0, 1.0, one_sided=True), 3),
    (Hull(4, 3, 1.0, 1.0, one_sided=True), 3),
]


@pytest.mark.parametrize(("noise", "around"), CASES, ids=repr)
def test_no_allowed_move_changes_the_exponent_by_more_than_its_steps(noise: Hull, around: int) -> None:
    """By enumeration: all sets of at most l0 numbers, all signs or one sign, moves of 1 and 2 steps, partial ones."""
    d = noise.dimension
    allowed = moves(d, noise.l0, 2, one_sided=noise.one_sided)
    assert largest_change(lambda x: exponent(noise, x), d, allowed, around) == 1.0  # and the bound is reached


@pytest.mark.parametrize(("noise", "around"), CASES, ids=repr)
def test_other_moves_are_charged_or_refused(noise: Hull, around: int) -> None:
    d, l0 = noise.dimension, noise.l0
    both = moves(d, l0, 1, one_sided=False)
    worst = largest_change(lambda x: exponent(noise, x), d, both, around)
    known = hush.Sensitivity(linf=1.0, l0=l0, dimension=d)
    assert hush.epsilon(noise, 0.0, known) == pytest.approx(2.0 if noise.one_sided else 1.0)
    assert worst <= hush.epsilon(noise, 0.0, known)
    if noise.one_sided and l0 > 1:
        assert worst == 2.0  # reached: one number up, another one down
    more = moves(d, l0 + 1, 1, one_sided=noise.one_sided)
    assert largest_change(lambda x: exponent(noise, x), d, more, around) > 1.0
    with pytest.raises(hush.Unsupported, match=rf"write Sensitivity\(linf=1.0, l0={l0}, dimension={d}\)"):
        hush.epsilon(noise, 0.0, hush.Sensitivity(linf=1.0, dimension=d))


def test_wrong_exponents_are_noticed() -> None:
    """What the enumeration finds: no division by l0, a wrong l0, a part that counts twice, wrong directions."""
    d, l0 = 3, 2
    two, one = moves(d, l0, 2, one_sided=False), moves(d, l0, 2, one_sided=True)
    wrong: list[tuple[Callable[[Whole], Whole], list[Point]]] = [
        (lambda x: np.abs(x).sum(axis=1), two),
        (lambda x: gauge(np.abs(x), l0 - 1), two),
        (lambda x: gauge(np.abs(x), l0) + gauge(np.maximum(x, 0), l0), one),
        (lambda x: np.maximum(gauge(np.maximum(x, 0), l0) - 1, 0) + 2 * gauge(np.maximum(-x, 0), l0), one),
        (lambda x: gauge(np.maximum(x, 0), l0) + gauge(np.maximum(-x, 0), l0), two),
    ]
    for f, allowed in wrong:
        assert largest_change(f, d, allowed, 5) > 1.0


def test_smaller_sensitivities_are_covered() -> None:
    """Fewer numbers, one direction, several steps, and a list of bounds."""
    noise = Hull(5, 3, 2.0)
    for bound, epsilon in (
        (hush.Sensitivity(linf=1.0, l0=3), 0.5),
        (hush.Sensitivity(linf=1.0, l0=2, dimension=5), 0.5),
        (hush.Sensitivity(linf=3.0, l0=3, dimension=5), 1.5),
        (hush.Sensitivity(linf=1.0, l0=3, dimension=5, one_sided=True), 0.5),
        (hush.Sensitivity(linf=(1.0, 1.0, 2.0, 2.0, 1.0), l0=3), 1.0),
        (hush.Sensitivity(linf=1.0, l0=3, dimension=5, neighbours="replace"), 0.5),
    ):
        assert hush.epsilon(noise, 0.0, bound) == pytest.approx(epsilon)
    with pytest.raises(hush.InvalidParameter, match="is for 5 numbers"):
        hush.epsilon(noise, 0.0, hush.Sensitivity(linf=1.0, l0=3, dimension=6))
    with pytest.raises(hush.Unsupported, match="whole steps"):
        hush.epsilon(noise, 0.0, hush.Sensitivity(linf=0.5, l0=3, dimension=5))
