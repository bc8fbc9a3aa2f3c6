"""Attacks on all that a workload releases, its noisy vectors: the claim stands, and a smaller one is refuted.

Broken variants are caught: less noise than planned, and a person with more rows than the plan allows.
"""

from __future__ import annotations

import numpy as np
import pytest

import hush
from hush.privacy.charge import Budget
from hush.workload import Boxes, Marginals, Prefixes, Ranges, Tree
from hush.workload.boxes import _dense, _laplace
from hush.workload.line_strategies import makers
from hush.workload.residual_noise import residual_noise

DRAWS = 8000


def attacked(plan, inputs):
    """A target: the noisy vectors for one of two neighbouring data sets. Answers are made from them alone."""
    exact = [plan.strategy.measured(plan.workload.counted(one)) for one in inputs]

    def target(which: float, size: int):
        found = []
        for part, steps in zip(plan.strategy.parts, exact[int(which)], strict=True):
            shape = (size, steps.size) if part.noise.dimension is None else size
            found.append(steps.ravel() + hush.draw(part.noise, shape, part.step))
        return np.hstack(found).astype(np.float64)

    return target


def cases():
    people = np.zeros((4, 2), dtype=np.int64)
    yield "joint", Marginals({"a": 3, "b": 2}, order=1).plan(2.0, 0.0), (people, people[1:])
    counts = np.array([3, 1, 4, 1])
    yield "line", Prefixes(4).plan(2.0, 0.0), (counts, counts - [1, 0, 0, 0])
    many = np.arange(40)
    yield "blocks", Prefixes(40).plan(2.0, 0.0), (many + 1, many + 1 - np.eye(40, dtype=np.int64)[7])
    yield "tree", Tree([[0, 0, 1, 1]]).plan(2.0, 0.0), (counts, counts - [1, 0, 0, 0])


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case[0])
def test_the_claim_stands_and_a_smaller_one_is_refuted(case):
    """A false alarm is rarer than 1e-6. The smaller claim is what one of the measured vectors alone exceeds."""
    _, plan, inputs = case
    target = attacked(plan, inputs)
    assert not hush.audit(target, epsilon=2.0, samples=DRAWS, vectorised=True).violated
    assert hush.audit(target, epsilon=0.4, samples=DRAWS, vectorised=True).violated


# -- Gaussian noise: the attack sees the likelihood ratio --------------------------------------------------------

BUDGET = Budget(1.0, 1e-3)


def gaussian_cases():
    """Strategies with Gaussian noise, with the counts of one person."""
    tables = Marginals({"a": 3, "b": 2, "c": 4}, order=2)
    one = np.zeros((3, 2, 4), dtype=np.int64)
    one[1, 0, 2] = 1
    yield "residuals", residual_noise(False, tables.task, BUDGET, 1), tables.counted(histogram=one), one
    line, alone = Prefixes(20), np.eye(20, dtype=np.int64)[3]
    for name, make in makers(line, BUDGET, 1):
        if name == "Gaussian noise on blocks":
            yield "blocks", make(), line.counted(alone), alone
    boxes = Boxes({"a": Ranges(5), "b": 2})
    cell = np.zeros((5, 2), dtype=np.int64)
    cell[4, 1] = 1
    yield "boxes", _dense(boxes, BUDGET, 1), boxes.counted(cell), cell


def likelihood(strategy, moves, scale=1.0):
    """A target that returns the best statistic for Gaussian noise: the noisy vector along the move of one person."""
    (part,) = strategy.parts
    move = np.concatenate(moves).astype(np.float64)

    def target(which: float, size: int):
        noise = scale * hush.draw(part.noise, (size, move.size), part.step)
        return (noise + which * move) @ move / float(move @ move)

    return target


@pytest.mark.parametrize("case", list(gaussian_cases()), ids=lambda case: case[0])
def test_gaussian_strategies_keep_their_claim_and_less_noise_is_caught(case):
    """One person stays within (1, 1e-3). Noise of 0.4 times the scale does not, nor does a person with three rows."""
    _, strategy, person, _ = case
    moves = strategy.measured(person)

    def attacked_with(found, scale=1.0):
        return hush.audit(
            likelihood(strategy, found, scale), epsilon=1.0, delta=1e-3, samples=40_000, vectorised=True
        ).violated

    assert not attacked_with(moves)
    assert attacked_with(moves, 0.4)
    assert attacked_with([3 * one for one in moves])


def test_laplace_boxes_keep_their_claim_and_less_noise_is_caught():
    boxes = Boxes({"a": Ranges(60), "b": 2})
    strategy = _laplace(boxes, Budget(2.0, 0.0), 1, [((6, 1), (1,))])
    cell = np.zeros((60, 2), dtype=np.int64)
    cell[1, 1] = 1
    exact = [strategy.measured(boxes.counted(which * cell)) for which in (0, 1)]
    assert len(strategy.parts) == 2

    def target_of(share):
        def target(which: float, size: int):
            """The noisy counts of the blocks that one person moves; the others are noise alone."""
            found = []
            for part, before, after in zip(strategy.parts, *exact, strict=True):
                (place,) = np.flatnonzero(before != after)
                scaled = hush.Discrete(hush.Laplace(share * part.noise.noise.scale), 1.0)
                found.append(exact[int(which)][len(found)][place] + hush.draw(scaled, size, 1.0))
            return np.stack(found, axis=1).astype(np.float64)

        return target

    assert not hush.audit(target_of(1.0), epsilon=2.0, samples=DRAWS, vectorised=True).violated
    assert hush.audit(target_of(0.4), epsilon=2.0, samples=DRAWS, vectorised=True).violated
