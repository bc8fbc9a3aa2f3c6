"""Intervals of shares and ratios contain the true quotient as often as they state: small counts, zero denominators,
both signs, several seeds. Every comparison has a false-alarm rate of at most 1e-6 (Bonferroni over all of them).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from hush.tables.publish import quotient
from hush.tables.publish.quotient import Node, accepted, ratio_path, share_path

SEEDS = (1, 2)
TIMES = 4_000
LEVEL = 0.9
#: the true numerators and denominators of a ratio; the noise of each has scale 1
RATIOS = [(0, 0), (0, 3), (2, 0), (1, 1), (3, 2), (5, 40), (40, 5), (300, 400), (-20, 30), (-3, 1)]
#: the true counts of the groups of a share
SHARES = [(0, 0, 0), (0, 1, 3), (5, 0, 40), (1, 1, 1, 1, 1, 1), (1000, 30, 10, 0), tuple(range(40))]
COMPARISONS = len(SEEDS) * 2 * (len(RATIOS) + sum(map(len, SHARES)))
RISK = 1e-6 / COMPARISONS


def gaussian(directions: list[tuple[float, int]], missed: float) -> float:
    """The half width of a sum of independent normal noises: (weight, how many)."""
    return float(norm.isf(missed / 2.0) * math.sqrt(sum(n * w * w for w, n in directions)))


@cache
def _laplace(directions: tuple[tuple[float, int], ...], missed: float) -> float:
    """The same for Laplace noise, by Chernoff's bound: P(|sum| > w) <= 2 exp(-t w) prod 1 / (1 - t^2 w_i^2)."""
    most = max((abs(w) for w, _ in directions), default=0.0)
    if most == 0.0:
        return 0.0
    places = np.linspace(0.01, 0.999, 400) / most
    logs = sum(-n * np.log1p(-((places * w) ** 2)) for w, n in directions)
    return float(np.min((math.log(2.0 / missed) + logs) / places))


def laplace(directions: list[tuple[float, int]], missed: float) -> float:
    alone = [abs(w) for w, n in directions if w and n]
    if len(alone) == 1 and all(n <= 1 for w, n in directions if w):
        return alone[0] * math.log(1.0 / missed)
    return _laplace(tuple(directions), missed)


NOISES: dict[str, tuple[Callable[..., Any], Any]] = {
    "gaussian": (gaussian, lambda draw, shape: draw.normal(size=shape)),
    "laplace": (laplace, lambda draw, shape: draw.laplace(size=shape)),
}


def ratio_width(law: Callable[..., float], node: Node, missed: float) -> float:
    return law([(node[0], 1), (-node[1], 1)], missed)


def share_width(law: Callable[..., float], n: int, node: Node, missed: float) -> float:
    q, p = node
    return law([(q - p, 1), (-p, n - 1)], missed)


def missed_ratios(name: str, pair: tuple[int, int], seed: int, scale: float = 1.0) -> int:
    law, noise = NOISES[name]
    a, b = (true + scale * noise(np.random.default_rng([seed, k, *np.abs(pair)]), TIMES) for k, true in enumerate(pair))
    low, high = accepted(a, b, ratio_path(signed=True), partial(ratio_width, law), 1.0 - LEVEL)
    if pair == (0, 0):
        return 0  # every quotient is true
    true = pair[0] / pair[1] if pair[1] else math.inf
    return int((~((low <= true) & (true <= high))).sum())


def missed_shares(name: str, counts: tuple[int, ...], place: int, seed: int, scale: float = 1.0) -> int:
    law, noise = NOISES[name]
    drawn = np.array(counts) + scale * noise(np.random.default_rng([seed, place, len(counts)]), (TIMES, len(counts)))
    width = partial(share_width, law, len(counts))
    low, high = accepted(drawn[:, place], drawn.sum(axis=1), share_path(), width, 1.0 - LEVEL)
    assert ((low >= 0.0) & (high <= 1.0)).all()
    if not sum(counts):
        return 0  # every share is true
    true = counts[place] / sum(counts)
    return int((~((low <= true) & (true <= high))).sum())


@pytest.mark.parametrize("name", NOISES)
def test_levels_hold(name: str) -> None:
    most = binom.isf(RISK, TIMES, 1.0 - LEVEL)
    for seed in SEEDS:
        for pair in RATIOS:
            assert missed_ratios(name, pair, seed) <= most, (pair, seed)
        for counts in SHARES:
            for place in {0, 1, len(counts) - 1}:
                assert missed_shares(name, counts, place, seed) <= most, (counts, place, seed)


def test_a_wrong_scale_is_noticed() -> None:
    """Noise of 3/2 the scale misses too often. Noise of 2/3 misses less than a third of what is allowed, and the right
    noise does not: the intervals are not much wider than they need to be.
    """
    most, least = binom.isf(RISK, TIMES, 1.0 - LEVEL), (1.0 - LEVEL) / 3.0 * TIMES
    for pair in ((300, 400), (5, 40), (40, 5)):
        counts = [missed_ratios("gaussian", pair, 1, scale) for scale in (2 / 3, 1.0, 3 / 2)]
        assert counts[0] < least < counts[1] <= most < counts[2], (pair, counts)
    for place in (0, 1):
        found = [missed_shares("gaussian", (1000, 300, 10, 0), place, 1, scale) for scale in (2 / 3, 1.0, 3 / 2)]
        assert found[0] < least < found[1] <= most < found[2], (place, found)


#: noise of A and of B with four equally likely values
FOUR = np.array([[40.0, 0.0], [0.0, 40.0], [0.0, -40.0], [-40.0, 0.0]])


def width_of_four(node: Node, missed: float) -> float:
    """The exact half width of this noise."""
    sizes = np.sort(np.abs(FOUR @ np.array([node[0], -node[1]])))
    return float(sizes[min(len(sizes), math.ceil(len(sizes) * (1.0 - missed) - 1e-9)) - 1])


def least_coverage(level: float) -> float:
    """How often the interval of a share contains it, at the worst of many shares: an exact probability."""
    found = []
    for true in np.linspace(0.0, 1.0, 33):
        a, b = 1000.0 * true + FOUR[:, 0], 1000.0 + FOUR[:, 1]
        low, high = accepted(a, b, share_path(), width_of_four, 1.0 - level)
        found.append(((low <= true + 1e-12) & (true <= high + 1e-12)).mean())
    return float(min(found))


def test_an_exact_law_and_a_broken_bound(monkeypatch) -> None:
    """A noise with four values: the coverage is exact. If the widths between two nodes were smaller, it would be below
    the level, and this test notices that.
    """
    assert least_coverage(0.5) >= 0.5 and least_coverage(0.75) >= 0.75
    honest = quotient._Test._limits
    monkeypatch.setattr(
        quotient._Test, "_limits", lambda self, i, j: [(0.9 * w, 0.9 * v) for w, v in honest(self, i, j)]
    )
    assert least_coverage(0.5) < 0.5


def test_the_widths_of_few_nodes_are_computed() -> None:
    """Bisection: a single interval needs the ends of the path, a step, and the nodes near its own ends."""
    asked: list[Node] = []

    def width(node: Node, missed: float) -> float:
        asked.append(node)
        return ratio_width(gaussian, node, missed)

    accepted(np.array([300.0]), np.array([1000.0]), share_path(), width, 0.1)
    assert len(asked) <= 9 and len(set(asked)) == len(asked)
