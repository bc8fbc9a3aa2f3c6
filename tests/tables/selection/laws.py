"""Exact laws of choices, by listing all their outcomes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from hush.sampling.choice import Draw, Runs
from hush.tables.selection.field import Counts, Field
from hush.tables.selection.law import Shape, Stretch, runs_of

__all__ = ["all_outcomes", "counts_of", "divergence", "law_of", "run_errors", "spread"]


def counts_of(cells: Iterable[int], size: int) -> Counts:
    return Counts.of_cells(size, np.array(list(cells), dtype=np.int64))


def chances(runs: Runs, rate: float) -> list[float]:
    """The probability of each run."""
    assert not runs.rest
    best = max(runs.scores)
    weights = [w * math.exp((s - best) * rate) for s, w in zip(runs.scores, runs.widths, strict=True)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def law_of(counts: Counts, target: Fraction, q: Fraction, shape: Shape, *, beyond: bool = False) -> dict[int, float]:
    """The probability of every cell of one choice."""
    field = Field(counts)
    listed = runs_of(field, target, math.inf, Stretch(0, counts.size - 1), beyond=beyond)
    rate = shape.rate / float(shape.move(q) * target.denominator)
    found: dict[int, float] = {}
    for first, width, chance in zip(listed.firsts, listed.widths, chances(listed.runs(), rate), strict=True):
        found |= dict.fromkeys(range(first, first + width), chance / width)
    return found


def run_errors(
    counts: Counts, q: Fraction, shape: Shape, target: Fraction | None = None, **options: Any
) -> list[tuple[int, int, float, float]]:
    """First cell, width, probability and depth (in rows) of every run of a choice that may be chosen at all."""
    target = q * counts.total if target is None else target
    listed = runs_of(Field(counts), target, shape.reach(q, counts.size), Stretch(0, counts.size - 1), **options)
    runs = listed.runs()
    rate = shape.rate / float(shape.move(q) * target.denominator)
    chance = chances(Runs(runs.scores, runs.widths), rate)
    depths = [score / target.denominator / shape.unit for score in runs.scores]
    return list(zip(listed.firsts, listed.widths, chance, depths, strict=True))


def all_outcomes(question: Callable[[Draw], Hashable], rate: float) -> dict[Hashable, float]:
    """The probability of every result of a question that makes several choices: each is tried with all outcomes."""
    found: dict[Hashable, float] = defaultdict(float)
    waiting: list[list[tuple[int, int]]] = [[]]
    while waiting:
        script = waiting.pop()
        chance, at = 1.0, 0

        def draw(runs: Runs, move: Fraction, script: list[tuple[int, int]] = script) -> tuple[int, int]:
            nonlocal chance, at
            each = chances(_whole(runs), rate / float(move))
            if at == len(script):
                places = [(run, place) for run, width in enumerate(runs.widths) for place in range(width)]
                waiting.extend([*script, place] for place in places[1:])
                script.append(places[0])
            taken = script[at]
            at += 1
            chance *= each[taken[0]] / runs.widths[taken[0]]
            return taken

        result = question(draw)
        found[result] += chance
    return dict(found)


def _whole(runs: Runs) -> Runs:
    assert not runs.rest, "small tables have no rest"
    return runs


def spread(law: dict[Any, float], other: dict[Any, float]) -> float:
    """The length of the interval of losses between two laws."""
    losses = [math.log(chance / other[thing]) for thing, chance in law.items()]
    return max(losses) - min(losses)


def divergence(law: dict[Any, float], other: dict[Any, float], epsilon: float) -> float:
    """delta at epsilon."""
    things = Counter(law.keys()) | Counter(other.keys())
    return math.fsum(max(law.get(t, 0.0) - math.exp(epsilon) * other.get(t, 0.0), 0.0) for t in things)
