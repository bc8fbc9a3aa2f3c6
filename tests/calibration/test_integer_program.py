"""The certified linear programme over all noises for few whole numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hush
from hush.calibration import integer_program
from hush.calibration.integer_program import _above_exp, _moves, _Programme, by_integer_program


@pytest.mark.parametrize(
    ("count", "moving", "one_sided", "epsilon", "gap"),
    [
        (2, 2, True, 1.0, 2e-3),
        (2, 2, True, 3.0, 1e-5),
        (3, 3, True, 3.0, 1e-4),
        (3, 3, True, 1.0, 5e-2),
        (4, 4, True, 3.0, 1e-2),
        (2, 2, False, 1.0, 2e-3),
        (3, 3, False, 3.0, 1e-4),
        (3, 2, True, 3.0, 1e-4),
        (2, 1, True, 1.0, 2e-3),
    ],
)
def test_the_bound_is_below_every_noise_and_near_the_best(
    count: int, moving: int, one_sided: bool, epsilon: float, gap: float
) -> None:
    """Joint noise of hush on the whole numbers is within `gap` of what is possible."""
    bound = hush.Sensitivity(linf=1.0, l0=moving, dimension=count, one_sided=one_sided)
    lower = by_integer_program(epsilon, 0.0, count, moving, one_sided, "variance")
    whole = [c.loss for c in hush.calibrate(epsilon, 0.0, bound, values="integer").ranking if _whole(c.noise)]
    assert lower <= min(whole) <= (1.0 + gap) * lower


def _whole(noise: hush.Noise | None) -> bool:
    return noise is not None and noise.discrete and noise.step == 1.0


def test_every_optimal_noise_of_a_small_box_is_above_the_bound() -> None:
    """The least loss of all noises on a box, by the primal programme, is above the dual bound of every box."""
    from scipy.optimize import linprog

    side, epsilon = np.arange(-9, 10), 1.5
    points = np.array(list(itertools.product(side, repeat=2)))
    place = {tuple(p): k for k, p in enumerate(points.tolist())}
    rows = []
    for s in _moves(2, 2, True).tolist():  # p(x) <= e^eps p(x + s), with 0 outside the box
        for x in points.tolist():
            row = np.zeros(len(points))
            row[place[tuple(x)]] = 1.0
            other = (x[0] + s[0], x[1] + s[1])
            if other in place:
                row[place[other]] = -math.exp(epsilon)
                rows.append(row)
    cost = (points**2).sum(axis=1).astype(float)
    solved = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=np.ones((1, len(points))), b_eq=[1.0])
    # the box leaves out moves across its edge, so its optimum is a little too small, not more than the tail there
    lower = by_integer_program(epsilon, 0.0, 2, 2, True, "variance")
    assert lower == pytest.approx(solved.fun / 2.0, rel=2e-3)


def test_the_certificate_holds_at_every_point() -> None:
    """Inequality (1) at all points of a box that is larger than the listed orbits, with y from the programme."""
    programme, epsilon = _Programme(_moves(2, 2, True), 5, True, "variance"), 1.2
    proposed = programme._proposal(epsilon, 0.0)
    assert proposed is not None
    y = np.append(np.floor(np.maximum(proposed, 0.0) * (1 << 30)) / (1 << 30), 0.0)
    values: dict[tuple[int, ...], float] = {}
    known = {}
    box = np.array(list(itertools.product(range(-6, 7), repeat=2)))
    orbits = programme._orbits(box, np.zeros_like(box))
    points = box[np.unique(orbits, return_index=True)[1]]
    for row, x in enumerate(points):
        for column, s in enumerate(_moves(2, 2, True)):
            known[int(programme._orbits(x, s))] = float(y[programme.here[row, column]])

    def value(x: Any, s: Any) -> float:
        if np.abs(x).max() > 5:
            return 0.0
        return values.setdefault((*x, *s), known[int(programme._orbits(np.array(x), np.array(s)))])

    least = math.inf
    for x in itertools.product(range(-9, 10), repeat=2):
        total = float(np.square(x).sum())
        for s in _moves(2, 2, True).tolist():
            total += value(x, s) - math.exp(epsilon) * value((x[0] - s[0], x[1] - s[1]), s)
        least = min(least, total)
    assert programme.bound(epsilon, 0.0) == pytest.approx(least / 2.0, rel=1e-7)


def test_a_wrong_proposal_gives_a_weaker_bound_and_never_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = by_integer_program(1.0, 0.0, 2, 2, True, "variance")
    known = hush.Interval(2, 1.0).variance
    for wrong in (lambda y: 2.0 * y, lambda y: y + 0.1, lambda y: np.zeros_like(y), lambda y: -y, lambda y: y * 1.001):
        original = _Programme._proposal

        def changed(self: _Programme, *budget: float, wrong: Any = wrong, original: Any = original) -> Any:
            return wrong(original(self, *budget))

        monkeypatch.setattr(_Programme, "_proposal", changed)
        by_integer_program.cache_clear()
        found = by_integer_program(1.0, 0.0, 2, 2, True, "variance")
        assert 0.0 <= found <= honest * (1.0 + 1e-9) <= known
        monkeypatch.setattr(_Programme, "_proposal", original)
    by_integer_program.cache_clear()


def test_delta_lowers_the_bound() -> None:
    bounds = [by_integer_program(1.0, delta, 2, 2, True, "variance") for delta in (0.0, 1e-9, 1e-6, 1e-3)]
    assert bounds == sorted(bounds, reverse=True) and bounds[2] > 0.99 * bounds[0] > bounds[3] > 0.0
    # randomised response between the noise and a constant is allowed at this delta
    assert by_integer_program(1.0, 0.9, 2, 2, True, "variance") <= 0.5


@pytest.mark.parametrize("loss", ["variance", "mae"])
def test_limit_and_plan_use_it(loss: str) -> None:
    bound = hush.Sensitivity(linf=1.0, dimension=2, one_sided=True)
    bracket = hush.limit(1.0, 0.0, bound, values="integer", loss=loss)
    assert bracket.upper <= 1.02 * bracket.lower
    plan = hush.calibrate(3.0, 1e-6, bound, values="integer", loss=loss)
    assert plan.limit is not None and plan.limit.lower <= plan.value


def test_a_step_scales_the_bound() -> None:
    half = hush.Sensitivity(linf=0.5, dimension=2, one_sided=True)
    plan = hush.calibrate(2.0, 0.0, half, step=0.5, family="interval")
    assert plan.limit is not None
    assert plan.limit.lower == pytest.approx(0.25 * by_integer_program(2.0, 0.0, 2, 2, True, "variance"), rel=1e-12)


def test_large_programmes_are_left_out() -> None:
    assert by_integer_program(1.0, 0.0, 9, 9, True, "variance") == 0.0
    assert by_integer_program(0.01, 0.0, 2, 2, True, "variance") == 0.0
    assert integer_program._MOST_NUMBERS == 5


def test_the_exponential_is_above() -> None:
    for epsilon in (0.1, 1.0, 7.7):
        above = _above_exp(epsilon)
        assert isinstance(above, Fraction) and 0 <= float(above) - math.exp(epsilon) <= 1e-12 * math.exp(epsilon)
