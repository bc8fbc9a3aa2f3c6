"""Attacks on all that a workload releases, its noisy vectors: the claim stands, and a smaller one is refuted."""

from __future__ import annotations

import numpy as np
import pytest

import hush
from hush.workload import Marginals, Prefixes, Tree

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
